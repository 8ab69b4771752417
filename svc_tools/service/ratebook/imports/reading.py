"""What readers of official files share: errors, forms, quarters, lines of text, their result.

FileRefused              a file cannot be imported, and why
└── BrokenLine           one of its lines does not hold what it should: nothing is imported
OwnBookError             the book itself cannot be read or written
OwnBookChanged           the book holds other editions than the one in memory
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

from svc_tools.service.ratebook.imports.draft import Draft, Report, spans_overlap
from svc_tools.service.ratebook.schema import (
    Area,
    Jurisdiction,
    RateRow,
    Source,
    StateRow,
    read_table,
    table_text,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.schema import County


class FileRefused(ValueError):  # noqa: N818 - the message is shown as it is
    """A file cannot be imported; the message names it, says why and what to do."""


class BrokenLine(FileRefused):
    """A line of a file does not hold what it should.

    Attributes:
        file: the file's name.
        line: the number of the line, from 1.
    """

    def __init__(self, file: str, line: int, given: str, expected: str) -> None:
        super().__init__(
            f"{file}, line {line}: {given}; expected {expected}. Nothing of it was imported"
        )
        self.file = file
        self.line = line


FileForm = Literal["sst_rates", "sst_boundary", "cdtfa", "wa_dor", "wa_dor_table", "tx_taxrates"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a file is.

    Attributes:
        path: where it is.
        form: one of `FileForm`.
        state: the state it is of, two letters.
        edition: the quarter it is of, such as `2026Q2`.
    """

    path: Path
    form: FileForm
    state: str
    edition: str

    @property
    def kind(self) -> Literal["rates", "boundary"]:
        """What it holds, as the kind of an edition."""
        return "boundary" if self.form == "sst_boundary" else "rates"


_QUARTER = re.compile(
    r"(?P<year>(?:19|20)\d{2})[-_ ]?Q?(?P<quarter>[1-4])", re.ASCII | re.IGNORECASE
)
_IN_NAME = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d{2})[-_ ]?Q(?P<quarter>[1-4])(?!\d)", re.ASCII | re.IGNORECASE
)
_ISO = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d{2})[-_]?(?P<month>\d{2})[-_]?(?P<day>\d{2})(?!\d)", re.ASCII
)
_US = re.compile(
    r"(?<!\d)(?P<month>\d{1,2})[-_](?P<day>\d{1,2})[-_](?P<year>(?:20)?\d{2})(?!\d)", re.ASCII
)


def read_quarter(text: str) -> str:
    """A quarter as users and files write it (`2026Q3`, `20263`, `2026 q3`), as `2026Q3`.

    Raises:
        ValueError: not a quarter.
    """
    found = _QUARTER.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text.strip()!r} is not a quarter; expected one such as 2026Q3")
    return f"{found['year']}Q{found['quarter']}"


def quarter_of(day: date) -> str:
    """The quarter a day lies in."""
    return f"{day.year}Q{(day.month + 2) // 3}"


def quarter_begin(quarter: str) -> date:
    """The first day of a quarter."""
    year, number = quarter.split("Q")
    return date(int(year), int(number) * 3 - 2, 1)


def quarter_end(quarter: str, *, later: int = 0) -> date:
    """The last day of a quarter, or of the one `later` quarters after it."""
    begin = quarter_begin(quarter)
    months = begin.year * 12 + begin.month + 2 + 3 * later
    return date(months // 12, months % 12 + 1, 1) - timedelta(days=1)


def named_quarter(name: str) -> str | None:
    """The quarter a name speaks of: `MNR2026Q2FEB18.csv`, `rates_2026-04-01.csv`, `Rates4-1-26`.

    `None` where it names none, or something that is no date.
    """
    if found := _IN_NAME.search(name):
        return f"{found['year']}Q{found['quarter']}"
    for pattern in (_ISO, _US):
        if found := pattern.search(name):
            year = int(found["year"])
            try:
                return quarter_of(
                    date(year if year > 99 else 2000 + year, int(found["month"]), int(found["day"]))  # noqa: PLR2004 - a two-digit year
                )
            except ValueError:
                continue
    return None


_LARGEST = 64 * 1024 * 1024
"""Bytes that a rate file may have: the largest published ones have a few millions."""
_SHOWN = 80


def shown(text: str) -> str:
    """A text for a message: quoted, and cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def decoded(data: bytes) -> str:
    """The text of bytes: UTF-8 (with or without a byte order mark), else the older Windows set."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def read_text(path: Path) -> tuple[str, bytes]:
    """A rate file's text and its bytes.

    Raises:
        FileRefused: it cannot be read, or it is too large to be a rate file.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise FileRefused(
                f"{path.name}: larger than {_LARGEST // 2**20} MB; a rate file is not, so it may be"
                " another kind of file"
            )
        data = path.read_bytes()
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    return decoded(data), data


def csv_lines(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line that is not blank.

    Raises:
        BrokenLine: a field runs on for ever, as behind a quotation mark that is never closed.
    """
    reader = csv.reader(io.StringIO(text, newline=""))
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise BrokenLine(
                name, reader.line_num, str(error), "fields separated by commas"
            ) from error
        if any(field.strip() for field in fields):
            yield reader.line_num, fields


def tab_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line that is not blank, separated by tabs."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r").split("\t")


