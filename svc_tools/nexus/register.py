"""The register of nexus records, and the small sheets that registers and plans are kept in.

A record has `state`, `nexus_type`, `registered_at`, `address` and `notes`; only the first two are
required. `read_register` reads a frame, mappings, a CSV as spreadsheets write it or a workbook, and
checks it as a whole: an error lists every problem. `list_register` lists the service's records.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self
from xml.etree.ElementTree import ParseError  # nothing is parsed here, only caught

from svc_tools.atomic import whole_file
from svc_tools.csv_files import csv_rows
from svc_tools.display import NOTHING, Note, Table, as_html, as_text, counted, plain
from svc_tools.places import state_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

NexusType = Literal["physical", "economic", "marketplace"]
NEXUS_TYPES: tuple[NexusType, ...] = ("physical", "economic", "marketplace")
"""The types of a record (SPEC 2.7)."""
FIELDS = ("state", "nexus_type", "registered_at", "address", "notes")
"""The fields of a record (WIRE)."""
DETAILS = FIELDS[2:]
"""The fields besides the state and the type that a removal addresses."""

Record = dict[str, str | None]
"""A record on the wire: the fields as text, and what a service adds."""
_NAMES = {
    "state": {"state", "state_code", "jurisdiction"},
    "nexus_type": {"nexus_type", "type", "nexus"},
    "registered_at": {
        "registered_at",
        "registered",
        "registration_date",
        "registered_on",
        "registered_since",
        "effective_date",
        "start_date",
    },
    "address": {"address"},
    "notes": {"notes", "note", "comment", "comments"},
}
_TYPES: dict[str, NexusType] = {
    "physical": "physical",
    "physical presence": "physical",
    "economic": "economic",
    "economic nexus": "economic",
    "marketplace": "marketplace",
    "marketplace facilitator": "marketplace",
}
_LONGEST_QUOTE = 40

Row = dict[str, object]
"""The cells of one row by the labels of the header; more cells than labels are under `None`."""
_SEPARATORS = (",", ";", "\t")
_GUARD = "'"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", _GUARD)
_WORKBOOKS = {".xlsx", ".xlsm"}
_OTHER_SHEETS = {".xls", ".xlsb", ".ods", ".numbers"}
_BROKEN = (zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, EOFError, IndexError)
"""What the reader raises for a file that is no workbook, or one that was cut or damaged."""

_PROBLEMS_SHOWN = 10


class ProblemsError(ValueError):
    """Base class of errors in a file that the user wrote: all problems, the first ones shown.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    of: ClassVar[str]
    """The subject of the problems, at the beginning of the message."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        shown = "; ".join(self.problems[:_PROBLEMS_SHOWN])
        more = len(self.problems) - _PROBLEMS_SHOWN
        super().__init__(
            f"{self.of}: {shown}" + (f"; and {more} more problems" if more > 0 else "")
        )

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[str, ...]]]:
        """Pickle it with its problems."""
        return type(self), (self.problems,)


class RegisterError(ProblemsError):
    """The register cannot be used as it is.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    of = "nexus register"


@dataclass(frozen=True, slots=True)
class Registration:
    """One record of the register.

    Attributes:
        state: the postal code of one of the 50 states or DC.
        nexus_type: physical, economic or marketplace.
        registered_at: the day from which it counts; `None` where the register has none: it then
            counts for every sale.
        address: where the physical presence is, if known.
        notes: free text.
        row: the number of the record, from 1; a CSV's header is not counted.
    """

    state: str
    nexus_type: NexusType
    registered_at: date | None = None
    address: str | None = None
    notes: str | None = None
    row: int = 0

    @property
    def key(self) -> tuple[str, NexusType]:
        """What a removal addresses (SPEC 4.1): the state and the type."""
        return self.state, self.nexus_type

    @property
    def texts(self) -> tuple[str, str, str, str, str]:
        """The fields as texts, the date as ISO; "" for what is missing."""
        day = "" if self.registered_at is None else self.registered_at.isoformat()
        return self.state, self.nexus_type, day, self.address or "", self.notes or ""


def day_column(days: Iterable[date | None]) -> pd.Series[pd.Timestamp]:
    """Days, or missing values, as a column of a frame that holds any year."""
    import pandas as pd  # noqa: PLC0415 - nexus works without it

    texts = [day.isoformat() if isinstance(day, date) else "NaT" for day in days]
    return pd.Series(texts, dtype="object").astype("datetime64[s]")


