"""Compares a run with what the suites decide now on the same manifest: a report can be written by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from uds_bench.audits import registry
from uds_bench.claims.default_run import alike, entry
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.spec import TOLERANCE
from uds_bench.claims.suite_claims import suites
from uds_bench.verdicts import Flag, Verdict

if TYPE_CHECKING:
    from uds_bench.cards.card import Card
    from uds_bench.manifest.manifest import Manifest

HELD = ("checkpoint", "facts", "attack", "dtype", "quantization")
"""Of a claim's provenance, what the card says of the model that was judged."""
WITHIN = ("equivalence", "identity")
"""Kinds whose bound is how far off a value may be."""


def files_of(claims: Iterable[ClaimRecord]) -> list[str]:
    """The names of the suites' files that decided claims of an audit, in order; nothing else that a report names."""
    ours, known = registry.claims(), {file.name for file in suites().glob("test_*.py")}
    return sorted(known & {one.node.partition("::")[0].rpartition("/")[2] for one in claims if one.id in ours})


def departures(run: Iterable[ClaimRecord], again: Iterable[ClaimRecord]) -> Iterator[str]:
    """The claims that come out otherwise now, a line each; claims of a user's own tests are left out.

    Args:
        run: The claims of a report.
        again: The same, decided anew.
    """
    ours = registry.claims()
    before, now = ({one.name: one for one in side if one.id in ours} for side in (run, again))
    for name in {**now, **before}:
        if name not in before:
            yield f"{name}: the run lacks it, and it comes out {now[name].status}"
        elif name not in now:
            yield f"{name}: `pytest suites/` decides no such claim"
        else:
            then, anew = entry(before[name]), entry(now[name])
            told, tells = ({**one.provenance} for one in (before[name], now[name]))
            then, anew = then | {key: told.get(key) for key in HELD}, anew | {key: tells.get(key) for key in HELD}
            if differs := [key for key in then if not alike(then[key], anew[key], TOLERANCE)]:
                yield f"{name}: {', '.join(differs)} not as decided now, which is {now[name].spelled(str)}"


def unlike_rules(card: Card, manifest: Manifest) -> Iterator[str]:
    """Where a card's passes do not follow from the table of claims and from the manifest, a line each.

    Args:
        card: Of one candidate.
        manifest: Of its run, as it is now.
    """
    for one in (*card.claims, *card.basis):
        spec = registry.claims().get(one.id)
        missed = [control.name for control in one.controls if not control.held]
        if one.flag is Flag.DECLARED and one.name not in manifest.expect:
            yield f"{one.name}: is declared, and the manifest's [expect] does not say so"
        if one.verdict is not Verdict.PASS or spec is None:
            continue
        if one.kind != spec.kind:
            yield f"{one.name}: passes as a claim of the kind {one.kind}, and is of the kind {spec.kind}"
        if missed:
            yield f"{one.name}: passes though the control {missed[0]} missed"
        if spec.needs_control and not one.controls:
            yield f"{one.name}: passes without a control, and needs {spec.must_fail}"
        if spec.kind in ("threshold", *WITHIN) and (why := _loosened(one, manifest)):
            yield f"{one.name}: {why}"


def _loosened(one: ClaimRecord, manifest: Manifest) -> str:
    """What is wrong with a bound that is looser than the manifest's or the claim's own; "" if nothing is.

    Pools may set a looser bound: then all of their models that must fail lie beyond it.
    """
    spec = registry.claims()[one.id]
    if spec.kind in WITHIN:
        is_within = one.bound.value is not None and one.bound.value <= spec.bound
        return "" if is_within else f"needs {one.needs or 'nothing'}, and the claim needs {spec.bound:g} at most"
    value, sign = one.bound.value, 1 if spec.relation.startswith(">") else -1
    given = manifest.threshold(one.id, one.subject, spec.bound)
    known = sign * max(sign * given, sign * spec.bound)  # what a waiver loosens does not pass, it is waived
    if value is None or one.bound.relation != spec.read_by:
        return f"needs {one.needs or 'nothing'}, and the claim needs {spec.relation} {spec.bound:g}"
    if sign * (value - known) >= 0:
        return ""
    failing = [each.observed for each in one.controls if each.must == "fail" and each.observed is not None]
    if failing and all(sign * (value - observed) > 0 for observed in failing):
        return ""
    return f"needs {one.needs}, looser than {spec.relation} {known:g}, and no pool says so"
