"""A card as a record of Every Eval Ever, a shared collection of evaluations of language models."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from uds_bench.cards.card import Card, in_words, result_of
from uds_bench.cards.statement import CLAIM, scope
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.run_report import RunReport

SCHEMA = "0.3.0"
UNKNOWN = "unknown"


def every_eval(card: Card, run: RunReport, files: Mapping[str, str]) -> dict[str, Any]:
    """What was measured of the candidate. First comes how many of its claims do not hold, as some come to no number.

    Left out are numbers of which neither higher nor lower is better, such as a difference that must be near 0.

    Args:
        card: Of one candidate.
        run: The run that judged it.
        files: SHA-256 (hex) by file of the candidate.

    Returns:
        A record. Who ran it is unknown to a run report: whoever hands it in fills that in.

    Source: every-eval-ever 0.3.0, eval.schema.json.
    """
    made = str(int(datetime.fromisoformat(run.started).timestamp()))
    facts = {"dataset_name": " ".join(["facts", *scope(card, run)["facts"]]), "source_type": "other"}
    failed = card.named("FAILED")
    whole = {
        "evaluation_name": f"{run.tool.name}.result",
        "metric_config": {
            "evaluation_description": "claims that do not hold, of the candidate and of what its verdict rests on",
            "lower_is_better": True,
        },
        "score_details": {
            "score": len(failed),
            "details": {"result": card.result, "failed": " ".join(failed), "problems": str(len(card.problems))},
        },
    }
    told = [whole, *(_result(one) for one in card.measured if one.bound.relation[:1] in ("<", ">"))]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{run.tool.name}/{card.candidate}/{made}",
        "evaluation_timestamp": run.started,
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": run.tool.name,
            "source_type": "evaluation_run",
            "source_organization_name": UNKNOWN,
            "evaluator_relationship": "other",
            "additional_details": {"meaning": CLAIM, "untested": "; ".join(card.untested)},
        },
        "eval_library": {"name": run.tool.name, "version": run.tool.version, "additional_details": run.environment},
        "model_info": {
            "name": card.candidate,
            "id": card.candidate,
            "additional_details": {"deployment_type": "self_deployed", "model_availability": UNKNOWN}
            | {f"sha256 {name}": sha for name, sha in sorted(files.items())},
        },
        "evaluation_results": [{**one, "source_data": facts} for one in told],
    }


def _result(record: ClaimRecord) -> dict[str, Any]:
    score: dict[str, Any] = {
        "score": record.observed,
        "details": {"result": str(result_of(record)), "verdict": in_words(record)},
    }
    if (interval := record.interval) is not None:
        bounds = {"lower": interval.low, "upper": interval.high, "confidence_level": 0.95, "method": interval.method}
        score["uncertainty"] = {"confidence_interval": bounds, "num_samples": interval.units}
    return {
        "evaluation_name": record.id,
        "metric_config": {
            "evaluation_description": record.statement,
            "lower_is_better": record.bound.relation.startswith("<"),
        },
        "score_details": score,
    }
