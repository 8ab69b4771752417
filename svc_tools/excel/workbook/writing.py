"""What a sheet consists of, how its cells look, and how sheets are written to a workbook file.

The names of sheets, cells and columns are also those that the macros look for. The model is
independent of the writer and of the spreadsheet; the looks are formats of XlsxWriter. The same
sheets are written as the same bytes. Formulas are written without values: a spreadsheet computes
them when it opens the file, and a viewer that cannot compute shows an empty cell, never a figure
that nobody computed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any

from svc_tools.atomic import whole_file
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.extras import needs
from svc_tools.nexus.register import NEXUS_TYPES
from svc_tools.places import STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

START, LOOKUP, ORDERS, NEXUS = "Start", "Lookup", "Orders", "Nexus"
"""The sheets, in order."""
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
ORDERS_TABLE = "Orders"
"""The table of order lines; its formulas and totals grow with it."""
NEXUS_COLUMNS = (
    "remove",
    "state",
    "type",
    "registered_at",
    "address",
    "notes",
    "decision",
    "reason",
    "evidence",
    "outcome",
    "receipt",
)
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


@dataclass(frozen=True, slots=True)
class Step:
    """One of the first steps: when, what to do, and the caption and macro of a button for it."""

    title: str
    text: str
    button: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """A spreadsheet program, as far as the sheets differ in it.

    Attributes:
        name: its name in a sentence.
        naming: gives the name of a function of the registry in a formula.
        macros: whether it has the macros, and buttons for them.
        spills: whether arrays spill.
        empty_is_zero: whether an empty cell reaches a function as 0.
        steps: what to do before the first formula computes.
        refresh: how the rates are refreshed, in words.
    """

    name: str
    naming: Callable[[str], str]
    macros: bool
    spills: bool
    empty_is_zero: bool
    steps: tuple[Step, ...]
    refresh: str


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, with the functions under the names of the registry.

    Attributes:
        text: as typed in the first cell, with its "=".
        area: the cells of an array, for hosts where arrays do not spill; "" for a single cell.
    """

    text: str
    area: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell with a look of `LOOKS`; with `to` the first of several that are merged."""

    at: str
    value: str | float | date | Formula | None = None
    look: str = "text"
    to: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A list of choices in cells; for anything else, a message with a title asks what to do."""

    area: str
    values: tuple[str, ...]
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditional formatting: a formula for the first cell of the area, and a look of `LOOKS`."""

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


@dataclass(frozen=True, slots=True)
class Button:
    """A button at a cell that runs a macro; its offset and width are in pixels."""

    at: str
    caption: str
    macro: str
    shift: int = 0
    drop: int = 2
    width: int = 120


@dataclass(slots=True)
class Sheet:
    """A sheet: its contents, and how it is shown and printed.

    Attributes:
        name: the name on its tab.
        widths: the widths of the columns from the first on, in characters.
        color: the color of its tab.
        heights: the heights of rows that differ from the default, in points, by row number.
        names: the cells or areas with a workbook name, by the name.
        frozen: the first cell that scrolls; "" for none.
        repeated: the row at the top of each printed page; 0 for none.
        landscape: whether it is printed in landscape.
        pages: the number of printed pages; 0 for as many as needed.
        as_text: cells in which numbers are texts on purpose, such as ZIPs.
        printed: the cells that are printed; "" for all.
    """

    name: str
    widths: tuple[float, ...]
    color: str = ""
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


def error_rule(area: str, cell: str) -> Rule:
    """A rule that makes errors red, both texts and error values of the spreadsheet.

    Args:
        area: the cells.
        cell: the first of them, as in a formula.
    """
    return Rule(area, f'=IF(ISERROR({cell}),TRUE,LEFT({cell},1)="#")', "is_error")


def partial_rule(area: str, cell: str) -> Rule:
    """A rule that makes #PARTIAL amber; to be put before that of errors."""
    return Rule(area, f'=EXACT({cell},"#PARTIAL")', "is_partial")


def state_choice(area: str) -> Choice:
    """A list of postal codes; names may be typed."""
    return Choice(
        area,
        tuple(sorted(STATES)),
        "State",
        "Postal codes such as TX are expected; names such as Texas are accepted as well."
        " Use it anyway?",
    )


