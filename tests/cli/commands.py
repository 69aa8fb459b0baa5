"""What the fixtures are that run `uds-bench`, and how a test edits what it wrote."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]
Refused = Callable[..., str]


def edited(path: Path, change: Callable[[Any], None]) -> None:
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
