"""`svc-tools nexus ...`: the register, its cleanup plan, and removals that can be proved."""

# MERGED nexus_plan: `svc-tools nexus plan`: which records could be removed, into a file to tick.
# MERGED nexus_service: Which register a nexus command is about: the service's, one's own, or both.
# MERGED nexus_show: Registers and plans for a person to read, in 80 columns, and for a program as JSON.

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from svc_tools import config
from svc_tools.cli.common import client_of, explained
from svc_tools.cli.nexus_remove import add_removals
from svc_tools.display import NOTHING, capital, counted, plain, printable
from svc_tools.nexus.plan import made_for_whom
from svc_tools.nexus.register import FIELDS, read_register, require_csv
from svc_tools.nexus.service import (
    NotListedError,
    WouldChangeError,
    add_record,
    found_differences,
    list_register,
)
from svc_tools.nexus.notices import NOT_TICKED_NOTE, REASONS
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.nexus.plan import Plan, PlanRow
    from svc_tools.nexus.register import Register, Registration
    from svc_tools.nexus.service import Added, Difference
    from svc_tools.nexus.thresholds import Thresholds

_SALES = "Sales"

_COLOURS = {"candidate": "yellow", "review": "cyan", "keep": "green"}
_TITLES = {
    "candidate": "Could be removed",
    "review": "To look at first",
    "keep": "To keep",
}
_KINDS = {"only_mine": "only in your register", "only_service": "only on the service"}

nexus = typer.Typer(
    no_args_is_help=True,
    help="Your nexus records: list and add them, plan a cleanup, remove what you ticked, and undo"
    " it. A plan suggests; nothing is removed that you did not tick.",
)
_Embedded = Annotated[bool, typer.Option("--embedded", help="Ask the embedded service.")]
_BaseUrl = Annotated[str | None, typer.Option(help="Address of the service (else SVC_BASE_URL).")]
_Json = Annotated[
    bool, typer.Option("--json", help="JSON for a program; an error too, as an object.")
]
_OwnRegister = Annotated[
    Path | None,
    typer.Option(
        "--register", help="Your own register: a CSV or workbook with state and nexus_type."
    ),
]


@nexus.command("list")
def show_list(
    register: _OwnRegister = None,
    as_json: _Json = False,  # noqa: FBT002 - a flag
    embedded: _Embedded = False,  # noqa: FBT002 - a flag
    base_url: _BaseUrl = None,
) -> None:
    """Show the records that the service has; with --register yours, and where the two differ."""
    console = Console(highlight=False)
    with explained(as_json=as_json):
        mine = None if register is None else read_register(register)
        with service_if_any(embedded=embedded, base_url=base_url, needed=mine is None) as client:
            name = "" if client is None else config.service_name(client)
            listed, note = listed_register(client, needed=mine is None)
    shown = listed if mine is None else mine
    assert shown is not None  # noqa: S101 - without one's own the service's is needed, or an error
    found = None if mine is None or listed is None else found_differences(mine, listed)
    if as_json:
        typer.echo(json.dumps(register_as_json(shown, found, service=name, note=note), indent=2))
        return
    show_register(console, shown, of=name if mine is None else str(register))
    if found is not None:
        show_differences(console, found, service=name)
    if note:
        console.print()
        print_text(console, note)


