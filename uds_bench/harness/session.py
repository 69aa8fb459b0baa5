"""The session of a run, as a pytest plugin object: what was planned, what was decided, and whether the sum adds up."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.junitxml import xml_key

from uds_bench.claims.record import ClaimRecord, decides_something, label
from uds_bench.claims.rules import IS_PASSED
from uds_bench.errors import (
    MESSAGE_LENGTH,
    CheckpointError,
    ConfigurationError,
    ExtraError,
    UdsError,
    did_you_mean,
    one_line,
)
from uds_bench.harness.fixtures import CLAIM, LACKS
from uds_bench.harness.items import claim_of, decides_claim, left_out, select
from uds_bench.harness.report import publish
from uds_bench.harness.result import NEVER_RUN, RunResult
from uds_bench.verdicts import Cause, Flag

if TYPE_CHECKING:
    from uds_bench.harness.run import Run


JUNIT = ("name", "subject", "audit", "status", "verdict", "cause", "observed", "message")
"""The parts of a claim that a JUnit file has as properties of its test, beside its interval and what it needs."""


class RunSession:
    """Lives in every process of a run; the process that is no worker adds up and reports."""

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self.config = config
        self.run = run
        self.found = RunResult()
        self.died: dict[str, str] = {}
        self.refusals: list[str] = []
        self.collected: set[str] = set()

    def pytest_sessionstart(self) -> None:
        """Puts what a method was seen to do into pytest's JUnit file, if there is one. What makes the run red becomes a
        failed test, and the rest becomes properties."""
        if self.config.getoption("dist", "no") != "no":  # a process with workers of pytest-xdist collects nothing
            self._remove_report()
        if (junit := self.config.stash.get(xml_key, None)) is None:
            return
        for remark in self.found.remarks:
            junit.add_global_property("uds_remark", remark)
        missed = [record.message for record in self.found.of_method if not record.is_good]
        for number, problem in enumerate([*self.found.problems, *missed], 1):
            name = f"uds_bench::method::problem{number}"
            junit.pytest_runtest_logreport(pytest.TestReport(name, (name, None, name), {}, "failed", problem, "call"))

    @property
    def is_worker(self) -> bool:
        """Whether this process runs tests for another one."""
        return hasattr(self.config, "workerinput")

    def collect(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Wraps pytest's own selection: plans the claims that are left, and checks that they can be run."""
        try:
            self.found.unasked = select(self.run, items)
        except UdsError as error:
            raise pytest.UsageError(*error.causes) from None
        before = [item for item in items if decides_claim(item)]
        self.collected = {label(*claim_of(item)) for item in before}
        yield
        chosen = [item for item in items if decides_claim(item)]
        self.found.planned = {item.nodeid: claim_of(item) for item in chosen}
        self.found.deselected = len(before) - len(chosen)
        self.found.left_out = left_out(self.run, chosen)
        only_listed = self.config.option.collectonly
        if not chosen or only_listed:
            self.found.planned = {}
        if not chosen:
            return
        self._remove_report()
        try:
            if not only_listed:
                self.run.prepare(chosen)
            if unmatched := self.unmatched():
                raise ConfigurationError(*unmatched)
        except UdsError as error:
            self.found.planned = {}  # nothing is run, so nothing is missing
            if not self.is_worker:
                raise pytest.UsageError(*error.causes) from None
            # A worker cannot end the whole run: it takes no tests, and the process above it says why.
            self.refusals, items[:] = error.causes, []

    def _remove_report(self) -> None:
        """A run that cannot be made leaves no report that looks like its own; one that only lists removes none."""
        report = self.run.settings.json
        if report is not None and not (self.config.option.collectonly or self.is_worker):
            with suppress(OSError):  # where it cannot be written either, that is told in the end
                report.unlink()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Puts what a claim came to into pytest's report of its test."""
        failed = call.excinfo
        if failed is not None and isinstance(failed.value, UdsError):
            # Its line says it all. Of any other error pytest parses every file of the traceback, half a second a claim.
            plain = pytest.fail.Exception(str(failed.value), pytrace=False)
            call.excinfo = pytest.ExceptionInfo.from_exception(plain.with_traceback(failed.tb))
        report = yield
        call.excinfo = failed
        if failed is not None and isinstance(failed.value, UdsError):
            report.longrepr = str(failed.value)
        if decides_claim(item):
            record = self._record_of(item, report, call)
            if record is not None:
                report.__dict__["uds_claim"] = row = record.to_json()  # pytest sends it on, to other processes too
                told = {key: row[key] for key in JUNIT} | {"needs": record.needs or None} | (row["interval"] or {})
                item.user_properties += [(f"uds_{key}", value) for key, value in told.items() if value is not None]
                if not record.is_good and not (report.outcome == "failed" and _has_traceback(call)):
                    report.outcome, report.longrepr = "failed", record.failure_text()
        return report

    def _record_of(
        self, item: pytest.Item, report: pytest.TestReport, call: pytest.CallInfo[None]
    ) -> ClaimRecord | None:
        """The claim's record once its test has run: decided, or crashed, or missing."""
        claim = item.stash.get(CLAIM, None)
        rules, (name, subject) = self.run.rules, claim_of(item)
        if report.when == "setup" and report.outcome == "passed":
            return None
        if report.when == "teardown":
            if report.outcome != "failed" or call.excinfo is None:
                return None
            told = f"its teardown failed: {one_line(call.excinfo.value, MESSAGE_LENGTH)}"
            return rules.undecided(name, subject, item.nodeid, told, Cause.CRASHED)
        decided = None if claim is None else claim.record
        if decided is not None and (report.outcome != "failed" or not decided.is_good):
            return decided
        if lacking := item.stash.get(LACKS, None):
            return rules.undecided(name, subject, item.nodeid, lacking, None)
        if report.outcome == "skipped":
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped"
            return rules.undecided(name, subject, item.nodeid, f"not decided: {reason}", Cause.MISSING)
        if call.excinfo is not None:
            error = call.excinfo.value
            text = one_line(error, MESSAGE_LENGTH)
            causes: dict[type, Cause] = {ExtraError: Cause.MISSING, CheckpointError: Cause.REFUSED}
            cause = causes.get(type(error), Cause.CRASHED)
            return rules.undecided(name, subject, item.nodeid, text, cause)
        return rules.undecided(name, subject, item.nodeid, "its test ended without deciding it", Cause.MISSING)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keeps what a claim came to, also from other processes."""
        row = getattr(report, "uds_claim", None)
        known = self.found.records.get(report.nodeid)
        if row is not None and (known is None or known.is_good):  # a teardown that fails hides no failure
            self.found.records[report.nodeid] = ClaimRecord.from_json(row)
        elif report.when == "???":  # how xdist reports the test at which a worker died
            self.died[report.nodeid] = one_line(report.longrepr, MESSAGE_LENGTH)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes over what another process found."""
        sent = getattr(node, "workeroutput", {}).get("uds_bench")
        if sent is None:
            self.found.problems.append(f"worker {node.gateway.id} ended without a report")
            return
        self.refusals += [refusal for refusal in sent["refusals"] if refusal not in self.refusals]
        self.found.planned.update({node_id: (name, subject) for node_id, name, subject in sent["planned"]})
        self.collected.update(sent["collected"])
        self.found.deselected = max(self.found.deselected, sent["deselected"])
        self.found.left_out = sent["left_out"]
        self.found.unasked = sent["unasked"]
        self.found.loads.update(sent["loads"])
        from uds_bench.scores import Score

        known = {score.address for score in self.found.scores}
        scores = map(Score.from_json, sent["scores"])
        self.found.scores += [score for score in scores if score.address not in known]
        self.found.wordings |= sent["wordings"]
        self.run.rules.goldens.seen.update(sent["goldens"])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Closes the record of the run, and sets the exit code by it."""
        if self.run.opened:
            self.run.crew.close()
        for audit in self.run.opened.values():
            for runner in audit.runners():
                self.found.loads.update(runner.loads)
        if self.found.planned:
            self.found.scores += self.run.scores()
            self.found.wordings |= self.run.wordings()
        if self.is_worker:
            self.config.workeroutput["uds_bench"] = self._sent()  # type: ignore[attr-defined]
            return
        if self.refusals:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if not self.found.planned or self.refusals:
            return
        for node, (name, subject) in self.found.planned.items():
            if node in self.died:
                self.found.records[node] = self.run.rules.undecided(name, subject, node, self.died[node], Cause.CRASHED)
            elif node not in self.found.records:
                self.found.records[node] = self.run.rules.undecided(name, subject, node, NEVER_RUN, Cause.MISSING)
        if not decides_something(self.found.records.values()):
            why = dict.fromkeys(record.message.partition(": ")[2] for record in self.found.records.values())
            told = "no claim was decided: none of the selected ones applies to this manifest"
            self.found.problems.append(f"{told} ({'; '.join(why)})")
        for claim in self.run.rules.excused:
            own = [record for record in self.found.records.values() if record.id == claim]
            if own and not any(record.flag is Flag.DECLARED for record in own):
                self.found.problems.append(f"{claim} {IS_PASSED}")
        self.found.problems += self.unmatched() if self.found.loads or self.found.records else []
        self.found.is_whole = not (self.found.deselected or self.found.left_out or self._names_tests)
        if self.found.is_whole:
            audits = {record.audit for record in self.found.records.values()}
            orphans = [name for name in self.run.rules.goldens.orphans(audits) if name not in self.collected]
            self.found.problems += [f"golden {name} belongs to no claim: remove it" for name in orphans]
        self.found.check_sum()
        self._hold_to_gate()
        try:
            publish(self.run, self.found)
        except (UdsError, OSError) as error:
            self.found.problems.append(f"the report was not written: {error}")
        if session.exitstatus in (0, 5) and not self.found.is_green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _hold_to_gate(self) -> None:
        """Holds a run of the shipped models to the recorded one: departures are problems, missing claims told."""
        run = self.run
        if not run.is_pinned:
            return
        from uds_bench.claims.default_run import departures, judge_the_judge, read_gate

        # It does not matter which test decides a claim of the table: a copy of the suites is held to the record too.
        ours = [record for record in self.found.records.values() if record.id in run.rules.claims]
        if not ours:
            return
        try:
            gate = read_gate(run.settings.goldens)
        except UdsError as error:
            self.found.problems.append(str(error))
            return
        self.found.of_gate = (len(ours), len(gate["claims"]))
        self.found.problems += [*departures(gate, run.judges, ours), *judge_the_judge()]

    def _sent(self) -> dict[str, Any]:
        return {
            "refusals": self.refusals,
            "planned": [(node, name, subject) for node, (name, subject) in self.found.planned.items()],
            "collected": sorted(self.collected),
            "deselected": self.found.deselected,
            "left_out": self.found.left_out,
            "unasked": self.found.unasked,
            "loads": dict(self.found.loads),
            "scores": [score.to_json() for score in self.found.scores],
            "wordings": self.found.wordings,
            "goldens": sorted(self.run.rules.goldens.seen) if self.found.planned else [],
        }

    def unmatched(self) -> list[str]:
        """The entries of manifest and waivers that match no claim of the audits at hand: each is an error."""
        audits = {name.partition(".")[0] for name in self.collected}
        ours = {spec.audit for spec in self.run.rules.claims.values()}
        rules, document = self.run.rules, self.run.manifest.document
        # A waiver of a whole claim may loosen its bound; then it has been used.
        unused = {waiver.claim for waiver in rules.waivers.unused()}
        known = self.collected | {waiver.claim for waiver in rules.waivers if waiver.claim not in unused}
        # A bound may be of a whole claim, or of one that this run does not ask; one of nobody holds nobody.
        asked = {name.partition("[")[0] for name in self.collected if "[" in name}
        bounds = [name for name in self.run.manifest.thresholds if "[" in name and name.partition("[")[0] in asked]
        said = {"expect": rules.expect, "specimens": rules.specimens, "thresholds": bounds}
        told = [(name, document.where((at, name)), f"[{at}] entry") for at, names in said.items() for name in names]
        told += [(waiver.claim, waiver.where, "waiver") for waiver in rules.waivers]
        return [
            f"{where}: {what} {name!r} matches no claim: {did_you_mean(name, sorted(known), 'correct or remove it')}"
            for name, where, what in told
            if (name.partition(".")[0] in audits or name.partition(".")[0] not in ours)
            and name not in known
            and not self._left_out(name)
        ]

    @property
    def _names_tests(self) -> bool:
        """Whether the command line names single tests, so that claims of their files were never collected."""
        return any("::" in argument for argument in self.config.args)

    def _left_out(self, name: str) -> bool:
        """Whether a claim may well exist that this run was not asked to collect."""
        claim, bracket, subject = name.rstrip("]").partition("[")
        return (
            self._names_tests
            and claim in self.run.rules.claims
            and (not bracket or subject in self.run.manifest.judged())
        )


def _has_traceback(call: pytest.CallInfo[None]) -> bool:
    """Whether a test ended in an error that shows where it came from; those that the user can mend say it all."""
    error = None if call.excinfo is None else call.excinfo.value
    plain = isinstance(error, UdsError) or (isinstance(error, pytest.fail.Exception) and not error.pytrace)
    return error is not None and not plain