def type_choice(area: str) -> Choice:
    """A list of the types of nexus."""
    types = ", ".join(NEXUS_TYPES)
    return Choice(area, NEXUS_TYPES, "Type", f"{types}, or nothing. Use it anyway?")


_INK, _MUTED, _LINE = "#1F2933", "#57606A", "#C9D3DE"
_BLUE, _PALE_BLUE = "#1F4E79", "#DCE6F1"
_INPUT, _INPUT_LINE = "#FFF8DC", "#D9C98F"
_RED, _PALE_RED = "#9B1C1C", "#FDE8E8"
_AMBER, _PALE_AMBER = "#7A4B00", "#FFE9B8"
_GREEN, _PALE_GREEN = "#1B5E34", "#E3F4E8"
_BASE = {"font_name": "Calibri", "font_size": 11, "font_color": _INK, "valign": "vcenter"}
TAB = {"Start": _BLUE, "Lookup": "#2E8B57", "Orders": "#C58B00", "Nexus": "#7B3FA0"}
"""The colors of the tabs."""
_BOX = {"border": 1, "border_color": _LINE}
_TYPED = {"bg_color": _INPUT, "border": 1, "border_color": _INPUT_LINE}
_MONEY = {"num_format": "#,##0.00"}
_RATE = {"num_format": "0.000%"}
_APART = '{0};-{0};{0};"  "@'  # keeps a left-aligned error apart from the number to its left
_LEFT = {"align": "left", "indent": 1}
_DAY = {"num_format": "yyyy-mm-dd"} | _LEFT
_WRAP = {"text_wrap": True}
_TOP = {"text_wrap": True, "valign": "top"}
_SAMPLE = _BOX | _LEFT
_HEAD = {"bold": True, "bg_color": _BLUE, "font_color": "#FFFFFF", "border": 1}
_HEAD |= {"border_color": _BLUE, "align": "left", "indent": 1}
_TOTAL = {"bold": True, "font_size": 12, "top": 1, "bottom": 1, "border_color": _LINE}
LOOKS: Mapping[str, Mapping[str, object]] = {
    "text": {},
    "wrapped": _TOP | _LEFT,
    "explained": _WRAP | _LEFT,
    "message": _BOX | _TOP | _LEFT,
    "warned": {"font_color": _AMBER} | _TOP,
    "fact": _TOP | _LEFT,
    "fact_day": _TOP | _DAY,
    "title": {"bold": True, "font_size": 20, "font_color": _BLUE},
    "section": {"bold": True, "font_size": 13, "font_color": _BLUE, "bottom": 1}
    | {"bottom_color": _LINE},
    "lead": {"font_color": _MUTED} | _TOP,
    "muted": {"font_color": _MUTED},
    "head_mark": {"font_color": _MUTED, "font_size": 8},
    "label": {"font_color": _MUTED, "font_size": 10} | _LEFT,
    "label_right": {"font_color": _MUTED, "font_size": 10, "align": "right"},
    "strong_top": {"bold": True, "valign": "top"},
    "number": {"bold": True, "font_size": 14, "font_color": _BLUE, "align": "center"}
    | {"valign": "top"},
    "head": _HEAD,
    "head_right": _HEAD | {"align": "right", "indent": 0},
    "code": {"font_name": "Consolas", "font_size": 10, "valign": "top"},
    "link": {"font_color": "#0B5CAD", "underline": 1, "valign": "top"},
    # cells to type in
    "typed_text": _TYPED | _LEFT | {"num_format": "@"},
    "typed_day": _TYPED | _DAY,
    "typed_money": _TYPED | _MONEY,
    "typed_center": _TYPED | {"align": "center", "bold": True},
    # computed cells; numbers are right-aligned by default, and texts of errors left-aligned
    "shown": _BOX | _LEFT,
    "shown_wrapped": _BOX | _TOP | _LEFT,
    "shown_rate": _BOX | {"num_format": _APART.format("0.000%")},
    "shown_money": _BOX | {"num_format": _APART.format("#,##0.00")},
    "shown_day": _BOX | _DAY | {"valign": "top"},
    "listed": _LEFT,
    "status": _BOX | _LEFT | {"bold": True},
    "field_name": _TYPED | _LEFT | {"font_name": "Consolas", "font_size": 10},
    "field": _BOX | _LEFT | _WRAP,
    "field_rate": _BOX | _LEFT | _RATE,
    "field_meaning": _BOX | _LEFT | _WRAP | {"font_color": _MUTED},
    "big_rate": _LEFT | _RATE | {"bold": True, "font_size": 22, "font_color": _BLUE},
    "total": _TOTAL | {"align": "left"},
    "total_count_left": _TOTAL | _LEFT | {"num_format": "#,##0"},
    "total_text": _TOTAL | _LEFT | {"bold": False, "font_size": 11},
    "total_count": _TOTAL | {"num_format": "#,##0"},
    "total_money": _TOTAL | _MONEY,
    "verdict": _LEFT | _WRAP | {"bold": True},
    # for rules
    "is_error": {"font_color": _RED, "bg_color": _PALE_RED},
    "is_partial": {"font_color": _AMBER, "bg_color": _PALE_AMBER},
    "is_low": {"font_color": _AMBER},
    "is_good": {"font_color": _GREEN, "bg_color": _PALE_GREEN},
    "is_ticked": {"font_color": _RED, "bg_color": _PALE_RED, "bold": True},
    "is_head": {"bold": True, "font_color": _BLUE, "bg_color": _PALE_BLUE},
    "is_left_over": {"font_color": "#D5DBE1"},
    # for the legend
    "error_sample": {"font_color": _RED, "bg_color": _PALE_RED} | _SAMPLE,
    "partial_sample": {"font_color": _AMBER, "bg_color": _PALE_AMBER} | _SAMPLE,
    "low_sample": {"font_color": _AMBER} | _SAMPLE,
    "rate_sample": _RATE | _SAMPLE,
    "typed_sample": _SAMPLE | _TYPED,
    "muted_sample": {"font_color": _MUTED} | _SAMPLE,
}
"""The looks by name; those that begin with "is_" are for rules and change only colors."""
_LETTER = 1  # the paper size
_MARGIN = 0.5  # inches
_BUTTON_HEIGHT = 26
_CREATED = datetime(2026, 1, 1)  # noqa: DTZ001 - always the same, in no time zone


