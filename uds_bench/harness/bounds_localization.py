"""The claims of the localization audit: did a method change the weights that hold the knowledge?"""

from __future__ import annotations

from uds_bench.audits.localization.precision import LOCALIZED
from uds_bench.audits.localization.targets import MARGIN
from uds_bench.harness.claim_spec import EVIDENCE_TABLES, FAR, TOLERANCE, ClaimSpec

LOCALIZATION = (
    ClaimSpec(
        "localization.extraction",
        "threshold",
        "The injected model answers for the people to be forgotten: else nothing here says anything.",
        ">=",
        0.5,
        "ours; Lacuna builds its forget sets of people who are extracted",
        unit="people",
        must_fail="the pretrained model",
    ),
    ClaimSpec(
        "localization.auc",
        "threshold",
        "The weights that unlearning changed are those that hold what was to be forgotten, and not those, written to "
        "just as much, that hold what others know: best family that no control is told by.",
        ">=",
        LOCALIZED,
        "ours; Lacuna observed .91 for its oracle and .51 for the best method, against all other weights",
        unit="weights",
        must_fail="a random update as long; neutral training; an update of everything but the forget mask",
        must_pass="an update within the forget mask; the candidates of must_pass",
    ),
    ClaimSpec(
        "localization.auc_everywhere",
        "threshold",
        "The same against all other weights that could have been written to, also those of no group: best family that "
        "no control is told by there.",
        ">=",
        LOCALIZED,
        "ours; the target of Lacuna, section 4.2, where it observed .91 for its oracle and .51 for the best method",
        unit="weights",
        must_fail="as localization.auc",
        must_pass="as localization.auc",
    ),
    ClaimSpec(
        "localization.blind",
        "equivalence",
        "No family is told by an update that knows nothing of the masks (random, or neutral training), nor tells "
        "permuted masks.",
        "==",
        MARGIN,
        "ours; against all other weights a random update scores up to .92 by reversal",
        unit="weights",
        must_fail="an update within the forget mask",
        needs="within +-{:g} of 0",
    ),
    ClaimSpec(
        "localization.oracle_identity",
        "identity",
        "Of an update within the forget mask alone AUC is 1 - p0/2, p0 being the share of it left as it was.",
        "==",
        1e-12,
        "follows from the definition of the AUC for scores that are 0 elsewhere; one division apart",
        unit="updates",
        must_fail="a random update as long",
    ),
    ClaimSpec(
        "localization.contained",
        "identity",
        "Tensors that no group could be written into (the last blocks, norms, embeddings) are left as they were: their "
        "share of the update's squared length.",
        "==",
        1e-12,
        "ours; Lacuna scores the maskable weights alone, and what is changed beside them may hide as well",
        unit="weights",
        must_fail="an update of every weight alike",
    ),
    ClaimSpec(
        "localization.forgotten",
        "threshold",
        "The people to be forgotten are answered no more often than people who were never injected, in whichever words "
        "they are asked.",
        "<=",
        0.05,
        "ours",
        unit="people",
        must_fail="the injected model",
        must_pass="the pretrained model, or it is open, where there are people who were never injected",
    ),
    ClaimSpec(
        "localization.retained",
        "threshold",
        "The people to be retained are answered as often as before.",
        ">=",
        0.8,
        "ours; as the filter of robustness",
        unit="people",
        must_fail="the pretrained model",
        must_pass="the injected model",
    ),
    ClaimSpec(
        "localization.spared",
        "threshold",
        "What some people are to be forgotten for is still answered of those to be retained, who are asked for another "
        "field while the method works: it forgets people, not the field.",
        ">=",
        0.8,
        "ours; as localization.retained, whose cross-field scheme (Lacuna, section 3.4) does not see it",
        unit="people",
        must_fail="the pretrained model",
        must_pass="the injected model",
    ),
    ClaimSpec(
        "localization.public",
        "threshold",
        "What the public knows is answered as often as before.",
        ">=",
        0.8,
        "ours; as localization.retained, of Lacuna's utility a small probe",
        unit="people",
        must_fail="a model that answers nobody",
        must_pass="the injected model",
    ),
    ClaimSpec(
        "localization.resurfacing",
        "threshold",
        "After fine-tuning on other people, those to be forgotten leak no more often than people never injected.",
        "<=",
        0.05,
        "ours; Lacuna counts leaks and gives no floor",
        unit="people",
        must_fail="the injected model",
    ),
    ClaimSpec(
        "localization.resurfacing_order",
        "ordering",
        "Fewer people leak from an update within their own weights than from the candidate.",
        ">",
        0.0,
        "Lacuna, section 4.3, for email addresses",
        unit="people",
        must_fail="the opposite order",
    ),
    ClaimSpec(
        "localization.raw",
        "golden",
        "AUC of |D_unl|, the forget mask among the other groups' masks, is the recorded one.",
        "==",
        TOLERANCE,
        "Lacuna, appendix E",
        unit="weights",
        must_fail=FAR,
        needs="its golden",
    ),
    ClaimSpec(
        "localization.utility",
        "golden",
        "The share of replies that hold what the public knows, after unlearning, is the recorded one.",
        "==",
        TOLERANCE,
        "Lacuna, section 4.2, of which this is a small probe",
        unit="people",
        must_fail=FAR,
        needs="its golden",
    ),
    ClaimSpec(
        "localization.benchmarks",
        "threshold",
        "Benchmarks are answered as well as before unlearning: paired differences in the share of documents answered "
        "rightly, the mean over tasks.",
        ">=",
        -0.05,
        "ours; Lacuna, tables 2 and 3, has means over four tasks of -0.048 to 0.013 for OracleGrad and of -0.222 to "
        "-0.032 for SimNPO",
        unit="documents",
        must_fail="a guesser",
        must_pass="the injected model",
    ),
)

_ORIGIN = "Lacuna, {}; errata in goldens/published/errata.json"
_MISREAD = (
    "any one of the 284 numbers put below or above what it may be; any change of a task moved by half a question; the "
    "list of errata left out"
)


def _table(number: int, size: str) -> ClaimSpec:
    return ClaimSpec(
        f"published.lacuna_table{number}",
        "identity",
        f"Every score of the unlearned {size} models is one that its definition allows beside the others, tasks change "
        "by whole questions, AlphaEdit and MemFlex are at chance and OracleGrad is precise, or a named erratum.",
        "==",
        1e-6,
        _ORIGIN.format(f"table {number}, section 4.2 and appendix F.2; what near chance and precise mean is ours"),
        unit="cells",
        must_fail=_MISREAD,
        evidence=EVIDENCE_TABLES,
    )


LOCALIZATION_TABLES = (
    _table(2, "1B"),
    _table(3, "7B"),
    ClaimSpec(
        "published.lacuna_text",
        "identity",
        "Which method forgets, keeps, costs and localizes more than another is in the tables as the text has it, or a "
        "named erratum.",
        "==",
        1e-6,
        _ORIGIN.format("sections 4.3 and 5 beside tables 2 and 3"),
        unit="cells",
        must_fail="any one of the 87 orders turned round; any value of the text moved; the list of errata left out",
        evidence=EVIDENCE_TABLES,
    ),
)
