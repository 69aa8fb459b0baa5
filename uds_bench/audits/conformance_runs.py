"""Checks of an audit on a sample: planned, refused, kept, shown, controls that miss, hostile names."""

from __future__ import annotations

import html
import json
import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial, reduce
from itertools import product
from operator import getitem
from typing import Any

from pydantic import ValidationError

from uds_bench.audits import registry
from uds_bench.audits.api import Audit
from uds_bench.audits.manifests import load_manifest
from uds_bench.audits.sample import Sample, SampleRun
from uds_bench.claims.record import UNTRIED, ClaimRecord
from uds_bench.claims.report_part import ReportPart
from uds_bench.errors import UdsError
from uds_bench.figures.chapter import Figure
from uds_bench.json_values import first_problem
from uds_bench.manifest.section import Section
from uds_bench.scores import Score
from uds_bench.scoring.store import Store
from uds_bench.verdicts import Cause, Verdict

ATTACK = """"'><script>alert(1)</script><img src=x onerror=alert(1)>"""
"""What becomes markup where a page does not escape it."""
HOSTILE = (ATTACK, "\u202eonp", "\x1b[2Jnpo", "npo\n::error::npo", "../npo", "")
"""Names that no model may have."""
WRONG: tuple[Any, ...] = (1, "x", True, [[1]], {"x": [1]})
"""Values of several types: no key may take all of them."""
ODD: tuple[Any, ...] = (None, 1, "x", [], {}, [[]], [None, 3, "x"], {"x": 1}, math.inf)
"""What may stand in a report where something else is meant."""
MOST_ROWS = 2
ANY_WORD = re.compile(r"[a-z]*|.?")
"""What may stand on any page: a plain word, or a letter."""
NOWHERE = "no/such/place"
ALL = ("-m", "laboratory or not laboratory")


class SampleRuns:
    """An audit with its sample and two runs: one of every claim, then one of a release's claims from the store."""

    def __init__(self, audit: Audit, sample: Sample) -> None:
        self.audit, self.sample = audit, sample

    @cached_property
    def first(self) -> SampleRun:
        """Every claim, of the laboratory too."""
        return self.sample.judge("first", *ALL)

    @cached_property
    def again(self) -> SampleRun:
        """The claims of a release, as they are decided by default."""
        _ = self.first
        return self.sample.judge("again")

    @property
    def kind(self) -> type[Section]:
        """The audit's section."""
        found = self.audit.section()
        assert found is not None
        return found

    @cached_property
    def section(self) -> Section:
        """What the sample says to it."""
        return load_manifest(self.sample.manifest).of(self.kind)

    @cached_property
    def written(self) -> dict[str, Any]:
        """The sample's manifest as it is written."""
        return tomllib.loads(self.sample.manifest.read_text(encoding="utf-8"))

    @cached_property
    def planned(self) -> set[tuple[str, ...]]:
        """The scores that it plans."""
        return self.sample.planned(self.audit.name)

    def with_keys(self, change: Callable[[Any], Any]) -> dict[str, Any]:
        """The manifest with the keys of the audit's section changed."""
        if self.kind.INLINE:
            return {**self.written, **change({k: v for k, v in self.written.items() if k in self.kind.model_fields})}
        return self.written | {self.kind.NAME: change(self.written[self.kind.NAME])}

    def said(self, manifest: Mapping[str, Any]) -> str:
        """The error about a manifest that lies where the sample's does; "" if it is accepted."""
        place = self.sample.manifest.with_name("refused.toml")
        place.write_text("".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in manifest.items()))
        try:
            load_manifest(place)
        except UdsError as error:
            return str(error)
        finally:
            place.unlink()
        return ""


