"""The books hang together: links lead somewhere, and the README stays short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in LINK.findall(text):
        assert link.startswith("http") or (page.parent / link).exists(), link


def test_the_readme_is_short_and_leads_to_every_page_in_two_steps() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
    reached = {ROOT / "README.md"}
    for _ in range(2):
        for page in list(reached):
            found = {(page.parent / link).resolve() for link in LINK.findall(page.read_text()) if link.endswith(".md")}
            reached |= {one for one in found if one.exists()}
    assert {page for page in PAGES if page not in reached} == set()


def test_what_adds_a_piece_is_short() -> None:
    for page in (ROOT / "docs" / "howto").glob("*.md"):
        assert len(page.read_text().splitlines()) <= 40, page.name
