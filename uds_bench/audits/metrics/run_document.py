"""The meta-evaluation's part of a report: what judging found, and what one hidden fact looks like layer by layer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from uds_bench.audits.depth.section import Depth
from uds_bench.audits.metrics.diagnostics import SCOPES
from uds_bench.audits.metrics.document import meta_document, sweep_frame
from uds_bench.audits.metrics.meta_evaluation import MetaEvaluation, models_of
from uds_bench.checkpoints.spec import EMBEDDED, plain
from uds_bench.errors import MESSAGE_LENGTH, UdsError, failures, one_line
from uds_bench.facts import Fact, encode
from uds_bench.inference.patching import layer_tokens
from uds_bench.inference.target import STACK
from uds_bench.metrics import METRICS, find_metric
from uds_bench.scores import Score
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.storage import canonical, content_key
from uds_bench.zoo.recipe import ByMethod
from uds_bench.zoo.recipes import find

FICTION = ("authors", "tofu/")
"""Sources of facts about nobody: words of theirs may stand in a report. Those of others are never written unasked."""


def section(runner: MetricRunner, models: Depth, found: MetaEvaluation, words: bool = False) -> dict[str, Any]:
    """See `meta_document`; `lacks`, `lacks_attacks` and `failed` say what is not there. `words` writes the tokens of
    the hidden fact out even where the facts may be of real persons."""
    document: dict[str, Any] = {
        "lacks": found.lacks,
        "lacks_attacks": found.lacks_attacks,
        "failed": [{"what": str(request), "reason": reason} for request, reason in found.failed.items()],
    }
    if found.models is None:
        return document
    parts = component_scores(runner, found.models.candidates) if models.wants_components else []
    methods = methods_of(models)
    judged = found.rows, found.unfiltered, found.models, found.scores, found.utility
    document |= meta_document(*judged, methods, parts)
    hidden = document["diagnostics"]["hidden"]
    if hidden is not None:
        fiction = models.facts is not None and models.facts.source.startswith(FICTION)
        hidden |= hidden_layers(runner, hidden["model"], hidden["fact"], words or fiction)
    return document


def sweep_table(models: Depth, scores: Iterable[Score]) -> bytes:
    """Checkpoints x metrics in their default variants, with role and method, as CSV."""
    known = models_of(models)
    if known is None:
        raise UdsError("the manifest has no pools")
    # Scores of other audits, which no metric gives, have tables of their own.
    of_metrics = (s for s in scores if s.metric in METRICS)
    plain = [s for s in of_metrics if s.variant == find_metric(s.metric).variant(None)]
    return sweep_frame(plain, known, methods_of(models)).to_csv(index=False).encode()


def methods_of(models: Depth) -> dict[str, str]:
    """The method of each candidate: its recipe's for embedded models; of any other we know none but its own name."""
    methods = {}
    for name, spec in models.unlearned.items():
        recipe = find(plain(spec.model)) if spec.model.startswith(EMBEDDED) else None
        methods[name] = recipe.method.name if isinstance(recipe, ByMethod) else name
    return methods


def component_scores(runner: MetricRunner, names: Iterable[str]) -> list[Score]:
    """UDS of the parts of a block, where it is stored."""
    found = []
    for request in component_requests(names):
        try:
            found.append(stored(runner)(request))
        except UdsError:
            continue
    return found


def component_requests(names: Iterable[str]) -> list[ScoreRequest]:
    """The scores that tell what parts of a block carry."""
    return [ScoreRequest(name, "uds", scope) for name in names for scope in SCOPES]


def hidden_layers(runner: MetricRunner, model: str, fact: str, words: bool) -> Mapping[str, Any]:
    """Layer by layer, how many of the entity's tokens the logit lens and the patched full model get right.

    With `words` the tokens themselves and the question too. Kept in the store; `error` in place of it all where a model
    could not be read.
    """
    (asked,) = (f for f in runner.facts if f.id == fact)
    try:
        digests = [runner.digest("full"), runner.digest(model)]
        key = content_key([STACK, digests, asked.to_json(), words, runner.device])
        made = runner.store.made(f"cache/layers/{key}", lambda: canonical(_layers(runner, model, asked, words)))
        table: dict[str, Any] = json.loads(made)
        return table
    except failures() as error:  # whatever its files made a library say
        return {"error": one_line(error, MESSAGE_LENGTH)}


def _layers(runner: MetricRunner, model: str, fact: Fact, words: bool) -> dict[str, Any]:
    full, source = runner.loaded("full"), runner.loaded(model)
    found = layer_tokens(full, source, encode(fact, full.tokenizer))

    def told(ids: list[int]) -> dict[str, Any]:
        right = {"right": sum(a == b for a, b in zip(ids, found.target, strict=True))}
        return right | ({"text": full.tokenizer.decode(ids)} if words else {})

    layers = [{"lens": told(a), "patched": told(b)} for a, b in zip(found.lens, found.patched, strict=True)]
    table = {"tokens": len(found.target), "layers": layers, "said": told(found.said)}
    return table | ({"question": fact.question, "prefix": fact.prefix, "entity": fact.entity} if words else {})


def stored(runner: MetricRunner, failed: Mapping[ScoreRequest, str] | None = None) -> Callable[[ScoreRequest], Score]:
    """What reads a score that is there. It raises UdsError for one that is not; `failed`: why some are not."""
    known = failed or {}

    def find(request: ScoreRequest) -> Score:
        score = None if request in known else runner.stored(request)
        if score is None:
            raise UdsError(known.get(request, f"{request} is not stored"))
        return score

    return find