def _refused(tried: SampleRuns) -> Iterator[str]:
    """Unknown keys, values of a wrong type, and models or files that are not there are a line each, with a place."""

    def lacks(what: str, told: str, *words: str) -> list[str]:
        wanted = ("refused.toml, line ", *words)
        return [] if all(word in told for word in wanted) else [f"{what}: {told or 'is accepted'}"]

    unknown = tried.with_keys(partial(_with, key="no_such_key", value=1))
    yield from lacks("an unknown key", tried.said(unknown), "no_such_key", "unknown key")
    for key in tried.kind.model_fields:
        told = [tried.said(tried.with_keys(partial(_with, key=key, value=value))) for value in WRONG]
        if not any(told):
            yield f"{key} takes whatever it is given"
        yield from (line for one in told if one for line in lacks(f"a wrong value of {key}", one))
    own = tried.written if tried.kind.INLINE else tried.written[tried.kind.NAME]
    places = [path for path in dict.fromkeys(_strings(own)) if (tried.sample.manifest.parent / path).exists()]
    if not any((tried.sample.manifest.parent / path / "config.json").is_file() for path in places):
        yield "the sample names no model in a folder"
    for place in places:
        gone = tried.with_keys(partial(_replaced, old=place, new=NOWHERE))
        yield from lacks(f"{place}, where it is not there", tried.said(gone), NOWHERE)


def _hostile(tried: SampleRuns) -> Iterator[str]:
    """No model may have a hostile name, and what the data hold stays text wherever it is shown."""
    for name in tried.section.judged():
        for hostile in HOSTILE:
            told = tried.said(tried.with_keys(partial(_replaced, old=name, new=hostile)))
            if not told or not told.isprintable():
                yield f"a model may be called {hostile!r}" if not told else f"{told!r} does not print"
    for run in (tried.first, tried.again):
        if unprintable := {c for line in run.printed.splitlines() for c in line if not (c.isprintable() or c == "\t")}:
            yield f"the terminal gets {sorted(unprintable)}"
        if "<script>alert" in run.page or "<img src=x" in run.page:
            yield "data become markup on the page"
    if "<script>alert" not in json.dumps(tried.first.report.to_json()):
        yield "nothing of the sample's data is hostile in the report: put conformance.ATTACK into a fact"


def _odd(tried: SampleRuns) -> Iterator[str]:
    """What is odd in its part of a report is refused with its place, or drawn as text; hostile scores are drawn."""
    report, kind = tried.first.report, tried.audit.part()
    scores = [Score.from_json(_hostile_texts(score.to_json())) for score in report.scores]
    drawn = [figure for chapter in tried.audit.chapters() for figure in chapter.draw(scores)]
    if kind is not None:
        part = report.parts.get(tried.audit.name)
        if not isinstance(part, kind):
            yield f"the report of the sample has no part {tried.audit.name}"
            return
        values = _short(part.model_dump(mode="json", exclude_unset=True))
        drawn += _judged(tried, _hostile_part(kind, values))
        for key, odd in product(dict.fromkeys(_keys(values)), (None, "x", [[]], {"x": 1})):
            try:
                _judged(tried, kind.model_validate(_under(values, key, odd)))
            except ValidationError as error:
                if key not in (told := first_problem(error)):
                    yield f"{key} of {odd!r} is refused without its place: {told}"
            except Exception as error:
                yield f"a chapter raises {error!r} where {key} is {odd!r}"
    for figure in drawn:
        if any("<script>alert" in str(panel) for panel in figure.panels):
            yield f"texts of the report become markup in {figure.title!r}"


def _judged(tried: SampleRuns, part: ReportPart) -> list[Figure]:
    return [figure for chapter in tried.audit.chapters() for figure in chapter.judge(part)]


def _hostile_part(kind: type[ReportPart], values: Any) -> ReportPart:
    """A part with hostile texts wherever its model takes them."""
    hostile = _hostile_texts(values)
    try:
        return kind.model_validate(hostile)
    except ValidationError as error:
        for place in (one["loc"] for one in error.errors()):
            *path, last = place
            inner, own = (reduce(getitem, path, one) for one in (hostile, values))
            inner[last] = own[last]
    return kind.model_validate(hostile)


