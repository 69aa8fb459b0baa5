"""A method on the shipped models: what is made, what is kept, and what is seen of methods that do what none should."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import tried
from made_cells import InThisProcess
from transformers import AutoTokenizer

from uds_bench.audits import registry
from uds_bench.audits.manifests import load_manifest
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.claims.record import Bound, ClaimRecord
from uds_bench.engines.shard import Shard
from uds_bench.errors import ConfigurationError
from uds_bench.methods.examples import Example, pad
from uds_bench.scoring.engine import BASE, failure, models_memory
from uds_bench.trials import beds
from uds_bench.trials.beds import Place, Trials, try_method
from uds_bench.trials.builtin import SETTINGS, _example, builtin
from uds_bench.trials.card import method_card
from uds_bench.trials.check import check_method
from uds_bench.trials.method import Lessons, UserMethod
from uds_bench.trials.trial import lesson
from uds_bench.verdicts import Cause, Flag, Verdict
from uds_bench.zoo import specimens

BED = "bypass"


IMPORTABLE = UserMethod.is_importable


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests try a method in their own process."""
    monkeypatch.setattr(UserMethod, "is_importable", False)


def tried_on(name: str, folder: Path) -> Trials:
    return try_method(UserMethod.of(getattr(tried, name)), folder, [BED])


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    """A method that leaves models as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UserMethod, "is_importable", False)
        return tried_on("idle", tmp_path_factory.mktemp("idle"))


def section(found: Trials) -> Any:
    """What the manifest says to the audit."""
    kind = registry.audits()[BED].section()
    assert kind is not None
    return load_manifest(found.manifest).of(kind)


class LosesAll(InThisProcess):
    """Every process of which is lost."""

    def run(self, make: Any, tasks: Any, wait: bool, takes: Any) -> Any:
        for groups in tasks:
            yield groups, failure(groups)


def test_elsewhere_a_crash_is_told_and_no_model_at_all_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As here; a process that is lost is no fault of the method."""
    monkeypatch.setattr(UserMethod, "is_importable", True)

    def run(name: str, engine: InThisProcess) -> Trials:
        return try_method(UserMethod.find(f"tried:{name}"), tmp_path, [BED], engine=engine)

    found = run("crashing_once", engine := InThisProcess())
    parent = specimens.folder(registry.audits()[BED].bed()[0].parent)
    assert [takes.memory - BASE for takes in engine.asked] == [models_memory(CheckpointSpec(str(parent)), trains=True)]
    assert found.problems == [f"tried:crashing_once crashed (ValueError: seed 1): {BED}, seed 1"]
    with pytest.raises(ConfigurationError, match="tried:silent"):
        run("silent", InThisProcess())
    with pytest.raises(ConfigurationError, match=r"it could not be tried \(.*its process was lost 4 times"):
        run("nudged", LosesAll())
    monkeypatch.setattr(UserMethod, "is_importable", False)
    with pytest.raises(ConfigurationError, match="no other process can import it"):
        run("nudged", InThisProcess())


def test_a_method_makes_a_model_for_each_seed_and_a_manifest_that_can_be_read(tmp_path: Path) -> None:
    told: list[str] = []
    found = try_method(UserMethod.of(tried.nudged), tmp_path, [BED], told.append)
    assert [place for place in sorted(found.made) if not place.again] == [Place(BED, seed) for seed in beds.SEEDS]
    assert found.problems == []
    assert found.remarks == []
    assert told[0].startswith("4 models to be made, then judged: about ")
    assert len(told) == len(beds.SEEDS) + 2
    judged = section(found)
    assert judged.judged() == ["nudged-seed0", "nudged-seed1", "nudged-seed2"]
    assert all(Path(judged.checkpoints()[name].model).is_dir() for name in judged.judged())


def test_each_model_is_made_by_one_share_and_judged_by_none(tmp_path: Path) -> None:
    shares = [try_method(UserMethod.find("tried:nudged"), tmp_path, [BED], share=Shard(at, 3)) for at in (1, 2, 3)]
    made = [place for share in shares for place in share.made]
    assert len(made) == len(set(made)) == len(beds.SEEDS) + 1
    assert not shares[0].manifest.exists()
    whole = tried_on("nudged", tmp_path)
    assert set(whole.made) == set(made)
    assert all(whole.made[place] == share.made[place] for share in shares for place in share.made)


