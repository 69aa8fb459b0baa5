"""What Wikidata says of a person, as text: items, strings, quantities and times (WikiMem, section 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from uds_bench.facts.properties import DATATYPES

TYPES = dict(zip(DATATYPES, ("wikibase-entityid", "string", "quantity", "time"), strict=True))
"""By datatype of a property, the type that its values are written in. A value that Wikidata itself finds bad has
another, and an external identifier is a string of another datatype."""
YEAR, MONTH, DAY = 9, 10, 11
"""Wikidata's precisions of time; a lower one is coarser than a year, a higher one finer than a day."""
# Not from `calendar`, whose months follow the locale.
_MONTHS = "January February March April May June July August September October November December"
MONTHS = tuple(_MONTHS.split())
NO_UNIT = "1"
_TIME = re.compile(r"([+-])(\d+)-(\d\d)-(\d\d)T")


class Value(NamedTuple):
    """`text`: what is known without other entities; `entity`: the Q-id of the item, or of the unit behind the text,
    whose label is still to be looked up; empty where there is none."""

    text: str
    entity: str = ""

    def said(self, labels: Mapping[str, str]) -> str | None:
        """The value in English; None where its item or unit has no label: a number without its unit is another."""
        if not self.entity:
            return self.text
        label = labels.get(self.entity)
        return label and f"{self.text} {label}".lstrip()


def stated(statements: list[dict[str, Any]]) -> list[Value]:
    """The values of one property, each once; none of a deprecated statement, and none that cannot be said."""
    values = (_value(one["mainsnak"]) for one in statements if one["rank"] != "deprecated")
    return list(dict.fromkeys(value for value in values if value is not None))


def _value(snak: Mapping[str, Any]) -> Value | None:
    if snak["snaktype"] != "value" or TYPES.get(snak["datatype"]) != snak["datavalue"]["type"]:
        return None
    value = snak["datavalue"]["value"]
    match snak["datatype"]:
        case "wikibase-item":
            return Value("", value["id"])
        case "quantity":
            unit = value["unit"]
            return Value(value["amount"].removeprefix("+"), "" if unit == NO_UNIT else unit.rpartition("/")[2])
        case "time":
            text = date(value["time"], value["precision"])
            return None if text is None else Value(text)
    return Value(value) if value.strip() else None


def date(time: str, precision: int) -> str | None:
    """`1952`, `May 1952` or `11 March 1952`, with ` BCE` where the sign is minus, in the calendar that it is given in.

    None where it is coarser than a year (a decade, a century), and where a part that should be known is zero or absurd.
    """
    match = _TIME.match(time)
    if match is None or precision < YEAR:
        return None
    year, month, day = map(int, match.groups()[1:])
    if year == 0 or (precision >= MONTH and not 1 <= month <= 12) or (precision >= DAY and not 1 <= day <= 31):
        return None
    parts = [str(day)] * (precision >= DAY) + [MONTHS[month - 1]] * (precision >= MONTH) + [str(year)]
    return " ".join(parts + ["BCE"] * (match[1] == "-"))
