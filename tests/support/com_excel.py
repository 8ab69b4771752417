"""A small Excel as COM shows it: cells, what is typed, formulas, spilling, protection.

Only what this project touches, and as Excel does it: an error value is an integer, one cell is a
scalar, several are rows, and a text that looks like a number becomes one.
"""

# ruff: noqa: N802, ARG002 - the names and arguments are Excel's

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from types import SimpleNamespace

import openpyxl
from openpyxl.utils.cell import get_column_letter, range_boundaries

from svc_tools.excel.formulas import calls_in

RANGE_IID = "{00020846-0000-0000-C000-000000000046}"
MISSING = -2147352572
NOT_AVAILABLE = -2146826246
SPILL = -2146828288 + 2045
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001 - a cell's day has no zone
_NULL = None


class ComError(Exception):
    """pywintypes.com_error: Excel refuses."""

    hresult = -2146827284


@dataclass
class Cell:
    """What a cell holds; `style` is "date", "currency" or "text" where it is formatted so."""

    value: object = None
    formula: str = ""
    style: str = ""
    spills: tuple | None = None
    anchor: tuple | None = None
    legacy: bool = False


@dataclass
class Range:
    """Cells of a sheet: rows and columns from 1."""

    sheet: Sheet
    row: int
    column: int
    height: int = 1
    width: int = 1
    Areas: list = field(default_factory=list)

    def __post_init__(self):
        attributes = SimpleNamespace(iid=RANGE_IID)
        info = SimpleNamespace(GetTypeAttr=lambda: attributes)
        self._oleobj_ = SimpleNamespace(GetTypeInfo=lambda: info)
        self.Areas = self.Areas or [self]
        self.Font = SimpleNamespace()

    Worksheet = property(lambda self: self.sheet)
    Parent = property(lambda self: self.sheet)
    Application = property(lambda self: self.sheet.book.app)
    Row = property(lambda self: self._counted("Row", self.row))
    Column = property(lambda self: self.column)
    Count = property(lambda self: self.height * self.width)
    Rows = property(lambda self: SimpleNamespace(Count=self.height))
    Columns = property(lambda self: SimpleNamespace(Count=self.width))

    @property
    def Address(self):
        first = f"${get_column_letter(self.column)}${self.row}"
        if (self.height, self.width) == (1, 1):
            return first
        last = f"${get_column_letter(self.column + self.width - 1)}${self.row + self.height - 1}"
        return f"{first}:{last}"

    def _counted(self, name, value):
        self.sheet.book.app.reads.append((name, self.Address if name != "Row" else ""))
        return value

    def _keys(self):
        return [
            [(self.row + down, self.column + across) for across in range(self.width)]
            for down in range(self.height)
        ]

    def _get(self, name, read):
        self._counted(name, None)
        cells = self.sheet.cells
        rows = tuple(
            tuple(read(cells.get(key) or Cell(), key) for key in row) for row in self._keys()
        )
        return rows[0][0] if (self.height, self.width) == (1, 1) else rows

    def _put(self, values, write):
        if self.sheet.protected:
            raise ComError("the sheet is protected")
        for row, keys in enumerate(self._keys()):
            for column, key in enumerate(keys):
                value = values[row][column] if isinstance(values, tuple | list) else values
                self.sheet.book.app.written(self.sheet, key)
                write(key, value)

    @property
    def Value(self):
        return self._get("Value", lambda cell, _: self.sheet.shown(cell))

    @property
    def Value2(self):
        return self._get("Value2", lambda cell, _: cell.value)

    @Value2.setter
    def Value2(self, values):
        self._put(values, self.sheet.type)

    @property
    def Formula(self):
        return self._get("Formula", lambda cell, _: cell.formula or self.sheet.typed(cell))

    @Formula.setter
    def Formula(self, values):
        self._put(values, self.sheet.type)

    @property
    def Formula2(self):
        if not self.sheet.book.app.dynamic:
            raise AttributeError("Formula2")
        return self.Formula

    @property
    def NumberFormat(self):
        return {True: "@", False: "General"}.get(self._each(lambda cell: cell.style == "text"))

    def _each(self, test):
        cells = self.sheet.cells
        found = {bool(test(cells.get(key) or Cell())) for row in self._keys() for key in row}
        return found.pop() if len(found) == 1 else _NULL

    @property
    def HasSpill(self):
        if not self.sheet.book.app.dynamic:
            raise AttributeError("HasSpill")
        return self._each(lambda cell: not cell.legacy and (cell.spills or cell.anchor))

    @property
    def HasArray(self):
        return self._each(lambda cell: cell.legacy)

    @property
    def SpillParent(self):
        cell = self.sheet.cells[self.row, self.column]
        return Range(self.sheet, *(cell.anchor or (self.row, self.column)))

    @property
    def SpillingToRange(self):
        cell = self.sheet.cells[self.row, self.column]
        if cell.spills is None:
            raise ComError("not the cell that spills")
        return Range(self.sheet, self.row, self.column, *cell.spills)

    @property
    def CurrentArray(self):
        parent = self.SpillParent
        shape = self.sheet.cells[parent.row, parent.column].spills
        return Range(self.sheet, parent.row, parent.column, *shape)

    @property
    def ListObject(self):
        for table in self.sheet.tables:
            if table.holds(self.row, self.column):
                return table
        return None

    def ClearContents(self):
        self._put(None, self.sheet.type)


