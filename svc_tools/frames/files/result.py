"""The result of enriching a file: totals of its rows, and the rows to review, by page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.review.aggregates import (
    FREQUENT,
    Complete,
    OnShares,
    ReasonCounts,
    Statuses,
    TaxSums,
    Warned,
    is_usable,
    shares_sentence,
)
from svc_tools.frames.review.codes import DECIDING_COLUMNS, review_codes
from svc_tools.frames.review.review import ReviewCounts, expected_sentence, state_reason_table
from svc_tools.frames.review.split import USE_OF_GROUP, PartSums, parts_sentence, parts_table
from svc_tools.frames.taxes.not_due import NotDueSums, not_due_sentence
from svc_tools.frames.taxes.taxed_rows import goods_of_tax
from svc_tools.frames.values.money import dollars
from svc_tools.frames.values.odd_cells import rows_of
from svc_tools.lookup import STATUSES
from svc_tools.lookup.outcomes import INTERRUPTED, STOPPED
from svc_tools.show.codes import meaning_of
from svc_tools.show.display import (
    FIRST_ROW,
    Note,
    Table,
    as_html,
    as_text,
    capital,
    counted,
    duration,
    exact_dollars,
    number,
    places_and_dates,
    plain,
    printable,
    prose,
    the_service,
    unknown_warnings_sentence,
)
from svc_tools.tables.cells import text_of_formula
from svc_tools.tables.csv_files import FileError
from svc_tools.tables.tabular import Chunk, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    from svc_tools.frames.analysis.breakdowns import Breakdown
    from svc_tools.frames.review.aggregates import Aggregate, Resting
    from svc_tools.frames.review.review import RankedRows
    from svc_tools.frames.review.split import Part
    from svc_tools.frames.taxes.not_due import NotDue
    from svc_tools.frames.values.arrow import Coded
    from svc_tools.show.display import Head
    from svc_tools.tables.statuses import Meaning

_MOST_LISTED, _MOST_GROUPS = 6, 12
_LONGEST = 400
"""Characters: enough for every reason of the toolkit; a service may send a page."""
TO_REVIEW = "Rows to review by state and reason"
"""The title of that table, which shows the groups of `df.svc.review()` of all rows."""


@dataclass(frozen=True, slots=True)
class FileRun:
    """The result of enriching a file.

    Attributes:
        source: the file that was read.
        output: the file that was requested; `None` where the rows became a frame.
        written: where the rows are; `None` where nothing was written.
        service: the service or lock file used.
        places: distinct places and dates.
        cached: how many of them were in the cache.
        asked: how many were requested now, or computed.
        requests: how many requests that took.
        stopped: why the run ended early; `None` where it did not.
        resumable: whether the same command requests nothing again: results are cached, or computed.
        totals: rows by status, and their tax.
        read: which export the file was recognized as, if any, and which columns were used.
        notes: what was decided, in sentences.
        on_columns: those of them that say what `read` says, one for each argument.
        seconds: how long it took.
        computed: whether the results were computed in this process: nothing was requested.
    """

    source: Path
    output: Path | None
    written: Path | None
    service: str
    places: int
    cached: int
    asked: int
    requests: int
    stopped: str | None
    resumable: bool
    totals: FileTotals
    read: str
    notes: tuple[str, ...]
    on_columns: tuple[str, ...]
    seconds: float
    computed: bool = False

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted or stopped the run."""
        return self.stopped in {INTERRUPTED, STOPPED}

    @property
    def settled(self) -> bool:
        """Whether every row has its outcome: no lookup failed or was not attempted."""
        return self.stopped is None and not self.totals.rows_where(lambda status: status.again)

    @property
    def all_known(self) -> bool:
        """Whether every row has a whole rate, and a tax where one was requested.

        A row of which no tax is due needs neither.
        """
        totals = self.totals
        return self.stopped is None and totals.whole + totals.not_due_open == totals.rows

    def __str__(self) -> str:
        """The result as text."""
        return as_text(*self.parts())

    def _repr_html_(self) -> str:
        return as_html(*self.parts())

    def parts(self) -> tuple[Note | Table, ...]:
        """The result for display: the file, what can be used of it, and tables of its rows."""
        written = "Nothing was written."
        if self.written is not None:
            written = f"Written: {printable(self.written)}."
        notes = (capital(printable(note)) for note in self.notes if note not in self.on_columns)
        of_rows = [*self.totals.money, *self.totals.remarks]
        sentences = [*_sentences(self), *of_rows, written, self.requested, *notes]
        lead = Note(_title(self), sentences)
        return lead, *self.lead()[1:], *self.details()

    def lead(self, *, meanings: bool = True) -> tuple[Note | Table, ...]:
        """What was read, and what can be used; `meanings` of the groups need room."""
        by_use = self.totals.by_use if self.written is not None else ()
        table = parts_table(by_use, meanings=meanings)
        return Note(_title(self), _sentences(self)), *([table] if by_use else [])

    def details(self, width: int | None = None) -> list[Table]:
        """Rows by status and reason, what to review, and breakdowns that fit a width.

        Nothing where no row was written.
        """
        if self.written is None:
            return []
        breakdowns = self.totals.breakdowns.values()
        return [*_details(self.totals), *(made.shown(width) for made in breakdowns)]

    @property
    def requested(self) -> str:
        """How many results are from the cache, and how many were requested, in a sentence."""
        if self.computed:
            who = printable(the_service(self.service))
            return f"{self.asked:,} computed here by {who}, in {duration(self.seconds)}."
        return (
            f"{self.cached:,} from the cache or lock file, {self.asked:,} requested from"
            f" {printable(the_service(self.service))}, in {duration(self.seconds)}."
        )

    def as_json(self) -> dict[str, object]:
        """Plain values for a program."""
        return {
            "source": str(self.source),
            "read": self.read,
            "output": None if self.written is None else str(self.written),
            "complete": self.stopped is None,
            "stopped": self.stopped,
            "service": self.service,
            "places": self.places,
            "cached": self.cached,
            "asked": self.asked,
            "requests": self.requests,
            **self.totals.as_json(),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 1),
        }


