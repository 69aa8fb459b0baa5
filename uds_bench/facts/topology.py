"""The embedded databases: public facts of three domains, each in four topologies, asked for in six wordings.

`topologies/*.toml` hold the facts and how to ask for each relation; everything else follows from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from uds_bench.facts.lookup_prompts import WORDINGS, LookupFact, LookupPrompt, LookupPrompts, Wording, write_prompts
from uds_bench.facts.records import embedded_toml
from uds_bench.facts.triplets import Triplet, TripletDatabase, write_database

Domain = Literal["countries", "politicians", "sports"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
Topology = Literal["base", "alias", "collision", "noise"]
TOPOLOGIES: tuple[Topology, ...] = get_args(Topology)
"""Canonical rows alone; each under two other names and never under its own; with near misses (same subject, another
object); with decoys (another subject, the same object). LMLM audit, section 4; in the order of the residuals that it
published (figure 3)."""

OTHER = "other"
"""The topology of a database whose name says none."""

SHOTS = (("Where was Ada Lovelace born?", "London"), ("In what year was Pride and Prejudice published?", "1813"))
SHORT = "Answer with a short factual phrase."


class DatabaseRow(NamedTuple):
    """A row, its other names, and how it is asked for: a question, and a statement that the object completes."""

    triplet: Triplet
    aliases: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    question: str
    statement: str


@cache
def embedded(domain: Domain, topology: Topology) -> LookupPrompts:
    """One database with its facts and prompts."""
    found = rows(domain, topology)
    database = TripletDatabase((row.triplet for row in found), f"{domain}/{topology}")
    facts = tuple(LookupFact(at, row.triplet, row.aliases) for at, row in enumerate(found))
    prompts = (LookupPrompt(at, wording, worded(wording, row)) for wording in WORDINGS for at, row in enumerate(found))
    return LookupPrompts(database, facts, tuple(prompts))


@cache
def rows(domain: Domain, topology: Topology) -> tuple[DatabaseRow, ...]:
    """The rows of one database with how each is asked for."""
    return tuple(_rows(embedded_toml(f"topologies/{domain}.toml"), topology))


def worded(wording: Wording, row: DatabaseRow) -> str:
    """The prompt for a row (LMLM audit, appendix A.1)."""
    subject, question = row.triplet.subject, row.question
    match wording:
        case "direct":
            return question
        case "paraphrased":
            return f"Could you tell me the answer to this: {question}"
        case "contextual":
            return f"Context: I am compiling a concise factual profile for {subject}. {SHORT}\nQuestion: {question}"
        case "cloze":
            return f"Complete the sentence with the missing fact: {row.statement} ____."
        case "continuations":
            return f"Tell me about {subject}. {row.statement}"
        case "few_shot":
            shots = "".join(f"Question: {asked}\nAnswer: {answer}\n\n" for asked, answer in SHOTS)
            return f"{SHORT.replace('Answer', 'Answer the final question')}\n\n{shots}Question: {question}\nAnswer:"


def write_embedded(folder: str | Path) -> None:
    """Write every database and its prompts in the public form and layout: `<domain>/<topology>.json` beside
    `<domain>/prompts/<topology>/`."""
    for domain in DOMAINS:
        for topology in TOPOLOGIES:
            asked = embedded(domain, topology)
            write_prompts(Path(folder) / domain / "prompts" / topology, asked)
            write_database(Path(folder) / domain / f"{topology}.json", asked.database)


def _rows(source: Mapping[str, Any], topology: Topology) -> Iterator[DatabaseRow]:
    if topology == "alias":
        yield from _alias_rows(source)
        return
    for entity in source["entities"]:
        yield from (_base_row(source, entity, relation) for relation in entity["facts"])
    for entity in source["entities"]:
        if topology == "collision":
            yield from _near_misses(source, entity)
        elif topology == "noise":
            yield from _decoys(source, entity)


def _row(
    triplet: tuple[str, str, str], how: Mapping[str, str], subjects: Sequence[str], called: Sequence[str], source: Any
) -> DatabaseRow:
    """`how`: to ask for it; `subjects`, `called`: other names of its own."""
    spelled = source.get("objects", {}).get(triplet[2], ())
    asked = (how[key].format(s=triplet[0]) for key in ("question", "statement"))
    return DatabaseRow(Triplet(*triplet), (tuple(subjects), tuple(called), tuple(spelled)), *asked)


def _base_row(source: Mapping[str, Any], entity: Mapping[str, Any], relation: str) -> DatabaseRow:
    how = source["relations"][relation]
    triplet = entity["name"], relation, entity["facts"][relation]
    return _row(triplet, how, entity["aliases"], how["aliases"], source)


def _alias_rows(source: Mapping[str, Any]) -> Iterator[DatabaseRow]:
    """Each base row twice: the first other name of the subject with that of the relation, then the second with it."""
    for entity in source["entities"]:
        for relation, gold in entity["facts"].items():
            how, subjects = source["relations"][relation], entity["aliases"]
            called = how["aliases"]
            for at in range(2):
                asked = {key: how[f"alias_{key}s"][at] for key in ("question", "statement")}
                others = (entity["name"], subjects[1 - at]), (relation, called[1 - at])
                yield _row((subjects[at], called[at], gold), asked, *others, source)


def _near_misses(source: Mapping[str, Any], entity: Mapping[str, Any]) -> Iterator[DatabaseRow]:
    for relation, other in entity["near"].items():
        yield _row((entity["name"], relation, other), source["near"][relation], entity["aliases"], (), source)


def _decoys(source: Mapping[str, Any], entity: Mapping[str, Any]) -> Iterator[DatabaseRow]:
    for relation, gold in entity["facts"].items():
        if how := source["decoys"].get(relation):
            yield _row((how["subject"].format(s=entity["name"]), how["relation"], gold), how, (), (), source)
