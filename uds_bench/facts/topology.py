"""The embedded databases: public facts of three domains, each in four topologies, asked for in six wordings.

`topologies/*.toml` hold the facts and how to ask for each relation; everything else follows from them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from uds_bench.facts.lookup_prompts import WORDINGS, LookupFact, LookupPrompt, LookupPrompts, Wording, write_prompts
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

SHOTS = (
    ("Where was Ada Lovelace born?", "London"),
    ("In what year was Pride and Prejudice published?", "1813"),
)
SHORT = "Answer with a short factual phrase."


class Row(NamedTuple):
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
def rows(domain: Domain, topology: Topology) -> tuple[Row, ...]:
    """The rows of one database with how each is asked for."""
    return tuple(_rows(_source(domain), topology))


def worded(wording: Wording, row: Row) -> str:
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


def _rows(source: Mapping[str, Any], topology: Topology) -> Iterator[Row]:
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


def _base_row(source: Mapping[str, Any], entity: Mapping[str, Any], relation: str) -> Row:
    name, how = entity["name"], source["relations"][relation]
    gold = entity["facts"][relation]
    others = (tuple(entity["aliases"]), tuple(how["aliases"]), _spellings(source, gold))
    return Row(Triplet(name, relation, gold), others, how["question"].format(s=name), how["statement"].format(s=name))


def _alias_rows(source: Mapping[str, Any]) -> Iterator[Row]:
    """Each base row twice: the first other name of the subject with that of the relation, then the second with it."""
    for entity in source["entities"]:
        for relation, gold in entity["facts"].items():
            how = source["relations"][relation]
            for at in range(2):
                subject, called = entity["aliases"][at], how["aliases"][at]
                others = (
                    (entity["name"], entity["aliases"][1 - at]),
                    (relation, how["aliases"][1 - at]),
                    _spellings(source, gold),
                )
                question, statement = how["alias_questions"][at], how["alias_statements"][at]
                yield Row(
                    Triplet(subject, called, gold), others, question.format(s=subject), statement.format(s=subject)
                )


def _near_misses(source: Mapping[str, Any], entity: Mapping[str, Any]) -> Iterator[Row]:
    name = entity["name"]
    for relation, other in entity["near"].items():
        how = source["near"][relation]
        others = (tuple(entity["aliases"]), (), _spellings(source, other))
        yield Row(
            Triplet(name, relation, other), others, how["question"].format(s=name), how["statement"].format(s=name)
        )


def _decoys(source: Mapping[str, Any], entity: Mapping[str, Any]) -> Iterator[Row]:
    for relation, gold in entity["facts"].items():
        if how := source["decoys"].get(relation):
            name = how["subject"].format(s=entity["name"])
            others = ((), (), _spellings(source, gold))
            yield Row(
                Triplet(name, how["relation"], gold),
                others,
                how["question"].format(s=name),
                how["statement"].format(s=name),
            )


def _spellings(source: Mapping[str, Any], text: str) -> tuple[str, ...]:
    return tuple(source.get("objects", {}).get(text, ()))


@cache
def _source(domain: Domain) -> dict[str, Any]:
    file = resources.files("uds_bench.facts") / "topologies" / f"{domain}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))
