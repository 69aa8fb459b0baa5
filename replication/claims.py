"""The claims about published tables: their numbers follow from each other, or from a named erratum."""

from __future__ import annotations

from uds_bench.claims.spec import ClaimSpec

EVIDENCE_TABLES = "recomputed from published tables"

UDS = (
    ClaimSpec(
        "published.uds_table2",
        "identity",
        "Every Rob and Overall of the twenty metrics is what its printed inputs allow, or a named erratum.",
        "==",
        1e-6,
        "UDS guide, table 2; errata in goldens/published/errata.json",
        unit="cells",
        must_fail="any one of the 40 cells moved by 0.003; the list of errata left out",
        evidence=EVIDENCE_TABLES,
    ),
    ClaimSpec(
        "published.uds_appendix_g",
        "identity",
        "UDS rises with what a model was not trained on, from 0 by definition to 1, at each scale, or a named erratum.",
        "==",
        1e-6,
        "UDS guide, appendix G; errata in goldens/published/errata.json",
        unit="cells",
        must_fail="an end moved by 0.003; neighbouring rows exchanged; the list of errata left out",
        evidence=EVIDENCE_TABLES,
    ),
)

WIKIMEM = (
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

_TEXT = "any value of the text moved by two widths of its range, a count by one; the list of errata left out"


def _lmlm(name: str, statement: str, origin: str, must_fail: str) -> ClaimSpec:
    return ClaimSpec(
        f"published.lmlm_{name}",
        "identity",
        statement,
        "==",
        1e-6,
        f"LMLM audit, {origin}; errata in goldens/published/errata.json",
        unit="cells",
        must_fail=must_fail,
        evidence=EVIDENCE_TABLES,
    )


LMLM = (
    _lmlm(
        "table6",
        "Every rate of the deletion audit is a whole number of facts, no count is negative and artifacts match what "
        "retrieval mediates, or a named erratum.",
        "table 6, propositions 6.1 and C.2",
        "any one of the 234 rates moved by 0.003; " + _TEXT,
    ),
    _lmlm(
        "table5",
        "No token score of the deletion audit is below exact match, and no F1 above the mean of precision and recall.",
        "tables 5 and 6; follows from the definition of the scores",
        "any one of the 702 scores put below exact match, any F1 above both precision and recall",
    ),
    _lmlm(
        "residual",
        "What survives deletion, by variant and by wording, is what the counts give, or a named erratum.",
        "sections 5 and 6, figures 3 and 4",
        "every prompt file counted alike; " + _TEXT,
    ),
    _lmlm(
        "f1",
        "Token F1 by wording, before and after deletion, is what table 5 gives, or a named erratum.",
        "section 5, figure 5",
        "every prompt file counted alike; " + _TEXT,
    ),
    _lmlm(
        "exact_match",
        "Exact match by variant is what the counts give after deletion and token scores allow before it, or a named "
        "erratum.",
        "sections 5 and 6.4, figure 6",
        "every prompt file counted alike; " + _TEXT,
    ),
    _lmlm(
        "mcnemar",
        "Discordant counts, McNemar's test and the share of c are what the counts give, or a named erratum.",
        "appendices C and D.1, figure 7",
        "every prompt file counted alike; " + _TEXT,
    ),
    _lmlm(
        "informative",
        "What survives, and its order over variants, stands without databases that answer nothing when intact, or a "
        "named erratum.",
        "section 6.3, figure 3; such a database's exact match cannot reach 0.05 in any wording, which is ours",
        "every database answering when intact; " + _TEXT,
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


LACUNA = (
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

CLAIMS = (*UDS, *LMLM, *LACUNA, *WIKIMEM)