def test_models_that_are_made_are_kept_and_damaged_ones_made_anew(tmp_path: Path) -> None:
    def weights(found: Trials) -> dict[Place, tuple[int, bytes]]:
        files = {place: folder / "model.safetensors" for place, folder in found.made.items()}
        return {place: (file.stat().st_mtime_ns, file.read_bytes()) for place, file in files.items()}

    first = tried_on("nudged", tmp_path)
    before = weights(first)
    cut = first.made[Place(BED, 1)] / "model.safetensors"
    cut.write_bytes(cut.read_bytes()[:100])
    with pytest.warns(UserWarning, match="cut short or altered"):
        after = weights(tried_on("nudged", tmp_path))
    assert [place for place in before if before[place][0] != after[place][0]] == [Place(BED, 1)]
    assert {place: kept for place, (_, kept) in before.items()} == {place: kept for place, (_, kept) in after.items()}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("crashing", r"crashed \(RuntimeError: no luck\)"),
        ("leaving", r"crashed \(SystemExit: 0\)"),
        ("diverging", r"gave weights that are no numbers"),
        ("growing", r"changed the model's shape"),
    ],
)
def test_a_method_that_makes_no_model_to_judge_is_an_error(name: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"made no model: it {problem}"):
        tried_on(name, tmp_path)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_one_seed_that_fails_costs_no_other_and_makes_the_card_red(tmp_path: Path) -> None:
    found = tried_on("crashing_once", tmp_path)
    assert found.problems == ["tried:crashing_once crashed (ValueError: seed 1): bypass, seed 1"]
    assert section(found).judged() == ["crashing_once-seed0", "crashing_once-seed2"]
    claims = [ClaimRecord("bypass.verdict", f"seed{seed}", "threshold", Verdict.PASS, "") for seed in (0, 2)]
    assert not method_card(found, claims).ok


def test_a_method_that_gives_other_weights_of_the_same_seed_is_an_error(tmp_path: Path) -> None:
    assert tried_on("rolling", tmp_path).problems == ["tried:rolling makes other weights of the same seed: bypass"]


def test_a_method_that_works_the_second_time_alone_is_an_error() -> None:
    first, second = Place(BED, 0), Place(BED, 0, again=True)
    found = Trials(UserMethod.of(tried.idle), {second: Path("made")}, {first: "crashed"}, Path("uds.toml"))
    assert found.problems == [
        "tried:idle crashed: bypass, seed 0",
        "tried:idle makes other weights of the same seed: bypass",
    ]


def test_what_takes_longest_is_begun_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Place] = []
    monkeypatch.setattr(beds, "_one", lambda method, place, folder: begun.append(place) or "crashed")
    with pytest.raises(ConfigurationError, match="made no model: it crashed"):
        try_method(UserMethod.of(tried.idle), tmp_path, ["depth", "bypass", "localization"])
    assert [place.audit for place in begun[::3]] == ["localization", "bypass", "depth", "depth"]
    assert [place.again for place in begun] == [False] * 9 + [True]


def test_a_method_that_does_nothing_is_told(idle: Trials) -> None:
    assert idle.remarks == [
        "tried:idle left the model as it was: bypass",
        "tried:idle read nothing of what is to be kept: bypass",
        "tried:idle makes the same of every seed: bypass",
    ]


def test_a_method_gets_the_model_as_it_was_and_its_cost_is_counted(tmp_path: Path) -> None:
    found = tried_on("referring", tmp_path)
    one = found.trial(Place(BED, 0))
    assert one.moved > 0
    assert one.share is not None
    assert 0 < one.share < 1
    assert one.reads_retain


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere.at_all:forget", "nowhere.at_all:forget: cannot be imported (ModuleNotFoundError"),
        ("tried:absent", "tried:absent: cannot be imported (AttributeError"),
        ("tried:not_a_function", "tried:not_a_function: is no function (of type int)"),
        ("tried:other_arguments", "tried:other_arguments: takes other arguments"),
        ("npoo", "'npoo': is no built-in method, and no package.module:function: did you mean 'npo'"),
        (
            "mine.forget",
            "'mine.forget': is no built-in method, and no package.module:function: choose from",
        ),
    ],
)
def test_what_is_no_method_is_refused_in_a_line(name: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        UserMethod.find(name)
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


def test_a_method_that_gives_nothing_back_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="tried:silent: gives back nothing"):
        tried_on("silent", tmp_path)


