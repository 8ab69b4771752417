"""`svc-tools nexus ...`: the register, its cleanup plan, removals, their receipts, and undo.

What is printed fits 80 columns; `--json` prints the same for a program.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from svc_tools import config
from svc_tools.cli.answers import answers, in_python, optional_columns, parameters, refuse_both
from svc_tools.cli.common import ASKS, Json, Service, explained, grouped
from svc_tools.cli.nexus_show import (
    plan_as_json,
    receipt_as_json,
    register_as_json,
    show_differences,
    show_plan,
    show_progress,
    show_receipt,
    show_receipts,
    show_result,
)
from svc_tools.lookup.options import SALES, ExposureOptions, flag_of, option, option_rows
from svc_tools.nexus.apply import apply_plan, remove_state, restore
from svc_tools.nexus.edit import add_registration, edit_registration
from svc_tools.nexus.notices import ALL_TYPES_NOTE, BEFORE_REMOVING
from svc_tools.nexus.plan import read_plan
from svc_tools.nexus.receipt import read_receipt, receipts
from svc_tools.nexus.register import read_register
from svc_tools.nexus.service import NotListedError, found_differences, list_register
from svc_tools.show.display import Note, print_text, show
from svc_tools.tables.csv_files import require_csv
from svc_tools.tables.dates import one_day
from svc_tools.tables.states import us_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc_sdk import Svc
    from svc_tools.nexus.register import Register
nexus = typer.Typer(
    no_args_is_help=True,
    help="Your nexus records: list and add them, plan a cleanup, remove what you ticked, and undo"
    " it. A plan suggests; nothing is removed that you did not tick.",
)
_OwnRegister = Annotated[
    Path | None,
    typer.Option(
        "--register", help="Your own register: a CSV or workbook with state and nexus_type."
    ),
]
_Plan = Annotated[Path, typer.Argument(help="The plan, with your ticks in the column remove.")]
_Yes = Annotated[
    bool, typer.Option("--yes", help="Do it; without this only GET requests are sent.")
]


_SALES = option_rows(ExposureOptions)


@dataclass(frozen=True)
class DatesWritten:
    """The options that say how the dates of a file are read."""

    date_format: Annotated[
        str | None,
        typer.Option(help=f"How dates are written: {_SALES['date_format'].help}"),
    ] = None
    tz: Annotated[str | None, typer.Option(help=_SALES["tz"].help)] = None


@nexus.command("list")
@grouped
def show_list(
    *,
    register: _OwnRegister = None,
    written: DatesWritten,
    as_json: Json = False,
    service: Service,
) -> None:
    """Show the records that the service has; with --register yours, and where the two differ."""
    console = Console(highlight=False)
    with explained(as_json=as_json):
        mine = None if register is None else read_register(register, **asdict(written))
        with _service_if_any(service, needed=mine is None) as client:
            name = "" if client is None else config.service_name(client)
            listed, note = _listed_register(client, needed=mine is None)
    shown = listed if mine is None else mine
    assert shown is not None  # noqa: S101 - one of the two is there, or an error was raised
    found = None if mine is None or listed is None else found_differences(mine, listed)
    if as_json:
        typer.echo(json.dumps(register_as_json(shown, found, service=name, note=note), indent=2))
        return
    of = name if mine is None else str(register)
    show(console, Note(f"Nexus registrations, {of}", [shown.sentence]), *shown.tables)
    if found is not None:
        show_differences(console, found, service=name)
    if note:
        console.print()
        print_text(console, note)


_State = Annotated[str, typer.Argument(help="State, such as TX or Texas.")]
_Type = Annotated[str, typer.Option("--type", help="physical, economic or marketplace.")]


@dataclass(frozen=True)
class Details:
    """The details of a record, as options."""

    registered_at: Annotated[
        str | None, typer.Option(help="Day of the registration, as 2024-05-01.")
    ] = None
    address: Annotated[str | None, typer.Option(help="The place that gives rise to it.")] = None
    notes: Annotated[str | None, typer.Option(help="Free text.")] = None

    @property
    def typed(self) -> list[str]:
        """The options as they were typed."""
        given = [(entry.name, getattr(self, entry.name)) for entry in fields(self)]
        named = [(f"--{name.replace('_', '-')}", text) for name, text in given if text is not None]
        return [word for pair in named for word in pair]


@nexus.command("add")
@grouped
def add(
    state: _State,
    *,
    nexus_type: _Type,
    details: Details,
    unseen: Annotated[
        bool,
        typer.Option("--unseen", help="Add it also where the service does not list what is there."),
    ] = False,
    yes: _Yes = False,
    as_json: Json = False,
    service: Service,
) -> None:
    """Add a record; without --yes only show the request.

    A record of the state and type that is there is never overwritten: see
    svc-tools nexus edit. The receipt undoes it: svc-tools nexus restore
    """
    words = ["add", state, "--type", nexus_type, *details.typed, *["--unseen"] * unseen]
    with explained(as_json=as_json, interrupted=_CONTINUED), service.client() as client:
        found = add_registration(
            client,
            state,
            nexus_type=nexus_type,
            **asdict(details),
            unseen=unseen,
            dry_run=not yes,
        )
    show_result(found, words, as_json=as_json, service=service)


@nexus.command("edit")
@grouped
def edit(
    state: _State,
    *,
    nexus_type: _Type,
    to_state: Annotated[str | None, typer.Option(help="Another state for it.")] = None,
    to_type: Annotated[str | None, typer.Option(help="Another type for it.")] = None,
    details: Details,
    yes: _Yes = False,
    as_json: Json = False,
    service: Service,
) -> None:
    """Change a record: what is given is changed, "" clears it, the rest stays.

    Without --yes only show the requests. Another state or type is another
    record: it is added first, then the former is removed. The receipt undoes
    it: svc-tools nexus restore
    """
    keys = {"--to-state": to_state, "--to-type": to_type}
    moved = [word for name, value in keys.items() if value is not None for word in (name, value)]
    with explained(as_json=as_json, interrupted=_CONTINUED), service.client() as client:
        found = edit_registration(
            client,
            state,
            nexus_type=nexus_type,
            to_state=to_state,
            to_type=to_type,
            **asdict(details),
            dry_run=not yes,
        )
    words = ["edit", state, "--type", nexus_type, *moved, *details.typed]
    show_result(found, words, as_json=as_json, service=service)


_OPTIONAL = optional_columns(ExposureOptions)
_TO_LEAVE_OUT = f"{', '.join(_OPTIONAL[:-1])} or {_OPTIONAL[-1]}"


@dataclass(frozen=True)
class Without:
    """What the command alone says of the columns of sales."""

    without: Sequence[str] | None = option(
        None, f"Leave a column out: {_TO_LEAVE_OUT}.", SALES, kind=list[str] | None
    )


def _sales(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the exposure that were given, and `False` for what is left out."""
    named = {name: value for name, value in given.items() if value}
    left_out = dict.fromkeys(named.pop("without", []), False)
    if unknown := [name for name in left_out if name not in _OPTIONAL]:
        raise ValueError(f"--without {unknown[0]}: expected {_TO_LEAVE_OUT}")
    if "transaction" in named:
        typer.echo("--transaction is called --order now", err=True)
        named.setdefault("order", named.pop("transaction"))
    refuse_both(named, left_out)
    return in_python(ExposureOptions, named) | left_out


