"""What stands on a page is run as it stands there, in its order; what is not is marked, and few are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from books import PAGES, blocks, name_of
from walk import Place, Walk, walk
from walks import WALKS

ELSEWHERE = {"docs/howto/ci.md"}
"""By `tests/test_installed.py`, as it takes an installed wheel."""
NOT_RUN = {
    "CONTRIBUTING.md": 1,
    "README.md": 3,
    "docs/audits/others.md": 1,
    "docs/explanation/false_alarms.md": 1,
    "docs/explanation/methods.md": 1,
    "docs/explanation/models.md": 1,
    "docs/explanation/mutants.md": 1,
    "docs/explanation/threats.md": 1,
    "docs/explanation/verdicts.md": 1,
    "docs/howto/bucket.md": 1,
    "docs/howto/candidate.md": 1,
    "docs/howto/card.md": 1,
    "docs/howto/ci.md": 2,
    "docs/howto/many_models.md": 1,
    "docs/many_rows.md": 2,
    "docs/tutorials/first_gate.md": 2,
    "docs/zoo_results.md": 1,
}
"""How many blocks of a page are marked so; the reason stands there."""


LONG = {"docs/howto/audit.md", "docs/howto/card.md", "docs/howto/many_models.md", "docs/howto/request.md"}
"""Half of all that pages take: the slow tests run them. What they call has quick tests of its own."""


def pages(mark: str) -> list[Path]:
    """Those on which something is run that has the mark."""
    return [page for page in PAGES if any(one.mark == mark for one in blocks(page)) and name_of(page) not in ELSEWHERE]


def params(found: list[Path]) -> list[Any]:
    return [pytest.param(one, marks=[pytest.mark.slow] * (name_of(one) in LONG), id=name_of(one)) for one in found]


@pytest.mark.usefixtures("judged_store")
@pytest.mark.parametrize("page", params(pages("")))
def test_what_stands_on_a_page_is_run(page: Path, place: Place) -> None:
    assert walk(page, WALKS[name_of(page)], place, slow=False) > 0


@pytest.mark.slow
@pytest.mark.parametrize("page", pages("slow"), ids=name_of)
def test_what_is_slow_is_run_too(page: Path, place: Place) -> None:
    assert walk(page, WALKS[name_of(page)], place, slow=True) > 0


def test_what_is_not_run_is_little_and_says_why() -> None:
    reasons = {name_of(page): [one.reason for one in blocks(page) if one.mark == "not run"] for page in PAGES}
    assert {page: len(told) for page, told in reasons.items() if told} == NOT_RUN
    assert [page for page, told in reasons.items() for reason in told if len(reason.split()) < 3] == []
    assert {name for name in WALKS if not any(name_of(page) == name for page in pages("") + pages("slow"))} == set()


def test_code_that_no_fence_shows_is_seen() -> None:
    """Indented code would be shown, and neither read nor run."""
    for page in PAGES:
        prose = "\n".join(one.before for one in blocks(page))
        assert [line for line in prose.splitlines() if line.startswith("    ") and line.strip()] == [], name_of(page)


@pytest.mark.parametrize(
    "wrong",
    [
        "```bash\nfalse\ntrue\n```\n",
        "```bash\nuds-bench plan --manifest none.toml\n```\n",
        "```python\nraise SystemExit(1)\n```\n",
        "```python\nopen('none')\n```\n",
        "```toml\n[facts]\nsource = 'none.jsonl'\n```\n",
        "```bash\necho said\n```\n```\nnot said\n```\n",
        "```none\n```\n",
    ],
)
def test_code_that_fails_is_seen(wrong: str, place: Place) -> None:
    (place.folder / "page.md").write_text(wrong)
    with pytest.raises((AssertionError, OSError, SystemExit, KeyError)):
        walk(place.folder / "page.md", Walk(), place, slow=False)
