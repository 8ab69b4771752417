"""Values into spreadsheet cells: what kind of cell a value is, and how it is written in the file.

Text stays text. A text that a spreadsheet could take for a formula is marked as text in its cell's
format, so that it does not become one when somebody edits the cell. A number keeps all its
digits or is written as text: a cell holds about fifteen.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

__all__ = ["FORMULA_STARTS", "Cell", "cell_of", "cell_xml", "is_missing", "serial"]

_DIGITS = 15
_LONGEST = 32_767
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a text may begin with that some program takes for a formula; the last are full width."""
_FIRST_YEAR = 1900
_NOT_IN_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_ESCAPE_ITSELF = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_DAY_ZERO = datetime(1899, 12, 31)  # noqa: DTZ001 - a sheet knows no zones
_LEAP_DAY_THAT_WAS_NONE = 59
_SECONDS = 86_400
_PART_OF_A_DAY = Decimal("1E-10")  # what a cell's fifteen digits leave room for


class Cell(NamedTuple):
    """What goes into a cell: `form` is blank, text, number, boolean or moment."""

    form: str
    value: object


def cell_of(value: object) -> Cell:
    """The cell that holds `value` without changing it; missing gives an empty cell."""
    # one case a line; the order matters: True is an int, a Timestamp is a date
    if is_missing(value):
        return Cell("blank", None)
    if isinstance(value, bool | np.bool_):
        return Cell("boolean", bool(value))
    if isinstance(value, date):
        return _moment(value)
    if isinstance(value, float | np.floating):
        shortest = repr(float(value))
        return Cell("number", Decimal(shortest)) if np.isfinite(value) else Cell("text", shortest)
    if isinstance(value, Decimal | int | np.integer):
        return _exact_number(value)
    return Cell("text", _fitting(str(value)))


def is_missing(value: object) -> bool:
    """Whether a value is one of the many that say that there is none; empty text is."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, str):
        return not value
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float) and value != value  # noqa: PLR0124  # that is what NaN is


def _exact_number(value: Decimal | int | np.integer[Any]) -> Cell:
    """A number cell, as a decimal: the file then has its own digits, not those of a float."""
    exact = Decimal(str(value))
    if not exact.is_finite() or len(exact.normalize().as_tuple().digits) > _DIGITS:
        return Cell("text", str(value))
    return Cell("number", exact)


def _moment(value: date) -> Cell:
    aware = isinstance(value, datetime) and value.tzinfo is not None
    if aware or value.year < _FIRST_YEAR:
        return Cell("text", value.isoformat())
    if isinstance(value, pd.Timestamp):
        return Cell("moment", value.to_pydatetime(warn=False))
    return Cell("moment", value)


def _fitting(text: str) -> str:
    """Text that a cell can hold: its end is cut, visibly, beyond a cell's 32,767 characters."""
    whole = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair fits no file
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 12]} … (was cut)"


def serial(moment: date) -> str:
    """A date or a moment as the number of days that a sheet counts it by."""
    at = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
    if at.tzinfo is not None:
        at = at.astimezone(UTC).replace(tzinfo=None)
    since = at - _DAY_ZERO
    days = since.days + (since.days > _LEAP_DAY_THAT_WAS_NONE)  # sheets believe in 1900-02-29
    part = Decimal(since.seconds * 10**6 + since.microseconds) / (_SECONDS * 10**6)
    return f"{days + part.quantize(_PART_OF_A_DAY):f}" if part else str(days)


def cell_xml(cell: Cell, style: int, style_as_text: int) -> str:
    """What follows a cell's place in the file, up to its end."""
    if cell.form == "blank":
        return '"/>'
    if cell.form == "text":
        text = str(cell.value)
        look = style_as_text if text.startswith(FORMULA_STARTS) else style
        kept = ' xml:space="preserve"' if text != text.strip() or "\n" in text else ""
        return f'" s="{look}" t="inlineStr"><is><t{kept}>{_escaped(text)}</t></is></c>'
    if cell.form == "boolean":
        return f'" s="{style}" t="b"><v>{int(bool(cell.value))}</v></c>'
    value = serial(cell.value) if isinstance(cell.value, date) else cell.value
    return f'" s="{style}"><v>{value}</v></c>'


def _escaped(text: str) -> str:
    """Text for XML; characters that XML has none for are spelt as spreadsheets spell them."""
    text = _ESCAPE_ITSELF.sub("_x005F_", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _NOT_IN_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