def _planned(tried: SampleRuns) -> Iterator[str]:
    """Each claim of the table is decided for each judged model, or for none; its tests ask for what is planned."""
    specs, decided = {spec.id for spec in tried.audit.claims()}, dict[str, set[str | None]]()
    for record in tried.first.report.claims:
        decided.setdefault(record.id, set()).add(record.subject)
    yield from (f"no test decides {id}" for id in sorted(specs - decided.keys() - {*tried.sample.unasked}))
    yield from (f"{id} is decided and stands in no table" for id in sorted(decided.keys() - specs))
    judged = set(tried.section.judged())
    for id, subjects in decided.items():
        if subjects not in ({None}, judged):
            yield f"{id} is decided of {subjects}, and {judged} are judged"
    names = Counter(record.name for record in tried.first.report.claims)
    yield from (f"{name} is decided by {count} tests" for name, count in names.items() if count > 1)
    for spec in tried.audit.claims():
        blames = decided.get(spec.id, {None}) != {None} and spec.kind in ("threshold", "equivalence", "outcome")
        if blames and not spec.advice:
            yield f"{spec.id} has no advice for who fails it"
    if tried.audit.section() is registry.by_metric().section():
        return  # its tests name their scores themselves, by a mark
    planned, asked = tried.planned, {*_scores(tried.again)}
    if not planned:
        yield "no score is planned"
    yield from (f"{' '.join(one)} is planned, and no claim asks for it" for one in sorted(planned - asked))
    yield from (f"{' '.join(one)} is asked for, and is not planned" for one in sorted(asked - planned))


def _kept(tried: SampleRuns) -> Iterator[str]:
    """The second run reads stored scores: it loads no model, and everything comes to the same."""
    first, again = tried.first.report, tried.again.report
    if again.loads:
        yield f"{', '.join(again.loads)} are loaded though they were scored"
    before, scores = {record.name: _outcome(record) for record in first.claims}, _scores(tried.first)
    for record in again.claims:
        if _outcome(record) != before.get(record.name):
            yield f"{record.name} came to {before.get(record.name)}, and from the store to {_outcome(record)}"
    yield from (f"{' '.join(at)} is {value} from the store" for at, value in _scores(tried.again).items()
                if scores.get(at) != value)  # fmt: skip
    if first.parts != again.parts:
        yield "its part of the report is another one from the store"


def _shows(tried: SampleRuns) -> Iterator[str]:
    """Terminal and page hold each claim: those that stop a release with their reason."""
    page = html.unescape(tried.first.page)
    for record in tried.first.report.claims:
        told = record.message.partition(": ")[2]
        if record.id not in page or told not in page:
            yield f"the page lacks {record.name}: {told}"
        if not record.is_good and told not in tried.first.printed:
            yield f"the terminal lacks {record.name}: {told}"
        if record.cause is Cause.CRASHED:
            yield f"{record.name} crashed: {told}"


def _missed(tried: SampleRuns) -> Iterator[str]:
    """Each claim has the controls that its table names; a control that comes out wrong leaves it undecided for that."""
    specs, records = {spec.id: spec for spec in tried.audit.claims()}, tried.first.report.claims
    for record in records:
        spec = specs.get(record.id)
        known = {control.must for control in record.controls if control.verdict != UNTRIED}
        if spec is not None and record.outcome in (Verdict.PASS, Verdict.FAIL) and spec.needs_control:
            named = {"fail": spec.must_fail, "pass": spec.must_pass}
            for must in (must for must, words in named.items() if words and must not in known):
                yield f"{record.name} has no control that must {must}, and its table names {named[must]!r}"
        wrong = [one for one in record.controls if not one.held]
        if record.cause is Cause.UNITS:
            wrong = [one for one in wrong if not one.has_few_units]
        if wrong and (record.verdict, record.cause) != (Verdict.UNDECIDED, Cause.CONTROL):
            yield f"{record.name} is {record.verdict} ({record.cause}), and {wrong[0].miss}"
        if wrong and wrong[0].miss not in record.message:
            yield f"{record.name} does not tell of {wrong[0].miss}"


def _wrong(tried: SampleRuns) -> Iterator[str]:
    """A control that another model stands for comes out wrong in every claim that uses it in the same way."""
    held, missed = defaultdict[tuple[str, str], set[str]](set), defaultdict[tuple[str, str], set[str]](set)
    for record in tried.first.report.claims:
        for control in record.controls:
            (held if control.held else missed)[control.name, control.must].add(record.name)
    if not tried.sample.wrong:
        yield "the sample names no control that comes out wrong"
    for name in tried.sample.wrong:
        ways = [way for way in missed if way[0] == name]
        if not ways:
            yield f"the control {name} never comes out wrong"
        for claim in sorted(claim for way in ways for claim in held[way] - missed[way]):
            yield f"{claim} takes the control {name} for right, which comes out wrong elsewhere"


