"""The depth audit under attack: does what was forgotten come back? Asked where the manifest names attacks.

Statement, bound and origin stand in `uds_bench.audits.depth.claims`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from uds_bench.audits.depth.section import CHANGES, PROMPTS
from uds_bench.audits.depth.withstanding import FORMS, as_share, lost, says_more, unanswered, unsaid
from uds_bench.claims import Claim, ControlSubject, is_taught

if TYPE_CHECKING:
    from uds_bench.audits.depth.audit import DepthAudit
    from uds_bench.scores import Score

SAID = tuple(f"entity_accuracy[{form}]" for form in FORMS)


@pytest.mark.claim("depth.withstands.{uds_attack}")
@pytest.mark.scores(*SAID, of=("full", "retain"))
@pytest.mark.scores(*SAID, of=("full", "retain", "pools", "candidates"), under=CHANGES)
@pytest.mark.scores("model_utility", of=("candidates",), under=("none", *CHANGES))
@pytest.mark.scores("entity_accuracy[free]", of=("full", "retain", "pools", "candidates"), under=PROMPTS)
def test_withstands(uds_claim: Claim, uds_subject: str, uds_attack: str, uds_audit: DepthAudit) -> None:
    if uds_attack not in uds_audit.runner.attacks:
        uds_claim.not_applicable("the manifest names no attacks ([attacks])")
        return
    attack, pools = uds_audit.runner.attack(uds_attack), uds_audit.section.pools
    judged = {fact.id for fact in attack.judged(uds_audit.facts)}

    # Asked otherwise, a fact is told by what is replied to that alone.
    attacked = FORMS if attack.asking is None else ("free",)

    def said(name: str, under: str = uds_attack) -> list[Score]:
        forms = FORMS if under == "none" else attacked
        return [uds_audit.score(name, "entity_accuracy", form, under) for form in forms]

    never_knew = said("retain")
    if attack.asking is not None:
        judged = unsaid(never_knew, judged)
    known = says_more(said("full", "none"), said("retain", "none"), judged)
    found = {
        name: as_share(says_more(said(name), never_knew, judged), known)
        for name in dict.fromkeys((uds_subject, "full", *pools.positive, *pools.negative))
    }
    own, known_by = found[uds_subject], [ControlSubject.fails("full, attacked alike", found["full"])]
    if attack.asking is None:
        # A model that the attack broke tells nothing, whatever it knew.
        kept = [uds_audit.score(uds_subject, "model_utility", attack=under) for under in ("none", uds_attack)]
        known_by.append(ControlSubject.passes(f"what {uds_subject} kept, the share that the attack took", lost(*kept)))
    else:
        # Who answers nothing that is asked so has not forgotten for that.
        silent = unanswered(*said("full"), *said(uds_subject))
        known_by.append(ControlSubject.passes(f"what {uds_subject} kept, asked alike, the share not told", silent))
    uds_claim.measured(
        own.value,
        own.interval,
        controls=known_by,
        preconditions=[
            *uds_claim.pooled(
                [
                    *(ControlSubject.fails(name, found[name]) for name in pools.positive),
                    *(ControlSubject.passes(name, found[name]) for name in pools.negative),
                ]
            ),
            *(is_taught(said(uds_subject)[-1], said("full")[-1:]) if own.interval.high <= uds_claim.bound() else []),
        ],
        remark=attack.remark,
        provenance=uds_audit.score(uds_subject, "entity_accuracy", "free", uds_attack).provenance,
    )