def write_sheets(
    path: Path, sheets: Sequence[Sheet], host: Host, *, vba: bytes | None = None
) -> None:
    """Write a workbook; it appears complete or not at all.

    Args:
        path: the file; an existing one is replaced.
        sheets: its sheets, in order.
        host: the spreadsheet it is for.
        vba: the VBA project of a workbook with macros.

    Raises:
        FileNotFoundError: the folder of `path` does not exist.
        OSError: it cannot be written.
        ImportError: XlsxWriter is not installed.
    """
    content = _content(sheets, host, vba)
    with whole_file(path) as draft:
        draft.write_bytes(content)


def _content(sheets: Sequence[Sheet], host: Host, vba: bytes | None) -> bytes:
    with needs("Writing a workbook", "excel"):
        import xlsxwriter  # noqa: PLC0415 - of an extra
    content = BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True, "default_date_format": "yyyy-mm-dd"})
    book.set_properties({"title": "Sales tax", "created": _CREATED})
    if vba is not None:
        book.add_vba_project(BytesIO(vba), is_stream=True)
    formats = {name: book.add_format({**_BASE, **look}) for name, look in LOOKS.items()}
    rules = {name: book.add_format(look) for name, look in LOOKS.items() if name.startswith("is_")}
    for sheet in sheets:
        _SheetWriter(book.add_worksheet(sheet.name), sheet, host, formats).write(rules)
        for name, area in sheet.names.items():
            book.define_name(name, f"='{sheet.name}'!{_absolute(area)}")
    book.close()
    return content.getvalue()


def _absolute(area: str) -> str:
    """The same cells as an absolute address."""
    from xlsxwriter.utility import xl_cell_to_rowcol, xl_rowcol_to_cell  # noqa: PLC0415 - as above

    return ":".join(
        xl_rowcol_to_cell(*xl_cell_to_rowcol(one), row_abs=True, col_abs=True)
        for one in area.split(":")
    )


class _Shortest(float):
    """A number that is written with the fewest digits: 89.99, not 89.98999999999999."""

    def __format__(self, spec: str) -> str:
        """The digits, whatever format XlsxWriter requests."""
        return repr(float(self))


