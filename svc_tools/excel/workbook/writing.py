"""Sheets written as a workbook file: the same bytes whenever the same is written.

Formulas are written without values, since none is known here: a spreadsheet computes them when it
opens the file, and a viewer that cannot shows an empty cell, never a figure that nobody computed.
"""

# MERGED cells: What stands on a sheet, for any writer and any spreadsheet: cells, rules, tables, buttons.
# MERGED looks: How cells look: one palette for every sheet, said in the words of XlsxWriter's formats.
# MERGED layout: What the sheets and the macros agree on: names of sheets, of cells and of columns. Light.
# MERGED rules: Rules of more than one sheet: how an error looks, and what a cell for a state offers.

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any

from svc_tools.atomic import whole_file
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.places import STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from svc_tools.excel.workbook.build import Host

_LETTER = 1
_TITLE = "Sales tax"
_MARGIN = 0.5  # inches
_BUTTON_HEIGHT = 26

_INK, _MUTED, _LINE = "#1F2933", "#57606A", "#C9D3DE"
_BLUE, _PALE_BLUE = "#1F4E79", "#DCE6F1"
_INPUT, _INPUT_LINE = "#FFF8DC", "#D9C98F"
_RED, _PALE_RED = "#9B1C1C", "#FDE8E8"
_AMBER, _PALE_AMBER = "#7A4B00", "#FFE9B8"
_GREEN, _PALE_GREEN = "#1B5E34", "#E3F4E8"
BASE = {"font_name": "Calibri", "font_size": 11, "font_color": _INK, "valign": "vcenter"}
TAB = {"Start": _BLUE, "Lookup": "#2E8B57", "Orders": "#C58B00", "Nexus": "#7B3FA0"}
"""The colours of the tabs."""
_BOX = {"border": 1, "border_color": _LINE}
_TYPED = {"bg_color": _INPUT, "border": 1, "border_color": _INPUT_LINE}
_MONEY = {"num_format": "#,##0.00"}
_RATE = {"num_format": "0.000%"}
_APART = '{0};-{0};{0};"  "@'  # an error begins apart from the number on its left
_LEFT = {"align": "left", "indent": 1}
_DAY = {"num_format": "yyyy-mm-dd"} | _LEFT
_WRAP = {"text_wrap": True}
_TOP = {"text_wrap": True, "valign": "top"}
_SAMPLE = _BOX | _LEFT
_HEAD = {"bold": True, "bg_color": _BLUE, "font_color": "#FFFFFF", "border": 1}
_HEAD |= {"border_color": _BLUE, "align": "left", "indent": 1}
_TOTAL = {"bold": True, "font_size": 12, "top": 1, "bottom": 1, "border_color": _LINE}

START, LOOKUP, ORDERS, NEXUS = "Start", "Lookup", "Orders", "Nexus"
"""The sheets, in their order."""
FROZEN = "SVC frozen"
"""The sheet that a freeze adds: source and date of what was frozen."""
CONFIG = "xlwings.conf"
"""The sheet of settings that xlwings reads; it overrides the settings of the user."""
MODULE = "svc_udfs"
"""The Python module beside the workbook that has its functions and macros."""
AS_OF = "SVC_AS_OF"
"""The cell with the day that every formula passes which has no date of its own."""
ROUNDING = "SVC_ROUNDING"
"""The cell that says what becomes of a fraction of a cent."""
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
NEXUS_MARKS = ("plan", "row", "expected", "register_row")
"""The headings right of them: the plan's own marks, by which it is known again."""
NEXUS_HEADINGS = "SVC_NEXUS_HEADINGS"
"""The row of those headings."""
NEXUS_MESSAGE = "SVC_NEXUS_MESSAGE"
"""The cell in which the macros say what they did, or would send."""

_MADE = datetime(2026, 1, 1)  # noqa: DTZ001 - a mark in the file, of no place; always the same


