"""Pytest options and ini keys: declared in one table, validated before any model is loaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import pytest

from uds_bench.device import resolve_device
from uds_bench.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from uds_bench.storage import StorePlace

Profile = Literal["quick", "zoo", "full"]
RECORDED: Profile = "quick"
"""The profile that goldens are recorded with: what is judged over models depends on which models they are."""

OPTIONS: tuple[tuple[str, str, str], ...] = (
    ("manifest", "FILE", "manifest of the checkpoints to judge (default: the shipped models)"),
    (
        "profile",
        "quick|zoo|full",
        "shipped models, a zoo that is trained here, or the published sweep (default: quick)",
    ),
    (
        "store",
        "DIR|URL",
        "folder or bucket of scores, read where they exist and written where not (default: the user cache)",
    ),
    ("device", "auto|cpu|cuda[:N]", "where models run (default: auto, CUDA where present)"),
    ("batch-size", "N", "facts or prompts through a model at a time (default: 16 facts, 128 prompts; halved to fit)"),
    ("json", "FILE", "write the run report as JSON"),
    ("html", "DIR", "write the run report as a page, DIR/index.html; where metrics are judged, DIR/sweep.csv too"),
    ("waivers", "FILE", "TOML file of waivers, each with reason and expiry"),
    ("draw", "N", "another draw of the embedded zoo, every seed moved (default: 0)"),
)


@dataclass(frozen=True)
class Settings:
    """Validated options; `manifest` None means the embedded zoo."""

    manifest: Path | None
    profile: Profile
    store: StorePlace
    device: str
    json: Path | None
    html: Path | None
    waivers: Path | None
    record: str | None
    goldens: Path
    draw: int
    method: str = ""
    batch_size: str = ""


def add_options(parser: pytest.Parser) -> None:
    """Declares our options and ini keys."""
    group = parser.getgroup("uds", "uds_bench: proving that a language model has forgotten")
    for name, metavar, text in OPTIONS:
        group.addoption(f"--uds-{name}", metavar=metavar, default=None, help=text)
        parser.addini(_ini(name), f"default of --uds-{name}", default="")
    group.addoption("--uds-record", metavar="REASON", default=None, help="record goldens, saying why")
    group.addoption(
        "--uds-method",
        metavar="MODULE:FUNCTION",
        default=None,
        help="unlearning method to run on the shipped models: what it makes is judged, beside a manifest's own models",
    )
    parser.addini("uds_goldens", "folder of goldens (default: goldens)", default="goldens")


def read_settings(config: pytest.Config) -> Settings:
    """The options of this run. Raises ConfigurationError with one line for a value that cannot be used."""
    from uds_bench.storage import require_writable

    values = {name: _value(config, name) for name, _, _ in OPTIONS}
    profile, draw = _profile(values["profile"]), _draw(values["draw"])
    if draw and profile == RECORDED and not values["manifest"]:
        raise ConfigurationError("--uds-draw: shipped models have no draws: add --uds-profile zoo")
    html = _path(config, "html")
    return Settings(
        manifest=_file(config, "manifest"),
        profile=profile,
        store=_store(config),
        device=_device(values["device"]),
        json=_output(_path(config, "json"), "--uds-json"),
        html=None if html is None else require_writable(html, "--uds-html"),
        waivers=_file(config, "waivers"),
        record=_record(config),
        goldens=find_goldens(config.rootpath / config.getini("uds_goldens")),
        draw=draw,
        method=str(config.getoption("--uds-method") or ""),
        batch_size=values["batch-size"],
    )


def find_goldens(named: Path) -> Path:
    """The folder of goldens: `named` if it is there, else the project's, beside the package or in it once installed."""
    package = Path(__file__).parents[1]
    return next(
        (folder for folder in (named, package / "goldens", package.parent / "goldens") if folder.is_dir()), named
    )


def _ini(name: str) -> str:
    return f"uds_{name.replace('-', '_')}"


def _value(config: pytest.Config, name: str) -> str:
    return str(config.getoption(f"--uds-{name}") or config.getini(_ini(name)) or "")


def _path(config: pytest.Config, name: str) -> Path | None:
    """A path option starts from where pytest was started, an ini key from the ini file's folder."""
    given, value = config.getoption(f"--uds-{name}"), _value(config, name)
    home = config.invocation_params.dir if given or config.inipath is None else config.inipath.parent
    return (home / Path(value).expanduser()).absolute() if value else None


def _store(config: pytest.Config) -> StorePlace:
    """The store of the run. A named folder is checked now; a bucket or the default store is checked when first used."""
    from uds_bench.storage import is_url, require_store, scores_place

    named = _value(config, "store")
    if is_url(named):
        from uds_bench.scoring.bucket import require_url

        require_url(named, "--uds-store")
        return named
    folder = _path(config, "store")
    return scores_place(None) if folder is None else require_store(folder, "--uds-store")


def _file(config: pytest.Config, name: str) -> Path | None:
    path, option = _path(config, name), f"--uds-{name}"
    if path is not None and not path.is_file():
        raise ConfigurationError(f"{option}: {path} does not exist or is not a file: name a TOML file")
    return path


def _output(path: Path | None, option: str) -> Path | None:
    if path is None:
        return None
    if path.suffix == ".parquet":
        raise ConfigurationError(f"{option}: {path} has the name of the table beside it: name a .json file")
    from uds_bench.console.options import require_file  # which imports typer: not in a run that writes no report

    return require_file(path, option)


def _profile(value: str) -> Profile:
    found: Profile | None = next((name for name in get_args(Profile) if name == (value or RECORDED)), None)
    if found is None:
        raise ConfigurationError(f"--uds-profile: {value!r} is no profile: {did_you_mean(value, get_args(Profile))}")
    return found


def _draw(value: str) -> int:
    if value and not value.isdigit():
        raise ConfigurationError(f"--uds-draw: {value!r} is no draw of the embedded zoo: give a number, 0 or more")
    return int(value or 0)


def _device(value: str) -> str:
    # `auto` is looked into when a model is first wanted: pytest runs that judge none need not load torch for it.
    return "auto" if value in ("", "auto") else resolve_device(value)


def _record(config: pytest.Config) -> str | None:
    reason = config.getoption("--uds-record")
    if reason is None:
        return None
    if not str(reason).strip():
        raise ConfigurationError("--uds-record: give the reason for recording, such as 'new recipe of npo'")
    if os.environ.get("CI"):
        raise ConfigurationError("--uds-record: goldens are never recorded under CI (CI is set): record on a machine")
    if _value(config, "profile") not in ("", RECORDED):
        raise ConfigurationError(f"--uds-record: goldens are of the profile {RECORDED}: leave --uds-profile out")
    return str(reason)
