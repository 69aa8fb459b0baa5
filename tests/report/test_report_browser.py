"""The page in a browser, opened from a file: it loads its parts, sorts, filters, prints, and names stay text."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from books import ROOT
from example import example
from made_reports import claim, report_of, run_of
from markdown_it import MarkdownIt
from test_report_odd import ATTACK, hostile

from uds_bench.cards.card import cards
from uds_bench.cards.markdown import page
from uds_bench.claims.record import Bound
from uds_bench.report import write_report
from uds_bench.statistics import Interval

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs the program chromium")
PRINTED = "body { font: 9pt/1.5 sans-serif } td, th { padding: 4px 9px; border: 1px solid } table { border-spacing: 0 }"
"""How Markdown is printed, as far as it takes room."""
VIEWS = [(1440, 900, "light"), (390, 844, "light"), (1440, 900, "dark"), (390, 844, "dark")]
OVERRIDE = "\u202e"
"""Turns what follows it around, to the end of what it stands in."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as found:
        yield found.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


def pages(pdf: Path) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf.read_bytes()))


def wordings(run: dict[str, Any]) -> dict[str, Any]:
    """The run with a question and an entity of each fact, and a reply to it."""
    asked = {}
    for score in run["scores"]:
        score["per_fact"] = score["per_fact"][:40]
        score["provenance"]["direction"] = "erasure"
        for fact in score["per_fact"]:
            fact["detail"] |= {"answer": f"reply to {fact['id']}"}
            asked[fact["id"]] = {"question": f"What of {fact['id']}?", "entity": "a poet"}
    return run | {"wordings": asked}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a page")
    return write_report(report_of(wordings(example()), "run"), folder)


class Shown:
    """A page in the browser, with all that it complained of."""

    def __init__(self, browser: Any, path: Path, width: int, height: int, scheme: str, anchor: str = "") -> None:
        self.page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.told: list[str] = []
        self.page.on("console", lambda message: self.told.append(message.text))
        self.page.on("pageerror", lambda error: self.told.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.told.append("dialog"), dialog.dismiss()))
        self.page.goto(path.as_uri() + anchor)

    def open_all(self) -> None:
        """Every part, and the parts in them."""
        self.page.evaluate(
            """async () => {
              const open = () => document.querySelectorAll("details").forEach((each) => { each.open = true; });
              const waiting = () => [...document.querySelectorAll("[data-part]")].some((one) => !one.childNodes.length);
              for (let round = 0; round < 400 && (open(), waiting()); round += 1)
                await new Promise((done) => setTimeout(done, 50));
              open();
            }"""
        )

    def names(self) -> list[str]:
        """Of the rows that are seen, in their order."""
        found: list[str] = self.page.locator(".gate tbody:visible").evaluate_all("all => all.map(e => e.dataset.name)")
        return found

    @property
    def overflows(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@pytest.fixture
def show(browser: Any, written: Path) -> Iterator[Any]:
    opened: list[Shown] = []

    def shown(*view: Any, path: Path = written, anchor: str = "") -> Shown:
        opened.append(Shown(browser, path, *(view or VIEWS[0]), anchor=anchor))
        return opened[-1]

    yield shown
    for each in opened:
        each.page.close()


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_it_opens_from_a_file_whole_and_without_a_barrier(show: Any, view: tuple[int, int, str]) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="needs axe-core")
    shown = show(*view)
    assert shown.page.locator(".gate tbody.bad-row").first.evaluate("e => e.getBoundingClientRect().bottom") < view[1]
    assert not shown.overflows
    shown.open_all()
    assert not shown.overflows
    assert shown.told == []
    shown.page.evaluate(Path(axe.AXE_FILE_PATH).read_text(encoding="utf-8"))
    found = shown.page.evaluate("axe.run()")["violations"]
    serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_it_sorts_and_filters(show: Any) -> None:
    shown = show()
    assert shown.names()[0] == "broken", "what stops the release comes first"
    shown.page.get_by_role("button", name="candidate").click()
    assert shown.names() == sorted(shown.names())
    shown.page.get_by_role("button", name="depth").click()
    assert shown.names()[0] == "broken"
    shown.page.get_by_role("searchbox").fill("NPO")
    assert sorted(shown.names()) == ["npo", "npo_weak", "simnpo"]
    shown.page.get_by_role("searchbox").fill("")
    shown.page.get_by_role("checkbox").check()
    assert shown.names() == ["broken"]
    assert shown.page.locator("details.card:visible").count() == 1


