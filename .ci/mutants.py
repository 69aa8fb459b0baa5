"""After `mutmut run`: figures and survivors into docs/explanation/mutants.md; exit 1 while one has no reason there.

Modules that the run did not change keep theirs. A survivor that changes only a sentence is counted, not listed. In a
module those that live by one reason share a row.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.utils.format_utils import orig_function_and_class_names_from_key as function_of

PAGE, MARK, OPEN = Path("docs/explanation/mutants.md"), "<!-- made by .ci/mutants.py -->\n", "not looked at"
CHANGE, NOTHING = re.compile("`` .*? `` → `` .*? ``"), ("equal", "words")
STATES = ("killed", "timeout", "survived", "no tests", "not checked", "words")


def change(diff: list[str]) -> str:  # which words became which, with a few beside them
    was, now = (re.findall(r"\w+|\W", " ".join(x[1:].strip() for x in diff if x[0] == sign)) for sign in "-+")
    while was and now and was[6:7] == now[6:7] and was[:6] == now[:6]:
        was, now = was[1:], now[1:]
    while was and now and was[-7:-6] == now[-7:-6] and was[-6:] == now[-6:]:
        was, now = was[:-1], now[:-1]
    return "`` {} `` → `` {} ``".format(*("".join(words).strip().replace("|", "\\|") for words in (was, now)))


def is_words(diff: list[str]) -> bool:  # a sentence became another one, or None; a word without a blank may be a key
    lines = ("".join(x[1:].strip() for x in diff if x[0] == sign) for sign in "-+")
    was, now = (re.sub(r'f?"[^"]* [^"]*"|\bNone\b', "", line) for line in lines)
    return was == now


def folded(path: str, found: list[tuple[int, str]], reasons: dict[tuple[str, str], str]) -> list[list[str]]:
    """Where, how many, which changes, why: a row for all that live by one reason, and one for each without any."""
    by_reason: dict[str | tuple[int, str], list[tuple[int, str]]] = {}
    for one in found:
        by_reason.setdefault(reasons.get((path, one[1]), one), []).append(one)
    rows = []
    for why, some in by_reason.items():
        lines, changes = sorted({at for at, _ in some}), [what for _, what in some]
        where = f"{path}:{', '.join(map(str, lines))}"
        rows.append([where, str(len(some)), "; ".join(changes), why if isinstance(why, str) else OPEN])
    return rows


head, made, tail = PAGE.read_text().split(MARK)
rows = [line.strip("| ").split(" | ") for line in made.splitlines()]
told = [cells for cells in rows if len(cells) == 4 and cells[1].isdigit()]
reasons = {
    (cells[0].partition(":")[0], what): cells[3]
    for cells in told
    for what in CHANGE.findall(cells[2])
    if cells[3] != OPEN
}
figures = {cells[0].strip("`"): cells for cells in rows if cells[0].startswith("`uds_bench/")}
lived = {name: [cells for cells in told if cells[0].startswith(f"{name}:")] for name in figures}
for path in map(str, walk_mutatable_files()):
    (data := SourceFileMutationData(path=Path(path))).load()
    states = {key: status_by_exit_code[code] for key, code in data.exit_code_by_key.items()}
    counts, source = Counter(states.values()), [line.strip() for line in Path(path).read_text().splitlines()]
    found = []
    for key in (key for key, state in states.items() if state in ("timeout", "survived", "no tests")):
        diff = get_diff_for_mutant(key, path=Path(path)).splitlines()[3:]
        if is_words(diff):
            counts["words"] += 1
            continue
        start = next(at for at, line in enumerate(source) if f"def {function_of(key)[0]}(" in line)
        found.append((1 + source.index(next(x[1:].strip() for x in diff if x[0] == "-"), start), change(diff)))
    lived[path] = folded(path, found, reasons)
    figures[path] = [f"`{path}`", str(counts.total() - counts["words"]), *(str(counts[state]) for state in STATES)]
# What changes nothing stands last, so that the few that may matter are found.
listed = sorted((row for rows in lived.values() for row in rows), key=lambda row: (row[3].startswith(NOTHING), row[0]))
tops = ["module", "mutants", *STATES], ["where", "mutants", "changes", "why they live"]
both = zip(tops, ([figures[path] for path in sorted(figures)], listed), strict=True)
tables = ("".join(f"| {' | '.join(cells)} |\n" for cells in [top, ["-"] * len(top), *table]) for top, table in both)
PAGE.write_text(f"{head}{MARK}{chr(10).join(tables)}{MARK}{tail}")
sys.exit(any(row[3] == OPEN for row in listed))