@dataclass(frozen=True, slots=True)
class Register:
    """All records, in the order of the register; a state and type may have several."""

    records: tuple[Registration, ...]

    @property
    def states(self) -> frozenset[str]:
        """The states that have a record."""
        return frozenset(record.state for record in self.records)

    def begins(self, *of: NexusType) -> dict[str, date | None]:
        """For each state the day of its first record of these types, or of any.

        `None` where one of them has no day.
        """
        days: dict[str, list[date | None]] = {}
        for record in self.records:
            if record.nexus_type in (of or NEXUS_TYPES):
                days.setdefault(record.state, []).append(record.registered_at)
        return {
            state: None if None in found else min(day for day in found if day is not None)
            for state, found in days.items()
        }

    def groups(self) -> dict[tuple[str, NexusType], tuple[Registration, ...]]:
        """The records by state and type, in order."""
        found: dict[tuple[str, NexusType], tuple[Registration, ...]] = {}
        for record in self.records:
            found[record.key] = (*found.get(record.key, ()), record)
        return found

    def duplicates(self) -> dict[tuple[str, NexusType], tuple[Registration, ...]]:
        """The states and types with several records: a removal would take them all (SPEC 4.1)."""
        return {key: records for key, records in self.groups().items() if len(records) > 1}

    def frame(self) -> pd.DataFrame:
        """The records as a frame with `FIELDS`; `registered_at` holds days, or NaT."""
        import pandas as pd  # noqa: PLC0415 - nexus works without it

        frame = pd.DataFrame(
            [
                (one.state, one.nexus_type, one.registered_at, one.address, one.notes)
                for one in self.records
            ],
            columns=[*FIELDS],
        )
        return frame.assign(registered_at=day_column(frame["registered_at"])).astype(
            {name: "str" for name in FIELDS if name != "registered_at"}
        )

    def write(self, path: str | Path) -> Path:
        """Write a CSV that `read_register` reads back, and that a spreadsheet does not rewrite.

        Raises:
            ValueError: it has the name of a workbook.
            OSError: it cannot be written; a file that was there is left as it was.
        """
        path = Path(path)
        rows = [[*one.texts[:3], *map(guarded, one.texts[3:])] for one in self.records]
        write_rows(path, FIELDS, rows)
        return path

    @property
    def sentence(self) -> str:
        """How many records there are, and which states and types have several."""
        counts = f"{counted(len(self.records), 'record')} in {counted(len(self.states), 'state')}"
        several = ", ".join(f"{state} {kind}" for state, kind in self.duplicates())
        return f"{counts}; several of one kind: {several}." if several else f"{counts}."

    def __str__(self) -> str:
        """The register as text."""
        return as_text(Note(self.sentence), *self._tables)

    def __repr__(self) -> str:
        """One line: the counts."""
        return f"<Register: {self.sentence}>"

    def _repr_html_(self) -> str:
        return as_html(Note(self.sentence), *self._tables)

    @property
    def _tables(self) -> tuple[Table, ...]:
        heads = ("State", "Type", "Registered at", "Address", "Notes")
        rows = [tuple(plain(cell) or NOTHING for cell in one.texts) for one in self.records]
        return (Table(heads, rows, "Nexus register"),) if rows else ()


_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")


def read_register(source: object) -> Register:
    """Read a register: the path of a CSV or a workbook, a frame, mappings, or a `Register`.

    A file has a header; of a workbook the first sheet is read. States may be codes or names,
    types in any case, dates `date` or ISO text. Names of columns are understood in any case and
    with blanks ("Nexus Type").

    Raises:
        RegisterError: a column is missing, or records cannot be read; it lists them all.
        TypeError: it is something else.
        FileNotFoundError: there is no such file.
        ImportError: it is a workbook, and openpyxl is not installed.
    """
    if isinstance(source, Register):
        return source
    rows: list[dict[str, object]]
    if isinstance(source, str | Path):
        table = sheet_table(Path(source), refused=lambda said: RegisterError([said]))
        rows = rows_below(table)[1] or [{}]
    else:
        rows = _mappings(source)
    labels = _labels(rows)
    problems: list[str] = []
    records = [_record(number, row, labels, problems) for number, row in enumerate(rows, 1)]
    if problems:
        raise RegisterError(problems)
    return Register(tuple(record for record in records if record is not None))


def state_of(value: object) -> str | None:
    """The postal code of a state that a cell names; `None` for anything else."""
    code = state_code(value) if isinstance(value, str) else None
    return code if isinstance(code, str) else None


def nexus_type_of(value: object) -> NexusType | None:
    """The type that a cell names; `None` for anything else."""
    return _TYPES.get(" ".join(re.split(r"[\s_-]+", str(value).strip().casefold())))


