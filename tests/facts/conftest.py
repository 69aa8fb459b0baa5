"""Tokenizers of all kinds, a small TOFU, and the folder of public data where there is one."""

import os
from pathlib import Path

import pytest
from tofu_files import perturbed, tofu_rows, write_rows
from trained_tokenizers import TOKENIZERS
from transformers import PreTrainedTokenizerFast

from uds_bench.children import Child
from uds_bench.facts import letters, name_matching, shown

RENDERER = Child("uds_bench.facts.rendering:render", 60)


@pytest.fixture(autouse=True)
def one_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process renders all templates of these tests: each has its own elsewhere, which takes a second to start."""
    monkeypatch.setattr("uds_bench.facts.chat._renderer", lambda template: RENDERER)


@pytest.fixture(params=sorted(TOKENIZERS), ids="-".join)
def tokenizer(request: pytest.FixtureRequest) -> PreTrainedTokenizerFast:
    return TOKENIZERS[request.param]


@pytest.fixture
def tofu_folder(tmp_path: Path) -> Path:
    """A TOFU of 40 forget, 60 retain (20 of them perturbed) and 20 holdout rows."""
    folder = tmp_path / "tofu"
    forget, retain = tofu_rows("Orvo", 40), tofu_rows("Ulva", 60)
    write_rows(folder / "forget10.json", forget)
    write_rows(folder / "forget10_perturbed.json", perturbed(forget))
    write_rows(folder / "retain90.json", retain)
    write_rows(folder / "retain_perturbed.json", perturbed(retain[20:40]))
    write_rows(folder / "holdout10.json", tofu_rows("Imra", 20))
    return folder


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder named by UDS_BENCH_DATA, which holds TOFU in `tofu/` and the UDS authors' list in `uds/`."""
    if "UDS_BENCH_DATA" not in os.environ:
        pytest.skip("not applicable: UDS_BENCH_DATA does not name a folder with tofu/ and uds/")
    return Path(os.environ["UDS_BENCH_DATA"])


@pytest.fixture(autouse=True)
def read_anew() -> None:
    """Nothing is remembered of texts that another test read, maybe by other code."""
    for module in (letters, shown, name_matching):
        for one in vars(module).values():
            if hasattr(one, "cache_clear"):
                one.cache_clear()
