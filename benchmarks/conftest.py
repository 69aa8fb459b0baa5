"""What benchmarks share with the tests: small models, found beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
