"""`svc-tools lookup`: the rate of one place, printed in 80 columns or as JSON.

The layout of a full response (SPEC 2.5: components and candidates) is the service's own, so what is
not as expected is left out, and nothing is made up.
"""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from svc_sdk import ServiceError, TaxResponse
from svc_sdk.rates import rate_to_decimal
from svc_sdk.wire import lookup_call
from svc_tools import config
from svc_tools.base.shares import share_units
from svc_tools.cli.common import NO_RESULT, Json, Service, explained, grouped
from svc_tools.config import address_checked
from svc_tools.geocoding.positions import geocoding_of
from svc_tools.lookup.computed import Ends, response_at
from svc_tools.lookup.options import check_geocode, review_threshold
from svc_tools.lookup.outcomes import of_other_country, of_response, shown_share
from svc_tools.lookup.reviewing import remarks, with_point_warning, with_warning
from svc_tools.show.codes import (
    CONFIDENCES,
    RATE_PARTS,
    all_warnings,
    confidence_of,
    known_part,
    lacking,
    meaning_of,
    percent,
    total_rate,
)
from svc_tools.show.display import number, print_table, print_text, prose, read_in
from svc_tools.show.meters import say
from svc_tools.tables.places import (
    Cells,
    Place,
    PlaceQuery,
    Refusal,
    same_place,
    where,
)
from svc_tools.tables.states import (
    Elsewhere,
    agreed_state,
    is_washington_dc,
    normal_zip,
    state_and_zip,
    state_code,
    us_state,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_sdk import Svc
    from svc_tools.base.positions import Position

_COLOURS = {"exact": "green", "high": "green", "medium": "yellow", "low": "red", "none": "red"}

_COMPONENT = (prose("Level"), prose("Name"), number("Rate"), "In force since", prose("Source"))
_CANDIDATE = (prose("Name"), prose("County"), number("Rate"), prose("Why"))
_HOUSING = number("Housing")
"""The share of the ZIP's housing, where the response has it."""


@grouped
def lookup(
    place: Annotated[
        str | None,
        typer.Argument(
            help="State, such as TX or Texas; or a ZIP, an address or a place name that names its"
            " state, such as 78701 or '600 Congress Ave, Austin, TX'."
        ),
    ] = None,
    *,
    zip_code: Annotated[str | None, typer.Option("--zip", help="ZIP or ZIP+4.")] = None,
    address: Annotated[str | None, typer.Option(help="Street address, or the whole line.")] = None,
    city: Annotated[
        str | None,
        typer.Option(
            help="City of the address. With --zip and no address the ZIP decides, and the city is"
            " compared with the response."
        ),
    ] = None,
    location: Annotated[str | None, typer.Option(help="Place name, such as Austin.")] = None,
    lat: Annotated[
        str | None,
        typer.Option(help="Latitude in degrees, with --lng. Beside a ZIP the point decides."),
    ] = None,
    lng: Annotated[str | None, typer.Option(help="Longitude in degrees, with --lat.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Date of the sale, as 2024-05-01.")] = None,
    period: Annotated[str | None, typer.Option(help="A quarter instead, as 20243.")] = None,
    geocode: Annotated[
        str | None,
        typer.Option(help="census: send the street address to the Census Bureau's geocoder."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Candidates and components too.")] = False,
    review_below: Annotated[
        str | None,
        typer.Option(
            help="Flag the rate if less than this share of the ZIP's homes has it (default 0.90)."
        ),
    ] = None,
    as_json: Json = False,
    service: Service,
) -> None:
    """Look up the rate of one place. The key comes from SVC_API_KEY, never from an option."""
    as_of = None if as_of == "today" and period is None else as_of
    with explained(as_json=as_json):
        below = review_threshold(review_below)
    with explained(as_json=as_json), service.client() as client:
        typed = _read(place, _Typed(None, zip_code, address, city, location))
        state = _state(typed, lat, lng)
        compared = city if typed.zip and not typed.address else None
        query: dict[str, Any] = {
            "zip": _zip(typed.zip, state),
            "address": typed.address,
            "city": None if compared else city,
            "location": typed.location,
            "as_of": as_of,
            "period": period,
        }
        if (point := _point(typed, state, lat, lng)) is not None:
            is_here = isinstance(client, config.EmbeddedSvc) and client.is_here
            position = point.position if is_here else None
            sent = point.place if is_here else point.place.as_sent()
            query |= {name: getattr(sent, name) for name in _SENT}
            compared = point.named_city
        else:
            position = _position(client, geocode, state, query)
        mode: Literal["full", "simple"] = "full" if full else "simple"
        if position is not None and isinstance(client, config.EmbeddedSvc):
            call = lookup_call(state, **query, mode=mode)
            response = response_at(client, call, position, _first_day(as_of or period))
        else:
            with address_checked(client):
                response = client.lookup(state, **query, mode=mode)
        if why := of_other_country(response):
            raise ServiceError(f"The response cannot be used: {why}.")
        if compared:
            response = _compared(response, compared, "point" if point and position else "ZIP")
        if point is not None:
            response = with_point_warning(response, point)
        if as_json:
            typer.echo(json.dumps(response.model_dump(mode="json"), indent=2))
        else:
            name = config.service_name(client)
            _show(Console(), response, service=name, as_of=as_of or period, below=below)
        if total_rate(response) is None:
            raise typer.Exit(NO_RESULT)


_SENT = ("zip", "address", "city", "location", "lat", "lng")


def _point(typed: _Typed, state: str, lat: str | None, lng: str | None) -> PlaceQuery | None:
    """The query of a place with coordinates; `None` without them.

    Raises:
        ValueError: the coordinates cannot be read, or only one of them is given.
    """
    if lat is None and lng is None:
        return None
    found = where(Cells(**typed._replace(state=state)._asdict(), lat=lat, lng=lng))
    if isinstance(found, Refusal):
        raise ValueError(found.reason)  # noqa: TRY004 - what is typed, not its type
    return found


def _position(
    client: Svc, geocode: str | None, state: str, query: Mapping[str, Any]
) -> Position | None:
    """The position of the address by the geocoder; `None` where none is wanted or found.

    Raises:
        ValueError: no such geocoder, or the service resolves addresses itself.
    """
    check_geocode(geocode)
    geocoding = geocoding_of(geocode)
    if geocoding is None:
        return None
    if not (isinstance(client, config.EmbeddedSvc) and client.is_here):
        why = f"the service {config.service_name(client)} resolves addresses itself"
        if geocode is not None:
            raise ValueError(f"geocode: {why}; leave --geocode out")
        say([f"{config.GEOCODE_VARIABLE} is not used: {why}"])
        return None
    if not query["address"]:
        return None
    place = Place(state, "address", query["address"], query["city"], query["zip"])
    position = geocoding.positions([place], Ends(None)).get(place)
    say(geocoding.notes)
    return position


def _first_day(given: str | None) -> date | None:
    """The day of a lookup by its date or quarter, as `_day` says it."""
    if given is None:
        return None
    quarter = _PERIOD.fullmatch(given)
    if quarter is None:
        return date.fromisoformat(given)
    return date(int(quarter[1]), 3 * int(quarter[2]) - 2, 1)


def _compared(response: TaxResponse, city: str, decided: str) -> TaxResponse:
    """The response, with an advisory where its city differs from the given one."""
    accepted = (response.meta.model_extra or {}).get("accepted_places")
    names = [response.rate.city, *(accepted if isinstance(accepted, list) else ())]
    known = [name for name in names if isinstance(name, str) and name]
    if not known or any(same_place(city, name) for name in known):
        return response
    found = known[0]
    return with_warning(
        response,
        {
            "code": "place_input_mismatch",
            "customer_input_place": city,
            "resolved_place_name": found,
            "message": f"The {decided} decided: the rate is that of {found}, not of {city}",
        },
    )


class _Typed(NamedTuple):
    """The parts of the place as typed."""

    state: str | None
    zip: str | None
    address: str | None
    city: str | None
    location: str | None


_ZIP = re.compile(r"\d{3,5}(?:-\d{4})?")
_DIGIT = re.compile(r"\d")
_CODE = 2


def _read(place: str | None, given: _Typed) -> _Typed:
    """The argument as what it is: a state, a ZIP, an address or the name of a place.

    Raises:
        ValueError: it is a ZIP or an address, and another one is given as an option.
    """
    text = (place or "").strip()
    if not text:
        return given
    other = given.zip or given.address or given.location
    with_state = None if other else state_and_zip(text)
    if with_state and with_state[0]:
        return given._replace(state=with_state[0], zip=with_state[1])
    if _ZIP.fullmatch(text):
        role = "zip"
    elif _DIGIT.search(text):
        role = "address"
    else:
        named = state_code(text) is not None or len(text) <= _CODE
        is_city = is_washington_dc(text) and not given.city
        role = "state" if other or (named and not is_city) else "location"
    if getattr(given, role):
        raise ValueError(f"{role}: given twice, as {text!r} and with --{role}")
    return given._replace(**{role: text})


def _state(typed: _Typed, lat: str | None, lng: str | None) -> str:
    """The code of the state given, or of the one that the place names.

    A state that is not known is sent to the service as it is.

    Raises:
        ValueError: none is given, and nothing names one; or the place names another one.
    """
    if typed.state is not None:
        known = us_state(typed.state)
        if known is None:
            return typed.state
        texts = {name: getattr(typed, name) for name in ("address", "city", "location")}
        agreed_state(known, _zip(typed.zip, known), **texts)
        return known
    if not any((*typed, lat, lng)):
        raise ValueError(
            "give a place, such as 78701, 'Austin, TX' or '600 Congress Ave, Austin, TX 78701';"
            " or a state with --zip, --address, --location, or --lat and --lng"
        )
    found = where(Cells(**typed._asdict(), lat=lat, lng=lng))
    if isinstance(found, Refusal):
        raise ValueError(found.reason)  # noqa: TRY004 - what is typed, not its type
    return found.place.state


def _zip(given: str | None, state: str) -> str | None:
    """The ZIP of a value that a spreadsheet may have mangled."""
    if given is None:
        return None
    found = normal_zip(given, state)
    if isinstance(found, Elsewhere):
        raise ValueError(f"zip: {found.reason}")  # noqa: TRY004 - a ZIP, but of elsewhere
    return found


_LABEL = len("Confidence")
_PERIOD = re.compile(r"(\d{4})([1-4])")


def _show(
    console: Console, response: TaxResponse, *, service: str, as_of: str | None, below: int
) -> None:
    """Print place, rate, parts, confidence, warnings and source; and the rest of a full response.

    Args:
        console: where to.
        response: the response, of either mode.
        service: the name of the service.
        as_of: the date or the period of the lookup; `None` for today.
        below: the share of a ZIP's housing below which its rate requires review (`reasons_of`).
    """
    rate = response.rate
    total = total_rate(response)
    place = ", ".join(part for part in (rate.city, rate.county, rate.state) if part)
    print_text(console, (" ".join(part for part in (place, rate.zip) if part), "bold"))
    shown = "no rate" if total is None else percent(total)
    day = _day(as_of)
    if lacking(response):
        partial = ("PARTIAL: a part is not known", "bold")
        print_text(console, (shown, "bold yellow"), "  ", partial, f", {day}")
    else:
        print_text(console, (shown, "bold cyan"), f"  combined, {day}")
    print_table(console, ("", number()), _parts(response), indent=2)
    grounds = [("Confidence", _confidence(response))]
    if decided := _decided_by(response):
        grounds.append(("Decided by", Text(decided)))
    print_table(console, ("", prose()), grounds)
    texts = remarks(of_response(None, response), all_warnings(response), below=below)
    marked = [(Text("!", "yellow"), text) for text in texts]
    print_table(console, ("", prose()), marked, indent=2)
    origin = [("Source".ljust(_LABEL), _source(response)), ("Service", service)]
    print_table(console, ("", prose()), origin)
    _show_full(console, response)


def _day(as_of: str | None) -> str:
    """The date of the lookup; a quarter's first day decides (WIRE, period)."""
    if as_of is None:
        return f"today, {datetime.now().astimezone().date()}"
    quarter = _PERIOD.fullmatch(as_of)
    if quarter is None:
        return as_of
    year, number = quarter[1], int(quarter[2])
    return f"{year} Q{number} (from {year}-{3 * number - 2:02}-01)"


def _parts(response: TaxResponse) -> list[tuple[str, str]]:
    rows = []
    for name, field in RATE_PARTS:
        part = known_part(response, field)
        rows.append((name, "not known" if part is None else percent(part)))
    freight = response.rate.freight_taxable
    if not isinstance(freight, bool):
        return [*rows, ("Delivery", "not known")]
    return [*rows, ("Delivery", f"{'' if freight else 'not '}taxable{read_in(response)}")]


def _confidence(response: TaxResponse) -> Text:
    level = confidence_of(response) or ""
    meaning = f": {meaning_of(level)}" if level in CONFIDENCES else ""
    return Text.assemble((level or "not stated", _COLOURS.get(level, "")), meaning)


def _decided_by(response: TaxResponse) -> str | None:
    """What decided the rate, where the response says; a full one has more detail."""
    via = response.meta.resolved_via
    if via is None:
        return None
    decided, why = meaning_of(via) or via, _reason_of_choice(response)
    return f"{decided} ({why})" if why else decided


def _source(response: TaxResponse) -> str:
    extra = response.meta.model_extra or {}
    edition = extra.get("edition")
    parts = [extra.get("source"), f"edition {edition}" if edition else None]
    if response.meta.effective_date:
        parts.append(f"in force since {response.meta.effective_date}")
    return ", ".join(str(part) for part in parts if part) or "not stated"


def _show_full(console: Console, response: TaxResponse) -> None:
    """Print the components and candidates of a full response."""
    components, candidates = (_rows(response, name) for name in ("components", "candidates"))
    if components:
        print_text(console)
        print_text(console, ("Components", "bold"))
        print_table(console, _COMPONENT, map(_component, components), indent=2)
    if len(candidates) > 1:
        print_text(console)
        print_text(console, ("Candidates, the one used first", "bold"))
        shares = [share_units(candidate.get("share")) for candidate in candidates]
        known = any(share is not None for share in shares)
        heads = (*_CANDIDATE[:3], _HOUSING, *_CANDIDATE[3:]) if known else _CANDIDATE
        rows = [
            _candidate(candidate, share, shares=known)
            for candidate, share in zip(candidates, shares, strict=True)
        ]
        print_table(console, heads, rows, indent=2)
    elif candidates:
        print_text(console)
        print_text(console, "No other candidates.")


def _reason_of_choice(response: TaxResponse) -> str | None:
    """Why a full response took the first candidate; `None` where it does not say."""
    candidates = _rows(response, "candidates")
    why = candidates[0].get("why") if candidates else None
    return why if isinstance(why, str) else None


def _rows(response: TaxResponse, name: str) -> list[Mapping[str, object]]:
    value = (response.model_extra or {}).get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _component(component: Mapping[str, object]) -> tuple[str, ...]:
    edition = component.get("edition")
    details = (
        component.get("source"),
        f"edition {edition}" if edition else None,
        "third hand" if component.get("trust") == "third_hand" else None,
        component.get("note"),
    )
    return (
        _text(component.get("level")),
        _text(component.get("name")),
        _percent(component.get("rate")),
        _text(component.get("effective_date")) or "not published",
        ", ".join(_text(part) for part in details if part),
    )


def _candidate(candidate: Mapping[str, object], share: int | None, *, shares: bool) -> list[str]:
    """The cells of a candidate; with its share of the ZIP's housing where `shares` are known."""
    cells = [
        _text(candidate.get("name")),
        _text(candidate.get("county")),
        _percent(candidate.get("combined_rate")),
        "" if share is None else shown_share(share),
        _text(candidate.get("why")),
    ]
    return cells if shares else [*cells[:3], *cells[4:]]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _percent(value: object) -> str:
    """A rate of the response as a percentage; anything else unchanged."""
    try:
        return percent(rate_to_decimal(value)) if isinstance(value, str) else _text(value)
    except ValueError:
        return _text(value)
