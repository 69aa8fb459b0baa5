"""Every audit passes the checks for audits, and the checks can fail."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from audit_samples import sample_of
from markupsafe import Markup
from pydantic import ConfigDict, Field
from small_runs import Bench

from uds_bench.audits import registry
from uds_bench.audits.api import Audit
from uds_bench.audits.conformance import check_audit
from uds_bench.audits.conformance_runs import CHECKS, SampleRuns
from uds_bench.audits.sample import SampleRun
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.report_part import PERSONAL, ReportPart
from uds_bench.claims.spec import ClaimSpec
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.manifest.section import Section
from uds_bench.scores import Score
from uds_bench.verdicts import Cause, Verdict

GOOD = ClaimSpec("mine.holds", "threshold", "It holds.", "<=", 0.1, "ours", must_fail="a model that knows")


class Mine(Section):
    """`word`: whatever it is."""

    NAME = "mine"
    word: str = ""

    def lacks(self) -> list[str]:
        return [] if self.word else ["[mine] word"]


class Words(ReportPart):
    """What the audit has to say."""

    models: tuple[str, ...] = ()


class ByName(Words):
    """What the audit has to say of people."""

    told: Annotated[dict[str, int], PERSONAL] = Field(default_factory=dict)


class Loose(Words):
    """What the audit has to say, and whatever else there may be."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True)
class Made(Audit):
    """An audit whose modules are made here."""

    modules: Any = None

    def section(self) -> Any:
        return self.modules["section"].SECTION

    def module(self, name: str) -> Any:
        return self.modules[name]

    def part(self) -> Any:
        return self.modules["part"].PART

    def chapters(self) -> Any:
        return self.modules["page"].CHAPTERS

    def embedded(self, profile: str) -> Any:
        return self.modules.get(profile)


def made(**changed: Any) -> Made:
    modules = {
        "section": SimpleNamespace(SECTION=Mine),
        "claims": SimpleNamespace(CLAIMS=(GOOD,)),
        "audit": SimpleNamespace(read=lambda section: None, open=lambda session: None),
        "part": SimpleNamespace(PART=Words),
        "page": SimpleNamespace(CHAPTERS=(Chapter("mine", "Mine", measures=("mine.holds",)),)),
    }
    return Made("mine", "nowhere", (), modules | changed)


@pytest.mark.parametrize("name", registry.audits())
def test_every_audit_passes(name: str, bench: Bench, request: pytest.FixtureRequest) -> None:
    check_audit(registry.audits()[name], sample_of(name, bench, lambda: request.getfixturevalue("judged_store")))


def test_a_plain_one_passes() -> None:
    check_audit(made())


def judge(part: Words) -> list[Figure]:
    return [Figure("x", "y", (Markup(part.models[0]),))]


def unescaped(part: Words) -> list[Figure]:
    return [Figure("x", "y", tuple(map(Markup, part.models)))]


class Judging(Mine):
    """`word`: whatever it is."""

    def judged(self) -> list[str]:
        return ["somebody"]


class Content(Mine):
    """`word`: whatever it is."""

    def lacks(self) -> list[str]:
        return []


class Undocumented(Mine):
    __doc__ = None


