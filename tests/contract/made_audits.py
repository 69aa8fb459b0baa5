"""Made-up audits under which a claim of the laboratory holds, and under which it must come out fail."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from uds_bench.attacks import ATTACKS, find_attack
from uds_bench.audits.association.probe_set import ProbeSet
from uds_bench.audits.association.ranking import ranked
from uds_bench.audits.association.rates import Memorization, held
from uds_bench.audits.association.scoring import to_json
from uds_bench.audits.bypass.finding import GapOutcome
from uds_bench.audits.bypass.scripted import finding_of
from uds_bench.audits.lmlm.asking.deletion import EMBEDDING
from uds_bench.audits.lmlm.controls import alike_in_wording, knowing_all, right_in_one_wording
from uds_bench.audits.lmlm.leakage import Leakage
from uds_bench.audits.localization.utility import Answer
from uds_bench.audits.metrics.estimate import Estimate
from uds_bench.audits.metrics.faithfulness import faithfulness
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.needs import RELEARNED
from uds_bench.audits.metrics.robustness import robustness
from uds_bench.claims import Claim
from uds_bench.facts import embedded
from uds_bench.facts.web_presence import WELL_KNOWN
from uds_bench.manifest.attack_tables import FewerBits, FewerBitsOrTaught
from uds_bench.metrics import METRICS
from uds_bench.retrieval.settings import FALLBACKS, SWEPT
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import Interval

sys.path.append(str(Path(__file__).parents[1] / "audits"))
from lmlm_by_hand import perfectly

Test = Callable[[Claim], None]
Falsifier = Callable[[bool], Test]
"""Whether what is made up is to be false -> a test of a claim on it."""
PEOPLE = 40
MADE = SimpleNamespace(provenance={}, notes={"rendered": "alike"})


def suite(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "suites" / f"test_{name}.py"
    spec = importlib.util.spec_from_file_location(f"suite_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ASSOCIATION, BYPASS, LMLM, LOCALIZATION, FAITHFULNESS, ROBUSTNESS, WITHSTANDING = map(
    suite, ("association", "bypass", "lmlm", "localization", "faithfulness", "robustness", "withstanding")
)


# ---- people: what a model holds of them


def person(at: int, letter: str = "p") -> Any:
    return SimpleNamespace(
        id=f"{letter}{at}/P19",
        cluster=f"{letter}{at}",
        kind="P19",
        topic=SimpleNamespace(id="P19"),
        candidates=SimpleNamespace(truths=("Oslo",), values=("Oslo", *["Bonn"] * 49)),
        templates=("one",),
        subject=SimpleNamespace(cohort=WELL_KNOWN),
    )


ASKED, STRANGERS = [person(at) for at in range(PEOPLE)], [person(at, "s") for at in range(PEOPLE)]


def ranks(first: bool) -> Any:
    """Of one phrasing: whether what is true is first of fifty."""
    return replace(
        ranked([1.0 if first else 0.0, *(at / 100 for at in range(1, 50))], 1), said="Oslo" if first else "Bonn"
    )


def holds(often: float) -> dict[str, Memorization]:
    """What a model holds of so many of a hundred people, and of no stranger."""
    known = {one.id: at < often * PEOPLE for at, one in enumerate(ASKED)} | {one.id: False for one in STRANGERS}
    return {
        id: held([ranks(first)], ["Oslo"], [("question", ("Oslo" if first else "Bonn",))])
        for id, first in known.items()
    }


def models(**often: float) -> Callable[..., Any]:
    found = {name: SimpleNamespace(held=holds(share), score=MADE) for name, share in often.items()}
    return lambda name="model": found[name]


def people(**audit: Any) -> Any:
    section = SimpleNamespace(smaller="smaller", model=None, must_fail=(), retain=None, attacked=lambda: ["an attack"])
    probe_set = SimpleNamespace(
        cohorts={WELL_KNOWN: ASKED}, seen=ASKED, requested=ASKED, forgotten={"p0"}, held_out=(), kept=STRANGERS
    )
    return SimpleNamespace(section=section, probe_set=probe_set, **audit)


def scale(is_false: bool) -> Test:
    audit = people(seen=models(model=0.25 if is_false else 0.75, smaller=0.5))
    return lambda claim: ASSOCIATION.test_scale(claim, audit)


def bits(name: str) -> Falsifier:
    def made(is_false: bool) -> Test:
        audit = people(
            seen=models(model=0.5), under=models(bits2=0.9 if is_false else 0.1, bits1=0.9 if is_false else 0.1)
        )
        return lambda claim: ASSOCIATION.test_bits(claim, name, audit)

    return made


def four_bits(is_false: bool) -> Test:
    audit = people(seen=models(model=0.75), under=models(nf4=0.25 if is_false else 0.75, bits1=0.0))
    return lambda claim: ASSOCIATION.test_nf4(claim, audit)


def context(is_false: bool) -> Test:
    """Alone, then behind other facts."""
    alone, behind = (False, True) if is_false else (True, False)
    rows = tuple(
        FactScore(one.id, one.cluster, 0.5, detail={"ranks": to_json([ranks(alone), ranks(behind and at % 2 == 0)])})
        for at, one in enumerate(ASKED)
    )
    score = Score("model", "none", "m", "default", 0.5, None, rows)
    way = SimpleNamespace(sides=ProbeSet(tuple(ASKED)), of=lambda: SimpleNamespace(score=score))
    return lambda claim: ASSOCIATION.test_context(claim, people(ways={"context": way}))


def remembered(is_false: bool) -> Test:
    of = models(model=1.0, npo=1.0 if is_false else 0.0)
    sides = SimpleNamespace(items=ASKED, requested=ASKED, never_seen=STRANGERS, each_alone=False, is_for_few=False)
    audit = people(seen=of, ways={"an attack": SimpleNamespace(sides=sides, of=of)})
    return lambda claim: ASSOCIATION.test_withstands(claim, "npo", "an attack", audit)


# ---- traces


def random_traces(is_false: bool) -> Test:
    words = {True: GapOutcome.NOT_UNLEARNED, False: GapOutcome.OPEN}
    drawn = SimpleNamespace(finding=SimpleNamespace(word=words[is_false]), score=MADE)
    own = SimpleNamespace(finding=SimpleNamespace(word=GapOutcome.NO_BYPASS), score=MADE)
    section = SimpleNamespace(is_embedded=True, models={"one": "place"})
    audit = SimpleNamespace(section=section, with_random_weights=lambda name: drawn, results=lambda name: [own])
    return lambda claim: BYPASS.test_weights_decide(claim, audit)


def attacked_traces(is_false: bool) -> Test:
    """Whether the candidate, under the attack, is as one that was never unlearned."""
    made = finding_of("memorized" if is_false else "erased")
    audit = SimpleNamespace(
        section=SimpleNamespace(attacked=lambda: ["an attack"]),
        controls={},
        speaks_alone=lambda name: False,
        results=lambda name, attack: [SimpleNamespace(finding=made, score=MADE)],
        word=lambda name, attack: (made.word, made.why),
    )
    return lambda claim: BYPASS.test_withstands(claim, "npo", "an attack", audit)


# ---- rows looked up


def prompts(full: float, left: float, topology: str = "base", wording: str = "direct") -> list[Any]:
    """Of forty facts the shares that are answered, with every row and after deletion."""

    def one(at: int) -> Any:
        shares = {"full": full, "del_on": left, "del_off": 0.0}
        marks = {state: SimpleNamespace(exact=at < share * PEOPLE) for state, share in shares.items()}
        unit = SimpleNamespace(cluster=f"{topology} {at}", id=f"{topology}/{wording}/{at}")
        cell = SimpleNamespace(name=f"towns/{topology}", topology=topology)
        fact = SimpleNamespace(id=at)
        return SimpleNamespace(
            marks=marks, chance=0.0, unit=unit, topology=topology, wording=wording, cell=cell, fact=fact, id=unit.id
        )

    return [one(at) for at in range(PEOPLE)]


def lookups(**audit: Any) -> Any:
    section = SimpleNamespace(is_embedded=True, must_fail=(), attacked=lambda: ["an attack"])
    return SimpleNamespace(section=section, **audit)


def seen(judged: Sequence[Any]) -> Callable[[str], Any]:
    return lambda model: SimpleNamespace(judged=judged, under=dict.fromkeys(FALLBACKS, judged), score=MADE)


def knowing_under_attack(is_false: bool) -> Test:
    asked = perfectly("base")
    judged = knowing_all(asked) if is_false else list(asked)
    found = SimpleNamespace(judged=judged, leakage=Leakage(judged), score=MADE)
    audit = lookups(seen=lambda model, attack: found, told_by_perfect=lambda weights: Leakage(weights(asked)))
    return lambda claim: LMLM.test_withstands(claim, "one", "an attack", audit)


def swept(name: str) -> Falsifier:
    def made(is_false: bool) -> Test:
        audit = lookups(by_perfect_subject=lambda swept: prompts(1.0, 0.5 if is_false else 0.0))
        return lambda claim: LMLM.test_swept(claim, name, audit)

    return made


def residual_other(anyway: bool) -> Falsifier:
    def made(is_false: bool) -> Test:
        judged = prompts(1.0, 0.5 if is_false else 0.0, "other")
        audit = lookups(seen=seen(judged), by_perfect_subject=lambda policy="", fallback="": [])
        test = LMLM.test_residual_anyway if anyway else LMLM.test_residual
        return lambda claim: test(claim, "one", "other", audit)

    return made


def topology_order(is_false: bool) -> Test:
    shares = {"base": 0.0, "alias": 0.3, "collision": 0.6, "noise": 0.9}
    judged = [one for name, share in shares.items() for one in prompts(1.0, 0.9 - share if is_false else share, name)]
    return lambda claim: LMLM.test_topology_order(claim, "one", lookups(seen=seen(judged)))


def closer(policy: str) -> Falsifier:
    def made(is_false: bool) -> Test:
        left = {"alias_closure": prompts(1.0, 0.5), policy: prompts(1.0, 0.9 if is_false else 0.1)}
        audit = lookups(by_perfect_subject=left.__getitem__, deletions=lambda way: {"towns": {0: {1}}})
        return lambda claim: LMLM.test_closer(claim, policy, audit)

    return made


def wording(is_false: bool) -> Test:
    asked = perfectly("base")
    judged = right_in_one_wording(asked) if is_false else alike_in_wording(asked)
    return lambda claim: LMLM.test_wording_invariance(claim, "one", lookups(seen=seen(judged)))


def random_lookups(is_false: bool) -> Test:
    audit = lookups(
        seen=seen(prompts(1.0, 0.0)),
        with_random_weights=lambda name: seen(prompts(1.0 if is_false else 0.0, 0.0))(name),
    )
    return lambda claim: LMLM.test_weights_decide(claim, "one", audit)


# ---- metrics


def pools(metric: str, is_false: bool, overlap: bool = False) -> Any:
    direction = METRICS[metric].direction
    bases = (0.25, 0.2) if overlap else (0.7, 0.2)
    high, low = ([base + at * 0.02 for at in range(8)] for base in bases)
    knows = (direction == "knowledge") != is_false
    return faithfulness(high if knows else low, low if knows else high, direction)


def faithful(metric: str) -> Falsifier:
    def made(is_false: bool) -> Test:
        row = SimpleNamespace(faithfulness=pools(metric, is_false), missing=[])
        meta = SimpleNamespace(lacks="", rows={metric: row}, provenance=lambda name: {})
        audit = SimpleNamespace(on_pools=meta, facts=embedded())
        return lambda claim: FAITHFULNESS.test_faithfulness(claim, metric, audit)

    return made


def faithful_first(is_false: bool) -> Test:
    """UDS tells the pools apart as no other metric does, or worse than all of them."""
    found = {name: pools(name, is_false=False, overlap=(name == "uds") == is_false) for name in JUDGED}
    rows = {name: SimpleNamespace(faithfulness=one, missing=[]) for name, one in found.items()}
    meta = SimpleNamespace(lacks="", rows=rows, provenance=lambda name: {})
    return lambda claim: FAITHFULNESS.test_uds_first(claim, SimpleNamespace(on_pools=meta, facts=embedded()))


def robust(is_false: bool) -> Test:
    """Whether quantization leaves UDS as it is."""
    names = [f"m{at}" for at in range(8)]
    before = {name: 0.6 + 0.04 * at for at, name in enumerate(names)}
    rounded = {name: 0.01 * at if is_false else value for at, (name, value) in enumerate(before.items())}
    relearned = {name: value - 0.1 + 0.001 * at for at, (name, value) in enumerate(before.items())}
    found = robustness(before, rounded, relearned, (0.9, 0.8), converted=False)
    rows = {"uds": SimpleNamespace(robustness=found, missing=[], kept=None)}
    meta = judged(rows=rows, value=lambda name, metric, attack="none": 0.8 if attack == RELEARNED else 0.9)
    return lambda claim: ROBUSTNESS.test_robustness(claim, "uds", SimpleNamespace(judged=meta, facts=embedded()))


def judged(**meta: Any) -> Any:
    return SimpleNamespace(lacks="", lacks_attacks="", provenance=lambda name: {}, **meta)


def drawn(name: str, attack: str = "none") -> float:
    return random.Random(f"{name} {attack}").random()


def robust_first(is_false: bool) -> Test:
    rows = {}
    for name in JUDGED:
        low = (name == "uds") == is_false
        level = 0.2 if low else 0.8
        pairs = {f"m{at}": (level, level + 0.1 * drawn(f"{name} {at}")) for at in range(8)}
        rob = Estimate(level, lambda share: Interval(0.1, 0.9, "by hand", 8))
        rows[name] = SimpleNamespace(robustness=SimpleNamespace(per_model=pairs, rob=rob))
    meta = judged(unfiltered=rows)
    return lambda claim: ROBUSTNESS.test_uds_first(claim, SimpleNamespace(judged=meta, facts=embedded()))


def foretold(is_false: bool) -> Test:
    """Whether those of whom UDS says that more is left come back the more."""
    names = [f"m{at:02}" for at in range(24)]
    left = {name: at / 24 for at, name in enumerate(names)}

    def value(name: str, metric: str, attack: str = "none") -> float:
        if metric == "uds":
            return left[name] if is_false else 1 - left[name]
        return left[name] / 2 + 0.1 * drawn(name) if attack == RELEARNED else 0.0

    meta = judged(silent=lambda: names, value=value)
    return lambda claim: ROBUSTNESS.test_proxy(claim, SimpleNamespace(judged=meta))


def restored(is_false: bool) -> Test:
    meta = judged(silent=lambda: ["m"], value=lambda name, metric: 0.2)

    def score(name: str, metric: str, attack: str) -> Score:
        said = (attack == RELEARNED) != is_false
        rows = tuple(
            FactScore(f"f{at}", f"a{at}", 0.1 * drawn(f"{at} {attack}") + (0.7 if said else 0.1)) for at in range(20)
        )
        return Score(name, attack, metric, "prefixed", 0.5, None, rows)

    audit = SimpleNamespace(judged=meta, depth=SimpleNamespace(score=score))
    return lambda claim: ROBUSTNESS.test_relearning_restores(claim, audit)


# ---- attacks


def withstood(attack: str) -> Falsifier:
    """Whether the candidate, which is silent before, tells after the attack what full tells."""

    def made(is_false: bool) -> Test:
        facts = embedded(forget=20, retain=20, holdout=20)

        def score(name: str, metric: str, variant: str = "", attack: str = "none") -> Score:
            knows = name in ("full", "knew") or (name == "m" and is_false and attack != "none")
            if metric == "model_utility":
                kept = tuple(FactScore(f.id, f.cluster, drawn(f.id, attack)) for f in facts.split("retain"))
                return Score(name, attack, metric, variant, 0.5, None, kept)
            rows = tuple(
                FactScore(f.id, f.cluster, float(drawn(f.id, variant) < (0.9 if knows else 0.1)))
                for f in facts.split("forget")
            )
            told = [[f.id, f.cluster, float(drawn(f.id, "kept") < 0.9)] for f in facts.split("retain")]
            return Score(name, attack, metric, variant, 0.5, None, rows, {"kept": told})

        tried = find_attack(attack)
        if attack == "own_questions":  # which takes a file of questions
            tried = replace(find_attack("sampled"), name=attack)
        audit = SimpleNamespace(
            score=score,
            facts=facts,
            section=SimpleNamespace(pools=SimpleNamespace(positive=["knew"], negative=["never"])),
            runner=SimpleNamespace(attacks={attack: tried}, attack={attack: tried}.get),
        )
        return lambda claim: WITHSTANDING.test_withstands(claim, "m", attack, audit)

    return made


# ---- weights


def resurfaced(told: Mapping[str, float], **often: float) -> Any:
    """How often each model tells of people, and of how many the answer leaks after resurfacing."""
    taught = [person(at, "t") for at in range(PEOPLE)]
    everybody = [*ASKED, *taught]

    def leaks(name: str) -> list[dict[str, bool]]:
        return [{one.id: at % PEOPLE < often[name] * PEOPLE for at, one in enumerate(everybody)} for _ in range(2)]

    return SimpleNamespace(
        leaking=SimpleNamespace(attacks=["resurface"]),
        known=lambda *_: ASKED,
        leaks=leaks,
        unheard=leaks,
        leak_floor=lambda name: 0.0,
        leaks_before=lambda name: {one.id: False for one in ASKED},
        experiment=SimpleNamespace(taught=taught),
        section=SimpleNamespace(judged=lambda: [], must_pass=("oracle",)),
        seen=lambda name: SimpleNamespace(
            shares={one.id: {"plain": SimpleNamespace(said=told[name])} for one in ASKED}
        ),
    )


def resurfacing(is_false: bool) -> Test:
    audit = resurfaced({}, npo=0.9 if is_false else 0.0, injected=1.0)
    return lambda claim: LOCALIZATION.test_resurfacing(claim, "npo", audit)


def resurfacing_order(is_false: bool) -> Test:
    few, many = (0.9, 0.1) if is_false else (0.1, 0.9)
    audit = resurfaced({"npo": 0.0, "injected": 1.0}, oracle=few, npo=many)
    return lambda claim: LOCALIZATION.test_resurfacing_order(claim, "npo", audit)


def benchmarks(is_false: bool) -> Test:
    before, after = (
        {"task": {f"d{at}": Answer(float(at % 10 < right), 0.25) for at in range(200)}}
        for right in (8, 2 if is_false else 8)
    )
    told = SimpleNamespace(reasons=[], provenance={})
    audit = SimpleNamespace(
        section=SimpleNamespace(tasks=["task"]),
        answers=lambda name: before if name == "injected" else after,
        benchmark_answers=lambda name: told,
    )
    return lambda claim: LOCALIZATION.test_benchmarks(claim, "one", audit)


FALSIFIERS: Mapping[str, Falsifier] = {
    "association.scale": scale,
    "association.bits.two": bits("two"),
    "association.bits.one": bits("one"),
    "association.nf4": four_bits,
    "association.context": context,
    **{f"association.withstands.{name}": remembered for name in FewerBitsOrTaught.model_fields},
    "bypass.weights_decide": random_traces,
    **{f"bypass.withstands.{name}": attacked_traces for name in FewerBitsOrTaught.model_fields},
    "lmlm.residual.other": residual_other(anyway=False),
    "lmlm.residual_anyway.other": residual_other(anyway=True),
    "lmlm.topology_order": topology_order,
    "lmlm.weights_decide": random_lookups,
    **{f"lmlm.withstands.{name}": knowing_under_attack for name in FewerBits.model_fields},
    "lmlm.wording_invariance": wording,
    **{f"lmlm.closer.{policy}": closer(policy) for policy in EMBEDDING},
    **{f"lmlm.swept.{name}": swept(name) for name in SWEPT},
    **{f"faithfulness.{name}": faithful(name) for name in JUDGED},
    "faithfulness.uds_first": faithful_first,
    "robustness.uds": robust,
    "robustness.uds_first": robust_first,
    "robustness.proxy": foretold,
    "robustness.relearning_restores": restored,
    **{f"depth.withstands.{name}": withstood(name) for name in ATTACKS},
    "localization.benchmarks": benchmarks,
    "localization.resurfacing": resurfacing,
    "localization.resurfacing_order": resurfacing_order,
}
