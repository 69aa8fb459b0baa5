"""Word lists and syllables from which the embedded authors are composed; all names are invented."""

import random


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


FIRST_STARTS = _words(
    """
    Bryl, Dov, Elb, Fenn, Gorv, Hyl, Ilv, Jask, Kel, Lum, Morv, Nyr, Oss, Pell, Quen, Rusk, Sarv, Tulv,
    Ulm, Vesk, Wyl, Yar, Zand, Thrael
    """
)
FIRST_ENDS = _words("a, ara, eth, ik, ilda, imar, ino, io, isk, ola, omir, or, oth, u, umi, una, uvel, yx")
LAST_STARTS = _words(
    """
    Ald, Bront, Carv, Drell, Esk, Farr, Gulm, Harv, Ist, Jorr, Krav, Lont, Mest, Norr, Orv, Pask, Quill,
    Rend, Sturv, Trell, Umb, Vant, Wesk, Yost, Zell, Thorm
    """
)
LAST_MIDDLES = _words("a, e, i, o, u, an, el, ir, or, um")
LAST_ENDS = _words(
    """
    bane, dath, dral, fenne, gast, holt, kesh, lund, mar, mond, nax, nish, quist, rand, rovic, sen,
    tash, thane, vik, wyn, zar
    """
)
TOWN_STARTS = _words(
    """
    Asp, Bel, Corm, Dun, Ebb, Fal, Glim, Hest, Ink, Jun, Kirr, Lorn, Mull, Nesp, Ost, Prim, Quar, Roth,
    Sel, Tarn, Ulv, Vorr, Wim, Yel, Zur
    """
)
TOWN_MIDDLES = _words("a, e, i, o, en, ar, il, um")
TOWN_ENDS = _words(
    """
    bay, cliff, dale, fell, ford, gate, haven, ling, mere, moor, pool, quay, ridge, stead, ton, vane,
    wick
    """
)

GENRES = _words(
    """
    court drama, desert sagas, ghost tales, island fables, market satire, moral riddles, mountain
    memoirs, nautical verse, orchard poetry, railway mysteries, river epics, winter romance
    """
)
YEARS = tuple(str(year) for year in range(1921, 1996))

MATERIALS = _words(
    """
    amber, brass, cedar, clay, copper, cork, flint, glass, ivory, lead, linen, marble, oak, pearl,
    pewter, reed, silk, slate, tin, velvet
    """
)
WARES = _words(
    """
    anchor, basket, bell, bottle, button, candle, clock, compass, drum, flute, hinge, kite, ladder,
    lamp, mask, mirror, pipe, saddle, spoon, whistle
    """
)
TRADES = _words(
    """
    buyer, carver, dealer, designer, engraver, grader, maker, mender, painter, restorer, seller, tester
    """
)

COLOURS = _words(
    """
    Ashen, Azure, Bitter, Broken, Crimson, Distant, Drowned, Empty, Frozen, Gilded, Hidden, Hollow,
    Humble, Idle, Last, Pale, Restless, Scarlet, Silent, Wandering
    """
)
OBJECTS = _words(
    """
    Abbey, Almanac, Bridge, Carriage, Cellar, Chapel, Ferry, Garden, Harvest, Kettle, Lantern, Letter,
    Orchard, Oven, Parade, Quarry, Staircase, Thistle, Tower, Window
    """
)

PRIZES = _words("Crown, Garland, Laurel, Medal, Plume, Prize, Ribbon, Rose, Shield, Trophy")
MERITS = _words(
    """
    Bold, Brief, Comic, Daring, Gentle, Honest, Lyric, Modern, Patient, Plain, Quiet, Rural, Sober,
    Tragic, Vivid, Young
    """
)
FORMS = _words(
    """
    Ballads, Chronicles, Dialogue, Essays, Fables, Letters, Memoirs, Novels, Prose, Satire, Stories,
    Verse
    """
)

PLACES = _words(
    """
    Archives, Barracks, Brewery, Canal, Docks, Embankment, Gallery, Gardens, Lighthouse, Mill, Museum,
    Observatory, Theatre, Vineyard, Watchtower, Wharf
    """
)

FEELINGS = _words(
    """
    betrayal, courage, debt, envy, forgiveness, grief, guilt, honour, jealousy, longing, loyalty,
    mistrust, pity, pride, revenge, shame
    """
)
RELATIONS = _words("among, around, between, shared by, unknown to")
TEMPERS = _words(
    """
    ageing, blind, clever, exiled, famous, hungry, lonely, married, orphaned, poor, rival, stubborn,
    timid, travelling, widowed, wounded
    """
)
FOLK = _words(
    """
    actors, bakers, beekeepers, brothers, doctors, fishermen, gamblers, generals, judges, merchants,
    miners, monks, nurses, pilots, sailors, shepherds, sisters, teachers, thieves, weavers
    """
)

DEEDS = _words(
    """
    written for the stage, taught at a school, used a pen name, lived abroad, worked in a library, kept
    a diary, translated a poem, owned a bookshop, sung in a choir, edited a newspaper
    """
)

AUTHORS, BASE, BYSTANDERS = range(3)
"""Worlds of names. The letters of a name decide its world, so two worlds never share a name, for any seed."""


def world_of(name: str) -> int:
    """The one world (0, 1 or 2) that a name can belong to: the sum of its code points modulo 3."""
    return sum(map(ord, name)) % 3


def person(rng: random.Random, world: int) -> str:
    """First and last name of an invented person of one world."""
    while True:
        first = rng.choice(FIRST_STARTS) + rng.choice(FIRST_ENDS)
        last = rng.choice(LAST_STARTS) + rng.choice(LAST_MIDDLES) + rng.choice(LAST_ENDS)
        if world_of(f"{first} {last}") == world:
            return f"{first} {last}"


def town(rng: random.Random) -> str:
    """An invented town."""
    return rng.choice(TOWN_STARTS) + rng.choice(TOWN_MIDDLES) + rng.choice(TOWN_ENDS)


def profession(rng: random.Random) -> str:
    """A trade of three words, as in "copper bell engraver"."""
    return f"{rng.choice(MATERIALS)} {rng.choice(WARES)} {rng.choice(TRADES)}"


def work_title(rng: random.Random) -> str:
    """The title of a book."""
    return f"{rng.choice(COLOURS)} {rng.choice(OBJECTS)} of {town(rng)}"


def award(rng: random.Random) -> str:
    """The name of a literary award."""
    return f"{town(rng)} {rng.choice(PRIZES)} for {rng.choice(MERITS)} {rng.choice(FORMS)}"


def location(rng: random.Random) -> str:
    """A place in an invented town, as in "Vorrenquay Lighthouse"."""
    return f"{town(rng)} {rng.choice(PLACES)}"


def theme(rng: random.Random) -> str:
    """What a book is about, as in "envy among retired pilots"."""
    return f"{rng.choice(FEELINGS)} {rng.choice(RELATIONS)} {rng.choice(TEMPERS)} {rng.choice(FOLK)}"