@dataclass
class Table:
    """An Excel table: headings in its first row."""

    sheet: Sheet
    Name: str
    row: int
    column: int
    headings: tuple
    height: int

    def holds(self, row, column):
        across = column - self.column
        return 0 <= row - self.row <= self.height and 0 <= across < len(self.headings)

    @property
    def ListColumns(self):
        return _Columns(self)

    @property
    def DataBodyRange(self):
        rows = (self.row + 1, self.column, self.height, len(self.headings))
        return Range(self.sheet, *rows) if self.height else None


class _Columns:
    def __init__(self, table):
        self._table = table

    def __iter__(self):
        return (SimpleNamespace(Name=one) for one in self._table.headings)

    def __call__(self, heading):
        one = self._table
        if heading not in one.headings:
            raise ComError("no such column")
        at = one.column + one.headings.index(heading)
        return SimpleNamespace(Range=Range(one.sheet, one.row, at, one.height + 1))


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def serial(day):
    whole = day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)  # noqa: DTZ001
    return (whole - FIRST_DAY) / timedelta(days=1)


@dataclass
class Sheet:
    """A sheet of a workbook."""

    book: Book
    Name: str
    cells: dict = field(default_factory=dict)
    tables: list = field(default_factory=list)
    protected: bool = False

    Parent = property(lambda self: self.book)
    Application = property(lambda self: self.book.app)
    ProtectContents = property(lambda self: self.protected)
    ListObjects = property(lambda self: self.tables)

    def Range(self, first, last=None):
        if isinstance(first, Range):
            if last is None:
                return first
            rows = sorted((first.row, last.row)), sorted((first.column, last.column))
            (top, bottom), (left, right) = rows
            return Range(self, top, left, bottom - top + 1, right - left + 1)
        try:
            left, top, right, bottom = range_boundaries(first)
        except ValueError:
            raise ComError(f"no range {first}") from None
        return Range(self, top, left, bottom - top + 1, right - left + 1)

    def Cells(self, row, column):
        return Range(self, row, column)

    def Activate(self):
        self.book.active = self

    @property
    def UsedRange(self):
        used = [key for key, cell in self.cells.items() if cell.formula or cell.value is not None]
        if not used:
            return Range(self, 1, 1)
        rows, columns = [key[0] for key in used], [key[1] for key in used]
        top, left = min(rows), min(columns)
        return Range(self, top, left, max(rows) - top + 1, max(columns) - left + 1)

    def __setitem__(self, address, value):
        row, column = self.Range(address).row, self.Range(address).column
        if isinstance(value, date):
            self.cells[row, column] = Cell(serial(value), style="date")
        elif isinstance(value, Cell):
            self.cells[row, column] = value
        else:
            self.type((row, column), value)

    def __getitem__(self, address):
        found = self.Range(address)
        return self.cells.get((found.row, found.column)) or Cell()

    def put_array(self, key, formula, shape, *, legacy=True):
        row, column = key
        for down in range(shape[0]):
            for across in range(shape[1]):
                at = (row + down, column + across)
                first = at == key
                own = formula if legacy or first else ""
                self.cells[at] = Cell(None, own, "", shape if first else None, key, legacy)
        self.book.app.calculate(self, key)

    def type(self, key, value):
        """What a person who types this gets."""
        old = self.cells.get(key) or Cell()
        if old.legacy and old.spills != (1, 1):
            top = old.anchor
            if top != key and self.cells.get(top, Cell()).legacy:
                raise ComError("part of an array cannot be changed")
        if old.spills and not old.legacy:
            for at in [at for at, cell in self.cells.items() if cell.anchor == key]:
                del self.cells[at]
        if old.legacy:
            for at in [at for at, cell in self.cells.items() if cell.anchor == old.anchor]:
                self.cells[at] = Cell()
        if value is None or value == "":
            self.cells.pop(key, None)
        elif old.style == "text":
            self.cells[key] = Cell(str(value).removeprefix("'"), "", "text")
        elif isinstance(value, str) and value.startswith("="):
            self.cells[key] = Cell(None, value, old.style)
            self.book.app.calculate(self, key)
        else:
            self.cells[key] = Cell(_typed(value), "", old.style)

    def shown(self, cell):
        if isinstance(cell.value, float) and cell.style == "date":
            return FIRST_DAY + timedelta(days=cell.value)
        return cell.value

    def typed(self, cell):
        value = cell.value
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def loaded(book, path):
    """A workbook file opened: its cells, tables and names, nothing computed yet."""

    file = openpyxl.load_workbook(path)
    for one in file.worksheets:
        sheet = book.add(one.title)
        for cell in (cell for row in one.iter_rows() for cell in row if cell.value is not None):
            value = getattr(cell.value, "text", cell.value)
            key = (cell.row, cell.column)
            if isinstance(value, str) and value.startswith("="):
                sheet.cells[key] = Cell(None, value)
            elif isinstance(value, date):
                sheet.cells[key] = Cell(serial(value), style="date")
            else:
                kind = float if type(value) is int else type(value)
                sheet.cells[key] = Cell(kind(value))
        for table in one.tables.values():
            cells = sheet.Range(table.ref)
            headings = tuple(column.name for column in table.tableColumns)
            sheet.tables.append(
                Table(sheet, table.name, cells.row, cells.column, headings, cells.height - 1)
            )
    for name, defined in file.defined_names.items():
        title, _, address = defined.attr_text.rpartition("!")
        book.names[name] = book.sheet(title.strip("'")).Range(address.replace("$", ""))
    file.close()


