"""A real server of S3 on this machine, and a line to it that can be cut."""

from __future__ import annotations

import json
import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from uds_bench.storage import StorePlace

BUCKET = "scores"
# One request at a time: whether a condition holds, and what is put, are one step, as in S3 itself.
SERVER = """
from threading import Lock
from moto.server import DomainDispatcherApplication, create_backend_app
from uds_bench.children import end_with_parent
from werkzeug.serving import WSGIRequestHandler, make_server
end_with_parent()
WSGIRequestHandler.log = lambda *_: None
answers, lock = DomainDispatcherApplication(create_backend_app), Lock()
def one_by_one(environ, start):
    with lock:
        return list(answers(environ, start))
server = make_server("127.0.0.1", 0, one_by_one, threaded=True)
print(server.port, flush=True)
server.serve_forever()
"""
READ_ONLY = ["s3:ListBucket", "s3:GetObject"]


@dataclass
class S3Server:
    """A server with one bucket. `environment`: what a process needs to reach it."""

    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self, port: int | None = None, key: str = "anybody", secret: str = "s3cr3t") -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": "us-east-1",
        }

    @contextmanager
    def only(self, actions: list[str]) -> Iterator[dict[str, str]]:
        """The environment of one who may do these things, while the server looks who asks."""
        import boto3

        known = {"aws_access_key_id": "admin", "aws_secret_access_key": "admin", "region_name": "us-east-1"}
        iam: Any = boto3.client("iam", endpoint_url=self.endpoint, **known)
        name = f"user{time.time_ns()}"
        iam.create_user(UserName=name)
        rule = {"Effect": "Allow", "Action": actions, "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [rule]})
        iam.put_user_policy(UserName=name, PolicyName="only", PolicyDocument=document)
        made = iam.create_access_key(UserName=name)["AccessKey"]
        self._post("reset-auth", b"0")
        try:
            yield self.environment(key=made["AccessKeyId"], secret=made["SecretAccessKey"])
        finally:
            self._post("reset-auth", b"inf")

    def _post(self, what: str, body: bytes) -> None:
        kind = {"Content-Type": "text/plain"}
        urlopen(Request(f"{self.endpoint}/moto-api/{what}", data=body, headers=kind, method="POST")).close()


@contextmanager
def s3_server() -> Iterator[S3Server]:
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, env=dict(os.environ))
    assert process.stdout is not None
    try:
        server = S3Server(int(process.stdout.readline()))
        urlopen(Request(f"{server.endpoint}/{BUCKET}", method="PUT")).close()
        yield server
    finally:
        process.kill()
        process.wait()


@dataclass
class Line:
    """A line to a server.

    `cut_after`: bytes of an answer after which it is cut, as often as `cuts` says; `resets`: no end is told then, as by
    a server that crashed; `loses`: the beginning of a header that does not arrive, as at a server that ignores it.
    """

    server: int
    port: int = 0
    cut_after: int | None = None
    cuts: int = 0
    resets: bool = False
    loses: bytes = b""
    _listener: Any = field(default=None, repr=False)

    def up(self) -> None:
        line = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                line.carry(self.request)

        class Listener(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._listener = Listener(("127.0.0.1", self.port), Handler)
        self.port = self._listener.server_address[1]
        threading.Thread(target=self._listener.serve_forever, args=(0.01,), daemon=True).start()

    def down(self) -> None:
        self._listener.shutdown()
        self._listener.server_close()

    def carry(self, near: socket.socket) -> None:
        """One connection, whose server ends it after an answer."""
        with socket.create_connection(("127.0.0.1", self.server)) as far, suppress(OSError):
            back = threading.Thread(target=self._back, args=(far, near), daemon=True)
            back.start()
            while data := near.recv(65536):
                far.sendall(data.replace(self.loses, b"x-") if self.loses else data)
            back.join()
        if self.resets:
            near.close()

    def _back(self, far: socket.socket, near: socket.socket) -> None:
        sent, left = 0, self.cut_after if self.cuts > 0 else None
        with suppress(OSError):
            while data := far.recv(65536):
                if left is not None and sent + len(data) > left:
                    near.sendall(data[: left - sent])
                    self.cuts -= 1
                    if self.resets:
                        near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        near.shutdown(socket.SHUT_RD)
                        return
                    break
                near.sendall(data)
                sent += len(data)
            near.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A server of S3, once a session."""
    with s3_server() as server:
        yield server


@pytest.fixture
def place_of(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], StorePlace]:
    """An empty place of scores, by its kind."""

    def place(kind: str) -> StorePlace:
        if kind == "folder":
            return tmp_path / "scores"
        monkeypatch.setenv("UDS_BENCH_CACHE", str(tmp_path / "cache"))
        azure = kind == "azure"
        environment = request.getfixturevalue("azurite") if azure else request.getfixturevalue("s3").environment()
        for key, value in environment.items():
            monkeypatch.setenv(key, value)
        return f"{'az' if azure else 's3'}://{BUCKET}/{tmp_path.parent.name}/{tmp_path.name}"

    return place
