"""Scores in a bucket, over lines that break and with keys that may not: nothing is lost, and one line says why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import made_cells as made
import pytest
from made_cells import CELL, SCORE, started, wait_until
from s3_server import BUCKET, READ_ONLY, Line, S3Server

from uds_bench import extras
from uds_bench.errors import ConfigurationError, ExtraError, UdsError
from uds_bench.scoring import bucket, bucket_leases, workers
from uds_bench.scoring.shelf import shelf_at
from uds_bench.scoring.store import Store
from uds_bench.storage import CELLS, StorePlace

pytestmark = [pytest.mark.needs("obstore"), pytest.mark.needs("moto")]
KEY = "AWS_ACCESS_KEY_ID"


@pytest.fixture
def place(place_of: Callable[[str], StorePlace], monkeypatch: pytest.MonkeyPatch) -> StorePlace:
    for name, seconds in {"EXPIRES": 1.0, "RENEWED": 0.2, "LOOKED": 0.05}.items():
        monkeypatch.setattr(bucket_leases, name, seconds)
    monkeypatch.setattr(workers, "processes", lambda *_: 1)
    return place_of("bucket")


@pytest.fixture
def line(s3: S3Server, place: StorePlace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """What lies between this process and the server."""
    line = Line(s3.port)
    line.up()
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.environment(line.port)["AWS_ENDPOINT_URL"])
    yield line
    line.down()


def test_an_answer_that_is_cut_is_asked_for_again(place: StorePlace, line: Line) -> None:
    store = Store(place)
    store.write(CELL, SCORE)
    for length in (0, 20, 400, 700):
        line.cut_after, line.cuts = length, 1
        assert Store(place).read(CELL) == SCORE
        assert line.cuts == 0, f"nothing was cut after {length} bytes"


def test_a_score_whose_answer_was_lost_is_stored_once(place: StorePlace, line: Line) -> None:
    line.cut_after, line.cuts = 0, 1
    assert Store(place).write(CELL, SCORE) == SCORE
    assert line.cuts == 0
    assert len(list(Store(place).shelf.names(CELLS))) == 1


def test_a_lease_whose_answer_was_lost_is_ours_all_the_same(place: StorePlace, line: Line) -> None:
    store = Store(place)
    assert store.shelf.get("leases/a") is None
    line.cut_after, line.cuts = 0, 2
    with store.lease("a") as is_ours, Store(place).lease("a") as is_theirs:
        assert (is_ours, is_theirs) == (True, False)
        time.sleep(3 * bucket_leases.RENEWED)
        line.cuts = 1
        time.sleep(3 * bucket_leases.RENEWED)
        with Store(place).lease("a") as is_theirs:
            assert not is_theirs
    assert line.cuts == 0


@pytest.mark.parametrize("resets", [False, True])
def test_whatever_is_put_is_tried_again_where_the_connection_breaks(
    place: StorePlace, line: Line, resets: bool
) -> None:
    """Also in the place of a version, where the package itself does not try again."""
    shelf, line.resets = shelf_at(place), resets
    line.cut_after, line.cuts = 0, 2
    assert shelf.put_if_absent("a", b"one")
    for content in (b"two", b"three"):
        found = shelf.get("a")
        assert found is not None
        line.cut_after, line.cuts = 0, 2
        assert shelf.replace("a", content, found)
        assert line.cuts == 0
    assert not shelf.replace("a", b"four", found)


def test_a_server_that_is_gone_for_a_while_costs_no_score(place: StorePlace, line: Line, tmp_path: Path) -> None:
    runner = made.made_runner(tmp_path, made.names_of(20), seconds=0.02, store=place)
    found: dict[str, float | str | None] = {}
    scoring = Thread(target=lambda: found.update(made.score_all(runner)))
    scoring.start()
    for least in (4, 12):
        wait_until(lambda least=least: len(made.times(tmp_path)) >= least or not scoring.is_alive())
        line.down()
        time.sleep(0.7)
        line.up()
    scoring.join(60)
    assert [value for value in found.values() if not isinstance(value, float)] == []
    assert made.times(tmp_path) == dict.fromkeys(made.names_of(20), 1)
    assert len(list(Store(place).shelf.names(CELLS))) == 20


def test_a_server_that_stays_away_ends_the_run_soon_and_a_later_one_makes_what_is_missing(
    place: StorePlace, line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "PATIENCE", 2.0)
    monkeypatch.setattr(bucket, "HASTE", 0.5)
    names = made.names_of(30)
    runner = made.made_runner(tmp_path, names, seconds=0.02, store=place)
    found: dict[str, float | str | None] = {}
    scoring = Thread(target=lambda: found.update(made.score_all(runner)))
    scoring.start()
    wait_until(lambda: len(made.times(tmp_path)) >= 5)
    line.down()
    begun = time.monotonic()
    scoring.join(60)
    assert time.monotonic() - begun < 30
    said = {value for value in found.values() if isinstance(value, str)}
    remedy = "see the URL, the network and the endpoint, and run again; what is stored is kept"
    assert said
    assert said <= {f"{place} cannot be {what} (connection refused): {remedy}" for what in ("read", "written")}
    line.up()
    kept = len(list(shelf_at(place).names(CELLS)))
    assert 4 <= kept < 30
    before = made.times(tmp_path)
    again = made.score_all(made.made_runner(tmp_path, names, store=place))
    assert all(isinstance(value, float) for value in again.values())
    assert sum((made.times(tmp_path) - before).values()) == 30 - kept


def test_keys_that_only_read_serve_what_is_there_and_say_what_is_not(
    place: StorePlace, s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = made.names_of(3)
    whole = made.score_all(made.made_runner(tmp_path, names, store=place))
    with s3.only(READ_ONLY) as environment:
        for key, value in environment.items():
            monkeypatch.setenv(key, value)
        shelf_at(place).require("--uds-store")
        found = made.score_all(made.made_runner(tmp_path, [*names, "new"], store=place))
        assert [Store(place).made("cache/a", lambda: b"made") for _ in range(2)] == [b"made", b"made"]
        empty = f"{place}/empty"
        with pytest.raises(ConfigurationError, match=f"^{empty} cannot be written \\(403 AccessDenied\\): give"):
            shelf_at(empty).require("--uds-store")
    told = (
        f"new is not stored, and {place} cannot be written (403 AccessDenied): give credentials that may list, get and "
        f"put, in the environment of every process, as {KEY}, or name another place with --uds-store, or --store"
    )
    assert found == whole | {"new": told}
    assert made.times(tmp_path) == dict.fromkeys(names, 1)


@pytest.mark.parametrize("condition", [b"if-none-match", b"if-match"])
def test_a_server_that_heeds_no_conditions_is_refused(place: StorePlace, line: Line, condition: bytes) -> None:
    line.loses = condition
    with pytest.raises(ConfigurationError, match=f"^{place}: its server heeds no conditions"):
        shelf_at(place).require("--uds-store")


@pytest.mark.parametrize(
    ("url", "environment", "told"),
    [
        (
            "s3://nowhere/x",
            {},
            "--uds-store: s3://nowhere/x cannot be listed (404 NoSuchBucket): make the bucket, or correct its name",
        ),
        (
            f"s3://{BUCKET}/x",
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            f"--uds-store: s3://{BUCKET}/x cannot be listed (connection refused): see the URL, the network and the "
            "endpoint, and run again; what is stored is kept",
        ),
        (
            f"s3://{BUCKET}/x",
            {"AWS_ALLOW_HTTP": "false"},
            f"--uds-store: s3://{BUCKET}/x cannot be listed (http without TLS is not allowed, as by "
            "AWS_ALLOW_HTTP=true): see the URL, the network and the endpoint, and run again; what is stored is kept",
        ),
    ],
)
def test_what_is_wrong_with_a_bucket_is_one_line_before_the_run(
    place: StorePlace, url: str, environment: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr(bucket, "HASTE", 1.0)
    with pytest.raises(ConfigurationError) as raised:
        shelf_at(url).require("--uds-store")
    assert str(raised.value) == told


def test_keys_that_may_do_nothing_are_told_and_no_key_is(
    place: StorePlace, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3.only(["s3:DeleteObject"]) as environment:
        for key, value in environment.items():
            monkeypatch.setenv(key, value)
        with pytest.raises(ConfigurationError) as raised:
            shelf_at(place).require("--store")
        with pytest.raises(UdsError, match=r"cannot be read \(403 AccessDenied\)"):
            Store(place).read(CELL)
    assert str(raised.value) == (
        f"--store: {place} cannot be listed (403 AccessDenied): give credentials that may list, get and put, in the "
        f"environment of every process, as {KEY}"
    )


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "http://host/x",
            "--uds-store: 'http' is no kind of bucket: write s3://bucket/prefix, gs://, az:// or a folder",
        ),
        (
            "s3:/me:s3cr3t@bucket",
            "--uds-store: this s3:// is no bucket with a prefix: write s3://bucket/prefix, and leave",
        ),
        ("s3://bucket/../x", "--uds-store: this s3:// is no bucket with a prefix"),
        ("s3://bucket//x", "--uds-store: this s3:// is no bucket with a prefix"),
        ("s3://bucket/x@s3cr3t", "--uds-store: this s3:// is no bucket with a prefix"),
        ("s3://", "--uds-store: this s3:// is no bucket with a prefix: write s3://bucket/prefix, and leave keys"),
        ("s3://me:s3cr3t@bucket/x", "--uds-store: this s3:// is no bucket with a prefix"),
        ("az://box/x?sig=s3cr3t", "--uds-store: this az:// is no bucket with a prefix"),
    ],
)
def test_what_names_no_bucket_is_refused_and_no_key_is_repeated(url: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        bucket.require_url(url, "--uds-store")
    assert str(raised.value).startswith(told)
    assert "s3cr3t" not in str(raised.value)


def test_without_its_extra_a_bucket_is_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda _: False)
    with pytest.raises(ExtraError) as raised:
        shelf_at("s3://bucket/x")
    assert str(raised.value) == "--store s3:// needs obstore, which is missing: pip install 'uds-bench[cloud]'"


@pytest.mark.slow
def test_two_drivers_share_a_bucket(place: StorePlace, tmp_path: Path) -> None:
    drivers = [started(tmp_path, 60, engine, 0.02, place) for engine in ("here", "local")]
    assert [driver.wait() for driver in drivers] == [0, 0]
    assert made.times(tmp_path) == dict.fromkeys(made.names_of(60), 1)
    assert len(list(Store(place).shelf.names(CELLS))) == 60
    assert len({path.name.split(".")[1] for path in (tmp_path / "log").iterdir()}) > 1, "both took part"


@pytest.mark.slow
@pytest.mark.parametrize("kills", [5])
def test_a_driver_that_is_killed_again_and_again_is_taken_up(place: StorePlace, tmp_path: Path, kills: int) -> None:
    shelf, count = Store(place).shelf, 60
    for kill in range(kills):
        driver = started(tmp_path, count, "local", 0.05, place)
        wait_until(lambda kill=kill: len(list(shelf.names(CELLS))) >= 8 * (kill + 1))
        driver.kill()
        driver.wait()
    kept = len(list(shelf.names(CELLS)))
    assert kept < count, "the last kill came too late to be one"
    before = made.times(tmp_path)
    found = made.score_all(made.made_runner(tmp_path, made.names_of(count), store=place))
    assert all(isinstance(value, float) for value in found.values())
    assert sum((made.times(tmp_path) - before).values()) == count - kept
    assert sum(made.times(tmp_path).values()) - count <= kills * 2, "what two processes were at is scored again"
