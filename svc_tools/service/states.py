"""The 51 state codes (50 states and DC) and the nexus types (SPEC 2.7)."""

from __future__ import annotations

import re

from svc_tools.service.params import Parameter

__all__ = ["NEXUS_TYPE", "NEXUS_TYPES", "STATE", "STATES", "checked_nexus_type", "checked_state"]

STATES = tuple(
    """
    AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH
    NJ NM NV NY OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY
    """.split()  # noqa: SIM905 - 51 short codes read best as one text
)
NEXUS_TYPES = ("economic", "marketplace", "physical")

_EITHER_CASE = "|".join("".join(f"[{one}{one.lower()}]" for one in code) for code in STATES)

STATE = Parameter(
    "state",
    f"the two-letter code of a state, one of {', '.join(STATES)}",
    {"type": "string", "pattern": f"^({_EITHER_CASE})$"},
    example="TX",
)
NEXUS_TYPE = Parameter(
    "nexus_type",
    f"one of {', '.join(NEXUS_TYPES)}",
    {"type": "string", "enum": list(NEXUS_TYPES)},
)

_KNOWN = frozenset(STATES)
_TWO_LETTERS = re.compile(r"[A-Za-z]{2}", re.ASCII)


def two_letters(given: str) -> str | None:
    """The code in upper case, or `None` where it does not have the form of a state code."""
    return given.upper() if _TWO_LETTERS.fullmatch(given) else None


def checked_state(given: str) -> str:
    """The code of a state that can have a nexus record, in upper case, or a 400 `Problem`."""
    state = two_letters(given)
    if state not in _KNOWN:
        raise STATE.refuse(given)
    return state


def checked_nexus_type(given: str) -> str:
    """A nexus type, or a 400 `Problem`."""
    if given not in NEXUS_TYPES:
        raise NEXUS_TYPE.refuse(given)
    return given
