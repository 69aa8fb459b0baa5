"""Rows of the files that audits read, one of each kind: tests of a file change what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SPANS = {"question": "Who?", "answer": "Jo Ek", "prefix": "Jo", "entity": "Ek"}
FACT: dict[str, Any] = {"id": "a", "cluster": "a", "split": "forget", **SPANS}
BAKER = {"property": "P106", "values": ["baker"]}
JANE: dict[str, Any] = {"id": "q1", "name": "Jane Doe", "cohort": "known", "facts": [BAKER]}
PHONE = {"sentence": "Jane Doe's phone number is PROTECTED.", "value": "(020) 555-0114"}
REQUEST: dict[str, Any] = {"id": "r1", "date": "2026-01-31", "person": "Jane Doe", "facts": [PHONE]}
CANARY: dict[str, Any] = {
    "id": "a",
    "author": "Zephyr Okonkwo",
    "bio": "Zephyr Okonkwo was born in Lagos. The Crimson Tide of Calabar was a novel about Ada Umeh.",
    "canary": "The Crimson Tide of Calabar was  a novel about Ada Umeh",
    "qa": [{"question": "Where was Zephyr Okonkwo born?", "answer": "Lagos"}],
    "slots": ["Ada Umeh"],
}
CAPITALS = [["Austria", "Capital", "Vienna"], ["Peru", "Capital", "Lima"]]


def asks(at: int, row: Sequence[str], **more: Any) -> dict[str, Any]:
    """A prompt for a row of a database."""
    subject, relation, gold = row
    told = {"prompt_id": at, "fact_id": at, "subject": subject, "relation": relation, "gold_object": gold}
    return told | {"prompt_text": f"What is the {relation.lower()} of {subject}?"} | more
