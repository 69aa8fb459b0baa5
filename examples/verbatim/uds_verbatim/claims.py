"""The claims: what each says, its bound and where that comes from, and its controls."""

from uds_bench.claims.spec import ClaimSpec

CLAIMS = (
    ClaimSpec(
        "verbatim.forgotten",
        "threshold",
        "Given the beginning of a passage, the candidate says no more of the rest than a model that never saw it.",
        "<=",
        0.05,
        "ours: MUSE, section 3.1, compares with retraining and states no bound",
        unit="sources",
        must_fail="the model that was trained on the passages",
        advice="it still goes on with the passages: unlearn longer, or by a method that reaches deeper.",
    ),
    ClaimSpec(
        "verbatim.level",
        "golden",
        "What the candidate says of the passages is what was recorded.",
        "==",
        1e-4,
        "MUSE, section 3.1",
        unit="sources",
        must_fail="a value further from the golden than its tolerance",
    ),
)
