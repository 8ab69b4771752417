"""`svc-tools book import|list|remove`: the user's own rate files over the shipped book."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from svc_sdk._reading import percent
from svc_tools.cli.running import admin, explained
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["import_files", "list_editions", "remove_state"]

_SHOWN = 25
_FEW = 6
_CODE_ALONE = re.compile(r"(?:place|special district|county) \d\S*")
_HEADINGS = {
    "left_out": "Left out",
    "settled": "Settled by a rule",
    "conflict": "Sources disagree",
    "note": "Noted",
}
_NOTICED = "A service that is running answers with it within seconds; no restart is needed."


def import_files(
    files: Annotated[list[Path], typer.Argument(help="Rate and boundary files, as published.")],
    edition: Annotated[
        str | None, typer.Option(help="Quarter of a file that does not say it, as 2026Q3.")
    ] = None,
    force: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--force", help="Take an older file too, and one with far fewer places.")
    ] = False,
) -> None:
    """Import official files into your own book, and say what changed.

    Known by their content: SST rate and boundary files, California (CDTFA),
    Washington (Department of Revenue), Texas (taxrates.txt). A newer file of a
    state takes the place of an older one. A broken line stops with its number:
    nothing of that file is kept, the files before it are. So does a file that
    has less than half of the places it would replace: it may be cut off.
    """
    console = Console(highlight=False)
    done: list[str] = []
    anew = False
    bar = _Bar()
    with explained():
        try:
            for one in admin().import_files(
                files, today=_today(), edition=edition, force=force, told=bar.told
            ):
                bar.clear()
                done.append(one.edition.file)
                anew = anew or not one.repeated
                _show_import(console, one)
        except BaseException:
            bar.clear()
            if done:
                print_text(console)
                print_text(console, f"Imported before that, and kept: {', '.join(done)}.")
                rest = [file.name for file in files if file.name not in done]
                print_text(console, f"Not imported: {', '.join(rest)}.")
            raise
        if anew:
            print_text(console)
            print_text(console, _NOTICED)


def list_editions() -> None:
    """List the files in your own book."""
    with explained():
        found = admin().own_editions()
    console = Console(highlight=False)
    if not found:
        print_text(console, "Nothing is imported: the shipped book answers alone.")
        return
    heads = ("State", "Kind", "Edition", "~File", ">Rows", "Imported")
    print_table(
        console,
        heads,
        [
            (one.state, one.kind, one.edition, one.file, f"{one.rows:,}", str(one.loaded_at))
            for one, _ in found
        ],
    )
    for one, newer in found:
        if newer:
            print_text(console)
            told = f"The shipped book has {newer} for {one.state}, newer than {one.file}: import a"
            print_text(console, f"{told} newer file, or go back with: book remove {one.state}")


def remove_state(
    state: Annotated[str, typer.Argument(help="State, two letters.")],
    kind: Annotated[str | None, typer.Option(help="rates or boundary [default: both].")] = None,
) -> None:
    """Take a state's imported files out again: the shipped figures answer."""
    with explained():
        gone = admin().remove_own(state.strip().upper(), kind)
        if not gone:
            what = kind or "file"
            raise ValueError(f"{state}: no {what} is imported; `svc-tools book list` shows what is")
    console = Console(highlight=False)
    for one in gone:
        print_text(console, f"Removed {one.state} {one.kind} {one.edition} ({one.file}).")
    print_text(console, _NOTICED)


def _today() -> date:
    return datetime.now().astimezone().date()


class _Bar:
    """The bar of the file that is being imported: on a terminal, and gone when it is done."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar: Progress | None = None

    def told(self, path: Path, done: int, total: int) -> None:
        """Draw it; the first time for a file, put it up."""
        if not self._console.is_terminal:
            return
        if self._bar is None:
            self._bar = Progress(console=self._console, transient=True)
            self._bar.add_task(f"Importing {path.name}", total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done)

    def clear(self) -> None:
        """Take it away, so that what is printed next stands alone."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _show_import(console: Console, one: Any) -> None:  # noqa: ANN401 - the service's own class
    edition = one.edition
    print_text(console)
    was = _was(one)
    print_text(
        console,
        (f"{edition.state} {edition.kind}", "bold"),
        f"  {was}{edition.edition}, {_count(edition.rows, 'row')} of {edition.file}",
    )
    if one.repeated:
        print_text(console, "The same file was imported before: nothing to do.", indent=2)
        return
    if one.changes is not None:
        _show_changes(console, one.changes)
    _show_findings(console, one.findings)


def _was(one: Any) -> str:  # noqa: ANN401 - as above
    if one.repeated or one.before is None:
        return ""
    return f"{one.before}{'' if one.replaced_own else ' (shipped)'} -> "


def _show_changes(console: Console, found: Any) -> None:  # noqa: ANN401 - as above
    for names, what in ((found.added, "added"), (found.removed, "removed")):
        if names:
            print_text(
                console, f"{_count(names, 'jurisdiction')} {what}: {_named(names)}", indent=2
            )
    before, after = found.earliest_before, found.earliest_after
    if before != after and after:
        told = f"history from {after}" + (f", before from {before}" if before else "")
        print_text(console, told, indent=2)
    if not found.rates:
        both = " of a jurisdiction in both" if found.added or found.removed else ""
        print_text(console, f"no rate{both} differs", indent=2)
        return
    print_text(console, f"{_count(found.rates, 'rate')} changed:", indent=2)
    print_table(
        console,
        ("From", "~Jurisdiction", ">Before", ">Now"),
        [
            (str(one.since), one.name, _percent(one.before), _percent(one.after))
            for one in found.rates[:_SHOWN]
        ],
        indent=4,
    )
    _say_more(console, len(found.rates))


def _show_findings(console: Console, found: Sequence[Any]) -> None:
    for kind, heading in _HEADINGS.items():
        here = [one for one in found if one.kind == kind]
        if not here:
            continue
        print_text(console, f"{heading} ({len(here)}):", indent=2)
        for one in here[:_SHOWN]:
            print_text(console, f"{one.subject}: {one.message}", indent=4)
        _say_more(console, len(here))


def _say_more(console: Console, count: int) -> None:
    if count > _SHOWN:
        print_text(console, f"... and {count - _SHOWN:,} more", indent=4)


def _named(names: Sequence[str]) -> str:
    """The first few that have a name, and how many a file knows by their codes only."""
    named = [name for name in names if not _CODE_ALONE.fullmatch(name)]
    by_code = len(names) - len(named)
    told = [_few(named)] if named else []
    if by_code:
        told.append(f"{by_code:,} by code only, for boundary files")
    return "; ".join(told)


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_FEW])
    return shown if len(names) <= _FEW else f"{shown} and {len(names) - _FEW:,} more"


def _count(things: Sequence[object] | int, name: str) -> str:
    count = things if isinstance(things, int) else len(things)
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _percent(units: int) -> str:
    return percent(Decimal(units).scaleb(-5))
