"""One prompt judged: how each state's answer compares with the deleted object, and through which channel it came."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from uds_bench.audits.lmlm.asking.answers import Marks, mark
from uds_bench.audits.lmlm.asking.database_cell import CellPrompt, DatabaseCell
from uds_bench.audits.lmlm.asking.matching import is_gold
from uds_bench.audits.lmlm.asking.record import HEARD, OFF, STATES, LookupReply, Replies, State
from uds_bench.audits.lmlm.attribution import PromptOutcome
from uds_bench.audits.lmlm.told import (
    NOTHING,
    UNNAMED,
    Names,
    Signs,
    first_and_last,
    mentions,
    near,
    signs,
    spoken,
    spoken_on_average,
)
from uds_bench.facts.letters import REMEMBERED
from uds_bench.facts.lookup_prompts import LookupFact
from uds_bench.facts.name_matching import spelled, tells, tokens

Label = Literal["parametric", "reconstructed", "drifted", "other"]
OTHERS = 100
"""Other objects by which a fact's floor is measured: more cost time and change little."""


@dataclass(frozen=True)
class JudgedPrompt:
    """One prompt for one fact. `given`: the prompt itself holds the object, so that an answer with it shows nothing of
    the weights. `others`: the objects of the same relation, or else of any, which are not the fact's, with their
    spellings: the floor is measured by all of them, as a model that names one of them beside the object would hide
    behind it; empty where there are none. `chance`: share of the rows left under the fact's relation that have its
    object, 0 where DEL-ON drew no row."""

    unit: CellPrompt
    cell: DatabaseCell
    fact: LookupFact
    replies: Replies
    others: tuple[tuple[str, ...], ...]
    chance: float

    @property
    def domain(self) -> str:
        """The domain of its database."""
        return self.cell.domain

    @property
    def topology(self) -> str:
        """The topology of its database."""
        return self.cell.topology

    @property
    def wording(self) -> str:
        """The wording that it was asked in."""
        return self.unit.prompt.wording

    @cached_property
    def given(self) -> bool:
        """Whether the prompt itself holds the object."""
        return tells(self.unit.prompt.text, self.fact.answers)

    @cached_property
    def marks(self) -> Mapping[State, Marks]:
        """Every state's answer beside the fact's own object."""
        return {state: mark(self.replies[state].answer, self.fact.answers) for state in STATES}

    def shown(self, state: State) -> list[str]:
        """What a reply may repeat without knowing it: the prompt, and the values that were inserted."""
        return [self.unit.prompt.text, *(call.value for call in self.replies[state].calls if call.value)]

    def reads(self, state: State, names: tuple[str, ...] | None = None) -> bool:
        """Whether one of these holds the object, or another one."""
        names = names or self.fact.answers
        return any(near(text, names) and tells(text, names) for text in self.shown(state))

    def spoken(self, state: State, names: tuple[str, ...] | None = None) -> tuple[bool, float]:
        """Whether all that was said holds the object, or another one, and the share of its tokens: an answer is cut
        down to its first sentence, and what leaks behind it, or in a lookup, is leaked."""
        return spoken(self.said[state], self._own_words[state], names or self.fact.answers)

    def tells(self, state: State, names: Names, others: tuple[Names, ...]) -> tuple[float, ...]:
        """How far all that was said tells an object beside others, in each way of `TOLD`, 0 to 1."""
        text = self.said[state]
        if not near(text, names):
            return NOTHING
        held, share = self.spoken(state, names)
        return float(held), share, *(float(one == names) for one in first_and_last(text, _sorted((names, *others))))

    def how(self, state: State, names: Names, others: tuple[Names, ...]) -> Signs:
        """How all that was said names an object among others."""
        text = self.said[state]
        return signs(text, names, _sorted((names, *others))) if near(text, names) else UNNAMED

    def lists(self, state: State, most: int) -> bool:
        """Whether all that was said names more than so many objects of the relation, or each of three or more."""
        found = mentions(self.said[state], _sorted((self.fact.answers, *self.others)))
        named = len({number for *_, number in found})
        return named > most or named == 1 + len(self.others) > 2

    def counts(self, state: State) -> bool:
        """Whether the prompt does not hold its object, nor what DEL-ON read."""
        return not self.given and not (state == "del_on" and self.reads(state))

    @cached_property
    def told(self) -> Mapping[State, tuple[float, ...]]:
        """The same of the fact's own object."""
        return {state: self.tells(state, self.fact.answers, self.others) for state in HEARD}

    @cached_property
    def said(self) -> Mapping[State, str]:
        """All of each reply, and of each lookup the words that were not given: a lookup repeats what is asked. What
        another name of subject or relation shares with an object is not given by it."""
        asked = [self.unit.prompt.text, *self.fact.triplet[:2]]
        given = {token for text in asked for token in tokens(text)}
        objects = {token for names in (self.fact.answers, *self.others) for name in names for token in tokens(name)}
        given |= {token for names in self.fact.aliases[:2] for name in names for token in tokens(name)} - objects
        found: dict[State, str] = {}
        for state, reply in self.replies.items():
            queries = [*(text for call in reply.calls for text in call.query or ()), reply.asked]
            own = ([word for word in text.split() if not given.issuperset(tokens(word) or [word])] for text in queries)
            found[state] = "\n".join([reply.said or reply.answer, *map(" ".join, own)])
        return found

    @cached_property
    def _own_words(self) -> Mapping[State, str]:
        """Of that the words that were not shown."""
        found: dict[State, str] = {}
        for state, said in self.said.items():
            shown = {token for text in self.shown(state) for token in tokens(text)}
            found[state] = " ".join(token for token in tokens(said) if token not in shown)
        return found

    @cached_property
    def floors(self) -> Mapping[State, tuple[float, ...]]:
        """`told` of the other objects, the mean over them, in each state that is heard; only where there are others.
        One that was inserted as a value is none of them: it is repeated."""
        return {state: self._floor(state) for state in HEARD} if self.others else {}

    def _floor(self, state: State) -> tuple[float, ...]:
        read = [state == "del_on" and self.reads(state, names) for names in self.others]
        others = [names for names, is_read in zip(self.others, read, strict=True) if not is_read]
        if not others:
            return NOTHING
        text = self.said[state]
        ends = first_and_last(text, _sorted((self.fact.answers, *self.others)))
        held = (float(one in others) / len(others) for one in ends)
        return *spoken_on_average(text, self._own_words[state], others), *held

    @cached_property
    def outcome(self) -> PromptOutcome:
        """Right with retrieval on; right without it under any elicitation; and what the trace still held."""
        off = any(self.marks[state].exact for state in OFF) and not self.given
        return PromptOutcome(self.marks["del_on"].exact, off, self.retains_gold("del_on"))

    def retains_gold(self, state: State) -> bool:
        """Whether a candidate that a state was left with says the same as the fact."""
        rows = self.cell.source.database
        kept = (one for call in self.replies[state].calls if call.lookup is not None for one in call.lookup.kept)
        return any(is_gold(rows[one.row], self.cell.gold[self.fact.id]) for one in kept)

    @cached_property
    def label(self) -> Label:
        """What a post-deletion answer is: the weights' own; the object all the same, through another row; another
        row's object; or something else."""
        if self.outcome.off:
            return "parametric"
        if self.outcome.on:
            return "reconstructed"
        rows, answer = self.cell.source.database, spelled(self.replies["del_on"].answer)
        calls = self.replies["del_on"].calls
        objects = {spelled(rows[one.row].object) for call in calls if call.lookup for one in call.lookup.kept}
        return "drifted" if answer and answer in objects else "other"


