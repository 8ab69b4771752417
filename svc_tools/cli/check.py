"""`svc-tools book check`: how often the book's answers are the rates expected."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from svc_sdk._reading import percent
from svc_tools.cli.running import NO_ANSWER, admin, explained
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["check_book"]

_HEADS = (">Rows", ">Right", ">Wrong", ">In range", ">Partial", ">None", ">Right %")
_COUNTS = ("rows", "right", "wrong", "in_range", "partial", "no_answer")
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
        with _progress(file) as told:
            report = admin().check_book(file, day, told)
        if not report.total.rows:
            raise ValueError(_nothing_read(file, report))
    found = report.as_dict()
    if as_json:
        typer.echo(json.dumps({"file": file.name, "as_of": day.isoformat(), **found}, indent=2))
    else:
        _show(Console(highlight=False), found, file.name, day)
    if report.wrong_though_sure:
        raise typer.Exit(NO_ANSWER)


def _day(given: str | None) -> date:
    if given is None:
        return datetime.now().astimezone().date()
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise ValueError(f"--as-of: given {given!r}, expected a date as 2026-05-01") from None


@contextmanager
def _progress(file: Path) -> Iterator[Callable[[int], object]]:
    """A bar on a terminal, nothing elsewhere; the result itself goes to standard output."""
    size = file.stat().st_size
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"Checking {file.name}", total=size)
        yield lambda count: bar.advance(task, count)


def _nothing_read(file: Path, report: Any) -> str:  # noqa: ANN401 - the service's own class
    if not report.unreadable:
        return f"{file.name}: no row below the header"
    first = report.unreadable[0]
    return f"{file.name}: no row can be read; line {first.line}: {first.reason}"


def _show(console: Console, found: Mapping[str, Any], name: str, day: date) -> None:
    total = found["total"]
    rows = "1 row" if total["rows"] == 1 else f"{total['rows']:,} rows"
    print_text(
        console,
        (f"{name}: ", "bold"),
        f"{rows} checked; those without a date as of {day}",
    )
    console.print()
    _show_tallies(console, "State", found["by_state"], total)
    console.print()
    _show_tallies(console, "Confidence", found["by_confidence"], total)
    console.print()
    print_text(
        console,
        "In range: of the wrong ones, those whose expected rate lies between the lowest and the"
        " highest that the answer names. Partial: another rate than expected, from an answer that"
        " says itself that a part is not known. None: no answer.",
    )
    _show_worst(console, found["worst"])
    _show_missing(console, found["missing"])
    if found["unread"]:
        console.print()
        unread = found["unread"]
        rows = "1 row" if unread == 1 else f"{unread:,} rows"
        print_text(console, (f"{rows} could not be read:", "bold yellow"))
        for one in found["unreadable"][:_MANY]:
            print_text(console, f"line {one['line']}: {one['reason']}", indent=2)
    console.print()
    if wrong := found["wrong_though_sure"]:
        print_text(console, (f"Wrong though exact or high: {wrong:,}.", "bold red"))
    else:
        print_text(console, "No exact or high answer is wrong.")


def _show_tallies(
    console: Console, head: str, tallies: Mapping[str, Mapping[str, int]], total: Mapping[str, int]
) -> None:
    rows = [[key, *_cells(tally)] for key, tally in tallies.items()]
    print_table(console, (head, *_HEADS), rows, total=["All", *_cells(total)])


def _cells(tally: Mapping[str, int]) -> list[str]:
    counts = [f"{tally[name]:,}" for name in _COUNTS]
    return [*counts, share(tally["right"], tally["rows"])]


def share(part: int, whole: int) -> str:
    """A share in percent with one decimal, cut and not rounded: 100.0 is said of all alone."""
    tenths = part * 1000 // whole
    return f"{tenths // 10}.{tenths % 10}"


def _show_worst(console: Console, worst: list[Mapping[str, Any]]) -> None:
    if not worst:
        return
    console.print()
    print_text(console, ("Furthest off", "bold"))
    rows = [
        [
            str(one["line"]),
            " ".join(part for part in (one["city"], one["state"], one["zip"]) if part),
            percent(Decimal(one["expected"])),
            percent(Decimal(one["found"])),
            one["confidence"],
            ", ".join(one["warnings"]),
        ]
        for one in worst
    ]
    heads = (">Line", "~Place", ">Expected", ">Answer", "Confidence", "~Warnings")
    print_table(console, heads, rows)


def _show_missing(console: Console, missing: list[Mapping[str, Any]]) -> None:
    if not missing:
        return
    console.print()
    print_text(console, ("No answer, most often", "bold"))
    for one in missing[:_MANY]:
        print_text(
            console, f"{one['rows']:,} in {one['state']}, such as: {one['such_as']}", indent=2
        )
