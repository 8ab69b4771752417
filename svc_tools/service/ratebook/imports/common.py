"""What the importers share: errors, forms of files, quarters, codes, text and columns.

FileRefused              a file cannot be imported, and why
└── BrokenLine           one of its lines does not hold what it should: nothing of it is kept
OwnBookError             the book itself cannot be read or written
OwnBookChanged           the book holds other editions than the one in memory
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal

from svc_tools.service.ratebook.formats.sst import CITY, COUNTY, SPECIAL, STATE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path


class FileRefused(ValueError):  # noqa: N818 - said to a person as it is
    """A file cannot be imported; the message names it, says why and what to do."""


class BrokenLine(FileRefused):
    """A line of a file does not hold what it should.

    Attributes:
        file: the file's name.
        line: the number of the line, from 1.
    """

    def __init__(self, file: str, line: int, given: str, expected: str) -> None:
        super().__init__(
            f"{file}, line {line}: {given}; expected {expected}. Nothing of it is kept"
        )
        self.file = file
        self.line = line


class OwnBookError(ValueError):
    """The own book cannot be read or written: damaged, of another program, locked, disk full."""


class OwnBookChanged(Exception):  # noqa: N818 - an event, not a fault: load the book again
    """The own book holds other editions than the book in memory was loaded with.

    Load the book again (`load_book(own=...)`) and ask once more.
    """


Form = Literal["sst_rates", "sst_boundary", "cdtfa", "wa_dor", "wa_dor_table", "tx_taxrates"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a file is.

    Attributes:
        path: where it is.
        form: one of `Form`.
        state: the state it is of, two letters.
        edition: the quarter it is of, such as `2026Q2`.
    """

    path: Path
    form: Form
    state: str
    edition: str

    @property
    def kind(self) -> Literal["rates", "boundary"]:
        """What it holds, as editions are kept."""
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
    """A quarter as a person or a file writes it (`2026Q3`, `20263`, `2026 q3`), as `2026Q3`.

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


_LEVELS = {STATE: "state", COUNTY: "county", CITY: "city"}


def level_and_code(kind: str, code: str) -> tuple[str, str]:
    """Level and code in the book of a row of an SST rate file.

    Whatever is no state, county or city is a district. Codes are unique within a type only, so
    a district of another type than 63 carries its type: `63 80008` is `80008`, `79 80008` is
    `79-80008`.
    """
    kind, code = kind.strip().zfill(2), code.strip()
    level = _LEVELS.get(kind)
    if level:
        return level, code
    return "district", code if kind == SPECIAL else f"{kind}-{code}"


def jurisdiction_id(state: str, kind: str, code: str) -> str:
    """Id in the book of a row of an SST rate file: `MN`, `MN:county:053`, `MN:district:80008`."""
    level, code = level_and_code(kind, code)
    return state if level == "state" else f"{state}:{level}:{code}"


LARGEST = 64 * 1024 * 1024
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
        if path.stat().st_size > LARGEST:
            raise FileRefused(
                f"{path.name}: larger than {LARGEST // 2**20} MB; a rate file is not, so it may be"
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
