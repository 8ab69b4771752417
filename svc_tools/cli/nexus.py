"""`svc-tools nexus ...`: the register, its cleanup plan, removals, their receipts, and undo.

What is printed fits 80 columns; `--json` prints the same for a program.
"""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from svc_tools import config
from svc_tools.cli.common import INTERRUPTED, NO_RESULT, Json, Service, explained, grouped
from svc_tools.csv_files import require_csv
from svc_tools.display import (
    NOTHING,
    Note,
    Table,
    capital,
    counted,
    plain,
    print_line,
    print_table,
    print_text,
    printable,
    prose,
    show,
    the_service,
)
from svc_tools.nexus.apply import apply_plan, remove_state, restore
from svc_tools.nexus.notices import ALL_TYPES_NOTE, BEFORE_REMOVING, NOT_TICKED_NOTE
from svc_tools.nexus.plan import read_plan, tables_of
from svc_tools.nexus.receipt import STATUSES, STOPPED, read_receipt, receipts
from svc_tools.nexus.register import FIELDS, read_register
from svc_tools.nexus.service import (
    NotListedError,
    WouldChangeError,
    add_record,
    found_differences,
    list_register,
)
from svc_tools.places import state_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt import Receipt, ReceiptItem
    from svc_tools.nexus.register import Register, Registration
    from svc_tools.nexus.service import Added, Difference
    from svc_tools.nexus.standings import ExposureSummary
nexus = typer.Typer(
    no_args_is_help=True,
    help="Your nexus records: list and add them, plan a cleanup, remove what you ticked, and undo"
    " it. A plan suggests; nothing is removed that you did not tick.",
)
_SALES = "Sales"
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


@nexus.command("list")
@grouped
def show_list(
    *,
    register: _OwnRegister = None,
    as_json: Json = False,
    service: Service,
) -> None:
    """Show the records that the service has; with --register yours, and where the two differ."""
    console = Console(highlight=False)
    with explained(as_json=as_json):
        mine = None if register is None else read_register(register)
        with _service_if_any(service, needed=mine is None) as client:
            name = "" if client is None else config.service_name(client)
            listed, note = _listed_register(client, needed=mine is None)
    shown = listed if mine is None else mine
    assert shown is not None  # noqa: S101 - one of the two is there, or an error was raised
    found = None if mine is None or listed is None else found_differences(mine, listed)
    if as_json:
        typer.echo(json.dumps(_register_as_json(shown, found, service=name, note=note), indent=2))
        return
    of = name if mine is None else str(register)
    show(console, Note(f"Nexus registrations, {of}", [shown.sentence]), *shown.tables)
    if found is not None:
        _show_differences(console, found, service=name)
    if note:
        console.print()
        print_text(console, note)


