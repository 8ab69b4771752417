"""The register of nexus records, and the sheets that users maintain by hand.

A record has `state`, `nexus_type`, `registered_at`, `address` and `notes`; only the first two are
required. `read_register` reads a frame, mappings, a CSV as spreadsheets write it or a workbook, and
checks it as a whole: an error lists every problem. `list_register` lists the service's records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeVar

from svc_tools.base.extras import needs, not_pandas
from svc_tools.show.display import NOTHING, Note, Table, as_html, as_text, counted, plain, prose
from svc_tools.tables.cells import text_of_formula
from svc_tools.tables.csv_files import FileError, guarded, unguarded, write_rows
from svc_tools.tables.dates import DateTerms, NoDate, decide, parse, read, time_zone
from svc_tools.tables.roles import DatesAmbiguous, Role, find, plain_name
from svc_tools.tables.states import us_state
from svc_tools.tables.tabular import in_which_row, read_rows
from svc_tools.tables.text_dtype import text_dtype
from svc_tools.tables.xlsx_files import CHECKED_ROWS, counts_from_1904

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    import pandas as pd

    from svc_tools.tables.csv_files import Row
    from svc_tools.tables.dates import DateStyle, Day

Checked = TypeVar("Checked")
NexusType = Literal["physical", "economic", "marketplace"]
NEXUS_TYPES: tuple[NexusType, ...] = ("physical", "economic", "marketplace")
"""The types of a record (SPEC 2.7)."""
FIELDS = ("state", "nexus_type", "registered_at", "address", "notes")
"""The fields of a record (WIRE)."""
DETAILS = FIELDS[2:]
"""The fields besides the state and the type that a removal addresses."""

Record = dict[str, str | None]
"""A record on the wire: the fields as text, and what a service adds."""
_ROLES = (
    Role("state", frozenset({"state", "state_code", "jurisdiction"}), needed=True),
    Role("nexus_type", frozenset({"nexus_type", "type", "nexus"}), needed=True),
    Role(
        "registered_at",
        frozenset(
            {
                "registered_at",
                "registered",
                "registration_date",
                "registered_on",
                "registered_since",
                "effective_date",
                "start_date",
            }
        ),
    ),
    Role("address", frozenset({"address"})),
    Role("notes", frozenset({"notes", "note", "comment", "comments"})),
)
_TYPES: dict[str, NexusType] = {
    "physical": "physical",
    "physical presence": "physical",
    "economic": "economic",
    "economic nexus": "economic",
    "marketplace": "marketplace",
    "marketplace facilitator": "marketplace",
}
_LONGEST_QUOTE = 40

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
    with needs("A register as a frame", "pandas"):
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
        with needs("A register as a frame", "pandas"):
            import pandas as pd  # noqa: PLC0415 - nexus works without it
        frame = pd.DataFrame(
            [
                (one.state, one.nexus_type, one.registered_at, one.address, one.notes)
                for one in self.records
            ],
            columns=[*FIELDS],
        )
        return frame.assign(registered_at=day_column(frame["registered_at"])).astype(
            {name: text_dtype() for name in FIELDS if name != "registered_at"}
        )

    def write(self, path: str | Path) -> Path:
        """Write a CSV that `read_register` reads back, and that a spreadsheet does not rewrite.

        Raises:
            ValueError: it has the name of a workbook.
            OSError: it cannot be written; a file that was there is left as it was.
        """
        path = Path(path)
        rows = [[*one.texts[:3], *map(guarded, one.texts[3:])] for one in self.records]
        write_rows(path, [FIELDS, *rows])
        return path

    @property
    def sentence(self) -> str:
        """How many records there are, and which states and types have several."""
        counts = f"{counted(len(self.records), 'record')} in {counted(len(self.states), 'state')}"
        several = ", ".join(f"{state} {kind}" for state, kind in self.duplicates())
        return f"{counts}; several of one kind: {several}." if several else f"{counts}."

    def __str__(self) -> str:
        """The register as text."""
        return as_text(Note(self.sentence), *self.tables)

    def __repr__(self) -> str:
        """One line: the counts."""
        return f"<Register: {self.sentence}>"

    def _repr_html_(self) -> str:
        return as_html(Note(self.sentence), *self.tables)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The records as a table, for display."""
        heads = ("State", "Type", "Registered at", prose("Address"), prose("Notes"))
        rows = [tuple(plain(cell) or NOTHING for cell in one.texts) for one in self.records]
        return (Table(heads, rows, "Nexus register"),) if rows else ()


