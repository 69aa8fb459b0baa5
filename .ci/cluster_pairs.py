"""`python .ci/cluster_pairs.py DATA`: pairs of TOFU's rows that `annotate` puts rightly together, or apart, by names.

TOFU has 20 rows an author, one after another. DATA has `tofu/`.
"""

import sys
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path

from uds_bench.facts.clusters import clusters_by_name
from uds_bench.facts.records import read_records


def pairs(clusters: Iterable[Hashable]) -> int:
    return sum(size * (size - 1) // 2 for size in Counter(clusters).values())


for name in ("forget10", "retain90"):
    rows = read_records(Path(sys.argv[1]) / "tofu" / f"{name}.json")
    found = clusters_by_name([(row.text("question"), row.text("answer")) for row in rows], {}, "nobody")
    authors = [at // 20 for at in range(len(rows))]
    ours, theirs = pairs(found.of), pairs(authors)
    both, every = pairs(zip(authors, found.of, strict=True)), len(rows) * (len(rows) - 1) // 2
    apart = 1 - (ours - both) / (every - theirs)
    print(f"{name}: {len(set(found.of))} clusters of {len(rows)} rows; {len(found.lost)} rows name nobody")
    print(f"  of one author {both / theirs:.2%} together, of two {apart:.2%} apart")
