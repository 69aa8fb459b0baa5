"""How often is a person told of whom all is forgotten, or all but one or two facts? Tests of a request, side by side.

`python benchmarks/one_fact_of_three.py [--store FOLDER]` prints the table of docs/explanation/fakes.md.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from uds_bench.audits.association.claims import RATE
from uds_bench.audits.association.exact_rank import Memorizations, _by_person, _numbers, _shown
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.reach import Shown, rank_test
from uds_bench.audits.manifests import embedded_manifest
from uds_bench.cli.session import CommandSession
from uds_bench.statistics import ROUNDING_ERROR
from uds_bench.storage import default_cache

DRAWS, KEPT = 2, (0, 1, 2)
DEALS, STRANGERS = 300, 79


def standardized(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(0)) / np.maximum(values.std(0), 1e-9)


def two_sided(shown: Shown, above: np.ndarray) -> float:
    """The exact rank test by another number than `shown.above`; below it is as it was."""
    below, lead = shown.below, shown.lead.sum(1)
    under = (below[1:] > below[0]) | ((below[1:] == below[0]) & (lead[1:] <= lead[0]))
    return min(1.0, 2 * min(1 + int((above[1:] >= above[0]).sum()), 1 + int(under.sum())) / len(above))


def holm(shown: Shown) -> float:
    facts = [
        Shown(*(table[:, [at]] for table in (shown.standing, shown.lead, shown.mean, shown.first)), shown.chance[[at]])
        for at in range(shown.lead.shape[1])
    ]
    return min(1.0, len(facts) * min(rank_test(one)[0] for one in facts))


TESTS: dict[str, Callable[[Shown], float]] = {
    "all facts together, as it is": lambda shown: rank_test(shown)[0],
    "largest lead, standardized": lambda shown: two_sided(shown, standardized(shown.lead).max(1)),
    "the larger of both, standardized": lambda shown: two_sided(
        shown, np.maximum(standardized(shown.above), standardized(standardized(shown.lead).max(1)))
    ),
    "each fact by itself, Holm": holm,
}


def dealt(
    test: Callable[[Shown], float], people: list[dict[str, ProbeItem]], asking: int, held: Memorizations
) -> tuple[float, np.ndarray]:
    """The share of people told of whom nothing is left: as they are, those who ask first, and dealt anew, [deals]."""
    kinds, drawn = tuple(people[0]), np.random.default_rng(1)
    rows = [_numbers([one], kinds, held) for one in people]

    def told(order: np.ndarray) -> float:
        p = []
        for at in order[:asking]:
            others = drawn.choice(order[asking:], STRANGERS, replace=False)
            p.append(test(_shown(people[at], held, np.concatenate([rows[other] for other in others], axis=1))))
        return float(np.mean(np.array(p) <= RATE * (1 + ROUNDING_ERROR)))

    order = np.arange(len(people))
    return told(order), np.array([told(drawn.permutation(order)) for _ in range(DEALS)])


def main() -> None:
    """Print one row a test and number of strangers; then how many are told where chance says who asks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", type=Path, default=default_cache() / "store")
    session = CommandSession(embedded_manifest("quick"), parser.parse_args().store, "cpu")
    way = session.audit("association").ways["asked"]
    knows, forgot = (way.of(name).held for name in ("model", "retrained"))
    people, unseen = _by_person(way.sides.requested), [*_by_person(way.sides.never_seen).values()]
    print("| test | strangers | nothing left | one fact left | two left |\n|---|---|---|---|---|")
    for both, count in ((False, 39), (False, 79), (True, 119)):
        drawn, found = np.random.default_rng(0), {name: [] for name in TESTS}
        for kept in KEPT:
            p: dict[str, list[float]] = {name: [] for name in TESTS}
            for name, told in [*people.items()] * DRAWS:
                others = [*unseen, *(one for other, one in people.items() if both and other != name)]
                strangers = [others[at] for at in drawn.choice(len(others), count, replace=False)]
                own = {one.id: forgot[one.id] for one in told.values()}
                for kind in drawn.choice([*told], kept, replace=False):
                    own[told[kind].id] = knows[told[kind].id]
                shown = _shown(told, own, _numbers(strangers, tuple(told), forgot))
                for test, of in TESTS.items():
                    p[test].append(of(shown))
            for test in TESTS:
                found[test].append(np.mean(np.array(p[test]) <= RATE * (1 + ROUNDING_ERROR)))
        beside = ", others who ask among them" if both else ""
        for test, rates in found.items():
            print(f"| {test} | {count}{beside} | {' | '.join(f'{rate:.2f}' for rate in rates)} |")
    for test in [*TESTS][:-1]:
        own, deals = dealt(TESTS[test], [*people.values(), *unseen], len(people), forgot)
        often = np.mean(deals >= own - ROUNDING_ERROR)
        print(f"{test}: {own:.2f} are told; dealt anew {deals.mean():.3f}, and as many in {often:.3f} of deals")


if __name__ == "__main__":
    main()
