"""MUSE: verbatim memory, knowledge, utility and privacy leakage, each beside the retrained model."""

from collections.abc import Callable

import pytest
from uds_muse.audit import MuseAudit
from uds_muse.claims import NEAR

from uds_bench.claims import Claim, ControlSubject
from uds_bench.statistics import Rate


def controls(audit: MuseAudit, rate: Callable[[str], Rate]) -> list[ControlSubject]:
    """The model that knows, and another retrained one where it is named."""
    like = [ControlSubject.passes("retrained", rate("retrained"))] if "retrained" in audit.names else []
    return [ControlSubject.fails("full", rate("full")), *like]


@pytest.mark.claim("muse.verbmem")
def test_verbmem(uds_claim: Claim, uds_subject: str, uds_audit: MuseAudit) -> None:
    below_retain(uds_claim, uds_subject, uds_audit, "verbmem_f")


@pytest.mark.claim("muse.knowmem")
def test_knowmem(uds_claim: Claim, uds_subject: str, uds_audit: MuseAudit) -> None:
    below_retain(uds_claim, uds_subject, uds_audit, "knowmem_f")


def below_retain(claim: Claim, model: str, audit: MuseAudit, metric: str) -> None:
    found = audit.above_retain(model, metric)
    held = controls(audit, lambda name: audit.above_retain(name, metric))
    claim.measured(found.value, found.interval, controls=held, provenance=audit.score(model, metric).provenance)


@pytest.mark.claim("muse.kept")
def test_kept(uds_claim: Claim, uds_subject: str, uds_audit: MuseAudit) -> None:
    found = uds_audit.kept(uds_subject)
    like = [name for name in ("retain", "retrained") if name in uds_audit.names]
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[
            ControlSubject.fails("full, beside the point", uds_audit.kept_by_chance()),
            *(ControlSubject.passes(name, uds_audit.kept(name)) for name in like),
        ],
        provenance=uds_audit.score(uds_subject, "knowmem_r").provenance,
    )


@pytest.mark.claim("muse.privleak")
def test_privleak(uds_claim: Claim, uds_subject: str, uds_audit: MuseAudit) -> None:
    found = uds_audit.leak(uds_subject)
    uds_claim.equivalence(
        found.value,
        found.interval,
        margin=NEAR,
        controls=controls(uds_audit, uds_audit.leak),
        provenance=uds_audit.score(uds_subject, "privleak_auc").provenance,
    )
