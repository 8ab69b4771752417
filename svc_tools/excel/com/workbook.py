"""Excel through COM: values and addresses of cells, and the workbook whose macro runs.

COM has traps: an error value arrives as an integer, so that an error that xlwings does not know
would be a number around minus two billion; a Decimal sent out is cut to four places; an integer
beyond 32 bits is refused; a text in an array is refused beyond 255 characters. Macros read and
write `Value2`: a number is a double, also where the cell shows a currency or a date. A text is
written with an apostrophe before it, else Excel would read "02134" as a number and "2026-05-01" as
a date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from svc_tools.base.extras import needs
from svc_tools.excel.formulas import Contents, calls_in
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import OMITTED, CellError, ErrorCell, scalar

with needs("Excel through xlwings", "excel"):
    from xlsxwriter.utility import xl_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import xlwings as xw

    from svc_tools.excel.values import Argument, FormulaResult, Scalar

_ComCell = str | float | bool
"""A cell of a result; an empty one is ""."""
ComResult = _ComCell | list[list[_ComCell]]
TEXT_LIMIT = 32_767
"""The most characters that a cell can hold."""
_LIMIT_IN_ARRAY = 255
_ERRORS_FROM = -2146828288
"""COM sends an error value as this plus its number in VBA."""
_ERRORS = {
    2000: "#NULL!",
    2007: "#DIV/0!",
    2015: "#VALUE!",
    2023: "#REF!",
    2029: "#NAME?",
    2036: "#NUM!",
    2042: "#N/A",
    2043: "#GETTING_DATA",
    2045: "#SPILL!",
    2046: "#CONNECT!",
    2047: "#BLOCKED!",
    2048: "#UNKNOWN!",
    2049: "#FIELD!",
    2050: "#CALC!",
}
_Com: TypeAlias = Any
"""A COM object of Excel; its properties have no types here."""
_TEXT_INPUT = 2  # what an input box returns
_AS_TEXT = "@"
"""The number format that makes a typed number a text."""
_BOX = 4_000
"""Characters that a message box shows in full."""
_INPUT_BOX = 250
_TITLE = "Sales tax"
_NAMES = frozenset(function.name for function in FUNCTIONS)


def from_com(value: object) -> Argument:
    """An argument as `evaluate` takes it: omitted, one cell, or rows of cells."""
    if value is OMITTED:
        return OMITTED
    if not isinstance(value, list | tuple):
        return scalar_from_com(value)
    rows = [list(row) if isinstance(row, list | tuple) else [row] for row in value]
    if [len(row) for row in rows] == [1]:
        return scalar_from_com(rows[0][0])
    return [[scalar_from_com(cell) for cell in row] for row in rows]


def scalar_from_com(value: object) -> Scalar:
    """One cell; an integer that is an error's code becomes that error.

    Raises:
        BadValueError: it is of a kind that no cell has.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        number = value - _ERRORS_FROM
        if 2000 <= number < 3000:  # noqa: PLR2004 - the range of error numbers
            return ErrorCell(_ERRORS.get(number, f"#ERROR{number}"))
        return float(value)
    return scalar(value)


def to_com(result: FormulaResult) -> ComResult:
    """A result as COM carries it: text, float and bool alone, or in rows.

    Raises:
        TypeError: it holds what a cell cannot hold, such as a Decimal.
    """
    if isinstance(result, list):
        return [[_cell(cell, _LIMIT_IN_ARRAY) for cell in row] for row in result]
    return _cell(result, TEXT_LIMIT)


def _cell(value: object, limit: int) -> _ComCell:
    if value is None:
        return ""
    if isinstance(value, CellError):
        value = value.text
    if isinstance(value, str):
        return cut(value, limit)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    raise TypeError(f"a cell of Excel cannot be given a {type(value).__name__}")


def cut(text: str, limit: int) -> str:
    """A text of at most so many characters as Excel counts them (UTF-16), with "…" where cut."""
    data = text.encode("utf-16-le", "replace")
    if len(data) <= 2 * limit:
        return text
    return data[: 2 * (limit - 1)].decode("utf-16-le", "ignore") + "…"


