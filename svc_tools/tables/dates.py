"""How the dates of a column are read: their forms, month first or day first, and time zones.

    form                                                              order
    2026-05-31, 20260531, 2026/05/31, 2026.5.31                       year first
    May 31, 2026; 31 May 2026; 31-May-26; Sun, 31 May 2026            by name
    05/31/2026, 5/31/26, 31.05.2026, 31/5/26                          as the column's cells decide
    46173, 46173.5 (days as spreadsheets count them, 1982 to 2091)    where the column has no others

A time may follow (14:03, 2:03:11 PM), and a zone (Z, UTC, -0400, +00:00, PST). Of a column whose
cells could all be month first or day first none is guessed: it is an error, unless the export that
it belongs to has a convention. So is one whose cells could all be day first or year first, such as
26-02-24.
"""

from __future__ import annotations

import re
import zoneinfo
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias, get_args

from svc_tools.tables.cells import text_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from svc_tools.tables.roles import DatesAmbiguous

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "month first": "01/31/2026 or 1/31/26",
        "day first": "31/01/2026 or 31.1.26",
        "year first": "2026/01/31 or 26/1/31",
        "%m%d%Y": "01312026",
        "%d%m%Y": "31012026",
    }
)
"""The formats of a menu, each with examples; every other one of `strptime` is a format, too."""

ZONES: Mapping[str, str] = MappingProxyType(
    {
        "America/New_York": "Eastern",
        "America/Chicago": "Central",
        "America/Denver": "Mountain",
        "America/Phoenix": "Arizona",
        "America/Los_Angeles": "Pacific",
        "America/Anchorage": "Alaska",
        "Pacific/Honolulu": "Hawaii",
        "UTC": "UTC",
    }
)
"""The time zones of a menu, each with its usual name."""

_Order = Literal["month first", "day first", "year first"]
HOURS_BEHIND = 10
"""How far Honolulu is behind UTC, all year: of `ZONES` the one where days begin last."""
_ABBREVIATED = {
    f"{name}{kind}T": timezone(timedelta(hours=hours + (kind == "D")))
    for name, hours in {"E": -5, "C": -6, "M": -7, "P": -8, "AK": -9, "H": -10}.items()
    for kind in "SD"
}
_NAMES_OF_UTC = {"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Zulu", "UTC+00:00", "+00:00", "tzutc()"}

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NAME = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_DAY, _YEAR = r"(\d{1,2})(?:st|nd|rd|th)?", r"((?:19|20)\d\d|'?\d\d)"
_MONTH_DAY = re.compile(rf"{_WEEKDAY}({_NAME})\.?[ -]?{_DAY}(?:, ?| |-){_YEAR}", re.IGNORECASE)
_DAY_MONTH = re.compile(rf"{_WEEKDAY}{_DAY}[ /-]?({_NAME})\.?,?[ /-]?{_YEAR}", re.IGNORECASE)
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2((?:19|20)\d\d|\d\d)", re.ASCII)
_YEAR_FIRST = re.compile(r"((?:19|20)\d\d)([-/.])(\d{1,2})\2(\d{1,2})", re.ASCII)
_DIGITS = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?:\.0+)?", re.ASCII)
"""A date such as 20260501, also in a column of floats: a missing cell makes floats of integers."""
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)
_SERIAL = re.compile(r"[3-6]\d{4}(?:\.\d+)?", re.ASCII)
_DAY_ZERO = datetime(1899, 12, 30)  # noqa: DTZ001 - of the zone that is written
"""Day 0 of spreadsheets."""
_UP_TO_1904 = datetime(1904, 1, 1) - _DAY_ZERO  # noqa: DTZ001 - as above
"""From there to day 0 of a workbook that counts from 1904."""
_MONTH = re.compile(rf"\d{{4}}[-/]\d\d?|\d\d?/\d{{4}}|(?:{_NAME})[ -]\d{{4}}", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?:,? at |, |[ T])(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?(?: ?([AP])\.?M\.?)?"
    r"(?: ?(Z|UTC|GMT|(?:UTC|GMT)?[+-]\d\d(?::?\d\d)?|(?:E|C|M|P|AK|H)[SD]T|[ECMP]T))?$",
    re.IGNORECASE | re.ASCII,
)
_LONG = len("2026-05-31 14:03")
_NOON, _MONTHS_OF_YEAR, _CENTURY, _PIVOT = 12, 12, 100, 69
_MANY = 10
"""Day numbers count where the column has as many of them for each number that is none."""
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class NoDate:
    """A cell that is not read as a date: the cell, and why, in the same words for all of them."""

    cell: str
    why: str

    def __str__(self) -> str:
        """The cell, and why it is no date."""
        return f"{self.cell!r} {self.why}"


