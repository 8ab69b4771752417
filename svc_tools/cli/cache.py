"""`svc-tools cache ...`: the cached results of lookups."""

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
from svc_tools.lookup.cache import cache_info, clear_cache, is_of_service
from svc_tools.show.display import number, print_table, print_text, prose

if TYPE_CHECKING:
    from svc_tools.lookup.cache import CacheInfo, SourceInfo


cache = typer.Typer(
    no_args_is_help=True,
    help="The cached results of lookups, so that no lookup is billed twice. They are in one"
    f" file, readable by you alone; {config.CACHE_VARIABLE} names another file, or 'off' for none.",
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
        info = cache_info(path)
    if as_json:
        typer.echo(json.dumps(asdict(info), indent=2, default=_plain))
        return
    _show(Console(highlight=False), info)


@cache.command("clear")
def clear(
    *,
    service: Annotated[
        str | None,
        typer.Option(help="Only results of this service: its address, or 'embedded'."),
    ] = None,
    expired: Annotated[bool, typer.Option("--expired", help="Only what expired.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask to confirm.")] = False,
    file: _File = None,
) -> None:
    """Remove results, after saying which; running notebooks notice at their next lookup."""
    with explained():
        path = _path(file)
        if path is None:
            raise ValueError(f"the cache is off ({config.CACHE_VARIABLE}); name a file with --file")
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
