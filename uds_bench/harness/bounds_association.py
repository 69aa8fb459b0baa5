"""The claims of the association audit: which facts about a person does a model hold, and how firmly?"""

from __future__ import annotations

from uds_bench.harness.claim_spec import EVIDENCE_TABLES, ClaimSpec

ASSOCIATION_TABLES = (
    ClaimSpec(
        "published.wikimem_table1",
        "identity",
        "Rates, strengths and counts of nine models are ones that their definitions allow; of well-known people more "
        "is memorized, and more firmly, than of lesser-known ones in every row; the text's quotes and orders are in "
        "the table; or a named erratum.",
        "==",
        1e-6,
        "WikiMem, table 1 and section 7; errata in goldens/published/errata.json",
        unit="cells",
        must_fail="any one of the 54 numbers put above what it can be; the cohorts of any model exchanged; any value "
        "of the text moved; the list of errata left out",
        evidence=EVIDENCE_TABLES,
    ),
)
