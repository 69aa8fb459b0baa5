"""Public fixtures: loaded models, scores and claims for suites, ours and a user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from uds_bench.harness.subjects import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from uds_bench.audits.association.inquiry import Inquiry
    from uds_bench.facts import FactSet
    from uds_bench.facts.canaries import CanarySet
    from uds_bench.facts.testbed import Testbed
    from uds_bench.harness.association import AssociationAudit
    from uds_bench.harness.bypass import BypassAudit
    from uds_bench.harness.claim import Claim
    from uds_bench.harness.judging import MetaEvaluation
    from uds_bench.harness.lmlm import LmlmAudit
    from uds_bench.harness.localization import LocalizationAudit
    from uds_bench.harness.manifest import Manifest
    from uds_bench.harness.run import Handle, Run
    from uds_bench.meta import Trial
    from uds_bench.scores import Score, Scores

RUN: pytest.StashKey[Run] = pytest.StashKey()
CLAIM: pytest.StashKey[Claim] = pytest.StashKey()
LACKS: pytest.StashKey[str] = pytest.StashKey()
"""On a test: what this machine lacks for it."""


@dataclass(frozen=True)
class ScoreReader:
    """`scores(checkpoint, metric)` gives a Score: read from the store, or computed and stored now."""

    run: Run

    def __call__(
        self, checkpoint: Handle | str, metric: str, variant: str | None = None, attack: str = "none"
    ) -> Score:
        from uds_bench.harness.engine import Request

        return self.run.score(Request(str(checkpoint), metric, variant, attack))

    def all(self) -> Scores:
        """Every score of this run so far."""
        return self.run.scores()

    def to_frame(self) -> pd.DataFrame:
        """The same as a pandas table, one row a score."""
        return self.all().to_frame()


@pytest.fixture(scope="session")
def uds_run(pytestconfig: pytest.Config) -> Run:
    """The run itself: settings, manifest, engine, rules. For tools; suites use the fixtures below."""
    return pytestconfig.stash[RUN]


@pytest.fixture(scope="session")
def manifest(uds_run: Run) -> Manifest:
    """The manifest of this run, validated: `--uds-manifest FILE`, or the embedded zoo's."""
    return uds_run.manifest


@pytest.fixture(scope="session")
def full(uds_run: Run) -> Handle:
    """The full model, which was trained on everything: a handle with `.name`, `.checkpoint`, `.model`, `.tokenizer`.

    Weights are loaded when one of the last three is asked for.
    """
    from uds_bench.harness.run import Handle

    return Handle("full", uds_run)


@pytest.fixture(scope="session")
def retain(uds_run: Run) -> Handle:
    """The retain model, which never saw the forget set: a handle as `full`."""
    from uds_bench.harness.run import Handle

    return Handle("retain", uds_run)


@pytest.fixture
def candidate(request: pytest.FixtureRequest, uds_run: Run) -> Handle:
    """Each candidate of the manifest in turn (parametrized by name): a handle as `full`."""
    from uds_bench.harness.run import Handle

    return Handle(request.param, uds_run)


@pytest.fixture(scope="session")
def facts(uds_run: Run) -> FactSet:
    """The facts of the manifest, all splits; `facts.split("forget")` are the ones that are scored."""
    return uds_run.facts


@pytest.fixture(scope="session")
def goldens(uds_run: Run) -> Path:
    """The folder of goldens: `<audit>/specimens.json`, and frozen inputs."""
    return uds_run.settings.goldens


@pytest.fixture(scope="session")
def scores(uds_run: Run) -> ScoreReader:
    """`scores(candidate, "uds")` gives a Score with `.value`, `.interval`, `.per_fact`; `scores.to_frame()` a table."""
    return ScoreReader(uds_run)


@pytest.fixture(scope="session")
def meta(uds_run: Run) -> MetaEvaluation:
    """The meta-evaluation of this manifest's models: `meta.rows["uds"]` and what stands beside them."""
    return uds_run.meta


@pytest.fixture
def reasoner(request: pytest.FixtureRequest) -> str | None:
    """Each reasoning model of the manifest's [bypass] that is no control, in turn, by name; None where it has none."""
    name: str | None = request.param
    return name


