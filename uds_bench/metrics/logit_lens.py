"""The logit lens: how much of a fact can be read off a model's layers without any intervention."""

from __future__ import annotations

from dataclasses import replace

from uds_bench.metrics.erasure import TAU, erasure
from uds_bench.metrics.metric import Measured, Metric, Subject
from uds_bench.metrics.uds import fact_values


def _compute(subject: Subject, variant: str) -> Measured:
    full, retain, own = subject.full_reading(), subject.retain_reading(), subject.reading()
    # Drops of the lens itself, so that its knowledge-encoding layers are its own.
    retain, own = replace(retain, lens=full.lens - retain.lens), replace(own, lens=full.lens - own.lens)
    values = fact_values(
        subject.facts, erasure(retain.lens, own.lens), retain, own, lens=True, tokens=subject.entity_lengths()
    )
    return Measured(values, {"tau": TAU, "rendered": subject.rendered()})


METRIC = Metric(
    name="logit_lens",
    version=1,
    direction="erasure",
    limits=(0.0, 1.0),
    needs=frozenset({"full", "retain", "internals"}),
    variants=("block",),
    source="UDS guide, section 4.2 and appendix F",
    compute=_compute,
)
