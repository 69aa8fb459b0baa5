"""The project's face: one version, workflows that name environments there are, an alias that brings this project."""

import configparser
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import uds_bench

ROOT = Path(__file__).parents[2]
SOURCE = "uds_bench/__init__.py"
"""Where the version stands."""
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def project(place: Path) -> dict:
    return tomllib.loads((place / "pyproject.toml").read_text())["project"]


def test_there_is_one_version() -> None:
    alias = project(ROOT / "packaging" / "pytest-uds-bench")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    assert "version" not in project(ROOT)
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["version"]["path"] == SOURCE
    assert f'__version__ = "{uds_bench.__version__}"' in (ROOT / SOURCE).read_text()
    assert {alias["version"], cited} == {uds_bench.__version__}
    assert alias["dependencies"] == [f"uds-bench=={uds_bench.__version__}"]
    assert alias["name"].startswith("pytest-")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_name_environments_that_there_are(workflow: Path) -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    known = {section.removeprefix("testenv:") for section in tox.sections() if section.startswith("testenv:")}
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        named = {*matrix.get("env", []), *(row["env"] for row in matrix.get("include", []))}
        for step in job["steps"]:
            named |= set(re.findall(r"tox -e (\w+)", step.get("run", "")))
        assert named <= known


def test_what_is_published_is_there() -> None:
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yml").read_text())
    for place in matrix["jobs"]["publish"]["strategy"]["matrix"]["project"]:
        assert project(ROOT / place)
    assert {"Homepage", "Documentation", "Issues", "Changelog"} <= set(project(ROOT)["urls"])


def test_classifiers_name_every_python_and_system_that_is_tried() -> None:
    told = project(ROOT)
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]["tox"]
    tried = job["strategy"]["matrix"]["python"]
    assert [f"Programming Language :: Python :: {version}" for version in tried] == [
        line for line in told["classifiers"] if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    ]
    assert told["requires-python"] == f">={tried[0]}"
    systems = {"ubuntu-latest": "Operating System :: POSIX :: Linux"}
    assert [line for line in told["classifiers"] if line.startswith("Operating")] == [systems[job["runs-on"]]]


def test_the_oldest_transformers_that_is_taken_is_run() -> None:
    taken = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (floor,) = (re.search(r">=([\d.]+)", one)[1] for one in taken if one.startswith("transformers"))  # type: ignore[index]
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    assert f"transformers=={floor}.0 " in tox["testenv:oldest"]["commands_pre"]


def test_what_is_locked_is_within_what_the_project_takes() -> None:
    locked = dict(
        line.split("==") for line in (ROOT / "packaging" / "lock.txt").read_text().splitlines() if "==" in line
    )
    wanted = [Requirement(line) for line in project(ROOT)["dependencies"]]
    wanted += [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if line[0] != "#"]
    assert wanted
    for one in wanted:
        assert one.specifier.contains(locked[one.name.lower()]), one


def test_what_is_installed_and_not_locked_is_told() -> None:
    def told(installed: str) -> tuple[int, str]:
        command = [sys.executable, ROOT / "packaging" / "unlocked.py"]
        ran = subprocess.run(command, input=installed, capture_output=True, text=True, check=False)
        return ran.returncode, ran.stderr.strip()

    locked = [line for line in (ROOT / "packaging" / "lock.txt").read_text().splitlines() if line[0] != "#"]
    spelled = [
        f"{name.replace('-', '_').title()}=={version}" for name, version in (line.split("==") for line in locked)
    ]
    (torch,) = (line for line in locked if line.startswith("torch=="))
    assert told("\n".join([*spelled, f"{torch}+cpu", ""])) == (0, "")
    expected = "not in packaging/lock.txt: torch==1.0+cpu, nobody @ file:///x"
    assert told("\n".join([*locked, "torch==1.0+cpu", "nobody @ file:///x"])) == (1, expected)


@pytest.mark.slow
@pytest.mark.needs("cyclonedx_py")
@pytest.mark.needs("cyclonedx")
def test_the_list_of_parts_of_a_release_is_valid(tmp_path: Path) -> None:
    """By the command of the workflow that publishes, of the environment that this test runs in."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yml").read_text())["jobs"]["dependencies"][
        "steps"
    ]
    (command,) = (step["run"] for step in steps if step.get("run", "").startswith("cyclonedx-py "))
    written = {"user": sys.prefix, "sbom.cdx.json": str(tmp_path / "sbom.cdx.json")}
    words = [written.get(word, word) for word in shlex.split(command)[1:]]
    subprocess.run([sys.executable, "-m", "cyclonedx_py", *words], cwd=ROOT, check=True, capture_output=True)
    text = (tmp_path / "sbom.cdx.json").read_text()
    told = json.loads(text)
    assert JsonStrictValidator(SchemaVersion.from_version(told["specVersion"])).validate_str(text) is None
    assert told["metadata"]["component"]["name"] == "uds-bench"
    assert {"torch", "transformers"} <= {part["name"] for part in told["components"]}
