"""A card as one printed page, in Markdown: for a release note, a CI summary, a model's README."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tabulate import tabulate

from uds_bench.cards.card import Card, result_of
from uds_bench.cards.statement import CLAIM, command, loaded, scope, withstood
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.run_report import RunReport
from uds_bench.console.markdown import in_code, in_markdown
from uds_bench.verdicts import Verdict

HEADERS = ("claim", "result", "observed", "95% interval", "needs", "controls right")
SHOWN = 12
"""Characters of a digest that tell it from others."""
MOST = 3
"""Claims of an audit that have a row of their own."""
BEFORE = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1, Verdict.PASS: 2}


def page(card: Card, run: RunReport, files: Mapping[str, str]) -> str:
    """Markdown of at most a page: what was asked, what came out, what was not tested, and how to do it again."""
    found = scope(card, run)
    people = ", ".join(f"{' and '.join(map(str, counts))} {unit}" for unit, counts in found["units"].items())
    facts = ", ".join(digest[:SHOWN] for digest in found["facts"]) or "not named"
    most = max(found["items"].values(), default=0)
    asked = f"Asked of {people or 'no units'}, at most {most} facts or items a metric; digest of facts: {facts}."
    asked = asked if people or most else "It was asked nothing."
    basis = [one for one in card.basis if result_of(one) is not None]
    held = sum(result_of(one) == "PASSED" for one in basis)
    versions = {run.tool.name: run.tool.version, **run.environment}
    audits = dict.fromkeys(one.audit for one in card.claims)
    rows = [row for name in audits for row in _rows(name, [one for one in card.claims if one.audit == name])]
    weights = ", ".join(
        f"{in_code(name)} {sha[:SHOWN]}" for name, sha in files.items() if name.endswith(".safetensors")
    )
    lines = [
        f"# {in_markdown(card.candidate)}: {card.result}",
        "",
        in_markdown(f"{CLAIM[0].upper()}{CLAIM[1:]}. {asked}"),
        "",
        tabulate(rows, headers=HEADERS, tablefmt="github", disable_numparse=True),
        "",
        *(_item(f"Under {attack}: {_results(claims)}.") for attack, claims in withstood(card).items()),
        f"- It rests on {len(basis)} claims about references and method, of which {held} hold.",
        *(_item(f"What to do: {advice}") for advice in dict.fromkeys(one.advice for one in card.claims if one.advice)),
        *([f"- The run is red for {len(card.problems)} reasons of its own: see its report."] if card.problems else []),
        _item(f"Not tested: {'; '.join(card.untested) or 'nothing that this version knows'}."),
        _item(f"Evidence: {', '.join(sorted({one.evidence for one in card.claims if one.evidence})) or 'none'}."),
        f"- Weights (SHA-256): {weights or 'none'}; loaded as {in_markdown('; '.join(loaded(card)) or 'nothing')}.",
        _item(f"{run.started}; {', '.join(f'{name} {version}' for name, version in versions.items())}."),
        f"- Manifest {in_markdown(run.manifest.digest[:SHOWN])}. Again: {in_code(command(run))}",
    ]
    return "\n".join(lines) + "\n"


def _item(said: str) -> str:
    return f"- {in_markdown(said)}"


def _results(claims: Iterable[ClaimRecord]) -> str:
    return ", ".join(f"{one.name} {one.spelled()}" for one in claims)


def _rows(audit: str, claims: Iterable[ClaimRecord]) -> list[tuple[str, ...]]:
    """Of an audit the first `MOST` claims that came to a result, what stops a release before the rest, which is
    counted: a page does not hold all of five audits. One more alone has its row as well."""
    found = (one for one in claims if result_of(one) is not None)
    decided = sorted(found, key=lambda one: (one.is_good, BEFORE[one.verdict]))
    shown = decided if len(decided) == MOST + 1 else decided[:MOST]
    more = decided[len(shown) :]
    counted = ", ".join(f"{number} {word}" for word, number in Counter(one.spelled() for one in more).items())
    rows = [*map(_row, shown), *([(f"{len(more)} more of {audit}", counted, "", "", "", "")] if more else [])]
    return [tuple(map(in_markdown, row)) for row in rows]


def _row(record: ClaimRecord) -> tuple[str, ...]:
    held = [control.held for control in record.controls]
    return record.id, record.spelled(), *record.cells, f"{sum(held)} of {len(held)}" if held else ""