def chapters(**changed: Any) -> Any:
    return SimpleNamespace(CHAPTERS=(Chapter("mine", "Mine", **changed),))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"claims": SimpleNamespace(CLAIMS=())}, "CLAIMS is empty"),
        ({"claims": SimpleNamespace(CLAIMS=(replace(GOOD, must_fail=""),))}, "names no control"),
        ({"claims": SimpleNamespace(CLAIMS=(replace(GOOD, statement="It holds"),))}, "ending in a stop"),
        ({"claims": SimpleNamespace(CLAIMS=(replace(GOOD, id="lmlm.mine"),))}, "begins as the claims of another"),
        ({"section": SimpleNamespace(SECTION=Content)}, "would be judged"),
        ({"section": SimpleNamespace(SECTION=Judging)}, "an empty section has models"),
        ({"section": SimpleNamespace(SECTION=Undocumented)}, "has no docstring"),
        ({"audit": SimpleNamespace(read=lambda section: None)}, "audit.open is no function of one argument"),
        ({"page": chapters(measures=("mine.other",))}, "draws mine.other, which is no claim"),
        ({"part": SimpleNamespace(PART=dict)}, "PART is no ReportPart"),
        ({"part": SimpleNamespace(PART=Loose)}, "takes keys that it does not name"),
        ({"part": SimpleNamespace(PART=ByName)}, "that no page to publish could hide: told"),
        ({"page": chapters(judge=judge)}, "raises"),
        ({"page": chapters(judge=unescaped)}, "lets text of the report become markup"),
    ],
)
def test_each_check_can_fail(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_audit(made(**changed))


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ("", r"quick\.toml has no specimen that must pass; .*quick\.toml has no specimen that must fail"),
        ("[specimens]\n'mine.holds' = { pass = ['npo'] }\n", "has no specimen that must fail"),
        ("[specimens]\n'mine.holds' = { pass = ['npo'], fail = [] }\n", "has no specimen that must fail"),
        ("[thresholds]\n'depth.score' = 0.9\n", r"quick\.toml speaks of depth\.score, which is no claim of it"),
        ("[expect.'depth.score[npo]']\nverdict = 'fail'\nreason = 'known'\n", r"quick\.toml speaks of depth\.score"),
    ],
)
def test_models_that_come_with_an_audit_show_that_its_claims_can_fail_and_can_pass(
    tmp_path: Path, profile: str, told: str
) -> None:
    place = tmp_path / "quick.toml"
    place.write_text(profile)
    with pytest.raises(AssertionError, match=told):
        check_audit(made(quick=place))
    place.write_text("[specimens]\n'mine.holds' = { pass = ['npo'], fail = ['idk'] }\n")
    check_audit(made(quick=place))


def test_a_check_that_cannot_be_made_is_a_reason_beside_all_others() -> None:
    broken = made(section=SimpleNamespace(SECTION=None, section=None), claims=SimpleNamespace())
    with pytest.raises(AssertionError, match=r"raises AttributeError.*; .*raises AttributeError"):
        check_audit(broken)


def without_controls(record: ClaimRecord) -> ClaimRecord:
    return replace(record, controls=(), outcome=Verdict.PASS)


def trusted(record: ClaimRecord) -> ClaimRecord:
    return replace(record, verdict=Verdict.PASS, cause=None, flag=None, message="it passes")


def that_must_fail(record: ClaimRecord) -> ClaimRecord:
    return replace(record, controls=tuple(one for one in record.controls if one.must == "fail"), outcome=Verdict.PASS)


def half_trusted(claims: Sequence[ClaimRecord]) -> Iterator[ClaimRecord]:
    """A claim that takes for right what every other one holds to be wrong."""
    for record in claims:
        held = tuple(replace(one, held=True) for one in record.controls)
        yield replace(record, controls=held) if record.id == "lmlm.leakage" else record


def like(one: Score, other: Score) -> Score:
    """The score of a model that is stored as another's."""
    return replace(other, provenance={**other.provenance, "cell": one.provenance["cell"]})


def changed(run: SampleRun, **more: Any) -> SampleRun:
    """A run with parts of its report changed."""
    return replace(run, report=run.report.model_copy(update=more))


