"""Waivers: permission, with a reason and an end, for a claim to miss or for a bound to be looser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field

from uds_bench.claims.spec import ClaimSpec
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.manifest.tables import Table, validate
from uds_bench.manifest.toml import TomlDocument, dotted, read_toml
from uds_bench.manifest.types import ClaimName, Reason


class WaiverTable(Table):
    """One `[[waiver]]` as written."""

    claim: ClaimName
    reason: Reason
    expires: date
    owner: str | None = None
    threshold: float | None = None


class WaiverFile(Table):
    """All that a waivers file may hold."""

    waiver: Annotated[tuple[WaiverTable, ...], Field(strict=False)] = ()


@dataclass(frozen=True)
class Waiver:
    """`claim` is the full name, with the subject if it has one; good through the day of `expires`.

    `threshold`: the loosest bound that the manifest may set, and the bound if it sets none; None `waives` any
    miss. `where` is file and line.
    """

    claim: str
    reason: str
    expires: date
    where: str
    owner: str | None = None
    threshold: float | None = None

    @property
    def waives(self) -> bool:
        """Whether a miss is forgiven; else the claim is held to the looser bound."""
        return self.threshold is None


class Waivers:
    """The waivers of a run, which remember those that a claim or a bound has made use of."""

    def __init__(self, waivers: Iterable[Waiver] = ()) -> None:
        self._by_claim = {waiver.claim: waiver for waiver in waivers}
        self._used: set[str] = set()

    def match(self, name: str) -> Waiver | None:
        """The waiver of exactly this claim, which now counts as used."""
        waiver = self.find(name)
        if waiver is not None:
            self._used.add(name)
        return waiver

    def find(self, name: str) -> Waiver | None:
        """As `match`, without counting as use."""
        return self._by_claim.get(name)

    def __iter__(self) -> Iterator[Waiver]:
        return iter(self._by_claim.values())

    def unused(self) -> tuple[Waiver, ...]:
        """Waivers that have matched nothing so far, in the order of the file."""
        return tuple(waiver for waiver in self if waiver.claim not in self._used)


def load_waivers(path: str | Path, today: date) -> Waivers:
    """Read a file of `[[waiver]]` tables.

    Raises ConfigurationError, in one line with file and line, for bad TOML, a key that is unknown, missing or
    of the wrong type, an empty reason, a waiver that expired before `today`, and a second one of a claim.
    """
    document = read_toml(path)
    waivers: dict[str, Waiver] = {}
    for index, table in enumerate(validate(WaiverFile, document).waiver):
        keys = ("waiver", index)
        waiver = Waiver(where=document.where(keys), **table.model_dump())
        if waiver.expires < today:
            raise document.error(
                (*keys, "expires"),
                f"the waiver of {waiver.claim} expired on {waiver.expires}: mend the claim and remove the "
                "waiver, or renew it with a reason that still holds",
            )
        if waiver.claim in waivers:
            first = waivers[waiver.claim].where
            raise document.error((*keys, "claim"), f"{waiver.claim} has a waiver already ({first}): keep one")
        waivers[waiver.claim] = waiver
    return Waivers(waivers.values())


def loosened(
    thresholds: Mapping[str, float],
    claims: Mapping[str, ClaimSpec],
    waivers: Waivers,
    document: TomlDocument | None = None,
) -> dict[str, float]:
    """The bounds in force.

    A threshold may be tighter than the default freely, and looser as far as a waiver of the same name allows. A
    waiver's own threshold holds where the manifest has none of that name. Waivers of a claim id count as used here,
    those of a subject when it is matched.

    Args:
        thresholds: The manifest's, by claim id or full name, each in the unit of its claim.
        claims: The table of all claims, by id; those that are no thresholds have no bound here.
        waivers: Of the run.
        document: The manifest's file, for what is said of a wrong threshold.

    Returns:
        By claim id the bound, and by full name (`depth.score[npo]`) where one subject has its own.

    Raises:
        ConfigurationError: A threshold is of no claim or looser than allowed, or a waiver's threshold loosens nothing.

    Example:
        >>> claims = {"depth.score": ClaimSpec("depth.score", "threshold", "erased deep enough", ">=", 0.7, "ours")}
        >>> loosened({"depth.score[npo]": 0.8}, claims, Waivers())
        {'depth.score': 0.7, 'depth.score[npo]': 0.8}
    """
    defaults = {id: spec for id, spec in claims.items() if spec.kind == "threshold"}
    bounds = {claim: default.bound for claim, default in defaults.items()}
    for name in looser_thresholds(thresholds, claims, document):
        _require_waiver(name, thresholds[name], defaults[_claim_id(name)], waivers, document)
    bounds |= thresholds
    for waiver in waivers:
        default = defaults.get(_claim_id(waiver.claim))
        if default is None or waiver.threshold is None or waiver.claim in thresholds:
            continue
        if not looser(waiver.threshold, default.bound, default.relation):
            raise ConfigurationError(
                f"{waiver.where}: threshold {waiver.threshold:g} of {waiver.claim} is no looser than the "
                f"default {_text(default)}: write it under [thresholds] of the manifest, without a waiver"
            )
        bounds[waiver.claim] = waiver.threshold
        _count_claim_id(waiver.claim, waivers)
    return bounds


def looser_thresholds(
    thresholds: Mapping[str, float], claims: Mapping[str, ClaimSpec], document: TomlDocument | None = None
) -> list[str]:
    """The thresholds that are looser than the default, so that a waiver must allow them.

    Args:
        thresholds: As `loosened` has them, as the claims and the file.
        claims: The table of all claims, by id.
        document: The manifest's file.

    Raises:
        ConfigurationError: One is of no claim that takes a threshold.

    Example:
        >>> claims = {"depth.score": ClaimSpec("depth.score", "threshold", "erased deep enough", ">=", 0.7, "ours")}
        >>> looser_thresholds({"depth.score[npo]": 0.8, "depth.score": 0.1}, claims)
        ['depth.score']
    """
    defaults, found = {id: spec for id, spec in claims.items() if spec.kind == "threshold"}, []
    for name, value in thresholds.items():
        default = defaults.get(_claim_id(name))
        if default is None:
            raise _error(document, name, _takes_none(_claim_id(name), claims, defaults))
        if looser(value, default.bound, default.relation):
            found.append(name)
    return found


def _takes_none(claim: str, claims: Mapping[str, ClaimSpec], defaults: Iterable[str]) -> str:
    if claim in claims:
        kind = claims[claim].kind
        return f"{claim} is {'an' if kind[0] in 'aeio' else 'a'} {kind} claim, which takes no bound: remove the line"
    return f"no claim {claim!r} takes a threshold: {did_you_mean(claim, defaults)}"


def _require_waiver(
    name: str, value: float, default: ClaimSpec, waivers: Waivers, document: TomlDocument | None
) -> None:
    waiver = waivers.find(name)
    if waiver is None:
        raise _error(
            document,
            name,
            f"{value:g} is looser than the default {_text(default)}: tighten it, or add a [[waiver]] with "
            f'claim = "{name}", reason and expires to the file of --uds-waivers',
        )
    if waiver.threshold is not None and looser(value, waiver.threshold, default.relation):
        raise _error(
            document,
            name,
            f"{value:g} is looser than {waiver.threshold:g}, which its waiver allows ({waiver.where}; "
            f"default {_text(default)}): tighten it, or change the waiver",
        )
    _count_claim_id(name, waivers)


def _count_claim_id(name: str, waivers: Waivers) -> None:
    """Count a waiver of a bare claim id as used: with subjects no decided claim has that id."""
    if name == _claim_id(name):
        waivers.match(name)


def _claim_id(name: str) -> str:
    return name.partition("[")[0]


def looser(value: float, than: float, relation: str) -> bool:
    """Whether a bound lets more pass than another one."""
    return value < than if relation.startswith(">") else value > than


def _text(default: ClaimSpec) -> str:
    return f"{default.relation} {default.bound:g}"


def _error(document: TomlDocument | None, name: str, problem: str) -> ConfigurationError:
    keys = ("thresholds", name)
    return ConfigurationError(f"{dotted(keys)}: {problem}") if document is None else document.error(keys, problem)
