"""The localization audit on the page: were the weights changed that hold what was to be forgotten?"""

from __future__ import annotations

from uds_bench.audits.localization.claims import LOCALIZED, MARGIN
from uds_bench.audits.localization.page.outputs import answered, overlaps, resurfacing, said
from uds_bench.audits.localization.page.weights import comes_to, located
from uds_bench.audits.localization.part import LocalizationPart
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.svg import element

SAYS = (
    "Each group of people was written into weights of its own, through a mask, so it is known which weights hold "
    "whom. A family of scores says of every weight how much, or which way, unlearning moved it. The AUC is the chance "
    "that a weight which holds people to be forgotten scores above one that holds other people.",
    "1: only the weights that hold the knowledge were changed. 0.5: blind, as if weights had been drawn. Below 0.5: "
    "the weights of other people were changed more.",
    f"Localized: the whole interval lies at {LOCALIZED} or above. Not localized: all of it within {MARGIN} of one "
    "half. Partly localized: all of it between the two. Open: it lies across one of these bounds.",
    f"A family counts where neither a random update nor training on neutral text is further than {MARGIN} from one "
    "half, and where an update of everything but the forget mask is not that far above it. A family that tells even "
    "those apart from chance sees what injection did, not what unlearning did.",
    "Magnitude (raw, qtile, layernorm): how far a weight moved. Reversal (signrev, reversal, dirreversal): how far "
    "back on its injection. Contrast (contrast, contrastnorm, eratio): how much more than under the same method on a "
    "model that was injected without masks. Composite: learned from all of these.",
)
SAYS_NOTHING_OF = (
    "Whether people are forgotten. A localized update may leave them answered, and a blind one may silence them: read "
    "what each model says, and who leaks after it is taught other people.",
    "Whether what was there is gone. By magnitude and by contrast, a weight that was pushed further on the way that "
    "injection took counts as much as one that was taken back.",
    "How a method does on knowledge that was not written through masks: training as usual keeps nothing in one place.",
    "How the number would vary with another seed, other people or other masks. Its interval is over weights, taken as "
    "independent, and narrow because there are many of them.",
    "Anything, where the injected model does not answer for the people to be forgotten: what was never learned cannot "
    "be unlearned.",
)


def how_to_read() -> Figure:
    """What the numbers say, and what they do not say."""
    sides = (("What they say", SAYS), ("What they do not say", SAYS_NOTHING_OF))
    lists = [
        element("div", element("b", title), element("ul", *(element("li", one) for one in told)))
        for title, told in sides
    ]
    return Figure("How to read these numbers", "", (element("div", *lists, class_="columns"),), wide=True)


def draw(part: LocalizationPart) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    drawn = [comes_to(part), *located(part), said(part)]
    drawn += [*resurfacing(part), overlaps(part), answered(part)]
    found = [figure for figure in drawn if figure.panels]
    return [how_to_read(), *found] if found else []


CHAPTERS = (
    Chapter(
        name="localization",
        title="Localization",
        question="Did unlearning change the weights that hold what was to be forgotten?",
        measures=("localization.auc",),
        limits=(0.0, 1.0),
        ends=("other weights changed; 0.5 is blind", "only the weights that hold it changed"),
        judge=draw,
    ),
)
