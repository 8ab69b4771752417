"""The states' economic thresholds: shipped rows with their sources, which a user's file overrides.

A row holds for a span of days, with its source and certainty. A fact that no source gives is blank,
and a blank is never filled by a guess: `exposure` reports what is not known. Every cell of a user's
file is checked, and an error lists all problems.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from svc_tools.base.extras import needs
from svc_tools.nexus.register import ProblemsError, checked_names, read_sheet
from svc_tools.show.display import NOTHING, Note, Table, as_html, as_text, counted, number
from svc_tools.tables.dates import exact_day
from svc_tools.tables.states import us_state
from svc_tools.tables.tabular import cell_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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

_Reader = tuple[Callable[[str], object], str]
_SHOWN = 40
_NEEDED = {"state", "logic", "certainty", "source", "checked_on"}
_TESTS: dict[str, tuple[bool, bool | None]] = {
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
            where no source states it.
        marketplace_counts: whether sales count on which a marketplace collects the tax; `None`
            where no source states it, or sources disagree.
        trailing_months: how many months the duty lasts after the end of a period in which the test
            was met; `None` where no source states it.
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


THRESHOLD_COLUMNS = tuple(field.name for field in fields(Threshold))
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
        with needs("Thresholds as a frame", "pandas"):
            import pandas as pd  # noqa: PLC0415 - only a frame needs it
        cells = [{name: getattr(row, name) for name in THRESHOLD_COLUMNS} for row in self.rows]
        frame = pd.DataFrame(cells, columns=list(THRESHOLD_COLUMNS))
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
            "A blank cell is a fact that no source states; nothing is suggested from it.",
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
    where it is missing. A row without `effective_from` replaces every shipped row of its state.
    A row without `effective_to` lasts until the state's next row.

    Args:
        path: a CSV or workbook, with a header, of the columns `THRESHOLD_COLUMNS`; blank cells are
            facts that are not known. `read_thresholds().frame().to_csv(path, index=False)` writes
            one.

    Raises:
        ThresholdsError: the file has other columns, or rows that cannot be read; it lists them.
        FileNotFoundError: there is no such file.
    """
    shipped = _shipped()
    return shipped if path is None else Thresholds(_merged(shipped.rows, _rows_of(Path(path))))


@cache
def _shipped() -> Thresholds:
    return Thresholds(_merged((), _rows_of(Path(__file__).with_name("thresholds.csv"))))


def _word(known: bool | None) -> str:  # noqa: FBT001 - the value to show
    return NOTHING if known is None else "yes" if known else "no"


def _rows_of(path: Path) -> tuple[Threshold, ...]:
    """The rows of a file, in its order.

    Raises:
        ThresholdsError: it has other columns, or rows that cannot be read; it lists them all.
        FileNotFoundError: there is no such file.
    """
    sheet = read_sheet(path, ThresholdsError) or [(0, [])]
    below = sheet[1:]
    names = checked_names(sheet, _columns_of, ThresholdsError)
    problems: list[str] = []
    rows: dict[tuple[str, date | None], int] = {}
    found = []
    for line, cells in below:
        texts = ["" if cell is None else cell_text(cell).strip() for cell in cells]
        if not any(texts):
            continue
        faults = []
        if any(texts[len(names) :]):
            faults.append("it has more cells than the header; quote text that has a delimiter")
        row = _row(dict(zip(names, texts, strict=False)), faults)
        problems += (f"line {line}: {fault}" for fault in faults)
        if row is None:
            continue
        key = (row.state, row.effective_from)
        if key in rows:
            problems.append(
                f"line {line}: {row.state} has a row from {row.effective_from or 'the first day'}"
                f" already, in line {rows[key]}"
            )
        rows[key] = line
        found.append(row)
    if problems:
        raise ThresholdsError(problems)
    return tuple(found)


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
    for at, (row, following) in enumerate(pairwise(rows)):
        if following.state != row.state or following.effective_from is None:
            continue
        last = following.effective_from - timedelta(days=1)
        if row.effective_to is None:
            rows[at] = replace(row, effective_to=last)
        elif row.effective_to > last:
            problems.append(
                f"{row.state}: one row lasts to {row.effective_to}, and the next begins on"
                f" {following.effective_from}; a day has one row"
            )
    if problems:
        raise ThresholdsError(problems)
    return tuple(rows)


