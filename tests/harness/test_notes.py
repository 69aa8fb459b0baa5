"""Notes: a line each, however many audits have the same to tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_runs import DEPTH, SHARED, Bench

from uds_bench.audits.manifests import load_manifest
from uds_bench.facts import read_facts, write_facts
from uds_bench.harness.report import notes
from uds_bench.harness.result import RunResult

EVERY_AUDIT = """\
[references]
full = "zoo:full"
retain = "zoo:retain"
[bypass]
models = { npo = "zoo:bypass_npo", known = "zoo:bypass_erased" }
[lmlm]
models = { lmlm = "zoo:lmlm", known = "zoo:lmlm_leaky" }
[localization]
pretrained = "zoo:loc_pretrained"
injected = "zoo:loc_injected"
masks = "zoo:loc_injected"
candidates = { simnpo = "zoo:loc_simnpo" }
controls = { simnpo = "zoo:loc_simnpo_unmasked" }
[association]
model = "zoo:assoc_full"
candidates = { npo = "zoo:assoc_npo" }
"""


def told(folder: Path, more: str = "", text: str = EVERY_AUDIT) -> list[str]:
    (folder / "uds.toml").write_text(text + more)
    facts = SimpleNamespace(unannotated=[])
    manifest = load_manifest(folder / "uds.toml")
    run: Any = SimpleNamespace(manifest=manifest, data=lambda audit: facts, is_embedded=False)
    return notes(run, RunResult(deselected=3))


def test_what_several_audits_lack_is_one_line(tmp_path: Path) -> None:
    listed = told(tmp_path)
    assert (
        "controls are stand-ins: add [association] retain; [bypass] must_fail, must_pass; "
        "[pools] positive, negative; "
        "[lmlm] must_fail; [localization] neutral, must_pass, unmasked"
    ) in listed
    assert len(listed) == 2
    assert all(len(note) <= 180 for note in listed)


@pytest.mark.parametrize(
    ("section", "more", "left"),
    [
        ("[bypass]", "must_pass = ['known']", "[bypass] must_fail"),
        ("[lmlm]", "must_fail = ['known']", ""),
        ("[localization]", "neutral = 'zoo:loc_neutral'", "[localization] must_pass, unmasked"),
        ("[association]", "retain = 'zoo:assoc_retain'", ""),
    ],
)
def test_what_is_named_is_not_asked_for(tmp_path: Path, section: str, more: str, left: str) -> None:
    listed = told(tmp_path, text=EVERY_AUDIT.replace(section, f"{section}\n{more}"))
    (weak,) = (note for note in listed if "stand-ins" in note)
    asked = weak.partition("add ")[2].split("; ")
    assert [part for part in asked if part.startswith(section)] == ([left] if left else [])
    assert len(asked) == (5 if left else 4)


def test_what_is_set_otherwise_than_by_default_is_told(tmp_path: Path) -> None:
    """A verdict that rests on nothing drawn, or on an attack that learns nothing, shows it."""
    text = EVERY_AUDIT.replace("[bypass]", '[bypass]\nsamples = 0\nsystem = "Ann is unknown."\nmust_pass = ["known"]')
    more = "[facts]\nsource = 'authors'\n[attacks]\nrelearn = { lr = 1e-12 }\nnf4 = {}\n"
    (note,) = (one for one in told(tmp_path, more, text) if "set" in one)
    assert note == (
        "set otherwise than by default: bypass.system = a text of 15 characters, bypass.samples = 0 (4), "
        "attacks.relearn.lr = 1e-12 (2e-05)"
    )


def test_a_setting_that_looks_like_a_place_is_told(tmp_path: Path) -> None:
    """What is said to a model may be a file's name too, and one that is there."""
    more = f'system = "{tmp_path}"\nchat_template_kwargs = {{ enable_thinking = false, x = "zoo:npo" }}'
    text = EVERY_AUDIT.replace("[bypass]", f"[bypass]\n{more}")
    (note,) = (one for one in told(tmp_path, text=text) if "set otherwise" in one)
    assert f"bypass.system = a text of {len(str(tmp_path))} characters" in note
    assert "bypass.chat_template_kwargs = enable_thinking false, x a text of 7 characters" in note


def test_settings_name_nobody(tmp_path: Path) -> None:
    """The note stands on cards, which are for everybody."""
    text = EVERY_AUDIT.replace("[association]", '[association]\nforgotten = ["ann_lee", "bo"]')
    text = text.replace("[bypass]", '[bypass]\nsystem = "Ann"\ntags = ["<a>", "</a>"]')
    more = "[attacks]\nrelearn = { precision = 'load' }\n"
    (note,) = (one for one in told(tmp_path, more, text) if "set otherwise" in one)
    assert "association.forgotten = 2 texts" in note
    assert "bypass.system = a text of 3 characters" in note
    assert "attacks.relearn.precision = load (float32)" in note
    assert not any(word in note for word in ("ann", "Ann", "bo,"))


SCORE = '@pytest.mark.claim("mine.depth", audit="depth")\ndef test_depth(uds_claim, uds_subject, uds_audit):\n'
BODY = "    uds_claim.threshold(uds_audit.score(uds_subject, 'uds'), at_least=0.7)\n"


def test_a_project_may_keep_its_options_in_its_ini_file(bench: Bench) -> None:
    bench.manifest(["retain3"])
    (bench.folder / "uds.toml").rename(bench.folder / "ours.toml")
    bench.pytester.makeini(f"[pytest]\nuds_manifest = ours.toml\nuds_device = cpu\nuds_store = {bench.store}\n")
    ran = bench.run(bench.test(SCORE + BODY), store=None)
    assert ran.code == 0, ran.text
    assert ran.verdicts == {"mine.depth[retain3]": "pass"}


def test_the_command_line_wins(bench: Bench) -> None:
    manifest = bench.manifest(["retain3"])
    bench.pytester.makeini("[pytest]\nuds_manifest = nowhere.toml\nuds_device = tpu\n")
    ran = bench.run(bench.test(SCORE + BODY), "--uds-device", "cpu", manifest=manifest, store=SHARED)
    assert ran.code == 0, ran.text


def test_where_each_fact_is_a_cluster_the_interval_is_over_rows(bench: Bench) -> None:
    facts = read_facts(bench.models / "facts.jsonl")
    write_facts(bench.folder / "rows.jsonl", (replace(fact, cluster=fact.id) for fact in facts))
    bench.manifest(["retain3"], facts=bench.folder / "rows.jsonl")
    ran = bench.run(DEPTH, "-k", "test_score", store=bench.folder / "store")
    told = ran.claims["depth.score[retain3]"]
    assert (told["unit"], "(24 rows)" in told["message"]) == ("rows", True)
    (note,) = (note for note in ran.report["summary"]["notes"] if "over rows" in note)
    assert note.startswith(
        "clusters: each of 24 facts is one of its own, and intervals are over rows; 24 of them name 12"
    )