def without_blank_end(fields: Sequence[str], width: int) -> Sequence[str]:
    """Fields without the blank ones that commas at the end of a line make."""
    count = len(fields)
    while count > width and not fields[count - 1].strip():
        count -= 1
    return fields[:count] if count < len(fields) else fields


def column_name(text: str) -> str:
    """A column's name without its case and punctuation: `Effective_Date` is `effective date`."""
    return " ".join(re.split(r"[\s_]+", text.strip().casefold()))


def rows_by_column(
    text: str, name: str, needed: Collection[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Number and fields of every row behind the header.

    Args:
        text: the file.
        name: its name, for messages.
        needed: the columns the header must have, as `column_name` gives them.

    Raises:
        BrokenLine: a row has another number of columns than the header.
    """
    header: list[str] = []
    for number, fields in csv_lines(text, name):
        if not header:
            columns = [column_name(field) for field in fields]
            header = columns if set(needed) <= set(columns) else []
            continue
        extra = [field for field in fields[len(header) :] if field.strip()]
        if len(fields) < len(header) or extra:
            raise BrokenLine(name, number, f"{len(fields)} columns", f"{len(header)}")
        yield number, dict(zip(header, (field.strip() for field in fields), strict=False))


_TABLES: dict[str, type] = {
    "states": StateRow,
    "sources": Source,
    "jurisdictions": Jurisdiction,
    "areas": Area,
    "rates": RateRow,
}


@dataclass(frozen=True, slots=True)
class OwnTables:
    """The rows of one rate file in the schema of the book.

    Attributes:
        states: one row: what the book claims for the state with these rates.
        sources: where the rows come from.
        jurisdictions: who levies them.
        areas: whose rates add up where.
        rates: the rates. Where the file names no state rate, the shipped book's serves.
    """

    states: list[StateRow]
    sources: list[Source]
    jurisdictions: list[Jurisdiction]
    areas: list[Area]
    rates: list[RateRow]

    def texts(self) -> dict[str, str]:
        """CSV text by name of the table."""
        return {name: table_text(getattr(self, name), row) for name, row in _TABLES.items()}

    @staticmethod
    def read(texts: Mapping[str, str]) -> OwnTables:
        """The rows of CSV texts, which another release may have written.

        Raises:
            ValueError: a table is not there, or does not hold what the schema says.
        """
        missing = _TABLES.keys() - texts.keys()
        if missing:
            raise ValueError(f"without the tables {', '.join(sorted(missing))}")
        return OwnTables(
            *(
                read_table(texts[name], row, name, other_release=True)
                for name, row in _TABLES.items()
            )
        )


@dataclass(frozen=True, slots=True)
class ReadRateFile:
    """One rate file, read.

    Attributes:
        tables: its rows.
        covers_from: the first day it speaks of.
        continues: whether it lists the rates of its own quarters only, so that those of earlier
            days stay as the book had them; otherwise it brings its own history.
        report: what was left out, settled, noted.
        rows: how many lines were taken over.
    """

    tables: OwnTables
    covers_from: date
    continues: bool
    report: Report
    rows: int


def seeded(states: Mapping[str, StateRow], counties: Mapping[tuple[str, str], County]) -> Draft:
    """A draft that knows the states and counties of a book, and nothing else of it."""
    return Draft(Report(), states=dict(states), counties=dict(counties))


def add_source(
    draft: Draft, found: Recognised, name: str, publisher: str, *, complete_from: date | None = None
) -> str:
    """Add the file as a source; its id is unlike any of the shipped book."""
    key = f"own-{found.state.lower()}-{found.edition}"
    draft.sources[key] = Source(
        key,
        f"{name} ({found.path.name})",
        publisher,
        found.edition,
        "official figures, imported by the user",
        "official",
        complete_from,
        quarter_end(found.edition),
        quarter_end(found.edition, later=2),
    )
    return key


def checked_draft(
    draft: Draft, found: Recognised, *, covers_from: date, continues: bool, rows: int
) -> ReadRateFile:
    """The draft of one state as a reading, after a last look at the whole.

    Raises:
        FileRefused: the rows contradict each other, or the file has no rows.
    """
    name = found.path.name
    if not draft.rates:
        raise FileRefused(f"{name}: not one rate in it can be used")
    for key, group in draft.rates.items():
        reason = spans_overlap(group)
        if reason:
            raise FileRefused(f"{name}: {key}: {reason}")
    tables = OwnTables(
        [draft.states[found.state]],
        list(draft.sources.values()),
        sorted(draft.jurisdictions.values(), key=lambda row: row.id),
        sorted(draft.areas.values(), key=lambda row: row.id),
        sorted(
            (row for rows in draft.rates.values() for row in rows),
            key=lambda row: (row.jurisdiction, str(row.begin or "")),
        ),
    )
    return ReadRateFile(tables, covers_from, continues, draft.report, rows)


def row_on(rows: Iterable[RateRow], day: date) -> RateRow | None:
    """The row of one jurisdiction that is in force on a day."""
    return next((row for row in rows if holds(row, day)), None)


def holds(row: RateRow, day: date) -> bool:
    """Whether a row is in force on a day."""
    return (row.begin or date.min) <= day and (row.end is None or day <= row.end)
