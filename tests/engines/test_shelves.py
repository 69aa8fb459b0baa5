"""What every place of scores does, a folder or a bucket: two writers, leases, cells that are cut or altered."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import made_cells as made
import pytest
from made_cells import CELL, SCORE, holder, wait_until

from uds_bench.scoring import bucket, bucket_leases, folder, workers
from uds_bench.scoring.store import Store
from uds_bench.storage import CELLS, StorePlace

BUCKET = pytest.param("bucket", marks=[pytest.mark.needs("obstore"), pytest.mark.needs("moto")])
AZURE = pytest.param("azure", marks=pytest.mark.needs("obstore"))
pytestmark = pytest.mark.parametrize("kind", ["folder", BUCKET, AZURE])
Places = Callable[[str], StorePlace]


@pytest.fixture
def place(kind: str, place_of: Places) -> StorePlace:
    return place_of(kind)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that a killed process held are another's soon."""
    for name, seconds in {"EXPIRES": 1.0, "RENEWED": 0.2, "LOOKED": 0.05}.items():
        monkeypatch.setattr(bucket_leases, name, seconds)


def test_a_file_is_put_once_and_found_whole(place: StorePlace) -> None:
    shelf = Store(place).shelf
    assert shelf.get("cells/ab/x.json") is None
    assert list(shelf.names(CELLS)) == []
    assert shelf.put_if_absent("cells/ab/x.json", b"first")
    assert not shelf.put_if_absent("cells/ab/x.json", b"second")
    found = shelf.get("cells/ab/x.json")
    assert found is not None
    assert found.content == b"first"
    assert shelf.replace("cells/ab/x.json", b"third", found)
    assert shelf.get("cells/ab/x.json").content == b"third"  # type: ignore[union-attr]
    assert list(shelf.names(CELLS)) == ["cells/ab/x.json"]


def test_of_writers_at_one_moment_one_is_first(place: StorePlace) -> None:
    shelves = [Store(place).shelf for _ in range(8)]
    for at in range(10):
        name = f"cells/ab/{at}.json"
        with ThreadPoolExecutor(8) as pool:
            put = [pool.submit(shelf.put_if_absent, name, b"%d" % one) for one, shelf in enumerate(shelves)]
        was_first = [future.result() for future in put]
        assert was_first.count(True) == 1
        assert shelves[0].get(name).content == b"%d" % was_first.index(True)  # type: ignore[union-attr]


def test_the_score_that_was_stored_first_is_the_one_that_counts(place: StorePlace) -> None:
    assert Store(place).write(CELL, SCORE) == SCORE
    assert Store(place).write(CELL, replace(SCORE, value=0.55)) == SCORE
    assert Store(place).read(CELL) == SCORE
    assert Store(place).read(replace(CELL, checkpoint="other")) is None


@pytest.mark.parametrize(
    "spoilt", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda whole: b"x" + whole]
)
def test_a_cell_that_is_cut_or_altered_is_told_and_made_anew(
    place: StorePlace, spoilt: Callable[[bytes], bytes]
) -> None:
    store = Store(place)
    store.write(CELL, SCORE)
    (name,) = store.shelf.names(CELLS)
    found = store.shelf.get(name)
    assert found is not None
    assert store.shelf.replace(name, spoilt(found.content), found)
    with pytest.warns(UserWarning, match=f"{place}/{name} is cut short or altered: it is ignored and made anew"):
        assert Store(place).read(CELL) is None
    assert store.write(CELL, SCORE) == SCORE
    assert Store(place).read(CELL) == SCORE


def test_a_file_that_is_larger_than_any_score_is_told_and_made_anew(
    place: StorePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(place).write(CELL, SCORE)
    for module in (folder, bucket):
        monkeypatch.setattr(module, "MOST_STORED", 100)
    with pytest.warns(UserWarning, match="is cut short or altered: it is ignored and made anew"):
        assert Store(place).read(CELL) is None


def test_what_is_made_is_made_once_and_anew_where_it_was_altered(place: StorePlace) -> None:
    store, made_so_far = Store(place), list[bytes]()

    def make() -> bytes:
        made_so_far.append(b"table")
        return b"table"

    assert [store.made("cache/layers/a", make) for _ in range(2)] == [b"table", b"table"]
    assert len(made_so_far) == 1
    found = store.shelf.get("cache/layers/a")
    assert found is not None
    assert store.shelf.replace("cache/layers/a", found.content[:-1], found)
    with pytest.warns(UserWarning, match=f"{place}/cache/layers/a is cut short or altered"):
        assert Store(place).made("cache/layers/a", make) == b"table"
    assert [store.made("cache/layers/a", make), len(made_so_far)] == [b"table", 2]


def test_a_lease_is_one_processs_until_it_ends(place: StorePlace) -> None:
    store, other = Store(place), Store(place)
    with store.lease("a") as first, other.lease("a") as second, other.lease("b") as third:
        assert (first, second, third) == (True, False, True)
    wait_until(lambda: taken(other), 5)


def test_a_lease_outlasts_any_time_while_its_holder_lives_and_no_time_after_it_is_killed(place: StorePlace) -> None:
    process, store, begun = holder(place, "a"), Store(place), time.monotonic()
    while time.monotonic() - begun < 2 * bucket_leases.EXPIRES:
        assert not taken(store)
        time.sleep(0.05)
    process.kill()
    process.wait()
    wait_until(lambda: taken(store), 10)


def taken(store: Store) -> bool:
    with store.lease("a") as is_ours:
        return is_ours


def test_two_runners_share_a_store(place: StorePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "processes", lambda *_: 1)
    runners = [made.made_runner(tmp_path, made.names_of(30), seconds=0.01, store=place) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(made.score_all, runners)
    assert one == other
    assert all(isinstance(value, float) for value in one.values())
    assert made.times(tmp_path) == dict.fromkeys(made.names_of(30), 1)
    assert len(list(Store(place).shelf.names(CELLS))) == 30


def test_a_store_is_sent_to_other_processes_by_its_name_alone(
    place: StorePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(place)
    store.write(CELL, SCORE)
    sent = pickle.dumps(store)
    assert b"s3cr3t" not in sent
    assert pickle.loads(sent).read(CELL) == SCORE
