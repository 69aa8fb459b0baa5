"""Names of people whom nobody means, of the script and the shape of somebody's: strangers to hold a person against."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

from uds_bench.errors import FactError
from uds_bench.facts.records import embedded_toml, read_text
from uds_bench.facts.scripts import script_of


def read_names(path: str | Path) -> tuple[str, ...]:
    """Names from a file, one a line. Raises FactError for a file that has none, and for one that is there twice."""
    names = [line.strip() for line in read_text(Path(path)).splitlines() if line.strip()]
    if not names:
        raise FactError(f"{path}: is empty; it needs names, one a line")
    if twice := [one for one in names if names.count(one) > 1]:
        raise FactError(f"{path}: has {twice[0]!r} twice; keep one")
    return tuple(names)


def names_like(name: str, count: int, own: Sequence[str] = ()) -> tuple[str, ...]:
    """Up to `count` names of a name's script with as many parts, or letters where names have no parts, as it has.

    None has a part of it. Those of `own` that are of the script come first; the same name has the same ones.

    Args:
        name: Whose strangers are named.
        count: How many are wanted.
        own: Names that the user has listed.

    Returns:
        Different names; fewer where the script has no more, and none of a script that is not listed.

    Example:
        >>> len(names_like("李明", 200)), {len(one) for one in names_like("李明", 200)}
        (200, {2})
        >>> names_like("ሀና", 5), names_like("ሀና", 5, ["ለማ"])
        ((), ('ለማ',))
    """
    script, parts = script_of(name), set(name.split())
    generator = random.Random(f"names {name}")
    found = [one for one in dict.fromkeys(own) if script_of(one) == script and not parts & set(one.split())]
    generator.shuffle(found)
    if len(found) < count:
        taken = {name, *found}
        found += [one for one in _composed(name, script, count + len(taken), generator) if one not in taken]
    return tuple(found[:count])


def _composed(name: str, script: str, count: int, generator: random.Random) -> list[str]:
    stock = embedded_toml("names.toml").get(script)
    if stock is None:
        return []
    spaced = bool(stock["between"])
    parts = name.split() if spaced else [sign for sign in name if sign.isalpha()]
    given, family = ([one for one in stock[key].split() if one not in parts] for key in ("given", "family"))
    pools = [given] * len(parts)
    pools[0 if "first" in stock else -1] = family if len(parts) > 1 else list(dict.fromkeys([*given, *family]))
    places = generator.sample(range(total := math.prod(map(len, pools))), min(count, total))
    return [_written(name, _chosen(pools, place), spaced) for place in places]


def _chosen(pools: Sequence[Sequence[str]], place: int) -> list[str]:
    """One of each pool: the combination at a place of all of them."""
    chosen = []
    for pool in pools:
        place, at = divmod(place, len(pool))
        chosen.append(pool[at])
    return chosen


def _written(name: str, chosen: list[str], spaced: bool) -> str:
    """Parts as a name is written: in its case, or with all that is no letter of it where it stands."""
    if spaced:
        text = " ".join(chosen)
        return text.upper() if name.isupper() else text.lower() if name.islower() else text
    letters = iter(chosen)
    return "".join(next(letters) if sign.isalpha() else sign for sign in name)
