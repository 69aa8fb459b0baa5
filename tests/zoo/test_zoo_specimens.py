"""The shipped models: small, whole, made by the recipes of today, read from anywhere, and refused where damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_runs import DEPTH, Bench

from uds_bench.audits.manifests import embedded_manifest
from uds_bench.checkpoints.spec import plain
from uds_bench.errors import ConfigurationError
from uds_bench.zoo import recipes, shipping, specimens

MOST_BYTES = 40_000_000
DAMAGED = "full/model.safetensors"


def test_they_are_few_bytes_of_half_precision() -> None:
    files = [file for file in specimens.home().rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
    for name in specimens.specimens():
        weights = load_file(specimens.home() / name / shipping.WEIGHTS)
        assert {weight.dtype for weight in weights.values()} == {torch.float16}


def test_nothing_lies_there_that_the_index_does_not_name() -> None:
    found = {file.relative_to(specimens.home()) for file in specimens.home().rglob("*") if file.is_file()}
    named = {Path(name, file) for name, one in specimens.specimens().items() for file in one.files}
    assert found == {*named, Path(specimens.INDEX)}


def test_every_one_tells_what_it_is_and_how_it_was_made() -> None:
    assert {name: one.role for name, one in specimens.specimens().items()} == recipes.shipped()
    assert {"command", "commit", "kernels", "torch", "transformers", "python"} <= set(specimens.made())
    for name, one in specimens.specimens().items():
        assert one.parent == recipes.ancestor(name)
        assert one.recipe["kind"] == type(recipes.find(name)).__name__
        assert len(one.digest) == 64


def test_the_default_run_names_every_one_and_no_other_model() -> None:
    manifest = embedded_manifest("quick")
    sections = manifest.sections.values()
    models = {spec.model for section in sections if section for spec in section.checkpoints().values()}
    assert {plain(model) for model in models} == set(specimens.specimens())
    assert all(model.startswith("specimen:") for model in models)


def test_every_gate_of_the_default_run_clears_one_and_catches_one() -> None:
    """A declared claim of two and more subjects that only clears, or only catches, would not show that it can do both;
    those that hold of every shipped model are listed here."""
    declared = embedded_manifest("quick").common.specimens
    one_sided = {claim for claim, verdicts in declared.items() if len({word == "pass" for word in verdicts}) < 2}
    alone = {"bypass.verdict", *(claim for claim in declared if claim.startswith("lmlm."))}
    assert one_sided - alone == {"association.retained", "association.requests", "depth.spared"}


def test_a_specimen_has_its_folder(tmp_path: Path) -> None:
    assert specimens.folder("specimen:full") == specimens.folder("full") == specimens.home() / "full"
    with pytest.raises(ConfigurationError, match="specimen:nobody is not a shipped model: choose from "):
        specimens.folder("nobody")
    with pytest.raises(ConfigurationError, match=r"specimen:retian is not a shipped model: did you mean 'retain'"):
        specimens.folder("specimen:retian")


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def altered(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "said"),
    [(cut_short, "is cut short or altered"), (altered, "is cut short or altered"), (Path.unlink, "cannot be read")],
)
def test_a_damaged_one_ends_the_run_in_a_line(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None], said: str
) -> None:
    root = shutil.copytree(specimens.home(), bench.folder / "specimens")
    damage(root / DAMAGED)
    monkeypatch.setenv(specimens.ANOTHER, str(root))
    ran = bench.run(DEPTH)
    assert ran.code == 4
    lines = [line for line in ran.text.splitlines() if "specimen:full" in line]
    assert len(lines) == 1
    assert DAMAGED in lines[0]
    assert said in lines[0]
    assert "install uds-bench again" in lines[0]
    assert ran.report is None


@pytest.mark.parametrize("content", ["", "{}", '{"schema": 99, "specimens": {}, "made": {}}'])
def test_a_damaged_index_ends_the_run_in_a_line(bench: Bench, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    root = bench.folder / "specimens"
    root.mkdir()
    (root / specimens.INDEX).write_text(content)
    monkeypatch.setenv(specimens.ANOTHER, str(root))
    ran = bench.run(DEPTH)
    assert ran.code == 4
    assert "is no index of specimens" in ran.text


def test_weights_beyond_half_precision_are_not_shipped() -> None:
    with pytest.raises(ConfigurationError, match="does not fit into fp16"):
        shipping._halved({"weight": torch.tensor([1e6])})


def test_they_are_written_as_trained_but_for_rounding(tmp_path: Path) -> None:
    """A folder in hub layout, read back within the rounding of half precision."""
    shipped = specimens.home() / "full"
    trained = tmp_path / "trained"
    shutil.copytree(shipped, trained)
    shipping._write(trained, tmp_path / "written")
    assert {file.name for file in (tmp_path / "written").iterdir()} == {file.name for file in shipped.iterdir()}
    before, after = (load_file(folder / shipping.WEIGHTS) for folder in (trained, tmp_path / "written"))
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_folder_with_something_in_it_is_no_place_for_new_ones(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="is not empty"):
        shipping.rebuild(tmp_path, tmp_path / "cache")


def test_goldens_are_of_the_shipped_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert specimens.are_shipped()
    monkeypatch.setenv(specimens.ANOTHER, "elsewhere")
    assert not specimens.are_shipped()
    assert specimens.home() == Path("elsewhere").absolute()


def test_the_index_is_strict_json() -> None:
    json.loads((specimens.home() / specimens.INDEX).read_text(), parse_constant=pytest.fail)