_OPTIONS = {
    **ASKS,
    "exists": "--force",
    **answers(ExposureOptions),
}
"""The option that settles a fault of a file, by its code, or of a column, by its role."""


@nexus.command("plan")
@partial(grouped, columns=parameters(ExposureOptions, Without))
def plan(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The plan to write, a CSV for you to tick.")
    ],
    register: _OwnRegister = None,
    thresholds: Annotated[Path | None, typer.Option(help=_SALES["thresholds"].help)] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="Day of the plan, as 2026-05-01; else the last sale's, else today."),
    ] = None,
    sales: Annotated[
        list[Path] | None,
        typer.Option(
            help="Sales of this year and the three before (CSV, XLSX, Parquet); repeatable.",
            rich_help_panel=SALES,
        ),
    ] = None,
    covers: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="First and last day that they are complete for; else of the first and last sale.",
            rich_help_panel=SALES,
        ),
    ] = None,
    columns: dict[str, Any],
    written: DatesWritten,
    force: Annotated[bool, typer.Option("--force", help="Replace the output.")] = False,
    as_json: Json = False,
    service: Service,
) -> None:
    """Suggest which records could be removed, with reasons, into a file for you to tick.

    Nothing is ticked in advance, and nothing is changed. Put an x into the
    column remove (or replace, for the one of several records that is to stay),
    then see what would be sent: svc-tools nexus apply PLAN
    """
    with explained(as_json=as_json, options=_OPTIONS):
        named = _sales(columns)
        if (named or covers) and not sales:
            first = next(iter(named), "covers")
            flag = flag_of(first, _SALES[first])
            raise ValueError(f"{flag} is about sales: name --sales too")
        _require_free(output, [register, thresholds, *(sales or [])], force=force)
        from svc_tools.nexus.planning import make_plan  # noqa: PLC0415 - when it is run
        from svc_tools.nexus.thresholds import read_thresholds  # noqa: PLC0415 - as above

        day_of_plan = None if as_of is None else one_day("--as-of", as_of)
        complete = None if covers is None else tuple(one_day("--covers", day) for day in covers)
        table = read_thresholds(thresholds)
        mine = None if register is None else read_register(register, **asdict(written))
        with _service_if_any(service, needed=mine is None) as client:
            account = config.Source("", "") if client is None else config.account_of(client)
            listed, note = _listed_register(client, needed=mine is None)
        notes = [note] if note else []
        records = listed if mine is None else mine
        exposure, summary = None, None
        if sales:
            from svc_tools.frames.sales.exposure import (  # noqa: PLC0415 - loads pandas
                exposure_of_file,
            )
            from svc_tools.nexus.standings import exposure_summary  # noqa: PLC0415 - as above

            terms: dict[str, Any] = {"as_of": day_of_plan, "covers": complete, **named}
            terms |= asdict(written)
            exposure = exposure_of_file(
                *sales, thresholds=table, register=records, progress=False, **terms
            )
            notes += exposure.attrs["svc_exposure"]["notes"]
            summary = exposure_summary(exposure)
        made = make_plan(
            records,
            exposure=exposure,
            thresholds=table,
            as_of=day_of_plan,
            listed=None if mine is None else listed,
            service=account.service,
            account=account.account,
        )
        made.write(output)
    if as_json:
        typer.echo(json.dumps(plan_as_json(made, output, notes=notes, summary=summary), indent=2))
        return
    tables = [] if summary is None else [summary.table]
    show_plan(Console(highlight=False), made, output, notes=notes, tables=tables, service=service)


