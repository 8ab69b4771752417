"""Places of rows: their cells read, normalized, and made hashable queries to the service."""

from svc_tools.places.days import GRAINS, Grain, day_of, first_day, time_zone
from svc_tools.places.place import (
    NO_DATE,
    Cells,
    Place,
    Question,
    Refusal,
    agreed_state,
    is_washington_dc,
    on_day,
    on_days,
    question,
    same_place,
    state_and_zip,
    where,
)
from svc_tools.places.states import (
    ONE_RATE_STATES,
    STATES,
    Elsewhere,
    state_code,
)
from svc_tools.places.zips import normal_zip, states_of

__all__ = [
    "GRAINS",
    "NO_DATE",
    "ONE_RATE_STATES",
    "STATES",
    "Cells",
    "Elsewhere",
    "Grain",
    "Place",
    "Question",
    "Refusal",
    "agreed_state",
    "day_of",
    "first_day",
    "is_washington_dc",
    "normal_zip",
    "on_day",
    "on_days",
    "question",
    "same_place",
    "state_and_zip",
    "state_code",
    "states_of",
    "time_zone",
    "where",
]
