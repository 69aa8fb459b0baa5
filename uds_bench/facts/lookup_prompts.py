"""Prompts that ask for rows of a triplet database, and the facts that they ask for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from uds_bench.errors import FactError
from uds_bench.facts.name_matching import Aliases, bare
from uds_bench.facts.records import Record, read_records, said_of
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.storage import content_key, write_rows

Wording = Literal["direct", "paraphrased", "contextual", "cloze", "continuations", "few_shot"]
WORDINGS: tuple[Wording, ...] = get_args(Wording)
FILES: dict[str, Wording] = {
    "prompts_direct_questions": "direct",
    "prompts_paraphrased_questions": "paraphrased",
    "prompts_contextual_questions": "contextual",
    "prompts_cloze": "cloze",
    "prompts_continuations": "continuations",
    "prompts_fewshot_questions": "few_shot",
}
"""The public names of prompt files, without their ending."""
ALIASES = ("subject_aliases", "relation_aliases", "object_aliases")
KEYS = ("prompt_id", "fact_id", "subject", "relation", "gold_object", "prompt_text", *ALIASES)


@dataclass(frozen=True)
class LookupFact:
    """A row that is asked for and deleted; `aliases`: other names of its subject, relation and object."""

    id: int
    triplet: Triplet
    aliases: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] = ((), (), ())

    @property
    def answers(self) -> tuple[str, ...]:
        """The object and its other spellings."""
        return (self.triplet.object, *self.aliases[2])


@dataclass(frozen=True)
class LookupPrompt:
    """One prompt for one fact."""

    fact: int
    wording: Wording
    text: str


@dataclass(frozen=True)
class LookupPrompts:
    """The facts that a database is asked for, and in how many wordings each; every fact has one prompt a wording.

    Raises FactError where a fact is asked for twice in a wording or lies in no row, and where an alias of subjects or
    relations names two of them. Objects may share a spelling: an answer is held against one fact's own.
    """

    database: TripletDatabase
    facts: tuple[LookupFact, ...]
    prompts: tuple[LookupPrompt, ...]
    transitive: bool = False

    def __post_init__(self) -> None:
        known = {fact.id for fact in self.facts}
        if len(known) < len(self.facts):
            raise FactError(f"{self.database.name}: a fact id occurs twice; make every id unique")
        for fact in self.facts:
            if not self.equal[fact.id]:
                raise FactError(
                    f"{self.database.name}: fact {fact.id}, {' | '.join(fact.triplet)}, is not among the rows; "
                    "add the row or take the fact's prompts out"
                )
            if not any(map(bare, fact.answers)):
                raise FactError(
                    f"{self.database.name}: fact {fact.id}: the object {fact.triplet.object!r} has no letter and no "
                    "digit, so that no reply can be seen to tell it: take the fact's prompts out"
                )
        asked: set[tuple[int, Wording]] = set()
        for prompt in self.prompts:
            if prompt.fact not in known:
                raise FactError(f"{self.database.name}: a prompt asks for fact {prompt.fact}, which is not there")
            if (prompt.fact, prompt.wording) in asked:
                raise FactError(f"{self.database.name}: fact {prompt.fact} has two prompts of wording {prompt.wording}")
            asked.add((prompt.fact, prompt.wording))
        for what, names in zip(("subject", "relation"), self.names, strict=False):
            if clash := None if self.transitive else names.clash():
                raise FactError(
                    f"{self.database.name}: {what} alias {clash}: give each its own, or ask for transitive aliases, "
                    "which make them one"
                )

    @cached_property
    def names(self) -> tuple[Aliases, Aliases, Aliases]:
        """Which subjects, relations and objects mean the same, by what all facts declare."""
        groups = ([[fact.triplet[at], *fact.aliases[at]] for fact in self.facts] for at in range(3))
        subjects, relations, objects = (Aliases(group, self.transitive) for group in groups)
        return subjects, relations, objects

    @cached_property
    def matching(self) -> Mapping[int, frozenset[int]]:
        """By fact, the places of the rows whose subject, relation and object all match its own under the aliases."""
        meeting = {
            fact.id: tuple(
                names.meeting((text, *own))
                for names, text, own in zip(self.names, fact.triplet, fact.aliases, strict=True)
            )
            for fact in self.facts
        }
        if not meeting:
            return {}
        # Rows that some fact could mean, by subject and relation: most rows of a large database are of no fact.
        wanted = [frozenset[str]().union(*parts) for parts in zip(*meeting.values(), strict=True)]
        held: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for at, row in enumerate(zip(*self.database.spelled, strict=True)):
            if all(text in spellings for text, spellings in zip(row, wanted, strict=True)):
                held[row[:2]].append((at, row[2]))
        return {
            id: frozenset(
                at for key in product(subjects, relations) for at, text in held.get(key, ()) if text in objects
            )
            for id, (subjects, relations, objects) in meeting.items()
        }

    @cached_property
    def equal(self) -> Mapping[int, tuple[int, ...]]:
        """By fact, the places of the rows that are its own, letter by letter."""
        found: dict[Triplet, list[int]] = {fact.triplet: [] for fact in self.facts}
        for at, row in enumerate(self.database):
            if row in found:
                found[row].append(at)
        return {fact.id: tuple(found[fact.triplet]) for fact in self.facts}

    @property
    def wordings(self) -> tuple[Wording, ...]:
        """The wordings that occur, in their usual order."""
        return tuple(w for w in WORDINGS if any(prompt.wording == w for prompt in self.prompts))

    def of(self, wordings: Iterable[Wording]) -> LookupPrompts:
        """The prompts of these wordings alone."""
        kept = tuple(prompt for prompt in self.prompts if prompt.wording in set(wordings))
        return LookupPrompts(self.database, self.facts, kept, self.transitive)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of rows, facts and prompts."""
        facts = [[fact.id, list(fact.triplet), fact.aliases] for fact in self.facts]
        prompts = [[prompt.fact, prompt.wording, prompt.text] for prompt in self.prompts]
        return content_key([self.database.digest, facts, prompts, self.transitive])


