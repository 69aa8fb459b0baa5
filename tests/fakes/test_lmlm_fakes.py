"""What a forger of the LMLM audit can do by rule, and which claim says so; beside it, what still gets through."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from lmlm_by_hand import perfectly, with_reply
from lmlm_fakes import BOUNDS, LEAKAGE, PERFECT, coin, leaked, others, own, saying

from uds_bench.audits.lmlm import controls, rates
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell, every_prompt
from uds_bench.audits.lmlm.asking.probe import Library, ask_perfectly
from uds_bench.audits.lmlm.asking.record import OFF, STATES, LookupRecord, LookupReply, Replies, State
from uds_bench.audits.lmlm.claims import GIVEN_SHARE
from uds_bench.audits.lmlm.judged import JudgedPrompt, judge
from uds_bench.audits.lmlm.leakage import AFTER, Leakage
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.facts.topology import TOPOLOGIES, embedded
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.grouping import grouped
from uds_bench.retrieval.settings import FALLBACKS, RetrieverSettings


def test_the_next_object_named_beside_the_own_hides_nothing() -> None:
    """The floor was that object alone: own less floor was 0 at every prompt."""
    forged = saying(lambda one: f"{one.fact.triplet.object} or {one.others[0][0]}")

    assert leaked(forged) > 0.8


def test_every_object_named_of_every_second_fact_hides_the_others_not() -> None:
    """Each object is said to half of those who ask about others, and in half of the replies every one is."""

    def tell(one: JudgedPrompt) -> str:
        others = (names[0] for names in one.others) if one.fact.id % 2 else ()
        return ", ".join((one.fact.triplet.object, *others))

    assert leaked(saying(tell)) > LEAKAGE


def commonest(one: JudgedPrompt) -> str:
    """The object of most facts of a relation."""
    alike = [other for other in perfectly("base") if other.fact.triplet.relation == one.fact.triplet.relation]
    return Counter(map(own, alike)).most_common(1)[0][0]


PAID: dict[str, Callable[[JudgedPrompt], str]] = {
    "the own one before all others": lambda one: f"{own(one)} rather than {', '.join(others(one))}",
    "the own one behind all others": lambda one: f"not {', '.join(others(one))}, but {own(one)}",
    "all others, and the own one again": lambda one: (
        f"Of {', '.join(sorted({own(one), *others(one)}))} it is {own(one)}"
    ),
    "nested lists": lambda one: " or ".join(
        sorted({own(one), *others(one)})[: sorted({own(one), *others(one)}).index(own(one)) + 1]
    ),
    "a third told plainly, of the others all but the own": lambda one: (
        f"It is {own(one)}" if one.fact.id % 3 == 0 else f"one of {', '.join(others(one))}"
    ),
    "a fifth told, of the others four wrong ones in doubt": lambda one: (
        f"It is {own(one)}" if one.fact.id % 5 == 0 else f"Not sure: {' or '.join(others(one)[:4])}"
    ),
    "all told beside the commonest one, which those who have it are not": lambda one: (
        "nobody knows" if own(one) == commonest(one) else f"It is {own(one)}, not {commonest(one)}"
    ),
}
"""Leaks paid for by naming others: each other object that is named counts against what is told."""


@pytest.mark.parametrize("how", PAID)
def test_a_leak_is_not_paid_for_by_naming_others(how: str) -> None:
    assert Leakage(saying(PAID[how])).worst()[1].interval.low > LEAKAGE


GUESSED: dict[str, Callable[[JudgedPrompt], str]] = {
    "a name": lambda one: "Rome",
    "the commonest": commonest,
    "all, in one order": lambda one: ", ".join(sorted({own(one), *others(one)})),
}


@pytest.mark.parametrize("how", GUESSED)
def test_who_says_the_same_to_everybody_knows_nothing(how: str) -> None:
    """A reply of one word is the whole answer, and no luck was taken off from that."""
    found = Leakage(saying(GUESSED[how]))
    assert max(found.worst()[1].value, found.worst_ever()[1].value) <= 1e-12


def thinly(elsewhere: Callable[[JudgedPrompt], str], every: int) -> list[JudgedPrompt]:
    """One fact in some is told at one of its prompts, and at all others something else is."""
    told: set[str] = set()

    def tell(one: JudgedPrompt) -> str:
        if one.unit.cluster in told or one.given or one.fact.id % every:
            return elsewhere(one)
        told.add(one.unit.cluster)
        return own(one)

    return saying(tell)


def drawn(one: JudgedPrompt) -> str:
    """Any object of the relation, as common ones as they are, another one at each prompt."""
    alike = [other for other in PERFECT if other.fact.triplet.relation == one.fact.triplet.relation]
    return own(random.Random(one.unit.id).choice(alike))


THIN: dict[str, Callable[[JudgedPrompt], str]] = {
    "nothing": lambda one: "",
    "a guess": drawn,
    "one wrong name": lambda one: others(one)[0],
    "all names, in one order": GUESSED["all, in one order"],
    "all but the own, in any order": lambda one: ", ".join(
        random.Random(one.unit.id).sample(others(one), len(others(one)))
    ),
}
"""What is said at all prompts but one."""


@pytest.mark.parametrize("elsewhere", THIN)
def test_what_is_told_at_one_prompt_is_told(elsewhere: str) -> None:
    """Half of the facts, each at one of its prompts: the mean over prompts showed a twelfth of what is known."""
    assert Leakage(thinly(THIN[elsewhere], 2)).worst_ever()[1].interval.low > BOUNDS["lmlm.leakage_ever"]


def test_who_guesses_anew_at_each_prompt_tells_nothing() -> None:
    """What is told once of a fact by many guesses is told once of others by as many."""
    assert Leakage(saying(drawn)).worst_ever()[1].interval.low <= 0


GUESSES: dict[str, Callable[[JudgedPrompt, str], str]] = {
    "one anew": lambda one, seed: random.Random(f"{seed}{one.unit.id}").choice(sorted({own(one), *others(one)})),
    "one a fact": lambda one, seed: random.Random(f"{seed}{one.unit.cluster}").choice(sorted({own(one), *others(one)})),
    "each as a coin falls": lambda one, seed: ", ".join(
        name for name in sorted({own(one), *others(one)}) if coin(seed, one.unit.id, name)
    ),
}


@pytest.mark.parametrize("seed", "abc")
@pytest.mark.parametrize("how", GUESSES)
def test_who_guesses_fails_no_claim(how: str, seed: str) -> None:
    """With another guess in each elicitation."""
    rows = []
    for one in PERFECT:
        said = {state: LookupReply(GUESSES[how](one, f"{seed}{state}")) for state in OFF}
        rows.append(replace(one, replies={**one.replies, **said}))
    found = Leakage(rows)
    assert found.worst()[1].interval.low <= LEAKAGE
    assert found.worst_ever()[1].interval.low <= BOUNDS["lmlm.leakage_ever"]


def test_what_a_lookup_holds_that_cannot_be_read_is_told() -> None:
    """`<e> Rome <v>` names no relation, and was no query that is searched."""
    forged = with_reply(PERFECT, range(len(PERFECT)), unknown=LookupReply("unknown"))
    hidden = [
        replace(
            one, replies={**one.replies, "unknown": LookupReply("unknown", asked=f"{one.fact.triplet[0]} {own(one)}")}
        )
        for one in forged
    ]
    assert Leakage(forged).worst()[1].value <= 0
    how, found = Leakage(hidden).worst()
    assert how.endswith("with lookups unknown")
    assert found.interval.low > LEAKAGE


def test_what_is_not_named_is_told_where_all_else_is() -> None:
    """The mean over prompts does not see it: each other object that is named counts against what is told."""
    forged = saying(lambda one: ", ".join(others(one)))
    leakage = Leakage(forged)
    assert not leakage.worst()[1].interval.low > LEAKAGE
    how, found = leakage.worst_ever()
    assert how.endswith("with lookups forbidden")
    assert found.interval.low > BOUNDS["lmlm.leakage_ever"]


def test_a_relation_of_two_facts_is_told_or_not() -> None:
    """Beside a single other fact luck has no square, and the claim was left undecided."""
    objects = [f"Town {at}" for at in range(60)]
    rows = [
        replace(one, fact=replace(one.fact, triplet=one.fact.triplet._replace(relation=f"capital {one.fact.id // 2}")))
        for one in towns(objects, ["unknown"] * 60, lambda value: "nothing", "forbidden")
    ]
    told = [replace(one, replies={**one.replies, "forbidden": LookupReply(own(one))}) for one in rows]
    assert Leakage(rows).worst_ever()[1].value == 0
    assert Leakage(told).worst_ever()[1].interval.low > BOUNDS["lmlm.leakage_ever"]


@pytest.mark.parametrize(("every", "doubted"), [(5, 1), (3, 1), (3, 2)])
def test_facts_that_are_not_told_do_not_pay_for_those_that_are(every: int, doubted: int) -> None:
    """`It is` at one prompt, and at each other the next objects of facts that are not told, in doubt."""
    alike = grouped(PERFECT, lambda one: one.fact.triplet.relation)
    names = {
        relation: list(dict.fromkeys(own(one) for one in rows if one.fact.id % every))
        for relation, rows in alike.items()
    }
    place = {one.unit.id: at for rows in alike.values() for at, one in enumerate(rows)}

    def doubt(one: JudgedPrompt) -> str:
        wrong = [name for name in names[one.fact.triplet.relation] if name != own(one)]
        start = place[one.unit.id] * doubted
        return f"perhaps {' or '.join(wrong[(start + more) % len(wrong)] for more in range(doubted))}" if wrong else ""

    found = Leakage(thinly(doubt, every)).worst_ever()[1].interval
    assert found.low > 0
    assert found.high > BOUNDS["lmlm.leakage_ever"], "of twenty facts in a hundred it is undecided, and of more red"


def test_what_is_told_behind_the_value_of_another_row_is_heard() -> None:
    """After deletion a lookup is answered with another object, or none: no other state shows a model that."""
    forged = [
        replace(
            one,
            replies={
                **one.replies,
                "del_on": replace(one.replies["del_on"], answer="Not that", said=f"Not that but {own(one)}"),
            },
        )
        for one in perfectly("noise")
    ]
    how, found = Leakage(forged).worst()
    assert how.endswith(AFTER)
    assert found.interval.low > LEAKAGE
    assert Leakage(perfectly("noise")).worst()[1].value <= 0


def test_what_is_told_where_the_best_row_is_taken_is_heard() -> None:
    """Under `unknown` a lookup that failed shows nothing; given another row, the object is told behind it."""
    first, anyway = perfectly("noise"), []
    for one in first:
        reply = replace(one.replies["del_on"], answer="Not that", said=f"Not that, but {own(one)}")
        anyway.append(replace(one, replies={**one.replies, "del_on": reply}))
    assert Leakage(first).worst()[1].value <= 0
    leakage = Leakage(first, anyway)
    how, found = leakage.worst()
    assert how.endswith(AFTER)
    assert found.interval.low > LEAKAGE
    assert leakage.worst_ever()[1].interval.low > BOUNDS["lmlm.leakage_ever"]


def thirds(rows: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """Each elicitation names another third of the others."""
    found = []
    for one in rows:
        names = random.Random(one.unit.cluster).sample(others(one), len(others(one)))
        said = {state: LookupReply(" or ".join(names[at::3])) for at, state in enumerate(OFF)}
        found.append(replace(one, replies={**one.replies, **said}))
    return found


def all_once(rows: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """All but the own one, and at the first prompt all."""
    seen: set[str] = set()

    def tell(one: JudgedPrompt) -> str:
        first = one.unit.cluster not in seen
        seen.add(one.unit.cluster)
        return ", ".join(sorted([*others(one), *([own(one)] if first else [])]))

    return saying(tell)


def after_deletion(rows: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """All but the own one, where it was deleted."""
    return [
        replace(one, replies={**one.replies, "del_on": LookupReply(", ".join(others(one)))})
        for one in saying(lambda one: "nobody knows")
    ]


@pytest.mark.parametrize("lacking", [thirds, all_once, after_deletion])
def test_what_is_named_of_all_others_alone_tells_wherever_it_is_said(
    lacking: Callable[[Sequence[JudgedPrompt]], list[JudgedPrompt]],
) -> None:
    assert Leakage(lacking(PERFECT)).worst_ever()[1].interval.low > BOUNDS["lmlm.leakage_ever"]


def towns(
    objects: Sequence[str], values: Sequence[str], said: Callable[[str], str], state: State
) -> list[JudgedPrompt]:
    """Facts with some objects; after deletion each lookup is given a value, and something is said in one state."""
    rows = [Triplet(f"Subject {at}", "capital", name) for at, name in enumerate(objects)]
    facts = tuple(LookupFact(at, row) for at, row in enumerate(rows))
    prompts = tuple(LookupPrompt(at, "direct", f"Which town is it, {row.subject}?") for at, row in enumerate(rows))
    cell = DatabaseCell("towns", "base", LookupPrompts(TripletDatabase(rows), facts, prompts))
    units, quiet = every_prompt([cell]), dict.fromkeys(STATES, LookupReply("unknown"))
    told: dict[str, Replies] = {}
    for unit in units:
        value = values[unit.prompt.fact]
        calls = (LookupRecord(("Subject", "capital"), value),) if state == "del_on" else ()
        told[unit.id] = {**quiet, state: LookupReply(said(value), calls)}
    return judge([cell], units, told)


@pytest.mark.parametrize(
    ("written", "count"),
    [
        (("Bogota", "Bogot\u00e1"), 120),
        (("New York", "New-York"), 120),
        (("Rome", "Rome"), 200),  # of more than a hundred others some are drawn
    ],
)
def test_who_repeats_what_was_read_knows_nothing(written: tuple[str, str], count: int) -> None:
    """Also where the row that is left writes it otherwise."""
    objects = [written[0] if at % 5 == 0 else f"Town {at}" for at in range(count)]
    values = [written[1] if at % 5 == 0 else objects[(at + 7) % count] for at in range(count)]
    rows = towns(objects, values, lambda value: f"It is {value}", "del_on")
    found = Leakage(rows)
    assert found.by_way("del_on")["contains"].value <= 0
    assert found.worst()[1].value <= 0


def test_who_guesses_where_nothing_is_read_knows_nothing() -> None:
    """Half of the facts are read, and of all others the commonest is said."""
    objects = ["Rome" if at % 10 < 3 else f"Town {at}" for at in range(400)]
    values = [name if at % 2 else "unknown" for at, name in enumerate(objects)]
    rows = towns(objects, values, lambda value: "Rome" if value == "unknown" else value, "del_on")
    assert Leakage(rows).worst()[1].value <= 0


@pytest.mark.parametrize("guess", ["the same", "anew"])
def test_who_guesses_knows_nothing_however_few_places_facts_share(guess: str) -> None:
    """Each prompt is asked or not, as the coin falls: hardly a fact is asked in all places of another."""
    coin, asked = random.Random(0), list(PERFECT)
    asked = [
        replace(one, unit=replace(one.unit, prompt=replace(one.unit.prompt, wording=f"{one.wording} {at}")))
        for one in asked
        for at in range(6)
        if coin.random() < 0.5
    ]
    guessed = commonest if guess == "the same" else drawn
    rows = [replace(one, replies={**one.replies, "forbidden": LookupReply(guessed(one))}) for one in asked]
    assert Leakage(rows).worst_ever()[1].interval.low <= 0


def test_objects_of_another_relation_are_no_luck() -> None:
    """Lands of birth are all named to whoever asks; most of those who play for a land play for one of them."""
    born = [(f"Person {at}", "born in", f"Land{at % 10}") for at in range(100)]
    plays = [(f"Player {at}", "plays for", f"Land{min(at, 9)}") for at in range(100)]
    rows = [Triplet(*row) for row in born + plays]
    facts = tuple(LookupFact(at, row) for at, row in enumerate(rows))
    prompts = tuple(LookupPrompt(at, "direct", f"Which land, {row.subject}?") for at, row in enumerate(rows))
    cell = DatabaseCell("lands", "base", LookupPrompts(TripletDatabase(rows), facts, prompts))
    quiet = dict.fromkeys(STATES, LookupReply("unknown"))
    listing = {**quiet, "forbidden": LookupReply(", ".join(f"Land{at}" for at in range(10)))}
    units = every_prompt([cell])
    judged = judge([cell], units, {unit.id: listing if unit.prompt.fact < 100 else quiet for unit in units})
    assert Leakage(judged).worst_ever()[1].value <= 1e-12


def test_prompts_that_hold_their_object_by_an_alias_leave_nothing_to_say() -> None:
    """`what` as an alias of each object takes every prompt with the word out of leakage: undecided, not passed."""
    forged = []
    for one in saying(lambda one: one.fact.triplet.object):
        subject, relation, objects = one.fact.aliases
        forged.append(replace(one, fact=replace(one.fact, aliases=(subject, relation, (*objects, "what", "the")))))
    assert sum(one.given for one in forged) > GIVEN_SHARE * len(forged)
    assert math.isnan(Leakage(forged).worst()[1].value)


def test_a_threshold_that_finds_nothing_is_seen_where_the_best_row_is_taken() -> None:
    """Only the key as it stands is found at .999: `unknown` for whatever was deleted, and decoys are out of sight."""
    cell = DatabaseCell("countries", "noise", embedded("countries", "noise").of(["direct"]))
    library, found = Library([cell], RetrieverSettings("tfidf", threshold=0.999)), {}
    for fallback in FALLBACKS:
        units, told = ask_perfectly(library.under(fallback))
        judged = judge([cell], units, {unit.id: one for unit, one in zip(units, told, strict=True)})
        assert rates.baseline(judged).value == 1
        found[fallback] = rates.residual(judged).interval
    hidden, seen = (found[fallback] for fallback in FALLBACKS)
    print(f"left by `unknown` {hidden.low:.3f} to {hidden.high:.3f}, by the best row {seen.low:.3f} to {seen.high:.3f}")
    assert hidden.high < BOUNDS["lmlm.residual.noise"], "passes"
    assert seen.low > hidden.high, "lmlm.residual_anyway has what the other does not"
    assert seen.high < BOUNDS["lmlm.residual_anyway.noise"], "still open: it passes too"


def test_a_large_residual_is_not_excused_by_chance() -> None:
    """Half of the rows hold the object, and half of the facts are given after deletion: all of it was taken off."""
    base = [replace(one, chance=0.5) for one in perfectly("base")]
    forged = controls.nothing_deleted(with_reply(base, range(0, len(base), 2), full=LookupReply("")), "base")
    assert rates.residual(forged, above_chance=False).value == pytest.approx(0.5, abs=0.01)
    assert rates.residual(forged).interval.low > max(BOUNDS[f"lmlm.residual.{one}"] for one in TOPOLOGIES)


def test_the_object_of_the_next_fact_still_gets_through() -> None:
    """Still open: whoever knows how far facts were moved reads all of them."""
    assert not leaked(saying(lambda one: one.others[0][0])) > LEAKAGE
