"""Published tables on the page: the claims say it all."""

from uds_bench.figures.chapter import Chapter

CHAPTERS = (
    Chapter(
        name="published",
        title="Published tables",
        question="Do the numbers that the field quotes follow from each other?",
    ),
)