def read_prompts(database: TripletDatabase, paths: Sequence[str | Path], transitive: bool = False) -> LookupPrompts:
    """The prompts of a database from files of JSON objects, one a line, one file a wording, in the public form.

    Raises FactError with file, line and key for the first thing that is wrong.
    """
    facts: dict[int, tuple[LookupFact, str]] = {}
    rows = set(database)
    prompts: list[LookupPrompt] = []
    for path in map(Path, paths):
        if path.stem not in FILES:
            raise FactError(f"{path}: the name of a prompt file says its wording; use one of {', '.join(FILES)}")
        asked: dict[int, str] = {}
        for record in read_records(path):
            fact = _fact(record)
            if fact.id in asked:
                raise record.error(f"key 'fact_id' is {fact.id} as in {asked[fact.id]}; ask for a fact once a file")
            asked[fact.id] = record.where
            if fact.triplet not in rows:
                raise record.error(f"asks for {' | '.join(fact.triplet)}, which is no row of {database.name}")
            known, where = facts.setdefault(fact.id, (fact, record.where))
            if known != fact:
                raise record.error(f"fact {fact.id} differs from the one in {where}: keep one row and its aliases")
            prompts.append(LookupPrompt(fact.id, FILES[path.stem], record.text("prompt_text")))
    with said_of(", ".join(map(str, paths[:1]))):
        return LookupPrompts(database, tuple(fact for fact, _ in facts.values()), tuple(prompts), transitive)


def write_prompts(folder: str | Path, asked: LookupPrompts) -> None:
    """Write one file a wording into `folder`, in the public form, that `read_prompts` gives back unchanged."""
    facts = {fact.id: fact for fact in asked.facts}
    for stem, wording in FILES.items():
        found = [prompt for prompt in asked.prompts if prompt.wording == wording]
        if found:
            write_rows(Path(folder) / f"{stem}.jsonl", (_public(at, facts[p.fact], p) for at, p in enumerate(found)))


def _fact(record: Record) -> LookupFact:
    record.known(KEYS)
    fields = [record.text(key) for key in ("subject", "relation", "gold_object")]
    for key in ("subject", "relation", "gold_object", "prompt_text"):
        if not record.text(key).strip():
            raise record.error(f"key {key!r} is empty; give it a text")
    subjects, relations, objects = (record.texts(key) if record.has(key) else () for key in ALIASES)
    if any(not name.strip() for name in (*subjects, *relations, *objects)):
        raise record.error("an alias is empty; give it a text or take it out")
    return LookupFact(record.row("fact_id"), Triplet(*fields), (subjects, relations, objects))


def _public(at: int, fact: LookupFact, prompt: LookupPrompt) -> dict[str, Any]:
    subject, relation, gold = fact.triplet
    row = {"prompt_id": at, "fact_id": fact.id, "subject": subject, "relation": relation, "gold_object": gold}
    named = {key: list(names) for key, names in zip(ALIASES, fact.aliases, strict=True) if names}
    return row | {"prompt_text": prompt.text} | named
