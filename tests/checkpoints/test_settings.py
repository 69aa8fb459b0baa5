"""What lies beside the weights: all that a library reads counts, and what is alike is read once."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import transformers
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.checkpoints import CheckpointSpec, digest, load, loading
from uds_bench.checkpoints.loading import inspect
from uds_bench.checkpoints.settings import tokenizer_files
from uds_bench.errors import CheckpointError


@pytest.mark.parametrize(
    "name", ["tekken.json", "vocab.txt", "spm.model", "additional_chat_templates/tool_use.jinja", "tokenizer.9.json"]
)
def test_a_file_that_a_library_may_read_counts(name: str, llama: Path) -> None:
    spec, file = CheckpointSpec(str(llama)), llama / name
    file.parent.mkdir(exist_ok=True)
    seen = [digest(spec)]
    for text in ("{}", "[]"):
        file.write_text(text)
        seen.append(digest(spec))
    assert len(set(seen)) == len(seen)


def vocabulary_files() -> Iterator[str]:
    """Whatever transformers' own tokenizers are saved as."""
    for path in Path(transformers.__file__).parent.rglob("tokenization*.py"):
        for block in re.findall(r"VOCAB_FILES_NAMES\s*=\s*\{(.*?)\}", path.read_text(), re.DOTALL):
            yield from re.findall(r":\s*[\"']([^\"']+)[\"']", block)


def test_every_family_s_vocabulary_counts(tmp_path: Path) -> None:
    names = set(vocabulary_files())
    assert len(names) > 15
    for name in names:
        (tmp_path / name).write_text("{}")
    assert {path.name for path in tokenizer_files(tmp_path)} == names


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("config.json", "configuration_files"),
        ("config.json", "transformers_weights"),
        *[
            ("tokenizer_config.json", key)
            for key in (
                "fast_tokenizer_files",
                "gguf_file",
                "vocab_file",
                "vocab",
                "merges",
                "init_inputs",
                "fix_mistral_regex",
            )
        ],
    ],
)
def test_a_file_that_stands_for_another_is_refused(name: str, key: str, llama: Path) -> None:
    file = llama / name
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: [name.replace(".json", ".4.0.0.json")]}))
    for look in (load, inspect):
        with pytest.raises(
            CheckpointError, match=f"{name} would have other files read, .*\\({key}\\): take the key out"
        ):
            look(CheckpointSpec(str(llama)))


def test_a_key_of_files_that_names_none_is_none(llama: Path) -> None:
    file = llama / "tokenizer_config.json"
    known = {"tokenizer_file": None, "vocab_file": None, "special_tokens_map_file": "/root/of/another.json"}
    file.write_text(json.dumps(json.loads(file.read_text()) | known))
    load(CheckpointSpec(str(llama)))


def test_a_file_without_a_byte_is_refused(llama: Path) -> None:
    """What the system makes as it is read, without end perhaps, has no size either."""
    (llama / "vocab.txt").write_text("")
    with pytest.raises(CheckpointError, match=r"vocab\.txt is empty"):
        inspect(CheckpointSpec(str(llama)))


def test_a_text_that_is_read_by_chance_is_refused(llama: Path) -> None:
    file = llama / "tokenizer.json"
    plain = json.loads(file.read_text())
    words = plain["model"]["vocab"]
    first, second = sorted(words, key=words.get)[-2:]
    for change, told in (
        ({"dropout": 0.5}, "its dropout reads a text otherwise each time"),
        ({"vocab": words | {second: words[first]}}, "have one id"),
    ):
        file.write_text(json.dumps(plain | {"model": plain["model"] | change}))
        with pytest.raises(CheckpointError, match=told):
            inspect(CheckpointSpec(str(llama)))
    file.write_text(json.dumps(plain))
    settings = llama / "tokenizer_config.json"
    said = json.loads(settings.read_text()) | {"sp_model_kwargs": {"enable_sampling": True}}
    settings.write_text(json.dumps(said))
    with pytest.raises(CheckpointError, match="reads by chance"):
        inspect(CheckpointSpec(str(llama)))


def test_what_is_alike_is_read_once(llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    real = loading.tokenizer_in

    def counted(folder: Path, name: str) -> object:
        read.append(folder)
        return real(folder, name)

    monkeypatch.setattr(loading, "tokenizer_in", counted)
    monkeypatch.setattr(loading, "_fitting", {})
    shutil.copytree(llama, tmp_path / "twin")
    own = [inspect(CheckpointSpec(str(folder))) for folder in (llama, tmp_path / "twin", llama)]
    assert read == [llama]
    assert own[0] is own[1] is own[2]
    (tmp_path / "twin" / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert inspect(CheckpointSpec(str(tmp_path / "twin"))) is not own[0]
    # A model that embeds fewer tokens is refused by the same tokenizer, however often that was read.
    small = save_checkpoint(tmp_path / "small", FAMILIES["llama"](len(tiny_tokenizer()) - 1), tiny_tokenizer())
    with pytest.raises(CheckpointError, match="embeds only"):
        inspect(CheckpointSpec(str(small)))


def test_weights_come_from_files_that_a_digest_has_and_from_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else `config.json` of a later version of transformers may name."""
    folder = save_checkpoint(tmp_path / "one", FAMILIES["llama"](len(tiny_tokenizer())), tiny_tokenizer(), shards=1)
    shutil.copy(folder / "model.safetensors", folder / "other.safetensors")
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"transformers_weights": "other.safetensors"}))
    monkeypatch.setattr("uds_bench.checkpoints.source.require_own", lambda path: None)
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        load(CheckpointSpec(str(folder)))


def test_a_large_number_that_takes_no_time_is_read(llama: Path) -> None:
    file = llama / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"max_position_embeddings": 10_000_000}))
    assert load(CheckpointSpec(str(llama))).model.config.max_position_embeddings == 10_000_000


def test_common_files_are_not_tried_first(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds, of every run on models of one's own."""
    monkeypatch.setattr("uds_bench.checkpoints.bounded.Child", lambda *_: pytest.fail("nothing in them is uncommon"))
    file = llama / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"eos_token_id": [128_001, 128_009]}))
    assert load(CheckpointSpec(str(llama))).digest
