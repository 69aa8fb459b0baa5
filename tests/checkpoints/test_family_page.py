"""The page on model families: what it says of refusals is what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from uds_bench.checkpoints import anatomy, probe

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "family.md").read_text()


def test_refusals_are_those_of_the_code() -> None:
    told = re.findall(r"^\| `(.+?)` \|", PAGE, flags=re.MULTILINE)
    source = "".join(Path(str(module.__file__)).read_text() for module in (anatomy, probe))
    assert len(told) == 7
    assert [line for line in told if line not in source] == []
