"""`svc-tools book ...`: the embedded service's rate book: import files, coverage, a check."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from svc_tools.base.progress import NoProgress
from svc_tools.cli.common import LEFT_OUT, NO_RESULT, Json, admin, day_given, explained
from svc_tools.show.codes import percent
from svc_tools.show.display import number, print_table, print_text, prose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHOWN = 25
_FEW = 6
_LEFT_OUT = "left_out"
_HEADINGS = {
    _LEFT_OUT: "Left out",
    "settled": "Settled by a rule",
    "conflict": "Sources disagree",
    "note": "Noted",
}
_NOTICED = "A running service uses it within seconds; no restart is needed."

_COVERAGE_COLUMNS = (
    "State",
    "Tier",
    "Expect",
    "Oldest row",
    "All since",
    "Good until",
    number("Source"),
)
_STYLES = {"high": "green", "medium": "yellow", "low": "red", "none": "dim"}
_TIERS = (
    ("A", "the state alone decides"),
    ("B", "the county, and the few cities that add to it"),
    ("C", "the city, else the rest of its county"),
    ("D", "the cities that are listed; other places are partial"),
    ("E", "the state part only"),
    ("none", "some boroughs and towns only"),
)

_CHECK_COLUMNS = (
    number("Rows"),
    number("Right"),
    number("Wrong"),
    number("In range"),
    number("Partial"),
    number("None"),
    number("Right %"),
)
_MANY = 5

book = typer.Typer(no_args_is_help=True, help="The rate book of the embedded service.")


@book.command("check")
def check_book(
    file: Annotated[Path, typer.Argument(help="CSV: state, city, zip, rate, maybe as_of.")],
    *,
    as_of: Annotated[
        str | None, typer.Option(help="Day of rows without a date, as 2026-05-01 [default: today].")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the rate book with rates you know: how often each confidence was right.

    Rates are percentages (8.25) or fractions (0.0825), all of one kind. Exit code 1 where an
    `exact` or `high` result is wrong, 2 where the file cannot be read.
    """
    with explained():
        day = day_given(as_of)
        service = admin()
        from svc_tools.cli.known_rates import read_rates  # noqa: PLC0415 - needs pandas

        rows, unreadable = read_rates(file)
        if rows.empty:
            reasons = [f"line {row.line}: {row.reason}" for row in unreadable.itertuples()]
            reason = (reasons or ["no row below the header"])[0]
            raise ValueError(f"{file.name}: no row can be read; {reason}")
        found = service.check_book(rows, unreadable, day)
    if as_json:
        typer.echo(json.dumps({"file": file.name, "as_of": day.isoformat(), **found}, indent=2))
    else:
        _show_check(Console(highlight=False), found, file.name, day)
    if found["wrong_though_sure"]:
        raise typer.Exit(NO_RESULT)


def _show_check(console: Console, found: Mapping[str, Any], name: str, day: date) -> None:
    """Print how known rates compare with the book: counts, then rows that differ or have none."""
    total = found["total"]
    checked = f"{_count(total['rows'], 'row')} checked; those without a date as of {day}"
    print_text(console, (f"{name}: ", "bold"), checked)
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
        heads = (
            number("Line"),
            prose("Place"),
            number("Expected"),
            number("Result"),
            "Confidence",
            prose("Warnings"),
        )
        print_table(console, heads, [_wrong(row) for row in found["worst"]])
    if found["missing"]:
        console.print()
        print_text(console, ("No rate, most often", "bold"))
    for row in found["missing"][:_MANY]:
        text = f"{row['rows']:,} in {row['state']}, such as: {row['such_as']}"
        print_text(console, text, indent=2)
    if found["unread"]:
        console.print()
        print_text(console, (f"{_count(found['unread'], 'row')} could not be read:", "bold yellow"))
    for row in found["unreadable"][:_MANY]:
        print_text(console, f"line {row['line']}: {row['reason']}", indent=2)
    console.print()
    if wrong := found["wrong_though_sure"]:
        print_text(console, (f"Wrong though exact or high: {wrong:,}.", "bold red"))
    else:
        print_text(console, "No exact or high result is wrong.")


def _cells(tally: Mapping[str, int]) -> list[str]:
    """The counts, and the share of right ones, rounded down: 100.0 is all of them."""
    share = f"{tally['right'] * 1000 // tally['rows'] / 10:.1f}"
    return [*(f"{count:,}" for count in tally.values()), share]


def _wrong(row: Mapping[str, Any]) -> list[str]:
    place = " ".join(part for part in (row["city"], row["state"], row["zip"]) if part)
    rates = [percent(Decimal(row[name])) for name in ("expected", "found")]
    return [str(row["line"]), place, *rates, row["confidence"], ", ".join(row["warnings"])]


@book.command("coverage")
def show_coverage(
    *,
    as_json: Json = False,
) -> None:
    """Show source, edition, history and expected confidence of every state, and what is missing.

    The same facts as the service's `/v1/freshness`.
    """
    with explained():
        found = admin().coverage()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    _show_coverage(Console(highlight=False), found)


