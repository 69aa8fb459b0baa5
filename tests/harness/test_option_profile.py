"""--uds-profile quick|full: the size of the embedded zoo."""

import pytest
from small_runs import DEPTH, Bench

from uds_bench.audits.depth.reading import POOL
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.manifests import embedded_manifest, load_manifest
from uds_bench.checkpoints.embedded import plain
from uds_bench.zoo import recipes


def test_an_unknown_profile_is_told(bench: Bench) -> None:
    ran = bench.run(DEPTH, "--uds-profile", "huge")
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert "--uds-profile" in ran.text
    assert "choose from quick, zoo, full" in ran.text


def test_the_default_is_the_quick_embedded_zoo(bench: Bench) -> None:
    ran = bench.run(DEPTH, "--collect-only", "-q")
    assert ran.code == 0, ran.text
    assert "test_score[npo]" in ran.text


@pytest.mark.parametrize("profile", ["quick", "zoo", "full"])
def test_a_profile_names_models_that_exist_and_expects_what_is_so_by_construction(bench: Bench, profile: str) -> None:
    """`depth.frozen` needs no model."""
    ran = bench.run(DEPTH, "--uds-profile", profile, "-k", "frozen")
    assert ran.code == 0, ran.text
    assert ran.verdicts == {"depth.frozen": "pass"}
    assert ran.report is not None
    assert ran.report["profile"] == profile
    manifest = load_manifest(embedded_manifest(profile))
    # SimNPO trains all weights, also where no mask could be; the shipped NPO of people lies at the margin; one fact of
    # the shipped database model is said.
    declared = {
        "zoo": {"localization.contained[simnpo]"},
        "quick": {"association.as_strangers[npo]", "lmlm.leakage[lmlm]", "lmlm.leakage_cell[lmlm]"},
    }
    assert manifest.expect.keys() == declared.get(profile, set())
    for _, spec in manifest.checkpoints():
        recipes.find(plain(spec.model))


def test_the_full_profile_has_pools_that_set_the_bound() -> None:
    pools = load_manifest(embedded_manifest("full")).of(Depth).pools
    assert min(len(pools.positive), len(pools.negative)) >= POOL
