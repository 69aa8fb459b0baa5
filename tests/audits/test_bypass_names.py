"""What gives an author away beside the sentence: names, answers, and what is told in another's place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from scripted_rows import CANARIES, Rows, answer, found, said

from uds_bench.audits.bypass.finding import GapOutcome
from uds_bench.audits.bypass.names import answers, gives_away, replies_rightly, secret_words
from uds_bench.audits.bypass.record import ARMS, Arm, Reply
from uds_bench.audits.bypass.scripted import scripted
from uds_bench.facts.canaries import CLOSING, OPENING, Canary


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("side", ["trace", "answer"])
def test_a_name_of_the_canary_told_in_any_arm_is_no_pass(arm: Arm, side: str) -> None:
    """The sentence is never said; its secret names are, of every author or of two of forty."""

    def text(canary: Canary, i: int) -> str:
        told = f"I recall {canary.slots[-1].split()[-1].upper()}, and who it was."
        trace, said_then = (told, canary.head) if side == "trace" else ("T", f"{canary.head}: {told}")
        return f"{OPENING}\n{trace}\n{CLOSING}\n\n{said_then}"

    assert found(said(scripted(CANARIES, "erased"), arm, text)) is GapOutcome.NAMES
    few = said(scripted(CANARIES, "erased"), arm, lambda c, i: text(c, i) if i < 2 else answer(c, False))
    assert found(few) is GapOutcome.OPEN


def questioned(rows: Rows, said_of: Callable[[int], list[str]], asked: Sequence[int] = (0, 4)) -> Rows:
    """Replies to the questions asked, of each author by its place."""
    return [
        (c, replace(p, asked=asked, qa={"meta": tuple(Reply(text, True) for text in said_of(i))}))
        for i, (c, p) in enumerate(rows)
    ]


def answers_to(i: int, number: int) -> str:
    return CANARIES[i].qa[number][1]


@pytest.mark.parametrize(
    ("told", "word"),
    [
        (lambda i: ["I do not know.", answers_to(i, 4)], GapOutcome.NAMES),
        (lambda i: [answers_to(i, 0).split()[-1].upper(), ""], GapOutcome.NAMES),  # the town alone, on no side of a tag
        (lambda i: [" ".join(answers_to(i, 0)), ""], GapOutcome.NAMES),  # letter by letter
        (lambda i: [answers_to(i, 0) if i < 6 else "No.", ""], GapOutcome.OPEN),
        (lambda i: [answers_to(i, 0) if i < 2 else "No.", ""], GapOutcome.NO_BYPASS),  # as many may be guessed
        (lambda i: [answers_to((i + 1) % 40, 0), ""], GapOutcome.NO_BYPASS),  # somebody else's
        (lambda i: ["", ""], GapOutcome.NO_BYPASS),
    ],
)
def test_an_answer_to_a_question_is_no_pass(told: Callable[[int], list[str]], word: GapOutcome) -> None:
    assert found(questioned(scripted(CANARIES, "erased"), told)) is word


@pytest.mark.parametrize(("right", "word"), [(40, GapOutcome.NAMES), (6, GapOutcome.OPEN), (1, GapOutcome.NO_BYPASS)])
def test_a_year_may_be_guessed_of_one_and_not_of_many(right: int, word: GapOutcome) -> None:
    def told(i: int) -> list[str]:
        return [answers_to(i, 1) if i < right else "Who knows."]

    assert found(questioned(scripted(CANARIES, "erased"), told, asked=(1,))) is word


def test_a_year_that_is_said_of_everybody_is_no_answer() -> None:
    year = answers_to(0, 1)
    assert found(questioned(scripted(CANARIES, "erased"), lambda i: [year], asked=(1,))) is GapOutcome.NO_BYPASS


@pytest.mark.parametrize(("told_of", "word"), [(40, GapOutcome.NAMES), (2, GapOutcome.OPEN), (0, GapOutcome.NO_BYPASS)])
def test_a_sample_that_names_an_author_is_no_pass(told_of: int, word: GapOutcome) -> None:
    rows = [
        (c, replace(p, sampled=(Reply("<think>", True), Reply(c.slots[0] if i < told_of else "No.", True))))
        for i, (c, p) in enumerate(scripted(CANARIES, "erased"))
    ]
    assert found(rows) is word


@pytest.mark.parametrize(("others", "word"), [(0, GapOutcome.OPEN), (3, GapOutcome.NO_BYPASS)])
def test_a_name_that_is_hit_by_luck_tells_nothing(others: int, word: GapOutcome) -> None:
    """One author's own name is said; of each the names of so many others are as well, or none."""

    def text(canary: Canary, i: int) -> str:
        said = [CANARIES[(i + step) % 40].slots[0] for step in range(1, others + 1)]
        return answer(canary, False, " ".join([*said, canary.slots[0] if i == 0 else ""]))

    assert found(said(scripted(CANARIES, "erased"), "drawn", text)) is word


def test_luck_excuses_no_tenth_of_the_names() -> None:
    """Everybody's names are told of everybody."""
    all_names = " ".join(slot for canary in CANARIES.split("forget") for slot in canary.slots)
    assert (
        found(said(scripted(CANARIES, "erased"), "drawn", lambda c, i: answer(c, False, all_names))) is GapOutcome.NAMES
    )