def _show_coverage(console: Console, found: Mapping[str, Any]) -> None:
    """Print what the book covers: each state, the sources, the tiers, and what is missing."""
    book, states = found["book"], found["states"]
    print_text(
        console,
        (f"Rate book {book['edition']}", "bold"),
        f": 50 states and DC, {book['jurisdictions']:,} jurisdictions,"
        f" {book['rates']:,} rates, loaded {book['loaded_at']}",
    )
    console.print()
    sources = _sources(states)
    print_table(console, _COVERAGE_COLUMNS, [_row(state, sources) for state in states])
    console.print()
    print_text(console, ("Sources, editions", "bold"))
    print_table(
        console,
        (number(), prose()),
        [(str(number), text) for text, number in sources.items()],
        indent=2,
    )
    console.print()
    print_text(console, ("Tiers: what decides", "bold"))
    tiers = {state["tier"] for state in states}
    print_table(console, ("", prose()), [row for row in _TIERS if row[0] in tiers], indent=2)
    console.print()
    print_text(
        console,
        ("Expect", "bold"),
        " is the most that an address or a place gets for a day that the edition is good for; a"
        " later day, which today may be, gets one step less. All since: the day from which every"
        " rate of the state is known; before it some are, from the oldest row on.",
    )
    console.print()
    print_text(console, ("Missing", "bold"))
    for sentence, codes in _missing(states):
        print_text(console, f"{', '.join(codes)}: {sentence}", indent=2)


def _source(state: Mapping[str, Any]) -> str:
    return f"{state['source']}; {state['edition']}"


def _sources(states: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Every main source with its edition, numbered in the order the states name them."""
    return {text: number for number, text in enumerate(dict.fromkeys(map(_source, states)), 1)}


def _row(state: Mapping[str, Any], sources: Mapping[str, int]) -> tuple[str | Text, ...]:
    expect = str(state["confidence"])
    return (
        str(state["state"]),
        str(state["tier"]),
        Text(expect, _STYLES.get(expect, "")),
        str(state["oldest_row"] or "always"),
        str(state["history_from"] or "always"),
        str(state["covered_until"]),
        str(sources[_source(state)]),
    )


def _missing(states: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Every sentence about what is missing with its states, the most frequent first."""
    found: dict[str, list[str]] = {}
    for state in states:
        if state["missing"]:
            found.setdefault(str(state["missing"]), []).append(str(state["state"]))
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[1]))


_CODE_ALONE = re.compile(r"(?:place|special district|county) \d\S*")


@book.command("import")
def import_files(
    files: Annotated[list[Path], typer.Argument(help="Rate and boundary files, as published.")],
    *,
    edition: Annotated[
        str | None, typer.Option(help="Quarter of a file that does not say it, as 2026Q3.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Take an older file too, and one with far fewer places.")
    ] = False,
) -> None:
    """Import official files into your own book, and say what changed.

    Known by their content: SST rate and boundary files, California (CDTFA),
    Washington (Department of Revenue), Texas (taxrates.txt). A newer file of a
    state takes the place of an older one. A broken line stops with its number:
    nothing of that file is imported, the files before it are. So does a file that
    has less than half of the places it would replace: it may be cut off.
    Exit code 3: imported, now or before, but lines were left out; they come first.
    """
    console = Console(highlight=False)
    done: list[str] = []
    changed = left_out = False
    bar = _Bar()
    with explained():
        try:
            for imported in admin().import_files(
                files, today=_today(), edition=edition, force=force, progress=bar
            ):
                done.append(imported.edition.file)
                changed = changed or not imported.repeated
                left_out = left_out or any(found.kind == _LEFT_OUT for found in imported.findings)
                _show_import(console, imported)
        except BaseException:
            if done:
                print_text(console)
                print_text(console, f"Imported before that: {', '.join(done)}.")
                rest = [file.name for file in files if file.name not in done]
                print_text(console, f"Not imported: {', '.join(rest)}.")
            raise
        if changed:
            print_text(console)
            print_text(console, _NOTICED)
    if left_out:
        raise typer.Exit(LEFT_OUT)


def _today() -> date:
    return datetime.now().astimezone().date()