def test_an_audit_that_tries_no_method_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no method is tried by the audit 'lmlm': choose from"):
        try_method(UserMethod.of(tried.idle), tmp_path, ["lmlm"])


def test_another_version_of_a_method_makes_models_of_its_own(tmp_path: Path) -> None:
    method = UserMethod.of(tried.idle)
    first, other = (try_method(one, tmp_path, [BED]) for one in (method, replace(method, code="edited")))
    assert first.manifest != other.manifest


@pytest.mark.parametrize("audit", beds.beds())
def test_every_bed_gives_lessons_and_a_manifest(audit: str) -> None:
    found = registry.audits()[audit].bed()
    assert found is not None
    bed, manifest = found
    assert manifest
    tokenizer = AutoTokenizer.from_pretrained(specimens.folder(f"specimen:{bed.parent}"))
    data = bed.data(tokenizer)
    for example in (data.forget[0], data.retain[-1]):
        one = lesson(tokenizer, example)
        assert _example(one) == example, "nothing is lost on the way to a method"
        assert one["labels"] == pad([example]).labels[0].tolist()
        assert one["completion"]


def test_parts_that_are_not_to_be_learned_are_none_of_a_lesson() -> None:
    tokenizer = AutoTokenizer.from_pretrained(specimens.folder("specimen:full"))
    one = lesson(tokenizer, Example((5, 6, 7, 8, 9), 1, (2, 4)))
    assert one["labels"] == [-100, 6, -100, -100, 9]


@pytest.mark.parametrize("look", [list, lambda one: one[0], lambda one: next(iter(one))])
def test_lessons_know_whether_they_were_read(look: Any) -> None:
    lessons = Lessons([{"prompt": "p"}])
    assert not lessons.read
    look(lessons)
    assert lessons.read


def test_a_card_is_as_bad_as_the_worst_seed(idle: Trials) -> None:
    words = (Verdict.PASS, Verdict.UNDECIDED, Verdict.FAIL)

    def card(*verdicts: Verdict) -> Any:
        claims = [ClaimRecord("a.b", f"seed{n}", "threshold", v, "", observed=n / 10) for n, v in enumerate(verdicts)]
        return method_card(idle, claims)

    assert [card(*words[:count]).rows[0].verdict for count in (1, 2, 3)] == ["pass", "undecided", "fail"]
    assert [card(*words[:count]).ok for count in (1, 2, 3)] == [True, False, False]
    assert not card().ok, "nothing was judged"
    assert not card(Verdict.NOT_APPLICABLE).ok, "nothing was decided"
    good, bad = (ClaimRecord("a.c", None, "identity", verdict, "a.c: off by 1") for verdict in words[::2])
    passed = ClaimRecord("a.b", "seed0", "threshold", Verdict.PASS, "")
    assert method_card(idle, [passed, good]).ok
    assert method_card(idle, [passed, bad]).problems == ("a.c: off by 1",)
    assert not method_card(idle, [passed, bad]).ok, "what the claim rests on does not hold"
    assert not method_card(idle, [passed], ["a golden is missing"]).ok
    assert json.dumps(card(*words).to_json())


