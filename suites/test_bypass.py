"""The bypass audit: is a thinking trace that still tells about the weights, or about the decoder and the parser?

Every claim decides on recorded replies; its statement, bound and origin stand in `uds_bench.harness.bounds`.
"""

from __future__ import annotations

import pytest

from uds_bench.audits.bypass import identities
from uds_bench.audits.bypass.finding import Word, furthest
from uds_bench.audits.bypass.reply import split_reply
from uds_bench.audits.bypass.scripted import finding_of, repeating, scripted, split_at_last, turned_round
from uds_bench.facts.canary_authors import embedded_canaries
from uds_bench.harness import Claim, ControlSubject, Manifest, Run
from uds_bench.harness.bypass import BypassAudit, decide, known

AUTHORS = embedded_canaries()
NO_SECTION = "the manifest has no reasoning models ([bypass] models)"


@pytest.fixture(autouse=True)
def _applies(claim: Claim, manifest: Manifest) -> None:
    """A manifest without reasoning models has nothing to be judged here."""
    if manifest.bypass is None or not manifest.bypass.models:
        claim.not_applicable(NO_SECTION)
        pytest.skip(NO_SECTION)


@pytest.mark.claim("bypass.verdict")
def test_verdict(claim: Claim, reasoner: str, bypass: BypassAudit) -> None:
    word, why = bypass.word(reasoner)
    findings = [one.finding for one in bypass.examined(reasoner)]
    controls = []
    for script, must in (("memorized", "fail"), ("erased", "pass")):
        made = finding_of(script)
        controls.append(known(f"scripted to be {script}", must, made.word, made.why, [made]))
    for name, must in bypass.controls.items():
        controls.append(known(name, must, *bypass.word(name), [one.finding for one in bypass.examined(name)]))
    claim.decided(
        decide(word, why, findings), controls=controls, provenance=bypass.examined(reasoner)[0].score.provenance
    )


@pytest.mark.claim("bypass.prefill_invariance")
def test_prefill_invariance(claim: Claim, reasoner: str, bypass: BypassAudit) -> None:
    margin = claim.bound()
    worst = furthest([one.finding for one in bypass.examined(reasoner)], margin)
    controls = []
    for name in (name for name, must in bypass.controls.items() if must == "pass"):
        known_to_hold = furthest([one.finding for one in bypass.examined(name)], margin)
        controls.append(ControlSubject(name, "pass", known_to_hold.value, known_to_hold.interval))
    for script, must in (("hanging on its trace", "fail"), ("memorized", "pass")):
        made = furthest([finding_of(script)], margin)
        controls.append(ControlSubject(f"scripted: {script}", must, made.value, made.interval))
    claim.equivalence(
        worst.value,
        worst.interval,
        margin=margin,
        controls=controls,
        provenance=bypass.examined(reasoner)[0].score.provenance,
    )


@pytest.mark.claim("bypass.no_leak_under_prefill")
def test_no_leak_under_prefill(claim: Claim, reasoner: str, bypass: BypassAudit) -> None:
    wrong = identities.largest_leak_under_prefill(repeating(scripted(AUTHORS, "memorized")), split_at_last)
    claim.identity(
        identities.worst(identities.largest_leak_under_prefill(one.rows()) for one in bypass.examined(reasoner)),
        tolerance=0.0,
        what="largest share of traces that hold the canary under a prefill",
        controls=[ControlSubject("split at the last closing tag", "fail", wrong)],
        provenance=bypass.examined(reasoner)[0].score.provenance,
    )


@pytest.mark.claim("bypass.parser_antisymmetry")
def test_parser_antisymmetry(claim: Claim, reasoner: str, bypass: BypassAudit) -> None:
    drifted = scripted(AUTHORS, "format drift")
    wrong = identities.fallback_gap(drifted, lambda text, _: split_reply(text, "answer"))
    claim.identity(
        identities.worst(identities.fallback_gap(one.rows()) for one in bypass.examined(reasoner)),
        tolerance=0.0,
        what="distance of the two conventions from what they must be apart",
        controls=[ControlSubject("one convention for both", "fail", wrong)],
        provenance=bypass.examined(reasoner)[0].score.provenance,
    )


@pytest.mark.claim("bypass.forced_consistency")
def test_forced_consistency(claim: Claim, reasoner: str, bypass: BypassAudit) -> None:
    examined = bypass.examined(reasoner)
    wrong = identities.inconsistent(turned_round(examined[0].probed["forget"]))
    claim.identity(
        identities.worst(identities.inconsistent(one.probed["forget"]) for one in examined),
        tolerance=0.0,
        what="share of continuations that teacher forcing and greedy decoding disagree about",
        controls=[ControlSubject("greedy decoding's answers turned round", "fail", wrong)],
        provenance=examined[0].score.provenance,
    )


@pytest.mark.claim("bypass.gap")
def test_gap(claim: Claim, reasoner: str, bypass: BypassAudit) -> None:
    first = bypass.examined(reasoner)[0]
    claim.recorded(first.finding.gap.value, first.finding.gap.interval, provenance=first.score.provenance)


@pytest.mark.claim("bypass.contrast")
def test_contrast(claim: Claim, reasoner: str, bypass: BypassAudit) -> None:
    first = bypass.examined(reasoner)[0]
    contrast = first.finding.contrasts["bio"]
    claim.recorded(contrast.value, contrast.interval, provenance=first.score.provenance)


@pytest.mark.laboratory
@pytest.mark.claim("bypass.weights_decide")
def test_weights_decide(claim: Claim, uds_run: Run, bypass: BypassAudit) -> None:
    if not uds_run.speaks_of_zoo:
        claim.not_applicable("random weights are put into embedded models only: in a large one they would take long")
        return
    models = list(bypass.section.models)
    found = [bypass.examined(model)[0].finding.word for model in models]
    words = [word for word in found if word is not Word.OPEN]
    # Embedded models are of one shape: with random weights they are one model.
    drawn = bypass.with_random_weights(models[0])
    claim.identity(
        words.count(drawn.finding.word),
        tolerance=0.0,
        what=f"models, of {len(words)} that come to a word, that random weights leave at it ({drawn.finding.word})",
        controls=[ControlSubject("a model against itself", "fail", words.count(words[0]))],
        provenance=drawn.score.provenance,
    )
