"""What a sheet consists of, how its cells look, and how sheets are written to a workbook file.

The names of sheets, cells and columns are also those that the macros look for. The same sheets are
written as the same bytes. A formula without a computed value is written without one: a viewer that
cannot compute shows an empty cell, never a figure that nobody computed.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from datetime import date, datetime
from io import BytesIO
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from svc_tools.base.atomic import whole_file
from svc_tools.base.extras import needs
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.nexus.register import NEXUS_TYPES
from svc_tools.tables.states import STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc_tools.frames.reports.xlsx import Sheet as WrittenSheet

TEXTS: Any = tomllib.loads(Path(__file__).with_name("sheets.toml").read_text("utf-8"))
"""What the sheets say, and how their cells look."""
XLWINGS = "0.37.8"
"""The version of xlwings whose VBA the workbook has: another one does not work with it."""
START, LOOKUP, ORDERS, NEXUS = "Start", "Lookup", "Orders", "Nexus"
"""The sheets, in order. Orders is also the name of its table, which grows with its lines."""
FROZEN = "SVC frozen"
"""The sheet that a freeze adds, with the source and date of what was frozen."""
CONFIG = "xlwings.conf"
"""The sheet of settings that xlwings reads; it overrides the user's settings."""
MODULE = "svc_udfs"
"""The Python module in the workbook's folder with its functions and macros."""
AS_OF = "SVC_AS_OF"
"""The cell with the day for every formula without a date in its row."""
ROUNDING = "SVC_ROUNDING"
"""The cell with the rounding mode of taxes."""
NEXUS_COLUMNS: tuple[str, ...] = tuple(TEXTS["nexus"]["widths"])
"""The headings of the cleanup, one record in each row below: values, never formulas, so that a tick
stays with its record."""
ADD = "add"
"""What stands in the column `remove` of a row that the user typed, to be added."""
NEXUS_MARKS = ("plan", "row", "expected", "register_row")
"""The headings to their right: columns by which the plan is recognized."""
NEXUS_HEADINGS = "SVC_NEXUS_HEADINGS"
"""The row of those headings."""
NEXUS_MESSAGE = "SVC_NEXUS_MESSAGE"
"""The cell for the macros' messages."""

_CALLS = re.compile(rf"\b({'|'.join(function.name for function in FUNCTIONS)})\(")


@dataclass(frozen=True, slots=True)
class Host:
    """A spreadsheet program, as far as the sheets differ in it.

    Attributes:
        is_excel: whether it has macros with their buttons, spills arrays, passes empty cells as
            empty, and shows errors as texts.
        naming: gives the name of a function of the registry in a formula.
    """

    is_excel: bool
    naming: Callable[[str], str] = str

    @property
    def key(self) -> str:
        """Its name in the texts."""
        return "excel" if self.is_excel else "calc"

    @property
    def texts(self) -> Any:  # noqa: ANN401 - a table of TOML
        """What only its sheets say."""
        return TEXTS[self.key]

    def named(self, formula: Formula) -> str:
        """A formula with each function of ours under its name there."""
        return _CALLS.sub(lambda call: f"{self.naming(call[1])}(", formula.text)

    def kept(self, formula: str, error: str) -> str:
        """A formula whose error stays what it is where a file is opened without the functions.

        Calc computes the cells that hold an error, and these alone, when it opens an `.xlsx`: they
        would become #NAME?.

        Args:
            formula: with its "=".
            error: an expression of the same error without our functions, from other cells.
        """
        return formula if self.is_excel else f"=IFERROR({formula[1:]},{error})"

    def for_host(self, text: str) -> str:
        """A text with what differs by host."""
        return text.format(refresh=self.texts["refresh"], xlwings=XLWINGS)


