"""The published tables, as they are copied into the goldens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "goldens" / "published"


def read(name: str) -> dict[str, Any]:
    """A copied table by its name."""
    document: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return document
