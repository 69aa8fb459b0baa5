"""Every --uds- option has an ini key uds_; the command line wins."""

import pytest
from small_runs import SHARED, Bench

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


def test_a_bad_ini_value_is_told(bench: Bench) -> None:
    bench.pytester.makeini("[pytest]\nuds_manifest = nowhere.toml\n")
    ran = bench.run(bench.test(SCORE + BODY))
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert "nowhere.toml" in ran.text
