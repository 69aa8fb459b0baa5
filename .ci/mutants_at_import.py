"""After `mutmut run`: mutants of what a module makes as it is imported, which mutmut has imported before it forks.

    python .ci/mutants_at_import.py "uds_bench.metrics.*x__metric__*" tests/metrics/test_mia.py

Each is imported anew behind what is large, and the tests named are run; what comes out goes where mutmut keeps its own.
"""

import os
import signal
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import scipy.stats  # noqa: F401
import torch  # noqa: F401
import transformers  # noqa: F401
from mutmut.mutation.data import SourceFileMutationData
from mutmut.utils.file_utils import walk_mutatable_files

SURVIVED, KILLED, TIMEOUT = 0, 1, 36
"""As mutmut has them."""
OPTIONS = ("-x", "-q", "-pno:cacheprovider", "-m not slow", "--hypothesis-seed=0", "--hypothesis-profile=mutants")


def told(mutant: str, tests: list[str]) -> int | None:
    """What comes out of the tests under a mutant; None where they could not be run."""
    if not (child := os.fork()):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.chdir("mutants")
        sys.path.insert(0, str(Path.cwd()))
        os.environ["MUTANT_UNDER_TEST"] = mutant
        signal.alarm(120)
        os._exit(pytest.main([*OPTIONS, *tests]))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    # 2 and 4: what is imported raised already, so that no test was found.
    return {0: SURVIVED, 1: KILLED, 2: KILLED, 4: KILLED, -signal.SIGALRM: TIMEOUT}.get(code)


pattern, *tests = sys.argv[1:]
if told("", tests) != SURVIVED:
    sys.exit("without a mutant these tests fail: " + " ".join(tests))
for path in map(str, walk_mutatable_files()):
    (data := SourceFileMutationData(path=Path(path))).load()
    for key in [key for key, code in data.exit_code_by_key.items() if fnmatch(key, pattern) and code != KILLED]:
        data.exit_code_by_key[key] = told(key, tests)
        print(key, data.exit_code_by_key[key], flush=True)
        data.save()
