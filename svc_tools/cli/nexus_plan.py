"""`svc-tools nexus plan`: which records could be removed, into a file to tick."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from svc_tools import config
from svc_tools.cli.nexus_service import listed_register, service_if_any
from svc_tools.cli.nexus_show import plan_as_json, show_plan
from svc_tools.cli.running import explained
from svc_tools.nexus.register_file import read_register
from svc_tools.nexus.sheet import require_csv

if TYPE_CHECKING:
    import pandas as pd

    from svc_tools.nexus.register import Register
    from svc_tools.nexus.thresholds import Thresholds

__all__ = ["plan"]

_SALES = "Sales"


def plan(  # noqa: PLR0917 - Typer reads the signature
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The plan to write, a CSV for you to tick.")
    ],
    register: Annotated[
        Path | None,
        typer.Option(help="Your own register: a CSV or workbook with state and nexus_type."),
    ] = None,
    thresholds: Annotated[
        Path | None, typer.Option(help="A CSV whose rows replace the shipped thresholds.")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="Day of the plan, as 2026-05-01; else the last sale's, else today."),
    ] = None,
    sales: Annotated[
        list[Path] | None,
        typer.Option(
            help="Sales of this year and the three before (CSV, XLSX, Parquet); repeatable.",
            rich_help_panel=_SALES,
        ),
    ] = None,
    covers: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="First and last day that they are complete for; else of the first and last sale.",
            rich_help_panel=_SALES,
        ),
    ] = None,
    amount: Annotated[
        str | None, typer.Option(help="Column of amounts.", rich_help_panel=_SALES)
    ] = None,
    day: Annotated[
        str | None, typer.Option("--date", help="Column of dates.", rich_help_panel=_SALES)
    ] = None,
    state: Annotated[
        str | None, typer.Option(help="Column of states.", rich_help_panel=_SALES)
    ] = None,
    channel: Annotated[
        str | None, typer.Option(help="Column of channels.", rich_help_panel=_SALES)
    ] = None,
    retail: Annotated[
        str | None, typer.Option(help="Column of retail amounts.", rich_help_panel=_SALES)
    ] = None,
    taxable: Annotated[
        str | None, typer.Option(help="Column of taxable amounts.", rich_help_panel=_SALES)
    ] = None,
    transaction: Annotated[
        str | None,
        typer.Option(
            help="Column of order numbers: one order counts once.", rich_help_panel=_SALES
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output.")] = False,  # noqa: FBT002 - a flag
    as_json: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--json", help="JSON for a program; an error too, as an object.")
    ] = False,
    embedded: Annotated[bool, typer.Option("--embedded", help="Ask the embedded service.")] = False,  # noqa: FBT002 - a flag
    base_url: Annotated[
        str | None, typer.Option(help="Address of the service (else SVC_BASE_URL).")
    ] = None,
) -> None:
    """Suggest which records could be removed, with reasons, into a file for you to tick.

    Nothing is ticked in advance, and nothing is sent. Put an x into the
    column remove (or replace, for the one of several records that is to stay),
    then see what would be sent: svc-tools nexus apply PLAN
    """
    roles = {
        "amount": amount,
        "date": day,
        "state": state,
        "channel": channel,
        "retail": retail,
        "taxable": taxable,
        "transaction": transaction,
    }
    with explained(as_json=as_json):
        named = {role: column for role, column in roles.items() if column is not None}
        if (named or covers) and not sales:
            raise ValueError(f"--{next(iter(named), 'covers')} is about sales: name --sales too")
        _require_free(output, [register, thresholds, *(sales or [])], force=force)
        from svc_tools.nexus.planning import make_plan  # noqa: PLC0415 - when it is run
        from svc_tools.nexus.thresholds import read_thresholds  # noqa: PLC0415 - as above

        asked = None if as_of is None else _day("--as-of", as_of)
        complete = None if covers is None else tuple(_day("--covers", one) for one in covers)
        table = read_thresholds(thresholds)
        mine = None if register is None else read_register(register)
        with service_if_any(embedded=embedded, base_url=base_url, needed=mine is None) as client:
            account = config.Source("", "") if client is None else config.account_of(client)
            listed, note = listed_register(client, needed=mine is None)
        notes = [note] if note else []
        records = listed if mine is None else mine
        exposure = None
        if sales:
            terms: dict[str, Any] = {"as_of": asked, "covers": complete, **named}
            exposure = _exposure(sales, table, records, terms)
            notes += exposure.attrs["svc_exposure"]["notes"]
        made = make_plan(
            records,
            exposure=exposure,
            thresholds=table,
            as_of=asked,
            listed=None if mine is None else listed,
            service=account.service,
            account=account.account,
        )
        made.write(output)
    if as_json:
        typer.echo(json.dumps(plan_as_json(made, output, notes=notes), indent=2))
        return
    show_plan(Console(highlight=False), made, output, notes=notes, embedded=embedded)


def _require_free(output: Path, sources: list[Path | None], *, force: bool) -> None:
    """Refuse to write over ticks without being told to, and over what is read here at all."""
    require_csv(output)
    if not output.exists():
        return
    if any(
        source is not None and source.exists() and output.samefile(source) for source in sources
    ):
        raise ValueError(f"{output} is what the plan is made from; name another file for the plan")
    if not force:
        raise ValueError(
            f"{output} is there already, perhaps with your ticks; name another file, or replace it"
            " with --force"
        )


def _exposure(
    sales: list[Path],
    thresholds: Thresholds,
    register: Register | None,
    terms: dict[str, Any],
) -> pd.DataFrame:
    from svc_tools.frames.sales.exposing import exposure_of_file  # noqa: PLC0415 - loads pandas

    return exposure_of_file(
        *sales, thresholds=thresholds, register=register, progress=False, **terms
    )


def _day(option: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{option}: {text!r} is no date such as 2026-05-01") from None
