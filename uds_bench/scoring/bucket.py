"""Scores in a bucket of S3, GCS or Azure."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.extras import require
from uds_bench.scoring.bucket_leases import BucketLeases
from uds_bench.scoring.shelf import MOST_STORED, Found
from uds_bench.storage import CELLS, content_key, default_cache, require_writable

PATIENCE = 180.0
"""Seconds for which a server that does not answer is asked again, while something is read or written."""
HASTE = 10.0
"""The same before a run, and where a lease is renewed."""
PAUSE = 0.5
"""Seconds between two tries, where the package does not try again itself."""
PROBE = "leases/writable"
"""The object that is put to test whether the bucket can be written and heeds conditions."""
STALE = {"e_tag": '"0"', "version": "0"}
"""A version that no object has."""
SCHEMES = {"s3": "AWS_ACCESS_KEY_ID", "gs": "GOOGLE_APPLICATION_CREDENTIALS"}
SCHEMES |= dict.fromkeys(("az", "abfs", "abfss"), "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY")
"""How URLs begin, each with the environment variables that hold its key."""
T = TypeVar("T")

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")
_BROKEN = ("kind: Request", "kind: Body", "kind: Decode", "NoContentRange")
"""What the package says of a connection that was not made, or broke."""
_METADATA = ("169.254.169.254", "metadata.google.internal")
"""Where a cloud's own machine would find its credentials."""
_CAUSES = {
    "dns error": "no such host",
    "Connection refused": "connection refused",
    "TimedOut": "no answer in time",
    "IncompleteMessage": "connection lost",
    "ConnectionReset": "connection lost",
    "NoContentRange": "connection lost",
    "MissingAccount": "no account: set AZURE_STORAGE_ACCOUNT_NAME",
    "BadScheme": "http without TLS is not allowed, as by AWS_ALLOW_HTTP=true",
    "incorrectly configured region": "it is in another region: set AWS_REGION",
}


def require_url(url: str, option: str) -> None:
    """Raises ConfigurationError for what names no bucket, ExtraError where the package is missing. A URL that holds a
    key is not repeated."""
    scheme, _, rest = url.partition(":")
    if scheme not in SCHEMES:
        raise ConfigurationError(
            f"{option}: {scheme[:40]!r} is no kind of bucket: write s3://bucket/prefix, gs://, az:// or a folder"
        )
    bucket, *folders = rest.removeprefix("//").removesuffix("/").split("/")
    account = "@" if scheme.startswith("abfs") else ""
    is_plain = all(re.fullmatch(r"(?!\.{1,2}$)[^?#@]+", folder) for folder in folders)
    if not (rest.startswith("//") and re.fullmatch(rf"[\w.{account}-]+", bucket) and is_plain):
        raise ConfigurationError(
            f"{option}: this {scheme}:// is no bucket with a prefix: write {scheme}://bucket/prefix, and leave keys to "
            "the environment"
        )
    require(f"{option} {scheme}://", "obstore")


