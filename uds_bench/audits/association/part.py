"""What the association audit says in a run's report: what models hold, by cohort and by property."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import StrictBool

from uds_bench.claims.report_part import (
    PERSONAL,
    Count,
    GroupNames,
    Measurement,
    ReportedRate,
    ReportPart,
    ReportTable,
)

REQUESTED, OTHERS = "to be forgotten", "everybody else"
COHORTS = GroupNames((REQUESTED, OTHERS))


class CohortNumbers(ReportTable):
    """What is held of a cohort, see `rates.Memorization`; `chance`: by luck, `nothing`: people of whom nothing is."""

    mean: ReportedRate
    every: ReportedRate
    some: ReportedRate
    lenient: ReportedRate
    strength: ReportedRate
    first: ReportedRate
    replied: ReportedRate
    chance: Measurement
    nothing: Count


class PropertyMean(ReportTable):
    """What is held of one property, which may be told of one person alone."""

    property: Annotated[str, PERSONAL]
    label: str
    mean: ReportedRate


class AssociatedModel(ReportTable):
    """What a model holds; cohorts of which it was asked everything."""

    model: str
    judged: StrictBool
    cohorts: Annotated[dict[str, CohortNumbers], COHORTS]
    properties: tuple[PropertyMean, ...]


class AssociationPart(ReportPart):
    """The whole; `people`: how many there are, by cohort."""

    MARKED: ClassVar[bool] = True

    people: Annotated[dict[str, Count], COHORTS]
    models: tuple[AssociatedModel, ...]


PART = AssociationPart
