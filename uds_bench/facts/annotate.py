"""Questions and answers to facts: the entity comes from an override, or from the words of the answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from uds_bench.errors import FactError
from uds_bench.facts.entity import split_answer
from uds_bench.facts.fact import SPLITS, Fact, FactSet, Split, Unannotated, write_facts
from uds_bench.facts.records import Record, read_records

Overrides = Mapping[str, tuple[str, str]]
"""(prefix, entity) by question."""


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

    def fact(self, prefix: str, entity: str) -> Fact:
        return Fact(**vars(self), prefix=prefix, entity=entity)


@dataclass(frozen=True)
class AnnotationReport:
    """What came of a file: the facts that were written, and the items in which no entity was found."""

    facts: FactSet
    failed: tuple[Unannotated, ...]


def annotate_all(drafts: Iterable[Draft], overrides: Overrides | None = None) -> FactSet:
    """Facts in the order of `drafts`; those without entity are listed in the set's `unannotated`.

    Raises FactError where an override does not fit its answer.
    """
    facts: list[Fact] = []
    failed: list[Unannotated] = []
    for draft in drafts:
        parts = (overrides or {}).get(draft.question) or split_answer(draft.question, draft.answer)
        if parts is None:
            reason = "no span of the answer goes beyond the question; give prefix and entity in an override"
            failed.append(Unannotated(draft.id, draft.question, draft.answer, reason))
        else:
            facts.append(draft.fact(*parts))
    return FactSet(facts, failed)


def annotate_file(
    source: str | Path, out: str | Path, overrides: str | Path | None = None, rows_per_cluster: int = 1
) -> AnnotationReport:
    """Turn a file of questions and answers into a facts file.

    `source` has JSON objects (one a line, or one list) with `question` and `answer`; `id`, `cluster`,
    `split`, `paraphrased_question`, `paraphrased_answer` and `perturbed_answers` are kept where present.
    Without `cluster`, every `rows_per_cluster` rows form one (TOFU: 20 rows an author); without `split`,
    an item is to be forgotten. `overrides` is a file of objects with `question`, `prefix` and `entity`,
    each of which must match an item.

    Raises FactError where an item or override cannot be used, and where no item at all got an entity.
    """
    name = Path(source).stem
    drafts = [
        draft_of(record, f"{name}/{row:04d}", f"{name}/{row // rows_per_cluster:04d}", "forget")
        for row, record in enumerate(read_records(source))
    ]
    given = read_overrides(overrides) if overrides is not None else {}
    unmatched = given.keys() - {draft.question for draft in drafts}
    if unmatched:
        raise FactError(f"{overrides}: question {min(unmatched)!r} is not in {source}; mend or remove it")
    facts = annotate_all(drafts, given)
    if not facts:
        raise FactError(f"{source}: no item got an entity; give prefix and entity in an overrides file")
    write_facts(out, facts)
    return AnnotationReport(facts, facts.unannotated)


def read_overrides(path: str | Path) -> dict[str, tuple[str, str]]:
    """(prefix, entity) by question, from JSON objects with these three keys; other keys are passed over."""
    records = read_records(path)
    return {record.text("question"): (record.text("prefix"), record.text("entity")) for record in records}


def draft_of(record: Record, name: str, cluster: str, split: Split) -> Draft:
    """The draft that a record holds; `name`, `cluster` and `split` stand in for keys that it lacks."""
    given = record.text_or("split", split)
    if given not in SPLITS:
        raise record.error(f"key 'split' is {given!r}; use one of {', '.join(SPLITS)}")
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
