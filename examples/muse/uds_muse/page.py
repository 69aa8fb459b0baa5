"""The audit's heading on the page."""

from uds_bench.figures.chapter import Chapter

CHAPTERS = (
    Chapter(
        name="muse",
        title="MUSE",
        question="Is what was to be forgotten still said, known, and told from what no model saw?",
        measures=("muse.verbmem", "muse.knowmem", "muse.kept", "muse.privleak"),
        limits=(-1.0, 1.0),
        ends=("less than the model that it is held against", "more"),
    ),
)
