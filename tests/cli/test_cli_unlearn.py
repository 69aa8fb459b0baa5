"""`uds-bench unlearn` on a small real release: what it writes, prints and refuses."""

import json
import shutil
from pathlib import Path

import pytest
from commands import Command, Refused

from uds_bench.audits.depth.section import Depth
from uds_bench.audits.manifests import load_manifest
from uds_bench.checkpoints import digest
from uds_bench.methods import memory

FAST = ("--set", "steps=2", "--set", "batch_size=2", "--set", "lr=0.01")


LAYERS = ("first_layer=0", "last_layer=1", "loss_layer=2", "null_space=1.0", "v_steps=3", "batch_size=1")
EDIT = tuple(word for setting in LAYERS for word in ("--set", setting))


def _told(text: str) -> str:
    """As a terminal of any width breaks it."""
    return " ".join(text.split())


@pytest.fixture
def manifest(release: Path) -> Path:
    """A manifest that names a candidate which is still to be made."""
    shutil.rmtree(release / "runs" / "npo")
    assert 'npo = "./runs/npo"\n' in (release / "uds.toml").read_text()
    return release / "uds.toml"


@pytest.fixture
def with_more(manifest: Path) -> Path:
    """As it is, with a second fact to keep: some methods draw one answer to another's question."""
    facts = manifest.parent / "facts.jsonl"
    more = {"id": "bly/town", "cluster": "bly", "split": "retain", "question": "Where does Ada Bly live?"}
    more |= {"answer": "Ada Bly lives in Ayr.", "prefix": "Ada Bly lives in", "entity": "Ayr"}
    facts.write_text(facts.read_text() + json.dumps(more) + "\n")
    return manifest


@pytest.mark.parametrize("lora", [(), ("--lora", "--rank", "4")], ids=["full", "lora"])
def test_the_line_it_prints_makes_a_candidate(
    command: Command, manifest: Path, tmp_path: Path, lora: tuple[str, ...]
) -> None:
    out = tmp_path / "new" / "run.1"
    shown = command("unlearn", "--manifest", manifest, "--method", "npo", "--out", out, *FAST, *lora)
    assert len(shown.stdout.splitlines()) == 1
    assert "2 steps in" in shown.stderr
    manifest.write_text(manifest.read_text().replace('npo = "./runs/npo"\n', shown.stdout))
    specs = load_manifest(manifest).of(Depth).checkpoints()
    assert (specs["run.1"].adapter == str(out)) == bool(lora)
    assert digest(specs["run.1"]) != digest(specs["full"])
    store = ("--store", tmp_path / "store", "--out", tmp_path / "scores.json")
    command("score", "--manifest", manifest, "--metrics", "uds", "--checkpoints", "run.1", *store)
    assert [path.name for path in out.parent.iterdir()] == ["run.1"]
    assert (out / "config.json").exists() != bool(lora)


def test_what_is_judged_must_be_there_once_it_is_judged(refused: Refused, manifest: Path, tmp_path: Path) -> None:
    said = refused("plan", "--manifest", manifest, "--store", tmp_path / "store")
    assert f"candidates.npo: no folder {manifest.parent / 'runs' / 'npo'}" in said


def test_a_full_model_that_is_not_there_is_told_with_its_line(command: Command, manifest: Path, tmp_path: Path) -> None:
    text = manifest.read_text().replace('npo = "./runs/npo"', 'npo = { model = "./runs/full", adapter = "./runs/npo" }')
    manifest.write_text(text)
    shutil.rmtree(manifest.parent / "runs" / "full")
    ran = command("unlearn", "--manifest", manifest, "--method", "npo", "--out", tmp_path / "out", exit=4)
    rows = text.splitlines()
    full, npo = (next(n for n, row in enumerate(rows, 1) if row.startswith(f"{name} = ")) for name in ("full", "npo"))
    first, second = ran.stderr.splitlines()
    assert first.startswith(f"uds-bench: error: {manifest}, line {full}: references.full: no folder")
    assert second.startswith(f"uds-bench: error: {manifest}, line {npo}: candidates.npo.model: no folder")


