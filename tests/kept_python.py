"""A Python that has imported what our commands import, and runs each of them in a copy of itself.

`uds-bench` and `pytest`, as a shell finds them in the folder that it fills, start in milliseconds so. They read
arguments, folder, environment and pipes as they always do, and end as they do.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SOCKET = "KEPT_PYTHON"
PROGRAMS = {"uds-bench": ("uds_bench.cli", "main"), "pytest": ("pytest", "main")}
ASKING = f"""#!{sys.executable} -IS
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as one:
    one.connect(os.environ["{SOCKET}"])
    asked = [os.path.basename(sys.argv[0]), sys.argv[1:], os.getcwd(), dict(os.environ)]
    socket.send_fds(one, [json.dumps(asked).encode()], [0, 1, 2])
    sys.exit(one.recv(1)[0])
"""


@contextmanager
def kept_python(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a shell whose `uds-bench` and `pytest` are run so, while the context lasts."""
    for name in PROGRAMS:
        (folder / name).write_text(ASKING)
        (folder / name).chmod(0o755)
    place = folder / "socket"
    words = [sys.executable, __file__, str(place)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        found = [str(folder), str(Path(sys.executable).parent), os.environ["PATH"]]
        yield os.environ | {SOCKET: str(place), "PATH": os.pathsep.join(found)}
        process.stdin.close()


def asked(listener: socket.socket) -> str:
    """Returns once for each command, in the process that is to run it: the name of its program."""
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
            os._exit(0)  # Nobody is left to ask.
        connection, _ = listener.accept()
        if os.fork():
            connection.close()
            continue
        message, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if child := os.fork():
            connection.send(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255]))
            os._exit(0)
        name, words, folder, known = json.loads(message)
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(known)
        sys.path[:0] = [one for one in known.get("PYTHONPATH", "").split(os.pathsep) if one and one not in sys.path]
        sys.argv = [name, *words]
        return str(name)


def run(name: str) -> int:
    """What a program ends with."""
    module, function = PROGRAMS[name]
    try:
        ended = getattr(importlib.import_module(module), function)()
    except SystemExit as end:
        ended = end.code
    return int(ended or 0)


if __name__ == "__main__":
    import uds_bench

    for found in pkgutil.walk_packages(uds_bench.__path__, "uds_bench."):
        importlib.import_module(found.name)
    importlib.import_module("transformers.models.llama.modeling_llama")
    # Whoever looks through what is imported, or takes it down at the end, copies it first.
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(sys.argv[1])
        made.listen()
        print("ready", flush=True)
        program = asked(made)
    ended = run(program)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ended)
