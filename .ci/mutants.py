"""After `mutmut run`: figures and survivors into docs/explanation/mutants.md; exit 1 while one has no reason there.

Modules that the run did not change keep theirs. A survivor that changes only a sentence is counted, not listed.
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


head, made, tail = PAGE.read_text().split(MARK)
rows = [line.strip("| ").split(" | ") for line in made.splitlines()]
reasons = {(cells[0].partition(":")[0], cells[1]): cells[2] for cells in rows if len(cells) == 3}
figures = {cells[0].strip("`"): cells for cells in rows if cells[0].startswith("`uds_bench/")}
lived = {name: [cells for cells in rows if cells[0].startswith(f"{name}:")] for name in figures}
for path in map(str, walk_mutatable_files()):
    (data := SourceFileMutationData(path=Path(path))).load()
    states = {key: status_by_exit_code[code] for key, code in data.exit_code_by_key.items()}
    counts, source = Counter(states.values()), [line.strip() for line in Path(path).read_text().splitlines()]
    lived[path] = []
    for key in (key for key, state in states.items() if state in ("timeout", "survived", "no tests")):
        diff = get_diff_for_mutant(key, path=Path(path)).splitlines()[3:]
        if is_words(diff):
            counts["words"] += 1
            continue
        start = next(at for at, line in enumerate(source) if f"def {function_of(key)[0]}(" in line)
        at = 1 + source.index(next(x[1:].strip() for x in diff if x[0] == "-"), start)
        found = (path, change(diff))
        lived[path].append([f"{path}:{at}", found[1], reasons.get(found, OPEN)])
    figures[path] = [f"`{path}`", str(counts.total() - counts["words"]), *(str(counts[state]) for state in STATES)]
listed = [row for path in sorted(lived) for row in lived[path]]
tops = ["module", "mutants", *STATES], ["where", "change", "why it lives"]
both = zip(tops, ([figures[path] for path in sorted(figures)], listed), strict=True)
tables = ("".join(f"| {' | '.join(cells)} |\n" for cells in [top, ["-"] * len(top), *table]) for top, table in both)
PAGE.write_text(f"{head}{MARK}{chr(10).join(tables)}{MARK}{tail}")
sys.exit(any(cells[2] == OPEN for cells in listed))
