"""The settings of a manifest that are not the defaults, in words: a verdict is read together with its settings."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from uds_bench.manifest.section import Section
from uds_bench.manifest.tables import Table
from uds_bench.manifest.toml import dotted
from uds_bench.manifest.types import Located

ATTACKS = "attacks"


def told(sections: Iterable[Section], attack: Callable[[str], Mapping[str, Any]]) -> list[str]:
    """Every number, choice and text that is not the default, each with its default behind it.

    Args:
        sections: What a manifest says to each audit. Models and files are no settings: a card names those by content.
        attack: The settings that an attack has by itself, by its name.

    Returns:
        `key = value (default)`, in the order of the sections. Of a text the length alone is told, as it may name
        people.

    Example:
        >>> from uds_bench.manifest.attack_tables import Relearn
        >>> class Mine(Section):
        ...     NAME = "mine"
        ...     samples: int = 4
        ...     system: str = ""
        ...     attacks: dict[str, Relearn] = {}
        >>> mine = Mine(samples=0, system="You know nobody.", attacks={"relearn": Relearn(lr=1e-9)})
        >>> told([Mine(samples=4)], dict)
        []
        >>> told([mine], lambda name: {"lr": 2e-5})
        ['mine.samples = 0 (4)', 'mine.system = a text of 16 characters', 'mine.attacks.relearn.lr = 1e-09 (2e-05)']
    """
    found = []
    for section in sections:
        models = {*section.judged(), *section.checkpoints()}
        place = () if section.INLINE else (section.NAME,)
        found += [f"{key} = {text}" for key, value, text in _of(section, place, attack) if not _are(value, models)]
    return found


def _of(
    table: Table, place: tuple[str, ...], attack: Callable[[str], Mapping[str, Any]]
) -> Iterator[tuple[str, Any, str]]:
    own = attack(str(place[-1])) if len(place) > 1 and place[-2] == ATTACKS else {}
    for name, field in type(table).model_fields.items():
        value, default = getattr(table, name), field.get_default(call_default_factory=True)
        inner = value if isinstance(value, Mapping) else {}
        if isinstance(value, Table):
            yield from _of(value, (*place, name), attack)
        elif inner and all(isinstance(one, Table) for one in inner.values()):
            for key, one in inner.items():
                yield from _of(one, (*place, name, key), attack)
        elif not (field.is_required() or _is_place(field)) and value != default and _is_set(value):
            otherwise = own.get(name, default)
            known = _choices(field.annotation)
            behind = f" ({_shown(otherwise, known)})" if otherwise not in (None, "", (), {}) else ""
            yield dotted((*place, name)), value, f"{_shown(value, known)}{behind}"


def _are(value: Any, models: Container[str]) -> bool:
    """Whether a value names models: which models are controls is no setting."""
    return isinstance(value, tuple) and all(one in models for one in value)


def _is_set(value: Any) -> bool:
    """Whether a value is a setting: no model, nothing that is left to another."""
    if isinstance(value, Mapping):
        return any(map(_is_set, value.values()))
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_is_set, value))
    return isinstance(value, int | float | str)


def _is_place(field: FieldInfo) -> bool:
    """Whether a key names a place, whatever stands there: a text of any other key is a setting."""
    return any(isinstance(one, Located) for one in (*field.metadata, *_parts(field.annotation)))


def _parts(kind: Any) -> Iterator[Any]:
    """A type, and all that it is made of."""
    yield kind
    for one in get_args(kind):
        yield from _parts(one)


def _choices(kind: Any) -> set[Any]:
    """The words that a key chooses from, if it has a choice."""
    return {word for one in _parts(kind) if get_origin(one) is Literal for word in get_args(one)}


def _shown(value: Any, known: Container[Any]) -> str:
    """Numbers and choices as they are; of a text, which may name people, how long it is."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(one, known)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        hidden = [one for one in value if isinstance(one, str) and one not in known]
        return f"{len(value)} texts" if hidden else ", ".join(_shown(one, known) for one in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value in known else f"a text of {len(value)} characters"
    return f"{value:g}"
