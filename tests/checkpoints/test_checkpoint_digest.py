"""The digest names content: it moves with anything that changes an answer, and with nothing else."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from families import FAMILIES, save_adapter, save_checkpoint, tiny_tokenizer
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from uds_bench.checkpoints import CheckpointSpec, digest, digests, load
from uds_bench.checkpoints.digests import tensor_digest
from uds_bench.checkpoints.reading import ANEW, read_anew, read_digest, reading
from uds_bench.errors import CheckpointError
from uds_bench.storage import file_digest


def one_weight(folder: Path) -> None:
    """The smallest change of one weight, in place: same size, same name."""
    path = sorted(folder.glob("*.safetensors"))[-1]
    tensors = load_file(path)
    first = tensors[sorted(tensors)[0]].view(-1)
    first[0] = torch.nextafter(first[0], torch.tensor(9.0))
    save_file(tensors, path, metadata={"format": "pt"})


def edit(folder: Path, name: str, **changes: Any) -> None:
    path = folder / name
    value = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(value | changes, indent=1))


CHANGES: dict[str, Callable[[Path], Any]] = {
    "a weight": one_weight,
    "the vocabulary": lambda f: (f / "tokenizer.json").write_text(
        (f / "tokenizer.json").read_text().replace('"Answer"', '"Bnswer"').replace('"Question"', '"Ruestion"')
    ),
    "a tokenizer setting": lambda f: edit(f, "tokenizer_config.json", eos_token="<pad>"),
    "the chat template": lambda f: (f / "chat_template.jinja").write_text("{{ messages[0].content }}"),
    "the configuration": lambda f: edit(f, "config.json", rms_norm_eps=1e-3),
    "a token named as what does not count": lambda f: edit(
        f, "tokenizer_config.json", extra_special_tokens={"revision": "Mira"}
    ),
    "where generation ends": lambda f: edit(f, "generation_config.json", eos_token_id=[2, 5]),
}
SAME: dict[str, Callable[[Path], Any]] = {
    "a readme": lambda f: (f / "README.md").write_text("hello"),
    "the training state": lambda f: (f / "optimizer.pt").write_bytes(b"0"),
    "the library's version": lambda f: edit(f, "config.json", transformers_version="9.9.9", _name_or_path="x"),
    "the layout of a file": lambda f: edit(f, "config.json"),
    "touch": lambda f: [os.utime(path) for path in f.iterdir()],
}


@pytest.mark.parametrize("change", CHANGES)
def test_content_that_counts(change: str, llama: Path) -> None:
    spec = CheckpointSpec(str(llama))
    before = digest(spec)
    content = {path.name: path.read_bytes() for path in llama.iterdir()}
    CHANGES[change](llama)
    assert {path.name: path.read_bytes() for path in llama.iterdir()} != content
    assert digest(spec) != before


def test_of_patterns_the_first_that_fits_acts_so_that_their_order_counts(llama: Path, tmp_path: Path) -> None:
    patterns = {"q_proj": 64, r"layers\.\d+\.\w+": 0.001}
    found = []
    for at, order in enumerate((patterns, dict(reversed(patterns.items())))):
        adapter = save_adapter(tmp_path / f"lora{at}")
        edit(adapter, "adapter_config.json", alpha_pattern=order)
        found.append(digest(CheckpointSpec(str(llama), adapter=str(adapter))))
    assert found[0] != found[1]


@pytest.mark.parametrize("change", SAME)
def test_content_that_does_not_count(change: str, llama: Path) -> None:
    spec = CheckpointSpec(str(llama))
    before = digest(spec)
    SAME[change](llama)
    assert digest(spec) == before


def test_copies_and_shards_do_not_count(llama: Path, tmp_path: Path) -> None:
    before = digest(CheckpointSpec(str(llama)))
    shutil.copytree(llama, tmp_path / "elsewhere")
    assert digest(CheckpointSpec(str(tmp_path / "elsewhere"))) == before
    tokenizer = tiny_tokenizer()
    for shards in (1, 5):
        folder = save_checkpoint(tmp_path / str(shards), FAMILIES["llama"](len(tokenizer)), tokenizer, shards=shards)
        assert (len(list(folder.glob("*.safetensors"))) == 1) == (shards == 1)
        assert digest(CheckpointSpec(str(folder))) == before
    other = save_checkpoint(tmp_path / "seed", FAMILIES["llama"](len(tokenizer), seed=1), tokenizer)
    assert digest(CheckpointSpec(str(other))) != before


def test_options_count(llama: Path, tmp_path: Path) -> None:
    base = CheckpointSpec(str(llama))
    first, second = save_adapter(tmp_path / "a"), save_adapter(tmp_path / "b", seed=2)
    specs = [
        base,
        replace(base, dtype="bfloat16"),
        replace(base, quantization="nf4"),
        replace(base, adapter=str(first)),
        replace(base, adapter=str(second)),
        replace(base, adapter=str(first), quantization="nf4"),
    ]
    digests = [digest(spec) for spec in specs]
    assert len(set(digests)) == len(specs)
    assert digest(replace(base, dtype="float32")) == digest(base), "the default on a CPU"
    assert digest(base, device="cuda") == digest(replace(base, dtype="bfloat16")), "the default on a GPU"
    shutil.copytree(first, tmp_path / "copy")
    assert digest(replace(base, adapter=str(tmp_path / "copy"))) == digests[3]
    edit(first, "adapter_config.json", base_model_name_or_path="/somewhere/else")
    assert digest(replace(base, adapter=str(first))) == digests[3]
    edit(first, "adapter_config.json", lora_alpha=99)
    assert digest(replace(base, adapter=str(first))) != digests[3]


def test_a_loaded_checkpoint_carries_its_digest(llama: Path) -> None:
    for spec in (CheckpointSpec(str(llama)), CheckpointSpec(str(llama), quantization="nf4")):
        assert load(spec).digest == digest(spec)


def test_damaged_weights_have_no_digest(llama: Path) -> None:
    shard = sorted(llama.glob("*.safetensors"))[0]
    shard.write_bytes(shard.read_bytes()[:-8])
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        digest(CheckpointSpec(str(llama)))


@given(
    st.lists(st.floats(-2, 2, width=16), min_size=1, max_size=6),
    st.sampled_from([torch.float32, torch.bfloat16, torch.float16]),
    st.integers(0, 5),
)
def test_tensor_digests(values: list[float], dtype: torch.dtype, place: int) -> None:
    tensor = torch.tensor(values, dtype=dtype)
    assert tensor_digest(tensor) == tensor_digest(tensor.clone()) == tensor_digest(torch.stack([tensor] * 2).T[:, 0])
    assert tensor_digest(tensor) != tensor_digest(tensor[None])
    changed = tensor.clone()
    changed[place % len(values)] += 1
    assert tensor_digest(tensor) != tensor_digest(changed)
    assert len({tensor_digest(tensor.to(kind)) for kind in (torch.float32, torch.bfloat16, torch.float16)}) == 3
    assert tensor_digest(torch.tensor(1.0)) != tensor_digest(torch.tensor([1.0]))


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting: files count as settled at once, and nothing is remembered from other tests."""
    monkeypatch.setattr(digests, "SETTLED_NS", -1)
    monkeypatch.setattr(digests, "_seen", {})


