"""The result of enriching a file: totals of its rows, and the rows to review, by page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.cells import text_of_formula
from svc_tools.codes import codes_in, meaning_of, unknown_warnings
from svc_tools.csv_files import FileError
from svc_tools.display import (
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
from svc_tools.frames.arrow import coded
from svc_tools.frames.lookup_columns import statuses_of
from svc_tools.frames.money import dollars
from svc_tools.frames.odd_cells import rows_of
from svc_tools.frames.review import (
    ReviewCounts,
    state_reason_table,
)
from svc_tools.frames.review_rows import DECIDING, codes_of_rows, warnings_counted
from svc_tools.frames.split import (
    GROUPS,
    parts_joined,
    parts_of,
    parts_sentence,
    parts_table,
    uses_of,
)
from svc_tools.frames.taxes.not_due import (
    not_due_joined,
    not_due_of,
    not_due_of_rows,
    not_due_sentence,
)
from svc_tools.frames.taxes.taxed_rows import goods_of_tax, shipping_of_rows
from svc_tools.lookup import STATUSES
from svc_tools.lookup.outcomes import INTERRUPTED, STOPPED, counted_alike
from svc_tools.statuses import Meaning, Status
from svc_tools.tabular import Chunk, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from svc_tools.display import Head
    from svc_tools.frames.arrow import Coded
    from svc_tools.frames.review import RankedRows
    from svc_tools.frames.split import Part
    from svc_tools.frames.taxes.not_due import NotDue

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
        return self.stopped is None and not self.totals.rows_where(lambda one: one.again)

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

    def details(self) -> list[Table]:
        """Rows by status and reason, and what to review; nothing where no row was written."""
        return [] if self.written is None else _details(self.totals)

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
    without = totals.rows - totals.rows_where(lambda one: one.usable)
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
_FREQUENT_REASONS = 1_000


@dataclass(slots=True)
class FileTotals:
    """Rows by status, their reasons, and dollars where a tax was computed.

    Attributes:
        rows: all rows.
        statuses: rows by `lookup_status`.
        reasons: rows by status and reason, where there is no whole rate; the rarest may be left
            out where there are very many.
        whole: rows with a whole rate, and with a tax where one was requested.
        review: the rows that require review, as `df.svc.review()` counts them.
        not_due: the rows of which no tax is due from the seller, by reason: none requires review.
        not_due_open: those of them that `whole` does not count and that have their outcome.
        unknown_warnings: rows by those warnings of the service whose codes are not known.
        by_use: the rows by what they can be used for, as `df.svc.split()` counts them: ready, to
            check, incomplete, and no rate.
        taxed: rows with a tax; `None` where none was requested.
        sales: the amounts of those rows.
        delivery: their delivery; `None` where none is charged separately.
        tax: their tax.
        due: the part of it that the seller owes; `None` without a register and channels.
        at_stake: what lies between the lowest and the highest tax, where places have several
            candidate rates, or it is in doubt whether delivery is taxed.
        untaxed: rows that have a rate, by the reason why they have no tax.
    """

    rows: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    whole: int = 0
    review: ReviewCounts = field(default_factory=ReviewCounts)
    not_due: tuple[NotDue, ...] = ()
    not_due_open: int = 0
    unknown_warnings: Counter[str] = field(default_factory=Counter)
    by_use: tuple[Part, ...] = ()
    taxed: int | None = None
    sales: Decimal = Decimal("0.00")
    delivery: Decimal | None = None
    tax: Decimal = Decimal("0.00")
    due: Decimal | None = None
    at_stake: Decimal = Decimal("0.00")
    untaxed: Counter[str] = field(default_factory=Counter)

    def add(
        self, frame: pd.DataFrame, prefix: str, *, taxed: Callable[[Meaning], bool] | None
    ) -> None:
        """Add the rows of an enriched frame.

        `taxed` says which statuses should have a tax; `None` where none was requested.
        """
        self.rows += len(frame)
        status, error = frame[f"{prefix}lookup_status"], frame[f"{prefix}lookup_error"]
        self.statuses.update(_counts(status))
        of_rows = statuses_of(frame, prefix)
        open_rows = ~of_rows.where(lambda one: Status.of(one).usable)
        if open_rows.any():
            pairs = zip(status[open_rows].tolist(), error[open_rows].tolist(), strict=True)
            for (state, why), rows in Counter(pairs).items():
                self.reasons[state, why if isinstance(why, str) else ""] += rows
            if len(self.reasons) > _MOST_REASONS:
                self.reasons = Counter(dict(self.reasons.most_common(_FREQUENT_REASONS)))
        codes = codes_of_rows(frame, of_rows, prefix)
        self.review.add(frame, of_rows, codes, prefix)
        goods = goods_of_tax(frame, prefix)
        parts = parts_of(frame, uses_of(of_rows, codes), goods=goods, prefix=prefix)
        self.by_use = parts_joined(self.by_use, parts)
        self.not_due = not_due_joined(self.not_due, not_due_of(frame, prefix, goods))
        warned = unknown_warnings(warnings_counted(coded(frame, f"{prefix}warnings")))
        self.unknown_warnings.update(dict(warned))
        if len(self.unknown_warnings) > _MOST_REASONS:
            self.unknown_warnings = Counter(
                dict(self.unknown_warnings.most_common(_FREQUENT_REASONS))
            )
        whole = ~open_rows
        if taxed is not None:
            self._add_money(frame, prefix, of_rows.where(lambda one: taxed(Status.of(one))))
            whole &= frame[f"{prefix}tax"].notna().to_numpy()
        self.whole += int(whole.sum())
        done = of_rows.where(lambda one: Status.of(one).settled)
        not_due = not_due_of_rows(frame, prefix).where(bool)
        self.not_due_open += int((not_due & ~whole & done).sum())

    def rows_where(self, is_meant: Callable[[Meaning], bool]) -> int:
        """How many rows have a status that is meant."""
        return sum(rows for name, rows in self.statuses.items() if is_meant(Status.of(name)))

    def reasons_alike(self) -> list[tuple[str, str, int]]:
        """Why rows have no whole rate; reasons that differ only in the value quoted are one."""
        return counted_alike((*why, rows) for why, rows in self.reasons.items())

    def untaxed_alike(self) -> list[tuple[str, str, int]]:
        """Why rows with a rate have no tax, likewise, without a status."""
        return counted_alike(("", why, rows) for why, rows in self.untaxed.items())

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
        """What requires no review, in sentences: rows that are not due, and unknown warnings."""
        warned = unknown_warnings(self.unknown_warnings.items())
        return [*filter(None, (not_due_sentence(self.not_due), unknown_warnings_sentence(warned)))]

    @property
    def _warned(self) -> list[dict[str, object]]:
        found = unknown_warnings(self.unknown_warnings.items())
        return [{"code": code, "rows": rows} for code, rows in found[:_FREQUENT_REASONS]]

    @property
    def estimates(self) -> str | None:
        """How much of the dollars of the review is estimated, in a sentence; `None` if nothing."""
        rows, estimated = self.review.estimated
        if not estimated:
            return None
        return (
            f"Of these dollars {exact_dollars(estimated)} is an estimate for"
            f" {counted(rows, 'row')} without a tax, at the highest rate found in their state."
        )

    def _add_money(self, frame: pd.DataFrame, prefix: str, rated: np.ndarray) -> None:
        tax = frame[f"{prefix}tax"]
        self.taxed = (self.taxed or 0) + int(tax.notna().sum())
        self.tax += _sum(tax)
        for name in ("taxable_amount", "exempt_amount"):
            if prefix + name in frame:
                self.sales += _sum(frame[prefix + name])
        if f"{prefix}shipping_tax" in frame:
            cents = shipping_of_rows(frame, prefix)[tax.notna().to_numpy()].sum()
            self.delivery = (self.delivery or dollars(0)) + dollars(int(cents))
            self.sales -= dollars(int(cents))
        if f"{prefix}tax_due" in frame:
            self.due = (self.due or Decimal("0.00")) + _sum(frame[f"{prefix}tax_due"])
        if f"{prefix}at_stake" in frame:
            self.at_stake += _sum(frame[f"{prefix}at_stake"])
        self.untaxed.update(_counts(frame.loc[rated, f"{prefix}tax_error"]))
        if len(self.untaxed) > _MOST_REASONS:
            self.untaxed = Counter(dict(self.untaxed.most_common(_FREQUENT_REASONS)))

    def as_json(self) -> dict[str, object]:
        """Plain values; dollars as text with two decimals."""
        estimated_rows, estimated = self.review.estimated
        values: dict[str, object] = {
            "rows": self.rows,
            "split": {
                name: _part_as_json(part) for name, part in zip(GROUPS, self.by_use, strict=False)
            },
            "statuses": {name: self.statuses[name] for name in STATUSES if self.statuses[name]},
            "rows_whole": self.whole,
            "needs_review": self.review.rows,
            "review": [
                {
                    "state": one.state,
                    "reason": one.reason,
                    "rows": one.rows,
                    "dollars": None if one.dollars is None else str(one.dollars),
                    "to_do": one.to_do,
                    "where": one.where,
                }
                for one in self.review.groups()
            ],
            "review_estimated": {"rows": estimated_rows, "dollars": str(estimated)},
            "not_due": [
                {
                    "reason": one.reason,
                    "rows": one.rows,
                    "sales": None if one.sales is None else str(one.sales),
                }
                for one in self.not_due
            ],
            "unknown_warnings": self._warned,
            "reasons": [
                {"status": status, "reason": why, "rows": rows}
                for status, why, rows in self.reasons_alike()[:_FREQUENT_REASONS]
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
                    for _, why, rows in self.untaxed_alike()[:_FREQUENT_REASONS]
                ],
            }
        return values


def _part_as_json(part: Part) -> dict[str, object]:
    """Its rows, and its dollars as far as they are known."""
    values = {"sales": part.sales, "tax": part.tax, "tax_due": part.due}
    known = {name: str(value) for name, value in values.items() if value is not None}
    return {"rows": part.rows, **known}


def _counts(column: pd.Series) -> dict[str, int]:
    return {str(name): int(rows) for name, rows in column.value_counts().items()}


def _sum(column: pd.Series) -> Decimal:
    """The exact sum of a column of money."""
    array = pa.array(column.array)
    total = pc.sum(array.cast(pa.decimal128(38, 2))).as_py()
    return Decimal("0.00") if total is None else total


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
            name for name in (*(prefix + one for one in _REQUIRED), *columns) if name not in last
        ]:
            raise FileError(f"{path.name} has no column {lacking[0]!r}: no lookup wrote it")
        read = [one for one in dict.fromkeys((*_REQUIRED, *DECIDING)) if prefix + one in last]
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
                number, why = seen + int(at), codes_in(reasons.values[code])  # noqa: PD011 - no frame's
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


def _reasons(chunk: Chunk, names: Sequence[str]) -> Coded:
    """The codes for which each row of a chunk requires review."""
    frame = rows_of(chunk, range(len(names)))
    frame.columns = pd.Index(names)
    try:
        return codes_of_rows(frame, statuses_of(frame, ""), "")
    except ValueError as error:  # a flag that is neither true nor false
        raise FileError(str(error)) from None


def _texts(cells: Iterable[object]) -> list[str]:
    return ["" if cell is None else text_of_formula(str(cell)) for cell in cells]
