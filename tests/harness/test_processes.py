"""Under pytest-xdist: the same verdicts, one load per candidate in all processes together, and no lost claims."""

import json

import pytest
from small_runs import DEPTH, Bench
from test_bypass_suite import SUITE as BYPASS
from test_bypass_suite import canary

pytest.importorskip("xdist")


def test_two_processes_say_the_same_and_load_each_candidate_once(bench: Bench) -> None:
    """Scores and records of replies, which one of the two has and the other reads."""
    rows = [canary(i, "forget") for i in range(6)] + [canary(6, "retain"), canary(7, "holdout")]
    (bench.folder / "canaries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = f"models = {{ asked = '{bench.models / 'base'}' }}\nmax_new_tokens = 24\ncanaries = 'canaries.jsonl'\n"
    bench.manifest(["copy", "shallow", "retain3"], more=f"[bypass]\n{asked}")
    alone = bench.run(DEPTH)
    ran = bench.run(DEPTH, BYPASS, "-n", "2", store=bench.folder / "store")
    assert ran.code == alone.code == 1
    assert {name: verdict for name, verdict in ran.verdicts.items() if name.startswith("depth.")} == alone.verdicts
    assert ran.counts
    loads = ran.report["loads"]
    references = {name: loads.pop(name) for name in ("full", "retain")}  # the copy is the full model
    assert loads == dict.fromkeys(("asked", "full2", "retain2", "retain3", "shallow"), 1)
    assert references["full"] <= 2, "both processes patch into it"
    assert [row["model"] for row in ran.report["bypass"]["models"]] == ["asked"], "whichever process evaluated it"
    *_, total, sentence = ran.text.rstrip("\n").splitlines()
    assert total.startswith(f"{len(ran.claims)} claims planned = ")
    assert sentence.startswith("uds_bench: RED: ")
    assert ran.text.count("uds_bench: RED") == 1


def test_a_worker_that_dies_leaves_a_crash_and_no_gap(bench: Bench) -> None:
    bench.manifest(["retain3"])
    body = "import os\ndef test_dies(uds_claim):\n    os._exit(7)\n"
    body += "".join(
        f"def test_{i}(uds_claim):\n"
        "    uds_claim.identity(np.float64(0), tolerance=0, what='x', provenance={'n': np.int64(1)})\n"
        for i in range(4)
    )
    ran = bench.run(bench.test(body), "-n", "1")
    assert ran.code == 1, ran.text
    assert ran.counts == {"pass": 4, "crashed": 1}
    assert ran.text.count("crashed while running") == 1
    assert ran.claims["test_dies"]["message"] in ran.text


def test_configuration_errors_are_told_once_and_end_with_4(bench: Bench) -> None:
    bench.manifest(["copy"], more='[expect]\n"depth.score[nobody]" = { verdict = "fail", reason = "x" }\n')
    report = bench.folder / "run.json"
    report.write_text("{}")
    bench.run(DEPTH, "-n", "1", "--co", "--uds-json", report)
    assert report.exists()
    assert "matches no claim" in bench.refused(DEPTH, "-n", "1", "--uds-json", report)
    assert not report.exists(), "a report of an earlier run is not taken for this one's"


@pytest.mark.slow
def test_a_checkpoint_that_cannot_fit_ends_with_4(bench: Bench) -> None:
    folder = bench.copy("copy", "bare")
    (folder / "tokenizer.json").unlink()
    bench.manifest({"bare": folder})
    assert "no tokenizer files" in bench.refused(DEPTH, "-n", "1")
