"""The jurisdictions of the book that the codes of SST files mean."""

from __future__ import annotations

__all__ = ["CITY", "COUNTY", "SPECIAL", "STATE", "jurisdiction_id", "level_and_code"]

STATE, COUNTY, CITY, SPECIAL = "45", "00", "01", "63"
"""The types of jurisdiction that every SST rate file uses; the others (02, 49, 69, 79) vary."""

_LEVELS = {STATE: "state", COUNTY: "county", CITY: "city"}


def level_and_code(kind: str, code: str) -> tuple[str, str]:
    """Level and code in the book of a row of an SST rate file.

    Whatever is no state, county or city is a district. Codes are unique within a type only, so
    a district of another type than 63 carries its type: `63 80008` is `80008`, `79 80008` is
    `79-80008`.
    """
    kind, code = kind.strip().zfill(2), code.strip()
    level = _LEVELS.get(kind)
    if level:
        return level, code
    return "district", code if kind == SPECIAL else f"{kind}-{code}"


def jurisdiction_id(state: str, kind: str, code: str) -> str:
    """Id in the book of a row of an SST rate file: `MN`, `MN:county:053`, `MN:district:80008`."""
    level, code = level_and_code(kind, code)
    return state if level == "state" else f"{state}:{level}:{code}"