@nexus.command("add")
@grouped
def add(
    state: Annotated[str, typer.Argument(help="State, such as TX or Texas.")],
    *,
    nexus_type: Annotated[str, typer.Option("--type", help="physical, economic or marketplace.")],
    registered_at: Annotated[
        str | None, typer.Option(help="Day of the registration, as 2024-05-01.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="The place that gives rise to it.")] = None,
    notes: Annotated[str | None, typer.Option(help="Free text.")] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Change the record that is there.")
    ] = False,
    service: Service,
) -> None:
    """Add a record to the service; one that is there is only changed with --update."""
    checked = "Whether the record was added, `svc-tools nexus list` shows."
    with explained(interrupted=checked), service.client() as client:
        try:
            added = add_record(
                client,
                state,
                nexus_type=nexus_type,
                registered_at=registered_at,
                address=address,
                notes=notes,
                update=update,
            )
        except WouldChangeError as error:
            raise WouldChangeError(f"{error} (--update)") from None
        _show_added(Console(highlight=False), added, service=config.service_name(client))


@nexus.command("plan")
@grouped
def plan(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The plan to write, a CSV for you to tick.")
    ],
    register: _OwnRegister = None,
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
    force: Annotated[bool, typer.Option("--force", help="Replace the output.")] = False,
    as_json: Json = False,
    service: Service,
) -> None:
    """Suggest which records could be removed, with reasons, into a file for you to tick.

    Nothing is ticked in advance, and nothing is changed. Put an x into the
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

        day_of_plan = None if as_of is None else _day("--as-of", as_of)
        complete = None if covers is None else tuple(_day("--covers", one) for one in covers)
        table = read_thresholds(thresholds)
        mine = None if register is None else read_register(register)
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
        typer.echo(json.dumps(_plan_as_json(made, output, notes=notes, summary=summary), indent=2))
        return
    tables = [] if summary is None else [summary.table]
    _show_plan(Console(highlight=False), made, output, notes=notes, tables=tables, service=service)


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
                on_progress=None if as_json else _show_progress(console),
            )
    _show_result(
        found,
        "apply",
        str(plan),
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
    """Show the receipts of removals and restores, newest first; or one."""
    console = Console(highlight=False)
    with explained(as_json=as_json):
        if receipt is not None:
            one = read_receipt(receipt)
            if as_json:
                typer.echo(json.dumps(_receipt_as_json(one), indent=2))
            else:
                show_receipt(console, one, references=True)
            return
        frame = receipts()
        if as_json:
            typer.echo(frame.to_json(orient="records", date_format="iso", indent=2))
            return
        _show_receipts(console, frame)


@nexus.command("restore")
@grouped
def undo(
    receipt: Annotated[str, typer.Argument(help="The receipt of a removal: its path or name.")],
    *,
    yes: _Yes = False,
    as_json: Json = False,
    service: Service,
) -> None:
    """Add the removed records of a receipt again; without --yes only show it.

    Only what is gone is added: a record that is there again is left alone.
    """
    console = Console(highlight=False)
    with explained(as_json=as_json, interrupted=_CONTINUED):
        removed = read_receipt(receipt)
        with service.client() as client:
            found = restore(
                removed,
                client,
                dry_run=not yes,
                on_progress=None if as_json else _show_progress(console),
            )
    _show_result(
        found,
        "restore",
        receipt,
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
            typed = str(state_code(state))  # it only looks
        elif typed is None and sys.stdin.isatty():
            print_text(console, ALL_TYPES_NOTE)
            typed = typer.prompt(f"Type the code of the state to remove all of {state}")
        with service.client() as client:
            found = remove_state(client, state, typed=typed or "", dry_run=not yes)
    _show_result(
        found,
        "remove-state",
        state,
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


def _day(option: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{option}: {text!r} is no date such as 2026-05-01") from None


def _show_differences(console: Console, found: list[Difference], *, service: str) -> None:
    """Print where the user's register and the service's differ."""
    console.print()
    if not found:
        print_text(console, f"The service ({service}) has the same records.")
        return
    rows = [
        (
            one.state,
            one.nexus_type,
            _DIFFERENCE_KINDS.get(one.difference, one.difference),
            plain(one.mine or "") or NOTHING,
            plain(one.service or "") or NOTHING,
        )
        for one in found
    ]
    differ = counted(len(found), "difference")
    title = f"{differ} between your register and the service ({service})"
    columns = ("State", "Type", "Difference", prose("Yours"), prose("The service's"))
    show(console, Table(columns, rows, title))


def _show_added(console: Console, added: Added, *, service: str) -> None:
    """Print what was added or changed."""
    what = "Updated" if added.before is not None else "Added"
    of = f"{added.record.state} {added.record.nexus_type}"
    print_text(console, (f"{what}: ", "bold green"), f"{of} ({service}).")
    if added.before is not None:
        for name, before, now in zip(FIELDS, added.before.texts, added.record.texts, strict=True):
            if before != now:
                text = f"{name}: {plain(before) or 'empty'} -> {plain(now) or 'empty'}"
                print_text(console, text, indent=2)
    if not added.looked:
        print_text(
            console,
            "The service does not list its records, so whether there was one before is not known.",
        )


def _register_as_json(
    register: Register, found: list[Difference] | None, *, service: str, note: str
) -> dict[str, object]:
    """The records and, where two registers were compared, their differences."""
    fields: dict[str, object] = {
        "service": service or None,
        "records": [_record(one) for one in register.records],
        "duplicates": [list(key) for key in register.duplicates()],
    }
    if found is not None:
        fields["differences"] = [
            dict(zip(type(one)._fields[:5], one[:5], strict=True)) for one in found
        ]
    return fields | ({"note": note} if note else {})


_DIFFERENCE_KINDS = {"only_mine": "only in your register", "only_service": "only on the service"}


def _show_plan(
    console: Console,
    plan: Plan,
    path: Path,
    *,
    notes: list[str],
    tables: list[Table],
    service: Service,
) -> None:
    """Print the plan: states without a record first, then each record, and why; then `tables`."""
    title = Note("Cleanup plan", [plan.sentence, *map(capital, notes)])
    show(console, title, *tables_of(plan), *tables)
    console.print()
    print_text(console, f"Written to {path}. {NOT_TICKED_NOTE}")
    print_text(console, "Put an x into its column remove, then see what would be sent:")
    # to be copied in one piece
    print_line(console, f"  {_again('apply', str(path), service)}")


def _plan_as_json(
    plan: Plan, path: Path, *, notes: list[str], summary: ExposureSummary | None
) -> dict[str, object]:
    """The plan, with the codes of its reasons and its figures."""
    far = () if summary is None else summary.far_below
    return {
        "plan_id": plan.plan_id,
        "path": str(path),
        "service": plan.service or None,
        "account": plan.account or None,
        "as_of": plan.as_of.isoformat(),
        "counts": plan.counts,
        "missing": [{"state": one.state, "sentence": one.sentence} for one in plan.missing_states],
        "rows": [
            {
                "number": row.number,
                **_record(row.record),
                "decision": row.decision,
                "reasons": list(row.reasons),
                "why": list(row.why),
                "evidence": row.evidence,
            }
            for row in plan.rows
        ],
        "far_below": sorted(row["state"] for row in far),
        "notes": notes,
    }


def _record(record: Registration) -> dict[str, str | None]:
    return {name: text or None for name, text in zip(FIELDS, record.texts, strict=True)}


def _again(command: str, about: str, service: Service) -> str:
    """The command with the same service, to be typed next."""
    return shlex.join(["svc-tools", "nexus", command, about, *service.typed])


def _show_result(
    found: Receipt,
    command: str,
    about: str,
    *,
    as_json: bool,
    service: Service,
    before: Sequence[str] = (),
) -> None:
    """Print the receipt; the exit code is 1 where not all is done, known and as expected."""
    console = Console(highlight=False)
    if as_json:
        typer.echo(json.dumps(_receipt_as_json(found), indent=2))
    elif found.dry_run:
        _show_dry(console, found, before)
        if any(item.status == "planned" for item in found.items):
            again = _again(command, about, service)
            print_line(console, f"\nTo send it: {again} --yes")
    else:
        console.print()
        show_receipt(console, found)
        if found.undoable and found.path is not None:
            undo = _again("restore", found.path.name, service)
            print_line(console, f"\nTo undo it, see first: {undo}")
    wanted = {"planned", "done"} if found.dry_run else {"done"}
    if command == "remove-state":
        wanted |= {"absent"}  # no record is left of the state
    good = all({item.status, item.outcome} & wanted for item in found.items)
    if found.stopped == STOPPED:
        raise typer.Exit(INTERRUPTED)
    if not good or found.counts["flagged"]:
        raise typer.Exit(NO_RESULT)


_OUTCOME_COLORS = {"done": "green", "not_done": "yellow", "unknown": "red"}
_RECEIPT_KINDS = {
    "apply": "removals of a plan",
    "remove_state": "removal of all types of a state",
    "restore": "restore",
}
_RECEIPT_HEADS = ("Record", "Status", prose("What happened"))
_LABEL = len("Service")


def _show_progress(console: Console) -> Callable[[ReceiptItem, int, int], None]:
    """A callback that prints each record as soon as it is done."""

    def show(item: ReceiptItem, done: int, total: int) -> None:
        try:
            print_text(console, f"{done}/{total}  {_named(item)}: {_status(item)}")
        except SystemExit:  # of Rich, at a closed pipe: the run is to end with its receipt
            raise BrokenPipeError("the output was closed") from None

    return show


def _show_dry(console: Console, receipt: Receipt, before: Sequence[str]) -> None:
    """Print the requests, exact but for the key, what they remove, and the notices before it."""
    print_text(console, (receipt.sentence, "bold"))
    items = {item.key: item for item in receipt.items}
    for one in receipt.requests:
        console.print()
        print_line(console, f"  {one.line}", "bold")
        for name, value in (one.body or {}).items():
            print_text(console, f"{name}: {plain(value)}", indent=6)
        for record in items[one.key].before if one.method == "DELETE" else ():
            print_text(console, f"removes {_record_text(record)}", indent=6)
    console.print()
    rows = [
        _receipt_row(item, references=False) for item in receipt.items if item.status != "planned"
    ]
    if rows:
        print_table(console, _RECEIPT_HEADS, rows)
        console.print()
    _show_facts(console, receipt)
    if before and any(item.status == "planned" for item in receipt.items):
        console.print()
        print_text(console, ("Before you go on", "bold"))
        print_table(console, ("", prose()), [("-", sentence) for sentence in before])


def show_receipt(console: Console, receipt: Receipt, *, references: bool = False) -> None:
    """Print the sentence, a row per record, and the facts.

    Args:
        console: where to.
        receipt: the receipt.
        references: whether to show all support references, not only of what to look at.
    """
    print_text(console, (receipt.sentence, "bold"))
    console.print()
    rows = [_receipt_row(item, references=references) for item in receipt.items]
    if rows:
        print_table(console, _RECEIPT_HEADS, rows)
        console.print()
    _show_facts(console, receipt)


def _show_facts(console: Console, receipt: Receipt) -> None:
    """Print the service and account, the advice, and where the files are."""
    facts = [
        ("Service", receipt.service),
        ("Account", receipt.account),
        ("Begun", f"{receipt.started:%Y-%m-%d %H:%M:%S} UTC"),
    ]
    if receipt.plan_id:
        facts.append(("Plan", receipt.plan_id))
    if receipt.undo_note:
        facts.append(("Undo", receipt.undo_note))
    print_table(console, ("", prose()), facts)
    if receipt.advice:
        print_table(console, ("", prose()), [("Note".ljust(_LABEL), one) for one in receipt.advice])
    for name, path in (("Records", receipt.restore_file), ("Receipt", receipt.path)):
        if path is not None:
            print_line(console, f"{name}   {path}")


def _record_text(record: Mapping[str, str | None]) -> str:
    """A record in a line."""
    head = f"{record.get('state')} {record.get('nexus_type')}"
    facts = [f"registered {record['registered_at']}" if record.get("registered_at") else ""]
    facts += [plain(record[name]) for name in ("address", "notes") if record.get(name)]
    return ", ".join([head, *filter(None, facts)])


def _show_receipts(console: Console, frame: pd.DataFrame) -> None:
    """Print all receipts, newest first; those that cannot be trusted are marked."""
    if frame.empty:
        print_text(console, "There are no receipts yet.")
        return
    for place, row in enumerate(frame.to_dict("records")):
        if place:
            console.print()
        started = row["started"]
        when = f"{started:%Y-%m-%d %H:%M:%S} UTC" if isinstance(started, datetime) else ""
        broken = not isinstance(row["finished"], bool)
        open_ = "" if broken or row["finished"] else ", NOT FINISHED"
        undo = ", can be undone" if row["undoable"] is True else ""
        style = "bold red" if broken else "bold"
        print_line(console, str(row["file"]), style)
        kind = _RECEIPT_KINDS.get(row["kind"], "")
        of = "NOT TO BE BELIEVED" if broken else f"{kind} on {the_service(str(row['service']))}"
        print_text(console, f"{when}  {of}{open_}{undo}", indent=2)
        print_text(console, str(row["said"]), indent=2)


def _receipt_as_json(receipt: Receipt) -> dict[str, Any]:
    """The receipt for a program: its attributes, the counts, the sentence."""
    fields = {name: _plain(value) for name, value in asdict(receipt).items() if name != "items"}
    fields |= {"sentence": receipt.sentence, "undoable": receipt.undoable}
    items = [{name: _plain(value) for name, value in asdict(one).items()} for one in receipt.items]
    return {**fields, "counts": receipt.counts, "items": items}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value


def _receipt_row(item: ReceiptItem, *, references: bool) -> tuple[str | Text, ...]:
    happened = item.message or STATUSES[item.status][1]
    wanted = item.reference and (references or item.outcome != "done" or item.flagged)
    if wanted and str(item.reference) not in happened:
        happened = f"{happened} (support reference {item.reference})"
    mark = "! " if item.flagged else ""
    status = Text(mark + _status(item), _OUTCOME_COLORS[item.outcome])
    return _named(item), status, printable(happened)


def _named(item: ReceiptItem) -> str:
    return f"{item.state} {item.nexus_type or 'all types'}"


def _status(item: ReceiptItem) -> str:
    return item.status.replace("_", " ")
