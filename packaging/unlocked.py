"""Fails over lines of `pip freeze --exclude-editable`, given as the input, that the lock has not."""

import re
import sys
from pathlib import Path


def plain(line: str) -> str:
    """A line in one spelling; a build for CPUs alone has the version that it is a build of."""
    name, equals, version = line.strip().partition("==")
    return re.sub(r"[-_.]+", "-", name).lower() + equals + version.partition("+")[0]


locked = set(map(plain, (Path(__file__).parent / "lock.txt").read_text().splitlines()))
unlocked = [line for line in map(str.strip, sys.stdin) if line and plain(line) not in locked]
sys.exit("not in packaging/lock.txt: " + ", ".join(unlocked) if unlocked else 0)
