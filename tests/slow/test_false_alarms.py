"""How often a gate is red for honest models: retrained without what was to be forgotten, from seeds of their own.

`UDS_BENCH_ALARM_DRAWS` says over how many draws. Verdicts are kept, a line each, in the file that the page's table is
made of; a draw that stands there is not judged again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.retrained_masks import retrained_within_masks
from uds_bench.audits.association.audit import read
from uds_bench.audits.association.claims import MARGIN
from uds_bench.audits.association.commands import opened
from uds_bench.audits.association.controls import most_above
from uds_bench.audits.association.section import Association
from uds_bench.audits.association.zoo.recipes import MANY
from uds_bench.facts.exposed_people import Cohorts, embedded_people, requests

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "false_alarms.md"
KEPT = PAGE.with_suffix(".jsonl")
ALLOWED = 0.05
"""Share of honest models that a claim may redden; above it the claim is to be made anew."""
AUDITS = ("depth", "association", "bypass", "lmlm", "localization")
FIRST = {audit: int(audit != "depth") for audit in AUDITS}
"""The first draw; elsewhere than in depth draw 0 would be the shipped models themselves."""
NEVER_SEEN = 150
"""People of whom no model of association heard. With 80, an honest model was within the margin 92 times in 100."""
RIGHTLY_RED = {"another_base", "lmlm.residual.noise", "lmlm.residual_anyway.noise"}
"""Told, and not held to the bound: patching reads no model of another base, and a release is of the full model's. Rows
that are called after a deleted subject still answer for it, whatever the weights hold."""


@dataclass(frozen=True)
class Verdict:
    """What a claim came to of one honest model of a draw. `judged`: which kind of model it is."""

    audit: str
    draw: int
    judged: str
    claim: str
    verdict: str
    cause: str | None
    message: str


@dataclass(frozen=True)
class Share:
    """How many draws there are, and in how many of them a claim was red."""

    fails: int
    undecided: int
    draws: int

    @property
    def red(self) -> int:
        return self.fails + self.undecided


def model(name: str, draw: int) -> str:
    return f'"zoo:{name}@{draw}"' if draw else f'"specimen:{name}"'


def manifest(audit: str, draw: int, folder: Path) -> str:
    """References of a draw and honest models of other seeds, some of which are made in `folder`. Draw 0 is the shipped
    one."""
    if audit == "depth":
        return f"""
            [facts]
            source = "authors"
            [references]
            full = {model("full", draw)}
            retain = {model("retain", draw)}
            [candidates]
            another_seed = {model("retain2", draw)}
            another_base = {model("retain", draw + 1)}
        """
    if audit == "association":
        # References are of draw 0: of each draw the candidate is trained from scratch.
        everybody = embedded_people(Cohorts(well_known=MANY, never_seen=NEVER_SEEN))
        rows = [
            {"id": one.id, "name": one.name, "cohort": one.cohort, "facts": [asdict(said) for said in one.statements]}
            for one in everybody
        ]
        (folder / "people.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return f"""
            [association]
            subjects = "{folder}/people.jsonl"
            forgotten = {json.dumps(requests(everybody))}
            model = "zoo:assoc_full_of_many"
            retain = "zoo:assoc_retain_of_many"
            templates = 2
            counterfactuals = 100
            similar_names = 2
            held_out = [3, 4, 6]
            attacks = {{ nf4 = {{}} }}
            [association.candidates]
            another_seed = "zoo:assoc_retain_of_many@{draw}"
        """
    if audit == "lmlm":
        return f"""
            [lmlm]
            models = {{ another_seed = "zoo:lmlm@{draw}", lmlm_leaky = "specimen:lmlm_leaky" }}
            must_fail = ["lmlm_leaky"]
            retriever = {{ kind = "dense", threshold = 0.6, top_k = 5, fallback = ["unknown", "top1_anyway"] }}
        """
    if audit == "localization":
        retrained_within_masks(folder / f"retrained{draw}", draw)
        return f"""
            [localization]
            pretrained = "specimen:loc_pretrained"
            injected = "specimen:loc_injected"
            masks = "specimen:loc_injected"
            neutral = "specimen:loc_neutral"
            must_pass = ["another_seed"]
            subsample = 20000
            attempts = 50
            [localization.candidates]
            another_seed = "{folder}/retrained{draw}"
        """
    return f"""
        [bypass]
        forget = 40
        retain = 10
        holdout = 10
        must_fail = ["memorized"]
        must_pass = ["retrained"]
        [bypass.models]
        memorized = "specimen:bypass_memorized"
        retrained = "specimen:bypass_retrained"
        another_seed = "zoo:bypass_retrained@{draw}"
    """


def judge(audit: str, draw: int, folder: Path) -> Iterator[Verdict]:
    """What a user sees: the suite's run of these models."""
    text, report = folder / f"{audit}{draw}.toml", folder / f"{audit}{draw}.json"
    text.write_text("\n".join(line.strip() for line in manifest(audit, draw, folder).splitlines()))
    known = {
        key: value for key, value in os.environ.items() if not key.startswith(("UDS_BENCH_ALARM", "PYTEST_", "CI"))
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"suites/test_{audit}.py"]
    command += ["-m", "not laboratory", "--uds-manifest", str(text)]
    command += ["--uds-json", str(report), "--uds-store", str(folder / "store")]
    done = subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    for one in json.loads(report.read_text())["claims"]:
        # Only depth has references of each draw, of which claims speak as well; depth.frozen speaks of no model.
        if one["verdict"] != "not applicable" and (one["subject"] or (audit == "depth" and one["provenance"])):
            judged = one["subject"] or "the references"
            yield Verdict(audit, draw, judged, one["id"], one["verdict"], one["cause"], one["message"])