def test_a_full_model_and_facts_are_enough(command: Command, manifest: Path, tmp_path: Path) -> None:
    text = manifest.read_text()
    assert 'retain = "./runs/retain"' in text
    manifest.write_text(text.replace('retain = "./runs/retain"\n', ""))
    told = command("unlearn", "--manifest", manifest, "--method", "npo", "--out", tmp_path / "out", *FAST)
    assert "weights, all of them changed: about 1 MiB of memory" in _told(told.stderr)
    assert (tmp_path / "out" / "config.json").exists()


@pytest.mark.parametrize(
    ("words", "adapts"),
    [(("--method", "npo"), True), (("--method", "npo", "--no-lora"), False), (("--method", "alphaedit", *EDIT), False)],
    ids=["unasked", "refused", "edited"],
)
def test_above_a_size_an_adapter_is_trained_unless_all_weights_are_asked_for(
    command: Command,
    with_more: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    adapts: bool,
) -> None:
    monkeypatch.setattr(memory, "LORA_ABOVE", 1000)
    more = () if "alphaedit" in words else FAST
    told = command("unlearn", "--manifest", with_more, "--out", tmp_path / "out", *words, *more)
    assert (tmp_path / "out" / "adapter_config.json").exists() == adapts
    assert ("as they are more than" in _told(told.stderr)) == adapts
    assert ("all of them changed" in _told(told.stderr)) != adapts