_CONTINUED = (
    "What was sent, if anything was, is in the receipt (svc-tools nexus receipts); the same command"
    " goes on where it ended."
)


@nexus.command("apply")
@grouped
def apply(
    plan: _Plan,
    *,
    yes: _Yes = False,
    as_json: Json = False,
    service: Service,
) -> None:
    """Remove the ticked records of a plan; without --yes only show it.

    Each request is sent once. The same plan again goes on where it ended.
    The exit code is 0 where all that is ticked is done, and as expected
    (without --yes: could be sent), else 1.
    """
    console = Console(highlight=False)
    with explained(as_json=as_json, interrupted=_CONTINUED):
        ticked = read_plan(plan)
        with service.client() as client:
            found = apply_plan(
                ticked,
                client,
                dry_run=not yes,
                on_progress=None if as_json else show_progress(console),
            )
    show_result(
        found,
        ["apply", str(plan)],
        as_json=as_json,
        service=service,
        before=BEFORE_REMOVING,
    )


@nexus.command("receipts")
@grouped
def show_all(
    receipt: Annotated[
        str | None, typer.Argument(help="One receipt, by its path or name; else all of them.")
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Show the receipts of all changes and restores, newest first; or one."""
    console = Console(highlight=False)
    with explained(as_json=as_json):
        if receipt is not None:
            shown = read_receipt(receipt)
            if as_json:
                typer.echo(json.dumps(receipt_as_json(shown), indent=2))
            else:
                show_receipt(console, shown, references=True)
            return
        frame = receipts()
        if as_json:
            typer.echo(frame.to_json(orient="records", date_format="iso", indent=2))
            return
        show_receipts(console, frame)


@nexus.command("restore")
@grouped
def undo(
    receipt: Annotated[str, typer.Argument(help="The receipt of a change: its path or name.")],
    *,
    yes: _Yes = False,
    as_json: Json = False,
    service: Service,
) -> None:
    """Undo a receipt; without --yes only show it.

    What was removed is added again, what was edited is put back, what was
    added is removed; a record that is another one by now is left alone.
    """
    console = Console(highlight=False)
    with explained(as_json=as_json, interrupted=_CONTINUED):
        removed = read_receipt(receipt)
        with service.client() as client:
            found = restore(
                removed,
                client,
                dry_run=not yes,
                on_progress=None if as_json else show_progress(console),
            )
    show_result(
        found,
        ["restore", receipt],
        as_json=as_json,
        service=service,
    )


@nexus.command("remove-state")
@grouped
def remove_all(
    state: Annotated[str, typer.Argument(help="The state, such as TX.")],
    typed: Annotated[
        str | None, typer.Option(help="The code of the state again; else you type it.")
    ] = None,
    *,
    yes: _Yes = False,
    as_json: Json = False,
    service: Service,
) -> None:
    """Remove ALL records of a state, of every type; its code is to be typed in.

    To remove one type, tick it in a plan. Without --yes only show it.
    The exit code is 0 where no record of the state is left (without --yes:
    could be sent, or no record is left), else 1.
    """
    console = Console(highlight=False)
    with explained(as_json=as_json, interrupted=_CONTINUED):
        if not yes:
            typed = us_state(state)  # it only looks
        elif typed is None and sys.stdin.isatty():
            print_text(console, ALL_TYPES_NOTE)
            typed = typer.prompt(f"Type the code of the state to remove all of {state}")
        with service.client() as client:
            found = remove_state(client, state, typed=typed or "", dry_run=not yes)
    show_result(
        found,
        ["remove-state", state],
        as_json=as_json,
        service=service,
        before=(ALL_TYPES_NOTE, *BEFORE_REMOVING),
    )


@contextmanager
def _service_if_any(service: Service, *, needed: bool) -> Iterator[Svc | None]:
    """A client, or `None`: with the user's own register no service is needed."""
    configured = service.embedded or config.configured(base_url=service.base_url) is not None
    if not needed and not configured:
        yield None
        return
    with service.client() as client:
        yield client


def _listed_register(client: Svc | None, *, needed: bool) -> tuple[Register | None, str]:
    """The register of the service, or `None` and a sentence that says why it is missing."""
    if client is None:
        return None, "No service is used: the registrations are those of the file alone."
    try:
        return list_register(client), ""
    except NotListedError as error:
        if needed:
            raise NotListedError(f"{error} (--register FILE)") from None
        return (
            None,
            f"{str(error).partition(';')[0]}: the registrations are those of the file alone.",
        )


def _require_free(output: Path, sources: list[Path | None], *, force: bool) -> None:
    """Refuse to overwrite ticks without --force, and ever to overwrite a source."""
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
