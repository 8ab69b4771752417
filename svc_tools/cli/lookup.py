"""`svc-tools lookup`: the rate of one place."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from svc_sdk import Advisory, TaxResponse
from svc_tools import config
from svc_tools.cli.client import client_of
from svc_tools.cli.running import explained
from svc_tools.cli.show import show_answer
from svc_tools.places import Elsewhere, normal_zip, same_place, state_code

__all__ = ["lookup"]


def lookup(  # noqa: PLR0917 - Typer reads the signature
    state: Annotated[str, typer.Argument(help="State, such as TX or Texas.")],
    zip_code: Annotated[str | None, typer.Option("--zip", help="ZIP or ZIP+4.")] = None,
    address: Annotated[str | None, typer.Option(help="Street address, or the whole line.")] = None,
    city: Annotated[
        str | None,
        typer.Option(
            help="City of the address. With --zip and no address the ZIP decides, and the city is"
            " compared with the answer."
        ),
    ] = None,
    location: Annotated[str | None, typer.Option(help="Place name, such as Austin.")] = None,
    lat: Annotated[float | None, typer.Option(help="Latitude in degrees, with --lng.")] = None,
    lng: Annotated[float | None, typer.Option(help="Longitude in degrees, with --lat.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Date of the sale, as 2024-05-01.")] = None,
    period: Annotated[str | None, typer.Option(help="A quarter instead, as 20243.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Candidates and components too.")] = False,  # noqa: FBT002 - a flag
    as_json: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--json", help="JSON for a program; an error too, as an object.")
    ] = False,
    embedded: Annotated[bool, typer.Option("--embedded", help="Ask the embedded service.")] = False,  # noqa: FBT002 - a flag
    base_url: Annotated[
        str | None, typer.Option(help="Address of the service (else SVC_BASE_URL).")
    ] = None,
) -> None:
    """Look up the rate of one place. The key comes from SVC_API_KEY, never from an option."""
    with (
        explained(as_json=as_json),
        client_of(embedded=embedded, base_url=base_url) as client,
    ):
        compared = city if zip_code and not address else None
        answer = client.lookup(
            _state(state),
            zip=_zip(zip_code, state),
            address=address,
            city=None if compared else city,
            location=location,
            lat=lat,
            lng=lng,
            as_of=as_of,
            period=period,
            mode="full" if full else "simple",
        )
        if compared:
            answer = _compared(answer, compared)
        if as_json:
            typer.echo(answer.model_dump_json(indent=2))
        else:
            show_answer(
                Console(), answer, service=config.service_name(client), as_of=as_of or period
            )


def _compared(answer: TaxResponse, city: str) -> TaxResponse:
    """The answer, with an advisory where its city is another than the one that was named."""
    accepted = (answer.meta.model_extra or {}).get("accepted_places")
    names = [answer.rate.city, *(accepted if isinstance(accepted, list) else ())]
    known = [name for name in names if isinstance(name, str) and name]
    if not known or any(same_place(city, name) for name in known):
        return answer
    found = known[0]
    advisory = Advisory.model_validate(
        {
            "code": "place_input_mismatch",
            "customer_input_place": city,
            "resolved_place_name": found,
            "message": f"The ZIP decided: the rate is that of {found}, not of {city}",
        }
    )
    meta = answer.meta.model_copy(update={"warnings": [*answer.meta.warnings, advisory]})
    return answer.model_copy(update={"meta": meta})


def _state(given: str) -> str:
    """The code of a state that was named; what is no state's name goes to the service as it is."""
    known = state_code(given)
    return known if isinstance(known, str) else given


def _zip(given: str | None, state: str) -> str | None:
    """A ZIP as spreadsheets mangle it, as a ZIP."""
    if given is None:
        return None
    found = normal_zip(given, _state(state))
    if isinstance(found, Elsewhere):
        raise ValueError(f"zip: {found.reason}")  # noqa: TRY004 - a ZIP, but of elsewhere
    return found
