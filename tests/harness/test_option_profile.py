"""--uds-profile and --uds-draw: which models a run is of."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import DEPTH, Bench

from uds_bench.audits import registry
from uds_bench.audits.depth.claims import LEAST_POOL
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.manifests import embedded_manifest, load_manifest
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import plain
from uds_bench.errors import ConfigurationError
from uds_bench.manifest.toml import joined, read_toml
from uds_bench.zoo import recipes
from uds_bench.zoo.ready import resolve_zoo


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
    assert ran.report["profile"] == profile
    manifest = embedded_manifest(profile)
    # SimNPO trains all weights, also where no mask could be; the shipped NPO of people lies at the margin.
    declared = {
        "zoo": {"localization.contained[simnpo]"},
        "quick": {"association.as_strangers[npo]"},
    }
    assert manifest.expect.keys() == declared.get(profile, set())
    for _, spec in manifest.checkpoints():
        recipes.find(plain(spec.model))


def test_the_full_profile_has_pools_that_set_the_bound() -> None:
    pools = embedded_manifest("full").of(Depth).pools
    assert min(len(pools.positive), len(pools.negative)) >= LEAST_POOL


@pytest.mark.parametrize(("draw", "wanted"), [(0, ["full", "npo"]), (2, ["full@2", "npo@2"])])
def test_every_embedded_model_is_of_that_draw(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, draw: int, wanted: list[str]
) -> None:
    asked: list[str] = []

    def paths(names: list[str], *_: object) -> dict[str, Path]:
        asked.extend(names)
        return {name: tmp_path / name for name in asked}

    monkeypatch.setattr("uds_bench.zoo.training.paths", paths)
    specs = {"full": CheckpointSpec("zoo:full"), "npo": CheckpointSpec("zoo:npo"), "mine": CheckpointSpec("a-folder")}
    found = resolve_zoo(specs, list(specs), tmp_path, draw=draw)
    assert asked == wanted
    assert found["npo"].model == str(tmp_path / wanted[1])
    assert found["mine"] == specs["mine"]


def test_a_users_models_are_judged_as_ever(bench: Bench) -> None:
    bench.manifest()
    assert bench.run(DEPTH, "--uds-draw", "1").verdicts == bench.run(DEPTH).verdicts


@pytest.mark.parametrize("profile", ["quick", "zoo", "full"])
def test_each_audits_part_of_a_profile_is_a_manifest_by_itself(profile: str) -> None:
    parts = [part for audit in registry.audits().values() if (part := audit.embedded(profile)) is not None]
    assert len(parts) > 1 or profile == "full"
    whole = embedded_manifest(profile)
    for part in parts:
        alone = load_manifest(part)
        assert alone.expect.items() <= whole.expect.items()
        assert alone.judged()
        assert alone.judged() <= whole.judged()


def test_what_two_files_say_is_refused(tmp_path: Path) -> None:
    texts = ('[expect]\n"a" = 1\n', '[expect]\n"b" = 1\n', '[expect]\n"a" = 2\n', "expect = 3\n")
    paths = [tmp_path / f"{at}.toml" for at in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    first, second, *others = map(read_toml, paths)
    assert joined([first, second]).values == {"expect": {"a": 1, "b": 1}}
    for other, place in zip(others, ("2.toml, line 2: expect.a: ", "3.toml, line 1: expect: "), strict=True):
        with pytest.raises(ConfigurationError, match=f"{place}is in another file too: keep one"):
            joined([first, other])
