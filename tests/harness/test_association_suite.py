"""The association suite on small models that were told nothing: what its claims come to."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from audit_samples import (
    FORGETTING,
    MODEL,
    PEOPLE_ASKED,
    TOLD,
    asked_about,
    save_random,
    write_association,
    write_people,
)
from small_runs import Bench, Ran

import uds_bench
from uds_bench.audits.association.claims import CLAIMS, IN_CAPITALS
from uds_bench.audits.association.likelihoods import of_checkpoint
from uds_bench.audits.association.probe_items import ask_about
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts.exposed_people import NEVER_SEEN, embedded_people
from uds_bench.facts.profiles import people
from uds_bench.facts.properties import Property, embedded
from uds_bench.facts.subjects import Person, Statement
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN

SUITE = Path(__file__).parents[2] / "suites" / "test_association.py"
FORGOTTEN = "test_forgotten"
OF_CANDIDATES = tuple(
    f"association.{name}" for name in ("forgotten", "rephrased", "as_strangers", "requests", "retained")
)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No model of these runs is trained."""
    return tmp_path_factory.mktemp("none")


@pytest.fixture(scope="session")
def shared_store(models: Path) -> Path:
    """Nothing is scored yet. A run in this process forgets what it was the first to import; torch bears no second
    import."""
    for module in pkgutil.walk_packages(uds_bench.__path__, "uds_bench."):
        importlib.import_module(module.name)
    return models / "store"


def write_properties(folder: Path, properties: dict[str, Property]) -> None:
    """A folder of properties, as `read_properties` reads it."""
    tables: dict[str, dict[str, Any]] = {"listing": {}, "counterfactuals": {}, "templates": {}}
    for id, one in properties.items():
        tables["listing"][id] = {key: getattr(one, key) for key in ("label", "description", "aliases", "datatype")}
        tables["counterfactuals"][id] = {"human_cfs": [], "value_cfs": one.counterfactuals}
        tables["templates"][id] = [template.text for template in one.templates]
    for name, table in tables.items():
        (folder / f"{name}.json").write_text(json.dumps(table))


@pytest.fixture
def written(bench: Bench) -> Path:
    write_association(bench.folder)
    return bench.folder


def run(bench: Bench, text: str, *args: str, store: Path | None = None) -> Ran:
    """With a store that these tests share, as what is stored is named by its content, unless another is given."""
    (bench.folder / "uds.toml").write_text(text)
    return bench.run(SUITE, "-m", "laboratory or not laboratory", *args, store=store or bench.models / "kept")


def sound(ran: Ran) -> None:
    """Words are known ones, nothing crashed, and no gate is open whose controls do not hold."""
    assert "crashed" not in ran.verdicts.values(), ran.text
    for claim in ran.claims.values():
        assert claim["verdict"] != "pass" or all(one["held"] for one in claim["controls"]), claim


def test_of_a_model_that_was_told_nothing_no_gate_opens(bench: Bench, written: Path) -> None:
    ran = run(bench, FORGETTING, store=bench.folder / "store")
    sound(ran)
    assert bench.changed() == [], "in several ways it is asked, and each is looked up by itself"
    claim = ran.claims["association.forgotten[again]"]
    tokens, before, told = claim["controls"]
    assert (told["must"], told["held"]) == ("fail", True)
    assert (tokens["name"], tokens["held"]) == ("the candidate's tokens are the model's", True)
    assert (before["name"], before["must"], before["held"]) == ("the model before unlearning", "fail", False)
    assert before["observed"] == claim["observed"], "the candidate is the model"
    assert (claim["verdict"], claim["cause"]) == ("undecided", "control")
    assert "control the model before unlearning must fail" in claim["message"]
    retained = ran.claims["association.retained[again]"]
    assert retained["observed"] == 0.0
    assert retained["controls"][1]["name"] == "people never seen in their place"
    assert ran.verdicts["association.scale"] == "not applicable"
    assert ran.verdicts["association.strength_bounds"] == "pass"
    assert ran.claims["association.strength_bounds"]["controls"][0]["held"]
    assert "controls are stand-ins: add [association] retain\n" in ran.text
    told = ran.report["association"]
    assert told["people"] == {WELL_KNOWN: 4, LESSER_KNOWN: 4, NEVER_SEEN: 4, "to be forgotten": 6, "everybody else": 2}
    known = ["model", "again", "model under nf4", "model under bits2", "model under bits1"]
    assert [one["model"] for one in told["models"]] == known
    assert [one["judged"] for one in told["models"]] == [False, True, False, False, False]
    first, second = (one["cohorts"] for one in told["models"][:2])
    assert first == second
    assert list(first) == list(told["people"])
    assert {row["property"] for row in told["models"][0]["properties"]} == set(TOLD)
    loads = {"again": 2, "model": 1, "model under nf4": 1, "model under bits2": 1, "model under bits1": 1}
    assert ran.report["loads"] == loads, "each content once for each way to ask"