Value: TypeAlias = "str | float | date | None"
"""The value of a cell."""
Values: TypeAlias = "Mapping[str, Mapping[str, Value]]"
"""The values of formulas, by sheet and cell."""
_Page: TypeAlias = Any
"""A worksheet of XlsxWriter, a package without types."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, with the functions under the names of the registry.

    Attributes:
        text: as typed in the first cell, with its "=".
        area: the cells of an array, for hosts where arrays do not spill; "" for a single cell.
        value: its value when the workbook is made, for a formula that is not one call of ours: a
            text, the call with the same value ("=SVC_STATUS(...)"), or how the value follows from
            those of the sheet.
    """

    text: str
    area: str = ""
    value: str | Callable[[Mapping[str, Value]], Value] = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell with a look of `sheets.toml`; with `to` the first of several that are merged."""

    at: str
    value: Value | Formula = None
    look: str = "text"
    to: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditional formatting: a formula for the first cell of the area, and its look."""

    area: str
    condition: str
    look: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table that grows with what is typed below it; some columns are computed by a formula."""

    name: str
    area: str
    headings: tuple[str, ...]
    formulas: Mapping[str, Formula]


@dataclass(slots=True)
class Sheet:
    """A sheet: its contents, and how it is shown and printed.

    Attributes:
        name: the name on its tab.
        widths: the widths of the columns from the first on, in characters.
        heights: the heights of rows that differ from the default, in points, by row number.
        names: the cells or areas with a workbook name, by the name.
        settings: all else of its page, each a call on a worksheet of XlsxWriter.
    """

    name: str
    widths: Sequence[float]
    cells: list[Cell] = field(default_factory=list)
    heights: dict[int, float] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    settings: list[Callable[[_Page], object]] = field(default_factory=list)

    def refers_to(self, name: str) -> str:
        """The absolute address of the cells with a workbook name."""
        absolute = re.sub(r"([A-Z]+)(\d+)", r"$\1$\2", self.names[name])
        return f"='{self.name}'!{absolute}"

    def put(self, area: str, value: Value | Formula = None, look: str = "text") -> None:
        """Add a cell, or several as one, such as A1:C1. A text with "=" first is a formula."""
        at, _, to = area.partition(":")
        if isinstance(value, str) and value.startswith("="):
            value = Formula(value)
        self.cells.append(Cell(at, value, look, to))

    def put_all(self, cells: Sequence[Sequence[str]]) -> None:
        """Add cells of `sheets.toml`, each [area, value, look]."""
        for area, value, look in cells:
            self.put(area, value or None, look)

    def set(self, method: str, *arguments: object) -> None:
        """Add a setting: a method of XlsxWriter's worksheet, and its arguments."""
        self.settings.append(methodcaller(method, *arguments))

    def choose(self, area: str, title: str) -> None:
        """Offer a list of choices in cells; for anything else, a message asks what to do."""
        values, message = _CHOICES[title], TEXTS["choices"][title]
        error = {"error_type": "warning", "error_title": title, "error_message": message}
        self.set("data_validation", area, {"validate": "list", "source": values, **error})

    def button(self, at: str, caption: str, macro: str, *place: int) -> None:
        """Add a button at a cell that runs a macro; its place is offsets and width in pixels."""
        shown = dict(zip(("x_offset", "y_offset", "width"), place, strict=True))
        action = {"caption": caption, "macro": macro, "height": _BUTTON_HEIGHT}
        self.set("insert_button", at, action | shown)


def error_by(status: str) -> str:
    """The error of a cell by the word of SVC_STATUS in another, for `Host.kept`."""
    return f'IF({status}="invalid",#VALUE!,NA())'


def error_rule(area: str, cell: str) -> Rule:
    """A rule that makes errors red, texts and error values; `cell` is the first of the area."""
    return Rule(area, f'=IF(ISERROR({cell}),TRUE,LEFT({cell},1)="#")', "is_error")


def _looks() -> dict[str, dict[str, object]]:
    """The looks by name, with XlsxWriter's colors; those with "is_" are for rules: colors only."""
    found: dict[str, dict[str, object]] = {}
    for name, look in TEXTS["looks"].items():
        own = {key: TEXTS["colors"].get(value, value) for key, value in look.items() if key != "is"}
        found[name] = {k: v for part in look.get("is", ()) for k, v in found[part].items()} | own
    return found


