"""What pytest prints of a run: a line after collection, our section of the summary, and one sentence at the end."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import uds_bench
from uds_bench.errors import UdsWarning
from uds_bench.verdicts import Flag, Verdict

if TYPE_CHECKING:
    from uds_bench.harness.ledger import Ledger

LETTERS = {
    Flag.CAUGHT.value: "c",
    Flag.CLEARED.value: ".",
    Flag.RESULT.value: "r",
    Flag.DECLARED.value: "d",
    Flag.WAIVED.value: "w",
    Verdict.NOT_APPLICABLE.value: "n",
}
"""How good claims that are not a plain pass show in the progress line."""
PACKAGE = Path(uds_bench.__file__).parent


class Screen:
    """A pytest plugin beside the ledger, whose findings it shows; in the processes of a distributed run it is idle."""

    def __init__(self, config: pytest.Config, ledger: Ledger) -> None:
        self.config, self.ledger = config, ledger

    def pytest_report_collectionfinish(self) -> str:
        run = self.ledger.run
        settings, embedded = (
            run.settings,
            run.instead or "shipped models" if run.is_gate else f"the zoo ({run.settings.profile})",
        )
        manifest = settings.manifest or f"of {embedded}"
        return f"uds_bench: manifest {manifest}, device {settings.device}, store {settings.store}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, Any] | None:
        row = getattr(report, "uds_claim", None)
        if row is None or report.when != "call" or report.outcome == "failed":
            return None
        status = row["flag"] or row["verdict"]
        return (status, LETTERS[status], (status.upper(), {"yellow": True})) if status in LETTERS else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        """Around pytest's own: of claims it prints the tracebacks of crashes alone, as all else stands in our section,
        and of warnings those that are ours or of the user's tests."""
        for refusal in self.ledger.refusals:
            terminalreporter.write_line(f"ERROR: {refusal}", red=True)
        if not self._judges:
            yield
            return
        from uds_bench.harness.terminal import write_summary

        stats = terminalreporter.stats
        # Without the key, as an empty one would make pytest's last line yellow.
        if shown := [warning for warning in stats.pop("warnings", ()) if self._concerns_user(warning)]:
            stats["warnings"] = shown
        reports = {name: stats[name] for name in ("failed", "error") if name in stats}
        stats.update({name: [r for r in listed if not self._is_told_by_us(r)] for name, listed in reports.items()})
        yield
        stats.update(reports)
        write_summary(terminalreporter, self.ledger.run, self.ledger.found)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        yield
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if self._judges and reporter is not None:
            from uds_bench.harness.terminal import write_end

            write_end(reporter, self.ledger.run, self.ledger.found, session.exitstatus)

    @property
    def _judges(self) -> bool:
        """Whether there is a run of claims to tell of."""
        found = self.ledger.found
        return bool(found.planned or found.records) and not (self.ledger.refusals or self.ledger.is_worker)

    def _concerns_user(self, warning: Any) -> bool:
        place = Path(warning.fslocation[0]) if warning.fslocation else PACKAGE
        # A misspelt ini key, as uds_manifest, would otherwise judge other models than the user's and not be told.
        known = any(f": {name}: " in warning.message for name in (UdsWarning.__name__, "PytestConfigWarning"))
        own = place.is_relative_to(self.config.rootpath) and "site-packages" not in place.parts
        return known or (own and not place.is_relative_to(PACKAGE))

    def _is_told_by_us(self, report: Any) -> bool:
        """A claim's failure; where it has a traceback pytest prints that as well."""
        ours = hasattr(report, "uds_claim") or report.nodeid in self.ledger.died
        return ours and isinstance(report.longrepr, str)
