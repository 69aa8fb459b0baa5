"""Options that cannot be used are told before anything is loaded, with what to do."""

from __future__ import annotations

import pytest
from small_runs import DEPTH, Bench

REFUSED = [
    (
        "--uds-manifest nowhere.toml",
        "--uds-manifest: {folder}/nowhere.toml does not exist or is not a file: name a TOML file",
    ),
    (
        "--uds-waivers nowhere.toml",
        "--uds-waivers: {folder}/nowhere.toml does not exist or is not a file: name a TOML file",
    ),
    ("--uds-profile huge", "--uds-profile: 'huge' is no profile: choose from quick, zoo, full"),
    ("--uds-draw second", "--uds-draw: 'second' is no draw of the embedded zoo"),
    ("--uds-device tpu", "choose auto, cpu or cuda"),
    (
        "--uds-json a_file/report.json",
        "{folder}/a_file is not writable (File exists): name another folder with --uds-json",
    ),
    ("--uds-batch-size none", "--uds-batch-size: 'none' is no batch size: give a number, 1 or more"),
    ("--uds-batch-size 0", "--uds-batch-size: '0' is no batch size: give a number, 1 or more"),
    ("--uds-json .", "--uds-json: {folder} is a folder: name a file"),
    ("--uds-json run.parquet", "--uds-json: {folder}/run.parquet has the name of the table beside it"),
    (
        "--uds-html a_file/page",
        "{folder}/a_file/page is not writable (Not a directory): name another folder with --uds-html",
    ),
    ("--uds-record=", "give the reason"),
    ("-p no:uds_bench_session", "-p no:uds_bench_session: no claim is kept, or told, without it"),
    ("-p no:uds_bench_screen", "-p no:uds_bench_screen: no claim is kept, or told, without it"),
    ("-o uds_manifest=nowhere.toml", "nowhere.toml"),
    ("--uds-method npo --uds-manifest a_file", "{folder}/a_file, line 1: is no TOML"),
    ("--uds-method nowhere:forget", "nowhere:forget: cannot be imported (ModuleNotFoundError"),
    ("--uds-method npoo", "'npoo': is no built-in method, and no package.module:function: did you mean 'npo'"),
]


@pytest.mark.parametrize(("option", "said"), REFUSED)
def test_an_option_that_cannot_be_used_is_told(bench: Bench, option: str, said: str) -> None:
    (bench.folder / "a_file").write_text("x")
    manifest = None if "manifest" in option or "method" in option else bench.manifest()
    assert said.format(folder=bench.folder) in bench.refused(DEPTH, *option.split(), manifest=manifest)
