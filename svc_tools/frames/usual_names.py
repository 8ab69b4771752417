"""The names that columns of places usually have, and the columns that look like dates. Pure."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Literal

import pandas as pd

from svc_tools.places.days import text_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

__all__ = [
    "date_kind",
    "dated_levels",
    "names_a_place",
    "names_shipping",
    "place_role",
    "preferred",
]

_SHIP_WORDS = (
    r"ship(?:ping|ment)?(?:_?to)?|deliver(?:y|_?to)|destination|dest|recipient|consignee|receiver"
)
_SHIP = rf"(?P<ship>{_SHIP_WORDS})(?:_?address(?=_))?"
_USUAL = {
    role: re.compile(rf"(?:{_SHIP}_?)?(?:{names})")
    for role, names in {
        "state": r"state(?:_(?:code|name|abbr(?:eviation)?|(?:or_)?province))?|province(?:_code)?",
        "zip": r"zip(?:_?(?:code|5|4|plus4))?|(?:zip_)?post(?:al)?_?code|postal|zip_postal",
        "address": r"street_?address|address(?:_?line)?_?1?|street(?:_?line)?_?1?",
        "city": r"city(?:_?name)?|town",
        "lat": r"lat(?:itude)?",
        "lng": r"lng|lon|long|longitude",
        "country": r"country(?:_?(?:code|name))?",
    }.items()
}
_EVENT = (
    "orders?|sales?|sold|invoiced?|inv|transactions?|trans?|txn|trx|purchased?|ordered|checkout"
    "|receipt|tax|document|doc|posting|posted"
)
_SALE = re.compile(
    rf"(?:(?:{_EVENT})_?)?(?:date|dt|datetime|date_time|timestamp)(?:_local)?"
    rf"|(?:{_EVENT})_?(?:day|time)"
    r"|(?:created|ordered|sold|purchased|invoiced|processed|placed)(?:_(?:at|on))?"
    rf"|date_?(?:of_)?(?:{_EVENT})"
    r"|as_?of(?:_date)?"
)
_PLACE_WORDS = {
    "state",
    "province",
    "zip",
    "zipcode",
    "postal",
    "postcode",
    "city",
    "street",
    "address",
    "country",
}
_DATE_WORDS = {"date", "datetime", "timestamp", "dt", "day"}
_PERIOD_WORDS = {"period", "month", "quarter", "year"}
_YEAR, _MONTH, _DAY = r"(?:19|20)[0-9]{2}", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12][0-9]|3[01])"
_NAMED = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_LOOKS_DATED = re.compile(
    rf"{_YEAR}([-/.]){_MONTH}\1{_DAY}(?:[T ].*)?"
    rf"|{_DAY}([-/.]){_DAY}\2{_YEAR}(?:[T ].*)?|[0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{2}}"
    rf"|{_DAY}[- ]?{_NAMED}[-, ]*(?:{_YEAR}|[0-9]{{2}})(?: .*)?"
    rf"|(?:[a-z]{{3,9}},? )?{_NAMED} {_DAY},? {_YEAR}(?: .*)?",
    re.IGNORECASE,
)
_LOOKS_PERIODIC = re.compile(
    rf"{_YEAR}[-/]{_MONTH}|{_MONTH}/{_YEAR}|{_NAMED}[- ]{_YEAR}"
    rf"|{_YEAR}[- ]?Q[1-4]|Q[1-4][- ]?{_YEAR}|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])",
    re.IGNORECASE,
)
"""A month, a quarter, or digits that may be a date and may be a number."""
_MAY_BE_PERIOD = re.compile(rf"{_YEAR}(?:0[1-9]|1[0-2])?|{_MONTH}|Q?[1-4]|{_NAMED}", re.IGNORECASE)
"""What is a period in a column that is called one."""
_SAMPLE = 20
_LOOKED_AT = 1_000


def place_role(label: Hashable) -> tuple[str, bool] | None:
    """The argument that a column of this name answers, and whether the name says "ship to"."""
    plain = _plain(label)
    for role, usual in _USUAL.items():
        if match := usual.fullmatch(plain):
            return role, match["ship"] is not None
    return None


def names_a_place(label: Hashable) -> bool:
    """Whether a name speaks of somebody's address, whoever that is."""
    words = set(_plain(label).split("_"))
    return bool(words & _PLACE_WORDS) and not words & {"email", "mail", "ip", "url", "web"}


def names_shipping(label: Hashable) -> bool:
    """Whether a name speaks of where something is shipped to."""
    return re.search(rf"(?:^|_)(?:{_SHIP_WORDS})(?:_|$)", _plain(label)) is not None


def preferred(labels: list[Hashable]) -> list[Hashable]:
    """Of several columns for one argument the one that says it best, where one does.

    A code rather than a name, the first line of an address rather than the street.
    """
    best = [label for label in labels if re.search(r"(?:code|address_?1|line_?1)$", _plain(label))]
    return best if len(best) == 1 else labels


def date_kind(label: Hashable, column: pd.Series) -> Literal["sale", "other", "period"] | None:
    """Whether a column is the date of the sale by its name, some other date, or none.

    "period" is what says a month, a quarter or a year, and what may be a date or a number: it
    counts where nothing else is a date.
    """
    plain = _plain(label)
    if _SALE.fullmatch(plain):
        return "sale"
    sample = None if _has_dates(column) else _sample(column)
    if sample is None or _mostly(_LOOKS_DATED, sample):
        return "other"
    words = plain.split("_")
    if _mostly(_LOOKS_PERIODIC, sample) or (
        words[-1] in _PERIOD_WORDS and _mostly(_MAY_BE_PERIOD, sample)
    ):
        return "period"
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return None
    named = words[-1] in _DATE_WORDS or words[0] == "date" or words[-1].endswith("date")
    return "other" if named or (len(words) > 1 and words[-1] in {"at", "on"}) else None


def dated_levels(frame: pd.DataFrame) -> list[str]:
    """The levels of the index that hold dates, in words."""
    index = frame.index
    levels: Iterable[pd.Index] = index.levels if isinstance(index, pd.MultiIndex) else [index]
    return [
        f"the index {name!r}" if name is not None else "the index"
        for name, level in zip(index.names, levels, strict=True)
        if not isinstance(level, pd.RangeIndex)
        and date_kind("" if name is None else name, level[:_LOOKED_AT].to_series())
        in {"sale", "other"}
    ]


def _has_dates(column: pd.Series) -> bool:
    dtype = column.dtype
    return _is_date_dtype(
        dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
    )


def _sample(column: pd.Series) -> list[str]:
    """Some of what stands in the column, as text; nothing where that cannot be a date."""
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_float_dtype(column.dtype):
        return []
    values = column.iloc[:_LOOKED_AT].dropna()
    values = values if len(values) else column.dropna().iloc[:_LOOKED_AT]
    single = (value for value in values.tolist() if isinstance(value, str | int | date | pd.Period))
    there = [text for value in single if (text := text_of(value)) is not None]
    return there[:_SAMPLE]


def _mostly(looks: re.Pattern[str], sample: list[str]) -> bool:
    """Whether at least half of a sample looks so: exports have other things among their dates."""
    return bool(sample) and 2 * sum(looks.fullmatch(text) is not None for text in sample) >= len(
        sample
    )


def _is_date_dtype(dtype: object) -> bool:
    return str(dtype).startswith(("datetime64", "date32", "date64", "timestamp", "period"))


def _plain(label: Hashable) -> str:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(label))
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
