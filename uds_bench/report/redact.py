"""A run report to publish: numbers and verdicts, and salted ids in place of names, values, replies and other free text.

Kept is what is listed here or said by an audit to be of nobody; whatever else holds words is replaced or left out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from uds_bench.audits import registry
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.report_part import PERSONAL, GroupNames, ReportPart, ReportTable, unhidden
from uds_bench.claims.run_report import ManifestRecord, RunReport
from uds_bench.figures.spelling import spell
from uds_bench.scores import FactScore, Score
from uds_bench.storage import content_key
from uds_bench.verdicts import ADVICE

MADE_BY = (
    *("attack", "metric", "metric_version", "variant", "patching", "seed", "batch_size"),
    *("dtype", "quantization", "device", "torch", "transformers", "checkpoint", "checkpoint_name", "references"),
)
"""What is kept of where a number comes from: digests of facts and of what was asked confirm whoever guesses them."""
FIELD = re.compile("[a-z]+(_[a-z]+)*")
"""A key of a detail that is no name: a name is written with a capital, a space or a number."""
OF_ONE = "#"
"""In the kind of a fact that one person alone states, which begins with the person's id."""
ELSEWHERE = "told in the full report"


def redacted(run: RunReport, place: str) -> RunReport:
    """The report with salted ids: the same words have the same id, and nobody without the salt can try out a guess.

    Args:
        run: The full report.
        place: Where it lies, for what is wrong with it.

    Raises:
        ConfigurationError: It has no salt.
    """
    run.require_salt(place)
    told = run.summary
    left = {"notes": told.notes, "reasons that make it red": told.problems}
    notes = [f"{len(lines)} {what}: {ELSEWHERE}" for what, lines in left.items() if lines]
    notes.append("redacted: ids in brackets stand for names, values, replies and reasons")
    return RunReport(
        **{name: getattr(run, name) for name in RunReport.model_fields if name != "schema_"}
        | {
            "salt": "",
            "manifest": ManifestRecord(path=Path(run.manifest.path).name, digest=hidden(run.manifest.digest, run.salt)),
            "summary": told.model_copy(update={"problems": [], "notes": notes}),
            **{key: tuple(_claim(one, run.salt) for one in getattr(run, key)) for key in ("claims", "of_method")},
            "scores": tuple(_score(score, run.salt) for score in run.scores),
            "wordings": {},
            "table": None,
            **_parts(run),
        }
    )


def hidden(text: str, salt: str) -> str:
    """A salted id of a text, "" of none.

    Example:
        >>> hidden("Ada Vorn", "3f"), hidden("Ada Vorn", "3f") == hidden("Ada Vorn", "40"), hidden("", "3f")
        ('[604a61357fe5]', False, '')
    """
    return f"[{content_key([salt, text])[:12]}]" if text else ""


def _claim(record: ClaimRecord, salt: str) -> ClaimRecord:
    seen = "" if record.observed is None else f", observed {spell(record.observed)}"
    node, spec = record.node.rpartition("/")[2], registry.claims().get(record.id)
    known = {*ADVICE.values(), spec.advice if spec else ""}
    return replace(
        record,
        statement=spec.statement if spec else "",
        advice=record.advice if record.advice in known else ELSEWHERE,
        message=f"{record.name}: {record.spelled(str)}{seen}" + (f", needs {record.needs}" if record.needs else ""),
        controls=tuple(replace(control, why=control.why and ELSEWHERE) for control in record.controls),
        golden={key: record.golden[key] for key in ("status", "recorded", "tolerance") if key in record.golden},
        expected=_reason(record.expected, salt),
        waiver=_reason(record.waiver, salt),
        reproduce=f"pytest {shlex.quote(node)}" if node else "",
        provenance=_made_by(record.provenance),
        node=node,
    )


def _reason(told: Mapping[str, Any], salt: str) -> dict[str, Any]:
    kept = {key: told[key] for key in ("verdict", "expires") if key in told}
    return kept | ({"reason": hidden(str(told["reason"]), salt)} if told.get("reason") else {})


def _made_by(provenance: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in provenance.items() if key in MADE_BY}


def _score(score: Score, salt: str) -> Score:
    facts = tuple(_fact(fact, salt) for fact in score.per_fact)
    return replace(score, per_fact=facts, notes={}, provenance=_made_by(score.provenance))


def _fact(fact: FactScore, salt: str) -> FactScore:
    return replace(
        fact,
        id=hidden(fact.id, salt),
        cluster=hidden(fact.cluster, salt),
        kind=hidden(fact.kind, salt) if fact.kind and OF_ONE in fact.kind else fact.kind,
        reason=fact.reason and ELSEWHERE,
        detail=_free(fact.detail, salt),
    )


def _free(value: Any, salt: str) -> Any:
    """A value of no model: ids in the place of texts, and of keys that are not called as fields are."""
    if isinstance(value, Mapping):
        return {key if FIELD.fullmatch(key) else hidden(key, salt): _free(one, salt) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_free(one, salt) for one in value]
    return hidden(value, salt) if isinstance(value, str) else value


def _parts(run: RunReport) -> dict[str, Any]:
    """What audits have to say, of those that mark which of it is about people, so that all of it is hidden."""
    typed = {name: part for name, part in run.parts.items() if isinstance(part, ReportPart)}
    marked = {name: part for name, part in typed.items() if part.MARKED and not any(unhidden(type(part)))}
    return {name: _walk(part, run.salt, False) for name, part in marked.items()}


def _walk(value: Any, salt: str, inside: bool) -> Any:
    """A value with ids for the texts that lie `inside` what is about people, and for a user's own names of groups;
    numbers as they are."""
    if isinstance(value, ReportTable):
        fields = {name: type(value).model_fields[name].metadata for name in value.model_fields_set}
        told = {name: _field(getattr(value, name), salt, inside, marks) for name, marks in fields.items()}
        return value.model_copy(update=told)
    if isinstance(value, Mapping):
        return {key: _walk(one, salt, inside) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_walk(one, salt, inside) for one in value)
    return hidden(value, salt) if inside and isinstance(value, str) else value


def _field(value: Any, salt: str, inside: bool, marks: Sequence[Any]) -> Any:
    found = _walk(value, salt, inside or PERSONAL in marks)
    for own in (mark.own for mark in marks if isinstance(mark, GroupNames)):
        found = {key if key in own else hidden(key, salt): one for key, one in found.items()}
    return found