class _Bar(NoProgress):
    """The progress bar of one imported file: on a terminal, and removed when it is done."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar = Progress(console=console, transient=True, disable=not console.is_terminal)

    def start(self, name: str, total: int | None, unit: str) -> None:  # noqa: ARG002 - the protocol's
        """Show the bar of a file."""
        for done in self._bar.task_ids:
            self._bar.remove_task(done)
        self._bar.add_task(name, total=total)
        self._bar.start()

    def advance(self, count: int = 1) -> None:
        """Move the bar."""
        self._bar.advance(self._bar.task_ids[0], count)

    def done(self) -> None:
        """Remove the bar before something is printed."""
        self._bar.stop()


def _show_import(console: Console, imported: Any) -> None:  # noqa: ANN401 - the service's own class
    """Print what the import of one file changed, and what it left out or settled."""
    edition = imported.edition
    print_text(console)
    was = _was(imported)
    print_text(
        console,
        (f"{edition.state} {edition.kind}", "bold"),
        f"  {was}{edition.edition}, {_count(edition.rows, 'row')} of {edition.file}",
    )
    _show_findings(console, imported.findings, [_LEFT_OUT])
    if imported.repeated:
        print_text(console, "The same file was imported before: nothing to do.", indent=2)
        return
    if imported.changes is not None:
        _show_changes(console, imported.changes)
    _show_findings(console, imported.findings, [kind for kind in _HEADINGS if kind != _LEFT_OUT])


def _was(imported: Any) -> str:  # noqa: ANN401 - as above
    if imported.repeated or imported.before is None:
        return ""
    return f"{imported.before}{'' if imported.replaced_own else ' (shipped)'} -> "


def _show_changes(console: Console, found: Any) -> None:  # noqa: ANN401 - as above
    """Print the jurisdictions and rates that an import changed; of many rates the first ones."""
    for names, what in ((found.added, "added"), (found.removed, "removed")):
        if names:
            print_text(
                console, f"{_count(names, 'jurisdiction')} {what}: {_named(names)}", indent=2
            )
    before, after = found.earliest_before, found.earliest_after
    if before != after and after:
        history = f"history from {after}" + (f", before from {before}" if before else "")
        print_text(console, history, indent=2)
    if not found.rates:
        both = " of a jurisdiction in both" if found.added or found.removed else ""
        print_text(console, f"no rate{both} differs", indent=2)
        return
    print_text(console, f"{_count(found.rates, 'rate')} changed:", indent=2)
    print_table(
        console,
        ("From", prose("Jurisdiction"), number("Before"), number("Now")),
        [
            (str(change.since), change.name, _percent(change.before), _percent(change.after))
            for change in found.rates[:_SHOWN]
        ],
        indent=4,
    )
    _say_more(console, len(found.rates))


def _show_findings(console: Console, found: Sequence[Any], kinds: Sequence[str]) -> None:
    for kind in kinds:
        here = [finding for finding in found if finding.kind == kind]
        if not here:
            continue
        style = "bold yellow" if kind == _LEFT_OUT else ""
        print_text(console, (f"{_HEADINGS[kind]} ({len(here):,}):", style), indent=2)
        for finding in here[:_SHOWN]:
            print_text(console, f"{finding.subject}: {finding.message}", indent=4)
        _say_more(console, len(here))


def _say_more(console: Console, count: int) -> None:
    if count > _SHOWN:
        print_text(console, f"... and {count - _SHOWN:,} more", indent=4)


def _named(names: Sequence[str]) -> str:
    """The first few names, and how many places a file has by code only."""
    named = [name for name in names if not _CODE_ALONE.fullmatch(name)]
    by_code = len(names) - len(named)
    parts = [", ".join(named[:_FEW])] if named else []
    if len(named) > _FEW:
        parts[0] += f" and {len(named) - _FEW:,} more"
    if by_code:
        parts.append(f"{by_code:,} by code only, for boundary files")
    return "; ".join(parts)


def _count(things: Sequence[object] | int, name: str) -> str:
    count = things if isinstance(things, int) else len(things)
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _percent(units: int | None) -> str:
    return "no rate" if units is None else percent(Decimal(units).scaleb(-5))


@book.command("list")
def list_editions() -> None:
    """List the files in your own book."""
    with explained():
        found = admin().own_editions()
    console = Console(highlight=False)
    if not found:
        print_text(console, "Nothing is imported: the shipped book alone is used.")
        return
    heads = ("State", "Kind", "Edition", prose("File"), number("Rows"), "Imported")
    print_table(
        console,
        heads,
        [
            (
                edition.state,
                edition.kind,
                edition.edition,
                edition.file,
                f"{edition.rows:,}",
                str(edition.loaded_at),
            )
            for edition, _ in found
        ],
    )
    for edition, newer in found:
        if newer:
            print_text(console)
            print_text(
                console,
                f"The shipped book has {newer} for {edition.state}, newer than {edition.file}:"
                f" import a newer file, or go back with: book remove {edition.state}",
            )


@book.command("remove")
def remove_state(
    state: Annotated[str, typer.Argument(help="State, two letters.")],
    kind: Annotated[str | None, typer.Option(help="rates or boundary [default: both].")] = None,
) -> None:
    """Remove a state's imported files: the shipped figures are used again."""
    with explained():
        gone = admin().remove_own(state.strip().upper(), kind)
        if not gone:
            what = kind or "file"
            raise ValueError(f"{state}: no {what} is imported; `svc-tools book list` shows what is")
    console = Console(highlight=False)
    for edition in gone:
        print_text(
            console, f"Removed {edition.state} {edition.kind} {edition.edition} ({edition.file})."
        )
    print_text(console, _NOTICED)