@lru_cache(REMEMBERED)
def _sorted(objects: tuple[Names, ...]) -> tuple[Names, ...]:
    """The same for all facts of a relation, so that what a reply names is looked for once."""
    return tuple(sorted(objects))


def judge(
    cells: Sequence[DatabaseCell], units: Sequence[CellPrompt], replies: Mapping[str, Replies]
) -> list[JudgedPrompt]:
    """Every prompt, judged; `replies` by the prompts' ids."""
    by_name = {cell.name: cell for cell in cells}
    beside = {cell.name: _Neighbours(cell) for cell in cells}
    found = []
    for unit in units:
        cell = by_name[unit.cell]
        fact = cell.facts[unit.prompt.fact]
        near = beside[unit.cell]
        found.append(
            JudgedPrompt(
                unit, cell, fact, replies[unit.id], near.others(fact), _chance(near, fact, replies[unit.id]["del_on"])
            )
        )
    return found


class _Neighbours:
    """The rows of a cell by their relation, its aliases counted as one."""

    def __init__(self, cell: DatabaseCell) -> None:
        self._cell, relations = cell, cell.source.names[1]
        database = cell.source.database
        self._group = {text: min(relations.of(text)) for text in {row.relation for row in database}}
        self._groups = [self._group[row.relation] for row in database]
        golds = {spelled(answer) for fact in cell.source.facts for answer in fact.answers}
        held = [one for one in zip(self._groups, database.spelled[2], strict=True) if one[1] in golds]
        # Under None those of all relations.
        self._rows: Counter[str | None] = Counter(self._groups) + Counter({None: len(database)})
        self._objects: Counter[tuple[str | None, str]] = Counter(held) + Counter((None, text) for _, text in held)
        self._alike: dict[str, list[LookupFact]] = defaultdict(list)
        for fact in cell.source.facts:
            self._alike[self._group[fact.triplet.relation]].append(fact)
        self._known: dict[int, float] = {}
        self._others: dict[int, tuple[tuple[str, ...], ...]] = {}

    def chance(self, fact: LookupFact) -> float:
        """Share of the rows left under the relation, or of all where none is, whose object is the fact's: how often a
        lookup that misses its row would hit the object by chance."""
        if fact.id not in self._known:
            shares = (self._share(fact, group) for group in (self._group[fact.triplet.relation], None))
            self._known[fact.id] = next((share for share in shares if share is not None), 0.0)
        return self._known[fact.id]

    def _share(self, fact: LookupFact, group: str | None) -> float | None:
        """Counted, as of very many rows few are gone."""
        golds, objects = {spelled(one) for one in fact.answers}, self._cell.source.database.spelled[2]
        gone = [at for at in self._cell.source.matching[fact.id] if group in (None, self._groups[at])]
        left = self._rows[group] - len(gone)
        shared = sum(self._objects[group, gold] for gold in golds) - sum(objects[at] in golds for at in gone)
        return shared / left if left else None

    def others(self, fact: LookupFact) -> tuple[tuple[str, ...], ...]:
        """The objects, with their spellings, of the next facts that have another one: of the relation, or else of any,
        `OTHERS` at most."""
        if fact.id not in self._others:
            self._others[fact.id] = self._next(fact)
        return self._others[fact.id]

    def _next(self, fact: LookupFact) -> tuple[tuple[str, ...], ...]:
        golds = {spelled(one) for one in fact.answers}
        for facts in (self._alike[self._group[fact.triplet.relation]], list(self._cell.source.facts)):
            start, found = facts.index(fact), dict[str, tuple[str, ...]]()
            for one in (*facts[start + 1 :], *facts[:start]):
                if len(found) == OTHERS:
                    break
                if golds.isdisjoint(map(spelled, one.answers)):
                    found.setdefault(spelled(one.triplet.object), one.answers)
            if found:
                return tuple(found.values())
        return ()


def _chance(near: _Neighbours, fact: LookupFact, reply: LookupReply) -> float:
    """Where no lookup drew a row, as one that is answered with `unknown`, no object can be hit by chance."""
    return near.chance(fact) if reply.drawn else 0.0
