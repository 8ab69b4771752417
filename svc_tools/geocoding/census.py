"""The batch geocoder of the United States Census Bureau: public, without a key.

One request is a form with a file of addresses, one a line; the response has a line for each, in any
order. The positions are interpolated along the street.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

import httpx

from svc_sdk.wire import Failure, Reply
from svc_tools.geocoding.addresses import AddressMatch
from svc_tools.tables.places import is_in_us
from svc_tools.tables.states import us_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from svc_tools.geocoding.addresses import MatchKind, StreetAddress

SERVICE = "census"
"""The name that chooses it, and that its results are stored under."""
BATCH = 1_000
"""Addresses in a request. The service takes up to 10,000, for minutes; what an interrupted run
loses is one request."""
_PATH = "/locations/addressbatch"
_BENCHMARK = "Public_AR_Current"
_MOST = 16 * 2**20
"""Bytes of a response: far more than a line for each address."""
OK = 200
_ENDING = re.compile(r"(?P<city>[^,]*), *(?P<state>[A-Z]{2})(?:, *(?P<zip>\d{5}))?$")


class NotTheGeocoderError(ValueError):
    """A response is not the geocoder's list of addresses."""


def census_request(
    client: httpx.Client, url: str, numbered: Mapping[int, StreetAddress]
) -> Reply | Failure:
    """Send one batch; failures are returned, not raised.

    Args:
        client: the HTTP client, with its timeout.
        url: the address of the geocoder.
        numbered: the addresses, by the numbers that they have in the request.
    """
    form = {"addressFile": ("addresses.csv", _file(numbered), "text/csv")}
    try:
        with client.stream(
            "POST", url + _PATH, data={"benchmark": _BENCHMARK}, files=form
        ) as response:
            body = bytearray()
            for part in response.iter_bytes():
                body += part
                if len(body) > _MOST:
                    return Failure("the response is too large to be its list", retryable=False)
        return Reply(response.status_code, dict(response.headers), bytes(body))
    except httpx.TimeoutException:
        return Failure("it did not respond in time", retryable=True)
    except (httpx.HTTPError, RuntimeError) as error:  # the latter where the client was closed
        reason = str(error) or type(error).__name__
        return Failure(f"no connection ({reason})", retryable=True)


def _file(numbered: Mapping[int, StreetAddress]) -> bytes:
    """The addresses as the lines of a CSV without a header."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((at, *one) for at, one in numbered.items())
    return text.getvalue().encode("utf-8", "replace")


def found_in(
    reply: Reply, numbered: Mapping[int, StreetAddress]
) -> dict[StreetAddress, AddressMatch]:
    """What a response says of the addresses; one whose line is broken or missing is not in it.

    Raises:
        NotTheGeocoderError: it has no line of them, such as a page with an error.
    """
    found: dict[StreetAddress, AddressMatch] = {}
    for row in _rows(reply.body.decode("utf-8-sig", "replace")):
        number = row[0].strip()
        address = numbered.get(int(number)) if number.isascii() and number.isdecimal() else None
        one = _found(row) if address is not None else None
        if address is not None and one is not None:
            found[address] = one
    if not found and numbered:
        raise NotTheGeocoderError("its response is not a list of the addresses")
    return found


def _rows(text: str) -> Iterator[Sequence[str]]:
    """The lines of a response, each by itself: a broken one spoils no other."""
    for line in text.splitlines():
        try:
            row = next(csv.reader([line], strict=True), [])
        except csv.Error:
            continue
        if row:
            yield row


def _found(row: Sequence[str]) -> AddressMatch | None:
    """What a line says of its address; `None` where it is broken."""
    outcome, *rest = row[2:] or ("",)
    if outcome == "No_Match":
        return AddressMatch("none")
    if outcome == "Tie":
        return AddressMatch("tie")
    if outcome != "Match" or len(rest) < 3 or rest[0] not in {"Exact", "Non_Exact"}:  # noqa: PLR2004 - kind, address, point
        return None
    point = _point(rest[2])
    if point is None:
        return None
    ending = _ENDING.search(rest[1].strip().upper())
    named = ending.groupdict("") if ending else {}
    state = us_state(named.get("state")) or ""
    match: MatchKind = "exact" if rest[0] == "Exact" else "similar"
    return AddressMatch(match, *point, named.get("zip", ""), named.get("city", "").strip(), state)


def _point(text: str) -> tuple[float, float] | None:
    """Latitude and longitude of "longitude,latitude"; `None` for a point that is not in the US."""
    parts = text.split(",")
    try:
        lng, lat = (float(part) for part in parts)
    except ValueError:
        return None
    return (lat, lng) if is_in_us(lat, lng) else None
