"""The points of `entities/points.toml`: fitted to half of TOFU's annotated authors, measured on both halves.

`python .ci/entity_points.py DATA` measures; `--fit` fits first and writes the table. DATA has `tofu/` and `uds/`.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from uds_bench.facts import Fact, embedded, find_entity, load_facts
from uds_bench.facts.entities.candidates import SpanCandidate, candidates
from uds_bench.facts.entities.forms import Span, changed
from uds_bench.facts.records import embedded_toml

TABLE = Path("uds_bench/facts/entities/points.toml")
OWN = 0.2, 0.6
"""What an invented sentence weighs, and a TOFU answer, which is taken twice: with and without its wrong answers."""
RIDGE, LEAST = 1.0, 0.05
BEFORE = [""] * 6 + ["In 2012 ", "As far as is known, ", "After the war ", "According to the file, "]
BEHIND = [""] * 6 + [" since 2004", " with a brother", " at the school on the hill", ", as the file says"]
BEHIND += [" for many years", " and has said so often", ", which is rarely told", " during the long winters"]
BEHIND += [". He was brought up by an aunt", ". She has told friends about it"]
OBJECTS = ("P1412", "learn", "at the Lorn Academy"), ("P101", "discuss", "at the Royal Hall of Graz")
OBJECTS += ("P641", "enjoy", "with the Harvedath Club"), ("P1303", "own", "in the house of an aunt")
NAMES = ["Mara", "Jon", "Ilse", "Viktor", "Noor", "Petra"], ["Hallgren", "Ruiz", "Adeyemi", "Kowal", "Moreau", "Sato"]


class Example(NamedTuple):
    """The candidates of an answer, which of them is right, and what the answer weighs."""

    spans: Sequence[SpanCandidate]
    right: int
    weight: float


def author(fact: Fact) -> int:
    return int(fact.cluster[-2:])


def example(question: str, answer: str, span: Span, weight: float, differs: frozenset[str] | None) -> Iterable[Example]:
    spans = candidates(question, answer, differs)
    yield from (Example(spans, at, weight) for at, one in enumerate(spans) if (one.start, one.end) == span)


def of_fact(fact: Fact, weight: float, aligned: bool) -> Iterable[Example]:
    span = Span(fact.entity_start, fact.entity_start + len(fact.entity))
    differs = changed(fact.paraphrased_answer or fact.answer, fact.perturbed_answers) if aligned else None
    return example(fact.question, fact.answer, span, weight, differs)


def invented() -> Iterable[Example]:
    """Sentences about invented people, with words around them; values are those of `properties.toml`."""
    draw, held = random.Random(0), embedded_toml("properties.toml")

    def said(question: str, template: str, value: str, before: str = "") -> Iterable[Example]:
        name = " ".join(map(draw.choice, NAMES))
        text = before + template.replace("HUMAN_SUBJECT", name).rstrip(".") + draw.choice(BEHIND) + "."
        start = text.index("PROTECTED_VALUE")
        span = Span(start, start + len(value))
        return example(question.format(n=name), text.replace("PROTECTED_VALUE", value), span, OWN[0], None)

    for one in held.values():
        for template in one["templates"]:
            for value in draw.sample(one["counterfactuals"], 2):
                asks = draw.choice(["What is {{n}}'s {}?", "What is the {} of {{n}}?", "Tell me the {} of {{n}}."])
                yield from said(asks.format(one["label"]), template, value, draw.choice(BEFORE))
    for key in ("P106", "P1412", "P101", "P1303", "P641"):  # a list is one entity
        for template in held[key]["templates"][:8]:
            first, second, third = draw.sample(held[key]["counterfactuals"], 3)
            value = f"{first}, {second}{draw.choice([' ', ', '])}and {third}"
            yield from said(f"What can be said of {{n}}'s {held[key]['label']}?", template, value)
    for key, verb, place in OBJECTS:
        for value in draw.sample(held[key]["counterfactuals"], 16):
            after = draw.choice(["", "", f" {place}", " in 1999", " twice a week"])
            asks, says = draw.choice([("does", f"{verb}s"), ("did", f"{verb}ed")])
            yield from said(f"What {asks} {{n}} {verb}?", f"HUMAN_SUBJECT {says} PROTECTED_VALUE{after}", value)
    for thing in ("cars", "languages", "houses", "dogs", "degrees", "grandchildren"):
        for number in draw.sample(["two", "three", "four", "5", "11"], 2):
            template = f"HUMAN_SUBJECT has PROTECTED_VALUE {thing}"
            yield from said(f"How many {thing} does {{n}} have?", template, number, draw.choice(BEFORE))
    for at, fact in enumerate(draw.sample(list(embedded()), 120)):
        yield from of_fact(fact, OWN[0], at % 2 == 0)


def fit(examples: Sequence[Example]) -> dict[str, float]:
    """Points under which the right candidates are likeliest: a softmax over the candidates of each answer."""
    counts = [Counter(span.marks) for one in examples for span in one.spans]
    marks = sorted({mark for count in counts for mark in count})
    place = {mark: at for at, mark in enumerate(marks)}
    cells = [(row, place[mark], number) for row, count in enumerate(counts) for mark, number in count.items()]
    rows, columns, values = zip(*cells, strict=True)
    matrix = csr_matrix((values, (rows, columns)), shape=(len(counts), len(marks)), dtype=float)
    sizes = [len(one.spans) for one in examples]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    owner, weight = np.repeat(np.arange(len(examples)), sizes), np.array([one.weight for one in examples])
    right = starts + np.array([one.right for one in examples])

    def loss(points: np.ndarray) -> tuple[float, np.ndarray]:
        score = matrix @ points
        score = score - np.maximum.reduceat(score, starts)[owner]
        total = np.add.reduceat(np.exp(score), starts)
        pull = matrix.T @ (np.exp(score) / total[owner] * weight[owner]) - matrix[right].T @ weight
        return -(weight * (score[right] - np.log(total))).sum() + RIDGE * points @ points / 2, pull + RIDGE * points

    points = minimize(loss, np.zeros(len(marks)), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return {mark: round(float(value), 2) for mark, value in zip(marks, points, strict=True) if abs(value) >= LEAST}


def measure(facts: Iterable[Fact], aligned: bool) -> str:
    """How many spans are exactly those of the annotated list, of all and of those called sure."""
    right: Counter[bool] = Counter()
    seen: Counter[bool] = Counter()
    for fact in facts:
        wrong = fact.perturbed_answers if aligned else ()
        found = find_entity(fact.question, fact.answer, fact.paraphrased_answer, wrong)
        sure = found is not None and not found.doubt
        seen[sure] += 1
        right[sure] += found is not None and found.span == (fact.entity_start, fact.entity_start + len(fact.entity))
    return f"{right.total()} of {seen.total()} exact; called sure {seen[True]}, of them exact {right[True]}"


data = Path(sys.argv[1])
marks = data / "uds" / "forget10_filtered.json"
facts = load_facts(data / "tofu", annotations=marks, only_annotated=True, retain="", holdout="").split("forget")
halves = {
    "fitted, authors 0, 2, ..": [fact for fact in facts if author(fact) % 2 == 0],
    "held out, authors 1, 3, ..": [fact for fact in facts if author(fact) % 2],
}
if "--fit" in sys.argv:
    half = next(iter(halves.values()))
    known = [one for fact in half for aligned in (False, True) for one in of_fact(fact, OWN[1], aligned)]
    table = fit([*known, *invented()])
    TABLE.write_text(
        "# Points of marks, made by `.ci/entity_points.py DATA --fit`; by hand nothing is changed here.\n\n[points]\n"
        + "".join(f'"{mark}" = {value}\n' for mark, value in table.items())
    )
for name, half in halves.items():
    for aligned in (False, True):
        print(f"{name}, {'with wrong answers' if aligned else 'question and answer'}: {measure(half, aligned)}")
