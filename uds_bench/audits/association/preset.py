"""A manifest for a file of requests: what `uds-bench init --from` writes where it is given one."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from uds_bench.audits.api import ManifestPreset
from uds_bench.audits.association.people import properties_of
from uds_bench.audits.association.section import Association
from uds_bench.facts.records import read_records
from uds_bench.facts.requests import read_requests

MANIFEST = """\
# Who asked to be forgotten: docs/howto/request.md has the steps behind this file.
[references]
full = "./runs/full"             # a folder or a hub id: the model that people ask you to change

[association]
requests = {requests}
#subjects = "people.jsonl"       # people of whom it should keep what it knows
# What is rechecked at every release, and the model before the first request:
#model = "./runs/full"
#candidates = {{ npo = "./runs/npo" }}
"""


def preset(source: Path, folder: Path) -> ManifestPreset | None:
    """The manifest for a file of requests, which is read whole; None for a file of anything else.

    Raises FactError with file, line and key for a request that cannot be used.
    """
    first = read_records(source)[0]
    if not (first.has("person") and first.has("facts")):
        return None
    read_requests(source, properties_of(Association()))
    place = json.dumps(Path(os.path.relpath(source.resolve(), folder.resolve())).as_posix(), ensure_ascii=False)
    steps = ["uds-bench", "forget-set", "--manifest", str(folder / "uds.toml"), "--out", str(folder / "forget.jsonl")]
    return ManifestPreset(MANIFEST.format(requests=place), shlex.join(steps))
