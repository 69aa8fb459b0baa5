"""What the fixtures are that run `uds-bench`."""

from collections.abc import Callable
from typing import Any

Command = Callable[..., Any]
Refused = Callable[..., str]
