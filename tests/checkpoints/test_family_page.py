"""The page on model families: a wrong row is left unused, and what it says of refusals is what the code says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from families import LAYERS, WIDTH, save_checkpoint, tiny_tokenizer

from uds_bench.checkpoints import anatomy, probe
from uds_bench.errors import CheckpointError

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "family.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def unlisted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder, with a model of a family that has no row of its own."""
    sizes = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 4, "n_positions": 256}
    torch.manual_seed(0)
    config = transformers.GPTBigCodeConfig(vocab_size=len(tiny_tokenizer()), **sizes)
    model = transformers.GPTBigCodeForCausalLM(config).eval()
    save_checkpoint(tmp_path / "runs" / "full", model, tiny_tokenizer())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(anatomy, "LAYOUTS", dict(anatomy.LAYOUTS))


@pytest.mark.usefixtures("unlisted")
def test_a_wrong_row_is_left_unused() -> None:
    known: dict[str, Any] = {}
    look, add = BLOCKS
    exec(look, known)
    wrong = add.replace('attention="attn"', 'attention="ln_1"')
    with pytest.raises(CheckpointError, match="its blocks add something other"):
        exec(wrong, known)


def test_refusals_are_those_of_the_code() -> None:
    told = re.findall(r"^\| `(.+?)` \|", PAGE, flags=re.MULTILINE)
    source = "".join(Path(str(module.__file__)).read_text() for module in (anatomy, probe))
    assert len(told) == 6
    assert [line for line in told if line not in source] == []
