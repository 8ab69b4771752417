"""Files of expected rates: CSV rows of a place and the rate it should have.

The header names the columns: a state, a ZIP or a city or both, the expected combined rate, and
maybe a date. A rate is a fraction (`0.0825`) or a percentage (`8.25`, `8.25%`): which of the two,
its column's name, a percent sign or its size says, and what could be either is refused.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["Expected", "Unreadable", "read_expectations", "read_file"]

_NAMES = {
    "state": "state state_code st",
    "city": "city place location city_name",
    "zip": "zip zip5 zip_code zipcode postal_code",
    "as_of": "as_of asof date effective_date",
    "rate": "rate expected expected_rate combined_rate total_rate combined total tax_rate",
}
_COLUMNS = {name: column for column, names in _NAMES.items() for name in names.split()}
_PERCENT_ENDS = ("_percent", "_pct")
_SEPARATORS = ",;\t|"
_ZIP = re.compile(r"(\d{3,5})(?:-?(\d{4}))?(?:\.0)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
# No combined rate of the United States is below 0.5 % or above 20 %.
_HIGHEST = Decimal(20)
_LOWEST = Decimal("0.5")
_TELL_EVERY = 1_000


class Expected(NamedTuple):
    """One row: a place and the rate it should have.

    Attributes:
        line: its line in the file; the header's is 1.
        state: as it stands there, in upper case.
        city: the city's name, or empty.
        zip: `78701`, `78701-1234`, or empty.
        units: the expected combined rate, in units of 10^-5.
        as_of: the day of the row, or `None`.
    """

    line: int
    state: str
    city: str
    zip: str
    units: int
    as_of: date | None


class Unreadable(NamedTuple):
    """One row that cannot be checked: its line, and what was given and expected."""

    line: int
    reason: str


@dataclass(slots=True)
class _Scale:
    """Whether the rates of the file are percentages, and the line that said so first."""

    percent: bool | None = None
    line: int = 1


def read_file(path: Path, told: Callable[[int], object]) -> Iterator[Expected | Unreadable]:
    """The rows of a file on disk; it is never held in memory as a whole.

    Args:
        path: a CSV file in UTF-8.
        told: called with the number of bytes read since it was last called.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not UTF-8, or its header is not usable.
    """

    def lines(file: Iterable[bytes]) -> Iterator[str]:
        pending = 0
        for number, raw in enumerate(file, 1):
            pending += len(raw)
            if number % _TELL_EVERY == 0:
                told(pending)
                pending = 0
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path.name}, line {number}: not UTF-8; save the file as CSV UTF-8"
                ) from error
        told(pending)

    with path.open("rb") as opened:
        yield from read_expectations(lines(opened), path.name)


def read_expectations(lines: Iterable[str], name: str) -> Iterator[Expected | Unreadable]:
    """The rows of a file, one at a time; what cannot be read comes with its line and the reason.

    Args:
        lines: the text of the file, line by line.
        name: what the file is called in messages.

    Raises:
        ValueError: the header lacks a column, or names one twice.
    """
    text = iter(lines)
    first = next(text, "")
    separator = max(_SEPARATORS, key=first.count)
    header = first.rstrip("\r\n").replace('"', "").split(separator)
    columns, percent = _columns(header, name)
    scale = _Scale(percent=True if percent else None)
    rows = csv.reader(text, delimiter=separator)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Unreadable(rows.line_num + 1, f"not CSV: {error}")
            continue
        line = rows.line_num + 1
        if not any(map(str.strip, row)):
            continue
        if len(row) != len(header):
            yield Unreadable(line, f"{len(row)} columns, the header has {len(header)}")
            continue
        cells = {column: row[index].strip() for column, index in columns.items()}
        try:
            yield _expected(line, cells, scale)
        except ValueError as error:
            yield Unreadable(line, str(error))


def _columns(header: Sequence[str], name: str) -> tuple[dict[str, int], bool]:
    """Where each column stands, and whether the rate's name says that it is a percentage."""
    found: dict[str, int] = {}
    percent = False
    for index, head in enumerate(header):
        words = head.lower().replace("(%)", " pct").replace("%", " pct").replace("-", " ")
        plain = "_".join(words.split())
        for end in _PERCENT_ENDS:
            if plain.endswith(end) and _COLUMNS.get(plain.removesuffix(end)) == "rate":
                plain, percent = "rate", True
        column = _COLUMNS.get(plain)
        if column is None:
            continue
        if column in found:
            raise ValueError(
                f"{name}: both {header[found[column]]!r} and {head!r} could be the {column};"
                " leave one of them out or rename it"
            )
        found[column] = index
    missing = [column for column in ("state", "rate") if column not in found]
    if "zip" not in found and "city" not in found:
        missing.append("zip or city")
    if missing:
        raise ValueError(
            f"{name}: no column for {', '.join(missing)} in its first line ({', '.join(header)});"
            " expected state, zip or city or both, rate, and maybe as_of"
        )
    return found, percent


