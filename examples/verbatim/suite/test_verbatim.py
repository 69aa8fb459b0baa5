"""Does a model still go on with a text that it was to forget?"""

import pytest
from uds_verbatim.audit import VerbatimAudit

from uds_bench.claims import Claim, ControlSubject


@pytest.mark.claim("verbatim.forgotten")
def test_forgotten(uds_claim: Claim, uds_subject: str, uds_audit: VerbatimAudit) -> None:
    found = uds_audit.above_retain(uds_subject)
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[ControlSubject.fails("full", uds_audit.above_retain("full"))],
        provenance=uds_audit.score(uds_subject).provenance,
    )


@pytest.mark.claim("verbatim.level")
def test_level(uds_claim: Claim, uds_subject: str, uds_audit: VerbatimAudit) -> None:
    score = uds_audit.score(uds_subject)
    uds_claim.recorded(score.value, score.interval, provenance=score.provenance)