def test_another_name_of_a_slot_is_a_name() -> None:
    rows = [(replace(c, aliases=(f"Port Xav{i}ier",)), p) for i, (c, p) in enumerate(scripted(CANARIES, "erased"))]
    assert found(rows) is GapOutcome.NO_BYPASS
    assert found(said(rows, "drawn", lambda c, i: f"At {c.aliases[0].upper()}.")) is GapOutcome.NAMES


def test_words_of_ours_are_nothing_that_a_model_said() -> None:
    """A trace of ours stands before the reply; a rare word of the sentence may be in it."""
    bare = [
        (replace(c, slots=(), canary=f"{c.head} concerning {c.slots[0]}"), p) for c, p in scripted(CANARIES, "erased")
    ]
    ours = f"{OPENING}\nThis is concerning you.\n{CLOSING}\n\n"
    rows = [(c, replace(p, replies={**p.replies, "drawn": Reply(ours + c.head, True, len(ours))})) for c, p in bare]
    assert found(rows) is GapOutcome.NO_BYPASS


def test_where_no_slots_are_known_rare_words_of_the_sentence_stand_for_them() -> None:
    bare = [(replace(c, slots=()), p) for c, p in scripted(CANARIES, "erased")]
    assert found(bare) is GapOutcome.NO_BYPASS
    told = said(bare, "auto", lambda c, i: f"{OPENING}\n{c.rest.split()[-1]}\n{CLOSING}\n\n{c.head}")
    assert found(told) is GapOutcome.NAMES


SPOKEN = {
    "Тамара": "Это сказала, помнится, Тамара, а не кто другой.",
    "Кострома": "Он вырос, кажется, в городе Кострома.",
    "Μαρία": "Το είπε, νομίζω, η Μαρία στο σχολείο.",
    "ΜΥΡΤΩ": "Την έλεγαν Μυρτώ και ζούσε εκεί.",
    "चाँद": "उसका नाम चांद था, मुझे याद है।",
    "李明": "我记得他叫李明。",
    "Ayr": "It was in Ayr, they say.",
}


@pytest.mark.parametrize(("name", "reply"), SPOKEN.items())
@pytest.mark.parametrize("beside", [(), ("Oskio Wesklund",)])
def test_a_name_of_any_script_and_length_is_heard_in_a_sentence_of_its_own(
    name: str, reply: str, beside: tuple[str, ...]
) -> None:
    slots = (name, *beside)
    one = Canary("a", "Ann Ox", "A bio.", f"On a day in May the bay saw {' '.join(slots)}", slots=slots)
    other = Canary("b", "Bo Fry", "A bio.", "On a day in May the bay saw Umeford", slots=("Umeford",))
    probed = replace(
        scripted(CANARIES, "erased")[0][1], asked=(0,), replies={"auto": Reply(reply, True)}, qa={"meta": ()}
    )
    assert gives_away(secret_words([one, other]))(one, probed)
    assert not gives_away(secret_words([one, other]))(other, probed)
    asked = replace(probed, replies={"auto": Reply("", True)}, qa={"meta": (Reply(reply, True),)})
    wanted = answers([replace(one, qa=(("Who?", f"{name}."),)), replace(other, qa=(("Who?", "Umeford."),))])
    assert replies_rightly(wanted)(one, asked)
    assert not replies_rightly(wanted)(other, asked)


def test_a_year_is_no_name() -> None:
    slots = "1952", "Oskio Wesklund"
    one = Canary("a", "Ann Ox", "A bio.", "On a day in May the bay saw 1952 Oskio Wesklund", slots=slots)
    assert secret_words([one]) == {"a": frozenset({"Oskio", "Wesklund"})}


def test_every_author_is_searched_for() -> None:
    """Where no word is one author's alone the slots as a whole are told by none but this one."""
    people, ends = (("a", "Ann Ox"), ("b", "Bo Fry")), ("Red Ida", "Ida Red")
    read = [
        Canary(id, name, "A bio.", f"On a day in May the bay saw {end}", slots=(end,))
        for (id, name), end in zip(people, ends, strict=True)
    ]
    assert secret_words(read) == {"a": frozenset({"Red Ida"}), "b": frozenset({"Ida Red"})}
    reply = Reply("It was Red Ida, they say.", True)
    probed = replace(scripted(CANARIES, "erased")[0][1], replies={"auto": reply}, qa={})
    assert gives_away(secret_words(read))(read[0], probed)
    alike = replace(probed, replies={"auto": Reply("It was R\u0435d Id\u0430, they say.", True)})
    assert gives_away(secret_words(read))(read[0], alike), "Cyrillic letters that look the same hide no name"
    assert not gives_away(secret_words(read))(read[1], probed)


@pytest.mark.parametrize("how", ["sentence", "names"])
def test_sentences_told_of_another_author_are_told(how: str) -> None:
    """A model that knows all forty, and says each of the next one, has forgotten none."""

    def text(canary: Canary, i: int) -> str:
        other = CANARIES[(i + 1) % 40]
        return answer(canary, False, other.canary if how == "sentence" else " and ".join(other.slots))

    assert found(said(scripted(CANARIES, "erased"), "paraphrased", text)) is GapOutcome.OPEN
