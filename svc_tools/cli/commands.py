"""The commands: each reads its arguments, calls one function of the toolkit, shows the result."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from svc_sdk import Svc, __version__
from svc_tools import config
from svc_tools.cli.book import book
from svc_tools.cli.keys import keys
from svc_tools.cli.running import explained
from svc_tools.cli.serve import serve
from svc_tools.cli.show import show_answer
from svc_tools.places import Elsewhere, normal_zip, state_code

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="US sales-tax rates: look them up, serve them, see what the toolkit does.",
)
app.add_typer(book, name="book")
app.add_typer(keys, name="keys")
app.command()(serve)


def _version(wanted: bool) -> None:  # noqa: FBT001 - Typer's callback signature
    if wanted:
        typer.echo(f"svc-tools {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """US sales-tax rates on the command line."""


@app.command()
def lookup(  # noqa: PLR0917 - Typer reads the signature
    state: Annotated[str, typer.Argument(help="State, such as TX or Texas.")],
    zip_code: Annotated[str | None, typer.Option("--zip", help="ZIP or ZIP+4.")] = None,
    address: Annotated[str | None, typer.Option(help="Street address, or the whole line.")] = None,
    city: Annotated[str | None, typer.Option(help="City of the address.")] = None,
    location: Annotated[str | None, typer.Option(help="Place name, such as Austin.")] = None,
    lat: Annotated[float | None, typer.Option(help="Latitude in degrees, with --lng.")] = None,
    lng: Annotated[float | None, typer.Option(help="Longitude in degrees, with --lat.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Date of the sale, as 2024-05-01.")] = None,
    period: Annotated[str | None, typer.Option(help="A quarter instead, as 20243.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Candidates and components too.")] = False,  # noqa: FBT002 - a flag
    as_json: Annotated[bool, typer.Option("--json", help="JSON for a program.")] = False,  # noqa: FBT002 - a flag
    embedded: Annotated[bool, typer.Option("--embedded", help="Ask the embedded service.")] = False,  # noqa: FBT002 - a flag
    base_url: Annotated[
        str | None, typer.Option(help="Address of the service (else SVC_BASE_URL).")
    ] = None,
) -> None:
    """Look up the rate of one place. The key comes from SVC_API_KEY, never from an option."""
    with explained(), _client(embedded=embedded, base_url=base_url) as client:
        answer = client.lookup(
            _state(state),
            zip=_zip(zip_code, state),
            address=address,
            city=city,
            location=location,
            lat=lat,
            lng=lng,
            as_of=as_of,
            period=period,
            mode="full" if full else "simple",
        )
        if as_json:
            typer.echo(answer.model_dump_json(indent=2))
        else:
            show_answer(
                Console(), answer, service=config.service_name(client), as_of=as_of or period
            )


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


@contextmanager
def _client(*, embedded: bool, base_url: str | None) -> Iterator[Svc]:
    """The client that was asked for; the embedded service only where it was named."""
    if embedded:
        if base_url:
            raise ValueError("--embedded brings its own address; leave --base-url out")
        client = config.connect("embedded")
    else:
        account = config.configured(base_url=base_url)
        if account is None:
            raise config.ConfigurationError(
                f"No service is configured: set {config.URL_VARIABLE} and {config.KEY_VARIABLE},"
                " or ask the embedded service with --embedded"
            )
        client = Svc(account[0], base_url=account[1])
    with client:
        yield client


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder for the files that are made.")] = Path(
        "demo-output"
    ),
) -> None:
    """See the main job done: orders with messy places, their rates and tax, three files."""
    with explained():
        from svc_tools.demo import run_demo  # noqa: PLC0415 - loads pandas

        with config.connect("embedded") as client:
            code = run_demo(output, client=client, console=Console(), progress=True)
    raise typer.Exit(code)
