"""A real server of Azure's blobs on this machine, where azurite is installed: npm install -g azurite."""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.request import Request, urlopen

import pytest

PROGRAM = "azurite-blob"
ACCOUNT, CONTAINER, VERSION = "devstoreaccount1", "scores", "2021-08-06"
# The key that everybody's azurite has.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextmanager
def azurite_server() -> Iterator[dict[str, str]]:
    """A server with one container: the environment of a process that keeps scores there."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    words = ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--blobPort", str(port)]
    process = subprocess.Popen([PROGRAM, *words])
    try:
        _make_container(f"http://127.0.0.1:{port}/{ACCOUNT}/{CONTAINER}?restype=container")
        yield {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}",
            "AZURE_ALLOW_HTTP": "true",
        }
    finally:
        process.kill()
        process.wait()


def _make_container(url: str) -> None:
    date, end = email.utils.formatdate(usegmt=True), time.monotonic() + 30
    told = f"x-ms-date:{date}\nx-ms-version:{VERSION}\n/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
    code = hmac.digest(base64.b64decode(KEY), ("PUT" + 12 * "\n" + told).encode(), hashlib.sha256)
    headers = {"x-ms-date": date, "x-ms-version": VERSION, "Content-Length": "0"}
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(code).decode()}"
    while True:
        try:
            urlopen(Request(url, headers=headers, method="PUT")).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


@pytest.fixture(scope="session")
def azurite() -> Iterator[dict[str, str]]:
    """The environment of one server, once a session."""
    if shutil.which(PROGRAM) is None:
        pytest.skip("not applicable: azurite is not installed (npm install -g azurite)")
    with azurite_server() as environment:
        yield environment
