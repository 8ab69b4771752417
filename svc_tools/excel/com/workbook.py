"""A workbook that is open in Excel: the little of COM that the macros need.

Values are read and written as `Value2`: a number is a double, also where the cell shows a currency
or a date. A text is written with an apostrophe before it, else Excel would read "02134" as a number
and "2026-05-01" as a date.
"""

# MERGED template: The module that a workbook has beside itself: it brings the functions and the macros.

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from svc_tools.excel.com.converting import TEXT_LIMIT, Area, cut, scalar_from_com
from svc_tools.excel.com.udfs import has_calls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import xlwings as xw

    from svc_tools.excel.values import Scalar

Com: TypeAlias = Any
"""An object of Excel's: its properties are known to Excel alone."""
_MANUAL = -4135  # xlCalculationManual
_DONE = 0  # xlDone
_TEXT_INPUT = 2  # what an input box asks for
_LONG = 255
_AS_TEXT = "@"
"""The format of a cell in which a number that is typed is a text."""
_BOX = 4_000
"""Characters of a message that a box shows in full."""
_INPUT_BOX = 250

_MODULE_TEXT = '''\
"""The functions and macros of this workbook: SVC_RATE, SVC_TAX, SVC_REFRESH and the others.

Keep this file beside the workbook, under this name; nothing in it needs to be changed. Excel reads
it when the functions are imported: once, and again after an update of svc-tools.
"""

from svc_tools.excel.com.macros import *  # noqa: F403 - what Alt+F8 shows
from svc_tools.excel.com.udfs import *  # noqa: F403 - what a formula can call
'''


class Sheet:
    """A sheet of the workbook."""

    def __init__(self, api: Com) -> None:
        self.api = api

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.api.Name)

    @property
    def used(self) -> Area:
        """The block that holds every cell with something in it."""
        return _area(self.api.UsedRange)

    def values(self, area: Area) -> list[list[Scalar]]:
        """The values, rows of cells; an error is an `ErrorCell`, an empty cell `None`."""
        rows = _rows(self._range(area).Value2, area)
        return [[scalar_from_com(cell) for cell in row] for row in rows]

    def calls(self) -> dict[Area, Scalar]:
        """The cells whose formula calls an SVC function, each with what it shows.

        A text that reads like a formula is none. The log of what was frozen has no formulas.
        """
        used = self.used
        cells = self._range(used)
        formulas = _if_there(cells, "Formula2")  # without it, an Excel in which no array spills
        rows = _rows(cells.Formula if formulas is None else formulas, used)
        return {
            Area(used.row + down, used.column + across): value
            for down, (texts, values) in enumerate(zip(rows, self.values(used), strict=True))
            for across, (text, value) in enumerate(zip(texts, values, strict=True))
            if has_calls(text) and value != text
        }

    def is_text(self, area: Area) -> bool:
        """Whether a cell of the block is formatted as text, in which a number becomes one."""
        shown = self._range(area).NumberFormat
        return shown == _AS_TEXT or (  # None where the formats differ
            shown is None and any(self._range(one).NumberFormat == _AS_TEXT for one in area.cells())
        )

    def has_arrays(self, area: Area) -> bool:
        """Whether some of the cells may be parts of an array."""
        cells = self._range(area)
        found = (cells.HasArray, _if_there(cells, "HasSpill", lacking=False))
        return any(one is not False for one in found)  # None where only some are

    def array(self, cell: Area) -> Area | None:
        """The array of which a cell is a part: spilled, or a fixed array formula."""
        found = self._range(cell)
        if found.HasArray:
            return _area(found.CurrentArray)
        if _if_there(found, "HasSpill"):
            return _area(found.SpillParent.SpillingToRange)
        return None

    def put(self, area: Area, rows: Sequence[Sequence[Scalar]]) -> None:
        """Write values; a text stays the text that it is."""
        shown = [[_typed(cell) for cell in row] for row in rows]
        if (area.height, area.width) == (1, 1):
            self._range(area).Value2 = shown[0][0]
            return
        long = []  # older versions refuse a long text within a block
        for down, row in enumerate(shown):
            for across, cell in enumerate(row):
                if isinstance(cell, str) and len(cell) > _LONG:
                    long.append((Area(area.row + down, area.column + across), cell))
                    row[across] = ""
        self._range(area).Value2 = tuple(map(tuple, shown))
        for at, text in long:
            self._range(at).Value2 = text

    def dress(self, heading: Area, widths: Sequence[float]) -> None:
        """Make a heading bold, and its columns so wide (in characters)."""
        self._range(heading).Font.Bold = True
        for cell, width in zip(heading.cells(), widths, strict=True):
            self._range(cell).ColumnWidth = width

    def clear(self, area: Area) -> None:
        """Empty cells; their formats stay."""
        self._range(area).ClearContents()

    @property
    def protected(self) -> bool:
        """Whether its cells cannot be written."""
        return bool(self.api.ProtectContents)

    def _range(self, area: Area) -> Com:
        return self.api.Range(area.address)


