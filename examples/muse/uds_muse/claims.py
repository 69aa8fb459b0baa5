"""The claims: what each says, its bound and where that comes from, and its controls."""

from uds_bench.claims.spec import KEEP_MORE, UTILITY_FLOOR, ClaimSpec

NEAR = 0.05
KEPT = UTILITY_FLOOR
KNOWS = "the model that was trained on everything"
LIKE = "another retrained model, where one is named"
CLAIMS = (
    ClaimSpec(
        "muse.verbmem",
        "threshold",
        "Given the beginning of a passage, the candidate says no more of the rest than the retrained model.",
        "<=",
        NEAR,
        "ours: MUSE, section 3.1 (C1), compares with retraining and states no bound",
        unit="passages",
        must_fail=KNOWS,
        must_pass=LIKE,
        advice="it still goes on with the passages: unlearn longer, or by a method that reaches deeper.",
    ),
    ClaimSpec(
        "muse.knowmem",
        "threshold",
        "Asked about what it was to forget, the candidate answers no more rightly than the retrained model.",
        "<=",
        NEAR,
        "ours: MUSE, section 3.1 (C2), compares with retraining and states no bound",
        unit="questions",
        must_fail=KNOWS,
        must_pass=LIKE,
        advice="it still answers: unlearn longer, or on facts as well as on passages.",
    ),
    ClaimSpec(
        "muse.kept",
        "threshold",
        f"Of what the model before unlearning says about the rest, the candidate says {KEPT:.0%} or more.",
        ">=",
        0.0,
        f"ours: MUSE, section 3.1 (C4), states no bound; {KEPT:g} is the utility filter of UDS, section 4.1",
        unit="questions",
        must_fail="the replies of the model before unlearning, each given to another question",
        must_pass="the retrained model",
        advice=KEEP_MORE,
    ),
    ClaimSpec(
        "muse.privleak",
        "equivalence",
        "The candidate tells forgotten texts from texts that no model saw as well as the retrained model does.",
        "==",
        NEAR,
        "MUSE, table 3: PrivLeak within [-5%, 5%]; the interval is to lie within it",
        unit="texts",
        must_fail=KNOWS,
        must_pass=LIKE,
        needs="within +-{:g} of 0",
        advice="below 0 it still shows what it was trained on: unlearn longer. Above 0 it shows it too: unlearn less.",
    ),
)