class _SheetWriter:
    """One sheet being written."""

    def __init__(self, page: Any, sheet: Sheet, host: Host, formats: dict[str, Any]) -> None:  # noqa: ANN401 - a package without types
        self._page, self._sheet, self._host, self._formats = page, sheet, host, formats

    def write(self, rules: dict[str, Any]) -> None:
        """Write the whole sheet."""
        sheet, page = self._sheet, self._page
        for column, width in enumerate(sheet.widths):
            page.set_column(column, column, width)
        for row, height in sheet.heights.items():
            page.set_row(row - 1, height)
        for table in sheet.tables:
            columns = [
                {"header": head, "formula": self._named(table.formulas[head])}
                if head in table.formulas
                else {"header": head}
                for head in table.headings
            ]
            plain = {"style": None, "banded_rows": False}
            page.add_table(table.area, {"name": table.name, "columns": columns, **plain})
        for cell in sheet.cells:
            self._cell(cell)
        for rule in sheet.rules:
            look = {"format": rules[rule.look], "stop_if_true": True}
            condition = {"type": "formula", "criteria": rule.condition, **look}
            page.conditional_format(rule.area, condition)
        for choice in sheet.choices:
            error = {"error_title": choice.title, "error_message": choice.message}
            values = {"validate": "list", "source": list(choice.values)}
            page.data_validation(choice.area, {**values, "error_type": "warning", **error})
        for button in sheet.buttons if self._host.macros else ():
            size = {"width": button.width, "height": _BUTTON_HEIGHT}
            shift = {"x_offset": button.shift, "y_offset": button.drop}
            action = {"caption": button.caption, "macro": button.macro}
            page.insert_button(button.at, {**action, **size, **shift})
        self._on_screen_and_paper()

    def _cell(self, cell: Cell) -> None:
        page, look, value = self._page, self._formats[cell.look], cell.value
        if cell.to:
            page.merge_range(f"{cell.at}:{cell.to}", "", look)
            if value is None:
                return
        if isinstance(value, Formula):
            self._formula(cell.at, value, look)
        elif isinstance(value, str) and value.startswith("internal:"):
            target, _, text = value.partition("|")
            page.write_url(cell.at, target, look, text)
        elif isinstance(value, str):
            page.write_string(cell.at, value, look)
        elif isinstance(value, int | float):
            page.write_number(cell.at, _Shortest(value), look)
        else:
            page.write(cell.at, value, look)

    def _formula(self, at: str, formula: Formula, look: object) -> None:
        from xlsxwriter.utility import xl_cell_to_rowcol  # noqa: PLC0415 - as above

        page, text = self._page, self._named(formula)
        if not formula.area:
            page.write_formula(at, text, look, "")
        elif self._host.spills:
            page.write_dynamic_array_formula(f"{at}:{at}", text, look, "")
        else:
            page.write_array_formula(formula.area, text, look, "")
            (top, left), (bottom, right) = (
                xl_cell_to_rowcol(one) for one in formula.area.split(":")
            )
            for row in range(top, bottom + 1):  # in place of the zeros that XlsxWriter writes
                for column in range(left + (row == top), right + 1):
                    page.write_blank(row, column, None, look)

    def _named(self, formula: Formula) -> str:
        return named(formula.text, self._host.naming)

    def _on_screen_and_paper(self) -> None:
        sheet, page = self._sheet, self._page
        page.hide_gridlines(2)
        if sheet.color:
            page.set_tab_color(sheet.color)
        if sheet.frozen:
            page.freeze_panes(sheet.frozen)
        if sheet.as_text:
            page.ignore_errors({"number_stored_as_text": " ".join(sheet.as_text)})
        if sheet.printed:
            page.print_area(sheet.printed)
        if sheet.landscape:
            page.set_landscape()
        page.set_paper(_LETTER)
        page.set_margins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        page.fit_to_pages(1, sheet.pages)
        page.set_footer("&L&A&C&D&RPage &P of &N")
        if sheet.repeated:
            page.repeat_rows(sheet.repeated - 1)


_CALLS = re.compile(
    rf"\b({'|'.join(sorted((one.name for one in FUNCTIONS), key=len, reverse=True))})\("
)


def named(formula: str, naming: Callable[[str], str]) -> str:
    """The formula with each function under its name in the host."""
    return _CALLS.sub(lambda call: f"{naming(call[1])}(", formula)