def test_each_check_of_a_sample_can_fail(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = SampleRuns(registry.audits()["lmlm"], sample_of("lmlm", bench, Path))
    first, again = tried.first, tried.again
    claims, score = first.report.claims, again.report.scores[0]
    other = replace(claims[0], id="lmlm.other"), replace(claims[0], subject="nobody")
    scores = first.report.scores
    plain = [one for one in scores if one.attack == "none"]
    elsewhere = replace(scores[0], provenance={**scores[0].provenance, "cell": "0" * 64})
    continuous = replace(scores[0], per_fact=(replace(scores[0].per_fact[0], value=0.513726),))
    crashed = tuple(replace(one, cause=Cause.CRASHED) for one in claims)
    for check, name, doctored, told in (
        ("shown", "first", replace(first, page=""), "the page lacks lmlm.leakage"),
        ("shown", "first", replace(first, printed=""), "the terminal lacks lmlm.leakage"),
        ("shown", "first", changed(first, claims=crashed), "crashed"),
        ("hostile names", "first", replace(first, page="<script>alert(1)"), "data become markup"),
        ("hostile names", "again", replace(again, printed="\x1b[2J"), "the terminal gets"),
        ("hostile names", "first", changed(first, claims=(), scores=(), wordings={}), "put conformance.ATTACK"),
        ("kept", "again", changed(again, loads={"lmlm": 1}), "lmlm are loaded"),
        ("kept", "again", changed(again, claims=tuple(map(trusted, claims))), "from the store to"),
        ("kept", "again", changed(again, scores=(replace(score, value=2.0),)), "is 2.0 from the store"),
        ("kept", "again", changed(again, lmlm={}), "another one from the store"),
        ("planned", "first", changed(first, claims=claims[1:]), f"no test decides {claims[0].id}"),
        ("planned", "first", changed(first, claims=(*claims, *other)), "lmlm.other is decided and stands in no table"),
        ("planned", "first", changed(first, claims=(*claims, *other)), "'nobody'"),
        ("planned", "first", changed(first, claims=(*claims, claims[0])), "is decided by 2 tests"),
        ("odd reports", "first", changed(first, lmlm={}), "has no part lmlm"),
        ("planned", "again", changed(again, scores=()), "is planned, and no claim asks for it"),
        (
            "planned",
            "again",
            changed(again, scores=(replace(score, attack="relearn"),)),
            "is asked for, and is not planned",
        ),
        ("controls", "first", changed(first, claims=tuple(map(without_controls, claims))), "no control that must fail"),
        ("controls", "first", changed(first, claims=tuple(map(that_must_fail, claims))), "no control that must pass"),
        ("wrong controls", "first", changed(first, claims=()), "the control leaky never comes out wrong"),
        ("wrong controls", "first", changed(first, claims=tuple(half_trusted(claims))), "takes the control leaky for"),
        ("measured", "first", changed(first, scores=scores[:1]), "no two models of other weights"),
        ("measured", "first", changed(first, scores=(scores[0], like(*plain))), "come to the same for all models"),
        ("measured", "first", changed(first, scores=scores[:1]), "and nothing is scored of it"),
        ("measured", "first", changed(first, scores=(elsewhere,)), "is not in the store"),
        ("measured", "first", changed(first, scores=(continuous,)), "has a value that is no share of any"),
        ("published", "first", changed(first, wordings={"x": {"entity": "lmlm.leakage"}}), "tells 'lmlm.leakage'"),
        ("controls", "first", changed(first, claims=tuple(map(trusted, claims))), "is pass (None), and control leaky"),
        ("controls", "first", changed(first, claims=tuple(map(trusted, claims))), "does not tell of control leaky"),
    ):
        tried.__dict__ |= {"first": first, "again": again, name: doctored}
        assert any(told in problem for problem in CHECKS[check](tried)), (check, told)
    tried.__dict__ |= {"first": first, "again": again}
    assert [problem for check in CHECKS.values() for problem in check(tried)] == []
    tried.sample = replace(tried.sample, wrong=())
    assert "the sample names no control that comes out wrong" in CHECKS["wrong controls"](tried)
    tried.__dict__["planned"] = set()
    assert "no score is planned" in CHECKS["planned"](tried)
    monkeypatch.setattr(SampleRuns, "said", lambda self, manifest: "")
    problems = [*CHECKS["refused"](tried), *CHECKS["hostile names"](tried)]
    for told in (
        "unknown key: is accepted",
        "deletion takes whatever",
        "not there: is accepted",
        "may be called '../npo'",
    ):
        assert any(told in problem for problem in problems), told
