"""A file is whole or it is not there: under a crash, a cut and a changed byte."""

import json
import os
import stat
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uds_bench.errors import ConfigurationError
from uds_bench.storage import (
    canonical,
    content_key,
    default_cache,
    read_sealed,
    require_writable,
    write_atomic,
    write_new,
    write_sealed,
)

# The folder is shared by the examples of one test; each writes its file anew.
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)


class Crash(BaseException):
    """Neither an Exception nor expected: what a signal handler may raise."""


def is_refused(path: Path) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        payload = read_sealed(path)
    return payload is None and [str(w.message) for w in caught] == [
        f"{path} is cut short or altered: it is ignored and made anew"
    ]


@given(st.binary(max_size=200))
@shared_folder
def test_what_is_sealed_is_read_back(tmp_path: Path, payload: bytes) -> None:
    write_sealed(tmp_path / "file", payload)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_sealed(tmp_path / "file") == payload


@pytest.mark.parametrize("payload", [b"", b"\nsha256:", b"{}\n", bytes(range(256))])
def test_a_cut_at_any_place_is_seen(tmp_path: Path, payload: bytes) -> None:
    path = tmp_path / "file"
    write_sealed(path, payload)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert is_refused(path), f"cut to {length} of {len(content)} bytes"
    path.write_bytes(content + b"\n")
    assert is_refused(path)


@given(st.binary(max_size=40), st.data())
@shared_folder
def test_a_changed_byte_at_any_place_is_seen(tmp_path: Path, payload: bytes, data: st.DataObject) -> None:
    path = tmp_path / "file"
    write_sealed(path, payload)
    content = path.read_bytes()
    change = data.draw(st.integers(1, 255))
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
        assert is_refused(path), f"byte {place} of {len(content)}"


def test_a_missing_file_is_no_cause_for_a_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_sealed(tmp_path / "nowhere" / "file") is None


@pytest.mark.parametrize("moment", ["fsync", "replace"])
@pytest.mark.parametrize("crash", [OSError(28, "No space left on device"), Crash()])
def test_a_crash_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, crash: BaseException
) -> None:
    path = tmp_path / "folder" / "file"
    write_atomic(path, b"old")

    def fail(*_: Any) -> None:
        raise crash

    with monkeypatch.context() as patch:
        patch.setattr(os if moment == "fsync" else Path, moment, fail)
        with pytest.raises(type(crash)):
            write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path], "a draft was left behind"
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_written_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    """A report written on one account is read on another."""
    (tmp_path / "plain").touch()
    write_atomic(tmp_path / "file", b"")
    assert stat.filemode((tmp_path / "file").stat().st_mode) == stat.filemode((tmp_path / "plain").stat().st_mode)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=50)
@given(JSON)
def test_canonical_json_is_read_back_and_has_one_spelling(value: Any) -> None:
    spelled = canonical(value)
    assert json.loads(spelled) == value
    assert canonical(json.loads(spelled)) == spelled


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(), st.integers(), min_size=2, max_size=5))
def test_the_order_of_keys_does_not_change_a_content_key(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))
    assert content_key(backwards) == content_key(value)
    assert content_key({**value, "": "something else"}) != content_key(value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_is_refused(number: float) -> None:
    for value in (number, [number], {"a": {"b": number}}):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical(value)
        with pytest.raises(ValueError, match="not JSON compliant"):
            content_key(value)


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    assert require_writable(tmp_path / "a" / "b", "--uds-store") == tmp_path / "a" / "b"
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_folder_that_takes_no_files_is_an_error_that_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigurationError) as caught:
            require_writable(folder, "--uds-store")
        assert str(caught.value).startswith(f"{folder} is not writable (")
        assert str(caught.value).endswith("): name another folder with --uds-store")


def test_the_cache_is_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UDS_BENCH_CACHE", str(tmp_path))
    assert default_cache() == tmp_path
    monkeypatch.setenv("UDS_BENCH_CACHE", "")
    assert default_cache().name == "uds-bench"


def test_what_is_there_is_kept_where_a_file_is_to_be_new(tmp_path: Path) -> None:
    assert write_new(tmp_path / "folder" / "file", b"first")
    assert not write_new(tmp_path / "folder" / "file", b"second")
    assert (tmp_path / "folder" / "file").read_bytes() == b"first"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file"]


def test_where_a_file_system_has_no_links_a_file_is_new_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    test_what_is_there_is_kept_where_a_file_is_to_be_new(tmp_path)


def test_a_draft_is_old_by_the_clock_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by this machine's: where that runs ahead, what another one is writing now would seem left behind."""
    path = tmp_path / "file"
    being_written, left_behind = (tmp_path / f".file.{letter * 16}" for letter in "ab")
    for draft in (being_written, left_behind):
        draft.touch()
    long_ago = being_written.stat().st_mtime - 2 * 60 * 60
    os.utime(left_behind, (long_ago, long_ago))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 24 * 60 * 60)
    write_atomic(path, b"whole")
    assert sorted(tmp_path.iterdir()) == [being_written, path]
