"""The books hang together: links lead somewhere, sentences are short, and so is the README."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from books import PAGES, ROOT, name_of

from uds_bench.audits import registry

ROOMS = {f"{path.name}/" for path in (ROOT / "uds_bench").iterdir() if path.is_dir()} | {"verdicts"}
MOST_WORDS = 25
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in LINK.findall(text):
        assert link.startswith("http") or (page.parent / link).exists(), link


def test_the_tests_that_hold_a_promise_are_there() -> None:
    page = (ROOT / "docs" / "explanation" / "threats.md").read_text()
    named = re.findall(r"\b(?:tests/[\w/.-]*\w|test_\w+\.py)", page)
    assert len(named) >= 15
    assert [one for one in named if not (ROOT / one).exists() and not any((ROOT / "tests").rglob(one))] == []


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


def test_what_the_readme_looks_for_is_where_it_says() -> None:
    table = (ROOT / "README.md").read_text().partition("## Where things live")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 15
    for _, what, where, _ in rows:
        assert what.count(";") == where.count(";"), f"{what}: as many places as things"
        first, *others = re.findall(r"`([^`]+)`", where)
        inside = first if first.endswith("/") else ""
        for place in [first, *(one if "/" in one[:-1] else inside + one for one in others if one not in ROOMS)]:
            pattern = re.sub(r"<\w+>", "*", place)
            found = (ROOT / "uds_bench").glob(pattern.rstrip("/") if place.endswith("/") else f"{pattern}.py")
            assert any(found) or any((ROOT / "uds_bench").glob(pattern)), f"{what}: {place}"


def test_the_architecture_tells_of_every_room() -> None:
    table = (ROOT / "docs" / "explanation" / "architecture.md").read_text().partition("| room | holds |")[2]
    told = {place for line in table.splitlines() for place in re.findall(r"`([^`]+)`", line[1:].partition("|")[0])}
    rooms = [one for one in (ROOT / "uds_bench").iterdir() if one.suffix == ".py" or (one / "__init__.py").exists()]
    assert [one.name for one in rooms if one.stem != "__init__" and not {one.name, f"{one.name}/"} & told] == []


def test_the_readme_tells_each_audits_time_and_how_to_cite() -> None:
    text = (ROOT / "README.md").read_text()
    table = [line.split("|") for line in text.partition("## The audits")[2].splitlines() if line.startswith("| [")]
    assert len(table) == len(registry.audits())
    assert [cells[1] for cells in table if not re.search(r"\d+ (s|min|h)\b|an hour", cells[4])] == []
    assert "CITATION.cff" in text


@pytest.mark.parametrize("name", registry.audits())
def test_each_audit_says_when_not_to_trust_it(name: str) -> None:
    _, _, told = (ROOT / "docs" / "audits" / f"{name}.md").read_text().partition("## When not to trust it\n")
    assert len(re.findall(r"^- ", told, flags=re.MULTILINE)) >= 5


def retyped(text: str, bounds: Mapping[str, float]) -> list[str]:
    """The paragraphs that name a claim and type its bound, which the role `number` would read from the code; a table's
    rows are what was measured."""
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*(?:- |\|))", re.sub(r"^( *)```.*?^ *```", "", text, flags=re.DOTALL | re.M))
    found = []
    for paragraph in (one for one in paragraphs if not one.lstrip().startswith("|")):
        plain = re.sub(r"\{number\}`[^`]*`", "", paragraph)
        typed = {float(one) for one in re.findall(r"(?<![\w.])-?\d*\.\d+(?![\w.]*\d)", plain)}
        found += [f"{name}: {paragraph}" for name, bound in bounds.items() if f"`{name}`" in plain and bound in typed]
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_bound_is_retyped_beside_its_claim(page: Path) -> None:
    assert (
        retyped(page.read_text(), {spec.id: spec.bound for one in registry.audits().values() for spec in one.claims()})
        == []
    )


def test_a_retyped_bound_is_seen() -> None:
    assert retyped("`a.b` takes\n0.70.", {"a.b": 0.7})
    assert not retyped("`a.b` takes {number}`a.b`.\n\nElse 0.7.", {"a.b": 0.7})


def too_long(text: str) -> list[str]:
    """The sentences of a page's prose that have too many words; code in a line is one word, tables are not read."""
    prose = re.sub(r"^( *)```.*?^ *```|^ *[|#<!].*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "x", prose))
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:- |\d+\. ))", prose)
    sentences = [one for part in parts for one in re.split(r"(?<=[.?!])[)\"*]*\s+", part)]
    return [" ".join(one.split()) for one in sentences if len(re.sub(r"^\s*-", "", one).split()) > MOST_WORDS]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sentences_are_short(page: Path) -> None:
    assert too_long(page.read_text()) == []


def test_a_long_sentence_is_seen() -> None:
    words = " ".join(["word"] * MOST_WORDS)
    assert too_long(f"Few.\n{words}\nmore.\n\nFew.") == [f"{words} more."]
    assert too_long(f"- few\n- {words} more") == [f"- {words} more"]
    assert not too_long(f"{words}.\n\n| {words} more |\n```toml\n{words} more\n```\n")
