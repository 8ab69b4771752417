"""`svc-tools cache ...`: the cached results of lookups, and what geocoders found."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from svc_tools import config
from svc_tools.cli.common import explained
from svc_tools.geocoding.store import addresses_info, addresses_path, clear_addresses
from svc_tools.lookup.cache import cache_info, clear_cache, is_of_service
from svc_tools.show.display import number, print_table, print_text, prose

if TYPE_CHECKING:
    from svc_tools.geocoding.store import AddressesInfo, GeocoderInfo
    from svc_tools.lookup.cache import CacheInfo, SourceInfo


cache = typer.Typer(
    no_args_is_help=True,
    help="The cached results of lookups, so that no lookup is billed twice. They are in one"
    f" file, readable by you alone; {config.CACHE_VARIABLE} names another file, or 'off' for none."
    " Beside it is that of the addresses which a geocoder was sent.",
)

_File = Annotated[
    Path | None,
    typer.Option(
        "--file", help=f"The cache's file; else {config.CACHE_VARIABLE}, else the user's own."
    ),
]
_HEADS = (
    prose("Service"),
    "Account",
    number("Results"),
    number("Permanent"),
    number("Temporary"),
    number("Expired"),
    "Newest",
)
_GEOCODERS = (
    prose("Geocoder"),
    number("Addresses"),
    number("Exact"),
    number("Similar"),
    number("Several matches"),
    number("No match"),
    "First",
    "Last",
)
_DIGEST = 12
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


@cache.command("info")
def show_info(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for a program.")] = False,
    file: _File = None,
) -> None:
    """Show where the cache is, its size, and what it holds of which service and account."""
    with explained():
        path = _path(file)
        if path is None:
            note = "off: no results are cached"
            typer.echo(
                json.dumps({"path": None, "note": note}) if as_json else f"The cache is {note}."
            )
            return
        info, sent = cache_info(path), addresses_info(_beside(path))
    if as_json:
        shown = asdict(info) | {"addresses": asdict(sent)}
        typer.echo(json.dumps(shown, indent=2, default=_plain))
        return
    _show(Console(highlight=False), info)
    _show_addresses(Console(highlight=False), sent)


@cache.command("clear")
def clear(
    *,
    service: Annotated[
        str | None,
        typer.Option(help="Only results of this service: its address, or 'embedded'."),
    ] = None,
    expired: Annotated[bool, typer.Option("--expired", help="Only what expired.")] = False,
    addresses: Annotated[
        bool,
        typer.Option(
            "--addresses", help="What geocoders found, instead of results; --service names one."
        ),
    ] = False,
    unmatched: Annotated[
        bool,
        typer.Option("--unmatched", help="With --addresses: only those without a unique match."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask to confirm.")] = False,
    file: _File = None,
) -> None:
    """Remove results, after saying which; running notebooks notice at their next lookup."""
    with explained():
        path = _path(file)
        if path is None:
            raise ValueError(f"the cache is off ({config.CACHE_VARIABLE}); name a file with --file")
        if addresses and expired:
            raise ValueError("--expired: addresses are stored for good; leave it out")
        if unmatched and not addresses:
            raise ValueError("--unmatched: give it with --addresses")
        if addresses:
            _clear_addresses(_beside(path), service, unmatched=unmatched, yes=yes)
            return
        info = cache_info(path)
        chosen = [
            source
            for source in info.sources
            if service is None or is_of_service(source.service, service)
        ]
        if service is not None and not chosen and info.sources:
            known = ", ".join(sorted({_named(source) for source in info.sources}))
            raise ValueError(f"the cache has no results of {service}; it has those of {known}")
        goes = sum(source.expired if expired else source.answers for source in chosen)
        console = Console(highlight=False)
        for note in info.notes:
            print_text(console, note)
        if not goes:
            print_text(console, f"Nothing to remove in {path}.")
            return
        of = ", ".join(sorted({_named(source) for source in chosen}))
        kind = "expired results" if expired else "results"
        print_text(console, f"{goes:,} {kind} of {of} in {path} will be removed.")
        if not expired and not all(is_of_service(source.service, "embedded") for source in chosen):
            print_text(console, "Lookups of these places will be requested, and billed, again.")
        if not yes and not typer.confirm("Remove them?"):
            raise typer.Exit(1)
        removed = clear_cache(path, service=service, expired=expired)
        print_text(console, f"Removed: {removed:,}.")


def _clear_addresses(path: Path, geocoder: str | None, *, unmatched: bool, yes: bool) -> None:
    """Remove addresses, after saying which."""
    info, console = addresses_info(path), Console(highlight=False)
    chosen = [one for one in info.geocoders if geocoder in {None, one.geocoder}]
    if geocoder is not None and not chosen and info.geocoders:
        known = ", ".join(one.geocoder for one in info.geocoders)
        raise ValueError(f"there are no addresses of {geocoder}; there are those of {known}")
    goes = sum(one.ties + one.unmatched if unmatched else one.addresses for one in chosen)
    for note in info.notes:
        print_text(console, note)
    if not goes:
        print_text(console, f"Nothing to remove in {path}.")
        return
    kind = "address" if goes == 1 else "addresses"
    which = f"{kind} without a unique match" if unmatched else kind
    of = ", ".join(one.geocoder for one in chosen)
    print_text(console, f"{goes:,} {which} of {of} in {path} will be removed.")
    it = "it" if goes == 1 else "them"
    print_text(console, f"The next lookup with that geocoder sends {it} again.")
    if not yes and not typer.confirm(f"Remove {it}?"):
        raise typer.Exit(1)
    removed = clear_addresses(path, geocoder=geocoder, unmatched=unmatched)
    print_text(console, f"Removed: {removed:,}.")


def _beside(path: Path) -> Path:
    """The file of addresses beside a cache."""
    beside = addresses_path(path)
    assert beside is not None  # noqa: S101 - it has a path
    return beside


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _path(file: Path | None) -> Path | None:
    return file.expanduser().absolute() if file is not None else config.cache_path()


def _show(console: Console, info: CacheInfo) -> None:
    if info.size is None:
        print_text(
            console,
            f"There is no cache yet; the first lookup of a service over HTTP makes {info.path}. The"
            " embedded service needs none.",
        )
        return
    total = sum(source.answers for source in info.sources)
    print_text(console, ("Cache", "bold"), f" {info.path}: {total:,} results, {_size(info.size)}")
    for note in info.notes:
        print_text(console, note)
    if info.sources:
        console.print()
        print_table(console, _HEADS, [_row(source) for source in info.sources])


def _show_addresses(console: Console, info: AddressesInfo) -> None:
    """What geocoders found, where any was used."""
    if info.size is None:
        return
    total = sum(one.addresses for one in info.geocoders)
    console.print()
    words = f" {info.path}: {total:,} sent to geocoders, stored for good, {_size(info.size)}"
    print_text(console, ("Addresses", "bold"), words)
    for note in info.notes:
        print_text(console, note)
    if info.geocoders:
        console.print()
        print_table(console, _GEOCODERS, [_geocoder_row(one) for one in info.geocoders])


def _geocoder_row(one: GeocoderInfo) -> tuple[str, ...]:
    counts = (one.addresses, one.exact, one.similar, one.ties, one.unmatched)
    return (one.geocoder, *(f"{count:,}" for count in counts), one.oldest, one.newest)


def _row(source: SourceInfo) -> tuple[str, ...]:
    counts = (source.answers, source.for_ever, source.for_a_time, source.expired)
    account = source.account or "none needed"
    return (_named(source), account, *(f"{count:,}" for count in counts), _day(source.newest))


def _named(source: SourceInfo) -> str:
    """The address, or which rate book of the embedded service."""
    kind, _, digest = source.service.partition("embedded:")
    return source.service if kind else f"embedded, book {digest[:_DIGEST]}"


def _day(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d")


def _size(count: int) -> str:
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"
