"""--uds-profile quick|full: the size of the embedded zoo."""

import pytest
from small_runs import DEPTH, Bench


def test_an_unknown_profile_is_told(bench: Bench) -> None:
    ran = bench.run(DEPTH, "--uds-profile", "huge")
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert "--uds-profile" in ran.text
    assert "choose quick or full" in ran.text


def test_the_default_is_the_quick_embedded_zoo(bench: Bench) -> None:
    ran = bench.run(DEPTH, "--collect-only", "-q")
    assert ran.code == 0, ran.text
    assert "test_score[npo]" in ran.text