_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")


def read_register(
    source: object, *, date_format: str | None = None, tz: str | tzinfo | None = None
) -> Register:
    """Read a register: the path of a CSV or a workbook, a frame, mappings, or a `Register`.

    A file has a header; of a workbook the first sheet is read. States may be codes or names,
    types in any case, dates in every form that `df.svc.lookup` reads. Names of columns may be in
    any case and have blanks ("Nexus Type").

    Args:
        source: the register.
        date_format: as for `df.svc.lookup`: "month first", "day first", or a format.
        tz: the time zone in which times with a zone have their date; by default as written.

    Raises:
        RegisterError: a column is missing, or records cannot be read; it lists them all.
        ValueError: the format or the time zone is not valid.
        TypeError: it is something else.
        FileNotFoundError: there is no such file.
        ImportError: it is a workbook, and openpyxl is not installed.
    """
    if isinstance(source, Register):
        return source
    role = "registered_at"
    style = DateTerms(date_format, time_zone(tz)).style(role, role)
    if isinstance(source, str | Path):
        sheet = read_sheet(Path(source), RegisterError) or [(0, [])]
        labels, *rows = [cells for _, cells in sheet]
        places = checked_names(sheet, partial(_places, required=True), RegisterError)
        style = replace(style, from_1904=counts_from_1904(Path(source)))
    else:
        labels, rows = _of_mappings(source)
        places = _places([str(label or "") for label in labels], required=bool(rows))
    problems: list[str] = []
    records = []
    every = [
        {name: present_cell(cells[at]) for name, at in places.items() if at < len(cells)}
        for cells in rows
    ]
    days = _days([values.get(role) for values in every], style, problems)
    for number, (cells, values, day) in enumerate(zip(rows, every, days, strict=True), 1):
        if any(present_cell(cell) is not None for cell in cells[len(labels) :]):
            problems.append(f"row {number} has more cells than the header; quote text with commas")
        if any(value is not None for value in values.values()):
            records.append(_record(number, values, day, problems))
    if problems:
        raise RegisterError(problems)
    return Register(tuple(record for record in records if record is not None))


def read_sheet(path: Path, error: type[ProblemsError]) -> list[Row]:
    """The rows of a CSV or a workbook's first sheet from its header on, with their numbers.

    Rows above the header that are empty are left out, and apostrophes of `guarded` taken off.

    Raises:
        ProblemsError: the file cannot be read.
        FileNotFoundError: there is no such file.
    """
    try:
        rows = read_rows(path)
    except FileError as fault:
        if fault.code == "missing":
            raise FileNotFoundError(f"{error.of}: {fault}") from None
        if fault.code == "empty":
            return []
        raise error([str(fault)]) from None
    clean = [
        (number, [_text(cell) if isinstance(cell, str) else cell for cell in cells])
        for number, cells in rows
    ]
    return [*dropwhile(lambda row: all(present_cell(cell) is None for cell in row[1]), clean)]


def checked_names(
    rows: Sequence[Row], check: Callable[[list[str]], Checked], error: type[ProblemsError]
) -> Checked:
    """What `check` finds in the names of the columns, which stand in the first row.

    Raises:
        ProblemsError: it refuses them; with the row of names that it accepts, as below a title.
    """
    (_, first), *below = rows
    try:
        return check([str(cell or "") for cell in first])
    except error as refused:
        named: list[int] = []
        for number, cells in below[:CHECKED_ROWS]:
            with suppress(error):
                check([str(cell or "") for cell in cells])
                named.append(number)
        if named:
            raise error([in_which_row(named[0])]) from refused
        raise


