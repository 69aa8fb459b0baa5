"""--uds-record REASON: goldens are recorded by people, from a clean commit, with a reason."""

import subprocess
from pathlib import Path

import pytest
from small_runs import DEPTH, Bench


@pytest.mark.parametrize(
    ("ci", "profile", "said"),
    [
        ("true", "quick", "never recorded under CI"),
        ("1", "quick", "never recorded under CI"),
        ("", "full", "goldens are of the profile quick"),
    ],
)
def test_never_under_ci_or_of_another_profile(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, ci: str, profile: str, said: str
) -> None:
    monkeypatch.setenv("CI", ci)
    assert said in bench.refused(DEPTH, "--uds-record", "why not", "--uds-profile", profile)


def test_never_of_a_users_models(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(DEPTH, "--uds-record", "why not")
    assert ran.code != 0, ran.text
    assert "goldens are of the shipped specimens" in ran.text
    assert not (bench.folder / "goldens").exists()


def test_only_from_a_clean_commit(tmp_path: Path) -> None:
    from uds_bench.claims.goldens import require_clean_tree
    from uds_bench.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match="not a git checkout"):
        require_clean_tree(tmp_path)

    def git(*args: str) -> None:
        user = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *user, *args], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    assert len(require_clean_tree(tmp_path)) == 40
    (tmp_path / "file").write_text("two")
    with pytest.raises(ConfigurationError, match="uncommitted changes"):
        require_clean_tree(tmp_path)