class Bucket:
    """See `Shelf`. The credentials are those of the environment, in whichever process; they are kept nowhere."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.folder: Path = default_cache() / "stores" / content_key(self.url)[:16]
        self._leases = BucketLeases(self)
        self._lost: UdsError | None = None
        self._lost_until = 0.0
        self._is_writable = False

    def __reduce__(self) -> Any:
        return Bucket, (self.url,)

    def __str__(self) -> str:
        return self.url

    def get(self, name: str) -> Found | None:
        """See `Shelf`."""
        import obstore

        def ask() -> Found | None:
            found = obstore.get(self._patient, name)
            is_large = found.meta["size"] > MOST_STORED
            return Found(b"" if is_large else bytes(found.bytes()), _version(found.meta))

        return self._ask("read", ask)

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """See `Shelf`."""
        return self.swap(name, content) is not None

    def replace(self, name: str, content: bytes, found: Found) -> bool:
        """See `Shelf`."""
        return self.swap(name, content, found.version) is not None

    def swap(self, name: str, content: bytes, version: Any = None, hasty: bool = False) -> Any:
        """Put an object where none is, or in the place of a version of it.

        Returns its version; None where another one was first.
        """
        put = self._put(name, content, version, hasty)
        if put is None and (found := self.get(name)) is not None and found.content == content:
            return found.version  # the answer to the first try was lost, and the second one met what it had put
        return put

    def names(self, under: str) -> Iterator[str]:
        """See `Shelf`."""
        import obstore

        chunks = iter(obstore.list(self._hasty, under))
        while (chunk := self._ask("listed", lambda: next(chunks, None), hasty=True)) is not None:
            yield from (one["path"] for one in chunk)

    def lease(self, key: str) -> AbstractContextManager[bool]:
        """See `Shelf`, and `BucketLeases`."""
        return self._leases.hold(f"leases/{key}")

    def lease_at(self, key: str) -> str:
        """See `Shelf`."""
        return f"{self.url}/leases/{key}"

    def require(self, option: str) -> None:
        """See `Shelf`."""
        try:
            holds = next(self.names(CELLS), None) is not None
        except UdsError as error:
            raise ConfigurationError(f"{option}: {error}") from None
        if not holds:
            self.require_writable(option)

    def require_writable(self, option: str) -> None:
        """See `Shelf`."""
        if self._is_writable:
            return
        require_writable(default_cache(), "UDS_BENCH_CACHE")
        try:
            self._put(PROBE, b"", None, hasty=True)
            self._is_writable = self._put(PROBE, b"", None, True) is None and self._put(PROBE, b"", STALE, True) is None
        except UdsError as error:
            raise ConfigurationError(f"{error}, or name another place with {option}") from None
        if not self._is_writable:
            raise ConfigurationError(
                f"{self.url}: its server heeds no conditions (If-None-Match, If-Match), so that one writer would undo "
                f"what another one put: name another place with {option}"
            )

    def _put(self, name: str, content: bytes, version: Any, hasty: bool) -> Any:
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def ask() -> Any:
            client = self._hasty if hasty else self._patient
            try:
                return _version(obstore.put(client, name, content, mode=version or "create", use_multipart=False))
            except (AlreadyExistsError, PreconditionError):
                return None

        return self._ask("written", ask, hasty)

    @cached_property
    def _patient(self) -> Any:
        return _open(self.url, PATIENCE)

    @cached_property
    def _hasty(self) -> Any:
        return _open(self.url, HASTE)

    def _ask(self, what: str, ask: Callable[[], T], hasty: bool = False) -> T | None:
        """What the server answers; None if it has no such object. After a wait in vain, the server is not asked again
        for as long. So a run without its store ends soon, and what it has stored is kept."""
        from obstore.exceptions import BaseError

        if self._lost is not None and time.monotonic() < self._lost_until:
            raise self._lost
        end = time.monotonic() + (HASTE if hasty else PATIENCE)
        while True:
            try:
                return ask()
            except (BaseError, FileNotFoundError) as error:
                text = str(error)
                if isinstance(error, FileNotFoundError) and not any(said in text for said in _NO_BUCKET):
                    return None
                # The package does not put again where a connection was reset: it may have been put. `swap` looks.
                if any(said in text for said in _BROKEN) and time.monotonic() < end:
                    time.sleep(PAUSE)
                    continue
                told = UdsError(f"{self.url} cannot be {what} ({_why(text)}): {_remedy(text, self.url)}")
                status = _STATUS.search(text)
                if not hasty and (status is None or status[1].startswith("5")):
                    self._lost, self._lost_until = told, time.monotonic() + PATIENCE
                raise told from None


def _open(url: str, patience: float) -> Any:
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    backoff: Any = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=5), "base": 2}
    retry: Any = {"max_retries": 1000, "retry_timeout": timedelta(seconds=patience), "backoff": backoff}
    try:
        return from_url(url, retry_config=retry)
    except (BaseError, ValueError) as error:
        raise ConfigurationError(f"{url} cannot be opened ({_why(str(error))}): {_remedy('', url)}") from None


def _version(meta: Mapping[str, Any]) -> dict[str, str]:
    return {key: meta[key] for key in ("e_tag", "version") if meta.get(key) is not None}


def _why(text: str) -> str:
    """What went wrong, in a few words: never a URL, which may hold a signature, nor what the server sent."""
    status, code = _STATUS.search(text), _CODE.search(text)
    if any(place in text for place in _METADATA):
        return "no credentials"
    if status is not None:
        return f"{status[1]} {code[1]}" if code and code[1] != status[1] else status[1]
    plain = re.sub(r"\S+://\S+", "...", text.partition("\n\nDebug")[0].rpartition(" - ")[2])
    return next((said for seen, said in _CAUSES.items() if seen in text), plain[:100])


def _remedy(text: str, url: str) -> str:
    status = _STATUS.search(text)
    if any(said in text for said in _NO_BUCKET):
        return "make the bucket, or correct its name"
    if any(place in text for place in _METADATA) or (status is not None and status[1] in ("401", "403")):
        keys = SCHEMES[url.partition(":")[0]]
        return f"give credentials that may list, get and put, in the environment of every process, as {keys}"
    return "see the URL, the network and the endpoint, and run again; what is stored is kept"