def _text(cell: str) -> str:
    """A cell of a CSV without the apostrophe of `guarded`, or as the text of a formula has it."""
    bare = unguarded(cell)
    return bare if bare != cell else text_of_formula(cell)


def _of_mappings(source: object) -> tuple[list[object], list[list[object]]]:
    """The labels and rows of a frame (pandas, polars, Arrow) or of mappings."""
    methods: dict[str, tuple[str, ...]] = {"to_dicts": (), "to_pylist": (), "to_dict": ("records",)}
    method = next((name for name in methods if hasattr(type(source), name)), "")
    named = "column_names" if method == "to_pylist" else "columns"
    columns = [*map(str, getattr(source, named, ()))]
    if twice := sorted({name for name in columns if columns.count(name) > 1}):
        raise RegisterError([f"the frame has several columns {', '.join(twice)}; rename them"])
    rows = getattr(source, method)(*methods[method]) if method else source
    if not isinstance(rows, Iterable) or isinstance(rows, Mapping):
        raise TypeError(f"nexus: expected records, a frame or a path, not {not_pandas(rows)}")
    found = [*rows]
    for row in found:
        if not isinstance(row, Mapping):
            raise TypeError(f"nexus: expected a mapping for each record, not {type(row).__name__}")
    labels = [*dict.fromkeys(label for row in found for label in row)]
    return labels, [[row.get(label) for label in labels] for row in found]


def _places(labels: Sequence[str], *, required: bool) -> dict[str, int]:
    """Where the fields stand; a column of exactly the field's name wins over others."""
    plain_names = [plain_name(label) for label in labels]
    names = [role.name for role in _ROLES if plain_names.count(role.name) == 1]
    named = {name: labels[plain_names.index(name)] for name in names}
    named = {name: label for name, label in named.items() if labels.count(label) == 1}
    found = find(labels, _ROLES, named)
    if found.problems and required:
        raise RegisterError([problem.fact for problem in found.problems])
    return {name: labels.index(str(label)) for name, label in found.columns.items()}


def nexus_type_of(value: object) -> NexusType | None:
    """The type that a cell names; `None` for anything else."""
    return _TYPES.get(" ".join(re.split(r"[\s_-]+", str(value).strip().casefold())))


def _days(cells: Sequence[object], style: DateStyle, problems: list[str]) -> list[Day]:
    """The days of a column of registrations, which all of its cells decide together."""
    parsed = parse(cells, style.terms)
    try:
        return read(parsed, decide([parsed], style)).days
    except DatesAmbiguous as error:
        problems.append(f"{error.fact}; give the date format, or write dates as 2026-05-31")
        return [None] * len(cells)


def _record(
    number: int, cells: Mapping[str, object | None], day: Day, problems: list[str]
) -> Registration | None:
    state = us_state(cells.get("state"))
    kind = nexus_type_of(cells.get("nexus_type"))
    if isinstance(day, NoDate):
        problems.append(f"row {number}: registered_at {day}")
    if state is None:
        problems.append(f"row {number}: {_quoted('state', cells)} is not a US state")
    if kind is None:
        expected = ", ".join(NEXUS_TYPES)
        problems.append(f"row {number}: {_quoted('nexus_type', cells)} is not one of {expected}")
    if state is None or kind is None or isinstance(day, NoDate):
        return None
    address, notes = (cells.get(field) for field in ("address", "notes"))
    return Registration(
        state,
        kind,
        day,
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


def present_cell(value: object) -> object | None:
    """A value, or nothing where it is missing: blank text, NaN, NaT."""
    if isinstance(value, str):
        return value.strip() or None
    missing = value is None or str(value) in {"nan", "NaT", "<NA>"}
    return None if missing else value
