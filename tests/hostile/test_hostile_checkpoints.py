"""A candidate whose files were written to do harm: one line, bounded time and memory, and others keep their scores."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from families import FAMILIES, save_adapter, save_checkpoint, tiny_tokenizer

from uds_bench.audits.preflight import preflight
from uds_bench.checkpoints import CheckpointSpec, claimed, load
from uds_bench.checkpoints.claimed import require_held
from uds_bench.checkpoints.source import read_config
from uds_bench.checkpoints.weights import weight_count, weight_files
from uds_bench.errors import MESSAGE_LENGTH, CheckpointError, UdsError, printable
from uds_bench.facts import FactSet
from uds_bench.facts.chat import chat_text
from uds_bench.facts.fact import Fact
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

Damage = Callable[[Path], object]
HANGS = r"(([a-z_.0-9]+)+)+[!]"
LOOP = "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3
PANICS = {"type": "Split", "pattern": {"Regex": r"a$|(([\w ]+)+)+!"}, "behavior": "Isolated", "invert": False}
SECONDS = 240
"""Within which anything is refused, on a machine that is busy; what is hostile here would take years, or 10 GB."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, tokenizer = tmp_path_factory.mktemp("hostile"), tiny_tokenizer()
    for seed, name in enumerate(("full", "good")):
        save_checkpoint(folder / name, FAMILIES["llama"](len(tokenizer), seed=seed), tokenizer)
    save_adapter(folder / "adapter", width=FAMILIES["llama"](len(tokenizer)).config.hidden_size)
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what hangs is given up sooner: a test waits out each second that a child has."""
    monkeypatch.setenv("UDS_BENCH_CACHE", str(tmp_path / "cache"))
    for child, seconds in (("facts.chat", 3), ("checkpoints.adapter", 3), ("checkpoints.bounded", 9)):
        monkeypatch.setattr(f"uds_bench.{child}.SECONDS", seconds)


def said(**values: object) -> Damage:
    """Keys of `config.json` set."""
    return lambda folder: _set(folder / "config.json", values)


def written(name: str, text: str) -> Damage:
    return lambda folder: (folder / name).write_text(text)


def _set(path: Path, values: dict[str, object]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def is_a_line(error: UdsError) -> str:
    text = str(error)
    assert len(text) <= MESSAGE_LENGTH
    assert text == printable(text)
    return text


HOSTILE: dict[str, Damage] = {
    "a list of families": said(model_type=["llama"]),
    "layers without end": said(num_hidden_layers=10**9),
    "layers that it does not have": said(num_hidden_layers=9999),
    "labels without end": said(num_labels=10**9),
    "kinds of attention without end": said(model_type="gpt_neo", attention_types=[[["global", "local"], 10**9]]),
    "tokens without end": written(
        "tokenizer_config.json", '{"tokenizer_class": "T5Tokenizer", "extra_ids": 1000000000}'
    ),
    "tokens under a million": written(
        "tokenizer_config.json", '{"tokenizer_class": "ByT5Tokenizer", "extra_ids": 999999}'
    ),
    "a tokenizer that lies elsewhere": written(
        "special_tokens_map.json", '{"tokenizer_file": "/elsewhere/tokenizer.json"}'
    ),
    "kinds of attention by a product": said(
        model_type="gpt_neo", attention_types=[[["global", "local"] * 5000, 1_000_000]]
    ),
    "weights of another name": said(transformers_weights="other.safetensors"),
    "a file of 60 GB": lambda folder: _sparse(folder / "junk.model", 60 << 30),
    "two kinds of weights": lambda folder: shutil.copy(min(folder.glob("*.safetensors")), folder / "model.safetensors"),
    "layers beyond any float": said(num_hidden_layers=10**400),
    "far more weights than its files": said(hidden_size=1 << 14, intermediate_size=1 << 14, num_attention_heads=128),
    "heads without end": said(num_attention_heads=10**9),
    "a vocabulary of 10**12": said(vocab_size=10**12),
    "layers as text": said(num_hidden_layers="2"),
    "no layers": said(num_hidden_layers=-2),
    "a list of types": said(dtype=["float32"]),
    "a list of ropes": said(rope_parameters={"rope_type": ["x"]}),
    "deep configuration": written("config.json", "[" * 100_000),
    "a list for a configuration": written("config.json", "[1]"),
    "long number": written("config.json", '{"model_type": ' + "9" * 5000 + "}"),
    "deep index": written("model.safetensors.index.json", '{"a":' * 100_000),
    "a list of tokenizers": written("tokenizer_config.json", '{"tokenizer_class": ["a"]}'),
    "deep tokenizer": written("tokenizer.json", "[" * 100_000),
    "a pattern that makes it panic": lambda folder: _set(folder / "tokenizer.json", {"pre_tokenizer": PANICS}),
    "loops without end": written("chat_template.jinja", LOOP),
    "a text of 10 GB": written("chat_template.jinja", "{{ 'a' * 10000000000 }}"),
    "a text that fills the window": written(
        "chat_template.jinja", "{{ 'hello world ' * 5000 }}{{ messages[0].content }}"
    ),
    "a number added to a text": written("chat_template.jinja", "{{ messages[0].content + 1 }}"),
    "a division by zero": written("chat_template.jinja", "{{ 1 / 0 }}"),
    "a template of itself": written("chat_template.jinja", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
    "an order to CI": written("chat_template.jinja", "{{ raise_exception('\\n::error::owned\\x1b[31m') }}"),
}


@pytest.mark.parametrize("damage", HOSTILE.values(), ids=HOSTILE)
def test_one_bad_candidate_is_one_line_and_another_keeps_its_score(saved: Path, tmp_path: Path, damage: Damage) -> None:
    bad = Path(shutil.copytree(saved / "good", tmp_path / "bad"))
    damage(bad)
    fact = Fact("a/b", "a", "forget", "Where was Mira born?", "Mira was born in Ulm.", "Mira was born in", "Ulm")
    specs = {name: CheckpointSpec(str(saved / name)) for name in ("full", "good")} | {"bad": CheckpointSpec(str(bad))}
    runner = MetricRunner(specs, FactSet([fact]), Store(tmp_path / "store"))
    plan = [ScoreRequest(name, "prob") for name in ("bad", "good")]
    started = time.monotonic()
    with pytest.raises(UdsError) as caught:
        runner.score(plan[0], plan)
    assert "bad" in is_a_line(caught.value)
    assert time.monotonic() - started < SECONDS
    assert runner.score(plan[1], plan).value is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_that_a_configuration_claims_are_weighed_without_them(family: str, tmp_path: Path) -> None:
    """Of each family the model that its configuration describes has as many as its file, tied ones once."""
    tokenizer = tiny_tokenizer()
    save_checkpoint(tmp_path, FAMILIES[family](len(tokenizer)), tokenizer)
    config, files = read_config(tmp_path), weight_files(tmp_path)
    spec, held = CheckpointSpec(str(tmp_path)), sum(map(weight_count, files))
    require_held(config, files, spec)
    assert held <= sum(claimed._numbers(config)) <= claimed.TIMES * held
    config.get_text_config(decoder=True).vocab_size = 1 << 26
    with pytest.raises(CheckpointError, match=r"tells of .* weights"):
        require_held(config, files, spec)


def test_what_a_library_remarks_on_a_configuration_is_not_shown(
    saved: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bad = Path(shutil.copytree(saved / "good", tmp_path / "bad"))
    said(rope_parameters={"rope_type": "default", "rope_theta": 1e4, "\x1b[31m\n::error::owned": 1})(bad)
    read_config(bad)
    assert "owned" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("ends", [[[1]], {"a": 1}, "x", 1e999, [None]])
def test_ends_of_replies_that_are_no_tokens_refuse_one_model_alone(saved: Path, tmp_path: Path, ends: object) -> None:
    bad = Path(shutil.copytree(saved / "good", tmp_path / "bad"))
    (bad / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
    specs = {name: CheckpointSpec(str(saved / name)) for name in ("full", "good")} | {"bad": CheckpointSpec(str(bad))}
    told = preflight(specs, specs, ["good", "bad"], "full")
    assert told.keys() == {"bad"}
    is_a_line(UdsError(told["bad"]))
    assert told["bad"] == str(UdsError(told["bad"]))


ADAPTERS: dict[str, dict[str, object]] = {
    "targets": {"target_modules": HANGS},
    "ranks": {"rank_pattern": {HANGS: 2}},
    "left out": {"exclude_modules": HANGS},
    "saved": {"modules_to_save": [HANGS]},
    "behind tokens": {"alora_invocation_tokens": [1]},
    "a list of kinds": {"peft_type": ["LORA"]},
    "weights that lie elsewhere": {"peft_type": "XLORA", "adapters": {"0": "/elsewhere"}, "hidden_size": 8},
    "layers of other layers": {"layer_replication": [[0, 1]] * 100_000},
    "a start by chance": {"init_lora_weights": "pissa_niter_4"},
    "terms without end": {"peft_type": "OFT", "use_cayley_neumann": True, "num_cayley_neumann_terms": 10**9},
    "first ranks without end": {"peft_type": "ADALORA", "init_r": 3_000_000},
    "a start without end": {"init_lora_weights": "pissa_niter_1000000000"},
    "rank as text": {"r": "x"},
    "rank of 10**12": {"r": 10**12},
}


@pytest.mark.parametrize("values", ADAPTERS.values(), ids=ADAPTERS)
def test_a_bad_adapter_is_one_line(saved: Path, tmp_path: Path, values: dict[str, object]) -> None:
    adapter = Path(shutil.copytree(saved / "adapter", tmp_path / "adapter"))
    _set(adapter / "adapter_config.json", values)
    started = time.monotonic()
    with pytest.raises(CheckpointError) as caught:
        load(CheckpointSpec(str(saved / "full"), adapter=str(adapter)))
    assert str(adapter) in is_a_line(caught.value)
    assert time.monotonic() - started < SECONDS


def test_a_pattern_that_ends_is_matched_as_before(saved: Path, tmp_path: Path) -> None:
    adapter = Path(shutil.copytree(saved / "adapter", tmp_path / "adapter"))
    plain = load(CheckpointSpec(str(saved / "full"), adapter=str(adapter)))
    _set(adapter / "adapter_config.json", {"target_modules": r".*\.(q|k|v|o|gate|up|down)_proj"})
    again = load(CheckpointSpec(str(saved / "full"), adapter=str(adapter)))
    one, two = plain.model.state_dict(), again.model.state_dict()
    assert one.keys() == two.keys()
    assert all((one[name] == two[name]).all() for name in one)


def test_a_template_that_takes_all_of_its_time_takes_none_of_another(saved: Path) -> None:
    """Each template has a process of its own."""
    slow, quick = (tiny_tokenizer() for _ in range(2))
    slow.chat_template, quick.chat_template = LOOP, "{{ messages[0].content }}{{ eos_token }}"
    turns = [{"role": "user", "content": "hello"}]
    for _ in range(2):
        with pytest.raises(CheckpointError, match="takes more than 3 s"):
            chat_text(slow, turns)
        assert chat_text(quick, turns) == f"hello{quick.eos_token}"
