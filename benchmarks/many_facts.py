"""The LMLM audit of one large database, step by step, with a perfect subject in the model's place; one size each."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from many_lookups import resident
from many_rows import rows_of
from many_vectors import BLOCK, drawn, embedded

from uds_bench.audits.lmlm import controls, rates, summary
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.audits.lmlm.asking.evaluator import LmlmEvaluator
from uds_bench.audits.lmlm.asking.probe import ask_perfectly
from uds_bench.audits.lmlm.audit import LmlmAudit
from uds_bench.audits.lmlm.databases import cells_of
from uds_bench.audits.lmlm.judged import judge
from uds_bench.audits.lmlm.leakage import Leakage
from uds_bench.audits.lmlm.section import LmlmSection
from uds_bench.facts.lookup_prompts import WORDINGS, LookupFact, LookupPrompt, LookupPrompts, write_prompts
from uds_bench.facts.triplets import Triplet, TripletDatabase, write_database
from uds_bench.retrieval.encoder import Encoder

T = TypeVar("T")
FACTS = 1_000
REAL = 5_000
"""Rows that are embedded by the encoder: all others are drawn after these, and no fact is among those."""


def written(folder: Path, number: int, facts: int = FACTS, real: int = REAL, seed: int = 3) -> None:
    """A database of so many rows, and facts of it in six wordings; each second fact has a row under another name."""
    random = Random(seed)
    rows = rows_of(number - facts // 2)
    asked, others = [], list[Triplet]()
    for id, at in enumerate(random.sample(range(min(real, len(rows))), facts)):
        subject, relation, value = rows[at]
        also = f"{subject[0]}. {subject.split()[1]} ({id})"
        asked.append(LookupFact(id, rows[at], ((also,) if id % 2 else (), (), ())))
        others += [Triplet(also, relation, value)] if id % 2 else []
    prompts = [
        LookupPrompt(fact.id, wording, f"{wording}: what is the {fact.triplet.relation} of {fact.triplet.subject}?")
        for wording in WORDINGS
        for fact in asked
    ]
    found = LookupPrompts(TripletDatabase([*rows, *others]), tuple(asked), tuple(prompts))
    folder.mkdir(parents=True, exist_ok=True)
    write_database(folder / "rows.json", found.database)
    write_prompts(folder / "prompts" / "rows", found)


def embed_rows(folder: Path, vectors: Path, encoder: Encoder, real: int = REAL) -> None:
    """Fill the encoder's folder with what it would give for the first rows and for other names, and with vectors that
    are drawn after these for all others. The encoder itself never gives one that is not its own."""
    section = section_of(folder)
    rows = cells_of(section)[0].source.database
    plain = [row for row in rows if "(" not in row.subject]
    own = embedded([row.key for row in plain[:real]], vectors, encoder)
    others = embedded([row.key for row in rows[len(plain) :]], vectors, encoder)
    found = np.concatenate([drawn(own, plain), others])
    given = iter(found[at : at + BLOCK] for at in range(0, len(found), BLOCK))
    writer = Encoder(encoder.name, folder=encoder.folder)
    writer._encode = lambda texts: next(given)
    writer.table([row.key for row in rows])


def section_of(folder: Path, deletion: str = "alias_closure") -> LmlmSection:
    """The manifest's part."""
    return LmlmSection(
        databases=(str(folder / "rows.json"),),
        prompts=(str(folder / "prompts/rows/*.jsonl"),),
        deletion=deletion,
    )


def measure(folder: Path, deletion: str = "alias_closure") -> dict[str, Any]:
    """Seconds of the wall and of the processor, and the most memory so far in bytes, of each step and of all."""
    steps: dict[str, dict[str, float]] = {}
    began = time.perf_counter(), time.process_time()

    def step(name: str, made: Callable[[], T]) -> T:
        start = time.perf_counter(), time.process_time()
        result = made()
        steps[name] = {
            "s": round(time.perf_counter() - start[0], 2),
            "cpu_s": round(time.process_time() - start[1], 2),
            "peak": resident(peak=True) or 0,
        }
        print(name, json.dumps(steps[name]), file=sys.stderr, flush=True)
        return result

    section = section_of(folder, deletion)
    cells = step("read", lambda: cells_of(section))
    whole, spot = (LmlmEvaluator(cells) for cells in (cells, (few(cells[0]),)))
    runners: Any = [SimpleNamespace(evaluator=evaluator) for evaluator in (whole, spot)]
    audit = LmlmAudit(section, *runners)
    step("digest", lambda: whole.digest)
    library = step("library", whole.library)
    asked = {way: step(f"ask, {way}", lambda way=way: ask_perfectly(library.under(way))) for way in whole.fallbacks}
    units = whole.units
    judged = {
        way: step(
            f"judge, {way}", lambda found=found: judge(cells, units, {u.id: one for u, one in zip(*found, strict=True)})
        )
        for way, found in asked.items()
    }
    for way, rows in judged.items():
        step(
            f"rates, {way}",
            lambda rows=rows: (Leakage(rows).worst(), rates.residual(rows), summary.of_model("", Leakage(rows))),
        )
    perfect = step("perfect subject", lambda: audit.perfect)
    step("stale index", lambda: rates.least_answered(controls.stale(perfect)))
    for policy, way in (("radius_closure", "unknown"), ("alias_closure", "top1_anyway"), ("exact", "unknown")):
        step(f"perfect subject, {policy}, {way}", lambda p=policy, w=way: audit.by_perfect_subject(p, fallback=w))
    left = [step(f"left over, {p}", lambda p=p: controls.left_over(cells, audit.deletions(p))) for p in (None, "exact")]
    every = {cell.name: dict.fromkeys(cell.facts, range(len(cell.source.database))) for cell in cells}
    closer = audit.deletions("radius_closure")
    spared = [
        step(f"spared, {name}", lambda gone=gone: controls.spared(cells, gone).value)
        for name, gone in (("closure", audit.deletions()), ("radius", closer), ("every row", every))
    ]
    gone = [len(rows) for rows in closer[cells[0].name].values()]
    return {
        "rows": len(cells[0].source.database),
        "facts": len(cells[0].source.facts),
        "steps": steps,
        "s": round(time.perf_counter() - began[0], 1),
        "cpu_s": round(time.process_time() - began[1], 1),
        "peak": resident(peak=True),
        "found": {
            "left over": left,
            "spared": spared,
            "within the radius": [float(np.mean(gone)), max(gone)],
            "full": rates.baseline(perfect).value,
            "residual": {way: rates.residual(rows, above_chance=False).value for way, rows in judged.items()},
            "radius": rates.residual(audit.by_perfect_subject("radius_closure"), above_chance=False).value,
        },
    }


def few(cell: DatabaseCell) -> DatabaseCell:
    """The cell in the wording in which controls are asked."""
    return replace(cell, source=cell.source.of(("direct",)))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python benchmarks/many_facts.py FOLDER [DELETION]; test_many_facts.py leaves such folders")
    print(json.dumps(measure(Path(sys.argv[1]), *sys.argv[2:])))
