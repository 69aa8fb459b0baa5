"""A page as a list of elements, read with the standard parser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "br", "img", "link", "input", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    inside: tuple[str, ...] = ()
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The element's text with everything inside it, white space squeezed."""
        return " ".join("".join(self.words).split())

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())


class Page(HTMLParser):
    """All elements in document order; `unbalanced` lists tags that are not closed where they should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.unbalanced: list[str] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        self.unbalanced += [element.tag for element in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        inside = tuple(element.tag for element in self._open)
        element = Element(tag, {name: value or "" for name, value in attrs}, inside)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1].tag == tag:
            self._open.pop()
        else:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.words.append(data)

    def all(self, tag: str, class_: str = "") -> list[Element]:
        return [e for e in self.elements if e.tag == tag and (not class_ or class_ in e.classes)]

    def id(self, identity: str) -> Element:
        (found,) = (e for e in self.elements if e.attributes.get("id") == identity)
        return found


def panels(figures: Iterable[Any], title: str) -> list[Page]:
    """Those of the figure of that title."""
    (figure,) = (one for one in figures if one.title == title)
    return [Page(str(panel)) for panel in figure.panels]


def lines(page: Page) -> list[str]:
    """A table's rows, its head left out."""
    return [row.text for row in page.all("tr")[1:]]


def told(figures: Iterable[Any]) -> str:
    """What figures say in words, to be read: title and caption, tables row by row, and the name of each picture."""
    said: list[str] = []
    for figure in figures:
        said += ["", figure.title, figure.caption]
        for each in Page("".join(map(str, figure.panels))).elements:
            if each.tag == "tr":
                said.append("")
            elif each.tag in ("th", "td"):
                said[-1] += " ".join([*(["|"] if said[-1] else []), *map(str.strip, each.words), ""])
            elif each.tag == "svg" and "tr" not in each.inside:
                said.append(f"picture: {each.attributes['aria-label']}")
    return "\n".join(line.rstrip() for line in said).strip()