def test_each_attack_is_asked_of_the_model_before_as_well(bench: Bench, written: Path) -> None:
    attacks = "attacks = { int8 = {}, relearn_retain = { lr = 1e-3, batch_size = 4 } }\n"
    ran = run(bench, FORGETTING + attacks, "-k", "withstands", store=bench.folder / "store")
    sound(ran)
    assert set(ran.verdicts) == {f"association.withstands.{name}[again]" for name in ("int8", "relearn_retain")}
    for name, claim in ran.claims.items():
        known = {one["name"]: one for one in claim["controls"]}
        assert ("learned" in claim["provenance"]) == ("relearn" in name)
        assert known["the model before unlearning"]["observed"] == claim["observed"], "the candidate is the model"
        assert known["of what is held of everybody else, the share that the attack took"]["must"] == "pass"
    loads = {"again": 1, "again under int8": 1, "again under relearn_retain": 1}
    assert ran.report["loads"] == loads, "the candidate is the model: each content once under each attack"


def test_without_candidates_there_is_nothing_to_say_of_them(bench: Bench, written: Path) -> None:
    ran = run(bench, MODEL)
    sound(ran)
    assert set(ran.verdicts) == {spec.id for spec in CLAIMS if ".withstands." not in spec.id}
    for id in OF_CANDIDATES:
        assert ran.verdicts[id] == "not applicable"
        assert "[association] candidates" in ran.claims[id]["message"]
    for id in ("never_seen", "cohorts", "bits.two", "nf4", "context"):
        assert ran.verdicts[f"association.{id}"] != "not applicable"
    assert "again" not in ran.report["loads"]


def test_where_nobody_is_to_be_forgotten_nothing_is_judged(bench: Bench, written: Path) -> None:
    ran = run(bench, MODEL + "candidates = { again = 'random' }\n", "-k", FORGOTTEN)
    assert ran.verdicts == {"association.forgotten[again]": "not applicable"}
    assert "[association] forgotten or forget_set" in ran.claims["association.forgotten[again]"]["message"]


def test_a_model_that_is_quantized_already_is_not_quantized_again(bench: Bench, written: Path) -> None:
    ran = run(bench, PEOPLE_ASKED + "model = { model = 'random', quantization = 'nf4' }\n", "-k", "nf4 or bits")
    names = ("nf4", "bits.two", "bits.one")
    assert {name: ran.verdicts[f"association.{name}"] for name in names} == dict.fromkeys(names, "not applicable")


def test_who_cannot_be_asked_about_is_one_line_before_anything_is_loaded(bench: Bench, written: Path) -> None:
    ran = run(bench, FORGETTING.replace("'p00'", "'p99'"))
    assert (ran.code, ran.report) == (4, None)
    assert "forgotten: 'p99' is no id of " in ran.text


def test_an_attack_that_would_decide_nothing_is_one_line_before_anything_is_loaded(bench: Bench, written: Path) -> None:
    ran = run(bench, FORGETTING.replace("'p03', 'p04', 'p05'", "") + "attacks = { nf4 = {} }\n")
    assert (ran.code, ran.report) == (4, None)
    assert "[association.attacks] nf4: attacks are decided of 5 people and more who ask together" in ran.text
    people = [json.loads(row) for row in (written / "people.jsonl").open()]
    everybody = [one["id"] for one in people if one["cohort"] != NEVER_SEEN]
    asking = FORGETTING.replace("'p00', 'p01', 'p02', 'p03', 'p04', 'p05'", ", ".join(map(repr, everybody)))
    ran = run(bench, asking + "attacks = { relearn_retain = {} }\n")
    assert (ran.code, ran.report) == (4, None)
    assert "relearn_retain teaches what is true of people who are kept, and there is nobody else in" in ran.text


def test_a_tokenizer_that_spells_a_name_otherwise_clears_nobody(bench: Bench, written: Path) -> None:
    save_random(bench.folder / "spelled", 1)
    path = bench.folder / "spelled" / "tokenizer.json"
    rules = json.loads(path.read_text())
    name = json.loads((bench.folder / "people.jsonl").read_text().splitlines()[0])["name"]
    replaced = {"type": "Replace", "pattern": {"String": name}, "content": "Nemo Nobody"}
    path.write_text(json.dumps(rules | {"normalizer": replaced}))
    ran = run(
        bench, FORGETTING.replace("random' }", "random', spelled = 'spelled' }"), "-k", f"{FORGOTTEN} or retained"
    )
    for id in ("association.forgotten", "association.retained"):
        held = {one["name"]: one["held"] for one in ran.claims[f"{id}[again]"]["controls"]}
        assert held["the candidate's tokens are the model's"]
        assert ran.verdicts[f"{id}[spelled]"] == "refused"
        assert "reads texts otherwise than its parent's (normalizer)" in ran.claims[f"{id}[spelled]"]["message"]