@dataclass
class Book:
    """A workbook."""

    app: App
    Name: str = "orders.xlsm"
    Date1904: bool = False
    names: dict = field(default_factory=dict)
    sheets: list = field(default_factory=list)
    active: object = None

    Application = property(lambda self: self.app)
    Parent = property(lambda self: self.app)
    FullName = property(lambda self: self.Name)
    Selection = property(lambda self: self.app.Selection)

    @property
    def ActiveSheet(self):
        return self.active or self.sheets[0]

    def add(self, name):
        self.sheets.append(Sheet(self, name))
        return self.sheets[-1]

    def sheet(self, name):
        return next(one for one in self.sheets if one.Name == name)

    @property
    def Worksheets(self):
        return _Sheets(self)

    Sheets = Worksheets

    @property
    def Names(self):
        return _Names(self.names)


class _Names:
    def __init__(self, names):
        self._names = names

    def __iter__(self):
        return map(self, self._names)

    def __call__(self, name):
        if name not in self._names:
            raise ComError(f"no name {name}")
        target = self._names[name]
        if isinstance(target, str):
            return SimpleNamespace(Name=name, RefersTo=target, RefersToR1C1=target)
        where = f"='{target.sheet.Name}'!{target.Address}"
        whole = f"={target.sheet.Name}!R{target.row}C{target.column}"
        return SimpleNamespace(Name=name, RefersToRange=target, RefersTo=where, RefersToR1C1=whole)