_NOT_A_DATE = "is not a date such as 2026-05-31, 05/31/2026 or May 31, 2026"
_A_MONTH = "is a month, and a rate is that of a day; name one, for instance the first"
_A_NUMBER = "is a number, and in this column not plainly the day number of a spreadsheet"
_OF_COLUMNS = ", or give the date format"
_UNDECIDED = f"could be month first or day first; write it as 2026-05-31{_OF_COLUMNS}"
_YEAR_OR_DAY = f"could be day first or year first; write it as 2026-05-31{_OF_COLUMNS}"
_OUT_OF_RANGE = "is out of range"

Day: TypeAlias = date | NoDate | None
"""The day of a cell, why it has none, or `None` where it is missing."""


class _Numeric(NamedTuple):
    """A cell such as 03/04/2026, on which the column decides."""

    first: int
    second: int
    last: int
    clock: time | None
    hyphens: bool

    def day(self, order: _Order) -> date | None:
        """The day in this order; `None` where there is none."""
        if order == "year first":
            return _date(self.first, self.second, self.last)
        month, day = (self.first, self.second) if order == "month first" else self[1::-1]
        return _date(self.last, month, day)

    def may_begin_with_year(self) -> bool:
        """Whether it may be ISO without a century, as people write it: 26-02-24."""
        return self.hyphens and self.last < _CENTURY and self.day("year first") is not None


class _Number(NamedTuple):
    """A cell that may be a day number, or any number; one with a fraction is a time."""

    day: date | datetime | None


_DECIDING = {_Numeric, _Number}
_Found: TypeAlias = Day | _Numeric | _Number


@dataclass(frozen=True, slots=True)
class Parsed:
    """Cells of a column, each parsed once, before it is decided how the column is read.

    Attributes:
        values: the cells.
        found: what each is by itself.
        deciding: whether the column has to decide on some of them, such as 03/04/2026.
    """

    values: list[object]
    found: list[_Found]
    deciding: bool


@dataclass(frozen=True, slots=True)
class DateTerms:
    """What the user specified about dates.

    Attributes:
        date_format: one of `FORMATS`, or a format of `strptime`; `None` for all forms above.
        tz: the zone in which every time with a zone has its date. By default one with an offset
            has the date that is written, and one in UTC that in `home`.
        home: the seller's zone.

    Raises:
        ValueError: `date_format` does not give year, month and day.
        TypeError: it is no text.
    """

    date_format: str | None = None
    tz: tzinfo | None = None
    home: tzinfo = UTC

    def __post_init__(self) -> None:
        """Check the format."""
        checked_format(self.date_format)

    def style(self, role: str = "as_of", column: Hashable = None) -> DateStyle:
        """How a column is read, as far as that is known before its cells decide."""
        known = DateStyle(self, role, column, order=self.order)
        undecided = self.date_format is None
        return replace(known, counts_days=self.order is not None, undecided=undecided)

    @property
    def order(self) -> _Order | None:
        """The order of dates such as 03/04/2026, if the format is one."""
        return self.date_format if self.date_format in get_args(_Order) else None  # type: ignore[return-value]  # as checked


