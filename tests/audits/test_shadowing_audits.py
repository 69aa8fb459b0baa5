"""A package may give no name again that an audit has: not the audit's, nor that of its claims, chapters, commands."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from uds_bench.audits import registry
from uds_bench.errors import ConfigurationError

CLAIMS = """from uds_bench.claims.spec import ClaimSpec
CLAIMS = (ClaimSpec("{0}", "threshold", "It holds.", "<=", 0.1, "ours", must_fail="a model that knows"),)
"""
PAGE = """from uds_bench.figures.chapter import Chapter
CHAPTERS = ({0},)
"""
COMMANDS = """def told() -> None:
    print("all is well")

COMMANDS = {"verify": told}
"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What is known of this environment's audits is asked for again, before and after."""
    known = registry.audits, registry.claims, registry.owners
    for one in known:
        one.cache_clear()
    yield
    for one in known:
        one.cache_clear()


def install(folder: Path, name: str, **modules: str) -> None:
    """A package with an audit of a name, as pip would install it."""
    package = folder / "another_audit"
    package.mkdir()
    (package / "__init__.py").write_text(f"from uds_bench.audits.api import Audit\nAUDIT = Audit({name!r}, __name__)\n")
    for module, text in {"claims": CLAIMS.format("mine.holds"), **modules}.items():
        (package / f"{module}.py").write_text(text)
    info = folder / "another-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: another\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{name} = another_audit:AUDIT\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "another_audit"]:
        del sys.modules[name]


def test_an_audit_of_another_package_is_there(site: Path) -> None:
    install(site, "mine", page=PAGE.format("Chapter('mine', 'Mine', measures=('mine.holds',))"))
    assert "mine" in registry.audits()
    assert registry.claims()["mine.holds"].audit == registry.owners()["mine"] == "mine"
    assert registry.chapters()["mine"].title == "Mine"


def test_its_name_is_its_own(site: Path) -> None:
    install(site, "depth")
    with pytest.raises(ConfigurationError, match=r"audit depth \(.*\) is given by two packages: uninstall one"):
        registry.audits()


def test_scores_are_chosen_by_metric_of_one_audit_alone(site: Path) -> None:
    install(site, "mine", job="")
    with pytest.raises(ConfigurationError, match="one audit has a module `job`, and here it is depth, mine"):
        registry.by_metric()


@pytest.mark.parametrize("name", ["claims", "salt", "schema"])
def test_what_it_says_takes_the_place_of_nothing_in_a_report(site: Path, name: str) -> None:
    install(site, name, part="from uds_bench.claims.report_part import ReportPart as PART\n")
    with pytest.raises(ConfigurationError, match=f"audit {name}: every run's report has a key of that name"):
        registry.parts()


@pytest.mark.parametrize("id", ["depth.score", "depth.mine"])
def test_its_claims_begin_as_those_of_no_other_audit(site: Path, id: str) -> None:
    """Else whoever decides claims of that audit is given this one."""
    install(site, "mine", claims=CLAIMS.format(id))
    for ask in (registry.owners, registry.claims):
        with pytest.raises(ConfigurationError, match=r"audit mine: its claim depth.* begins as those of depth do"):
            ask()


def test_its_claims_have_an_id_each(site: Path) -> None:
    install(site, "mine", claims=CLAIMS.format("mine.holds") + "CLAIMS *= 2\n")
    with pytest.raises(ConfigurationError, match=r"claim mine\.holds is given twice"):
        registry.claims()


@pytest.mark.parametrize(
    ("chapters", "told"),
    [
        ("Chapter('depth', 'Mine')", "its chapter depth is named as claims of depth"),
        ("Chapter('mine', 'Mine'), Chapter('mine', 'Again')", "chapter mine is given twice"),
    ],
)
def test_its_chapters_take_the_place_of_no_other(site: Path, chapters: str, told: str) -> None:
    install(site, "mine", page=PAGE.format(chapters))
    with pytest.raises(ConfigurationError, match=told):
        registry.chapters()


def test_its_commands_take_the_place_of_no_other(site: Path) -> None:
    install(site, "mine", commands=COMMANDS)
    place = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    program = [sys.executable, "-c", "from uds_bench.cli import main; main()", "verify"]
    done = subprocess.run(program, capture_output=True, text=True, env=place)
    assert done.returncode == 4
    assert "audit mine: `uds-bench verify` is a command already: rename it" in done.stderr
    assert "all is well" not in done.stdout
