"""Requests as values, made from validated arguments: the input modes of SPEC 4.4. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from urllib.parse import quote

_PERIOD = re.compile(r"([0-9]{4})(?:[ -]?[Qq])?([1-4])")
_MODES = (
    "give exactly one of: address (with city and zip, if known), zip, location, or lat with lng"
)
_LONGEST = 4_000
"""How many characters of a text are sent at most: far above what any service reads."""
_DIGITS = 40
_NEXUS = "/v1/portability/nexus"


@dataclass(frozen=True, slots=True)
class Call:
    """One request: everything but the server, the key and the timeout."""

    method: str
    path: str
    params: tuple[tuple[str, str], ...] = ()
    json: dict[str, str] | None = None


HEALTH = Call("GET", "/healthz")
FRESHNESS = Call("GET", "/v1/freshness")


def lookup_call(
    state: str,
    *,
    address: str | None = None,
    city: str | None = None,
    zip: str | None = None,  # noqa: A002 - the specification's name (SPEC 4.4)
    location: str | None = None,
    lat: float | None = None,
    lng: float | None = None,
    as_of: date | str | None = None,
    period: str | None = None,
    mode: str = "simple",
) -> Call:
    """The request of a rate lookup.

    Raises:
        ValueError: no input mode, several, or an argument whose value cannot be right; the
            message names the argument.
        TypeError: an argument of the wrong type.
    """
    code = _given("state", state)
    texts = {"address": address, "city": city, "zip": zip, "location": location}
    given = {name: _given(name, value) for name, value in texts.items() if value is not None}
    params = _place(code, given, _coordinates(lat, lng))
    if as_of is not None:
        params["as_of"] = _calendar_date("as_of", as_of)
    if period is not None:
        params["period"] = _quarter(period)
    if mode not in ("simple", "full"):
        raise ValueError(f"mode: {mode!r} is not known; expected 'simple' or 'full'")
    if mode == "full":
        params["mode"] = mode
    return Call("GET", f"/v1/tax/{_segment(code)}", tuple(params.items()))


def list_nexus_call(state: str | None = None, nexus_type: str | None = None) -> Call:
    """The request that lists nexus records. Raises as `lookup_call`."""
    filters = {"state": state, "nexus_type": nexus_type}
    return Call("GET", _NEXUS, _chosen(filters))


def add_nexus_call(
    state: str,
    *,
    nexus_type: str,
    registered_at: date | str | None,
    address: str | None,
    notes: str | None,
) -> Call:
    """The request that adds or updates a nexus record. Raises as `lookup_call`."""
    record = {"state": _given("state", state), "nexus_type": _given("nexus_type", nexus_type)}
    if registered_at is not None:
        record["registered_at"] = _calendar_date("registered_at", registered_at)
    for name, value in (("address", address), ("notes", notes)):
        if value is not None:
            record[name] = _string(name, value)
    return Call("POST", _NEXUS, json=record)


def remove_nexus_call(state: str, nexus_type: str | None = None) -> Call:
    """The request that removes nexus records (SPEC 4.1). Raises as `lookup_call`.

    An empty `nexus_type` is refused: it must never come to mean every type.
    """
    path = f"{_NEXUS}/{_segment(_given('state', state))}"
    return Call("DELETE", path, _chosen({"nexus_type": nexus_type}))


def _place(
    state: str, given: dict[str, str], coordinates: tuple[str, str] | None
) -> dict[str, str]:
    """The parameters of the one input mode that was chosen."""
    if "city" in given and "address" not in given:
        raise ValueError(
            "city: only goes with address; for a place name alone give location, "
            "for a ZIP alone leave city out"
        )
    modes: list[str] = [name for name in ("address", "location") if name in given]
    if "zip" in given and "address" not in given:
        modes.append("zip")
    if coordinates:
        modes.append("lat/lng")
    if len(modes) != 1:
        raise ValueError(f"{_MODES}; got {' and '.join(modes) or 'none of them'}")
    if coordinates:
        return {"lat": coordinates[0], "lng": coordinates[1]}
    if "address" not in given:
        return given
    if "city" in given:
        parts = {"street": given["address"], "city": given["city"]}
        return parts | ({"zip": given["zip"]} if "zip" in given else {})
    return {"address": _one_line(given["address"], state, given.get("zip"))}


def _one_line(address: str, state: str, zip_code: str | None) -> str:
    """The line with state and ZIP at its end, unless it has the ZIP already (WIRE).

    A number at the very start is the house's; a ZIP of five digits gets the four of the ZIP+4.
    """
    if zip_code is None:
        return address
    zip5, _, extra = zip_code.partition("-")
    for found in re.finditer(r"(?<!\d)(\d{5})(?:-(\d{4}))?(?![\d-])", address):
        plus_four = found[2] or ""
        if found.start() > 0 and found[1] == zip5 and (plus_four or extra) == (extra or plus_four):
            full = "-".join(part for part in (zip5, plus_four or extra) if part)
            return address[: found.start()] + full + address[found.end() :]
    line = address.rstrip(" ,")
    if re.search(rf"\b{re.escape(state)}$", line, re.IGNORECASE):
        return f"{line} {zip_code}"
    return f"{line}, {state.upper()} {zip_code}"


def _coordinates(lat: float | None, lng: float | None) -> tuple[str, str] | None:
    if lat is None and lng is None:
        return None
    if lng is None:
        raise ValueError("lng: missing; lat and lng go together")
    if lat is None:
        raise ValueError("lat: missing; lat and lng go together")
    return _degrees("lat", lat, 90), _degrees("lng", lng, 180)


def _degrees(name: str, value: float | Decimal, limit: int) -> str:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise TypeError(f"{name}: expected degrees as a number, not {value!r}")
    whole_or_exact = isinstance(value, int | Decimal)
    number = Decimal(value) if whole_or_exact else Decimal(repr(float(value)))
    if not number.is_finite() or number.copy_abs() > limit:
        raise ValueError(
            f"{name}: expected degrees from -{limit} to {limit}, not {str(value)[:40]}"
        )
    if (number and number.adjusted() < -_DIGITS) or len(number.as_tuple().digits) > _DIGITS:
        raise ValueError(f"{name}: {str(value)[:40]} has more than {_DIGITS} digits")
    # plain digits: a strict parser refuses 1e-05
    return format(number, "f")


def _given(name: str, value: str) -> str:
    text = _string(name, value).strip()
    if not text:
        raise ValueError(f"{name}: is empty; give a value or leave it out")
    return text


def _string(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a string, not {type(value).__name__} ({value!r})")
    if len(value) > _LONGEST:
        raise ValueError(f"{name}: has {len(value)} characters; at most {_LONGEST} are sent")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{name}: {value[:40]!a} holds characters that no text can hold")
    return value


def _chosen(filters: dict[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, _given(name, value)) for name, value in filters.items() if value is not None
    )


def _segment(text: str) -> str:
    """One path segment, whatever the text: a dot is encoded too, so that `..` climbs nowhere."""
    return quote(text, safe="").replace(".", "%2E")


def _calendar_date(name: str, value: date | str) -> str:
    """The ISO form of a date; of a datetime or an ISO string, its calendar date."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip()).date().isoformat()
        except ValueError:
            raise ValueError(f"{name}: {value!r} is not an ISO date such as '2026-05-01'") from None
    if not isinstance(value, date):
        raise TypeError(
            f"{name}: expected a date, a datetime or an ISO string, not {type(value).__name__}"
        )
    if value != value:  # noqa: PLR0124 - pandas' NaT is a datetime that differs from itself
        raise ValueError(f"{name}: the date is missing ({value})")
    return (value.date() if isinstance(value, datetime) else value).isoformat()


def _quarter(period: str) -> str:
    found = _PERIOD.fullmatch(period) if isinstance(period, str) else None
    if found is None:
        raise ValueError(
            f"period: {period!r} is not a year and a quarter such as '2026Q3' or '20263'"
        )
    return f"{found[1]}{found[2]}"
