"""Questions and answers to facts: the entity comes from a correction, or from the words of the answer."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from uds_bench.errors import FactError, counted, did_you_mean, some
from uds_bench.facts.clusters import clusters_by_name
from uds_bench.facts.entities.forms import slots
from uds_bench.facts.entity import find_entity
from uds_bench.facts.fact import EVERY_SPLIT, Fact, FactSet, Split, Unannotated, write_facts
from uds_bench.facts.letters import UNSPACED
from uds_bench.facts.records import Record, read_records, read_table, said_of

Marks = Mapping[str, tuple[str, str]]
"""(prefix, entity) by the id of an item."""
CLUSTER_KEYS = ("cluster", "author", "subject", "person")
"""Keys of a row that say whom it is about; the first of them that a row has counts."""
LISTED = 20
"""Names or ids that one line lists."""


@dataclass(frozen=True)
class Draft:
    """A fact that still lacks prefix and entity."""

    id: str
    cluster: str
    split: Split
    question: str
    answer: str
    paraphrased_question: str | None = None
    paraphrased_answer: str | None = None
    perturbed_answers: tuple[str, ...] = ()

    def fact(self, prefix: str, entity: str, doubt: str | None = None) -> Fact:
        """The fact, with its entity and the doubt about it."""
        return Fact(**vars(self), prefix=prefix, entity=entity, doubt=doubt)

    def unannotated(self, reason: str, proposed: str = "") -> Unannotated:
        """The question and answer, with the reason why no entity was found."""
        return Unannotated(self.id, self.question, self.answer, reason, proposed)


def annotate_all(drafts: Sequence[Draft], marks: Marks | None = None, keep_doubtful: bool = False) -> FactSet:
    """Facts in the order of `drafts`; those without entity are listed in the set's `unannotated`.

    `marks` are taken as they are. Of other items the entity is found (`entity.find_entity`); where it is doubtful the
    item is left out and listed, or with `keep_doubtful` kept, the doubt beside it (`Fact.doubt`).

    Raises FactError where a mark does not fit its answer.
    """
    given = marks or {}
    facts: list[Fact] = []
    left_out: list[Unannotated] = []
    varying = slots([(draft.question, draft.answer) for draft in drafts])
    for at, draft in enumerate(drafts):
        if draft.id in given:
            facts.append(draft.fact(*given[draft.id]))
            continue
        told = draft.paraphrased_answer
        found = find_entity(draft.question, draft.answer, told, draft.perturbed_answers, varying.get(at))
        if found is None:
            left_out.append(draft.unannotated("no span of the answer goes beyond the question"))
            continue
        start, end = found.span
        prefix, entity = draft.answer[:start].rstrip(), draft.answer[start:end]
        if found.doubt and not keep_doubtful:
            left_out.append(draft.unannotated(found.doubt, entity))
        else:
            facts.append(draft.fact(prefix, entity, found.doubt or None))
    return FactSet(facts, left_out)


def annotate_file(
    source: str | Path,
    out: str | Path,
    corrections: str | Path | None = None,
    rows_per_cluster: int | None = None,
    keep_doubtful: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> FactSet:
    """Turn a file of questions and answers into a facts file, and give what was written and what was left out.

    `source` has JSON objects (one a line, or one list) with `question` and `answer`; `id`, `cluster`,
    `split`, `paraphrased_question`, `paraphrased_answer` and `perturbed_answers` are kept where present. Without
    `split`, an item is to be forgotten. A row's cluster is what one of `CLUSTER_KEYS` says; else the person whom it
    names (`clusters.clusters_by_name`), or with `rows_per_cluster` so many rows are one; `tell` is told how many there
    are, and how they were found. `corrections`: see `read_corrections`. Nothing is written where no item got an entity.

    Raises FactError where an item or correction cannot be used.
    """
    name, records = Path(source).stem, read_records(source)
    ids = [record.text_or("id", f"{name}/{row:04d}") for row, record in enumerate(records)]
    clusters = _clusters(name, ids, records, rows_per_cluster, tell)
    drafts = [draft_of(*row, "forget") for row in zip(records, ids, clusters, strict=True)]
    if twice := [name for name, count in Counter(draft.id for draft in drafts).items() if count > 1]:
        raise FactError(f"{source}: id {twice[0]!r} is given twice; make every id unique")
    marks = read_corrections(corrections, drafts, source) if corrections is not None else {}
    facts = annotate_all(drafts, marks, keep_doubtful)
    if facts:
        write_facts(out, facts)
    return facts


def _clusters(
    name: str, ids: Sequence[str], records: Sequence[Record], rows_per_cluster: int | None, tell: Callable[[str], None]
) -> tuple[str, ...]:
    """The cluster of each row."""
    keys = {row: key for row, one in enumerate(records) if (key := next(filter(one.has, CLUSTER_KEYS), None))}
    given = {row: records[row].text(key) for row, key in keys.items()}
    if given:
        told = " or ".join(repr(key) for key in dict.fromkeys(keys.values()))
        tell(f"{_counted(given.values())}, as key {told} says")
    if rows_per_cluster is not None:
        blocks = [given.get(row, f"{name}/{row // rows_per_cluster:04d}") for row in range(len(records))]
        if others := [block for row, block in enumerate(blocks) if row not in given]:
            tell(f"{_counted(others)}, every {counted(rows_per_cluster, 'row')}")
        return tuple(blocks)
    items = [(record.text("question"), record.text("answer")) for record in records]
    found = clusters_by_name(items, given, nobody := f"{name}/nobody")
    if found.named:
        sizes = Counter(found.of[row] for row in found.named)
        listed = some([f"{person} ({rows})" for person, rows in sizes.items()], LISTED)
        tell(f"{_counted(sizes.elements())}, by the person whom they name: {listed}")
    if found.lost:
        lost = some([ids[row] for row in found.lost], LISTED)
        told = f"{len(found.lost)} of {len(records)} rows name nobody and are one cluster, {nobody!r}"
        tell(f"{told}: give them a key 'cluster': {lost}")
    return found.of


def _counted(clusters: Iterable[str]) -> str:
    """How many clusters there are of how many rows, and that intervals are over rows where each has one."""
    sizes = Counter(clusters)
    told = f"{counted(len(sizes), 'cluster')} of {counted(sizes.total(), 'row')}"
    return f"{told} (intervals are over rows)" if len(sizes) == sizes.total() > 1 else told


def read_corrections(path: str | Path, drafts: Iterable[Draft], source: str | Path) -> dict[str, tuple[str, str]]:
    """(prefix, entity) by id, from a .csv or JSON objects with `id`, `entity` and, where it is there, `prefix`.

    The entity is its first occurrence in the answer as whole words, or the first after the prefix. Rows with an empty
    entity and other keys are passed over.

    Raises FactError, naming file and line, for an id that `source` lacks or that comes twice, and for an entity that
    is not in its answer.
    """
    known = {draft.id: draft for draft in drafts}
    marks: dict[str, tuple[str, str]] = {}
    for record in read_table(path):
        name, entity = record.text("id"), record.text("entity").strip()
        if name not in known:
            raise record.error(f"id {name!r} is not in {source}; mend or remove it")
        if name in marks:
            raise record.error(f"id {name!r} is given twice; keep one")
        if entity:
            marks[name] = record.text_or("prefix", "") or _before(known[name].answer, entity, record), entity
            with said_of(record.where):
                known[name].fact(*marks[name])
    return marks


def _before(answer: str, entity: str, record: Record) -> str:
    """What stands before the first occurrence of an entity that is no part of a longer word, without its last space."""
    # Words of some scripts follow one another without a space.
    ends = ("" if UNSPACED.match(sign) else edge for sign, edge in ((entity[0], r"(?<!\w)"), (entity[-1], r"(?!\w)")))
    if not (found := re.search(re.escape(entity).join(ends), answer)):
        raise record.error(f"entity {entity!r} is not in the answer {answer!r}; copy it from there")
    return answer[: found.start()].rstrip()


def read_overrides(path: str | Path) -> dict[str, tuple[str, str]]:
    """(prefix, entity) by question, from JSON objects with these three keys; other keys are passed over."""
    records = read_records(path)
    return {record.text("question"): (record.text("prefix"), record.text("entity")) for record in records}


def draft_of(record: Record, name: str, cluster: str, split: Split) -> Draft:
    """The draft that a record holds; `name`, `cluster` and `split` stand in for keys that it lacks."""
    given = record.text_or("split", split)
    if given not in EVERY_SPLIT:
        raise record.error(f"key 'split' is {given!r}: {did_you_mean(given, EVERY_SPLIT)}")
    if blank := [key for key in ("question", "answer") if not record.text(key).strip()]:
        raise record.error(f"key {blank[0]!r} is empty; give it a text")
    perturbed = next((key for key in ("perturbed_answers", "perturbed_answer") if record.has(key)), None)
    return Draft(
        id=record.text_or("id", name),
        cluster=record.text_or("cluster", cluster),
        split=given,
        question=record.text("question"),
        answer=record.text("answer"),
        paraphrased_question=record.text_or("paraphrased_question", None),
        paraphrased_answer=record.text_or("paraphrased_answer", None),
        perturbed_answers=record.texts(perturbed) if perturbed else (),
    )
