"""Embedded models: those of all selected tests are trained together, and what fails is told where it is needed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from small_runs import DEPTH, Bench

from uds_bench.errors import UdsError

ZOO = ("--uds-profile", "zoo")


def test_the_models_of_all_audits_are_trained_at_once_and_each_audit_tells_of_its_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[str]] = []

    def paths(names: Iterable[str], *_: object) -> dict[str, Path]:
        asked.append(set(names))
        raise UdsError(f"zoo:{min(asked[-1])} could not be trained")

    monkeypatch.setattr("uds_bench.zoo.training.paths", paths)
    tests = [f"{DEPTH.with_name(f'test_{audit}.py')}::test_retained" for audit in ("association", "localization")]
    ran = bench.run(*tests, *ZOO, store=bench.folder / "store")
    together, *apart = asked
    association, localization = ({name for name in together if name.startswith(kind)} for kind in ("assoc_", "loc_"))
    assert together == association | localization
    assert {"assoc_full", "assoc_npo", "loc_injected", "loc_simnpo_unmasked"} <= together
    assert "assoc_simnpo_shallow" in association, "controls too"
    assert all(names in (association, localization) for names in apart), "and then each audit for itself"
    told = {"association": min(association), "localization": min(localization)}
    assert {claim["audit"] for claim in ran.claims.values()} == set(told)
    for claim in ran.claims.values():
        assert (claim["cause"], f"zoo:{told[claim['audit']]} could not be trained" in claim["message"]) == (
            "crashed",
            True,
        )


def test_what_no_selected_test_asks_for_is_not_trained(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []

    def paths(names: Iterable[str], *_: object) -> dict[str, Path]:
        asked.append(set(names))
        raise UdsError("none")

    monkeypatch.setattr("uds_bench.zoo.training.paths", paths)
    bench.run(f"{DEPTH.with_name('test_localization.py')}::test_public[memflex]", *ZOO, store=bench.folder / "store")
    assert "loc_memflex" in asked[0]
    assert not asked[0] & {"loc_simnpo", "loc_alphaedit", "assoc_full", "full"}