_LETTER = 1  # the paper size
_MARGIN = 0.5  # inches
_BUTTON_HEIGHT = 26
_CHOICES: Mapping[str, list[str]] = {
    "State": sorted(STATES),
    "Type": list(NEXUS_TYPES),
    "Rounding": ["half_up", "half_even", "up", "down"],
    "Remove or add": ["x", "replace", ADD],
}
"""What is offered in cells; anything else may be typed after a confirmation."""
_CALCULATION = 191029  # the version of the calculation in Excel 2019 and later
NOTHING = "\u00a0"
"""The stored value of a formula that shows nothing, a blank that is not cut off. Calc computes one
with an empty text again when it opens the file, which fails where its server does not run."""
_CREATED = datetime(2026, 1, 1)  # noqa: DTZ001 - always the same, in no time zone


def write_sheets(
    path: Path, sheets: Sequence[Sheet], host: Host, values: Values, *, vba: bytes | None = None
) -> None:
    """Write a workbook, complete or not at all; an existing file is replaced.

    Raises:
        OSError: it cannot be written, such as where its folder does not exist.
        ImportError: XlsxWriter is not installed.
    """
    content = BytesIO()
    with needs("Writing a workbook", "excel"):
        from svc_tools.frames.reports.xlsx import Book  # noqa: PLC0415 - loads pandas

        book = Book(content, _looks(), title="Sales tax", created=_CREATED)
    # a workbook of an older Excel, or one that asks for it, is computed when it is opened: that
    # would replace the values by #NAME? where the functions are not there yet
    book.own.set_calc_mode("auto", _CALCULATION)
    book.own.calc_on_load = False
    if vba is not None:
        book.own.add_vba_project(BytesIO(vba), is_stream=True)
    for sheet in sheets:
        _write_page(book.sheet(sheet.name), sheet, host, values.get(sheet.name, {}))
        for name in sheet.names:
            book.own.define_name(name, sheet.refers_to(name))
    book.close()
    with whole_file(path) as draft:
        draft.write_bytes(content.getvalue())


def _write_page(
    written: WrittenSheet, sheet: Sheet, host: Host, values: Mapping[str, Value]
) -> None:
    """Write a sheet to its worksheet: sizes, tables, cells, rules, colors and print settings."""
    written.widths(*sheet.widths)
    page = written.own
    for row, height in sheet.heights.items():
        page.set_row(row - 1, height)
    for table in sheet.tables:
        formulas = {head: host.named(formula) for head, formula in table.formulas.items()}
        columns = [{"header": head, "formula": formulas.get(head)} for head in table.headings]
        plain = {"style": None, "banded_rows": False}
        page.add_table(table.area, {"name": table.name, "columns": columns, **plain})
    for cell in sheet.cells:
        value = values.get(cell.at, "")
        shown = NOTHING if values and value == "" else value
        _write_cell(written, cell, host, shown)
    for rule in sheet.rules:
        condition = {"type": "formula", "criteria": rule.condition, "stop_if_true": True}
        page.conditional_format(rule.area, {**condition, "format": written.format(rule.look)})
    page.hide_gridlines(2)
    if color := TEXTS["tabs"].get(sheet.name):
        page.set_tab_color(TEXTS["colors"].get(color, color))
    page.set_paper(_LETTER)
    page.set_margins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
    page.fit_to_pages(1, 0)
    page.set_footer("&L&A&C&D&RPage &P of &N")
    for setting in sheet.settings:
        setting(page)


def _write_cell(written: WrittenSheet, cell: Cell, host: Host, shown: Value) -> None:
    """Write a cell; `shown` is the value of a formula."""
    from xlsxwriter.utility import xl_cell_to_rowcol  # noqa: PLC0415 - of an extra

    at, value, page, look = cell.at, cell.value, written.own, written.format(cell.look)
    if cell.to:
        page.merge_range(f"{at}:{cell.to}", "", look)
    if isinstance(value, Formula):
        text = host.named(value)
        if not value.area:
            page.write_formula(at, text, look, shown)
        elif host.is_excel:
            page.write_dynamic_array_formula(f"{at}:{at}", text, look, shown)
        else:
            page.write_array_formula(value.area, text, look, shown)
    elif isinstance(value, str) and value.startswith("internal:"):
        target, _, text = value.partition("|")
        page.write_url(at, target, look, text)
    elif value is None:
        page.write_blank(at, None, look)
    else:
        row, column = xl_cell_to_rowcol(at)
        written.put(row, column, value, cell.look)
