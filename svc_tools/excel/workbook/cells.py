"""What stands on a sheet, for any writer and any spreadsheet: cells, rules, tables, buttons."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

__all__ = ["Button", "Cell", "Choice", "Formula", "Rule", "Sheet", "Table", "named"]

_CALLS = re.compile(
    rf"\b({'|'.join(sorted((one.name for one in FUNCTIONS), key=len, reverse=True))})\("
)


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, with the functions under the names of the registry.

    Attributes:
        text: as it is typed in the first cell, with its "=".
        area: where its values go if there are several, for a spreadsheet in which they do not
            spill by themselves; "" for a formula of one cell.
    """

    text: str
    area: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, or several merged into one.

    Attributes:
        at: its address.
        value: what it holds; `None` for nothing but its look.
        look: a key of `looks.LOOKS`.
        to: the last cell, where several are merged.
    """

    at: str
    value: str | float | date | Formula | None = None
    look: str = "text"
    to: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """What may be chosen in cells; something else is asked back, and then taken.

    Attributes:
        area: the cells.
        values: what is offered.
        title: of the question, at most 32 characters.
        message: the question.
    """

    area: str
    values: tuple[str, ...]
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Cells that look different while a condition holds for them.

    Attributes:
        area: the cells.
        condition: a formula for the first cell of the area.
        look: a key of `looks.LOOKS`.
    """

    area: str
    condition: str
    look: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table that grows with what is typed below it.

    Attributes:
        name: as formulas call it.
        area: its headings and rows.
        headings: the names of its columns.
        formulas: the formula of each column that has one, by its heading.
    """

    name: str
    area: str
    headings: tuple[str, ...]
    formulas: Mapping[str, Formula]


@dataclass(frozen=True, slots=True)
class Button:
    """A button that runs a macro; only for a spreadsheet that has the macro.

    Attributes:
        at: the cell under its upper left corner.
        caption: what stands on it.
        macro: the name of the macro.
        shift: how far it stands right of that corner, in pixels.
        drop: how far below it, in pixels.
        width: in pixels.
    """

    at: str
    caption: str
    macro: str
    shift: int = 0
    drop: int = 2
    width: int = 120


@dataclass(slots=True)
class Sheet:
    """A sheet: what it holds and how it is shown and printed.

    Attributes:
        name: on its tab.
        widths: of the columns from the first on, in characters.
        colour: of its tab.
        heights: of rows that are not as high as the others, in points, by their number from 1.
        frozen: the first cell that scrolls; "" for none.
        repeated: the row that stands on top of each printed page; 0 for none.
        landscape: how it lies on paper.
        names: the cells or areas that have a name, by the name.
        pages: on how many pages it is printed; 0 for as many as it takes.
        as_text: cells in which numbers are kept as text on purpose, as in ZIPs.
        printed: the cells that are printed; "" for all.
    """

    name: str
    widths: tuple[float, ...]
    colour: str = ""
    cells: list[Cell] = field(default_factory=list)
    heights: dict[int, float] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    buttons: list[Button] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    frozen: str = ""
    repeated: int = 0
    landscape: bool = False
    pages: int = 0
    as_text: list[str] = field(default_factory=list)
    printed: str = ""

    def put(
        self,
        at: str,
        value: str | float | date | Formula | None = None,
        look: str = "text",
        *,
        to: str = "",
    ) -> None:
        """Add a cell."""
        self.cells.append(Cell(at, value, look, to))


def named(formula: str, naming: Callable[[str], str]) -> str:
    """The formula with each function under the name that a spreadsheet knows it by."""
    return _CALLS.sub(lambda call: f"{naming(call[1])}(", formula)
