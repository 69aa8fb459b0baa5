"""The logit lens: how much of a fact can be read off a model's layers without any intervention."""

from __future__ import annotations

from uds_bench.facts import spanned
from uds_bench.metrics.erasure import TAU
from uds_bench.metrics.metric import PATCHED, Measured, Metric, Reference
from uds_bench.metrics.subject import Subject
from uds_bench.metrics.uds import fact_values

READ: tuple[Reference | None, ...] = ("full", "retain", None)


def _compute(subject: Subject, variant: str) -> Measured:
    full, retain, own = (subject.reading(of=which) for which in READ)
    # Drops of the lens itself, so that its knowledge-encoding layers are its own.
    target = subject.target()
    values = fact_values(target.encoded, full.lens - retain.lens, full.lens - own.lens, own.last_gap)
    return Measured(values, {"tau": TAU, "rendered": target.rendered})


METRIC = Metric(
    "logit_lens",
    "erasure",
    "UDS guide, section 4.2 and appendix F",
    compute=_compute,
    of=spanned,
    needs=PATCHED,
    variants=("block",),
)