def _title(run: FileRun) -> str:
    """The file and its size, with a mark first where it is not complete."""
    early = "" if run.stopped is None else "INCOMPLETE: "
    rows = "" if run.written is None else f"{counted(run.totals.rows, 'row')}, "
    return f"{early}{plain(run.source.name)}: {rows}{places_and_dates(run.places)}"


def _sentences(run: FileRun) -> list[str]:
    """What was read, and how much of it can be used."""
    texts = [] if run.stopped is None else [f"Ended early: {printable(run.stopped)}."]
    texts.append(f"{printable(run.read)}.")
    if run.written is not None and run.totals.by_use:
        texts.append(parts_sentence(run.totals.by_use))
    return texts


def _details(totals: FileTotals) -> list[Table]:
    """Rows by status and reason, and what to review."""
    counts = totals.statuses
    by_status = tuple(
        (name, f"{counts[name]:,}", meaning_of(name)) for name in STATUSES if counts[name]
    )
    tables = [Table(("Status", number("Rows"), prose("Meaning")), by_status, "Rows by status")]
    heads = ("Status", number("Rows"), prose("Reason"))
    reasons = [(status, meaning_of(why) or why, n) for status, why, n in totals.reasons_alike()]
    without = totals.rows - totals.rows_where(lambda status: status.usable)
    tables += _reason_tables("Why rows have no whole rate", heads, reasons, without)
    total = totals.untaxed.total()
    title = "Why rows with a rate have no tax"
    tables += _reason_tables(title, heads[1:], totals.untaxed_alike(), total)
    groups = totals.review.groups()
    if groups:
        table = state_reason_table(TO_REVIEW, groups, _MOST_GROUPS)
        table.more = ". ".join(filter(None, [table.more, totals.estimates])) or None
        tables.append(table)
    return tables


def _reason_tables(
    title: str, heads: Sequence[Head], reasons: Sequence[tuple[str, str, int]], total: int
) -> list[Table]:
    """The most frequent reasons as a table, and how many rows have others."""
    listed = reasons[:_MOST_LISTED]
    rows = [(status, f"{count:,}", plain(why, _LONGEST)) for status, why, count in listed]
    rest = total - sum(count for *_, count in listed)
    more = f"and {counted(rest, 'row')} for other reasons" if rest > 0 else None
    return [Table(heads, [row[-len(heads) :] for row in rows], title, more)] if rows else []