class CellBlock(NamedTuple):
    """A block of cells on a sheet; rows and columns count from 1."""

    row: int
    column: int
    height: int = 1
    width: int = 1

    @classmethod
    def around(cls, areas: Iterable[CellBlock]) -> CellBlock:
        """The smallest block that contains all of them."""
        rows, columns, bottoms, rights = zip(
            *(
                (area.row, area.column, area.row + area.height, area.column + area.width)
                for area in areas
            ),
            strict=True,
        )
        top, left = min(rows), min(columns)
        return cls(top, left, max(bottoms) - top, max(rights) - left)

    @property
    def address(self) -> str:
        """The address, such as B2 or B2:C9."""
        top, left = self.row - 1, self.column - 1
        return str(xl_range(top, left, top + self.height - 1, left + self.width - 1))

    def cells(self) -> Iterator[CellBlock]:
        """Its cells, row after row."""
        for row in range(self.row, self.row + self.height):
            for column in range(self.column, self.column + self.width):
                yield CellBlock(row, column)

    def holds(self, cell: CellBlock) -> bool:
        """Whether a single cell is one of its cells."""
        down, across = cell.row - self.row, cell.column - self.column
        return 0 <= down < self.height and 0 <= across < self.width


def shown_text(value: Scalar) -> str:
    """What a cell shows, as text; the number of a date cell is shown as such."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else str(getattr(value, "text", value)).strip()


class Workbook:
    """The workbook whose macro runs."""

    def __init__(self, book: xw.Book) -> None:
        self.app = book.app
        self.api: _Com = book.api

    @property
    def sheets(self) -> list[Sheet]:
        """The worksheets, in order."""
        return [Sheet(sheet) for sheet in self.api.Worksheets]

    def add_sheet(self, name: str) -> Sheet:
        """Add a sheet after the last; the active sheet stays active."""
        before = self.api.ActiveSheet
        made = self.api.Worksheets.Add(After=self.api.Worksheets(self.api.Worksheets.Count))
        made.Name = name
        before.Activate()
        return Sheet(made)

    def selected(self) -> tuple[Sheet, list[CellBlock]] | None:
        """The selected sheet and blocks; `None` where no cells of this workbook are selected."""
        selection = self.api.Application.Selection
        areas = _if_there(selection, "Areas")
        if areas is None or selection.Worksheet.Parent.FullName != self.api.FullName:
            return None  # a picture or a chart, or another workbook is in front
        return Sheet(selection.Worksheet), [_area(area) for area in areas]

    def named(self, name: str) -> tuple[Sheet, CellBlock] | None:
        """The cells of a workbook name; `None` where there is no such name."""
        try:
            cells = self.api.Names(name).RefersToRange
        except Exception:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
            return None
        return Sheet(cells.Worksheet), _area(cells)

    def contents(self) -> Contents:
        """All cells with what they show, workbook names and tables, to read the calls from."""
        sheets = self.sheets
        found = Contents(
            [sheet.contents() for sheet in sheets],
            {str(name.Name): str(name.RefersTo) for name in self.api.Names},
            [table for sheet in sheets for table in sheet.tables()],
        )
        found.omitted = OMITTED
        return found

    def show(self, text: str) -> None:
        """Show a message."""
        self.app.alert(cut(text, _BOX), _TITLE)

    def confirmed(self, text: str) -> bool:
        """Show a question with Yes and No; whether Yes was chosen."""
        return self.app.alert(cut(text, _BOX), _TITLE, buttons="yes_no") == "yes"

    def prompt(self, text: str) -> str | None:
        """Prompt for a text; `None` where it was canceled."""
        typed = self.api.Application.InputBox(
            Prompt=cut(text, _INPUT_BOX), Title=_TITLE, Type=_TEXT_INPUT
        )
        return None if typed is False or typed is None else str(typed).strip()

    @property
    def from_1904(self) -> str | None:
        """The name of the workbook where it uses the 1904 date system, for the refusal of dates."""
        return str(self.api.Name) if self.api.Date1904 else None

    @property
    def is_calculated(self) -> bool:
        """Whether Excel has no pending calculation."""
        return int(self.api.Application.CalculationState) == 0  # xlDone


class Sheet:
    """A worksheet."""

    def __init__(self, api: _Com) -> None:
        self.api = api

    @property
    def name(self) -> str:
        """The name on its tab."""
        return str(self.api.Name)

    @property
    def used(self) -> CellBlock:
        """The used range."""
        return _area(self.api.UsedRange)

    def values(self, area: CellBlock) -> list[list[Scalar]]:
        """The values, rows of cells; an error is an `ErrorCell`, an empty cell `None`."""
        rows = _rows(self._range(area).Value2, area)
        return [[scalar_from_com(cell) for cell in row] for row in rows]

    def contents(self) -> dict[str, Any]:
        """The used range with formulas and values, as `Contents` takes it."""
        used = self.used
        cells = self._range(used)
        formulas = _if_there(cells, "Formula2")  # missing in an Excel without dynamic arrays
        rows = _rows(cells.Formula if formulas is None else formulas, used)
        at = {"name": self.name, "row": used.row, "column": used.column}
        return {**at, "formulas": rows, "values": self.values(used)}

    def tables(self) -> Iterator[dict[str, Any]]:
        """The tables that have rows, as `Contents` takes them."""
        for table in self.api.ListObjects:
            if table.DataBodyRange is not None:
                body = _area(table.DataBodyRange)
                at = {"sheet": self.name, "row": body.row, "column": body.column}
                columns = [str(column.Name) for column in table.ListColumns]
                yield {**at, "name": str(table.Name), "height": body.height, "columns": columns}

    def calls(self) -> dict[CellBlock, Scalar]:
        """The cells whose formula calls an SVC function, each with its value.

        A text that only looks like a formula is left out.
        """
        read = self.contents()
        return {
            CellBlock(read["row"] + down, read["column"] + across): value
            for down, rows in enumerate(zip(read["formulas"], read["values"], strict=True))
            for across, (text, value) in enumerate(zip(*rows, strict=True))
            if _has_calls(text) and value != text
        }

    def is_text(self, area: CellBlock) -> bool:
        """Whether a cell of the block is formatted as text, so that a number becomes one."""
        found = self._range(area).NumberFormat
        return found == _AS_TEXT or (  # None where the formats differ
            found is None
            and any(self._range(cell).NumberFormat == _AS_TEXT for cell in area.cells())
        )

    def has_arrays(self) -> bool:
        """Whether some of the cells may be part of an array."""
        used = self.api.UsedRange
        found = (used.HasArray, _if_there(used, "HasSpill", lacking=False))
        return any(part is not False for part in found)  # None where only some are

    def array(self, cell: CellBlock) -> CellBlock | None:
        """The array that a cell is part of: spilled, or a fixed array formula."""
        found = self._range(cell)
        if found.HasArray:
            return _area(found.CurrentArray)
        if _if_there(found, "HasSpill"):
            return _area(found.SpillParent.SpillingToRange)
        return None

    def put(self, area: CellBlock, rows: Sequence[Sequence[Scalar]]) -> None:
        """Write values; texts stay texts."""
        shown = [[_typed(cell) for cell in row] for row in rows]
        if (area.height, area.width) == (1, 1):
            self._range(area).Value2 = shown[0][0]
            return
        long = []  # older versions refuse a long text within a block
        for down, row in enumerate(shown):
            for across, cell in enumerate(row):
                if isinstance(cell, str) and len(cell) > _LIMIT_IN_ARRAY:
                    long.append((CellBlock(area.row + down, area.column + across), cell))
                    row[across] = ""
        self._range(area).Value2 = tuple(map(tuple, shown))
        for at, text in long:
            self._range(at).Value2 = text

    def format_heading(self, heading: CellBlock, widths: Sequence[float]) -> None:
        """Make a heading bold and set its column widths (in characters)."""
        self._range(heading).Font.Bold = True
        for cell, width in zip(heading.cells(), widths, strict=True):
            self._range(cell).ColumnWidth = width

    def _range(self, area: CellBlock) -> _Com:
        return self.api.Range(area.address)


def _has_calls(formula: object) -> bool:
    """Whether a formula calls one of the registry's functions."""
    if not isinstance(formula, str) or not formula.startswith("="):
        return False
    return "SVC_" in formula.upper() and any(call.name in _NAMES for call in calls_in(formula))


def _rows(found: _Com, area: CellBlock) -> Sequence[Sequence[_Com]]:
    """The value of a block as rows; COM gives a scalar for a single cell."""
    return [[found]] if (area.height, area.width) == (1, 1) else found


def _area(cells: _Com) -> CellBlock:
    return CellBlock(
        int(cells.Row), int(cells.Column), int(cells.Rows.Count), int(cells.Columns.Count)
    )


def _if_there(api: _Com, name: str, *, lacking: _Com = None) -> _Com:
    """A property that an older Excel, or another kind of object, may lack."""
    try:
        return getattr(api, name)
    except Exception:  # noqa: BLE001 - AttributeError, or one of pywin32's own
        return lacking


def _typed(value: Scalar) -> _Com:
    """A value as typed into a cell; the apostrophe keeps a text a text."""
    if isinstance(value, str):
        return f"'{cut(value, TEXT_LIMIT)}" if value else ""
    return "" if value is None else value