@nexus.command("add")
def add(  # noqa: PLR0917 - Typer reads the signature
    state: Annotated[str, typer.Argument(help="State, such as TX or Texas.")],
    nexus_type: Annotated[str, typer.Option("--type", help="physical, economic or marketplace.")],
    registered_at: Annotated[
        str | None, typer.Option(help="Day of the registration, as 2024-05-01.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="The place that gives rise to it.")] = None,
    notes: Annotated[str | None, typer.Option(help="Free text.")] = None,
    update: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--update", help="Change the record that is there.")
    ] = False,
    embedded: _Embedded = False,  # noqa: FBT002 - a flag
    base_url: _BaseUrl = None,
) -> None:
    """Add a record to the service; one that is there is only changed with --update."""
    with explained(), client_of(embedded=embedded, base_url=base_url) as client:
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
        show_added(Console(highlight=False), added, service=config.service_name(client))


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
    from svc_tools.frames.sales.exposure import exposure_of_file  # noqa: PLC0415 - loads pandas

    return exposure_of_file(
        *sales, thresholds=thresholds, register=register, progress=False, **terms
    )


def _day(option: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{option}: {text!r} is no date such as 2026-05-01") from None


@contextmanager
def service_if_any(*, embedded: bool, base_url: str | None, needed: bool) -> Iterator[Svc | None]:
    """The service where one is meant; with a register of one's own it may be left out."""
    if not needed and not embedded and config.configured(base_url=base_url) is None:
        yield None
        return
    with client_of(embedded=embedded, base_url=base_url) as client:
        yield client


def listed_register(client: Svc | None, *, needed: bool) -> tuple[Register | None, str]:
    """What the service lists; where it does not, and that is no error, a sentence that says so."""
    if client is None:
        return None, "No service was asked: the register is the file's alone."
    try:
        return list_register(client), ""
    except NotListedError as error:
        if needed:
            raise NotListedError(f"{error} (--register FILE)") from None
        return None, f"{str(error).partition(';')[0]}: the register is the file's alone."


def show_plan(
    console: Console, plan: Plan, path: Path, *, notes: list[str], embedded: bool
) -> None:
    """Print the plan: states without a record first, then what could be removed, and why."""
    print_text(console, ("Cleanup plan", "bold"), f" as of {plan.as_of}, {made_for_whom(plan)}")
    print_text(console, plan.sentence)
    if plan.missing_states:
        console.print()
        print_text(console, ("States without a record, above their threshold", "bold red"))
        for one in plan.missing_states:
            console.print()
            print_text(console, (f"{one.state}  ", "bold"), one.sentence, indent=2)
    for decision, title in _TITLES.items():
        rows = [row for row in plan.rows if row.decision == decision]
        if rows:
            console.print()
            print_text(console, (f"{title}: {counted(len(rows), 'record')}", "bold"))
            console.print()
            heads = (">Row", "State", "Type", "Registered", "~Reasons")
            print_table(console, heads, [_plan_cells(row) for row in rows])
        if decision == "candidate":
            for row in rows:
                console.print()
                named = (f"{row.number}  {row.state} {row.nexus_type}. ", "bold")
                print_text(console, named, printable(row.evidence))
    _show_reasons(console, plan)
    console.print()
    for note in notes:
        print_text(console, f"- {capital(note)}")
    if notes:
        console.print()
    print_text(console, f"Written to {path}. {NOT_TICKED_NOTE}")
    print_text(console, "Put an x into its column remove, then see what would be sent:")
    where = " --embedded" if embedded else ""
    command = f"  svc-tools nexus apply {quote(str(path))}{where}"
    console.print(command, markup=False, soft_wrap=True)  # to be copied in one piece


def plan_as_json(plan: Plan, path: Path, *, notes: list[str]) -> dict[str, object]:
    """The plan, with the codes of its reasons and its figures."""
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
        "notes": notes,
    }


def _record(record: Registration) -> dict[str, str | None]:
    return {name: text or None for name, text in zip(FIELDS, record.texts, strict=True)}


def _plan_cells(row: PlanRow) -> tuple[str | Text, ...]:
    return (
        f"{row.number:,}",
        Text(row.state, style=_COLOURS[row.decision]),
        row.nexus_type,
        NOTHING if row.registered_at is None else row.registered_at.isoformat(),
        "; ".join(map(_words, row.reasons)),
    )


def _words(code: str) -> str:
    return code.replace("_", " ")


def _show_reasons(console: Console, plan: Plan) -> None:
    """What the reasons mean: once each, in the order of the rules."""
    used = {code for row in plan.rows for code in row.reasons}
    if used:
        console.print()
        print_text(console, ("What the reasons mean", "bold"))
        console.print()
        rows = [(_words(code), told) for code, told in REASONS.items() if code in used]
        print_table(console, ("Reason", "~Meaning"), rows)


nexus.command("plan")(plan)
add_removals(nexus)


def show_register(console: Console, register: Register, *, of: str) -> None:
    """Print the records, in their order."""
    print_text(console, ("Nexus register", "bold"), f", {of}: {register.sentence}")
    if register.records:
        console.print()
        heads = ("State", "Type", "Registered at", "~Address", "~Notes")
        print_table(console, heads, [_cells(one) for one in register.records])


def show_differences(console: Console, found: list[Difference], *, service: str) -> None:
    """Print where one's own register and the service's differ."""
    console.print()
    if not found:
        print_text(console, f"The service ({service}) has the same records.")
        return
    differ = counted(len(found), "difference")
    print_text(console, (differ, "bold"), f" between your register and the service ({service})")
    console.print()
    rows = [
        (
            one.state,
            one.nexus_type,
            _KINDS.get(one.difference, one.difference),
            plain(one.mine or "") or NOTHING,
            plain(one.service or "") or NOTHING,
        )
        for one in found
    ]
    print_table(console, ("State", "Type", "Difference", "~Yours", "~The service's"), rows)


def show_added(console: Console, added: Added, *, service: str) -> None:
    """Print what was added or changed."""
    what = "Updated" if added.before is not None else "Added"
    of = f"{added.record.state} {added.record.nexus_type}"
    print_text(console, (f"{what}: ", "bold green"), f"{of} ({service}).")
    if added.before is not None:
        for name, before, now in zip(FIELDS, added.before.texts, added.record.texts, strict=True):
            if before != now:
                told = f"{name}: {plain(before) or 'empty'} -> {plain(now) or 'empty'}"
                print_text(console, told, indent=2)
    if not added.looked:
        print_text(
            console,
            "The service does not list its records, so whether there was one before is not known.",
        )


def register_as_json(
    register: Register, found: list[Difference] | None, *, service: str, note: str
) -> dict[str, object]:
    """The records and, where two registers were compared, their differences."""
    told: dict[str, object] = {
        "service": service or None,
        "records": [_record(one) for one in register.records],
        "duplicates": [list(key) for key in register.duplicates()],
    }
    if found is not None:
        told["differences"] = [
            dict(zip(type(one)._fields[:5], one[:5], strict=True)) for one in found
        ]
    return told | ({"note": note} if note else {})


def _cells(record: Registration) -> list[str]:
    return [plain(text) or NOTHING for text in record.texts]
