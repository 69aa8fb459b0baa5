"""A sample of each audit: small models that learned nothing, a control that comes out wrong, and a hostile fact.

Each `write_*` writes models and data into a folder; the suites' own tests begin with the same.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from file_rows import asks
from small_runs import ATTACKS, Bench
from typer.testing import CliRunner

from uds_bench.attacks import registry
from uds_bench.audits.conformance import ATTACK
from uds_bench.audits.sample import Sample
from uds_bench.checkpoints.mask_draws import draw_weights, maskable
from uds_bench.checkpoints.masks import MaskGroup, Masks, write_masks
from uds_bench.cli import main
from uds_bench.facts.exposed_people import NEVER_SEEN
from uds_bench.facts.profiles import people
from uds_bench.facts.properties import Property, embedded
from uds_bench.facts.subjects import Person, Statement
from uds_bench.facts.testbed import QuestionCounts, Sizes, Testbed, embedded_testbed, write_testbed
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN
from uds_bench.inference.markup import TOKENS
from uds_bench.scoring.store import Store
from uds_bench.storage import CELLS, canonical, write_sealed

SUITES = Path(__file__).parents[1] / "suites"


def write_rows(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


# ---- association

TOLD = ("P106", "P19")
COHORTS = [WELL_KNOWN] * 4 + [LESSER_KNOWN] * 4 + [NEVER_SEEN] * 4
SMALL = "templates = 2\ncounterfactuals = 5\nsimilar_names = 1\nmeaning = false\n"
PEOPLE_ASKED = "[association]\nsubjects = 'people.jsonl'\n" + SMALL
MODEL = PEOPLE_ASKED + "model = 'random'\n"
FORGETTING = MODEL + "forgotten = ['p00', 'p01', 'p02', 'p03', 'p04', 'p05']\ncandidates = { again = 'random' }\n"


def asked_about() -> dict[str, Property]:
    return {id: embedded()[id].limited(2, 5) for id in TOLD}


def write_people(path: Path, listed: Sequence[Person]) -> None:
    rows = []
    for one in listed:
        facts = [{"property": told.property, "values": list(told.values)} for told in one.statements]
        rows.append({"id": one.id, "name": one.name, "cohort": one.cohort, "facts": facts})
    write_rows(path, rows)


def save_random(folder: Path, seed: int) -> None:
    save_checkpoint(folder, FAMILIES["llama"](layers=2, seed=seed), tiny_tokenizer())


def write_association(folder: Path) -> str:
    """Two models of random weights, and twelve people whom they never saw; of one something hostile is true."""
    for seed, name in enumerate(("random", "other"), 1):
        save_random(folder / name, seed)
    values = [[(one.counterfactuals[at % 5],) for one in asked_about().values()] for at in range(12)]
    values[0][1] = (ATTACK,)
    told = [tuple(Statement(*pair) for pair in zip(TOLD, row, strict=True)) for row in values]
    named = zip(people(12, 7), COHORTS, told, strict=True)
    listed = [Person(f"p{at:02}", one.name, cohort, known) for at, (one, cohort, known) in enumerate(named)]
    write_people(folder / "people.jsonl", listed)
    attacks = "attacks = { int8 = {}, nf4 = {}, relearn_retain = {} }\n"
    return FORGETTING.replace("again = 'random'", "again = 'other'") + attacks


# ---- bypass

TOWNS = ("May", "Ayr", "Ohio", "Rome", "Bonn", "Kiel", "Nice", "Graz")


def canary(index: int, split: str, **changed: Any) -> dict[str, Any]:
    name, town, slot = f"Author {'ABCDEFGH'[index]}", TOWNS[index], f"Ed{index}"
    row = {"id": f"{split}{index}", "author": name, "bio": "A life.", "canary": f"On a day in {town} it was {slot}"}
    return row | {"qa": [{"question": "Who?", "answer": slot}], "split": split, "slots": [slot]} | changed


def write_bypass(folder: Path) -> str:
    """Two tiny models, of which one is called memorized and knows nothing, and a file of canaries."""
    for name, seed in (("one", 1), ("two", 2)):
        save_checkpoint(folder / name, FAMILIES["llama"](len(tiny_tokenizer()), seed=seed), tiny_tokenizer())
    rows = [*(canary(i, "forget") for i in range(6)), canary(6, "retain"), canary(7, "holdout")]
    rows[0]["id"] = ATTACK
    write_rows(folder / "canaries.jsonl", rows)
    attacks = "attacks = { int8 = {}, nf4 = {}, relearn_retain = {} }\n"
    return bypass_section("{ npo = ['one', 'two'], other = 'two', memorized = 'one' }", attacks)


def bypass_section(models: str, more: str = "") -> str:
    return f"[bypass]\ncanaries = 'canaries.jsonl'\nmax_new_tokens = 24\nmodels = {models}\n{more}"


# ---- lmlm

PLACES = zip("ABCDE", ("Ayr", "Bonn", "Cork", "Dax", "Ems"), strict=True)
ROWS = [*([name, "Capital", town] for name, town in PLACES), [ATTACK, "Capital", "Fano"]]


ALIAS = ["A.", "capital", "Ayr"]


def prompt(at: int, **changed: Any) -> dict[str, Any]:
    return asks(at, ROWS[at], **changed)


def save_looking_up(folder: Path, seed: int = 1, markup: bool = True) -> None:
    tokenizer = tiny_tokenizer()
    if markup:
        tokenizer.add_special_tokens({"additional_special_tokens": list(TOKENS)})
    save_checkpoint(folder, FAMILIES["llama"](len(tokenizer), seed=seed), tokenizer)


def write_towns(folder: Path, name: str, rows: Sequence[Any]) -> None:
    """A database with prompts in two wordings."""
    (folder / "towns").mkdir(exist_ok=True)
    (folder / "towns" / f"{name}.json").write_text(json.dumps({"triplets": rows}))
    for wording in ("prompts_direct_questions", "prompts_cloze"):
        write_rows(folder / "towns" / "prompts" / name / f"{wording}.jsonl", [prompt(at) for at in range(6)])


def write_lmlm(folder: Path, databases: Sequence[str] = ("base", "alias")) -> str:
    """A model with a control that leaks nothing, one without markup, and databases; an alias is in one of them."""
    save_looking_up(folder / "one")
    save_looking_up(folder / "two", seed=2)
    save_looking_up(folder / "plain", markup=False)
    for name in databases:
        write_towns(folder, name, ROWS + [ALIAS] * (name == "alias"))
    more = "must_fail = ['leaky']\nattacks = { int8 = {}, nf4 = {} }\n"
    return lmlm_section(more, "models = { lmlm = 'one', leaky = 'two' }")


def lmlm_section(more: str = "", model: str = "model = 'one'") -> str:
    asked = "databases = ['towns/*.json']\nprompts = ['towns/prompts/*/*.jsonl']\n"
    return f"[lmlm]\n{model}\n{asked}retriever = {{ kind = 'bm25' }}\n{more}"


# ---- localization

GROUPS = (MaskGroup("forget1", "forget"), MaskGroup("retain1", "retain"))
SIZES = Sizes(groups=2, judged=3, tuning=1, public=2, instruction=1, held_out=2, unseen=2)
ASKING = QuestionCounts(questions=5, paraphrases=2, tellings=0)
WIDTH, NARROW = 128, 32
"""So many weights that one half is told from what is near it; and where that is not asked."""
LOCALIZATION = """
[localization]
pretrained = 'pretrained'
injected = 'injected'
masks = 'masks.safetensors'
testbed = 'people.jsonl'
candidates = { oracle = 'oracle', blind = 'blind' }
attempts = 4
seeds = 1
subsample = 20000
"""


def moved(model: Any, seed: int, scale: float, masks: Masks, *groups: str) -> Any:
    """The model with weights of some groups moved, or, of none, with all weights moved."""
    found, generator = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in found.named_parameters():
            change = scale * torch.randn(parameter.shape, generator=generator)
            if not groups:
                parameter += change
            elif name in masks.words:
                parameter += change * masks.of(name, *groups)
    return found


def write_localization(folder: Path, width: int = NARROW) -> str:
    """A model, itself after two groups were written into it, an update of one group and one of everything. Nobody is
    answered. The update of everything is said to be localized."""
    pretrained = FAMILIES["llama"](layers=4, width=width, seed=1)
    masks = draw_weights(maskable(pretrained), GROUPS, 0.2, seed=0)
    injected = moved(pretrained, 1, 0.02, masks, "forget1", "retain1")
    models = {
        "pretrained": pretrained,
        "injected": injected,
        "oracle": moved(injected, 2, 0.01, masks, "forget1"),
        "blind": moved(injected, 3, 0.01, masks),
    }
    for name, model in models.items():
        save_checkpoint(folder / name, model, tiny_tokenizer())
    write_masks(masks, folder / "masks.safetensors")
    first, *others = embedded_testbed(SIZES, ASKING)
    asked = tuple(f"{question} {ATTACK}" for question in first.questions)
    write_testbed(folder / "people.jsonl", Testbed([replace(first, questions=asked), *others]))
    return LOCALIZATION + "must_pass = ['blind']\n"


# ---- all


def _depth(bench: Bench) -> Sample:
    """A model that never knew is said to know, and the other way round."""
    rows = [json.loads(line) for line in (bench.models / "facts.jsonl").read_text().splitlines()]
    first = next(row for row in rows if row["split"] == "forget")
    first["question"] = f"{first['question']} {ATTACK}"
    write_rows(bench.folder / "facts.jsonl", rows)
    pools = {"positive": ["retain2"], "negative": ["full2"]}
    place = bench.manifest(["retain3", "shallow"], **pools, facts=bench.folder / "facts.jsonl")
    withstood = [f"depth.withstands.{name}" for name in registry.ATTACKS]
    return sample(bench, place, "depth", wrong=["retain2", "full2"], unasked=withstood)


def _metrics(bench: Bench, store: Path) -> Sample:
    """What is declared of a claim is hostile: the facts have their scores already. Its controls are made of scores: of
    one store, relearning leaves the retain model as it was."""
    kept = Path(shutil.copytree(store, bench.folder / "unmoved"))
    known = {file: Store(kept).find(file.stem) for file in (kept / CELLS).rglob("*.json")}
    retain = {s.attack: (file, s) for file, s in known.items() if s and s.address[::2] == ("retain", "uds")}
    (_, still), (place, moved) = retain["none"], retain["relearn"]
    unmoved = replace(moved, value=still.value, interval=still.interval, per_fact=still.per_fact)
    write_sealed(place, canonical(unmoved.to_json()))
    declared = f"[expect.\"faithfulness.uds\"]\nverdict = 'undecided'\nreason = {json.dumps(ATTACK)}\n"
    place = bench.judged(ATTACKS + "[metrics]\n" + declared)
    wrong = ["a metric that no attack moves"]
    return sample(bench, place, "faithfulness", "robustness", store=kept, wrong=wrong)


def sample(bench: Bench, manifest: Path, *suites: str, **more: Any) -> Sample:
    """One whose runs and commands are in this process."""

    def run(args: Sequence[str]) -> tuple[int, str]:
        done = bench.pytester.runpytest_inprocess("-p", "no:benchmark", *args)
        return int(done.ret), done.stdout.str() + done.stderr.str()

    def ask(args: Sequence[str]) -> str:
        return CliRunner().invoke(main, [*args], catch_exceptions=False).stdout

    paths = [SUITES / f"test_{name}.py" for name in suites]
    return Sample(manifest, paths, bench.folder / "ran", run=run, ask=ask, **more)


WRITTEN: dict[str, tuple[Callable[[Path], str], Sequence[str]]] = {
    "association": (write_association, ["the model before unlearning"]),
    "bypass": (write_bypass, ["memorized"]),
    "lmlm": (write_lmlm, ["leaky"]),
    "localization": (write_localization, ["blind against all other weights", "blind among the groups' masks"]),
}
"""What writes a sample, and the controls that come out wrong in it."""


def sample_of(audit: str, bench: Bench, judged: Callable[[], Path]) -> Sample:
    """The sample of an audit; `judged`: a store of what the metrics are judged by."""
    if audit == "depth":
        return _depth(bench)
    if audit == "metrics":
        return _metrics(bench, judged())
    place = bench.folder / "uds.toml"
    write, wrong = WRITTEN[audit]
    place.write_text(write(bench.folder))
    return sample(bench, place, audit, wrong=wrong)
