"""A card as an in-toto statement, which sigstore and others sign and policies read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uds_bench.attacks import NONE
from uds_bench.cards.card import Card, Result, result_of
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.run_report import RunReport
from uds_bench.storage import content_key

TYPE = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
RESULTS: dict[str, Result] = {"passedTests": "PASSED", "warnedTests": "WARNED", "failedTests": "FAILED"}
CLAIM = "evidence of an evaluation, not of compliance with any law"


def statement(card: Card, run: RunReport, files: Mapping[str, str], report: tuple[str, str]) -> dict[str, Any]:
    """What was tested, and what it came to; no message, as messages name people.

    Args:
        card: Of one candidate.
        run: The run that judged it.
        files: SHA-256 (hex) by file of the candidate: what the statement is about.
        report: The run report's name, and its SHA-256 (hex).

    Returns:
        An in-toto Statement v1 with the predicate test-result v0.1. Numbers stand as annotations of the run report.

    Source: in-toto attestation framework, Statement v1 and test-result v0.1.
    """
    return {
        "_type": TYPE,
        "subject": [_described(*file) for file in sorted(files.items())],
        "predicateType": PREDICATE,
        "predicate": {
            "result": card.result,
            "configuration": [{**_described(*report), "annotations": _annotations(card, run)}],
            **{key: card.named(result) for key, result in RESULTS.items()},
        },
    }


def _described(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


def _annotations(card: Card, run: RunReport) -> dict[str, Any]:
    return {
        "meaning": CLAIM,
        "candidate": card.candidate,
        "evidence": sorted({one.evidence for one in card.claims if one.evidence}),
        "asked": scope(card, run),
        "loaded": loaded(card),
        "attacks": {attack: {one.name: result_of(one) for one in claims} for attack, claims in withstood(card).items()},
        "claims": [_claim(one) for one in (*card.claims, *card.basis)],
        "untested": list(card.untested),
        "problems": len(card.problems),
        "manifest": run.manifest.digest,
        "scores": _scores(run),
        "command": command(run),
        "started": run.started,
        "versions": {run.tool.name: run.tool.version, **run.environment},
    }


def scope(card: Card, run: RunReport) -> dict[str, Any]:
    """What was to be forgotten, and over how many people or facts intervals are. Facts are named by a digest that the
    run report's salt goes into: without it whoever guesses one person's facts could see that he is right."""
    known = {str(one.provenance["facts"]) for one in card.claims if one.provenance.get("facts")}
    digests = sorted(content_key([run.salt, digest]) for digest in known)
    units: dict[str, list[int]] = {}
    for one in card.claims:
        if one.interval is not None:
            units[one.unit] = sorted({*units.get(one.unit, ()), one.interval.units})
    counted = {f"{one.metric}[{one.variant}]": one.n_planned for one in run.scores if one.checkpoint == card.candidate}
    return {"facts": digests, "units": units, "items": counted}


def loaded(card: Card) -> list[str]:
    """How the candidate was loaded where no attack was on it: the file that is shipped may be loaded otherwise.

    Example:
        >>> from uds_bench.verdicts import Verdict
        >>> made = {"attack": "none", "dtype": "float32", "quantization": "nf4"}
        >>> one = ClaimRecord("depth.score", "npo", "threshold", Verdict.PASS, "", provenance=made)
        >>> loaded(Card("npo", (one,), (), (), ()))
        ['float32, quantized by nf4']
    """
    told = [one.provenance for one in card.claims if one.provenance.get("attack") == NONE]
    return sorted(
        {
            str(one["dtype"]) + (f", quantized by {one['quantization']}" if one.get("quantization") else "")
            for one in told
            if one.get("dtype")
        }
    )


def withstood(card: Card) -> dict[str, list[ClaimRecord]]:
    """By attack, the claims about the attacked candidate.

    Example:
        >>> from uds_bench.verdicts import Verdict
        >>> under = {"attack": "nf4"}
        >>> one = ClaimRecord("depth.withstands.nf4", "npo", "threshold", Verdict.PASS, "", provenance=under)
        >>> found = withstood(Card("npo", (one,), (), (), ()))
        >>> [(attack, [one.name for one in claims]) for attack, claims in found.items()]
        [('nf4', ['depth.withstands.nf4[npo]'])]
    """
    found: dict[str, list[ClaimRecord]] = {}
    for one in card.claims:
        if (attack := one.provenance.get("attack", NONE)) != NONE:
            found.setdefault(str(attack), []).append(one)
    return found


def command(run: RunReport) -> str:
    """What judges the same manifest again, seen from its folder."""
    return f"pytest suites/ --uds-manifest {shlex.quote(Path(run.manifest.path).name)}"


def _scores(run: RunReport) -> str:
    """A digest of every number of the run, and of what each is of; salted, as facts are among it."""
    rows = [[*one.address, one.value, one.provenance.get("cell")] for one in run.scores]
    return content_key([run.salt, sorted(rows, key=str)])


def _claim(record: ClaimRecord) -> dict[str, Any]:
    row = record.to_json()
    keys = ("name", "statement", "status", "cause", "observed", "interval", "unit", "bound", "shortfall")
    held = [control.held for control in record.controls]
    return {
        **{key: row[key] for key in keys},
        "result": result_of(record),
        "controls": {"held": sum(held), "of": len(held)},
    }
