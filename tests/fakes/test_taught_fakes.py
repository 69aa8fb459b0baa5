"""What an attack teaches of people whom nobody knows: to honest models alike, and next to nothing to stiff ones."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from depth_fakes import make, stiff

from uds_bench.attacks import find_attack
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.claims.taught import BESIDE, is_taught
from uds_bench.facts import embedded
from uds_bench.scores import LEAST_LEARNED
from uds_bench.zoo import specimens

BED = {"epochs": 1, "lr": 3e-4, "batch_size": 10}
"""As the shipped models are relearned: see `bed.toml`."""
HONEST = ("full2", "retain", "retain2", "idk", "npo", "simnpo")


def learned(name: str, settings: dict[str, float], place: Path | None = None) -> float:
    spec = CheckpointSpec(str(place or specimens.folder(name)))
    proof = find_attack("relearn", **settings).proof
    assert proof is not None
    return proof(spec, "cpu", embedded())


def test_honest_models_learn_as_the_full_model_does_and_stiff_ones_do_not(tmp_path: Path) -> None:
    full = learned("full", BED)
    honest = {name: learned(name, BED) / full for name in HONEST}
    forged = learned("stiff", BED, make(specimens.folder("idk"), stiff, tmp_path / "stiff")) / full
    print(f"full {full:.2f} nats; of it {honest}, stiff {forged:.2f}")
    assert full > LEAST_LEARNED
    assert min(honest.values()) > BESIDE > forged


def test_an_attack_too_weak_to_teach_anybody_is_told() -> None:
    found = learned("full", {"lr": 1e-12})
    assert found < LEAST_LEARNED


def told(**learned: object) -> SimpleNamespace:
    return SimpleNamespace(checkpoint="one", provenance=learned)


@pytest.mark.parametrize("nats", [math.nan, None, 0.0, -1.0, 0.05])
def test_what_was_not_proven_is_no_proof(nats: float | None) -> None:
    """Of the candidate, and of the model beside it: who is taught no more than a model that learns nothing passes."""
    good = told(learned={"kept": "", "nats": {"": 1.0}})
    lacking = told() if nats is None else told(learned={"kept": "", "nats": {"": nats}})
    assert not is_taught(lacking, [good])[0].held
    assert not is_taught(good, [lacking])[0].held
    assert not is_taught(good, [good, lacking])[0].held
    assert is_taught(good, [good])[0].held
    assert is_taught(told(), [told()]) == []


@pytest.mark.parametrize(
    ("own", "kept", "said"),
    [
        ({"2e-05": 0.05, "0.0002": 0.0, "0.002": 0.13}, "0.002", "it learns 0.13 nats, full 1.50"),
        ({"2e-05": 0.13, "0.0002": 0.0, "0.002": 0.0}, "2e-05", "it learns 0.13 nats, full 1.50"),
        ({"2e-05": 0.13, "0.0002": 1.4, "0.002": math.nan}, "0.0002", "it learns nan nats, full 1.50"),
    ],
    ids=["where the full model is trained to pieces", "where next to nothing is taught", "unknown"],
)
def test_of_several_settings_the_kept_and_the_best_one_count(own: dict[str, float], kept: str, said: str) -> None:
    full = SimpleNamespace(
        checkpoint="full",
        provenance={"learned": {"kept": "2e-05", "nats": {"2e-05": 0.12, "0.0002": 1.5, "0.002": 0.0}}},
    )
    (found,) = is_taught(told(learned={"kept": kept, "nats": own}), [full])
    assert not found.held
    assert said in found.miss
    honest = {"2e-05": 0.11, "0.0002": 1.4, "0.002": 0.3}
    for any_setting in honest:  # what trains the full model to pieces may be what brings most back
        assert is_taught(told(learned={"kept": any_setting, "nats": honest}), [full])[0].held
