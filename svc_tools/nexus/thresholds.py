"""The states' economic thresholds: shipped rows with their sources, which a user's file overrides.

A row holds for a span of days, with its source and certainty. A fact that no source gives is blank,
and a blank is never filled by a guess: `exposure` reports what is not known. Every cell of a user's
file is checked, and an error lists all problems.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast, get_args

from svc_tools.display import NOTHING, Note, Table, as_html, as_text, counted, number
from svc_tools.nexus.register import ProblemsError
from svc_tools.places import STATES, state_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

Logic = Literal["sales", "and", "or", "unknown", "none"]
Measured = Literal[
    "current_or_previous_year",
    "previous_year",
    "four_quarters",
    "rolling_12_months",
    "twelve_months_to_september",
]
Base = Literal["gross", "retail", "taxable"]
Certainty = Literal["high", "medium", "low"]

_YES, _NO = {"yes", "true", "1", "y"}, {"no", "false", "0", "n"}
_SHOWN = 40
_NEEDS: dict[str, tuple[bool, bool | None]] = {
    "sales": (True, False),
    "and": (True, True),
    "or": (True, True),
    "unknown": (True, None),
    "none": (False, False),
}
"""For each logic whether it has sales, and transactions (`None`: either)."""


class ThresholdsError(ProblemsError):
    """A file of thresholds cannot be used as it is.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    of = "thresholds"


@dataclass(frozen=True, slots=True)
class Threshold:
    """One state's threshold for sellers without a presence there, for a span of days.

    Attributes:
        state: the postal code of one of the 50 states or DC.
        effective_from: the first day; `None`: as far back as the table goes.
        effective_to: the last day; `None`: until the state's next row, or still.
        sales: whole US dollars; `None` where there is no test of sales.
        transactions: how many sales; `None` where there is no such test, or sources disagree.
        logic: "sales" alone, sales "and" transactions, sales "or" transactions, "unknown" where
            sources disagree on the transactions, "none" in a state without a general sales tax.
        period: over which sales are measured; `None` in a state without a general sales tax.
        base: which sales count: "gross", "retail" (without sales for resale), "taxable"; `None`
            where no source says.
        marketplace_counts: whether sales count on which a marketplace collects the tax; `None`
            where no source says, or sources disagree.
        trailing_months: how many months the duty lasts after the end of a period in which the test
            was met; `None` where no source says.
        transactions_dropped_on: the day on which the test of transactions was repealed.
        certainty: of the row; nothing is ever suggested from a "low" one.
        source: where the row was read.
        checked_on: when it was last compared with its source.
        notes: free text.
    """

    state: str
    effective_from: date | None
    effective_to: date | None
    sales: int | None
    transactions: int | None
    logic: Logic
    period: Measured | None
    base: Base | None
    marketplace_counts: bool | None
    trailing_months: int | None
    transactions_dropped_on: date | None
    certainty: Certainty
    source: str
    checked_on: date
    notes: str = ""

    def covers(self, day: date) -> bool:
        """Whether the row holds on this day."""
        begun = self.effective_from is None or self.effective_from <= day
        return begun and (self.effective_to is None or day <= self.effective_to)


COLUMNS = tuple(field.name for field in fields(Threshold))
"""The columns of a file of thresholds, all of them needed, in any order."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All rows, by state and time; for each day a state has at most one."""

    rows: tuple[Threshold, ...]

    def of(self, state: str, on: date) -> Threshold | None:
        """The state's row of this day; `None` where the table has none."""
        return next((row for row in self.rows if row.state == state and row.covers(on)), None)

    def frame(self) -> pd.DataFrame:
        """The rows as a table of the columns of a file; missing where a row is blank."""
        import pandas as pd  # noqa: PLC0415 - only a frame needs it

        cells = [{name: getattr(row, name) for name in COLUMNS} for row in self.rows]
        frame = pd.DataFrame(cells, columns=list(COLUMNS))
        whole = dict.fromkeys(("sales", "transactions", "trailing_months"), "Int64")
        return frame.astype({**whole, "marketplace_counts": "boolean"})

    def __str__(self) -> str:
        """The rows as a table of text."""
        return as_text(*self._shown())

    def _repr_html_(self) -> str:
        return as_html(*self._shown())

    def _shown(self) -> tuple[Note, Table]:
        days = sorted({row.checked_on for row in self.rows})
        checked = " to ".join(map(str, dict.fromkeys((days[0], days[-1])))) if days else NOTHING
        sentences = [
            f"{counted(len(self.rows), 'row')}; last compared with their sources: {checked}.",
            "A blank cell is a fact that no source says; nothing is suggested from it.",
        ]
        rows = [
            (
                row.state,
                str(row.effective_from or NOTHING),
                str(row.effective_to or NOTHING),
                NOTHING if row.sales is None else f"{row.sales:,}",
                NOTHING if row.transactions is None else f"{row.transactions:,}",
                row.logic,
                (row.period or NOTHING).replace("_", " "),
                row.base or NOTHING,
                _word(row.marketplace_counts),
                NOTHING if row.trailing_months is None else str(row.trailing_months),
                row.certainty,
            )
            for row in self.rows
        ]
        heads = (
            *("state", "from", "to", number("sales, $"), number("transactions"), "logic"),
            *("period", "base", "marketplace counts", number("trailing months"), "certainty"),
        )
        return Note("Economic thresholds", sentences), Table(heads, rows)


