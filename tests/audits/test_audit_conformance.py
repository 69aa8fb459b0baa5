"""Every audit passes the checks for audits, and the checks can fail."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from uds_bench.audits import registry
from uds_bench.audits.api import Audit
from uds_bench.audits.conformance import check_audit
from uds_bench.claims.spec import ClaimSpec
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.manifest.section import Section

GOOD = ClaimSpec("mine.holds", "threshold", "It holds.", "<=", 0.1, "ours", must_fail="a model that knows")


class Mine(Section):
    """`word`: whatever it is."""

    NAME = "mine"
    word: str = ""

    def lacks(self) -> list[str]:
        return [] if self.word else ["[mine] word"]


@dataclass(frozen=True)
class Made(Audit):
    """An audit whose modules are made here."""

    modules: Any = None

    def section(self) -> Any:
        return self.modules["section"].SECTION

    def module(self, name: str) -> Any:
        return self.modules[name]

    def chapters(self) -> Any:
        return self.modules["page"].CHAPTERS


def made(**changed: Any) -> Made:
    modules = {
        "section": SimpleNamespace(SECTION=Mine),
        "claims": SimpleNamespace(CLAIMS=(GOOD,)),
        "audit": SimpleNamespace(read=lambda section: None, open=lambda session: None),
        "page": SimpleNamespace(CHAPTERS=(Chapter("mine", "Mine", measures=("mine.holds",)),)),
    }
    return Made("mine", "nowhere", (), modules | changed)


@pytest.mark.parametrize("name", registry.audits())
def test_every_audit_passes(name: str) -> None:
    check_audit(registry.audits()[name])


def test_a_plain_one_passes() -> None:
    check_audit(made())


def judge(part: Any) -> list[Figure]:
    return [Figure("x", "y", (part.get("models")[0],))]


def unescaped(part: Any) -> list[Figure]:
    return [Figure("x", "y", tuple(part))]


class Judging(Mine):
    """`word`: whatever it is."""

    def judged(self) -> list[str]:
        return ["somebody"]


class Content(Mine):
    """`word`: whatever it is."""

    def lacks(self) -> list[str]:
        return []


class Undocumented(Mine):
    __doc__ = None


def chapters(**changed: Any) -> Any:
    return SimpleNamespace(CHAPTERS=(Chapter("mine", "Mine", **changed),))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"claims": SimpleNamespace(CLAIMS=())}, "CLAIMS is empty"),
        ({"claims": SimpleNamespace(CLAIMS=(replace(GOOD, must_fail=""),))}, "names no control"),
        ({"claims": SimpleNamespace(CLAIMS=(replace(GOOD, statement="It holds"),))}, "ending in a stop"),
        ({"claims": SimpleNamespace(CLAIMS=(replace(GOOD, id="lmlm.mine"),))}, "begins as the claims of another"),
        ({"section": SimpleNamespace(SECTION=Content)}, "would be judged"),
        ({"section": SimpleNamespace(SECTION=Judging)}, "an empty section has models"),
        ({"section": SimpleNamespace(SECTION=Undocumented)}, "has no docstring"),
        ({"audit": SimpleNamespace(read=lambda section: None)}, "audit.open is no function of one argument"),
        ({"page": chapters(measures=("mine.other",))}, "draws mine.other, which is no claim"),
        ({"page": chapters(part="lmlm")}, "which another audit writes"),
        ({"page": chapters(judge=judge)}, "raises"),
        ({"page": chapters(judge=unescaped)}, "lets text of the report become markup"),
    ],
)
def test_each_check_can_fail(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_audit(made(**changed))
