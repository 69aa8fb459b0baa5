"""The depth audit under attack: does what was forgotten come back? Asked where the manifest names attacks.

Statement, bound and origin stand in `uds_bench.audits.depth.claims`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from uds_bench.audits.depth.section import Attacks
from uds_bench.audits.depth.withstanding import FORMS, as_share, says_more
from uds_bench.claims import Claim, ControlSubject

if TYPE_CHECKING:
    from uds_bench.audits.depth.audit import DepthAudit
    from uds_bench.scores import Score

SAID = tuple(f"entity_accuracy[{form}]" for form in FORMS)


@pytest.mark.claim("depth.withstands.{uds_attack}")
@pytest.mark.scores(*SAID, of=("full", "retain"))
@pytest.mark.scores(*SAID, of=("full", "retain", "pools", "candidates"), under=tuple(Attacks.model_fields))
def test_withstands(uds_claim: Claim, uds_subject: str, uds_attack: str, uds_audit: DepthAudit) -> None:
    if uds_attack not in uds_audit.runner.attacks:
        uds_claim.not_applicable("the manifest names no attacks ([attacks])")
        return
    attack, pools = uds_audit.runner.attack(uds_attack), uds_audit.section.pools
    judged = {fact.id for fact in attack.judged(uds_audit.facts)}

    def said(name: str, under: str = uds_attack) -> list[Score]:
        return [uds_audit.score(name, "entity_accuracy", form, under) for form in FORMS]

    known, never_knew = says_more(said("full", "none"), said("retain", "none"), judged), said("retain")
    found = {
        name: as_share(says_more(said(name), never_knew, judged), known)
        for name in dict.fromkeys((uds_subject, "full", *pools.positive, *pools.negative))
    }
    own = found[uds_subject]
    uds_claim.measured(
        own.value,
        own.interval,
        controls=[ControlSubject.fails("full, attacked alike", found["full"])],
        preconditions=uds_claim.pooled(
            [
                *(ControlSubject.fails(name, found[name]) for name in pools.positive),
                *(ControlSubject.passes(name, found[name]) for name in pools.negative),
            ]
        ),
        remark=attack.remark,
        provenance=uds_audit.score(uds_subject, "entity_accuracy", "free", uds_attack).provenance,
    )
