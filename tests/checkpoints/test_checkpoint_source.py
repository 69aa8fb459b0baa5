"""Files that are missing, pickled, damaged or on the hub: one clear line each."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from safetensors.torch import load_file, save_file

from uds_bench.checkpoints import CheckpointSpec, load, resolve, shape
from uds_bench.checkpoints.source import check_shapes, read_config
from uds_bench.errors import CheckpointError


def index_without(folder: Path, key: str) -> None:
    path = folder / "model.safetensors.index.json"
    value = json.loads(path.read_text())
    del value[key]
    path.write_text(json.dumps(value))


def first_shard(folder: Path) -> Path:
    return sorted(folder.glob("*.safetensors"))[0]


def unlink(folder: Path, names: str) -> None:
    for path in folder.glob(names):
        path.unlink()


def truncate(folder: Path) -> None:
    shard = first_shard(folder)
    shard.write_bytes(shard.read_bytes()[:-64])


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def pickled(folder: Path) -> None:
    unlink(folder, "*.safetensors*")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")


def edit_index(folder: Path, tensor: str, shard: str) -> None:
    path = folder / "model.safetensors.index.json"
    value = json.loads(path.read_text())
    value["weight_map"][tensor] = shard
    path.write_text(json.dumps(value))


ADAPTER = "adapter_config.json"


def copied_to_last(folder: Path) -> None:
    """Of two copies the one is judged, and some libraries read the other."""
    first, *_, last = sorted(folder.glob("*.safetensors"))
    name, tensor = next(iter(load_file(first).items()))
    save_file(load_file(last) | {name: tensor + 1}, last, metadata={"format": "pt"})


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no folder": (shutil.rmtree, "no such folder: check the path"),
    "no config": (
        lambda f: (f / "config.json").unlink(),
        r"has no config\.json: .* holds weights and a tokenizer alone; a checkpoint is config\.json, weights .* write",
    ),
    "tokenizer alone": (
        lambda f: [(f / "config.json").unlink(), unlink(f, "*.safetensors*")],
        r"has no config\.json: .* holds a tokenizer alone; a checkpoint is",
    ),
    "broken config": (lambda f: (f / "config.json").write_text("{"), "config.json: not a model configuration"),
    "no model type": (lambda f: (f / "config.json").write_text("{}"), "config.json: not a model configuration"),
    "bad config value": (lambda f: edit_config(f, num_attention_heads="x"), "config.json: .*num_attention_heads"),
    "unknown family": (lambda f: edit_config(f, model_type="frob"), "model_type 'frob' is unknown"),
    "own code": (
        lambda f: edit_config(f, model_type="frob", auto_map={"AutoModelForCausalLM": "modeling_frob.Frob"}),
        "model_type 'frob' needs code from its own repository, which is never run",
    ),
    "quantized": (lambda f: edit_config(f, quantization_config={"quant_method": "gptq"}), "is stored quantized"),
    "pickled": (pickled, "has only pickled weights .pytorch_model.bin .*convert"),
    "no weights": (lambda f: unlink(f, "*.safetensors*"), "has no model.safetensors and no model.safetensors.index"),
    "no tokenizer": (lambda f: unlink(f, "tokenizer*"), "has no tokenizer files .*save the tokenizer next to the"),
    "broken tokenizer": (lambda f: (f / "tokenizer.json").write_text("{}"), "the tokenizer in .* cannot be read"),
    "truncated": (truncate, "not a readable safetensors file"),
    "empty shard": (lambda f: first_shard(f).write_bytes(b""), "not a readable safetensors file"),
    "missing shard": (lambda f: first_shard(f).unlink(), "index.json: shard model-00001-.* is missing"),
    "index without map": (lambda f: index_without(f, "weight_map"), "index.json: not a weight index"),
    "index names more": (
        lambda f: edit_index(f, "extra", first_shard(f).name),
        "tensor extra of the index is not in",
    ),
    "a tensor in two shards": (copied_to_last, r"tensor .* is there and in another shard: save the model again"),
    "index leads away": (
        lambda f: edit_index(f, "lm_head.weight", f"../{f.name}/{first_shard(f).name}"),
        "shard '../llama/.*' is a path",
    ),
    "adapter inside": (lambda f: (f / ADAPTER).write_text("{}"), "holds a model and an adapter in one folder"),
    "adapter only": (
        lambda f: (f / "config.json").rename(f / ADAPTER),
        r'an adapter: write \{ model = ".*", adapter ',
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_folders(damage: str, llama: Path) -> None:
    spoil, message = DAMAGES[damage]
    spoil(llama)
    with pytest.raises(CheckpointError, match=message) as caught:
        load(CheckpointSpec(str(llama)))
    assert "\n" not in str(caught.value)
    assert str(llama) in str(caught.value)


def test_names_that_are_no_folder(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckpointError, match="is a file: name the folder"):
        resolve(CheckpointSpec(str(llama / "config.json")))
    with pytest.raises(CheckpointError, match="revision = 'v1' is for hub ids"):
        resolve(CheckpointSpec(str(llama), revision="v1"))
    with pytest.raises(CheckpointError, match="empty model name"):
        CheckpointSpec("")
    with pytest.raises(CheckpointError, match="quantization = 'int3' is unknown: did you mean 'int8'"):
        CheckpointSpec("m", quantization="int3")
    with pytest.raises(CheckpointError, match="dtype = 'float8' is unknown"):
        CheckpointSpec("m", dtype="float8")


SHA = {"main": "a" * 40, "v1": "b" * 40}


@pytest.fixture
def hub(llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache that holds revisions main and v1 of org/name, without network."""
    repository = tmp_path / "hub" / "models--org--name"
    for revision, sha in SHA.items():
        (repository / "refs").mkdir(parents=True, exist_ok=True)
        (repository / "refs" / revision).write_text(sha)
        shutil.copytree(llama, repository / "snapshots" / sha)
    edit_config(repository / "snapshots" / SHA["v1"], rms_norm_eps=1e-3)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return repository