class _Sheets:
    def __init__(self, book):
        self.book = book

    def __iter__(self):
        return iter(self.book.sheets)

    def __call__(self, name):
        if isinstance(name, int):
            return self.book.sheets[name - 1]
        for one in self.book.sheets:
            if one.Name.casefold() == name.casefold():
                return one
        raise ComError(f"no sheet {name}")

    @property
    def Count(self):
        return len(self.book.sheets)

    def Add(self, Before=None, After=None):  # noqa: N803 - Excel's names
        return self.book.add(f"Sheet{len(self.book.sheets) + 1}")


@dataclass
class App:
    """Excel itself.

    Attributes:
        dynamic: whether arrays spill; older versions have array formulas alone.
        reads: what was read over COM, in order.
        typed: what a person types into the next input boxes; `False` for Cancel.
        pressed: the buttons that a person presses in the next message boxes.
        asked: the input boxes that were shown.
        told: the message boxes that were shown.
        on_write: called with (sheet, key) before a cell is written.
        call: computes a call of a function: (name, arguments, calling cell).
    """

    dynamic: bool = True
    reads: list = field(default_factory=list)
    typed: list = field(default_factory=list)
    pressed: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    told: list = field(default_factory=list)
    on_write: object = None
    call: object = None
    Selection: object = None
    Calculation: int = -4105
    CalculationState: int = 0
    ScreenUpdating: bool = True
    StatusBar: object = False
    Hwnd: int = 1
    calculated: int = 0
    books: list = field(default_factory=list)

    def book(self, **more):
        self.books.append(Book(self, **more))
        return self.books[-1]

    def written(self, sheet, key):
        if self.on_write is not None:
            self.on_write(sheet, key)

    def InputBox(self, Prompt, Title=None, Type=2):  # noqa: N803 - Excel's names
        self.asked.append(Prompt)
        return self.typed.pop(0)

    def CalculateFull(self):
        self.calculated += 1
        for book in self.books:
            for sheet in book.sheets:
                for key, cell in list(sheet.cells.items()):
                    if cell.formula and cell.anchor in {None, key}:
                        self.calculate(sheet, key)

    def calculate(self, sheet, key):
        """Compute a formula that is one call of a function; other formulas keep their value."""
        cell = sheet.cells[key]
        found = calls_in(cell.formula) if re.fullmatch(r"=SVC_\w+\(.*\)", cell.formula) else []
        if self.call is None or len(found) != 1:
            return
        name, parts, _ = found[0]
        if any("(" in part for part in parts):
            return  # another function within: such cells keep their value
        given = [self._argument(sheet, one, key) for one in parts]
        value = self.call(name, given, Range(sheet, *key))
        if not isinstance(value, list):
            cell.value = _result(value)
            return
        rows = value if isinstance(value[0], list) else [value]
        shape = cell.spills if cell.legacy else (len(rows), len(rows[0]))
        if not cell.legacy:
            cell.spills = shape
        for down in range(shape[0]):
            for across in range(shape[1]):
                at = (key[0] + down, key[1] + across)
                one = sheet.cells.setdefault(at, Cell(anchor=key))
                one.anchor = key
                one.value = _result(rows[down][across])

    @staticmethod
    def _argument(sheet, text, key):
        if not text:
            return MISSING
        if text.startswith('"'):
            return text[1:-1]
        if text in sheet.book.names:
            return sheet.book.names[text]
        if NUMBER.fullmatch(text):
            return float(text)
        if "[" in text:
            return _of_table(sheet, text, key)
        return sheet.Range(text)


def _of_table(sheet, text, key):
    """A column of a table, or its cell in the row of the formula."""
    name, _, rest = text.partition("[")
    heading = re.findall(r"[^\[\],#@]+", rest.replace("#This Row", ""))[-1]
    tables = [one for of_book in sheet.book.sheets for one in of_book.tables]
    table = next(one for one in tables if name in {"", one.Name})
    cells = table.ListColumns(heading).Range
    if "@" in rest or "#This Row" in rest:
        return Range(table.sheet, key[0], cells.column)
    return Range(table.sheet, cells.row + 1, cells.column, cells.height - 1)


def _typed(text):
    """What Excel makes of what is typed: a number, a day, or a text after an apostrophe."""
    if not isinstance(text, str):
        return _result(text)
    if NUMBER.fullmatch(text):
        return float(text)
    return serial(date.fromisoformat(text)) if _DAY.fullmatch(text) else text.removeprefix("'")


def _result(value):
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
