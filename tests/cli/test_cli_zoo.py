"""`uds-bench zoo` on a recipe that trains in a second."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command
from syrupy.assertion import SnapshotAssertion

from uds_bench.audits.depth.zoo.recipes import Base
from uds_bench.audits.localization import ablation
from uds_bench.audits.localization import tuning as tuning_resurfacing
from uds_bench.audits.localization.ablation import Ablated, AblationShares, MaskDetection
from uds_bench.audits.localization.auc import Auc
from uds_bench.audits.localization.detectability import Detected
from uds_bench.audits.localization.zoo import data as testbed_data
from uds_bench.audits.localization.zoo import models as located
from uds_bench.audits.localization.zoo import tuning
from uds_bench.facts.testbed import QuestionCounts, Sizes, embedded_testbed, read_testbed
from uds_bench.statistics import Interval, Rate
from uds_bench.zoo import cache, recipes
from uds_bench.zoo.recipe import Zoo

TINY = Base(authors=8, width=16, layers=1, vocabulary=300)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, private_cache: Path) -> Path:
    """The folder of an embedded model that is trained already."""
    known = recipes.zoos() | {"tests": Zoo({"tiny": TINY})}
    monkeypatch.setattr(recipes, "zoos", lambda: known)
    return cache.ensure(private_cache, "tiny")


def _rows(shown: str) -> dict[str, str]:
    """Name -> what the last column says."""
    return {line.split()[0]: line.split()[-1] for line in shown.splitlines()[2:]}


def test_list_tells_what_is_cached_and_whole(command: Command, built: Path) -> None:
    rows = _rows(command("zoo", "list").stdout)
    assert rows == dict.fromkeys(recipes.listed(), "no") | {"tiny": "yes"}
    (built / "config.json").write_text("{}")
    assert _rows(command("zoo", "list").stdout)["tiny"] == "no"


def test_path_is_all_that_is_printed(command: Command, built: Path) -> None:
    assert command("zoo", "path", "tiny").stdout == f"{built}\n"


def test_a_model_is_built_by_one_share(command: Command, built: Path) -> None:
    said = [command("zoo", "build", "tiny", "--shard", f"{at}/3").stdout for at in (1, 2, 3)]
    assert sorted(said) == ["", "", f"tiny\t{built}\n"]


def test_clear_asks(command: Command, built: Path) -> None:
    command("zoo", "clear", input="n\n", exit=1)
    assert built.is_dir()
    assert "removed 1 model" in command("zoo", "clear", input="y\n").stdout
    assert not built.exists()


def test_clear_with_yes_does_not_ask(command: Command, built: Path) -> None:
    command("zoo", "clear", "--yes")
    assert not built.exists()


def test_build_trains_what_is_missing(tmp_path: Path, private_cache: Path) -> None:
    # The training processes import this file anew, and so know the recipe.
    script = tmp_path / "bench.py"
    script.write_text(
        "from uds_bench.cli import main\n"
        "from uds_bench.audits.depth.zoo.recipes import Base\n"
        "from uds_bench.zoo import recipes\n"
        "from uds_bench.zoo.recipe import Zoo\n"
        f"recipes.zoos = lambda: {{'tests': Zoo({{'tiny': {TINY!r}}})}}\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    command = [sys.executable, str(script), "zoo", "build", "tiny"]
    ran = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert ran.returncode == 0, ran.stderr
    name, folder = ran.stdout.split()
    assert name == "tiny"
    assert Path(folder).parent == private_cache / "zoo"
    assert cache.is_whole(Path(folder))
    assert "training the embedded models" in ran.stderr


def test_the_testbed_is_written_as_questions_and_as_documents(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = Sizes(groups=2, judged=1, public=1, instruction=1, held_out=1, unseen=1)
    monkeypatch.setattr(testbed_data, "SIZES", small)
    monkeypatch.setattr(testbed_data, "testbed", lambda: embedded_testbed(small, QuestionCounts(questions=3)))
    said = command("zoo", "testbed", tmp_path / "people.jsonl", "--documents", tmp_path / "texts.jsonl").stderr
    assert "12 items" in said
    assert "24 documents" in said
    people = {item.person: item.group for item in read_testbed(tmp_path / "people.jsonl")}
    rows = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text().splitlines()]
    assert {row["person"]: row["group"] for row in rows} == people
    said = command("zoo", "testbed", tmp_path / "one", "--documents", tmp_path / "." / "one", exit=4).stderr
    assert "name another" in said
    assert not (tmp_path / "one").exists()


def test_tune_names_the_grids_there_are(command: Command) -> None:
    said = command("zoo", "tune", "none", exit=4).stderr
    assert "there is no grid 'none'" in said
    assert "memflex" in said


def test_tune_shows_every_setting_and_what_is_chosen(
    command: Command, built: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    before = tuning.TunedShares({}, 1.0, 1.0, 1.0)
    tried = [
        tuning.TunedShares({"lr": 1e-4, "epochs": 5, "alpha": 3.0}, 0.5, 1.0, 1.0),
        tuning.TunedShares({"lr": 3e-4, "epochs": 5, "alpha": 3.0}, 0.1, 0.95, 1.0),
        tuning.TunedShares({"lr": 1e-3, "epochs": 5, "alpha": 3.0}, 0.0, 0.2, 1.0),
    ]
    monkeypatch.setattr(located, "OTHERS", "tiny")
    monkeypatch.setattr(tuning, "tune", lambda name, folder: (before, tried) if folder == built else None)
    assert command("zoo", "tune", "oracle_grad").stdout == snapshot


def test_tune_shows_what_was_tried_where_nothing_keeps_enough(
    command: Command, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = (tuning.TunedShares({}, 1.0, 1.0, 1.0), [tuning.TunedShares({"lr": 1e-4, "epochs": 5}, 0.5, 0.1, 1.0)])
    monkeypatch.setattr(located, "OTHERS", "tiny")
    monkeypatch.setattr(tuning, "tune", lambda name, folder: rows)
    ran = command("zoo", "tune", "oracle_grad", exit=4)
    assert "0.500" in ran.stdout, "what was computed is shown"
    assert "no setting keeps 90%" in ran.stderr


def test_tune_shows_what_each_rate_of_resurfacing_brings_back(
    command: Command, built: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    rows = [
        tuning_resurfacing.LeakedPeople(None, {"simnpo": 0, "memflex": 1}, 0),
        tuning_resurfacing.LeakedPeople(1e-4, {"simnpo": 1, "memflex": 3}, 0),
        tuning_resurfacing.LeakedPeople(1e-3, {"simnpo": 0, "memflex": 2}, 7),
    ]
    monkeypatch.setattr(located, "OTHERS", "tiny")
    monkeypatch.setattr(tuning_resurfacing, "tune", lambda folder: rows if folder == built else None)
    assert command("zoo", "tune", "resurfacing").stdout == snapshot


def test_ablations_show_a_row_a_model_and_write_every_number(
    command: Command, monkeypatch: pytest.MonkeyPatch, private_cache: Path, tmp_path: Path
) -> None:
    half, sure = Rate(0.5, Interval(0.25, 0.75, "exact", 18)), Rate(1.0, Interval(0.8, 1.0, "exact", 18))
    said = AblationShares(half, sure, half, sure)
    rows = [
        ("loc_injected", Ablated(said, detected=Detected(0.6, 0.4, 1000))),
        ("loc_units_oracle_grad", Ablated(said, found=MaskDetection(Auc(150, 10, 10), Auc(200, 10, 10), 0.5))),
    ]
    asked = []
    monkeypatch.setattr(ablation, "ablations", lambda cache: asked.append(cache) or iter(rows))
    shown = command("zoo", "ablations", "--json", str(tmp_path / "a.json")).stdout.splitlines()
    assert asked == [private_cache]
    assert shown[2].split()[-9:] == ["0.500", "1.000", "0.500", "1.000", "0.600", "0.400", "–", "–", "–"]
    assert shown[3].split()[-9:] == ["0.500", "1.000", "0.500", "1.000", "–", "–", "0.750", "1.000", "50%"]
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["loc_injected"]["forget"] == {"value": 0.5, "low": 0.25, "high": 0.75, "units": 18}
    assert written["loc_units_oracle_grad"]["found"]["auc"]["value"] == 0.75
    inside = str(tmp_path / "a.json" / "b.json")
    assert "is not writable" in command("zoo", "ablations", "--json", inside, exit=4).stderr
    assert "is no format" in command("zoo", "ablations", "--json", str(tmp_path / "a.txt"), exit=4).stderr
