"""Child processes: they end with their parent, and one with limits works on what a stranger wrote."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import import_module
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from uds_bench.errors import one_line

MEMORY = 2 << 30
"""Bytes of address space that a child's calls may take, beside its libraries: torch for CUDA alone takes as many."""
A_CALL = 0.005
"""Seconds of computing that each call adds to a child's allowance: a call that always uses all of it is no use."""
ANSWER = 1 << 24
"""The most bytes of an answer."""


def end_with_parent() -> None:
    """End this process of `multiprocessing` when the one that started it ends, killed ones too."""
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A killed parent cannot stop its children: without this they would go on, or wait, for nobody.
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class ChildError(Exception):
    """An error that a child reported."""


class LimitError(ChildError):
    """A child went beyond its limits."""


class Child:
    """A process that answers calls of one function with JSON, within `seconds` of computing and `MEMORY`.

    `function`: as `package.module:name`. The process starts with the first call. It ends with its parent, or beyond its
    limits; then the next call starts another one.
    """

    def __init__(self, function: str, seconds: int) -> None:
        self.function, self.seconds = function, seconds
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, *given: Any) -> Any:
        """What the function makes of JSON values. Raises ChildError where it raises, LimitError beyond the limits."""
        try:
            line = self._exchange(json.dumps(given, default=str).encode())
        except BaseException:
            self.close()  # an answer that is still to come would be taken for that to the next call
            raise
        if not line:
            raise LimitError(self._end())
        answer = json.loads(line)
        if "error" in answer:
            raise ChildError(answer["error"])
        return answer["value"]

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _exchange(self, line: bytes) -> bytes:
        if self._process is None:
            path = os.pathsep.join(filter(None, sys.path))
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
            code = f"from uds_bench.children import serve; serve({self.function!r}, {self.seconds})"
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **threads, "PYTHONPATH": path},
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it has ended: its answer is empty
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        return self._process.stdout.readline()

    def _end(self) -> str:
        process, self._process = self._process, None
        assert process is not None
        process.communicate()
        if process.returncode == -signal.SIGXCPU:
            return f"it takes more than {self.seconds} s"
        return f"it ends the process that reads it (exit {process.returncode})"

    def __del__(self) -> None:
        self.close()


def serve(function: str, seconds: int) -> None:
    """In the child: answer line by line."""
    module, _, name = function.partition(":")
    call = getattr(import_module(module), name)
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr
    allowed, most = float(seconds), _taken() + MEMORY
    for line in sys.stdin.buffer:
        _limit(math.ceil(allowed := allowed + A_CALL), most)
        try:
            answer = json.dumps({"value": call(*json.loads(line))})
            if len(answer) > ANSWER:
                raise ValueError(f"gives more than {ANSWER >> 20} MiB")
        except Exception as error:
            answer = json.dumps({"error": one_line(f"{type(error).__name__}: {one_line(error)}")})
        answers.write(answer.encode() + b"\n")
        answers.flush()


def _taken() -> int:
    """Bytes of address space that this process has, where the system tells it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _limit(seconds: int, memory: int) -> None:
    """Limit this process: it is killed after so many seconds of computing, and gets no more memory than that."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))
