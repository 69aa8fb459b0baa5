"""Patterns that an adapter's configuration holds, matched as PEFT matches them: in a process of its own."""

import re
from collections.abc import Iterable
from typing import Any

FORMS = ("{}", r"(.*\.)?({})$", r"(^|.*\.){}($|\..*)", r".*\.{}$")
"""How PEFT puts a pattern together with what may stand around it."""
REPEATS = frozenset("*+{?")


def patterns(said: Any) -> Iterable[str]:
    """Every text in a configuration, keys too, that a match could take long for."""
    if isinstance(said, dict):
        said = [*said, *said.values()]
    if isinstance(said, list):
        for one in said:
            yield from patterns(one)
    elif isinstance(said, str) and not REPEATS.isdisjoint(said):
        yield said


def match(given: list[str], names: list[str]) -> int:
    """How many matches there are; the call is made for the time that it takes.

    Args:
        given: Patterns; what is no pattern is passed over, for PEFT to refuse.
        names: Of a model's modules and parameters.

    Returns:
        Matches over all patterns, names and `FORMS`, a match from the start and one of the whole name counted apart.

    Example:
        >>> match(["q_proj"], ["layers.0.q_proj", "layers.0.k_proj"])
        6
    """
    count = 0
    for pattern in given:
        for form in FORMS:
            try:
                found = re.compile(form.format(pattern))
            except re.error:
                continue
            count += sum(found.match(name) is not None for name in names)
            count += sum(found.fullmatch(name) is not None for name in names)
    return count
