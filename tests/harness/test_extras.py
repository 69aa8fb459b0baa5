"""Packages of extras that are missing: the claims that need them are undecided and say so, and no others are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from small_runs import DEPTH, Bench, Ran

from uds_bench.attacks import registry
from uds_bench.extras import EXTRAS, LMLM
from uds_bench.retrieval.encoder import encoder_of

SUITES = Path(__file__).parents[2] / "suites"
NF4 = "needs bitsandbytes, which is missing: pip install 'uds-bench[nf4]'"
Missing = Callable[..., None]


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Missing]:
    """Has packages not be installed, nor kept what they once gave: vectors that are kept do without the encoder."""
    monkeypatch.setenv("UDS_BENCH_CACHE", str(tmp_path / "cache"))
    encoder_of.cache_clear()

    def lose(*packages: str) -> None:
        for package in packages:
            monkeypatch.setitem(sys.modules, package, None)

    yield lose
    encoder_of.cache_clear()


def undecided(ran: Ran, told: str) -> set[str]:
    """The claims that were not decided, each for that reason; nothing else is red."""
    red = {name: claim for name, claim in ran.claims.items() if claim["verdict"] not in ("pass", "not applicable")}
    assert {claim["verdict"] for claim in red.values()} == {"undecided"}
    assert all(claim["message"].endswith(told) for claim in red.values()), ran.text
    assert ran.code == 1
    assert ran.text.splitlines()[-1].startswith(f"uds_bench: RED: {len(red)} of {len(ran.claims)} claims undecided")
    assert "Traceback" not in ran.text
    return set(red)


@pytest.mark.parametrize("package", LMLM)
def test_what_looks_rows_up(bench: Bench, missing: Missing, package: str) -> None:
    bench.manifest(more="[lmlm]\nmodel = 'specimen:lmlm'\n")
    missing(package)
    ran = bench.run(SUITES / "test_lmlm.py", DEPTH)
    named = undecided(ran, f"the lmlm audit needs {package}, which is missing: pip install 'uds-bench[lmlm]'")
    assert named == {name for name in ran.claims if name.startswith("lmlm.")}
    assert ran.verdicts["depth.score[retain3]"] == "pass"
    assert ran.report["loads"] == {}, "what is scored is read, and nothing else is loaded"


def test_what_compares_meanings(bench: Bench, missing: Missing) -> None:
    bench.manifest(more=f"[association]\nmodel = '{bench.models / 'full'}'\n")
    missing(*EXTRAS)
    ran = bench.run(SUITES / "test_association.py", DEPTH)
    named = undecided(ran, "needs sentence_transformers, which is missing: pip install 'uds-bench[lmlm]'")
    assert named == {name for name in ran.claims if name.startswith("association.")}


def test_a_candidate_in_four_bits(bench: Bench, missing: Missing) -> None:
    bench.manifest(more=f"[candidates.four]\nmodel = '{bench.models / 'retain3'}'\nquantization = 'nf4'\n")
    text = (bench.folder / "uds.toml").read_text().replace("[candidates]\nretain3 =", "[candidates]\nwhole =")
    (bench.folder / "uds.toml").write_text(text)
    missing(*EXTRAS)
    ran = bench.run(DEPTH, "-k", "test_score")
    assert undecided(ran, f"four, in nf4, {NF4}") == {"depth.score[four]"}
    assert ran.verdicts["depth.score[whole]"] == "pass"


def test_an_attack_in_four_bits(
    bench: Bench, judged_store: Path, missing: Missing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not scored for want of a package is no result about a metric."""
    bench.judged()
    missing(*EXTRAS)
    scored = bench.run(SUITES / "test_robustness.py", "-k", "rouge or test_uds", store=judged_store)
    assert NF4 not in scored.text, "what is scored is read without it"
    as_before = registry.ATTACKS["nf4"]
    monkeypatch.setitem(registry.ATTACKS, "nf4", lambda: replace(as_before(), version=99))
    ran = bench.run(SUITES / "test_robustness.py", store=judged_store)
    assert undecided(ran, f"the attack nf4 {NF4}") == set(ran.claims)


def test_a_run_that_needs_none(bench: Bench, missing: Missing) -> None:
    bench.manifest()
    missing(*EXTRAS)
    ran = bench.run(DEPTH, store=bench.folder / "store")
    assert ran.verdicts["depth.score[retain3]"] == "pass"
    assert not {"crashed", "undecided"} & set(ran.counts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suites", "lost"),
    [(("depth", "bypass", "localization"), tuple(EXTRAS)), (("association", "lmlm"), ("bitsandbytes", "lm_eval"))],
)
def test_the_default_needs_no_more_than_it_is_installed_with(
    suites: tuple[str, ...], lost: tuple[str, ...], tmp_path: Path
) -> None:
    """In every process of the run."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({lost}))\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(str(SUITES / f"test_{one}.py") for one in suites)],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "UDS_BENCH_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
