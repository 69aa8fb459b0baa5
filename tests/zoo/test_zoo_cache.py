"""A cached model is whole and verified, or it is built anew, whatever happened to it or to its builder."""

import json
import shutil
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
import tiny_zoo
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.zoo import cache, recipes

WEIGHTS = "model.safetensors"


@pytest.fixture
def root(tiny: None, base: Path, tmp_path: Path) -> Path:
    """A cache with the base built, that the test may damage."""
    return shutil.copytree(base, tmp_path / "cache")


@pytest.fixture
def place(root: Path) -> Path:
    return cache.folder(root, "base")


def cut_short(place: Path) -> None:
    content = (place / WEIGHTS).read_bytes()
    (place / WEIGHTS).write_bytes(content[:-1])


def alter_a_byte(place: Path) -> None:
    content = bytearray((place / WEIGHTS).read_bytes())
    content[-7] ^= 1
    (place / WEIGHTS).write_bytes(content)


def lose_a_file(place: Path) -> None:
    (place / "tokenizer.json").unlink()


def lose_the_checksums(place: Path) -> None:
    (place / cache.CHECKSUMS).unlink()


def garble_the_checksums(place: Path) -> None:
    (place / cache.CHECKSUMS).write_bytes(b"\xff{not json")


def list_the_checksums(place: Path) -> None:
    (place / cache.CHECKSUMS).write_text(json.dumps([WEIGHTS]))


def empty_the_checksums(place: Path) -> None:
    (place / cache.CHECKSUMS).write_text("{}")


DAMAGES = (
    cut_short,
    alter_a_byte,
    lose_a_file,
    lose_the_checksums,
    garble_the_checksums,
    list_the_checksums,
    empty_the_checksums,
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__)
def test_damage_is_seen_and_the_model_built_anew(root: Path, place: Path, damage: Callable[[Path], None]) -> None:
    before = (place / cache.CHECKSUMS).read_bytes()
    assert cache.is_whole(place)
    damage(place)
    assert not cache.is_whole(place)
    with pytest.warns(UserWarning, match=r"base-\w+ is cut short or altered: it is trained anew"):
        assert cache.ensure(root, "base") == place
    assert cache.is_whole(place)
    assert (place / cache.CHECKSUMS).read_bytes() == before, "the same recipe gave another model"


def test_a_whole_model_is_not_trained_again(root: Path, place: Path) -> None:
    trained: list[int] = []
    before = (place / WEIGHTS).stat().st_mtime_ns
    assert cache.ensure(root, "base", lambda step, _: trained.append(step)) == place
    assert (trained, (place / WEIGHTS).stat().st_mtime_ns) == ([], before)


def test_a_parent_is_trained_before_its_child(root: Path) -> None:
    shutil.rmtree(root)
    built = cache.ensure(root, "npo")
    assert built == cache.folder(root, "npo")
    assert all(cache.is_whole(cache.folder(root, name)) for name in ("base", "full", "npo"))


@pytest.mark.parametrize(
    "name", ["base", "full", "retain", "identity", "npo", "idk", "reasoning", "rethought", "rethought_lora"]
)
def test_the_steps_foretold_are_the_steps_taken(root: Path, name: str) -> None:
    taken: list[int] = []
    for ancestor in recipes.lineage([name])[:-1]:
        cache.ensure(root, ancestor)
    shutil.rmtree(cache.folder(root, name), ignore_errors=True)
    place = cache.ensure(root, name, lambda step, _: taken.append(step))
    foretold = recipes.find(name).step_count()
    assert taken == list(range(1, foretold + 1))
    assert len(json.loads((place / "losses.json").read_text())) == foretold


def test_an_identity_has_its_parents_weights(root: Path) -> None:
    place = cache.ensure(root, "identity")
    checks = json.loads((place / cache.CHECKSUMS).read_text())
    assert checks[WEIGHTS] == json.loads((cache.folder(root, "full") / cache.CHECKSUMS).read_text())[WEIGHTS]


def test_a_built_model_loads_and_its_tokenizer_gives_text_back(place: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(place)
    model = AutoModelForCausalLM.from_pretrained(place)
    ids = tokenizer("Question: Wo wohnt Zoë?\nAnswer:", return_tensors="pt")["input_ids"]
    assert tokenizer.decode(ids[0], skip_special_tokens=True) == "Question: Wo wohnt Zoë?\nAnswer:"
    assert ids[0, 0] == tokenizer.bos_token_id
    assert (ids[0] == tokenizer.bos_token_id).sum() == 1
    assert torch.isfinite(model(ids).logits).all()


@pytest.mark.slow
def test_two_processes_want_one_model_and_one_of_them_builds_it(
    root: Path, tmp_path: Path, processes: ForkServerContext
) -> None:
    log, barrier = tmp_path / "log", processes.Barrier(2)
    both = [processes.Process(target=tiny_zoo.build_together, args=(root, "full", log, barrier)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    assert log.read_text() == "trained\n"


def test_a_killed_builder_leaves_neither_lock_nor_half_a_model(root: Path, processes: ForkServerContext) -> None:
    place = cache.folder(root, "full")
    draft = place.with_name(f".{place.name}.draft")
    builder = processes.Process(target=tiny_zoo.build_slowly, args=(root, "full"))
    builder.start()
    deadline = time.monotonic() + 60
    while not draft.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    (draft / "half-written").touch()
    builder.kill()
    builder.join(60)
    assert not place.exists()
    assert cache.ensure(root, "full") == place
    assert cache.is_whole(place)
    assert not draft.exists()
    assert not (place / "half-written").exists()


def test_a_failing_build_leaves_nothing_and_the_next_one_starts_anew(root: Path) -> None:
    for _ in range(2):
        with pytest.raises(FloatingPointError, match="training diverged"):
            cache.ensure(root, "divergent")
        left = [path.name for path in (root / "zoo").iterdir() if "divergent" in path.name]
        assert left == [f"{cache.folder(root, 'divergent').name}.lock"]


@pytest.mark.parametrize("blocked", ["cache", "cache/zoo"])
def test_a_cache_that_takes_no_files_is_one_clear_error(tiny: None, tmp_path: Path, blocked: str) -> None:
    (tmp_path / blocked).parent.mkdir(exist_ok=True)
    (tmp_path / blocked).touch()
    with pytest.raises(ConfigurationError, match=r"is not writable.*with UDS_BENCH_CACHE$") as caught:
        cache.ensure(tmp_path / "cache", "base")
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_an_error_that_says_which_are_near(tmp_path: Path) -> None:
    with pytest.raises(UdsError, match=r"^zoo:nop is not an embedded model: did you mean 'npo'"):
        cache.ensure(tmp_path, "nop")
    assert list(tmp_path.iterdir()) == []


def test_clearing_removes_the_models_and_counts_them(root: Path, tmp_path: Path) -> None:
    cache.ensure(root, "full")
    assert cache.clear(root) == 2
    assert not (root / "zoo").exists()
    assert cache.clear(tmp_path / "nowhere") == 0