_MOST_REASONS = 20_000
"""Distinct reasons counted: those that quote a cell can be as many as the rows."""


_PART = 16_384
"""Rows that are added at once."""


class FileTotals:
    """What is added up over the chunks of a file, in aggregates that a frame has, too.

    Args:
        taxed: which statuses should have a tax; `None` where none was requested.
        ranked: whether the rows to review are listed by dollars, too.
        breakdowns: the tables that are made on request, by their names.

    Attributes:
        review: the rows that require review, as `df.svc.review()` counts them.
        breakdowns: those tables.
    """

    def __init__(
        self,
        taxed: Callable[[Meaning], bool] | None = None,
        *,
        ranked: bool = False,
        breakdowns: Mapping[str, Breakdown] | None = None,
    ) -> None:
        self.review = ReviewCounts(ranked=ranked)
        self.breakdowns = breakdowns or {}
        self._statuses, self._reasons = Statuses(), ReasonCounts(_MOST_REASONS)
        self._warned, self._complete = Warned(_MOST_REASONS), Complete(taxed=taxed is not None)
        self._parts, self._not_due = PartSums(), NotDueSums()
        self._on_shares = OnShares()
        self._tax, self._has_tax = TaxSums(taxed or is_usable, _MOST_REASONS), taxed is not None

    def add(self, rows: Enriched) -> None:
        """Add the rows of a chunk, part by part: what is known of each row needs memory."""
        every: list[Aggregate] = [self._statuses, self._reasons, self._warned, self._complete]
        every += [self._parts, self._not_due, self.review, self._on_shares]
        every += self.breakdowns.values()
        every += [self._tax] if self._has_tax else []
        for start in range(0, max(len(rows), 1), _PART):
            part = Enriched(rows.frame.iloc[start : start + _PART], rows.prefix)
            goods = goods_of_tax(part)
            for aggregate in every:
                aggregate.add(part, goods)

    @property
    def rows(self) -> int:
        """All rows."""
        return self.statuses.total()

    @property
    def statuses(self) -> Counter[str]:
        """The rows by `lookup_status`."""
        return self._statuses.rows

    @property
    def reasons(self) -> Counter[tuple[str, str]]:
        """The rows without a whole rate by status and reason.

        The rarest may be left out where there are very many.
        """
        return self._reasons.rows

    @property
    def whole(self) -> int:
        """Rows with a whole rate, and with a tax where one was requested."""
        return self._complete.rows

    @property
    def not_due_open(self) -> int:
        """Rows of which no tax is due that `whole` does not count and that have their outcome."""
        return self._complete.not_due

    @property
    def not_due(self) -> tuple[NotDue, ...]:
        """The rows of which no tax is due from the seller, by reason: none requires review."""
        return self._not_due.found

    @property
    def unknown_warnings(self) -> Counter[str]:
        """Those warnings of the service whose codes are not known, with their rows."""
        return Counter(dict(self._warned.unknown))

    @property
    def by_use(self) -> tuple[Part, ...]:
        """The rows by what they can be used for, as `df.svc.split()` counts them."""
        return self._parts.parts

    @property
    def taxed(self) -> int | None:
        """Rows with a tax; `None` where none was requested."""
        return self._tax.rows if self._has_tax else None

    @property
    def sales(self) -> Decimal:
        """The amounts of the rows with a tax."""
        return self._tax.sales

    @property
    def delivery(self) -> Decimal | None:
        """Their delivery; `None` where none is charged separately."""
        return self._tax.delivery

    @property
    def tax(self) -> Decimal:
        """Their tax."""
        return self._tax.tax

    @property
    def due(self) -> Decimal | None:
        """The part of it that the seller owes; `None` without a register and channels."""
        return self._tax.due

    @property
    def at_stake(self) -> Decimal:
        """What lies between the lowest and the highest tax.

        It is there where places have several candidate rates, or it is in doubt whether delivery
        is taxed.
        """
        return self._tax.at_stake

    @property
    def untaxed(self) -> Counter[str]:
        """Rows that have a rate, by the reason why they have no tax."""
        return self._tax.untaxed

    def rows_where(self, is_meant: Callable[[Meaning], bool]) -> int:
        """How many rows have a status that is meant."""
        return self._statuses.rows_where(is_meant)

    def reasons_alike(self) -> list[tuple[str, str, int]]:
        """Why rows have no whole rate; reasons that differ only in the value quoted are one."""
        return self._reasons.alike

    def untaxed_alike(self) -> list[tuple[str, str, int]]:
        """Why rows with a rate have no tax, likewise, without a status."""
        return self._tax.untaxed_alike

    @property
    def money(self) -> list[str]:
        """The tax of all rows, in sentences; none where none was requested."""
        if self.taxed is None:
            return []
        delivery = (
            "" if self.delivery is None else f" and {exact_dollars(self.delivery)} of delivery"
        )
        tax = (
            f"Rows with a tax: {self.taxed:,}, {exact_dollars(self.sales)} of sales{delivery},"
            f" {exact_dollars(self.tax)} of tax. Rows without: {self.rows - self.taxed:,}."
        )
        due = [] if self.due is None else [f"Of it due from you: {exact_dollars(self.due)}."]
        return [tax, *due]

    @property
    def remarks(self) -> list[str]:
        """What requires no review, in sentences: not due, shares of housing, unknown warnings."""
        warned = unknown_warnings_sentence(self._warned.unknown)
        shares = shares_sentence(self.on_shares)
        return [*filter(None, (not_due_sentence(self.not_due), shares, warned))]

    @property
    def on_shares(self) -> Resting:
        """The rows whose rate less than 98% of their ZIP's housing is known to have."""
        return self._on_shares.found

    @property
    def estimates(self) -> str | None:
        """How much of the dollars of the review is estimated or expected; `None` if nothing."""
        rows, estimated = self.review.estimated
        expected = expected_sentence(*self.review.expected)
        if not estimated:
            return expected or None
        of_estimate = (
            f"Of these dollars {exact_dollars(estimated)} is an estimate for"
            f" {counted(rows, 'row')} without a tax, at the highest rate found in their state."
        )
        return " ".join(filter(None, (of_estimate, expected)))

    def as_json(self) -> dict[str, object]:
        """Plain values; dollars as text with two decimals."""
        estimated_rows, estimated = self.review.estimated
        expected_rows, expected = self.review.expected
        values: dict[str, object] = {
            "rows": self.rows,
            "split": {
                name: _part_as_json(part)
                for name, part in zip(USE_OF_GROUP, self.by_use, strict=False)
            },
            "statuses": {name: self.statuses[name] for name in STATUSES if self.statuses[name]},
            "rows_whole": self.whole,
            "needs_review": self.review.rows,
            "review": [
                {
                    "state": group.state,
                    "reason": group.reason,
                    "rows": group.rows,
                    "dollars": None if group.dollars is None else str(group.dollars),
                    "to_do": group.to_do,
                    "where": group.where,
                }
                for group in self.review.groups()
            ],
            "review_estimated": {"rows": estimated_rows, "dollars": str(estimated)},
            "review_expected": {"rows": expected_rows, "dollars": str(expected)},
            "on_shares_below_98": _resting_as_json(self.on_shares),
            "not_due": [reason.as_json() for reason in self.not_due],
            "unknown_warnings": [
                {"code": code, "rows": rows} for code, rows in self._warned.unknown[:FREQUENT]
            ],
            "reasons": [
                {"status": status, "reason": why, "rows": rows}
                for status, why, rows in self.reasons_alike()[:FREQUENT]
            ],
        }
        if self.taxed is not None:
            values |= {
                "rows_with_tax": self.taxed,
                "sales": str(self.sales),
                **({} if self.delivery is None else {"delivery": str(self.delivery)}),
                "tax": str(self.tax),
                **({} if self.due is None else {"tax_due": str(self.due)}),
                "at_stake": str(self.at_stake),
                "without_tax": [
                    {"reason": why, "rows": rows}
                    for _, why, rows in self.untaxed_alike()[:FREQUENT]
                ],
            }
        return values | {name: made.as_json() for name, made in self.breakdowns.items()}