def _columns_of(header: Sequence[str]) -> list[str]:
    names = [name.strip().lower() for name in header]
    found = {
        "columns are missing": [name for name in THRESHOLD_COLUMNS if name not in names],
        "columns are not known": [name for name in names if name not in THRESHOLD_COLUMNS],
        "columns are there twice": sorted({name for name in names if names.count(name) > 1}),
    }
    problems = [f"{words}: {', '.join(map(repr, of))}" for words, of in found.items() if of]
    if problems:
        raise ThresholdsError([*problems, f"expected: {', '.join(THRESHOLD_COLUMNS)}"])
    return names


def _row(texts: Mapping[str, str], faults: list[str]) -> Threshold | None:
    """A row of a file; `None` where a cell cannot be read, and what is wrong with it."""
    values: dict[str, Any] = {}
    for name in THRESHOLD_COLUMNS:
        text = texts.get(name, "")
        read, expected = _READERS[name]
        values[name] = read(text) if text else None
        if text and values[name] is None:
            faults.append(f"{name}: {text[:_SHOWN]!r} is not {expected}")
        elif not text and name in _NEEDED:
            faults.append(f"{name}: missing; expected {expected}")
    begin, end = values["effective_from"], values["effective_to"]
    if begin is not None and end is not None and end < begin:
        faults.append(f"effective_to {end} lies before effective_from {begin}")
    if not faults:
        faults += _contradictions(values)
    return None if faults else Threshold(**values | {"notes": texts.get("notes", "")})


def _contradictions(values: Mapping[str, Any]) -> Iterator[str]:
    """Where the tests that a row has are not those of its logic."""
    logic = values["logic"]
    for name, needed in zip(("sales", "transactions"), _TESTS[logic], strict=True):
        value = values[name]
        if needed and value is None:
            yield f"{name}: missing, and logic {logic!r} needs it"
        elif needed is False and value is not None:
            yield f"{name}: {value}, but logic {logic!r} has no test of it"
        elif value == 0:
            yield f"{name}: 0 is no threshold; leave the cell blank"
    if (values["period"] is None) != (logic == "none"):
        yield f"period: {'missing' if logic != 'none' else 'not for logic none'}"


_WHOLE = re.compile(r"\$?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,12})(?:\.0+)?")


def _number(text: str) -> int | None:
    if not _WHOLE.fullmatch(text):
        return None
    return int(text.removeprefix("$").partition(".")[0].replace(",", ""))


def _yes_or_no(text: str) -> bool | None:
    return {"yes": True, "true": True, "1": True, "y": True}.get(
        text.lower(), False if text.lower() in {"no", "false", "0", "n"} else None
    )


def _one_of(words: object) -> _Reader:
    known = get_args(words)
    return (
        lambda text: text.lower() if text.lower() in known else None,
        f"one of {', '.join(known)}",
    )


_DAY = (exact_day, "a date such as 2026-05-01")
_COUNT = (_number, "a whole number")
_READERS: dict[str, _Reader] = {
    "state": (us_state, "the code or name of a state"),
    "effective_from": _DAY,
    "effective_to": _DAY,
    "sales": _COUNT,
    "transactions": _COUNT,
    "logic": _one_of(Logic),
    "period": _one_of(Measured),
    "base": _one_of(Base),
    "marketplace_counts": (_yes_or_no, "yes, no or blank"),
    "trailing_months": _COUNT,
    "transactions_dropped_on": _DAY,
    "certainty": _one_of(Certainty),
    "source": (str, "where the row was read"),
    "checked_on": _DAY,
    "notes": (str, "text"),
}
"""How the cells of each column are read, and what is expected there."""