def counted(path: Path) -> tuple[Callable[[], digests.Content], list[Path]]:
    calls: list[Path] = []

    def compute(place: Path) -> digests.Content:
        calls.append(place)
        own = tensor_digest(torch.frombuffer(bytearray(place.read_bytes()), dtype=torch.uint8))
        return {digests.TENSORS: {"x": own}, digests.NOT_FINITE: {}}

    return lambda: digests.remembered(path, compute), calls


def test_an_unchanged_file_is_read_once(settled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    read, calls = counted(path)
    first = read()
    assert read() == first
    assert len(calls) == 1
    monkeypatch.setattr(digests, "_seen", {})  # another process: from the disk
    assert read() == first
    assert len(calls) == 1
    assert list(digests.cache_folder().rglob("*.tmp")) == []


def test_a_changed_file_is_read_again(settled: None, tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    read, calls = counted(path)
    first, times = read(), path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # same size, inode and modification time
    assert read() != first
    other = tmp_path / "other"
    other.write_bytes(b"six")
    other.replace(path)
    assert read() != first
    assert len(calls) == 3


def test_a_young_file_is_always_read(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    read, calls = counted(path)
    read()
    read()
    assert len(calls) == 2


def test_what_was_kept_of_a_file_counts_neither_anew_nor_in_processes_that_read_anew(
    settled: None, llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has mapped a file changes it without a change of its times."""
    spec = CheckpointSpec(str(llama))
    true = digest(spec)
    for content in digests._seen.values():
        content[digests.TENSORS].update(dict.fromkeys(content[digests.TENSORS], "0" * 64))
    assert digest(spec) != true
    with read_anew():
        assert digest(spec) == true
    monkeypatch.setattr(digests, "_seen", {})
    monkeypatch.setattr(digests, "_read", lambda place: pytest.fail("what another process kept is read"))
    monkeypatch.setattr(digests, "write_atomic", lambda place, content: pytest.fail("it is kept for another process"))
    monkeypatch.setenv(ANEW, "1")
    assert digest(spec) == true


def test_one_reading_gives_the_digests_of_a_file_and_of_its_tensors(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    kept = {str(kind): torch.ones(3, 4).to(kind) for kind in dict.fromkeys(safetensors.torch._TYPES.values())}
    save_file(kept | {"empty": torch.zeros(0, 3), "number": torch.tensor(7.0)}, path, metadata={"format": "pt"})
    assert reading(path) is None
    with read_anew():
        found = reading(path)
        assert found is not None
        assert found.tensors == digests._read_tensors(path)[digests.TENSORS]
        assert found.file == read_digest(path) == file_digest(path)
        path.write_bytes(b"")
        assert (reading(path), read_digest(path)) == (found, found.file), "it is read once"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: b"\xff" * 8 + content[8:],
        lambda content: content.replace(b'"F32"', b'"F31"'),
        lambda content: content.replace(b"[0,", b"[1,"),
        lambda content: content.replace(b'"dtype"', b'"type_"'),
        lambda content: b"",
    ],
)
def test_a_file_that_is_damaged_once_it_was_opened_is_a_line(spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"a": torch.ones(3), "b": torch.ones(2)}, path)
    path.write_bytes(spoil(path.read_bytes()))
    with read_anew(), pytest.raises(CheckpointError, match="not a readable safetensors file"):
        reading(path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"tensors": {}, "not_finite": {}}',
        '{"tensors": {"x": 1}, "not_finite": {}}',
        '{"tensors": {"x": "short"}, "not_finite": {}}',
        f'{{"tensors": {{"x": "{"0" * 64}"}}}}',
    ],
)
def test_a_damaged_memo_is_computed_again(settled: None, tmp_path: Path, content: str) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    read, calls = counted(path)
    first = read()
    digests._seen.clear()
    for place in digests.cache_folder().glob("*/*"):
        place.write_text(content)
    assert read() == first
    assert len(calls) == 2


def test_an_unwritable_cache_is_no_obstacle(settled: None, private_cache: Path, tmp_path: Path) -> None:
    private_cache.write_text("a file where the folder should be")
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    read, calls = counted(path)
    assert read() == read()
    assert len(calls) == 1, "kept in memory"