def test_facts_are_loaded_on_demand_what_survives_first(show: Any) -> None:
    shown = show()
    assert shown.page.locator("table.facts").count() == 0
    shown.page.locator("details.card[data-name=simnpo] > summary").click()
    shown.page.locator("details.card[data-name=simnpo] details:has(> [data-part]) > summary").click()
    table = shown.page.locator("table.facts").first
    table.wait_for()
    head = table.locator("thead th").all_inner_texts()
    assert [name.split(" ")[0] for name in head] == ["fact", "of", "kind", "question", "entity", "reply", "uds"]
    values = [float(text) for text in table.locator("td.figure").all_inner_texts()]
    assert values == sorted(values), "a low depth survives"
    assert table.locator("tbody").last.inner_text().endswith("the retain model does as well")
    first = table.locator("tbody").first.locator("td").all_inner_texts()
    assert first[3:6] == [f"What of {first[0]}?", "a poet", f"reply to {first[0]}"]
    shown.page.get_by_label("Filter facts by uds block").fill("forget03/award")
    assert table.locator("tbody:visible").count() == 1
    assert shown.told == []


def test_two_models_that_are_alike_have_their_facts_each(show: Any, tmp_path: Path) -> None:
    run = wordings(example())
    run["scores"][1]["per_fact"] = run["scores"][0]["per_fact"]
    shown = show(path=write_report(report_of(run, "run"), tmp_path))
    shown.open_all()
    boxes = shown.page.locator("[data-part]").evaluate_all("all => all.map(e => [e.dataset.part, e.innerText.length])")
    assert len({name for name, _ in boxes}) == len(boxes) - 1
    assert min(length for _, length in boxes) > 0


def test_a_keyboard_is_enough(show: Any) -> None:
    shown = show()
    shown.page.locator("details.card > summary").first.focus()
    shown.page.keyboard.press("Enter")
    shown.page.locator("table.claims").first.wait_for()
    shown.page.locator(".gate thead button").first.focus()
    shown.page.keyboard.press("Space")
    assert shown.page.locator(".gate thead th[aria-sort=ascending]").count() == 1


def test_a_link_opens_the_card_and_the_claim(show: Any) -> None:
    shown = show()
    shown.page.locator(".why a").first.click()
    claim = shown.page.locator("tbody.meant")
    claim.wait_for()
    assert "depth.score[broken]" in claim.inner_text()
    assert claim.locator("details[open]").count() == 1
    again = show(anchor=shown.page.evaluate("location.hash"))
    again.page.locator("tbody[id] details[open]").wait_for()


def test_a_part_that_is_not_there_is_told(show: Any, written: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(written, tmp_path))
    shown = show(path=alone)
    shown.page.locator("details.card > summary").first.click()
    shown.page.get_by_text("cannot be read: keep the folder").wait_for()


def test_what_comes_from_the_report_stays_text(show: Any, tmp_path: Path) -> None:
    run = hostile(wordings(example()), ATTACK + OVERRIDE)
    shown = show(path=write_report(report_of(run, "run"), tmp_path))
    shown.open_all()
    assert shown.told == []
    assert shown.page.locator("main img, main script, main style").count() == 0
    assert shown.page.locator("table.facts").count() > 0
    loose = shown.page.evaluate(
        """mark => {
          const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
          const found = [];
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const inside = node.parentElement;
            if (!node.data.includes(mark) || inside.closest("title")) continue;
            const alone = [...inside.childNodes].every((one) => one === node || !one.textContent.trim());
            const apart = ["isolate", "isolate-override", "plaintext"].includes(getComputedStyle(inside).unicodeBidi);
            if (!apart || (!alone && inside.tagName !== "BDI")) found.push(inside.outerHTML.slice(0, 200));
          }
          return found;
        }""",
        OVERRIDE,
    )
    assert loose == [], "\n".join(loose)


def test_it_prints_on_a_few_pages(show: Any, tmp_path: Path) -> None:
    shown = show()
    shown.page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert pages(tmp_path / "page.pdf") <= 3


def test_a_card_of_all_audits_prints_on_one_page(browser: Any, tmp_path: Path) -> None:
    """Every claim of the default that speaks of a model, said of one, and half of them red."""
    known = json.loads((ROOT / "goldens" / "default.json").read_text())["claims"]
    ids = dict.fromkeys(name.partition("[")[0] for name in known if "[" in name)
    told = {"interval": Interval(0.8, 0.95, "bootstrap", 40), "unit": "people", "bound": Bound(">=", 0.7)}
    claims = [
        claim(f"{id}[npo]", ("pass", "fail")[at % 2], observed=0.9, advice=f"the advice of {id.split('.')[0]}", **told)
        for at, id in enumerate(ids)
    ]
    (card,) = cards(run_of(*claims))
    assert len({one.audit for one in card.claims}) == 5
    text = page(card, run_of(*claims), {"npo/model.safetensors": "ab" * 32})
    printed = MarkdownIt("commonmark").enable("table").render(text)
    shown = browser.new_page()
    shown.set_content(f"<!doctype html><style>{PRINTED}</style>{printed}")
    shown.pdf(path=tmp_path / "card.pdf", format="A4")
    assert pages(tmp_path / "card.pdf") == 1