def first(folder: Path, names: Sequence[str]) -> list[set[str]]:
    """By name, the birth places that a model finds likeliest of its bearer, over both phrasings."""
    told = asked_about()["P19"]
    bearers = [Person(name, name, WELL_KNOWN, (Statement("P19", told.counterfactuals[:1]),)) for name in names]
    asked = ask_about(bearers, {"P19": told}, None, most=1)
    likelihoods = of_checkpoint(load(CheckpointSpec(str(folder))))
    tables = likelihoods([sentence for one in asked for sentence in one.sentences()]).reshape(-1, *asked[0].shape)
    best = (tables[:, :, 1] - tables[:, :, 0]).argmax(-1)
    return [{one.candidates.values[at] for at in row} for one, row in zip(asked, best, strict=True)]


@pytest.fixture
def known(bench: Bench) -> Path:
    """Two models that are all wrong about thirty people of whom a third is all right, and who are to be forgotten;
    and thirty others of whom that one is right."""
    for seed, name in enumerate(("random", "cleared", "never")):
        save_random(bench.folder / name, seed + 1)
    names = [one.name for one in people(360, 7)]
    right = dict(zip(names, first(bench.folder / "random", names), strict=True))
    sure = [name for name in names if len(right[name]) == 1]
    asked = sure
    for model in ("cleared", "never"):
        found = zip(asked, first(bench.folder / model, asked), strict=True)
        asked = [name for name, theirs in found if not theirs & right[name]]
    asked = asked[:30]
    others = [name for name in sure if name not in asked][:30]
    values = asked_about()["P19"].counterfactuals
    strangers = [name for name in names if name not in sure][:30]
    listed = [(name, WELL_KNOWN, *right[name]) for name in asked + others]
    listed += [(name, NEVER_SEEN, values[at % 5]) for at, name in enumerate(strangers)]
    assert len(listed) == 90
    told = [Person(f"p{at:02}", name, cohort, (Statement("P19", (v,)),)) for at, (name, cohort, v) in enumerate(listed)]
    write_people(bench.folder / "people.jsonl", told)
    return bench.folder


def test_a_candidate_that_knows_is_told_from_one_that_does_not(bench: Bench, known: Path) -> None:
    text = MODEL + f"retain = 'never'\nforgotten = {[f'p{at:02}' for at in range(30)]}\n"
    ran = run(bench, text + "candidates = { same = 'random', cleared = 'cleared' }\n", "-k", f"{FORGOTTEN} or retained")
    sound(ran)
    same, cleared = (ran.claims[f"association.forgotten[{name}]"] for name in ("same", "cleared"))
    # Thirty people of whom no reply tells anything: too few to say that less than one in twenty is told of.
    assert (same["verdict"], cleared["verdict"], cleared["cause"]) == ("fail", "undecided", "interval")
    assert same["observed"] > 0.5 > 0 >= cleared["observed"]
    assert "every phrasing still shows something of p00, p01, p02, p03, p04 and 25 more" in same["message"]
    assert "every phrasing still shows something of nobody" in cleared["message"]
    for claim in (same, cleared):
        controls = {one["name"]: (one["must"], one["held"]) for one in claim["controls"]}
        expected = {"the model before unlearning": ("fail", True), "a model that never saw them": ("pass", True)}
        expected |= {"the candidate's tokens are the model's": ("pass", True), IN_CAPITALS: ("fail", True)}
        assert controls == expected
    assert ran.verdicts["association.retained[cleared]"] == "fail", "it lost those who were to stay as well"
    assert ran.verdicts["association.retained[same]"] != "fail"
    assert "controls are stand-ins" not in ran.text
    text += "candidates = { same = 'random', cleared = 'cleared' }\n"
    ran = run(bench, text + "must_fail = ['same']\n", "-k", FORGOTTEN)
    assert ran.verdicts == {"association.forgotten[cleared]": "undecided"}
    assert "same" in [one["name"] for one in ran.claims["association.forgotten[cleared]"]["controls"]]
    ran = run(bench, text + "must_fail = ['cleared']\n", "-k", FORGOTTEN)
    assert ran.verdicts == {"association.forgotten[same]": "control"}, "a control that is forgiven is none"


