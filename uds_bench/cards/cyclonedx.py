"""A card as a CycloneDX bill of materials, which inventories of software and models read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uds_bench.cards.card import Card, in_words
from uds_bench.cards.statement import CLAIM
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.run_report import RunReport

VERSION = "1.6"


def cyclonedx(card: Card, run: RunReport, files: Mapping[str, str]) -> dict[str, Any]:
    """The candidate as a machine-learning model with its files, and what was measured of it in its model card.

    Args:
        card: Of one candidate.
        run: The run that judged it.
        files: SHA-256 (hex) by file of the candidate.

    Returns:
        A CycloneDX BOM. What claims came to stands in properties, as a performance metric has no verdict.

    Source: CycloneDX 1.6, modelCard.
    """
    said = {"meaning": CLAIM, "result": card.result}
    said |= {f"claim:{one.name}": in_words(one) for one in (*card.claims, *card.basis)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": VERSION,
        "version": 1,
        "metadata": {
            "timestamp": run.started,
            "tools": {"components": [{"type": "application", "name": run.tool.name, "version": run.tool.version}]},
        },
        "components": [
            {
                "type": "machine-learning-model",
                "name": card.candidate,
                "components": [
                    {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": sha}]}
                    for name, sha in sorted(files.items())
                ],
                "externalReferences": [{"type": "attestation", "url": "card.json"}],
                "modelCard": {
                    "quantitativeAnalysis": {"performanceMetrics": [_metric(one) for one in card.measured]},
                    "considerations": {"technicalLimitations": [f"not tested: {one}" for one in card.untested]},
                    "properties": [{"name": f"{run.tool.name}:{key}", "value": text} for key, text in said.items()],
                },
            }
        ],
    }


def _metric(record: ClaimRecord) -> dict[str, Any]:
    found: dict[str, Any] = {"type": record.id, "value": str(record.observed)}
    if (interval := record.interval) is not None:
        found["slice"] = f"{interval.units} {record.unit}".strip()
        found["confidenceInterval"] = {"lowerBound": str(interval.low), "upperBound": str(interval.high)}
    return found
