"""The record of the default run: each of its claims with bound, numbers and controls.

It is kept so that no claim goes missing, or is decided by less than before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from uds_bench.claims.claim import Claim, ControlSubject
from uds_bench.claims.goldens import Goldens
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.rules import Rules
from uds_bench.claims.spec import TOLERANCE, ClaimSpec
from uds_bench.claims.waivers import Waivers
from uds_bench.errors import ConfigurationError
from uds_bench.json_values import finite
from uds_bench.statistics import Interval
from uds_bench.storage import load_json, read_text, write_json
from uds_bench.verdicts import Cause, Flag, Verdict

FILE = "default.json"
SCHEMA = 1
MEND = "restore it, or record it anew by --uds-record"


def entry(record: ClaimRecord) -> dict[str, Any]:
    """The recorded part of a claim: numbers and names of controls, without the words around them."""
    found = record.interval
    interval = None if found is None else [found.low, found.high, found.units]
    controls = [[control.name, control.must, control.verdict, control.observed] for control in record.controls]
    golden = record.golden.get("status", "none") != "none"
    row = {"verdict": record.status, "observed": record.observed, "interval": interval, "bound": record.bound.value}
    plain: dict[str, Any] = finite({**row, "golden": golden, "controls": controls})
    return plain


def read_gate(folder: Path) -> dict[str, Any]:
    """What was recorded. Raises ConfigurationError, in a line, where it cannot be read."""
    path = folder / FILE
    try:
        document: dict[str, Any] = load_json(read_text(path))
        if document["schema"] != SCHEMA or not document["claims"] or not document["of"]:
            raise ValueError("another schema, or no claim")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror}): {MEND}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path} does not say what the default run comes to ({error}): {MEND}") from None
    return document


def write_gate(folder: Path, of: Mapping[str, str], records: Iterable[ClaimRecord], goldens: Iterable[str]) -> None:
    """Record what a whole, green default run came to.

    Args:
        folder: Where the record is kept.
        of: Digests of what the run judged.
        records: Its claims.
        goldens: Claims that have a golden from now on.
    """
    claims, named = {}, set(goldens)
    for record in records:
        claims[record.name] = row = entry(record) | {"golden": record.name in named}
        if record.kind == "golden" and row["golden"]:
            row["verdict"] = Verdict.PASS.value  # which its golden decides, and the next run has it
    write_json(folder / FILE, {"schema": SCHEMA, "of": dict(of), "claims": dict(sorted(claims.items()))})


def departures(gate: Mapping[str, Any], of: Mapping[str, str], records: Iterable[ClaimRecord]) -> list[str]:
    """Where a default run differs from the recorded one, a line each; claims that were not asked for do not count."""
    told = [f"{what} differs from that of {FILE}: {MEND}" for what in of if of[what] != gate["of"].get(what)]
    for record in records:
        if record.outcome is None and not record.is_good:
            continue  # it is red already and says why; nothing came out that could be as recorded
        known = gate["claims"].get(record.name)
        if known is None:
            told.append(f"{record.name} is no claim of the recorded default run: {MEND}")
        elif differs := list(_differences(known, entry(record))):
            told.append(f"{record.name}: {', '.join(differs)} not as recorded: look into it, then record it anew")
    return told


def _differences(known: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """What differs; what was not recorded differs too."""
    for key, value in found.items():
        if key not in known or not alike(known[key], value, TOLERANCE):
            yield key


def alike(a: Any, b: Any, tolerance: float) -> bool:
    """Equal; numbers within a tolerance, in lists too."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(alike(one, other, tolerance) for one, other in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, int | float) and not isinstance(b, bool):
        return math.isclose(a, b, rel_tol=0, abs_tol=tolerance)
    return bool(a == b)


def judge_the_judge() -> list[str]:
    """Puts made-up decisions through the rules of a run: a line for each that does not come out as it must."""
    spec = ClaimSpec("gate.judge", "threshold", "A made-up number is held against its bound.", ">=", 0.7, "ours")
    declared = {"gate.judge[made]": "pass"}
    told = []
    for what, wanted, value, control, golden in (
        ("a control that misses", Cause.CONTROL, 0.9, 0.9, None),
        ("a value far from its golden", Cause.DRIFTED, 0.9, 0.1, 0.8),
        ("a specimen that must pass and fails", Verdict.FAIL, 0.1, 0.1, None),
        ("a specimen that must pass and does", Flag.CLEARED, 0.9, 0.1, None),
    ):
        goldens = Goldens({} if golden is None else {"gate.judge[made]": {"value": golden}})
        rules = Rules({spec.id: spec}, {}, frozenset(), {}, Waivers(), goldens, "made up", str, declared)
        claim = Claim(spec.id, "made", "made", rules)
        around, beside = (Interval(number - 0.05, number + 0.05, "made up", 20) for number in (value, control))
        with suppress(pytest.fail.Exception):
            claim.measured(value, around, controls=[ControlSubject("knows", "fail", control, beside)])
        record = claim.record
        found = None if record is None else record.flag or record.cause or record.verdict
        if found is not wanted:
            told.append(f"the judge takes {what} for {found}: its verdicts mean nothing")
    return told