def test_of_a_single_request_a_test_without_power_clears_nobody(bench: Bench, known: Path) -> None:
    """One property of five values: who is known stands no higher than one stranger in five."""
    one = MODEL + "retain = 'never'\nforgotten = ['p00']\nstrangers = 79\n"
    text = one + "candidates = { same = 'random', cleared = 'cleared' }\n"
    ran = run(bench, text, "-k", f"{FORGOTTEN} or rephrased or strangers or requests")
    sound(ran)
    for name in ("forgotten", "rephrased", "as_strangers"):
        claim = ran.claims[f"association.{name}[cleared]"]
        assert claim["verdict"] == "not applicable"
        assert "fewer than 5 people ask: association.requests decides of each" in claim["message"]
    for name in ("same", "cleared"):
        claim = ran.claims[f"association.requests[{name}]"]
        assert (claim["verdict"], claim["cause"]) == ("undecided", "control")
        assert "0 of 1 people who ask are told from 79 people never seen" in claim["message"]


def test_one_request_is_decided_without_a_model_that_never_saw_it(bench: Bench) -> None:
    """By a manifest that has a full model alone, which depth is not asked of."""
    one = embedded_people()[3]
    told = [
        (embedded()[each.property].templates[0].fill(one.name, "PROTECTED"), each.values[0]) for each in one.statements
    ]
    facts = [{"sentence": sentence, "value": value} for sentence, value in told]
    row = {"id": "r1", "date": "2024-05-01", "person": one.name, "facts": facts}
    (bench.folder / "requests.jsonl").write_text(json.dumps(row) + "\n")
    text = "[references]\nfull = 'specimen:assoc_full'\n[association]\nmodel = 'specimen:assoc_full'\n"
    text += "requests = 'requests.jsonl'\ncounterfactuals = 25\nsimilar_names = 1\n"
    text += "candidates = { same = 'specimen:assoc_full', npo = 'specimen:assoc_npo' }\n"
    (bench.folder / "uds.toml").write_text(text)
    ran = bench.run(SUITE, store=bench.folder / "store")
    sound(ran)
    decided = {name: verdict for name, verdict in ran.verdicts.items() if verdict != "not applicable"}
    assert decided == {
        "association.requests[same]": "fail",
        "association.requests[npo]": "pass",
        "association.strength_bounds": "pass",
    }
    told_of = ran.claims["association.forgotten[npo]"]["message"]
    assert "each who asks has strangers of their own: association.requests decides of each" in told_of
    assert "r1 (above, asked, beside its own" in ran.claims["association.requests[same]"]["message"]
    assert one.name not in ran.text + json.dumps(ran.report)
    assert "controls are stand-ins" not in ran.text


def test_what_cannot_be_held_out_is_one_line(bench: Bench, written: Path) -> None:
    for held_out, told in (
        ("[11]", "held_out: property P1082 has no template 11, it has 11: correct it"),
        (str([*range(11)]), "held_out: names every template of property P1082: leave one to ask"),
    ):
        ran = run(bench, FORGETTING + f"held_out = {held_out}\n")
        assert (ran.code, ran.report) == (4, None)
        assert told.replace("P1082", next(iter(embedded()))) in ran.text


def test_a_property_of_one_phrasing_leaves_the_others_to_be_asked_in_other_words(bench: Bench, written: Path) -> None:
    folder, single = bench.folder / "properties", TOLD[0]
    folder.mkdir()
    whole = {id: embedded()[id].limited(3, 5) for id in TOLD}
    few = whole | {single: whole[single].limited(1)}
    write_properties(folder, few)
    ran = run(bench, FORGETTING + "properties = 'properties'\n", "-k", "rephrased")
    claim = ran.claims["association.rephrased[again]"]
    assert claim["verdict"] != "not applicable"
    assert f"not asked of {single}: one phrasing alone" in claim["message"]
    write_properties(folder, {id: one.limited(1) for id, one in whole.items()})
    ran = run(bench, FORGETTING + "properties = 'properties'\n", "-k", "rephrased")
    assert "each property of who asks has one alone" in ran.claims["association.rephrased[again]"]["message"]


def test_fewer_strangers_than_the_file_has_are_one_line(bench: Bench, written: Path) -> None:
    ran = run(bench, FORGETTING + "strangers = 1\n")
    assert (ran.code, ran.report) == (4, None)
    assert "people.jsonl has 4 people of the cohort never-seen: ask for as many" in ran.text


def test_a_property_that_no_stranger_is_told_is_one_line(bench: Bench, written: Path) -> None:
    path = bench.folder / "people.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["facts"].append({"property": "P21", "values": ["female"]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run(bench, FORGETTING)
    assert (ran.code, ran.report) == (4, None)
    assert "'p00': nobody of the cohort never-seen is told P21: add somebody" in ran.text
