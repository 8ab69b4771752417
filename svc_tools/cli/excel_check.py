"""`svc-tools excel check`: the links of the chain, for a person or a program."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from svc_tools.cli.running import NO_ANSWER, explained
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.lines import Line

__all__ = ["check"]

_STYLES = {"ok": "green", "wrong": "bold red", "not set up": "yellow", "elsewhere": "dim"}
_PARTS = {
    "python": "Python",
    "service": "Who answers",
    "xlwings": "Excel on Windows, through xlwings",
    "add-in": "Excel on Windows, macOS and the web, through the add-in",
    "calc": "LibreOffice Calc",
}
_MARK = len("not set up")


def check(
    as_json: Annotated[bool, typer.Option("--json", help="JSON for a program.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Look at each link between a cell and the service; say what to do where one broke.

    Nothing is changed, nothing is billed, no key is shown. Exit code 1 where
    a link is wrong; a way in that is not set up is no fault.
    """
    with explained(as_json=as_json):
        from svc_tools.excel import checking  # noqa: PLC0415 - of an extra

        lines = list(checking.check())
    wrong = sum(line.mark == "wrong" for line in lines)
    if as_json:
        told = {"ok": not wrong, "lines": [asdict(line) for line in lines]}
        typer.echo(json.dumps(told, indent=2))
    else:
        _show(Console(highlight=False), lines, wrong)
    if wrong:
        raise typer.Exit(NO_ANSWER)


def _show(console: Console, lines: Sequence[Line], wrong: int) -> None:
    for part, group in groupby(lines, key=lambda line: line.part):
        print_text(console, (_PARTS[part], "bold"))
        rows = [(Text(line.mark.ljust(_MARK), _STYLES[line.mark]), _told(line)) for line in group]
        print_table(console, ("", "~"), rows, indent=2)
        console.print()
    if wrong:
        links = "1 link is" if wrong == 1 else f"{wrong} links are"
        print_text(console, (f"{links} wrong.", "bold red"))
    else:
        print_text(console, "Nothing is wrong.")


def _told(line: Line) -> Text:
    """What was found, and on a line of its own what to do."""
    todo = "" if line.todo is None else f"\n{line.todo}"
    return Text.assemble((line.name, "bold"), f": {line.said}{todo}")
