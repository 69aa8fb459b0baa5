"""A failing claim says by how much, from what, and how to see it again."""

import re
import shlex

import pytest
from small_runs import DEPTH, Bench

LINE = (
    r"depth\.score \[shallow\]: observed 0\.\d{3}, 95% CI 0\.\d{3}\.\.0\.\d{3} \(12 authors\), "
    r"needs >= 0\.700: its low end is short by 0\.\d{3}"
)


def test_it_has_numbers_units_bound_and_shortfall(bench: Bench) -> None:
    bench.manifest(["shallow"])
    ran = bench.run(DEPTH, "-v", "-k", "test_score")
    assert re.search(LINE, ran.text), ran.text
    claim = ran.claims["depth.score[shallow]"]
    assert re.fullmatch(LINE, claim["message"])
    assert round(claim["shortfall"], 3) == round(0.7 - claim["interval"]["low"], 3)
    assert f"checkpoint {claim['provenance']['checkpoint'][:12]}" in ran.text


def test_the_command_it_prints_shows_the_same_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    more = '[expect]\n"depth.score[copy]" = { verdict = "fail", reason = "known" }\n'
    bench.manifest(["shallow", "copy", "retain3"], more=more)
    ran = bench.run(DEPTH, "--uds-device", "cpu")
    command = re.search(r"reproduce: (pytest \S*test_score.*)", ran.text)
    assert command[1] == ran.claims["depth.score[shallow]"]["reproduce"]
    assert "--uds-device cpu" in command[1]
    monkeypatch.setenv("UDS_BENCH_CACHE", str(bench.folder / "cold"))
    words = shlex.split(command[1])
    assert words[0] == "pytest"
    again = bench.pytester.runpytest_inprocess(*words[1:], "-p", "no:cacheprovider", "-p", "no:benchmark")
    shown = again.stdout.str()
    assert again.ret == 1, shown
    assert ran.claims["depth.score[shallow]"]["message"] in shown
    assert "1 claims planned = 0 pass + 1 fail" in shown