@pytest.fixture
def bypass(uds_run: Run) -> BypassAudit:
    """The bypass audit: `bypass.word("npo")` and why, `bypass.examined("npo")` what was probed of each seed."""
    return uds_run.bypass


@pytest.fixture
def asker(request: pytest.FixtureRequest) -> str | None:
    """Each model of the manifest's [lmlm] that is no control, in turn, by name; None where it has none."""
    name: str | None = request.param
    return name


@pytest.fixture
def lmlm(uds_run: Run) -> LmlmAudit:
    """The LMLM audit: `lmlm.seen("mine").judged` is every prompt of a model, judged; `lmlm.perfect` a control."""
    return uds_run.lmlm


@pytest.fixture
def unlearner(request: pytest.FixtureRequest) -> str | None:
    """Each candidate of the manifest's [localization], in turn, by name; None where it has none."""
    name: str | None = request.param
    return name


@pytest.fixture
def localization(uds_run: Run) -> LocalizationAudit:
    """The localization audit: `localization.seen("mine").weighed` where a candidate's weights moved, `.told` what it
    says; `localization.leaks("mine")` who leaks after resurfacing."""
    return uds_run.localization


@pytest.fixture
def eraser(request: pytest.FixtureRequest) -> str | None:
    """Each candidate of the manifest's [association] that is no control, in turn, by name; None where it has none."""
    name: str | None = request.param
    return name


@pytest.fixture
def association(uds_run: Run) -> AssociationAudit:
    """The association audit: `association.seen("mine").held` what a model holds, by property of a person."""
    return uds_run.association


@pytest.fixture
def inquiry(uds_run: Run) -> Inquiry:
    """Who is asked about in the manifest's [association]: `inquiry.requested` those who are to be forgotten."""
    return uds_run.inquiry


@pytest.fixture
def testbed(uds_run: Run) -> Testbed:
    """The people of the manifest's [localization], all parts."""
    return uds_run.experiment.testbed


@pytest.fixture
def canaries(uds_run: Run) -> CanarySet:
    """The canaries of the manifest's [bypass], all splits."""
    return uds_run.canaries


@pytest.fixture(scope="session")
def trial(uds_run: Run) -> Trial:
    """The manifest's models to try a metric of your own on: `uds_bench.meta.metric_checks` gives the checks."""
    from uds_bench.harness.trial import manifest_trial

    with uds_run.uncaptured() as console:
        return manifest_trial(uds_run.manifest, uds_run.device, console)


@pytest.fixture
def claim(request: pytest.FixtureRequest, uds_run: Run) -> Claim:
    """Decides one claim: `claim.threshold(score, at_least=...)`, `.identity`, `.ordering`, `.equivalence`.

    It records the decision for the summary, JSON and page, compares it with its golden, applies the manifest's
    thresholds, expectations and waivers, and fails the test with one message: by how much, and how to reproduce it.
    Name the claim by `@pytest.mark.claim("audit.name")`.
    """
    from uds_bench.harness.claim import Claim

    name, subject = claim_name(request.node)
    current = Claim(name, subject, request.node.nodeid, uds_run.rules)
    request.node.stash[CLAIM] = current
    return current


def is_ours(name: str, definitions: Mapping[str, Sequence[Any]]) -> bool:
    """Whether `name` means this module's fixture to a test, and not a namesake of another project or a parameter."""
    found = definitions.get(name)
    return bool(found) and getattr(found[-1].func, "__module__", None) == __name__  # type: ignore[index]


def claim_name(item: pytest.Item) -> tuple[str, str | None]:
    """The claim that a test decides: its marker's name or the function's, and its candidate if it has one."""
    marker = item.get_closest_marker("claim")
    callspec = getattr(item, "callspec", None)
    given = {} if callspec is None else callspec.params
    subject = next((given[name] for name in SUBJECTS if given.get(name) is not None), None)
    name = str(marker.args[0]) if marker and marker.args else getattr(item, "originalname", item.name)
    # A marker may name a parameter, as "faithfulness.{metric}": one claim a metric.
    return name.format_map(given), subject