def test_a_claim_may_fail_where_its_author_says_why_and_then_must(idle: Trials) -> None:
    why = {"a.b": "it does not look at weights"}
    passed = ClaimRecord("a.a", "seed0", "threshold", Verdict.PASS, "")
    for verdict, ok in ((Verdict.FAIL, True), (Verdict.UNDECIDED, True), (Verdict.PASS, False)):
        card = method_card(idle, [passed, ClaimRecord("a.b", "seed0", "threshold", verdict, "")], (), why)
        assert card.ok == ok
        assert card.rows[1].expected == why["a.b"]
    assert card.problems == ("a.b is expected not to pass, and passes or was not judged: take it out",)
    assert not method_card(idle, [passed], (), why).ok, "it was not judged"
    assert not method_card(idle, [ClaimRecord("a.b", "seed0", "threshold", Verdict.FAIL, "")], (), why).ok
    with pytest.raises(ConfigurationError, match=r"there is no claim 'depth.scor': did you mean 'depth\.score'"):
        check_method("npo", expected={"depth.scor": "no reason"})


def test_a_run_shows_its_rows_as_claims_over_seeds(idle: Trials) -> None:
    """With what most seeds that are undecided lack; where one is red for good no seed's cause is told."""
    few, bound = Cause.UNITS, Bound(">=", 0.5)
    one = ClaimRecord("a.b", "seed0", "threshold", Verdict.UNDECIDED, "", few, observed=0.2, bound=bound)
    seeds = [one, replace(one, cause=Cause.CONTROL, observed=0.3), replace(one, cause=Cause.CONTROL, observed=0.4)]
    (record,) = method_card(idle, seeds).records
    assert (record.subject, record.cause, record.unit) == (f"method {idle.method.name}", Cause.CONTROL, "seeds")
    assert record.message.endswith(": seeds: 3 undecided; mean 0.3, needs >= 0.5")
    assert record.interval is not None
    assert (record.interval.units, round(record.interval.low, 3)) == (3, 0.052)
    assert record.reproduce == f"uds-bench gate-method {idle.method.name} --audits a"
    reason = replace(one, message="a.b [seed0]: it is shallow; truly: so", advice="go deeper.", cause=Cause.UNITS)
    (told,) = method_card(idle, [reason]).records
    assert told.message.endswith("; mean 0.2, needs >= 0.5; seed0: it is shallow; truly: so")
    assert told.advice == "go deeper."
    *_, itself = method_card(idle, [replace(one, verdict=Verdict.PASS, cause=None)], ["a golden is missing"]).records
    assert (itself.id, itself.verdict) == ("method.itself", Verdict.FAIL)
    assert itself.message.endswith(": a golden is missing")
    nothing = method_card(idle, [replace(one, verdict=Verdict.NOT_APPLICABLE, cause=None)]).records[-1]
    assert nothing.message.endswith("does not clear the gate: no claim passes, identities apart")
    (red,) = method_card(idle, [*seeds, replace(one, verdict=Verdict.FAIL, cause=None)]).records
    assert (red.verdict, red.cause) == (Verdict.FAIL, None)


def test_a_method_says_itself_what_it_is_not_meant_to_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = {f"{BED}.b": "it refuses", "depth.score": "not tried there"}
    monkeypatch.setattr(tried.idle, "expected_failures", why, raising=False)
    found, passed = tried_on("idle", tmp_path), ClaimRecord(f"{BED}.a", "seed0", "threshold", Verdict.PASS, "")
    missed = ClaimRecord(f"{BED}.b", "seed0", "threshold", Verdict.FAIL, "")
    card = method_card(found, [passed, missed])
    assert card.ok
    assert card.sentence == (
        f"{found.method.name} clears every claim of {BED} but for 1 that it is not meant to pass ({BED}.b)"
    )
    consistent = replace(passed, id=f"{BED}.forced_consistency", kind="identity")
    assert not method_card(found, [consistent, missed]).ok, "an identity holds of any model"
    assert method_card(found, [consistent, passed, missed]).ok
    assert [row.expected for row in card.rows] == ["", "it refuses"]
    assert card.records[1].message.endswith(
        f"[method {found.method.name}]: seeds: 1 fail; not meant to pass: it refuses"
    )
    assert [one.flag for one in card.records] == [None, Flag.DECLARED]
    assert method_card(found, [passed]).problems == (
        f"{BED}.b is expected not to pass, and passes or was not judged: take it out",
    )
    monkeypatch.setattr(tried.idle, "expected_failures", {f"{BED}.b": " "})
    with pytest.raises(ConfigurationError, match="tried:idle: its expected_failures must be a dict of claims, each"):
        UserMethod.of(tried.idle)
    monkeypatch.setattr(tried.idle, "expected_failures", {"depth.scor": "why"})
    with pytest.raises(ConfigurationError, match=r"there is no claim 'depth.scor': did you mean 'depth\.score'"):
        check_method(tried.idle)


