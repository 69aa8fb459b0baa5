"""After `mutmut run`: figures and survivors into docs/explanation/mutants.md; exit 1 while one has no reason there."""

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
STATES = ("killed", "timeout", "survived", "no tests", "not checked")


def change(diff: list[str]) -> str:  # which words became which, with a few beside them
    was, now = (re.findall(r"\w+|\W", " ".join(x[1:].strip() for x in diff if x[0] == sign)) for sign in "-+")
    while was and now and was[6:7] == now[6:7] and was[:6] == now[:6]:
        was, now = was[1:], now[1:]
    while was and now and was[-7:-6] == now[-7:-6] and was[-6:] == now[-6:]:
        was, now = was[:-1], now[:-1]
    return "`` {} `` → `` {} ``".format(*("".join(words).strip().replace("|", "\\|") for words in (was, now)))


head, made, tail = PAGE.read_text().split(MARK)
rows = [line.strip("| ").split(" | ") for line in made.splitlines()]
reasons = {(cells[0].partition(":")[0], cells[1]): cells[2] for cells in rows if len(cells) == 3}
figures, lived = [["module", "mutants", *STATES], ["-"] * 7], [["where", "change", "why it lives"], ["-"] * 3]
for path in walk_mutatable_files():
    (data := SourceFileMutationData(path=path)).load()
    states = {key: status_by_exit_code[code] for key, code in data.exit_code_by_key.items()}
    counts, source = Counter(states.values()), [line.strip() for line in path.read_text().splitlines()]
    figures.append([f"`{path}`", str(counts.total()), *(str(counts[state]) for state in STATES)])
    for key in (key for key, state in states.items() if state in ("survived", "no tests")):
        diff = get_diff_for_mutant(key, path=path).splitlines()[3:]
        start = next(at for at, line in enumerate(source) if f"def {function_of(key)[0]}(" in line)
        at = 1 + source.index(next(x[1:].strip() for x in diff if x[0] == "-"), start)
        found = (path.name, change(diff))
        lived.append([f"{path.name}:{at}", found[1], reasons.get(found, OPEN)])
tables = ("".join(f"| {' | '.join(cells)} |\n" for cells in table) for table in (figures, lived))
PAGE.write_text(f"{head}{MARK}{chr(10).join(tables)}{MARK}{tail}")
sys.exit(any(cells[2] == OPEN for cells in lived))