def write_sheets(
    path: Path, sheets: Sequence[Sheet], host: Host, *, vba: bytes | None = None
) -> None:
    """Write a workbook; it appears whole or not at all.

    Args:
        path: the file, which is replaced if it is there.
        sheets: its sheets, in order.
        host: for which spreadsheet.
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
    try:
        import xlsxwriter  # noqa: PLC0415 - of an extra
    except ImportError:
        raise ImportError("to write a workbook: pip install 'svc-tax-tools[excel]'") from None
    held = BytesIO()
    book = xlsxwriter.Workbook(held, {"in_memory": True, "default_date_format": "yyyy-mm-dd"})
    book.set_properties({"title": _TITLE, "created": _MADE})
    if vba is not None:
        book.add_vba_project(BytesIO(vba), is_stream=True)
    formats = {name: book.add_format({**BASE, **look}) for name, look in LOOKS.items()}
    rules = {name: book.add_format(look) for name, look in LOOKS.items() if name.startswith("is_")}
    for sheet in sheets:
        made = _Made(book.add_worksheet(sheet.name), sheet, host, formats)
        made.all(rules)
        for name, area in sheet.names.items():
            book.define_name(name, f"='{sheet.name}'!{_fixed(area)}")
    book.close()
    return held.getvalue()


def _fixed(area: str) -> str:
    """The same cells as an address that does not move."""
    from xlsxwriter.utility import xl_cell_to_rowcol, xl_rowcol_to_cell  # noqa: PLC0415 - as above

    return ":".join(
        xl_rowcol_to_cell(*xl_cell_to_rowcol(one), row_abs=True, col_abs=True)
        for one in area.split(":")
    )


class _Shortest(float):
    """A number that is written with as few digits as name it: 89.99, not 89.98999999999999."""

    def __format__(self, spec: str) -> str:
        """The digits, whatever XlsxWriter would cut them to."""
        return repr(float(self))


class _Made:
    """One sheet on its way into the file."""

    def __init__(self, page: Any, sheet: Sheet, host: Host, formats: dict[str, Any]) -> None:  # noqa: ANN401 - a package without types
        self._page, self._sheet, self._host, self._formats = page, sheet, host, formats

    def all(self, rules: dict[str, Any]) -> None:
        """Write all of it."""
        sheet, page = self._sheet, self._page
        for column, width in enumerate(sheet.widths):
            page.set_column(column, column, width)
        for row, height in sheet.heights.items():
            page.set_row(row - 1, height)
        for table in sheet.tables:
            self._table(table)
        for cell in sheet.cells:
            self._cell(cell)
        for rule in sheet.rules:
            page.conditional_format(
                rule.area,
                {
                    "type": "formula",
                    "criteria": rule.condition,
                    "format": rules[rule.look],
                    "stop_if_true": True,
                },
            )
        for choice in sheet.choices:
            page.data_validation(
                choice.area,
                {
                    "validate": "list",
                    "source": list(choice.values),
                    "error_type": "warning",
                    "error_title": choice.title,
                    "error_message": choice.message,
                },
            )
        if self._host.macros:
            for button in sheet.buttons:
                self._button(button)
        self._on_screen_and_paper()

    def _table(self, table: Table) -> None:
        columns = [{"header": one} for one in table.headings]
        for column in columns:
            formula = table.formulas.get(column["header"])
            if formula is not None:
                column["formula"] = self._named(formula)
        self._page.add_table(
            table.area,
            {
                "name": table.name,
                "columns": columns,
                "style": None,
                "banded_rows": False,
            },
        )

    def _cell(self, cell: Cell) -> None:
        page, look, value = self._page, self._formats[cell.look], cell.value
        if cell.to:
            page.merge_range(f"{cell.at}:{cell.to}", "", look)
        if value is None:
            if not cell.to:
                page.write_blank(cell.at, None, look)
        elif isinstance(value, Formula):
            self._formula(cell.at, value, look)
        elif isinstance(value, date):
            page.write_datetime(cell.at, value, look)
        elif isinstance(value, str) and value.startswith("internal:"):
            target, _, text = value.partition("|")
            page.write_url(cell.at, target, look, text)
        elif isinstance(value, str):
            page.write_string(cell.at, value, look)
        else:
            page.write_number(cell.at, _Shortest(value), look)

    def _formula(self, at: str, formula: Formula, look: object) -> None:
        text = self._named(formula)
        if not formula.area:
            self._page.write_formula(at, text, look, "")
        elif self._host.spills:
            self._page.write_dynamic_array_formula(f"{at}:{at}", text, look, "")
        else:
            self._page.write_array_formula(formula.area, text, look, "")
            self._blank_but_first(formula.area, look)

    def _blank_but_first(self, area: str, look: object) -> None:
        """Take out the zeros that stand for the values of the other cells of an array."""
        from xlsxwriter.utility import xl_cell_to_rowcol  # noqa: PLC0415 - as above

        (top, left), (bottom, right) = (xl_cell_to_rowcol(one) for one in area.split(":"))
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                if (row, column) != (top, left):
                    self._page.write_blank(row, column, None, look)

    def _named(self, formula: Formula) -> str:
        return named(formula.text, self._host.naming)

    def _button(self, button: Button) -> None:
        self._page.insert_button(
            button.at,
            {
                "caption": button.caption,
                "macro": button.macro,
                "width": button.width,
                "height": _BUTTON_HEIGHT,
                "x_offset": button.shift,
                "y_offset": button.drop,
            },
        )

    def _on_screen_and_paper(self) -> None:
        sheet, page = self._sheet, self._page
        page.hide_gridlines(2)
        if sheet.colour:
            page.set_tab_color(sheet.colour)
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
    # what a person types
    "typed_text": _TYPED | _LEFT | {"num_format": "@"},
    "typed_day": _TYPED | _DAY,
    "typed_money": _TYPED | _MONEY,
    "typed_centre": _TYPED | {"align": "center", "bold": True},
    # what is computed; numbers stand right by themselves, and errors left, where they begin
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
    # what a condition puts on top
    "is_error": {"font_color": _RED, "bg_color": _PALE_RED},
    "is_partial": {"font_color": _AMBER, "bg_color": _PALE_AMBER},
    "is_low": {"font_color": _AMBER},
    "is_good": {"font_color": _GREEN, "bg_color": _PALE_GREEN},
    "is_ticked": {"font_color": _RED, "bg_color": _PALE_RED, "bold": True},
    "is_head": {"bold": True, "font_color": _BLUE, "bg_color": _PALE_BLUE},
    "is_left_over": {"font_color": "#D5DBE1"},
    # the legend shows them without a condition
    "error_sample": {"font_color": _RED, "bg_color": _PALE_RED} | _SAMPLE,
    "partial_sample": {"font_color": _AMBER, "bg_color": _PALE_AMBER} | _SAMPLE,
    "low_sample": {"font_color": _AMBER} | _SAMPLE,
    "rate_sample": _RATE | _SAMPLE,
    "typed_sample": _SAMPLE | _TYPED,
    "muted_sample": {"font_color": _MUTED} | _SAMPLE,
}
"""The looks by name; those that begin with "is_" are for conditions and change colours alone."""

_CODES = tuple(sorted(STATES))


def error_rule(area: str, cell: str) -> Rule:
    """Errors are red, whether they are texts or the spreadsheet's own.

    Args:
        area: the cells.
        cell: the first of them, as the formula names it.
    """
    return Rule(area, f'=IF(ISERROR({cell}),TRUE,LEFT({cell},1)="#")', "is_error")


def partial_rule(area: str, cell: str) -> Rule:
    """A rate that lacks a part is amber; this rule goes before that of errors."""
    return Rule(area, f'=EXACT({cell},"#PARTIAL")', "is_partial")


def state_choice(area: str) -> Choice:
    """The postal codes to choose from; a name may be typed."""
    return Choice(
        area,
        _CODES,
        "State",
        "Postal codes such as TX are expected; names such as Texas are understood as well."
        " Keep it?",
    )