def kept(place: Path) -> list[Verdict]:
    return [Verdict(**json.loads(line)) for line in place.read_text().splitlines()] if place.exists() else []


def judge_and_keep(audit: str, draw: int, folder: Path, place: Path) -> None:
    if not any((one.audit, one.draw) == (audit, draw) for one in kept(place)):
        lines = [json.dumps(asdict(one)) for one in judge(audit, draw, folder)]
        with place.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))


def shares(found: list[Verdict]) -> dict[tuple[str, str], Share]:
    """By claim and kind of model."""
    said: dict[tuple[str, str], list[str]] = {}
    for one in sorted(found, key=lambda one: (AUDITS.index(one.audit), one.draw)):
        said.setdefault((one.claim, one.judged), []).append(one.verdict)
    return {key: Share(all.count("fail"), all.count("undecided"), len(all)) for key, all in said.items()}


def rows(found: list[Verdict]) -> list[str]:
    """The page's table, a line each."""
    lines = []
    for (claim, judged), one in shares(found).items():
        low, high = binomtest(one.red, one.draws).proportion_ci(method="exact")
        counts = f"{one.draws} | {one.fails} | {one.undecided} | {one.red / one.draws:.2f} ({low:.2f}..{high:.2f})"
        lines.append(f"| `{claim}` | {judged.replace('_', ' ')} | {counts} |")
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("audit", AUDITS)
def test_few_honest_models_are_red(audit: str, tmp_path: Path) -> None:
    place = Path(os.environ.get("UDS_BENCH_ALARMS") or tmp_path / "alarms.jsonl")
    for draw in range(int(os.environ.get("UDS_BENCH_ALARM_DRAWS", "1"))):
        judge_and_keep(audit, draw + FIRST[audit], tmp_path, place)
    found = [one for one in kept(place) if one.audit == audit]
    print("\n".join(rows(found)))
    counted = shares([one for one in found if RIGHTLY_RED.isdisjoint((one.judged, one.claim))])
    assert counted
    assert {key: one for key, one in counted.items() if one.red > ALLOWED * one.draws} == {}


SPLITS = 50
"""How often those who ask are drawn anew among people of whom a model has heard nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["asked", "held out"])
def test_other_people_of_an_honest_model_are_seldom_red(way: str, tmp_path: Path) -> None:
    """To a model that never saw them, those who ask and the never-seen are alike, so that either may ask."""
    section = Association(model="specimen:assoc_retain", templates=2, counterfactuals=100, held_out=(3, 4, 6))
    view = opened(section, read(section), ["model"], tmp_path / "store", "cpu").ways[way]
    held, rows = view.of().held, [*view.sides.requested, *view.sides.never_seen]
    people, draw = list(dict.fromkeys(one.cluster for one in rows)), np.random.default_rng(0)
    asking, red = len(view.sides.forgotten), 0
    for _ in range(SPLITS):
        chosen = set(draw.permutation(people)[:asking])
        sides = [[one for one in rows if (one.cluster in chosen) is asks] for asks in (True, False)]
        red += most_above(*sides, held, by_any=way == "asked")[1].interval.high > MARGIN
    print(f"{way}: {red} of {SPLITS} red")
    assert red <= ALLOWED * SPLITS


def test_the_page_tells_what_was_counted() -> None:
    assert [line for line in PAGE.read_text().splitlines() if line.startswith("| `")] == rows(kept(KEPT))