def test_hub_ids_come_from_the_cache_when_offline(hub: Path) -> None:
    for revision, sha in ((None, SHA["main"]), ("v1", SHA["v1"]), (SHA["v1"], SHA["v1"])):
        spec = CheckpointSpec("org/name", revision=revision)
        assert resolve(spec).model == hub / "snapshots" / sha
        checkpoint = load(spec)
        assert checkpoint.model.config.rms_norm_eps == (1e-3 if sha == SHA["v1"] else 1e-6)
        assert shape(spec).family == "llama"


def test_the_hub_is_asked_once_for_what_it_gave(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, ref = CheckpointSpec("org/name"), hub / "refs" / "main"
    ref.rename(tmp_path / "main")
    with pytest.raises(CheckpointError, match="the hub was not reached"):
        resolve(spec)
    (tmp_path / "main").rename(ref)
    found = resolve(spec)  # a failure is not kept
    ref.unlink()
    assert resolve(spec) == found
    with pytest.raises(CheckpointError, match="the hub was not reached"):
        shape(spec)  # other files
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("HF_HUB_CACHE", str(tmp_path / "other"))
        with pytest.raises(CheckpointError, match="the hub was not reached"):
            resolve(spec)
    shutil.rmtree(found.model)
    with pytest.raises(CheckpointError, match="the hub was not reached"):
        resolve(spec)


@pytest.mark.parametrize(("name", "near"), [("npo-finale", "npo-final"), ("modles/npo", "models/npo")])
def test_a_name_like_a_folder_nearby_is_told(
    hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    (tmp_path / near).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match=f"did you mean '{near}'"):
        resolve(CheckpointSpec(name))


@pytest.mark.parametrize("spec", [CheckpointSpec("org/other"), CheckpointSpec("org/name", revision="v2")])
def test_hub_errors_are_one_line(hub: Path, spec: CheckpointSpec) -> None:
    with pytest.raises(
        CheckpointError, match=r"no such folder, and the hub was not reached, .*check the name"
    ) as caught:
        resolve(spec)
    assert "\n" not in str(caught.value)
    assert spec.model in str(caught.value)
    assert str(hub.parent) in str(caught.value)


def test_an_incomplete_snapshot_is_refused(hub: Path) -> None:
    first_shard(hub / "snapshots" / SHA["main"]).unlink()
    with pytest.raises(CheckpointError, match=r"shard .* is missing"):
        load(CheckpointSpec("org/name"))


def test_only_the_weights_in_use_are_fetched() -> None:
    """No pickles, no subfolders, no second copy of the weights."""
    from huggingface_hub.utils import filter_repo_objects

    from uds_bench.checkpoints import source

    files = ["config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json", "tokenizer.model"]
    others = ["pytorch_model.bin", "original/consolidated.00.pth", "consolidated.safetensors", "onnx/model.json"]
    kept = filter_repo_objects(
        files + others, allow_patterns=list(source._FETCHED), ignore_patterns=list(source._SKIPPED)
    )
    assert list(kept) == files


def test_a_configuration_is_read_again_once_its_file_has_changed(tmp_path: Path) -> None:
    text = '{"model_type": "gpt2", "n_layer": %d, "n_embd": 8}'
    (tmp_path / "config.json").write_text(text % 2)
    first = read_config(tmp_path)
    first.n_layer = 7  # nobody else's
    assert read_config(tmp_path).n_layer == 2
    (tmp_path / "config.json").write_text(text % 12)
    assert read_config(tmp_path).n_layer == 12
    (tmp_path / "config.json").unlink()
    with pytest.raises(CheckpointError, match="not a model configuration"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [({"intermediate_size": 96}, "weights beside its embeddings"), ({"tie_word_embeddings": True}, "")],
)
def test_a_candidate_has_as_many_weights_as_the_full_model(
    change: dict[str, Any], told: str, llama: Path, tmp_path: Path
) -> None:
    """What is added may hide what is there. A head that is tied, or is not, is the same model."""
    other = Path(shutil.copytree(llama, tmp_path / "other"))
    said = json.loads((other / "config.json").read_text())
    assert all(said.get(key, False) != value for key, value in change.items())
    (other / "config.json").write_text(json.dumps(said | change))
    specs = {"full": CheckpointSpec(str(llama)), "npo": CheckpointSpec(str(other))}
    if not told:
        check_shapes("npo", specs)
        return
    with pytest.raises(CheckpointError, match=told) as caught:
        check_shapes("npo", specs)
    assert str(caught.value).startswith(f"npo ({other}): it has ")


def test_tokens_added_in_training_are_told_and_what_is_told_mends_it(llama: Path, tmp_path: Path) -> None:
    full, npo, tokenizer = CheckpointSpec(str(llama)), tmp_path / "npo", tiny_tokenizer()
    count, specs = shape(full).vocabulary, {"full": full, "npo": CheckpointSpec(str(npo))}
    for more, told in ((1, "training added 1 token: "), (128, "training added 128 tokens: "), (129, "patching needs")):
        model = FAMILIES["llama"](count)
        model.resize_token_embeddings(count + more)
        save_checkpoint(npo, model, tokenizer)
        with pytest.raises(CheckpointError, match=f"its vocabulary is {count + more}, .* is {count}: {told}") as caught:
            check_shapes("npo", specs)
        assert (f"(model.resize_token_embeddings({count}), and" in str(caught.value)) == (more < 129)
    model.resize_token_embeddings(count)
    shutil.rmtree(npo)
    save_checkpoint(npo, model, tokenizer)
    check_shapes("npo", specs)
    assert load(specs["npo"]).model.config.vocab_size == count
