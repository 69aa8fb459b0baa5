"""The audit's heading on the page."""

from uds_bench.figures.chapter import Chapter

CHAPTERS = (
    Chapter(
        name="verbatim",
        title="Verbatim memory",
        question="Does a model still go on with a text that it was to forget?",
        measures=("verbatim.forgotten",),
        limits=(-1.0, 1.0),
        ends=("says less than a model that never saw it", "says more"),
    ),
)
