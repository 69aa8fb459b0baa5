"""What pytest prints of a run: a line after collection, our section of the summary, and the run in one sentence."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import uds_bench
from uds_bench.claims.record import ClaimRecord, is_good
from uds_bench.errors import UdsWarning, counted
from uds_bench.grouping import grouped
from uds_bench.harness.result import RunResult
from uds_bench.verdicts import Flag, Verdict

if TYPE_CHECKING:
    from uds_bench.harness.session import RunSession

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
    """A pytest plugin beside the session, whose findings it shows; in the processes of a distributed run it is idle."""

    def __init__(self, config: pytest.Config, run_session: RunSession) -> None:
        self.config, self.run_session = config, run_session

    def pytest_report_collectionfinish(self) -> str:
        """The line that says what is judged, and where."""
        run = self.run_session.run
        settings, embedded = (
            run.settings,
            run.instead or "shipped models" if run.is_gate else f"the zoo ({run.settings.profile})",
        )
        manifest = settings.manifest or f"of {embedded}"
        return f"uds_bench: manifest {manifest}, device {settings.device}, store {settings.store}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, Any] | None:
        """The letter of a claim that neither passed nor failed."""
        row = getattr(report, "uds_claim", None)
        if row is None or report.when != "call" or report.outcome == "failed":
            return None
        status = row["flag"] or row["verdict"]
        return (status, LETTERS[status], (status.upper(), {"yellow": True})) if status in LETTERS else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        """Wraps pytest's own summary. Of claims, it then prints only the tracebacks of crashes: all else stands in our
        section. Of warnings, it prints those that are ours or of the user's tests."""
        for refusal in self.run_session.refusals:
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
        stats.update({name: [r for r in listed if not self._is_shown_by_us(r)] for name, listed in reports.items()})
        yield
        stats.update(reports)
        write_summary(terminalreporter, self.run_session.run, self.run_session.found)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Writes the end of the run, behind all that others write."""
        yield
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if self._judges and reporter is not None:
            from uds_bench.harness.step_summary import PLACE, append_step_summary
            from uds_bench.harness.terminal import write_end

            run, found = self.run_session.run, self.run_session.found
            write_end(reporter, run, found, session.exitstatus)
            try:
                append_step_summary(found, run.is_embedded, session.exitstatus, run.instead)
            except OSError as error:
                reporter.write_line(f"note: {PLACE} was not written: {error}")

    @property
    def _judges(self) -> bool:
        """Whether there is a run of claims to tell of."""
        found = self.run_session.found
        return bool(found.planned or found.records) and not (self.run_session.refusals or self.run_session.is_worker)

    def _concerns_user(self, warning: Any) -> bool:
        place = Path(warning.fslocation[0]) if warning.fslocation else PACKAGE
        # A misspelt ini key, as uds_manifest, would otherwise judge other models than the user's and not be told.
        known = any(f": {name}: " in warning.message for name in (UdsWarning.__name__, "PytestConfigWarning"))
        own = place.is_relative_to(self.config.rootpath) and "site-packages" not in place.parts
        return known or (own and not place.is_relative_to(PACKAGE))

    def _is_shown_by_us(self, report: Any) -> bool:
        """A claim's failure; where it has a traceback pytest prints that as well."""
        ours = hasattr(report, "uds_claim") or report.nodeid in self.run_session.died
        return ours and isinstance(report.longrepr, str)


Status = Verdict | Flag

NAMED = {Flag.WAIVED: "waived", Flag.DECLARED: "missed as declared"}
"""Flags that stop no release; the claims that bear them are named."""
COUNTED: dict[Status, tuple[str, str]] = {
    Flag.RESULT: ("is a result", "are results"),
    Verdict.NOT_APPLICABLE: ("does not apply", "do not apply"),
}
MOST_NAMES = 3
"""The most names that a sentence lists."""