@dataclass(frozen=True, slots=True)
class DateStyle:
    """How the dates of one column are read.

    Attributes:
        terms: what the user specified about them.
        role: what the column is, for messages.
        column: its label; `None` for a single value.
        month_first: how its export writes dates, where the cells could be either.
        zone: the zone of its export's times that are written without one.
        from_1904: whether its day numbers are those of a workbook that counts from 1904-01-01.
        order: the order of dates such as 03/04/2026; `None` where each has its only meaning.
        counts_days: whether numbers are the day numbers of a spreadsheet.
        undecided: whether `decide` may still find these two from the cells.
        note: what it found, in words.
    """

    terms: DateTerms = field(default_factory=DateTerms)
    role: str = "as_of"
    column: Hashable = None
    month_first: bool | None = None
    zone: tzinfo | None = None
    from_1904: bool = False
    order: _Order | None = None
    counts_days: bool = False
    undecided: bool = True
    note: str = ""

    def needs_decision(self, cells: Parsed) -> bool:
        """Whether the column has to decide before these of its cells can be read."""
        return self.undecided and cells.deciding

    def settled(self) -> DateStyle:
        """The same, for values that decide nothing: some of the column's, or one by itself."""
        return replace(self, undecided=False)

    def notes(self, rests: Mapping[str, int]) -> list[str]:
        """How the column was read, in sentences.

        Args:
            rests: rows by what their day rests on, named as the attributes of `Read`.
        """
        home, column = self.terms.home, "" if self.column is None else f" column {self.column!r}"
        head = f"{self.role}:{column}"
        notes = [f"{head} {self.note}"] if self.note else []
        utc, other_month = rests.get("utc", 0), rests.get("other_month", 0)
        if utc and is_utc(home):
            notes.append(
                f"{head} has times in UTC, and the date in UTC counts, because no time zone is"
                " given (tz) or configured (SVC_TZ); rows whose month may be another one in a US"
                f" time zone: {other_month:,} of {utc:,}"
            )
        elif utc:
            notes.append(
                f"{head} has times in UTC, and the date in {home} counts, the time zone that"
                f" is configured; rows whose month is another one there: {other_month:,} of {utc:,}"
            )
        if 0 < rests.get("moved", 0) == rests.get("midnight", 0):
            notes.append(
                f"{head}: all times are midnight, so they may be dates rather than moments, and in"
                f" {self.terms.tz or home} many are the day before or after; for the dates as they"
                " stand, remove the time zone from the column"
            )
        return notes

    def as_json(self) -> dict[str, Any]:
        """What was given and decided, as JSON can hold it."""
        zones = {"tz": self.terms.tz, "home": self.terms.home, "zone": self.zone}
        return {
            "date_format": self.terms.date_format,
            "order": self.order,
            "counts_days": self.counts_days,
            "from_1904": self.from_1904,
            **{name: None if zone is None else str(zone) for name, zone in zones.items()},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """What `as_json` describes; it decides nothing more.

        Raises:
            ValueError: something of it is not known here, such as a zone.
            KeyError: it is incomplete.
        """
        tz, home = time_zone(stored["tz"]), time_zone(stored["home"]) or UTC
        return cls(
            DateTerms(stored["date_format"], tz, home),
            zone=time_zone(stored["zone"]),
            from_1904=bool(stored.get("from_1904")),  # older releases did not store it
            order=stored["order"],
            counts_days=bool(stored["counts_days"]),
            undecided=False,
        )

    @property
    def since(self) -> timedelta:
        """How long after day 0 the day numbers are counted from."""
        return _UP_TO_1904 if self.from_1904 else timedelta()

    def counting(self, zone: tzinfo | str) -> tzinfo | None:
        """The zone whose date counts for a time in this zone; `None` for the date as written."""
        return self.terms.tz or (self.terms.home if is_utc(zone) else None)


@dataclass(frozen=True, slots=True)
class Read:
    """The days of some values, in their order, and what they rest on.

    Attributes:
        style: how they were read, with what the column has decided.
        days: the day of each value.
        utc: positions of the times in UTC, where no zone was given for them.
        other_month: those of them whose month depends on the zone.
        moved: positions of the times whose day is that of another zone than their own.
        midnight: those of them that are midnight in their own zone.
        from_1904: positions of the day numbers that were counted from 1904.
    """

    style: DateStyle
    days: list[Day] = field(default_factory=list)
    utc: list[int] = field(default_factory=list)
    other_month: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    midnight: list[int] = field(default_factory=list)
    from_1904: list[int] = field(default_factory=list)


def parse(values: Iterable[object], terms: DateTerms) -> Parsed:
    """Some cells of a column, or all of them, as far as each can be read by itself."""
    cells = list(values)
    form = None if terms.order else terms.date_format
    found = [_parsed(value, form) for value in cells]
    return Parsed(cells, found, deciding=not _DECIDING.isdisjoint(map(type, found)))


def decide(parts: Iterable[Parsed], style: DateStyle) -> DateStyle:
    """The style of a column, as all of its cells decide it; a decided one as it is.

    Raises:
        DatesAmbiguous: they do not decide, or are both.
    """
    if not style.undecided:
        return style
    seen = _Seen(style.since)
    for part in parts:
        seen.see(part)
    if not seen.deciding:
        return style.settled()  # some of the cells, read again, decide nothing else
    month, day = seen.only["month first"], seen.only["day first"]
    either = seen.either
    if doubt := seen.doubt():
        dated = seen.converted[:1] if doubt == "exchanged" else []
        raise _ambiguous(style, [*day, *month, *dated], doubt)
    order: _Order | None = None
    if month or day:
        order = "month first" if month else "day first"
    elif style.month_first is not None:
        order = "month first" if style.month_first else "day first"
    elif either:
        raise _ambiguous(style, either[:2], "either")
    counts_days = bool(seen.numbered) and _MANY * len(seen.numbers) <= len(seen.numbered)
    decided = replace(style, order=order, counts_days=counts_days, undecided=False)
    shown = (month or day or either)[:1] if order is not None else []
    return replace(decided, note=_how(decided, shown, [*seen.numbered][:counts_days]))


def _how(style: DateStyle, shown: Sequence[str], numbers: Sequence[str]) -> str:
    """How a column, or a single value, is read: with an example of its texts and day numbers."""
    if style.column is None:
        ways = dict.fromkeys(numbers, "as the day number of a spreadsheet")
        ways |= dict.fromkeys(shown, str(style.order))
        notes = [f"{one!r} is read {way}: {read_one(one, style)}" for one, way in ways.items()]
    else:
        notes = [f"is read {style.order}: {one!r} is {read_one(one, style)}" for one in shown]
        for one in numbers:
            notes.append(f"has day numbers of a spreadsheet: {one} is {read_one(one, style)}")
    return " and ".join(notes)


def read(cells: Parsed, style: DateStyle) -> Read:
    """The days of some cells of a column, or of all of them.

    Raises:
        RuntimeError: their column must decide first; that is a fault of the caller.
    """
    if style.needs_decision(cells):
        raise RuntimeError("dates are read before their column has decided how")
    result = Read(style)
    add = result.days.append
    for at, one in enumerate(cells.found):
        if type(one) is date or one is None:
            add(one)
        else:
            add(_day(one, cells.values[at], at, result))
    return result


def read_one(value: object, style: DateStyle) -> date | None:
    """The day of one value, which may decide by itself; `None` where it is missing.

    Raises:
        ValueError: it is not a date, or it has two meanings.
    """
    cell = parse([value], style.terms)
    (found,) = read(cell, decide([cell], style)).days
    if isinstance(found, NoDate):
        raise ValueError(f"{style.role}: {found}")  # noqa: TRY004 - a value, whatever its type
    return found


def _ambiguous(
    style: DateStyle, values: Sequence[str], kind: Literal["either", "both", "exchanged", "year"]
) -> DatesAmbiguous:
    from svc_tools.tables.roles import DatesAmbiguous  # noqa: PLC0415 - loads 10 ms of patterns

    return DatesAmbiguous(style.role, style.column, values, kind)


def _day(one: _Found, value: object, at: int, result: Read) -> Day:
    """The day of a cell that is not just a date; what it rests on is noted."""
    if isinstance(one, datetime):
        return _of_moment(one, at, result)
    if isinstance(one, _Numeric):
        return _of_numeric(one, value, at, result)
    if isinstance(one, _Number):
        if not result.style.counts_days or one.day is None:
            return _no_date(value, _A_NUMBER)
        if result.style.from_1904:
            result.from_1904.append(at)
        day = one.day + result.style.since
        return _of_moment(day, at, result) if isinstance(day, datetime) else day
    return one


def _of_numeric(one: _Numeric, value: object, at: int, result: Read) -> Day:
    order = result.style.order
    month, day = one.day("month first"), one.day("day first")
    if order is not None:
        found, why = one.day(order), f"is not a date if it is read {order}"
    else:
        found = None if month and day and month != day else month or day
        why = _UNDECIDED
        if not month and one.may_begin_with_year():
            found, why = None, _YEAR_OR_DAY
    if found is None:
        return _no_date(value, why if month or day else _NOT_A_DATE)
    if one.clock is None:
        return found
    return _of_moment(datetime.combine(found, one.clock), at, result)


def _of_moment(moment: datetime, at: int, result: Read) -> Day:
    """The day of a time."""
    style = result.style
    if moment.tzinfo is None:
        if style.zone is None:
            return moment.date()
        moment = moment.replace(tzinfo=style.zone)
    target = style.counting(moment.tzinfo)  # type: ignore[arg-type]  # not None here
    if target is None:
        return moment.date()
    try:
        day = moment.astimezone(target).date()
        if style.terms.tz is None:
            result.utc.append(at)
            there = (moment - timedelta(hours=HOURS_BEHIND)).date() if is_utc(target) else day
            if there.month != moment.month:
                result.other_month.append(at)
    except (OverflowError, ValueError):  # the first and the last possible day
        return _no_date(moment, _OUT_OF_RANGE)
    if not same_zone(target, moment.tzinfo):
        result.moved.append(at)
        if moment.time() == time.min:
            result.midnight.append(at)
    return day


_NAMED_MONTH = re.compile("[A-Za-z]{3}")


class _Seen:
    """What the cells of a column show; day numbers count from so many days after day 0."""

    def __init__(self, since: timedelta) -> None:
        self._since = since
        self.deciding = False
        """Whether any of them decides."""
        self.only: dict[str, list[str]] = {"month first": [], "day first": []}
        """Cells that are a date in one order only."""
        self.either: list[str] = []
        self.others = 0
        """Cells that are a date in either order, or the same one in both."""
        self.numbered: dict[str, date] = {}
        self.numbers: set[object] = set()
        """The other numbers, each once: several parts of a column may have it."""
        self.years_first = True
        """Whether all of these cells may begin with the year."""
        self.converted: list[str] = []
        """The first date, or ISO text, in which a spreadsheet may have exchanged day and month."""

    def doubt(self) -> Literal["both", "exchanged", "year"] | None:
        """Why the cells that are a date in one order only do not decide, if so."""
        month, day = map(bool, self.only.values())
        if month and day:
            return "both"
        if (month or day) and self.converted and not self.others:
            return "exchanged"
        return "year" if day and self.years_first else None

    def see(self, part: Parsed) -> None:
        """Take some cells into account."""
        self.deciding |= part.deciding
        for found, value in zip(part.found, part.values, strict=True):
            if isinstance(found, date):
                if not self.converted:
                    self._see_date(found, value)
            elif isinstance(found, _Number):
                if found.day is None:
                    self.numbers.add(value)
                else:
                    self._see_date(found.day + self._since, value)
                    self.numbered[str(value)] = found.day
            elif isinstance(found, _Numeric):
                self._see_numeric(found, text_of(value) or "")

    def _see_date(self, found: date, value: object) -> None:
        exchangeable = found.day <= _MONTHS_OF_YEAR and found.day != found.month
        if isinstance(value, str) and _NAMED_MONTH.search(value):
            return  # it cannot have been exchanged, nor shows that others were
        if exchangeable and not self.converted:
            self.converted.append((text_of(value) or "").removesuffix(" 00:00:00"))

    def _see_numeric(self, found: _Numeric, text: str) -> None:
        month, day = found.day("month first"), found.day("day first")
        self.years_first &= found.may_begin_with_year()
        if month and day:
            self.others += 1
            if month != day and len(self.either) < 2 and text not in self.either:  # noqa: PLR2004
                self.either.append(text)
        elif month or day:
            known = self.only["month first" if month else "day first"]
            if not known:
                known.append(text)


def _parsed(value: object, form: str | None) -> _Found:
    """A cell as a date or a time, as one that the column decides on, or why it is neither."""
    if type(value) is str and form is None:
        found = _iso(value)
        if found is not None:
            return found
    text = text_of(value)
    if text is None:
        return None
    if isinstance(value, date):
        return value
    if form is not None:
        return _by_format(text, form) or _no_date(text, f"is not a date in the format {form}")
    return _iso(text) or _of_text(text)


def _iso(text: str) -> date | None:
    """The date, or time, of an ISO text; `None` for any other, also for other forms of ISO."""
    if text[4:5] != "-" or text[7:8] != "-":
        return None
    try:
        if len(text) == len("2026-05-31"):
            return date.fromisoformat(text)
        if len(text) >= _LONG and text[10] in "T ":
            return datetime.fromisoformat(text)
    except ValueError:
        pass
    return None


def exact_day(text: str) -> date | None:
    """The day of a text such as 2026-05-31; `None` for any other form."""
    found = _iso(text)
    return found if type(found) is date else None


def iso_day(text: str) -> date | None:
    """The day of an ISO date, or of 20260531; of a time without a zone its day; else `None`."""
    text = " ".join(text.split())
    found = _iso(text)
    if found is None and (digits := _DIGITS.fullmatch(text)):
        found = _date(*map(int, digits.groups()))
    if isinstance(found, datetime):
        return found.date() if found.tzinfo is None else None
    return found


def _of_text(text: str) -> _Found:
    """A cell in another form than ISO."""
    clock: time | None = None
    head = text
    if timed := _CLOCK.search(text):
        head, clock = text[: timed.start()], _time(*timed.groups())
        if clock is None:
            return _no_date(text, _NOT_A_DATE)
    day: date | None = None
    if found := _YEAR_FIRST.fullmatch(head):
        day = _date(int(found[1]), int(found[3]), int(found[4]))
    elif found := _NUMERIC.fullmatch(head):
        return _Numeric(int(found[1]), int(found[3]), int(found[4]), clock, found[2] == "-")
    elif found := _DIGITS.fullmatch(head):
        day = _date(*map(int, found.groups()))
    elif found := _MONTH_DAY.fullmatch(head):
        day = _date_by_name(found[3], found[1], found[2])
    elif found := _DAY_MONTH.fullmatch(head):
        day = _date_by_name(found[3], found[2], found[1])
    elif clock is None and _NUMBER.fullmatch(head):
        return _Number(_of_serial(head) if _SERIAL.fullmatch(head) else None)
    if day is None:
        return _no_date(text, _A_MONTH if _MONTH.fullmatch(text) else _NOT_A_DATE)
    return day if clock is None else datetime.combine(day, clock)


def _of_serial(text: str) -> date | datetime:
    """The day of a day number, or the time of one with a fraction."""
    moment = _DAY_ZERO + timedelta(days=float(text))
    return moment.date() if float(text).is_integer() else moment


def _by_format(text: str, form: str) -> date | None:
    """A cell in a format of `strptime`, a time behind it or not; an ISO date, too."""
    if text.isdecimal():  # a number loses its leading zero
        text = text.zfill(len(_SAMPLE.strftime(form)))
    found = _strptime(text, form)
    if found is not None and not _HAS_TIME.search(form):
        return found.date()
    if found is None and (timed := _CLOCK.search(text)):
        day, clock = _strptime(text[: timed.start()], form), _time(*timed.groups())
        if day is not None and clock is not None:
            found = datetime.combine(day, clock)
    if found is None and _iso_shaped(form):
        return None
    return found or _iso(text)


def _iso_shaped(form: str) -> bool:
    """Whether a format writes days that look like ISO dates, such as %Y-%d-%m."""
    sample = _SAMPLE.strftime(form)
    return sample[4:5] == sample[7:8] == "-"


def _strptime(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 - of the zone that is written
    except ValueError:
        return None


def _time(
    hour: str, minute: str, second: str | None, half: str | None, zone: str | None
) -> time | None:
    hours = int(hour)
    if half and hours <= _NOON:
        hours = hours % _NOON + (_NOON if half in "Pp" else 0)
    try:
        return time(hours, int(minute), int(second or 0), tzinfo=_offset(zone))
    except ValueError:
        return None


def _offset(zone: str | None) -> tzinfo | None:
    name = (zone or "").upper()
    plain = name.removeprefix("UTC").removeprefix("GMT").replace(":", "")
    if plain[:1] not in {"+", "-"} or not plain:
        return UTC if name in {"Z", "UTC", "GMT"} else _ABBREVIATED.get(name)
    away = timedelta(hours=int(plain[1:3]), minutes=int(plain[3:] or 0))
    return timezone(-away if plain[0] == "-" else away)


def _date_by_name(year: str, month: str, day: str) -> date | None:
    number = int(year.removeprefix("'"))
    return _date(number, _MONTHS.index(month[:3].lower()) + 1, int(day))


def _date(year: int, month: int, day: int) -> date | None:
    if year < _CENTURY:
        year += 2000 if year < _PIVOT else 1900
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _no_date(value: object, why: str) -> NoDate:
    return NoDate((text_of(value) or "")[:_SHOWN], why)


_HAS_TIME = re.compile(r"%-?[HIXcTR]")
_HAS_YEAR = re.compile(r"%[YyGcx]")
_SAMPLE = datetime(2026, 12, 31, tzinfo=UTC)
"""A day on which a format is tried."""


def checked_format(given: str | None) -> str | None:
    """A format of dates, if it is one.

    Raises:
        ValueError: it does not give year, month and day.
        TypeError: it is no text.
    """
    if given is None or given in FORMATS:
        return given
    if not isinstance(given, str):
        raise TypeError(f"date_format: expected a text such as '%m/%d/%Y', not {given!r}")
    back = None
    if _HAS_YEAR.search(given):  # without one Python 3.13 warns
        with suppress(ValueError, re.error):
            back = datetime.strptime(_SAMPLE.strftime(given), given)  # noqa: DTZ007 - a day
    if back is None or back.date() != _SAMPLE.date():
        orders = ", ".join(map(repr, get_args(_Order)))
        raise ValueError(
            f"date_format: {given!r} does not give year, month and day; expected {orders}, or a"
            " format such as %m/%d/%Y"
        )
    return given


def one_day(name: str, text: date | str) -> date:
    """The day that an argument of this name gives, as text in any form of a single meaning.

    Raises:
        ValueError: it is not a date, or it has two meanings.
    """
    try:
        found = read_one(text, DateTerms().style(name).settled())
    except ValueError as error:
        raise ValueError(str(error).removesuffix(_OF_COLUMNS)) from None
    if found is None:
        raise ValueError(f"{name}: {text!r} {_NOT_A_DATE}")
    return found


def is_utc(zone: tzinfo | str | None) -> bool:
    """Whether a zone is UTC, under any of its names."""
    return zone is UTC or str(zone) in _NAMES_OF_UTC


def same_zone(one: tzinfo | str | None, other: tzinfo | str | None) -> bool:
    """Whether two zones are one, by their names."""
    return str(one) == str(other) or (is_utc(one) and is_utc(other))


def time_zone(name: str | tzinfo | None) -> tzinfo | None:
    """A time zone, also by its name ("America/Chicago").

    Raises:
        ValueError: there is no such zone.
        TypeError: neither a name nor a zone.
    """
    if name is None or isinstance(name, tzinfo):
        return name
    if not isinstance(name, str):
        raise TypeError(f"tz: expected a name such as 'America/Chicago', not {type(name).__name__}")
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        if not zoneinfo.available_timezones():  # Windows has none of its own
            raise ValueError(
                f"tz: {name!r} cannot be looked up: this Python has no time zones. Install them"
                " with: pip install tzdata"
            ) from None
        raise ValueError(
            f"tz: {name!r} is not the name of a time zone; expected one such as 'America/Chicago',"
            " 'America/New_York' or 'UTC'"
        ) from None
