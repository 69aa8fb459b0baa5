"""Asking a model, or a perfect subject in its place, every prompt in every state."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from uds_bench.audits.lmlm.asking.answers import clean
from uds_bench.audits.lmlm.asking.database_cell import CellPrompt, DatabaseCell, every_prompt
from uds_bench.audits.lmlm.asking.deletion import EMBEDDING
from uds_bench.audits.lmlm.asking.record import STATES, LookupRecord, LookupReply, Replies, State
from uds_bench.facts.name_matching import tokens
from uds_bench.inference.lookups import UNKNOWN, Generation, LookupDecoder, Query
from uds_bench.retrieval.encoder import Encoder, encoder_of
from uds_bench.retrieval.retriever import Lookup, Retriever
from uds_bench.retrieval.settings import Fallback, RetrieverSettings


def encoder_for(cells: Iterable[DatabaseCell], settings: RetrieverSettings, device: str = "cpu") -> Encoder | None:
    """The encoder that lookups or deletions need, on a device; None where neither does."""
    needed = settings.embeds or any(cell.policy in EMBEDDING for cell in cells)
    return encoder_of(settings.model, device) if needed else None


@dataclass
class Library:
    """The databases of the cells, indexed once, and how often each state looked into them."""

    cells: Sequence[DatabaseCell]
    settings: RetrieverSettings = field(default_factory=RetrieverSettings)
    encoder: Encoder | None = None
    touched: dict[State, int] = field(default_factory=lambda: dict.fromkeys(STATES, 0))

    def __post_init__(self) -> None:
        if self.encoder is None:
            self.encoder = encoder_for(self.cells, self.settings)
        self._retrievers = {
            cell.name: Retriever(cell.source.database, self.settings, self.encoder) for cell in self.cells
        }
        self.deletions = {cell.name: cell.deletions(self.encoder) for cell in self.cells}

    def under(self, fallback: Fallback) -> Library:
        """The same databases and counts, asked under another fallback."""
        other = copy.copy(self)
        other.settings = replace(self.settings, fallback=fallback)
        return other

    def look_up(self, state: State, wanted: Sequence[tuple[CellPrompt, Query]]) -> list[tuple[str, Lookup]]:
        """The value of each lookup and what was found; `unknown` where nothing answers."""
        self.touched[state] += len(wanted)
        by_cell: dict[str, list[int]] = defaultdict(list)
        for at, (asked, _) in enumerate(wanted):
            by_cell[asked.cell].append(at)
        found: dict[int, tuple[str, Lookup]] = {}
        for name, places in by_cell.items():
            retriever = self._retrievers[name]
            gone = [self.deletions[name][wanted[at][0].prompt.fact] for at in places] if state == "del_on" else ()
            queries = [wanted[at][1] for at in places]
            lookups = retriever.look_up(queries, gone, self.settings.fallback)
            for at, lookup in zip(places, lookups, strict=True):
                row = lookup.chosen
                found[at] = (UNKNOWN if row is None else retriever.database[row].object, lookup)
        return [found[at] for at in range(len(wanted))]


def probe(decoder: LookupDecoder, library: Library) -> tuple[list[CellPrompt], list[Replies]]:
    """Every prompt of the library's cells, and what the decoder's model answered in each state.

    The prompt is given as text after the tokenizer's own special tokens; models of this kind have no chat template.
    """
    units = every_prompt(library.cells)
    encoded = {text: decoder.model.tokenizer.encode(text) for text in dict.fromkeys(unit.prompt.text for unit in units)}
    prompts = [encoded[unit.prompt.text] for unit in units]
    told: dict[State, list[LookupReply]] = {}
    for state in STATES:
        seen: dict[int, list[Lookup]] = defaultdict(list)
        respond = _respond(state, units, library, seen)
        replies = decoder.tell(prompts, respond, forbidden=state == "forbidden")
        told[state] = [_reply(decoder, reply, seen.get(at, [])) for at, reply in enumerate(replies)]
    return units, [{state: told[state][at] for state in STATES} for at in range(len(units))]


def ask_perfectly(library: Library) -> tuple[list[CellPrompt], list[Replies]]:
    """What a model would answer that looks every fact up by its own subject and relation, repeats what it reads and
    knows nothing: the control of the retrieval side, without a model."""
    units = every_prompt(library.cells)
    facts = {cell.name: cell.facts for cell in library.cells}
    queries = [facts[unit.cell][unit.prompt.fact].triplet[:2] for unit in units]
    told: dict[State, list[LookupReply]] = {}
    for state in STATES:
        if state in ("full", "del_on"):
            found = library.look_up(state, list(zip(units, queries, strict=True)))
            told[state] = [
                LookupReply(clean(value), (LookupRecord(query, value, lookup),))
                for query, (value, lookup) in zip(queries, found, strict=True)
            ]
        else:
            value = {"forbidden": "", "self_completed": "", "unknown": UNKNOWN}[state]
            told[state] = [LookupReply(value) for _ in units]
    return units, [{state: told[state][at] for state in STATES} for at in range(len(units))]


def _respond(
    state: State, units: Sequence[CellPrompt], library: Library, seen: Mapping[int, list[Lookup]]
) -> Callable[[Sequence[tuple[int, Query]]], list[str]] | None:
    if state == "unknown":
        return lambda wanted: [UNKNOWN] * len(wanted)
    if state not in ("full", "del_on"):
        return None

    def look_up(wanted: Sequence[tuple[int, Query]]) -> list[str]:
        found = library.look_up(state, [(units[at], query) for at, query in wanted])
        for (at, _), (_, lookup) in zip(wanted, found, strict=True):
            seen[at].append(lookup)
        return [value for value, _ in found]

    return look_up


def _reply(decoder: LookupDecoder, told: Generation, lookups: Sequence[Lookup]) -> LookupReply:
    left = iter(lookups)
    calls = tuple(
        LookupRecord(call.query, call.value, next(left, None) if call.query is not None else None)
        for call in told.calls
    )
    said = decoder.text(told)
    answer, asked = clean(said), decoder.asked(told)
    read = [token for call in calls for text in call.query or () for token in tokens(text)]
    return LookupReply(
        answer,
        calls,
        told.cut,
        told.looped,
        said=said if said != answer else "",
        asked="" if read == list(tokens(asked)) else asked,
    )
