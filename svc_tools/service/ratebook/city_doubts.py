"""Cities whose rate in a rate file may or may not include a district's rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from svc_tools.service.ratebook.schema import RateRow


class CityDoubt(NamedTuple):
    """A district's rate that a city's may include; it is read so, and no source decides.

    Attributes:
        units: the district's rate.
        district: what it is called.
    """

    units: int
    district: str


_FULTON = CityDoubt(750, "Fulton County's transportation tax")

CITY_DOUBTS = {
    "GA:city:17776": _FULTON,  # College Park
    "GA:city:25720": _FULTON,  # East Point
    "GA:city:36472": _FULTON,  # Hapeville
}
"""By jurisdiction."""


def is_city_doubt(row: RateRow) -> bool:
    """Whether a row is in conflict for this alone.

    A boundary record, which names the codes that add up at a place, then settles it.
    """
    doubt = CITY_DOUBTS.get(row.jurisdiction)
    # a row that is unsure for another reason too has that reason's cap, not this one's
    return (
        doubt is not None
        and row.conflict_cap == "low"
        and row.conflict_units == row.units + doubt.units
    )