def test_the_record_tells_preset_settings_and_cost(command: Command, manifest: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--preset", "npo_lr5e-05_beta0.1_alpha5_epochs10", "--set", "beta=0.2", "--retrain-epochs", "3")
    told = _told(command("unlearn", "--manifest", manifest, "--method", "npo", "--out", out, *words).stderr)
    record = json.loads((out / "unlearning.json").read_text())
    assert record["preset"] == "npo_lr5e-05_beta0.1_alpha5_epochs10"
    assert "the sweep of 150 models" in record["preset_source"]
    assert record["changed"] == {"beta": 0.2}
    wanted = {"steps": 10, "lr": 5e-5, "batch_size": 32, "seed": 0, "gamma": 1.0, "alpha": 5, "beta": 0.2}
    assert record["settings"] == wanted
    assert record["cost"]["retraining"]["epochs"] == 3
    assert record["dtype"] == "float32"
    assert f"{record['cost']['share_of_passes']:.1%} of the passes of 3 epochs on the retain facts" in told


def test_the_same_seed_gives_the_same_weights(command: Command, manifest: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        words = ("--method", "rmu", "--set", "layer=1", "--set", f"seed={seed}", *FAST)
        command("unlearn", "--manifest", manifest, "--out", tmp_path / name, *words)
    first, second, third = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert first == second
    assert first != third


@pytest.mark.parametrize(
    ("method", "settings", "steps"),
    [("memflex", ("gradient_threshold=1e-9", "steps=2", "batch_size=2"), 2), ("alphaedit", LAYERS, 2)],
)
def test_methods_that_localize_are_released_with_their_settings(
    command: Command, with_more: Path, tmp_path: Path, method: str, settings: tuple[str, ...], steps: int
) -> None:
    out = tmp_path / "out"
    words = [word for setting in settings for word in ("--set", setting)]
    command("unlearn", "--manifest", with_more, "--method", method, "--out", out, *words)
    record = json.loads((out / "unlearning.json").read_text())
    assert record["preset"] == f"{method}_lacuna_1b"
    assert "Lacuna, table 5" in record["preset_source"]
    told = {key: float(value) for key, value in (setting.split("=") for setting in settings)}
    assert {key: record["settings"][key] for key in told} == told
    assert len(record["losses"]) == record["settings"]["steps"] == steps
    assert record["cost"]["tokens_trained"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "npoo"), "--method: there is no 'npoo': did you mean 'npo'"),
        (("--method", "npo", "--preset", "x"), "method npo has no preset 'x': choose from npo_lr1e-05_beta0.1_alpha1"),
        (("--method", "npo", "--set", "lr"), "--set lr: write KEY=VALUE, as lr=1e-5; VALUE is a number"),
        (("--method", "npo", "--set", "steps=1.5"), "--set steps=1.5: write KEY=VALUE, as lr=1e-5; VALUE is a whole"),
        (("--method", "npo", "--set", "layer=1"), "method npo has no setting 'layer': choose from epochs, steps, lr"),
        (("--method", "npo", "--set", "beta=-1"), "method npo: beta = -1.0 must be above 0"),
        (("--method", "npo", "--set", "steps=0"), "trains nothing"),
        (("--method", "alphaedit", "--lora"), "method alphaedit edits the weights themselves: leave LoRA out"),
        (("--method", "alphaedit", "--set", "last_layer=2"), "last_layer = 2 must be at least first_layer = 4"),
        (
            ("--method", "memflex", "--set", "copies=0.5"),
            "--set copies=0.5: write KEY=VALUE, as lr=1e-5; VALUE is a wh",
        ),
        (("--method", "npo", "--device", "tpu"), "--device: 'tpu' is not a device"),
        (("--method", "npo", "--manifest", "none.toml"), "none.toml: cannot be read"),
    ],
)
def test_what_cannot_be_used_is_told_and_nothing_is_written(
    refused: Refused, manifest: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    assert said in refused("unlearn", "--manifest", manifest, "--out", tmp_path / "out", *words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "rmu", *FAST, "--set", "layer=7"), "method rmu: layer = 7, but the model has 3 blocks: choose"),
        (("--method", "npo", *FAST, "--set", "lr=1e30"), "method npo: training diverged"),
        (("--method", "alphaedit"), "method alphaedit: last_layer = 8, but the model has 3 blocks: choose up to 2"),
        (("--method", "memflex", "--set", "gradient_threshold=9"), "method memflex: none of 21 matrices has a forget"),
    ],
)
def test_a_training_that_fails_is_one_line_after_its_bar(
    command: Command, with_more: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    ran = command("unlearn", "--manifest", with_more, "--out", tmp_path / "out", *words, exit=4)
    assert ran.stderr.strip().splitlines()[-1].startswith(f"uds-bench: error: {said}")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_exists_is_kept(refused: Refused, manifest: Path) -> None:
    full = manifest.parent / "runs" / "full"
    said = refused("unlearn", "--manifest", manifest, "--method", "npo", "--out", full)
    assert "exists and is not overwritten" in said


def test_an_adapter_on_an_adapter_and_quantized_weights_are_refused(
    refused: Refused, command: Command, manifest: Path, tmp_path: Path
) -> None:
    words = ("--manifest", manifest, "--method", "grad_diff", *FAST)
    command("unlearn", *words, "--lora", "--out", tmp_path / "lora")
    text = manifest.read_text()
    full = 'full = "./runs/full"'
    adapted = f'full = {{ model = "./runs/full", adapter = "{tmp_path / "lora"}" }}'
    manifest.write_text(text.replace(full, adapted))
    assert "has an adapter already" in refused("unlearn", *words, "--lora", "--out", tmp_path / "out")
    command("unlearn", *words, "--out", tmp_path / "merged")
    manifest.write_text(text.replace(full, 'full = { model = "./runs/full", quantization = "nf4" }'))
    assert "quantized weights cannot be trained" in refused("unlearn", *words, "--out", tmp_path / "out")


def test_facts_without_a_retain_split_are_told(
    refused: Refused, command: Command, manifest: Path, tmp_path: Path
) -> None:
    facts = manifest.parent / "facts.jsonl"
    kept = [line for line in facts.read_text().splitlines() if json.loads(line)["split"] == "forget"]
    facts.write_text("\n".join(kept) + "\n")
    words = ("--manifest", manifest, "--out", tmp_path / "out", *FAST)
    assert "method npo needs facts of the split retain: add some, or keep nothing: alpha=0" in refused(
        "unlearn", "--method", "npo", *words
    )
    command("unlearn", "--method", "grad_ascent", *words)
