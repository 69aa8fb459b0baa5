"""What was seen of one prompt in every state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from uds_bench.retrieval.blocks import DECIMALS
from uds_bench.retrieval.retriever import Hit, Lookup

State = Literal["full", "del_on", "forbidden", "self_completed", "unknown"]
STATES: tuple[State, ...] = get_args(State)
"""FULL; DEL-ON; and DEL-OFF by three elicitations: markup is never said, the model completes each value itself, and
each lookup is answered with `unknown`."""
OFF: tuple[State, ...] = ("forbidden", "self_completed", "unknown")
HEARD: tuple[State, ...] = (*OFF, "del_on")
"""The states whose replies are searched for what weights hold: of DEL-ON those that read another object."""


@dataclass(frozen=True)
class LookupRecord:
    """A lookup as it was written (None where malformed), what was found, and the value that was inserted (None where
    the model was left to complete it)."""

    query: tuple[str, str] | None
    value: str | None
    lookup: Lookup | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is stored, for JSON."""
        found: dict[str, Any] = {"query": self.query, "value": self.value}
        if self.lookup is not None:
            found |= {
                "kept": [[one.row, round(one.score, DECIMALS)] for one in self.lookup.kept],
                "deleted": [[one.row, round(one.score, DECIMALS)] for one in self.lookup.deleted],
                "chosen": self.lookup.chosen,
                "fell_back": self.lookup.fell_back,
            }
        return found

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> LookupRecord:
        """As it was before it was stored."""
        query = None if row["query"] is None else (row["query"][0], row["query"][1])
        if "kept" not in row or query is None:
            return LookupRecord(query, row["value"])
        kept, deleted = (tuple(Hit(*one) for one in row[key]) for key in ("kept", "deleted"))
        return LookupRecord(query, row["value"], Lookup(query, deleted, kept, row["chosen"], row["fell_back"]))


@dataclass(frozen=True)
class LookupReply:
    """An answer, cleaned, with its lookups. `said`: all that was said, without markup, where the answer is not all of
    it. `cut`: it met the limit. `looped`: it asked until it was stopped. `asked`: all that its lookups hold, where some
    cannot be read."""

    answer: str
    calls: tuple[LookupRecord, ...] = ()
    cut: bool = False
    looped: bool = False
    said: str = ""
    asked: str = ""

    @property
    def drawn(self) -> bool:
        """Whether a lookup was answered with a row."""
        return any(call.lookup is not None and call.lookup.chosen is not None for call in self.calls)

    def to_json(self) -> dict[str, Any]:
        """As it is stored, for JSON."""
        return vars(self) | {"calls": [call.to_json() for call in self.calls]}

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> LookupReply:
        """As it was before it was stored."""
        calls = tuple(LookupRecord.from_json(call) for call in row["calls"])
        return LookupReply(**{**row, "calls": calls})


Replies = Mapping[State, LookupReply]
"""What was answered in each state."""