def _measured(tried: SampleRuns) -> Iterator[str]:
    """Scores depend on the model: other weights do not come to the same in all; scores that count choices are
    shares."""
    store, found = Store(tried.sample.kept), dict[tuple[str, ...], dict[str, set[str]]]()
    for score in tried.first.report.scores:
        whole = store.find(str(score.provenance.get("cell")))
        if whole is None:
            yield f"{' '.join(score.address)} is not in the store"
            continue
        told = repr((whole.value, whole.notes, [(one.value, one.reason, one.detail) for one in whole.per_fact]))
        found.setdefault(score.address[1:], {}).setdefault(told, set()).add(str(score.provenance["checkpoint"]))
        if score.provenance.get("counts_choices") and not score.counts_choices:
            yield f"{' '.join(score.address)} says that it counts choices, and has a value that is no share of any"
    for name in tried.section.checkpoints().keys() - {score.checkpoint for score in tried.first.report.scores}:
        yield f"the sample names {name}, and nothing is scored of it"
    several = [values for values in found.values() if len(set().union(*values.values())) > 1]
    if not several:
        yield "the sample has no two models of other weights that are scored alike"
    elif all(len(values) == 1 for values in several):
        yield "its scores come to the same for all models, whatever their weights"


def _published(tried: SampleRuns) -> Iterator[str]:
    """A page to publish names nobody and repeats no text of the data."""
    report, page = tried.first.report, tried.sample.published("first")
    told = {text for one in report.wordings.values() for text in one.values()}
    for fact in (fact for score in report.scores for fact in score.per_fact):
        told |= {fact.id, fact.cluster, *(text for text in fact.detail.values() if isinstance(text, str))}
    for text in sorted(told):
        if not ANY_WORD.fullmatch(text) and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", page):
            yield f"a page to publish tells {text!r}: mark its field as PERSONAL"


CHECKS: Mapping[str, Callable[[SampleRuns], Iterator[str]]] = {
    "refused": _refused,
    "planned": _planned,
    "kept": _kept,
    "shown": _shows,
    "controls": _missed,
    "wrong controls": _wrong,
    "measured": _measured,
    "published": _published,
    "hostile names": _hostile,
    "odd reports": _odd,
}


def _outcome(record: ClaimRecord) -> tuple[Any, ...]:
    return record.verdict, record.outcome, record.observed, record.interval, record.message, record.controls


def _scores(run: SampleRun) -> dict[tuple[str, ...], Any]:
    found = [(score.address, score.value) for score in run.report.scores]
    assert len(dict(found)) == len(found), f"two scores have one address: {sorted(address for address, _ in found)}"
    return dict(found)


def _hostile_texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _hostile_texts(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_hostile_texts(one) for one in value]
    return value + ATTACK if isinstance(value, str) else value


def _short(value: Any) -> Any:
    """A part with only the first rows of each list of tables: it tests as much, and is drawn sooner."""
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in value.items()}
    rows = isinstance(value, list) and all(isinstance(one, Mapping) for one in value)
    return [_short(one) for one in value[:MOST_ROWS]] if rows else value


def _keys(value: Any) -> Iterator[str]:
    for one in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _keys(one)
    yield from value if isinstance(value, Mapping) else ()


def _under(value: Any, key: str, odd: Any) -> Any:
    """A part with an odd value wherever it has a key."""
    if isinstance(value, Mapping):
        return {name: odd if name == key else _under(one, key, odd) for name, one in value.items()}
    return [_under(one, key, odd) for one in value] if isinstance(value, list) else value


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _with(table: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    return {**table, key: value}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(one)


def _replaced(value: Any, old: str, new: str) -> Any:
    """A table, or a list, with a text replaced wherever it is a key or a value."""
    if isinstance(value, dict):
        return {new if key == old else key: _replaced(one, old, new) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, old, new) for one in value]
    return new if value == old else value