def _expected(line: int, cells: Mapping[str, str], scale: _Scale) -> Expected:
    city, zip_code = cells.get("city", ""), _zip(cells.get("zip", ""))
    if not cells["state"]:
        raise ValueError("state: empty")
    if not city and not zip_code:
        raise ValueError("neither a city nor a ZIP")
    day = _day(cells.get("as_of", ""))
    units = _units(cells["rate"], line, scale)
    return Expected(line, cells["state"].upper(), city, zip_code, units, day)


def _zip(text: str) -> str:
    """A ZIP, with the zeros in front that spreadsheets drop."""
    if not text:
        return ""
    found = _ZIP.fullmatch(text)
    if not found:
        raise ValueError(f"zip: given {text[:20]!r}, expected five digits or ZIP+4")
    return found[1].zfill(5) + (f"-{found[2]}" if found[2] else "")


def _day(text: str) -> date | None:
    if not text:
        return None
    if _DATE.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:  # a day that its month does not have
            pass
    raise ValueError(f"as_of: given {text[:20]!r}, expected a date as YYYY-MM-DD")


def _units(text: str, line: int, scale: _Scale) -> int:
    """A rate in units of 10^-5, exact.

    Raises:
        ValueError: no number, neither clearly a percentage nor clearly a fraction, of the other
            kind than the rows before, or with digits beyond the fifth decimal.
    """
    bare = text.removesuffix("%").strip()
    try:
        value = Decimal(bare)
    except InvalidOperation:
        value = Decimal("nan")
    if not value.is_finite() or value < 0:
        raise ValueError(f"rate: given {text[:20]!r}, expected a rate such as 8.25 or 0.0825")
    percent = _is_percent(value, text, line, scale)
    units = value * (1_000 if percent else 100_000)
    if value and not _LOWEST * 1_000 <= units <= _HIGHEST * 1_000:
        raise ValueError(f"rate: {text[:20]} is {units / 1_000} %, which no place has")
    if units != int(units):
        raise ValueError(f"rate: {text[:20]} has more than five decimals as a fraction")
    return int(units)


def _is_percent(value: Decimal, text: str, line: int, scale: _Scale) -> bool:
    """Whether a rate is a percentage; a file is of one kind, unless signs say otherwise."""
    if text.endswith("%"):
        return True
    if not value:
        return bool(scale.percent)
    as_fraction = _LOWEST / 100 <= value <= _HIGHEST / 100
    as_percent = _LOWEST <= value <= _HIGHEST
    if scale.percent is None:
        if as_fraction == as_percent:
            raise ValueError(
                f"rate: given {text[:20]!r}, neither a fraction such as 0.0825 nor a percentage"
                " such as 8.25"
            )
        scale.percent, scale.line = as_percent, line
    elif (as_fraction and not as_percent and scale.percent) or (
        as_percent and not as_fraction and not scale.percent
    ):
        kind, other = ("percentage", "fraction") if scale.percent else ("fraction", "percentage")
        raise ValueError(
            f"rate: {text[:20]!r} reads as a {other}, but line {scale.line} says that rates here"
            f" are written as a {kind}: write all of them in one way, or with a % sign"
        )
    return scale.percent
