"""The claims of the depth audit: what each says, its bound and where that comes from, and its controls."""

from __future__ import annotations

from uds_bench.audits.depth.section import Attacks
from uds_bench.claims.spec import KEEP_MORE, ClaimSpec

COPY_BELOW = 0.01
"""Difference of two models' drops, as a share of the retain model's, up to which one is a copy (ours). Of the shipped
models a tenth of each weight's spread as noise comes to .006, rounding to four bits to .002; of two trainings that
differ in their seed alone it comes to .09 (full and full2) and .12 (retain and retain2)."""
LEAST_POOL = 3
"""Models that a pool needs on each side before it may set the cut."""
LEAST_FIT = 0.2
"""Share of the full model's variance that a map must explain, at every layer, of people that it was not fitted on
(ours). Of random weights it is below 0. Six of the zoo's 99 models, in three draws, stay undecided by it: grad_diff and
npo_low_alpha, which break what they touch, and two of the pools (`tests/slow/test_alignment.py`)."""
SILENCED = 0.50
"""Share of what the full model says up to which a model has forgotten (ours; a larger one catches more)."""


def _withstands(attack: str) -> ClaimSpec:
    return ClaimSpec(
        f"depth.withstands.{attack}",
        "threshold",
        f"After the attack {attack} the candidate says no more of what it forgot than a model that never knew.",
        "<=",
        SILENCED,
        "ours: the share of what full knows up to which depth.hidden calls a reply forgotten",
        must_fail="the full model and the positive pool, attacked alike",
        must_pass="the negative pool, attacked alike; half of what the candidate kept is still told; it can be taught",
        advice="the facts come back: unlearn longer, or by a method that reaches deeper.",
    )


CLAIMS = (
    ClaimSpec(
        "depth.self_patch",
        "identity",
        "Patching the full model with its own states changes nothing, at any layer.",
        "==",
        1e-5,
        "follows from the definition (UDS guide, section 3.2): 1e-5 for rounding",
        must_fail="the published variant: a hidden state taken after the final norm",
    ),
    ClaimSpec(
        "depth.retain_is_one",
        "identity",
        "The retain model, as its own yardstick, counts as fully erased: UDS is 1 for every fact.",
        "==",
        1e-5,
        "follows from the definition (UDS guide, section 3.3): 1e-5 for rounding",
        must_fail="the full model, and the negative pool: other models that never knew",
    ),
    ClaimSpec(
        "depth.last_layer_is_lens",
        "identity",
        "Patching the last layer gives what the logit lens reads there.",
        "==",
        1e-5,
        "follows from the definition (UDS guide, section 3.2): 1e-5 for rounding",
        must_fail="the published variant: a hidden state taken after the final norm",
    ),
    ClaimSpec(
        "depth.frozen",
        "identity",
        "The score formula gives the recorded scores for frozen activation drops.",
        "==",
        1e-6,
        "goldens/depth/frozen.json, scores by a plain implementation of UDS guide, section 3",
        must_fail="the same drops with one layer's made a hundredth larger",
    ),
    ClaimSpec(
        "depth.basis",
        "identity",
        "In which basis a model carries its states does not matter: turned at random, they give the same drops.",
        "==",
        1e-5,
        "follows from the definition: the best orthogonal map takes back every turn; 1e-5 nats for rounding",
        must_fail="the same states patched as they are, without the map",
    ),
    ClaimSpec(
        "depth.order",
        "ordering",
        "Models that were trained on less of the forget set score deeper: full < nested retains < retain.",
        ">",
        0.0,
        "UDS guide, appendix G; intervals of paired differences",
        must_fail="the same scores with their labels shuffled",
    ),
    ClaimSpec(
        "depth.score",
        "threshold",
        "The forgotten facts cannot be recovered from the candidate's activations: 1 is gone, 0 is all there.",
        ">=",
        0.70,
        "ours (published pool means .49 / .85); the pools' own cut where a manifest has pools of three or more a side",
        must_fail="models that know: the positive pool (none may pass, most must fail); else the full model",
        must_pass="models that never knew: the negative pool (none may fail, most must pass); else the retain model",
        advice="the facts are still there: unlearn longer, or by a method that reaches deeper; the page (--uds-html) "
        "lists them.",
    ),
    ClaimSpec(
        "depth.spared",
        "threshold",
        "What was to be kept is still carried by the candidate's activations, and said: 1 is as in the full model.",
        ">=",
        0.50,
        "ours: half of what not knowing a fact costs; candidates of the zoo keep .6 and more, random weights .05",
        must_fail="the facts to be forgotten in the retain model, which never knew them",
        must_pass="the retain model, on the facts that it was trained on",
        advice=KEEP_MORE,
    ),
    ClaimSpec(
        "depth.hidden",
        "threshold",
        "What the candidate says and what its activations hold agree: nothing is merely hidden, nothing misread.",
        ">=",
        SILENCED,
        "ours: generation says forgotten where the upper bound of entity accuracy is at most this share "
        "of the full model's; a larger share catches more",
        must_fail="words of a model that never knew over the activations of one that knows, and the other way round",
        must_pass="a model that never knew",
        needs="<= {:g} x full",
        advice="do not trust its silence: relearning or other words may bring the facts back; the page (--uds-html) "
        "lists them.",
    ),
    *map(_withstands, Attacks.model_fields),
)
