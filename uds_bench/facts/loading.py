"""One door to all fact sources."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from uds_bench.errors import FactError
from uds_bench.facts import authors, tofu
from uds_bench.facts.chat import DATE
from uds_bench.facts.fact import Fact, FactSet, read_facts, require_forget
from uds_bench.facts.name_matching import normalized

ACCEPTED = (
    '"authors" (invented, built in), "tofu/forget10" (hub), a folder with TOFU\'s JSON files, '
    "a .jsonl of facts, or a .json list of annotated TOFU items"
)


def load_facts(source: str | Path, date_string: str = DATE, **options: Any) -> FactSet:
    """The facts of a source, of which at least one is to be forgotten; of any source `FactSet.date_string`.

    | source | read by | options |
    |---|---|---|
    | `authors` | `authors.embedded` | `forget`, `retain`, `holdout`, `seed` |
    | `tofu/<forget>` | `tofu.load_tofu` | its parameters but `folder` and `forget` |
    | a folder | `tofu.load_tofu` | its parameters but `folder` |
    | a `.jsonl` | `fact.read_facts` | none |
    | a `.json` | `tofu.load_annotated` | `forget` |

    Raises FactError for an unknown source or option, and for facts that cannot be used.
    """
    load = _loader(str(source))
    known = inspect.signature(load).parameters  # those that are not bound yet
    if unknown := options.keys() - known.keys():
        accepted = ", ".join(known) or "none"
        raise FactError(f"{source}: option {min(unknown)!r} is unknown; this source takes {accepted}")
    facts = require_distinct(require_forget(load(**options), str(source)), str(source))
    return FactSet(facts, facts.unannotated, date_string)


def require_distinct(facts: FactSet, source: str) -> FactSet:
    """`facts` itself, or FactError where two people of a split have the same fact.

    People are what intervals resample: one whose facts stand there again under another id and cluster would make an
    interval narrower than what is known.
    """
    known: dict[tuple[str, ...], Fact] = {}
    for fact in facts:
        said = (fact.split, *(normalized(text) for text in (fact.question, fact.answer)))
        before = known.setdefault(said, fact)
        if before.cluster != fact.cluster:
            raise FactError(
                f"{source}: facts {before.id!r} and {fact.id!r} say the same of the clusters {before.cluster!r} and "
                f"{fact.cluster!r}: give both one cluster, or leave one out"
            )
    return facts


def _loader(source: str) -> Callable[..., FactSet]:
    path = Path(source)
    if source == "authors":
        return authors.embedded
    if path.is_dir():
        return partial(tofu.load_tofu, path)
    if path.suffix == ".jsonl":
        return partial(read_facts, path)
    if path.suffix == ".json":
        return partial(tofu.load_annotated, path)
    if source.startswith("tofu/"):
        return partial(tofu.load_tofu, None, source.removeprefix("tofu/"))
    raise FactError(f"facts source {source!r} is unknown; give {ACCEPTED}")