def _mappings(source: object) -> list[dict[str, object]]:
    """The records of a frame or of mappings; anything with `to_dict` is taken for a frame."""
    records = getattr(source, "to_dict", None)
    rows = records("records") if callable(records) else source
    if not isinstance(rows, Iterable) or isinstance(rows, Mapping):
        raise TypeError(f"nexus: expected records, a frame or a path, not {type(rows).__name__}")
    found = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"nexus: expected a mapping for each record, not {type(row).__name__}")
        found.append(dict(row))
    return found


def _labels(rows: list[dict[str, object]]) -> dict[str, str]:
    """Which column of the register holds which field."""
    columns = columns_of(rows)
    labels: dict[str, str] = {}
    problems: list[str] = []
    for field, names in _NAMES.items():
        found = [label for label in columns if plain_label(label) in names]
        exact = [label for label in found if plain_label(label) == field]
        if len(exact or found) > 1:
            problems.append(f"several columns hold the {field}: {', '.join(map(repr, found))}")
        elif found:
            labels[field] = (exact or found)[0]
        elif rows and field in {"state", "nexus_type"}:
            there = ", ".join(map(str, columns)) or "none"
            problems.append(f"no column {field!r} (there are: {there})")
    if problems:
        raise RegisterError(problems)
    return labels


def _record(
    number: int, row: Mapping[str, object], labels: Mapping[str, str], problems: list[str]
) -> Registration | None:
    cells = {field: cell_of(row.get(label)) for field, label in labels.items()}
    if all(cell is None for cell in cells.values()):
        return None  # an empty line
    state = state_of(cells.get("state"))
    kind = nexus_type_of(cells.get("nexus_type"))
    try:
        since = day_of(cells.get("registered_at"))
    except ValueError as error:
        problems.append(f"row {number}: {error}")
        since = None
    if None in row:
        problems.append(f"row {number} has more cells than the header; quote text with commas")
    if state is None:
        problems.append(f"row {number}: {_quoted('state', cells)} is no US state")
    if kind is None:
        expected = ", ".join(NEXUS_TYPES)
        problems.append(f"row {number}: {_quoted('nexus_type', cells)} is none of {expected}")
    if state is None or kind is None:
        return None
    address, notes = (cells.get(field) for field in ("address", "notes"))
    return Registration(
        state,
        kind,
        since,
        None if address is None else str(address),
        None if notes is None else str(notes),
        number,
    )