def read_thresholds(path: str | Path | None = None) -> Thresholds:
    """The shipped thresholds, with the rows of a user's file in their place.

    A row of the file replaces the shipped row of its `state` and `effective_from`, and is added
    where there is none. A row without `effective_from` replaces every shipped row of its state.
    A row without `effective_to` lasts until the state's next row.

    Args:
        path: a CSV file (UTF-8, with a header) of the columns `COLUMNS`; blank cells are facts that
            are not known. `read_thresholds().frame().to_csv(path, index=False)` writes one.

    Raises:
        ThresholdsError: the file has other columns, or rows that cannot be read; it lists them.
        FileNotFoundError: there is no such file.
    """
    shipped = _shipped()
    if path is None:
        return shipped
    return Thresholds(_merged(shipped.rows, _rows_of(path)))


@cache
def _shipped() -> Thresholds:
    text = (files("svc_tools.nexus") / "thresholds.csv").read_text(encoding="utf-8")
    return Thresholds(_merged((), _rows_in(text)))


def _word(known: bool | None) -> str:  # noqa: FBT001 - the value to show
    return NOTHING if known is None else "yes" if known else "no"


_WHOLE = re.compile(r"\$?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,12})(?:\.0+)?")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Value = TypeVar("_Value")


def _rows_of(path: str | Path) -> tuple[Threshold, ...]:
    """The rows of a file, in its order.

    Raises:
        ThresholdsError: it has other columns, or rows that cannot be read.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"thresholds: there is no file {str(path)!r}")
    try:
        return _rows_in(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ThresholdsError([f"{path.name} is not UTF-8 text; save it as CSV (UTF-8)"]) from None


def _rows_in(text: str) -> tuple[Threshold, ...]:
    """The rows of a CSV's text; the cells are separated by commas, semicolons or tabs.

    Raises:
        ThresholdsError: it has other columns, or rows that cannot be read; it lists them all.
    """
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = [str(name).strip().lower() for name in reader.fieldnames or ()]
    _check_columns(names)
    reader.fieldnames = names
    problems: list[str] = []
    rows: list[Threshold] = []
    seen: dict[tuple[str, date | None], int] = {}
    for cells in reader:
        number = reader.line_num
        if not any(str(cell).strip() for cell in cells.values() if cell is not None):
            continue
        row = _Row(number, cells, problems).read()
        if row is None:
            continue
        key = (row.state, row.effective_from)
        if key in seen:
            problems.append(
                f"line {number}: {row.state} has a row from {row.effective_from or 'the first day'}"
                f" already, in line {seen[key]}"
            )
        seen[key] = number
        rows.append(row)
    if problems:
        raise ThresholdsError(problems)
    return tuple(rows)


def _merged(shipped: Sequence[Threshold], own: Sequence[Threshold]) -> tuple[Threshold, ...]:
    """The shipped rows with the user's own in their place, each ended by the state's next row.

    Raises:
        ThresholdsError: a row's last day is after the first day of the next row.
    """
    always = {row.state for row in own if row.effective_from is None}
    merged = {(row.state, row.effective_from): row for row in shipped if row.state not in always}
    merged |= {(row.state, row.effective_from): row for row in own}
    rows = sorted(merged.values(), key=lambda row: (row.state, row.effective_from or date.min))
    problems: list[str] = []
    ended: list[Threshold] = []
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        if following is None or following.state != row.state:
            ended.append(row)
            continue
        assert following.effective_from is not None  # noqa: S101 - only a first row has none
        last = following.effective_from - timedelta(days=1)
        if row.effective_to is None:
            ended.append(replace(row, effective_to=last))
        else:
            ended.append(row)
            if row.effective_to > last:
                problems.append(
                    f"{row.state}: one row lasts to {row.effective_to}, and the next begins on"
                    f" {following.effective_from}; a day has one row"
                )
    if problems:
        raise ThresholdsError(problems)
    return tuple(ended)


def _check_columns(names: Sequence[str]) -> None:
    absent = [name for name in COLUMNS if name not in names]
    other = [name for name in names if name not in COLUMNS]
    twice = sorted({name for name in names if names.count(name) > 1})
    problems = [
        f"{words}: {', '.join(map(repr, found))}"
        for words, found in (
            ("columns are missing", absent),
            ("columns are not known", other),
            ("columns are there twice", twice),
        )
        if found
    ]
    if problems:
        raise ThresholdsError([*problems, f"expected: {', '.join(COLUMNS)}"])


class _Row:
    """One line, read cell by cell; problems are added to the list."""

    def __init__(
        self, number: int, cells: Mapping[str | None, object], problems: list[str]
    ) -> None:
        self._number, self._problems, self._wrong = number, problems, False
        self._cells = {
            name: str(cell).strip() for name, cell in cells.items() if name and cell is not None
        }
        if None in cells:
            self._refuse("it has more cells than the header; quote text that has a delimiter")

    def read(self) -> Threshold | None:
        """The row; `None` where a cell cannot be read."""
        state = self._cell("state", _state, "the code or name of a state", needed=True)
        logic = cast("Logic | None", self._one_of("logic", get_args(Logic), needed=True))
        period = cast("Measured | None", self._one_of("period", get_args(Measured)))
        base = cast("Base | None", self._one_of("base", get_args(Base)))
        sure = cast("Certainty | None", self._one_of("certainty", get_args(Certainty), needed=True))
        begin, end = self._day("effective_from"), self._day("effective_to")
        dropped, checked = (
            self._day("transactions_dropped_on"),
            self._day("checked_on", needed=True),
        )
        sales, transactions = self._whole("sales"), self._whole("transactions")
        trailing = self._whole("trailing_months")
        counts = self._cell("marketplace_counts", _yes_or_no, "yes, no or blank")
        source = self._cells.get("source", "")
        if not source:
            self._refuse("source: missing; say where the row was read")
        if begin is not None and end is not None and end < begin:
            self._refuse(f"effective_to {end} lies before effective_from {begin}")
        if logic is not None:
            self._check_tests(logic, sales, transactions, period)
        if self._wrong or state is None or logic is None or sure is None or checked is None:
            return None
        return Threshold(
            *(state, begin, end, sales, transactions, logic, period, base, counts, trailing),
            *(dropped, sure, source, checked, self._cells.get("notes", "")),
        )

    def _check_tests(
        self, logic: Logic, sales: int | None, transactions: int | None, period: Measured | None
    ) -> None:
        for name, value, needed in zip(
            ("sales", "transactions"), (sales, transactions), _NEEDS[logic], strict=True
        ):
            if needed is not None and needed != (value is not None) and not self._cells[name]:
                self._refuse(f"{name}: missing, and logic {logic!r} needs it")
            elif needed is False and value is not None:
                self._refuse(f"{name}: {value}, but logic {logic!r} has no test of it")
            elif value == 0:
                self._refuse(f"{name}: 0 is no threshold; leave the cell blank")
        if (period is None) != (logic == "none") and not (self._cells["period"] and period is None):
            problem = "missing" if period is None else "not for logic 'none'"
            self._refuse(f"period: {problem}")

    def _refuse(self, problem: str) -> None:
        self._wrong = True
        self._problems.append(f"line {self._number}: {problem}")

    def _cell(
        self,
        name: str,
        read: Callable[[str], _Value | None],
        expected: str,
        *,
        needed: bool = False,
    ) -> _Value | None:
        text = self._cells.get(name, "")
        value = read(text) if text else None
        if text and value is None:
            self._refuse(f"{name}: {text[:_SHOWN]!r} is not {expected}")
        elif not text and needed:
            self._refuse(f"{name}: missing; expected {expected}")
        return value

    def _one_of(self, name: str, words: Iterable[str], *, needed: bool = False) -> str | None:
        known = tuple(words)
        return self._cell(
            name,
            lambda text: text.lower() if text.lower() in known else None,
            f"one of {', '.join(known)}",
            needed=needed,
        )

    def _day(self, name: str, *, needed: bool = False) -> date | None:
        return self._cell(name, _iso, "a date such as 2026-05-01", needed=needed)

    def _whole(self, name: str) -> int | None:
        return self._cell(name, _number, "a whole number")


def _state(text: str) -> str | None:
    code = state_code(text)
    return code if isinstance(code, str) and code in STATES else None


def _iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _ISO.fullmatch(text) else None
    except ValueError:
        return None


def _number(text: str) -> int | None:
    if not _WHOLE.fullmatch(text):
        return None
    return int(text.removeprefix("$").partition(".")[0].replace(",", ""))


def _yes_or_no(text: str) -> bool | None:
    word = text.lower()
    return True if word in _YES else False if word in _NO else None