def test_built_in_methods_are_called_as_others_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS, "epochs", 1)
    torch.manual_seed(0)
    found = try_method(replace(builtin("grad_ascent"), name="grad_ascent"), tmp_path, [BED])
    assert found.problems == []
    assert [told for told in found.remarks if "left the model" in told] == []


class Callable:
    """A method that is an object."""

    def __call__(self, model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
        return model


def test_a_process_of_its_own_is_used_where_it_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UserMethod, "is_importable", IMPORTABLE)
    assert UserMethod.of(tried.nudged).is_importable
    assert UserMethod.find("tried:nudged").is_importable
    assert builtin("npo").is_importable
    bound: Any = partial(tried.nudged, retain=[])
    others = (Callable(), lambda model, tokenizer, forget, retain, seed: model)
    assert [UserMethod.of(one).is_importable for one in others] == [False] * 2
    assert not replace(UserMethod.of(tried.nudged), function=bound, name="functools:partial").is_importable


def test_models_of_a_method_without_a_file_are_made_anew() -> None:
    typed: dict[str, Any] = {}
    exec("def forget(model, tokenizer, forget, retain, seed): return model", typed)
    assert UserMethod.of(typed["forget"]).code != UserMethod.of(typed["forget"]).code
    assert UserMethod.of(tried.nudged).code == UserMethod.of(tried.idle).code != builtin("npo").code


def test_what_a_method_calls_may_lie_in_folders_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever moved its code one folder down kept the models of its first version."""
    linked, home = tmp_path / "linked", tmp_path / "home"
    for place in (linked, home / "package" / "inner", home / ".venv", home / "env", home / "package" / "__pycache__"):
        place.mkdir(parents=True)
    (home / "package" / "beside").symlink_to(linked)
    (home / "env" / "pyvenv.cfg").touch()
    (home / "far_method.py").write_text("def forget(model, tokenizer, forget, retain, seed): return model\n")
    monkeypatch.syspath_prepend(home)
    forget = importlib.import_module("far_method").forget
    seen = [UserMethod.of(forget).code]
    for below in (home / "package" / "inner", linked):
        for version in (1, 2):
            (below / "steps.py").write_text(f"STEPS = {version}\n")
            seen.append(UserMethod.of(forget).code)
    assert len(set(seen)) == len(seen)
    for aside in (home / ".venv", home / "env", home / "package" / "__pycache__"):
        (aside / "steps.py").write_text("STEPS = 3\n")
    (home / "gone.py").symlink_to(home / "nowhere.py")
    assert UserMethod.of(forget).code == seen[-1]
    monkeypatch.setattr("uds_bench.trials.method.MOST_SOURCES", 2)
    with pytest.raises(ConfigurationError, match="home: holds more than 2 files of Python beside the method"):
        UserMethod.of(forget)


def test_the_tokenizer_is_saved_as_it_was_given(tmp_path: Path) -> None:
    found = tried_on("ending", tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(found.made[Place(BED, 0)])
    assert tokenizer.eos_token == "</s>"


@pytest.mark.parametrize(
    ("name", "short"),
    [("npo", "npo"), ("ours:forget", "forget"), ("a.b:make.<locals>.inner", "inner"), ("__main__:<lambda>", "lambda")],
)
def test_models_are_called_by_the_function_that_makes_them(name: str, short: str) -> None:
    assert UserMethod(name, tried.nudged, "code").short == short


def test_what_a_function_holds_is_no_part_of_its_source() -> None:
    """Of two partials, closures or instances the second would be judged by the models of the first."""

    def local(rate: float) -> Any:
        return lambda model, **_: model if rate else None

    for one in (partial(tried.idle), local(1.0)):
        assert UserMethod.of(one).code != UserMethod.of(one).code
    assert UserMethod.of(tried.idle).code == UserMethod.of(tried.idle).code