def sentence(found: RunResult, is_embedded: bool, exit_code: int, instead: str = "") -> str:
    """The run in one sentence of about 200 characters at most. `instead`: the models that take the place of the shipped
    ones, in words. `exit_code`: of the whole run, with the tests in it that decide no claim."""
    who = f"uds_bench: {instead}: " if instead else "uds_bench: "
    records = found.told
    if found.is_green and exit_code == 0:
        named = f" ({_some(found.left_out)})" if found.left_out else ""
        count = len(found.left_out) or found.deselected
        left = [f"{count} left out{named}"] if count else []
        judged, whole = found.of_gate or (0, 0)
        left += [f"{judged} of the default's {whole} claims judged"] if judged < whole else []
        return f"{who}{'; '.join([*(_embedded(records) if is_embedded else _user(records)), *left])}."
    failed, undecided = (_of(records, verdict) for verdict in (Verdict.FAIL, Verdict.UNDECIDED))
    out_of = f" of {len(found.planned) + len(found.of_method)} claims"
    told = [f"{len(failed)}{out_of} failed ({_names(failed)})"] if failed else []
    if undecided:
        of, named = ("", "") if failed else (out_of, f"{_names(undecided)}; ")
        told.append(f"{len(undecided)}{of} undecided ({named}{_causes(undecided)})")
    if not told:
        told = [textwrap.shorten("; ".join(found.problems), 150) or "other tests than those of claims did not pass"]
    return f"{who}RED: {', '.join(told)}: {'do not rely on it' if is_embedded else _release(found)}."


def _release(found: RunResult) -> str:
    """Which candidates are not to be released: all, where what their claims rest on does not hold."""
    of = grouped(found.told, lambda record: record.subject or "")
    if found.problems or not all(record.is_good for record in of.pop("", [])):
        return "do not release"
    good = [name for name, records in of.items() if is_good(records)]
    stopped = [name for name in of if name not in good]
    # A claim that was excused shows nothing of its candidate.
    passed = [name for name in good if not any(record.flag in NAMED for record in of[name])]
    held = f"; what was asked holds for {_some(passed)}" if passed else ""
    return "do not release" + (f" {_some(stopped)}" if stopped else "") + held


def _of(records: Iterable[ClaimRecord], status: Status) -> list[ClaimRecord]:
    return [record for record in records if record.status == status]


def _causes(records: Iterable[ClaimRecord]) -> str:
    """`2 x control, 1 x interval`."""
    return _some(f"{number} x {cause}" for cause, number in Counter(r.cause for r in records).items())


def _embedded(records: Sequence[ClaimRecord]) -> list[str]:
    """What the shipped specimens came to; if the run trains its models, what all claims came to."""
    cleared, caught = (len(_of(records, flag)) for flag in (Flag.CLEARED, Flag.CAUGHT))
    told = [f"clears all {cleared} that it must clear"] if cleared else []
    told += [f"catches all {caught} that it must catch"] if caught else []
    told = told or [_hold(records), *_counted(records)]
    held = [control.held for record in records for control in record.controls]
    right = f"every control ({len(held)})" if all(held) else f"{sum(held)} of {len(held)} controls"
    return [", ".join(told) + (f", and {right} came out right" if held else ""), *_named(records)]


def _user(records: Sequence[ClaimRecord]) -> list[str]:
    # Not everything holds for a candidate with an excused claim.
    excused = {record.subject for record in records if record.flag in NAMED}
    subjects = dict.fromkeys(record.subject for record in _of(records, Verdict.PASS) if record.subject)
    whole = [name for name in subjects if name not in excused]
    held = _hold(records) + (f" for {_some(whole)}" if whole else "")
    return [held, *_named(records), *_counted(records)]


def _hold(records: Sequence[ClaimRecord]) -> str:
    number = len(_of(records, Verdict.PASS))
    return f"{counted(number, 'claim')} hold{'s' * (number == 1)}"


def _named(records: Sequence[ClaimRecord]) -> list[str]:
    return [f"{len(of)} {word} ({_names(of)})" for flag, word in NAMED.items() if (of := _of(records, flag))]


def _counted(records: Sequence[ClaimRecord]) -> list[str]:
    return [f"{len(of)} {words[len(of) > 1]}" for status, words in COUNTED.items() if (of := _of(records, status))]


def _names(records: Iterable[ClaimRecord]) -> str:
    return _some(f"{record.id} [{record.subject}]" if record.subject else record.id for record in records)


def _some(names: Iterable[str]) -> str:
    """The first names, and dots where there are more."""
    listed = iter(names)
    return ", ".join([*islice(listed, MOST_NAMES), *("..." for _ in islice(listed, 1))])
