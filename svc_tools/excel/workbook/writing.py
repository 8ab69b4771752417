"""Sheets written as a workbook file: the same bytes whenever the same is written.

Formulas are written without values, since none is known here: a spreadsheet computes them when it
opens the file, and a viewer that cannot shows an empty cell, never a figure that nobody computed.
"""

from __future__ import annotations

from datetime import date, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any

from svc_tools.excel.workbook.cells import Button, Cell, Formula, Sheet, Table, named
from svc_tools.excel.workbook.looks import BASE, LOOKS
from svc_tools.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from svc_tools.excel.workbook.hosts import Host

__all__ = ["write_sheets"]

_MADE = datetime(2026, 1, 1)  # noqa: DTZ001 - a mark in the file, of no place; always the same
_LETTER = 1
_TITLE = "Sales tax"
_MARGIN = 0.5  # inches
_BUTTON_HEIGHT = 26


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
