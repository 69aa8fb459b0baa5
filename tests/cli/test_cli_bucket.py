"""Commands and suites whose scores are in a bucket say what they say of a folder, also with keys that only read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Command, Refused
from s3_server import READ_ONLY, S3Server

from uds_bench.scoring.shelf import shelf_at
from uds_bench.storage import CELLS, StorePlace

pytestmark = [pytest.mark.needs("obstore"), pytest.mark.needs("moto")]
SUITE = Path(__file__).parents[2] / "suites" / "test_depth.py"


@pytest.fixture
def bucket(place_of: Callable[[str], StorePlace]) -> str:
    return str(place_of("bucket"))


@pytest.fixture
def filled(bucket: str, scored: Path) -> str:
    """A bucket with every score of the release."""
    shelf, folder = shelf_at(bucket), shelf_at(scored / "store")
    for name in folder.names(CELLS):
        found = folder.get(name)
        assert found is not None
        assert shelf.put_if_absent(name, found.content)
    return bucket


def test_what_is_computed_into_a_bucket_is_found_there(
    command: Command, saved_release: Path, bucket: str, tmp_path: Path
) -> None:
    manifest = ("--manifest", saved_release / "uds.toml", "--metrics", "entity_accuracy", "--store", bucket)
    plan = ("plan", *manifest, "--json")
    before = json.loads(command(*plan).stdout)
    assert (before["store"], {cell["status"] for cell in before["cells"]}) == (bucket, {"missing"})
    assert list(shelf_at(bucket).names("")) == []
    command("score", *manifest, "--out", tmp_path / "first.json")
    assert {cell["status"] for cell in json.loads(command(*plan).stdout)["cells"]} == {"stored"}
    command("score", *manifest, "--out", tmp_path / "second.json")
    first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("first", "second"))
    assert first == second
    assert len(list(shelf_at(bucket).names(CELLS))) == len(before["cells"])


def test_keys_that_only_read_judge_and_verify_what_is_stored(
    command: Command,
    run_report: Path,
    saved_release: Path,
    filled: str,
    s3: S3Server,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manifest, report = saved_release / "uds.toml", pytester.path / "again.json"
    with s3.only(READ_ONLY) as environment:
        for key, value in environment.items():
            monkeypatch.setenv(key, value)
        words = ["--uds-manifest", manifest, "--uds-store", filled, "--uds-json", report]
        ran = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-p", "no:benchmark", SUITE, *words)
        plan = command("plan", "--manifest", manifest, "--metrics", "uds", "--store", filled, "--json").stdout
        command("card", run_report, "--out", pytester.path / "cards")
        card = pytester.path / "cards" / "npo" / "card.json"
        assert command("verify", card, run_report, "--store", filled).stdout == "holds: npo, FAILED\n"
    assert f"store {filled}" in ran.stdout.str()
    assert {cell["status"] for cell in json.loads(plan)["cells"]} == {"stored"}
    one, other = (json.loads(path.read_text()) for path in (run_report, report))
    assert other["loads"] == {}
    assert [(claim["name"], claim["verdict"], claim["observed"]) for claim in one["claims"]] == [
        (claim["name"], claim["verdict"], claim["observed"]) for claim in other["claims"]
    ]


def test_a_bucket_that_is_not_there_is_refused_before_anything_runs(
    command: Command, refused: Refused, saved_release: Path, bucket: str, tmp_path: Path, pytester: pytest.Pytester
) -> None:
    manifest, told = saved_release / "uds.toml", "s3://nowhere/x cannot be listed (404 NoSuchBucket): make the bucket"
    said = refused("score", "--manifest", manifest, "--store", "s3://nowhere/x", "--out", tmp_path / "out.json")
    assert f"--store: {told}" in said
    words = ["--uds-manifest", manifest, "--uds-store", "s3://nowhere/x"]
    ran = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", "-p", "no:benchmark", SUITE, *words)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert f"--uds-store: {told}" in ran.stderr.str()
    slip = command("plan", "--manifest", manifest, "--store", "s3:/x", exit=4).stderr
    assert "--store: this s3:// is no bucket with a prefix: write s3://bucket/prefix" in slip