def _if_there(api: Com, name: str, *, lacking: Com = None) -> Com:
    """A property that an older Excel, or another kind of object, may lack."""
    try:
        return getattr(api, name)
    except Exception:  # noqa: BLE001 - AttributeError, or one of pywin32's own
        return lacking


def _area(cells: Com) -> Area:
    return Area(int(cells.Row), int(cells.Column), int(cells.Rows.Count), int(cells.Columns.Count))


def _rows(found: Com, area: Area) -> Sequence[Sequence[Com]]:
    """What COM gives for a block: a scalar where it is one cell, else rows."""
    return [[found]] if (area.height, area.width) == (1, 1) else found


def _typed(value: Scalar) -> Com:
    """A value as it is to be typed, so that Excel takes it as it is."""
    if isinstance(value, str):
        return f"'{cut(value, TEXT_LIMIT)}" if value else ""
    return "" if value is None else value


def text() -> str:
    """The source of the module, whose name is `workbook.layout.MODULE`."""
    return _MODULE_TEXT


class Workbook:
    """The workbook whose macro runs.

    Args:
        book: the workbook, as xlwings has it.
    """

    def __init__(self, book: xw.Book) -> None:
        self._book = book
        self.api: Com = book.api

    @property
    def sheets(self) -> list[Sheet]:
        """Its sheets with cells, in order."""
        return [Sheet(one) for one in self.api.Worksheets]

    def sheet(self, name: str) -> Sheet | None:
        """The sheet of a name; capitals do not matter, as in Excel."""
        return next((one for one in self.sheets if one.name.casefold() == name.casefold()), None)

    def add_sheet(self, name: str) -> Sheet:
        """A new sheet after the last; the one that is shown stays shown."""
        before = self.api.ActiveSheet
        made = self.api.Worksheets.Add(After=self.api.Worksheets(self.api.Worksheets.Count))
        made.Name = name
        before.Activate()
        return Sheet(made)

    def selected(self) -> tuple[Sheet, list[Area]] | None:
        """The blocks that are selected, and their sheet; `None` where no cells of it are."""
        selection = self.api.Application.Selection
        areas = _if_there(selection, "Areas")
        if areas is None:  # a picture or a chart
            return None
        if selection.Worksheet.Parent.FullName != self.api.FullName:
            return None  # another workbook is in front
        return Sheet(selection.Worksheet), [_area(one) for one in areas]

    def named(self, name: str) -> tuple[Sheet, Area] | None:
        """The cells of a name of the workbook; `None` where there is no such name."""
        try:
            cells = self.api.Names(name).RefersToRange
        except Exception:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
            return None
        return Sheet(cells.Worksheet), _area(cells)

    def tell(self, text: str) -> None:
        """Show a message."""
        self._book.app.alert(cut(text, _BOX), "Sales tax")

    def confirmed(self, text: str) -> bool:
        """Ask a question; whether it was answered with Yes."""
        return self._book.app.alert(cut(text, _BOX), "Sales tax", buttons="yes_no") == "yes"

    def type_in(self, text: str) -> str | None:
        """Ask for a text; `None` where it was cancelled."""
        typed = self.api.Application.InputBox(
            Prompt=cut(text, _INPUT_BOX), Title="Sales tax", Type=_TEXT_INPUT
        )
        return None if typed is False or typed is None else str(typed).strip()

    @property
    def counts_from_1904(self) -> bool:
        """Whether its numbers are other days than those of most workbooks."""
        return bool(self.api.Date1904)

    @property
    def is_calculated(self) -> bool:
        """Whether Excel has computed everything that it knows to be out of date."""
        return int(self.api.Application.CalculationState) == _DONE

    def calculate(self) -> None:
        """Compute every formula again."""
        self.api.Application.CalculateFull()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Excel computes and paints nothing meanwhile."""
        app = self.api.Application
        before = app.Calculation
        app.Calculation = _MANUAL
        app.ScreenUpdating = False
        try:
            yield
        finally:
            app.ScreenUpdating = True
            app.Calculation = before
