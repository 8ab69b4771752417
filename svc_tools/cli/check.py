"""`svc-tools book check`: how often the book's rates are those expected."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from svc_sdk._reading import percent
from svc_tools.cli.running import NO_ANSWER, admin, explained
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_book"]

_CHECK_COLUMNS = (">Rows", ">Right", ">Wrong", ">In range", ">Partial", ">None", ">Right %")
_MANY = 5


def check_book(
    file: Annotated[Path, typer.Argument(help="CSV: state, city, zip, rate, maybe as_of.")],
    as_of: Annotated[
        str | None, typer.Option(help="Day of rows without a date, as 2026-05-01 [default: today].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for a program.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Compare the rate book with rates you know: how often each confidence was right.

    Rates are percentages (8.25) or fractions (0.0825), all of one kind. Exit code 1 where an
    `exact` or `high` answer is wrong, 2 where the file cannot be read.
    """
    with explained():
        day = _day(as_of)
        found = admin().check_book(file, day)
    if as_json:
        typer.echo(json.dumps({"file": file.name, "as_of": day.isoformat(), **found}, indent=2))
    else:
        _show_check(Console(highlight=False), found, file.name, day)
    if found["wrong_though_sure"]:
        raise typer.Exit(NO_ANSWER)


def _day(given: str | None) -> date:
    if given is None:
        return datetime.now().astimezone().date()
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise ValueError(f"--as-of: given {given!r}, expected a date as 2026-05-01") from None


def _show_check(console: Console, found: Mapping[str, Any], name: str, day: date) -> None:
    total = found["total"]
    told = f"{_count_of(total['rows'])} checked; those without a date as of {day}"
    print_text(console, (f"{name}: ", "bold"), told)
    for head in ("State", "Confidence"):
        console.print()
        rows = [[key, *_cells(tally)] for key, tally in found[f"by_{head.lower()}"].items()]
        print_table(console, (head, *_CHECK_COLUMNS), rows, total=["All", *_cells(total)])
    console.print()
    print_text(
        console,
        "In range: of the wrong ones, those whose expected rate lies between the lowest and the"
        " highest that the result names. Partial: another rate than expected, with a warning that"
        " a part is not known. None: no rate.",
    )
    if found["worst"]:
        console.print()
        print_text(console, ("Furthest off", "bold"))
        heads = (">Line", "~Place", ">Expected", ">Answer", "Confidence", "~Warnings")
        print_table(console, heads, [_wrong(one) for one in found["worst"]])
    if found["missing"]:
        console.print()
        print_text(console, ("No rate, most often", "bold"))
    for one in found["missing"][:_MANY]:
        told = f"{one['rows']:,} in {one['state']}, such as: {one['such_as']}"
        print_text(console, told, indent=2)
    if found["unread"]:
        console.print()
        print_text(console, (f"{_count_of(found['unread'])} could not be read:", "bold yellow"))
    for one in found["unreadable"][:_MANY]:
        print_text(console, f"line {one['line']}: {one['reason']}", indent=2)
    console.print()
    if wrong := found["wrong_though_sure"]:
        print_text(console, (f"Wrong though exact or high: {wrong:,}.", "bold red"))
    else:
        print_text(console, "No exact or high answer is wrong.")


def _count_of(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _cells(tally: Mapping[str, int]) -> list[str]:
    """The counts, and the share of right ones cut to one decimal: 100.0 is said of all alone."""
    share = f"{tally['right'] * 1000 // tally['rows'] / 10:.1f}"
    return [*(f"{count:,}" for count in tally.values()), share]


def _wrong(one: Mapping[str, Any]) -> list[str]:
    place = " ".join(part for part in (one["city"], one["state"], one["zip"]) if part)
    rates = [percent(Decimal(one[name])) for name in ("expected", "found")]
    return [str(one["line"]), place, *rates, one["confidence"], ", ".join(one["warnings"])]