def _part_as_json(part: Part) -> dict[str, object]:
    """Its rows, and its dollars as far as they are known."""
    values = {"sales": part.sales, "tax": part.tax, "tax_due": part.due}
    known = {name: str(value) for name, value in values.items() if value is not None}
    return {"rows": part.rows, **known}


def _resting_as_json(part: Resting) -> dict[str, object]:
    """Its rows, and its dollars as far as they are known."""
    known = {"sales": part.sales, "tax": part.tax}
    return {"rows": part.rows, **{name: str(of) for name, of in known.items() if of is not None}}


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A row that requires review.

    Attributes:
        number: its row in the written file, as a spreadsheet counts them: the names of the columns
            are row 1.
        dollars: at stake in it; `None` where there is no figure.
        cells: its cells in the requested columns, as texts.
        status: its `lookup_status`.
        rate: its `combined_rate` with five decimals; empty where it is missing.
        codes: why it requires review, the most urgent first.
        error: its `lookup_error`; empty where it is missing.
    """

    number: int
    dollars: Decimal | None
    cells: tuple[str, ...]
    status: str
    rate: str
    codes: tuple[str, ...]
    error: str


_REQUIRED = ("lookup_status", "combined_rate", "lookup_error", "needs_review")


def rows_to_review(
    path: Path, ranked: RankedRows, *, columns: Sequence[str] = (), prefix: str = ""
) -> tuple[ReviewRow, ...]:
    """Some of the rows that require review, read from a file that `enrich_file` wrote.

    The file is read by chunks up to the last of these rows, so no file is too large.

    Args:
        path: the enriched file.
        ranked: which rows, in the order in which they are returned.
        columns: which of the user's own columns to show.
        prefix: stands before the names of its added columns.

    Raises:
        FileError: the file cannot be read, or was not written by a lookup.
    """
    rows = open_table(path)
    try:
        names = list(rows.schema.names)
        # the added columns follow the user's
        last = {name: place for place, name in enumerate(names)}
        first = {name: place for place, name in reversed(list(enumerate(names)))}
        if lacking := [
            name for name in (*(prefix + name for name in _REQUIRED), *columns) if name not in last
        ]:
            raise FileError(f"{path.name} has no column {lacking[0]!r}: no lookup wrote it")
        read = [
            name for name in dict.fromkeys((*_REQUIRED, *DECIDING_COLUMNS)) if prefix + name in last
        ]
        positions = [*(last[prefix + name] for name in read), *(first[name] for name in columns)]
        found: dict[int, ReviewRow] = {}
        wanted = {
            int(number): None if missing else dollars(int(cents))
            for number, cents, missing in zip(ranked.numbers, *ranked.dollars, strict=True)
        }
        numbers, seen = np.sort(ranked.numbers), 0
        for chunk in rows.chunks(positions):
            if len(found) == len(wanted):
                break
            here = numbers[(numbers >= seen) & (numbers < seen + len(chunk.table))] - seen
            if not len(here):
                seen += len(chunk.table)
                continue
            part = _taken(chunk, here)
            reasons = _reasons(part, read)
            for row, at, code in zip(part.table.to_pylist(), here, reasons.codes, strict=True):
                status, rate, error, *texts = _texts(row.values())
                number, why = seen + int(at), reasons.values[code]  # noqa: PD011 - no frame's
                shown = tuple(texts[len(read) - 3 :])
                found[number] = ReviewRow(
                    number + FIRST_ROW, wanted[number], shown, status, rate, why, error
                )
            seen += len(chunk.table)
        return tuple(found[number] for number in wanted if number in found)
    finally:
        rows.close()


def _taken(chunk: Chunk, rows: np.ndarray) -> Chunk:
    """Some rows of a chunk; its columns are named by their positions."""
    names = [str(place) for place in range(chunk.table.num_columns)]
    table = chunk.table.rename_columns(names).take(pa.array(rows))
    stored = {place: [cells[row] for row in rows] for place, cells in chunk.stored.items()}
    return Chunk(table, stored)


def _reasons(chunk: Chunk, names: Sequence[str]) -> Coded[tuple[str, ...]]:
    """The codes for which each row of a chunk requires review."""
    frame = rows_of(chunk, range(len(names)))
    frame.columns = pd.Index(names)
    try:
        return review_codes(Enriched(frame))
    except ValueError as error:  # a flag that is neither true nor false
        raise FileError(str(error)) from None


def _texts(cells: Iterable[object]) -> list[str]:
    return ["" if cell is None else text_of_formula(str(cell)) for cell in cells]
