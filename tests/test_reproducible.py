"""Who builds a release again gets the same bytes: wheel and sdist depend on files, not on where, when or by whom."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EPOCH = "1767225600"


@pytest.fixture(scope="module")
def listed() -> list[str]:
    """The files of this checkout, as a clone has them."""
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("not applicable: this is no checkout of git")
    return [name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()]


def built(folder: Path, listed: list[str], when: float, mode: int) -> dict[str, str]:
    """Digests of what is built of the files, put down at another time and with other permissions."""
    for name in listed:
        place = folder / "of" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, place)
        place.chmod(mode)
        os.utime(place, (when, when))
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist")]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    ran = subprocess.run(command, cwd=folder / "of", env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "dist").iterdir()}


@pytest.mark.slow
def test_two_builds_are_equal(tmp_path: Path, listed: list[str]) -> None:
    one = built(tmp_path / "one", listed, 1e9, 0o644)
    other = built(tmp_path / "other", listed, 1.7e9, 0o600)
    assert sorted(Path(name).suffix for name in one) == [".gz", ".whl"]
    assert one == other
