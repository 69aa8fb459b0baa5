"""Leases in a bucket, where no lock is shared: objects that their holder renews, and that others take over."""

from __future__ import annotations

import os
import platform
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uds_bench.errors import UdsError
from uds_bench.storage import canonical

if TYPE_CHECKING:
    from uds_bench.scoring.bucket import Bucket

EXPIRES = 120.0
"""Seconds after which another process may take a lease that was not renewed."""
RENEWED = 20.0
"""Seconds between two renewals."""
LOOKED = 5.0
"""Seconds between two looks at a lease that another process holds."""
FREE = b"{}"


@dataclass
class _Seen:
    """A lease of another process: which version, since when and when last seen, by this process's own stopwatch."""

    version: Any
    since: float
    last: float


class BucketLeases:
    """Leases are objects that are put only where none is, or in the place of a known version: of two processes one
    succeeds.

    A process that waits measures by its own stopwatch how long a lease stays unchanged; it compares no clocks. A holder
    that slept for longer may find its lease taken: two compute the same, and the first that stores it counts.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._seen: dict[str, _Seen] = {}

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """See `Shelf.lease`."""
        lease = self._take(name)
        if lease is None:
            yield False
            return
        with lease.renewed():
            yield True

    def _take(self, name: str) -> _Lease | None:
        seen, now = self._seen.get(name), time.monotonic()
        if seen is not None and now - seen.last < LOOKED:
            return None
        found = self._bucket.get(name)
        if found is not None and found.content != FREE:
            if seen is None or seen.version != found.version:
                seen = self._seen[name] = _Seen(found.version, now, now)
            seen.last = now
            if now - seen.since < EXPIRES:
                return None
        lease = _Lease(self._bucket, name, None if found is None else found.version)
        if not lease.put():
            return None
        self._seen.pop(name, None)
        return lease


class _Lease:
    """A lease of this process. `version`: the version of the object that it replaces."""

    def __init__(self, bucket: Bucket, name: str, version: Any) -> None:
        self._bucket, self._name, self._version = bucket, name, version
        self._holder = {"holder": f"{platform.node()}:{os.getpid()}", "token": secrets.token_hex(8)}
        self._count = 0

    def put(self, hasty: bool = False) -> bool:
        """Take or renew the lease; False if it is another's."""
        self._count += 1
        # The time is for readers; nothing depends on it.
        told = {**self._holder, "renewed": self._count, "at": time.strftime("%FT%TZ", time.gmtime())}
        version = self._bucket.swap(self._name, canonical(told), self._version, hasty)
        if version is not None:
            self._version = version
        return version is not None

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew the lease while the block lasts, and free it afterwards."""
        over = threading.Event()
        thread = threading.Thread(target=self._renew, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            with suppress(UdsError):  # it expires
                self._bucket.swap(self._name, FREE, self._version, hasty=True)

    def _renew(self, over: threading.Event) -> None:
        while not over.wait(RENEWED):
            with suppress(UdsError):  # the next time may do
                if not self.put(hasty=True):
                    return