def day_of(value: object) -> date | None:
    """The day of a cell: a date, or ISO text; `None` for an empty one.

    Raises:
        ValueError: it is something else.
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, str) and _ISO.fullmatch(value):
        try:
            return datetime.fromisoformat(value).date()
        except ValueError:
            pass
    raise ValueError(
        f"registered_at {str(value)[:_LONGEST_QUOTE]!r} is not a date such as 2026-05-01"
    )


def _quoted(field: str, cells: Mapping[str, object | None]) -> str:
    value = cells.get(field)
    return f"a missing {field}" if value is None else f"{field} {str(value)[:_LONGEST_QUOTE]!r}"


_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")
"""The first line with which some spreadsheets declare the separator."""
_REWRITTEN = re.compile(
    r"(?:[\W\d_]|jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*"
    r"|mon\w*|tue\w*|wed\w*|thu\w*|fri\w*|sat\w*|sun\w*|[ap]m?|[etz]|true|false)+",
    re.IGNORECASE,
)
"""Texts that a spreadsheet might convert to a number, a date, a time or a truth value."""


def sheet_table(path: Path, *, refused: Callable[[str], ValueError]) -> list[list[object]]:
    """The cells of a sheet, row by row. A CSV may have any of the usual separators.

    Args:
        path: a CSV file, or a workbook (`.xlsx`), of which the first sheet is read.
        refused: makes the error from a message.

    Raises:
        ValueError: as `refused` makes it: the file cannot be read as a sheet.
        FileNotFoundError: there is no such file.
        ImportError: it is a workbook, and openpyxl is not installed.
    """
    if not path.is_file():
        raise FileNotFoundError(f"nexus: there is no file {str(path)!r}")
    if path.suffix.lower() in _OTHER_SHEETS:
        raise refused(f"{path.name} is of a kind that is not read; save it as .xlsx or CSV (UTF-8)")
    if path.suffix.lower() in _WORKBOOKS:
        return _workbook(path, refused)
    text = _text(path.read_bytes(), path.name, refused)
    try:
        return _csv(text)
    except csv.Error as error:
        raise refused(f"{path.name} is no CSV that can be read: {error}") from None


def rows_below(table: Sequence[Sequence[object]], start: int = 0) -> tuple[int, list[Row]]:
    """The rows below the header, which is the first row from `start` on that is not empty.

    Returns:
        The number of the first of them in the table, from 1; and the rows, empty ones too.
    """
    head = next((at for at in range(start, len(table)) if any(map(_has_value, table[at]))), None)
    if head is None:
        return start + 1, []
    labels = _numbered(str(label).strip() if _has_value(label) else "" for label in table[head])
    rows = [_row(labels, cells) for cells in table[head + 1 :]]
    return head + 2, rows or [dict.fromkeys(labels)]


def columns_of(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """The labels that the rows have, in order."""
    return [*dict.fromkeys(label for row in rows for label in row if label)]


def plain_label(label: object) -> str:
    """A label as it is compared: "Nexus Type" is `nexus_type`."""
    return re.sub(r"[^a-z]+", "_", str(label).strip().lower()).strip("_")


def cell_of(value: object) -> object | None:
    """A value, or nothing where it is missing: blank text, NaN, NaT."""
    if isinstance(value, str):
        return value.strip() or None
    missing = value is None or str(value) in {"nan", "NaT", "<NA>"}
    return None if missing else value


def guarded(text: str) -> str:
    """The text, behind an apostrophe where a spreadsheet would compute or convert it."""
    risky = text.startswith(_FORMULA) or _REWRITTEN.fullmatch(text) is not None
    return _GUARD + text if risky else text


def unguarded(text: str) -> str:
    """The text without the apostrophe of `guarded`."""
    bare = text.removeprefix(_GUARD)
    return bare if guarded(bare) == text else text


def require_csv(path: Path) -> None:
    """Refuse to write text under a name by which a spreadsheet expects a workbook.

    Raises:
        ValueError: it is the name of a workbook.
    """
    if path.suffix.lower() in _WORKBOOKS | _OTHER_SHEETS:
        raise ValueError(f"{path.name}: a CSV is what is written; name it .csv")


def write_rows(
    path: Path,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    above: Iterable[Sequence[str]] = (),
    private: bool = False,
) -> None:
    """Write a CSV (UTF-8, marked as such for spreadsheets), whole or not at all.

    Args:
        path: where.
        heads: the labels of the columns.
        rows: the cells.
        above: rows that come before the labels.
        private: nobody else may read it.

    Raises:
        ValueError: it has the name of a workbook.
        OSError: it cannot be written; a file that was there is left as it was.
    """
    require_csv(path)
    with (
        whole_file(path) as draft,
        draft.open("w", encoding="utf-8-sig", newline="") as file,
    ):
        if private:
            draft.chmod(0o600)
        writer = csv.writer(file)
        writer.writerows([*above, heads, *rows])


def _has_value(value: object) -> bool:
    return cell_of(value) is not None


def _numbered(labels: Iterable[str]) -> list[str]:
    """The labels, repeated ones numbered: no column silently hides another."""
    seen: Counter[str] = Counter()
    numbered = []
    for label in labels:
        seen[label] += 1
        numbered.append(f"{label} ({seen[label]})" if label and seen[label] > 1 else label)
    return numbered


def _row(labels: Sequence[str], cells: Sequence[object]) -> Row:
    row: Row = dict(zip(labels, [*cells, *[None] * len(labels)], strict=False))
    row.pop("", None)
    row = {label: unguarded(cell) if isinstance(cell, str) else cell for label, cell in row.items()}
    if any(map(_has_value, cells[len(labels) :])):
        row[None] = cells[len(labels) :]  # type: ignore[index]  # as csv.DictReader does
    return row


def _text(data: bytes, name: str, refused: Callable[[str], ValueError]) -> str:
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise refused(f"{name} is not UTF-8 text; save it as CSV (UTF-8)") from None


def _csv(text: str) -> list[list[object]]:
    declared = _SEPARATOR_LINE.match(text)
    body = text[declared.end() :] if declared else text
    lines = (line for line in body.splitlines() if line.strip(" ,;\t"))
    header = next((line for line in lines if not line.startswith(("#", '"#'))), "")
    separator = declared[1] if declared else max(_SEPARATORS, key=header.count)
    return [cells for _, cells in csv_rows(io.StringIO(body, newline=""), separator)]


def _workbook(path: Path, refused: Callable[[str], ValueError]) -> list[list[object]]:
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError as error:
        raise ImportError(
            "nexus: to read a workbook: pip install 'svc-tax-tools[report]', or save the sheet as"
            f" CSV (UTF-8) ({error})"
        ) from None
    try:
        with warnings.catch_warnings():  # about styles and the like, which are not read
            warnings.simplefilter("ignore", UserWarning)
            book = load_workbook(path, read_only=True, data_only=True)
            try:
                sheet = book.worksheets[0]
                sheet.reset_dimensions()
                return [[*cells] for cells in sheet.iter_rows(values_only=True)]
            finally:
                book.close()
    except _BROKEN as error:
        raise refused(f"{path.name} is no workbook that can be read: {error}") from None
