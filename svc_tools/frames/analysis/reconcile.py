"""Collected tax compared with computed tax: by row, by state, by reason and by group."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.added.names import require_columns, require_one, without_added
from svc_tools.frames.analysis.comparison import (
    CLASSES,
    ClassSums,
    Compared,
    Evidence,
    proved_reasons,
    sum_columns,
    sums_of,
)
from svc_tools.frames.analysis.periods import periods_of, undated
from svc_tools.frames.lookup.row_states import states_of
from svc_tools.frames.review.summary import RestsOn, rests_on
from svc_tools.frames.taxes.taxed_rows import (
    changes_since,
    column_of,
    due_of,
    goods_of_tax,
    shipping_of,
    taxed_rows,
)
from svc_tools.frames.values.arrow import (
    MONEY,
    RATE,
    Coded,
    combined,
    decimals,
    recoded,
    text_column,
)
from svc_tools.frames.values.money import (
    LARGEST_WHOLE,
    Money,
    dollars,
    dollars_by,
    money_column,
    one_amount,
)
from svc_tools.frames.values.rounding import ROOM
from svc_tools.frames.values.tables import plain_fields, plain_rows, table_of
from svc_tools.lookup.columns import FACTS, RANGE_COLUMNS, RATE_COLUMNS
from svc_tools.show.codes import codes_of, meaning_of
from svc_tools.show.display import (
    Note,
    as_html,
    as_text,
    counted,
    exact_dollars,
    number,
    plain,
    prose,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.added.rates import Rates
    from svc_tools.frames.analysis.periods import Period
    from svc_tools.frames.options import AmountOptions
    from svc_tools.frames.orders.sale import Dollars
    from svc_tools.frames.taxes.taxed_rows import ColumnRead, Goods, TaxedRows
    from svc_tools.show.display import Head, Table
    from svc_tools.tables.dates import DateTerms

LINE_COLUMNS = (
    "expected_tax",
    "collected_tax",
    "tax_difference",
    "difference_class",
    "difference_reason",
    "implied_rate",
)
"""The columns that `Reconciliation.lines` adds, without the prefix."""


def reconcile(
    rows: Enriched,
    collected: Hashable,
    *,
    tolerance: Decimal | str | int,
    by: Hashable | Sequence[Hashable] | None,
    period: Period | None,
    date: Hashable | None,
    dates: DateTerms,
    worst: int,
    options: AmountOptions,
) -> Reconciliation:
    """Compare; see `SvcAccessor.reconcile` for the meaning of the arguments."""
    if isinstance(worst, bool) or not isinstance(worst, int) or worst < 0:
        raise ValueError(f"worst: expected how many rows to list, 0 or more, not {worst!r}")
    allowed = one_amount(tolerance, "tolerance")
    if allowed < 0:
        raise ValueError(f"tolerance: {tolerance} is negative; expected 0 dollars or more")
    taxed, due = taxed_rows(rows), due_of(rows)
    notes = changes_since(rows)
    _check_collected(rows, collected)
    if date is not None and period is None:
        raise ValueError("date: it is for period='month', 'quarter' or 'year'; give that too")
    keys, how = _group_keys(rows, by, period, date, dates)
    added = [rows.label(name) for name in LINE_COLUMNS]
    source = without_added(rows.frame, added, "a reconciliation")
    of = column_of(rows, collected, options, call="reconcile", named="collected", of_sales=False)
    goods = goods_of_tax(rows)
    (cents, wrong, snapped), how_read = _of_rows(of, taxed, goods)
    unknown = np.zeros(len(rows), bool)
    unknown[list(wrong)] = True
    compared = Compared.of(due.money, Money(cents, unknown), due.nothing, allowed)
    reasons = _reasons(rows, compared, wrong)
    lines = _lines(source, rows, compared, reasons)
    (totals,) = sums_of(compared, np.zeros(len(rows), np.int64), 1)
    return Reconciliation(
        collected=str(collected),
        expected="tax_due" if due.computed else "tax",
        tolerance=dollars(allowed),
        totals=totals,
        by_state=by_state(compared, states_of(rows)),
        by_reason=by_reason(compared, reasons),
        by_group=by_group(compared, keys) if keys else None,
        worst=_worst_rows(lines, compared, worst),
        lines=lines,
        rests_on=rests_on(rows, goods),
        prefix=rows.prefix,
        snapped=snapped,
        notes=(
            *notes,
            *how_read,
            *how,
            *undated(keys[period].isna().to_numpy() if period else None),
        ),
    )


def _of_rows(of: ColumnRead, taxed: TaxedRows, goods: Goods) -> tuple[Dollars, list[str]]:
    """What was collected in each row, where its tax is; and what was done to it, in sentences.

    What was collected on the whole order counts in the row that has the amounts of the order. Where
    each line has its own tax, it is shared out over them in proportion to it.
    """
    read, notes = of.read.of, list(of.notes)
    ended = of.read.ended & (read.cents != 0)
    if ended.any():
        notes.append(
            f"{counted(int(ended.sum()), 'row')} canceled, not paid or no sale:"
            f" {exact_dollars(dollars(int(read.cents[ended].sum())))} collected is compared all the"
            " same, as it stands there"
        )
    codes = of.orders.codes
    # the amounts of a further row count in its order's first row, and so does what was collected
    elsewhere = of.orders.further
    left = {row: why for row, why in read.wrong.items() if not (elsewhere[row] and _is_blank(why))}
    read = read._replace(wrong=left)
    if codes is None or not (of.term.once or of.term.head):
        return read, notes
    sold = np.abs(taxed.taxable.cents) + np.abs(taxed.exempt.cents)
    sold = np.where(taxed.taxable.missing, np.abs(goods.money.cents), sold)
    weights = order_weights(codes, taxed.due, sold)
    shared, several = shared_by_order(codes, read.cents, weights)
    if several:
        notes.append(
            f"{of.term.label!r} is shared out over the lines of {counted(several, 'order')}, in"
            " proportion to their tax"
        )
    given = (weights > 0) & (codes >= 0)
    has = np.zeros(int(codes.max(initial=-1)) + 2, bool)
    there = np.ones(len(codes), bool)
    there[[*read.wrong]] = False
    has[codes[there & (codes >= 0)]] = True
    filled = given & has[codes]
    wrong = {row: why for row, why in read.wrong.items() if not filled[row]}
    return read._replace(cents=shared, wrong=wrong), notes


def _is_blank(why: str) -> bool:
    """Whether a cell of money has no amount because it is blank."""
    return why.endswith(": missing")


def order_weights(codes: np.ndarray, due: Money, sold: np.ndarray) -> np.ndarray:
    """By what an order's tax collected is shared out: its tax by line, else its sales."""
    size = int(codes.max(initial=-1)) + 2
    unknown, taxed = np.zeros(size, bool), np.zeros(size, bool)
    tax = np.where(due.missing, 0, np.abs(due.cents))
    counts = (sold > 0) & (codes >= 0)
    unknown[codes[counts & due.missing]] = True
    taxed[codes[counts & (tax > 0)]] = True
    by_tax = taxed[codes] & ~unknown[codes]
    weights: np.ndarray = np.where(codes < 0, 0, np.where(by_tax, tax, sold))
    return weights


def shared_by_order(
    codes: np.ndarray, cents: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, int]:
    """The cents of each order shared out over its rows by their weights, exact to the cent.

    An order without weights keeps its cents where they stand; so does a row without an order.

    Returns:
        The cents of each row, and how many orders were shared out over several rows.
    """
    size = int(codes.max(initial=-1)) + 2
    at = np.where(codes >= 0, codes, size - 1)
    total, whole = np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.add.at(total, at, np.where(codes >= 0, cents, 0))
    np.add.at(whole, at, weights)
    shares = (codes >= 0) & (whole[at] > 0)
    large = np.abs(total).max(initial=0) * float(weights.max(initial=0)) > LARGEST_WHOLE
    if large or not shares.any():
        return cents, 0
    each = np.where(shares, np.abs(total)[at] * weights, 0)
    quotient, rest = np.divmod(each, np.where(shares, whole[at], 1))
    left = np.abs(total).copy()
    np.subtract.at(left, at[shares], quotient[shares])
    order = np.lexsort((np.arange(len(at)), -rest, at))
    starts = np.searchsorted(at[order], np.arange(size))
    rank = np.empty(len(at), np.int64)
    rank[order] = np.arange(len(at)) - starts[at[order]]
    quotient += shares & (rank < left[at])
    done = np.where(shares, np.sign(total)[at] * quotient, cents)
    rows = np.bincount(at[shares & (weights > 0)], minlength=size)
    return done, int(np.count_nonzero((rows > 1) & (total != 0)))


def _check_collected(rows: Enriched, label: Hashable) -> None:
    require_columns(rows.frame, (label,), "name the column: df.svc.reconcile(collected='…')")
    require_one(rows.frame, label, "collected")
    if label in {rows.label("tax"), rows.label("tax_due")}:
        raise ValueError(
            f"collected: {label!r} is the tax that was computed; name the column of what was"
            " collected"
        )


def _group_keys(
    rows: Enriched,
    by: Hashable | Sequence[Hashable] | None,
    period: Period | None,
    date: Hashable | None,
    dates: DateTerms,
) -> tuple[dict[Hashable, pd.Series], list[str]]:
    """The columns to group by, under their names: the period first; how dates were read."""
    frame = rows.frame
    keys: dict[Hashable, pd.Series] = {}
    how: list[str] = []
    if period is not None:
        periods, how = periods_of(rows, period, date, dates)
        keys[period] = pd.Series(periods.column(), index=frame.index)
    labels = list(by) if isinstance(by, list) else [] if by is None else [by]
    require_columns(frame, tuple(labels), "name columns of the frame: by='…' or by=['…', '…']")
    for label in labels:
        require_one(frame, label, "by")
        if label == period:
            raise ValueError(f"by: a column {label!r} and period={period!r} have one name")
        if label in {field.name for field in fields(ClassSums)}:
            raise ValueError(f"by: {label!r} is the name of a sum of the table; rename the column")
        keys[label] = frame[label]
    return keys, how


def _reasons(rows: Enriched, compared: Compared, wrong: dict[int, str]) -> Coded[str]:
    """The reason of each row."""
    known, why = taxed_rows(rows).why
    codes, values = known.astype(np.int64), [*why]

    def give(which: np.ndarray, reason: str) -> None:
        codes[which] = len(values)
        values.append(reason)

    give(compared.rows_of("not_due") & (compared.collected.cents == 0), "nothing_due")
    within = compared.rows_of("within")
    exact = compared.difference.cents == 0
    give(within & ~exact, "within_tolerance")
    give(within & exact, "agrees")
    uncollected = compared.rows_of("no_collected")
    empty = np.zeros(len(rows), bool)
    empty[[row for row, why in wrong.items() if _is_blank(why)]] = True
    give(uncollected & empty, "collected_missing")
    give(uncollected & ~empty, "collected_unreadable")
    differing = np.flatnonzero(compared.rows_of("over", "under"))
    numbers, proved = proved_reasons(_evidence(rows, compared, differing))
    codes[differing] = len(values) + numbers
    return recoded(codes, (*values, *proved))


_PARTS = {column.fact: column.name for column in FACTS if column.name in RATE_COLUMNS[1:]}


def _evidence(rows: Enriched, compared: Compared, which: np.ndarray) -> Evidence:
    """What the reasons of a difference are decided by, for the rows of `which` only."""

    def cents(name: str) -> Money:
        return rows.money(name).at(which)

    def rates(name: str) -> Rates:
        return rows.rates(name).at(which)

    taxed = taxed_rows(rows)
    rate = rates("combined_rate")
    parts = {level: rates(name) for level, name in _PARTS.items()}
    low, high = map(rates, RANGE_COLUMNS)
    tax_low, tax_high = cents("tax_low"), cents("tax_high")
    return Evidence(
        collected=compared.collected.cents[which],
        expected=compared.expected.cents[which],
        taxable=taxed.taxable.cents[which],
        exempt=taxed.exempt.cents[which],
        shipping=shipping_of(rows).cents[which],
        shipping_tax=cents("shipping_tax").cents,
        rate=rate.units,
        rate_known=~rate.missing,
        parts={level: rates.units for level, rates in parts.items()},
        parts_known=~np.any([rates.missing for rates in parts.values()], axis=0),
        low=low.units,
        high=high.units,
        ranged=~(low.missing | high.missing),
        tax_low=tax_low.cents,
        tax_high=tax_high.cents,
        tax_ranged=~(tax_low.missing | tax_high.missing),
    )


def _lines(
    source: pd.DataFrame, rows: Enriched, compared: Compared, reasons: Coded[str]
) -> pd.DataFrame:
    """A copy of `source` with the columns of the comparison; `source` itself stays as it was."""
    lines = source.assign()  # a copy of its own under pandas 2.3 too
    both = compared.rows_of("over", "under", "within")
    columns = (
        decimals(compared.expected.cents, compared.expected.missing, MONEY),
        decimals(compared.collected.cents, compared.collected.missing, MONEY),
        decimals(compared.difference.cents, compared.difference.missing, MONEY),
        Coded(compared.classes, CLASSES).column(),
        reasons.column(),
        _implied_rate(compared.collected.cents, taxed_rows(rows).taxable, both),
    )
    for name, column in zip(LINE_COLUMNS, columns, strict=True):
        lines[rows.label(name)] = column
    return lines


def _implied_rate(
    collected: np.ndarray, taxable: Money, both: np.ndarray
) -> pd.arrays.ArrowExtensionArray:
    """Collected over taxable, to five decimals (half up); missing where that is no rate."""
    base = np.abs(taxable.cents)
    usable = both & ~taxable.missing & (base > 0) & (base < ROOM)
    usable &= (np.abs(collected) < ROOM) & ((collected == 0) | (collected ^ taxable.cents >= 0))
    base = np.where(usable, base, 1)
    scaled = np.where(usable, np.abs(collected), 0) * UNITS_PER_ONE
    whole, rest = np.divmod(scaled, base)
    rates = whole + (rest >= base - rest)
    missing = ~usable | (rates > 99 * UNITS_PER_ONE)
    return decimals(np.where(missing, 0, rates), missing, RATE)


def by_state(compared: Compared, states: Coded[str]) -> pd.DataFrame:
    """The sums by state, in the order of the codes; the rows of no known state come last."""
    sums = sums_of(compared, states.codes, len(states.values))
    by_code = [
        (state, of_state)
        for state, of_state in zip(states.values, sums, strict=True)
        if of_state.rows
    ]
    by_code.sort(key=lambda pair: (not pair[0], pair[0]))
    names = text_column(state for state, _ in by_code)
    return pd.DataFrame({"state": names, **sum_columns([of_state for _, of_state in by_code])})


def by_reason(compared: Compared, reasons: Coded[str]) -> pd.DataFrame:
    """Rows and dollars by class and reason: what differs first, the largest difference first."""
    size = len(CLASSES)
    of_rows, values = reasons
    codes = of_rows.astype(np.int64) * size + compared.classes
    count = len(values) * size
    rows = np.bincount(codes, minlength=count).tolist()
    sums = {
        name: dollars_by(codes, getattr(compared, name), count)
        for name in ("expected", "collected", "difference")
    }
    place = {reason: number for number, reason in enumerate(codes_of("compared"))}
    differs = {CLASSES.index("over"), CLASSES.index("under")}

    def order(code: int) -> tuple[bool, Decimal, int, int, str]:
        reason, kind = divmod(code, size)
        known = place.get(values[reason].partition(":")[0], len(place))
        difference = sums["difference"][code] if kind in differs else None
        return kind not in differs, -abs(difference or Decimal()), kind, known, values[reason]

    present = sorted((code for code in range(count) if rows[code]), key=order)
    names = [values[code // size] for code in present]
    return pd.DataFrame(
        {
            "class": text_column(CLASSES[code % size] for code in present),
            "reason": text_column(names),
            "rows": np.array([rows[code] for code in present], np.int64),
            **{name: money_column([of[code] for code in present]) for name, of in sums.items()},
            "meaning": text_column(map(meaning_of, names)),
        }
    )


def by_group(compared: Compared, keys: Mapping[Hashable, pd.Series]) -> pd.DataFrame:
    """The sums by the values of the keys; rows where a key is missing are a group, too."""
    factorized = [_factorized(column) for column in keys.values()]
    codes, cells = combined(
        [
            Coded(np.where(codes < 0, len(values), codes), tuple(map(str, range(len(values) + 1))))
            for codes, values in factorized
        ]
    )
    groups = pd.DataFrame(
        {
            label: pd.Series(values, dtype=values.dtype)
            .reindex([int(cell[place]) for cell in cells])
            .array
            for place, (label, (_, values)) in enumerate(zip(keys, factorized, strict=True))
        }
    )
    sums = pd.DataFrame(sum_columns(sums_of(compared, codes, len(cells))))
    return pd.concat([groups, sums], axis=1)


def _factorized(column: pd.Series) -> tuple[np.ndarray, pd.Index | np.ndarray]:
    """For each row the number of its value (-1: missing), and the values."""
    try:
        return pd.factorize(column, sort=True)
    except TypeError:  # values of several types have no order: as they appear
        return pd.factorize(column)


def _worst_rows(lines: pd.DataFrame, compared: Compared, count: int) -> pd.DataFrame:
    """The rows with the most dollars wrong; on a tie the first."""
    weight = np.abs(np.where(compared.rows_of("over", "under"), compared.difference.cents, 0))
    weight += np.abs(np.where(compared.rows_of("not_due"), compared.collected.cents, 0))
    order = np.argsort(-weight, kind="stable")[:count]
    return lines.iloc[order[weight[order] > 0]]


@dataclass(frozen=True, slots=True, eq=False)
class Reconciliation:
    """Collected against expected tax, exact to the cent.

    The sums over `by_state`, over `by_reason` and over `by_group` are those of `totals`.

    Attributes:
        collected: the column that was compared.
        expected: what it was compared with: `tax`, or `tax_due` where the tax was computed with
            nexus registrations or a channel.
        tolerance: the difference of one row that is tolerated, in dollars.
        totals: rows by class, and dollars (see `ClassSums`).
        by_state: the same by state, with a column for each field of `totals`; the row without a
            code holds the rows whose state is not known.
        by_reason: rows and dollars by class and reason, the largest difference first, with the
            meaning of each reason.
        by_group: as `by_state`, by the columns of `by=` and the `period=`; `None` without them.
        worst: the rows with the largest differences, and what was collected where nothing is
            due, the largest first, with the labels of the index.
        lines: every row, in its order, with the added columns of `LINE_COLUMNS`.
        rests_on: how much of the expected tax rests on the rate of another date, or on an
            incomplete one, also in rows without anything to compare it with.
        prefix: the prefix of the added columns.
        snapped: floats that were off a whole cent by a rounding error and read as that cent.
        notes: sentences on what has changed in the frame since its tax was computed, and on rows
            without a date for the period.
    """

    collected: str
    expected: str
    tolerance: Decimal
    totals: ClassSums
    by_state: pd.DataFrame
    by_reason: pd.DataFrame
    by_group: pd.DataFrame | None
    worst: pd.DataFrame
    lines: pd.DataFrame
    rests_on: RestsOn
    prefix: str = ""
    snapped: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The reconciliation as text: totals, then the largest differences."""
        return as_text(*self.parts())

    def __repr__(self) -> str:
        """One line: the column, and its rows by class."""
        return f"<Reconciliation of {plain(self.collected)!r}: {self._counts}{self.rests_on.brief}>"

    def _repr_html_(self) -> str:
        return as_html(*self.parts())

    def parts(self, *, width: int | None = None, worst: int = 5) -> tuple[Note | Table, ...]:
        """The reconciliation for display: totals, then the largest differences.

        Args:
            width: the characters of a line; where they are few, the tables have fewer columns, and
                what the reasons state stands below. By default there is room for all.
            worst: how many of the worst rows to show.
        """
        return Note(self._title, self._sentences), *self._tables(width or _WIDE, worst)

    def as_json(self) -> dict[str, object]:
        """Plain values for a program; dollars and rates as text."""
        tables = {"by_state": self.by_state, "by_reason": self.by_reason}
        tables |= {} if self.by_group is None else {"by_group": self.by_group}
        of_rows: dict[Hashable, str] = {self.prefix + name: name for name in LINE_COLUMNS}
        worst = plain_rows(self.worst, of_rows)
        return {
            "sentence": self._title,
            "notes": [*self._sentences],
            "collected": self.collected,
            "expected": self.expected,
            "tolerance": str(self.tolerance),
            "totals": plain_fields(self.totals),
            **{name: plain_rows(table) for name, table in tables.items()},
            "worst": [
                {"row": label if isinstance(label, int) else str(label), **row}
                for label, row in zip(self.worst.index.tolist(), worst, strict=True)
            ],
        }

    @property
    def _title(self) -> str:
        what = "the tax that is due" if self.expected == "tax_due" else "the tax at destination"
        return (
            f"Collected ({plain(self.collected)}) against {what};"
            f" tolerance {exact_dollars(self.tolerance)} a row"
        )

    @property
    def _counts(self) -> str:
        sums = self.totals
        counts = (
            (sums.over_rows, "over"),
            (sums.under_rows, "under"),
            (sums.within_rows, "within tolerance"),
            (sums.not_due_rows, "nothing due"),
            (sums.no_expectation_rows, "without a tax to compare with"),
            (sums.no_collected_rows, "with nothing readable collected"),
        )
        listed = ", ".join(f"{rows:,} {what}" for rows, what in counts if rows)
        return f"{counted(sums.rows, 'row')}: {listed}" if listed else "no rows"

    @property
    def _sentences(self) -> Sequence[str]:
        """The numbers of rows and the sums in words; a sum that is not known has no sentence."""
        sums = self.totals
        texts = [f"{self._counts}. {self.rests_on.sentence}".rstrip()]
        if (
            sums.expected is not None
            and sums.collected is not None
            and sums.difference is not None
            and sums.over is not None
            and sums.under is not None
            and sums.within is not None
        ):
            texts.append(
                f"Expected {exact_dollars(sums.expected)}, collected"
                f" {exact_dollars(sums.collected)}: {exact_dollars(sums.difference)} difference"
                f" ({exact_dollars(sums.over)} over, {exact_dollars(sums.under)} under,"
                f" {exact_dollars(sums.within)} within tolerance)."
            )
        if sums.collected_not_due:
            texts.append(
                f"Collected where nothing is due: {exact_dollars(sums.collected_not_due)}."
            )
        if sums.collected_without_expectation is not None:
            texts.append(
                "Collected in rows without a tax to compare with:"
                f" {exact_dollars(sums.collected_without_expectation)}."
            )
        if sums.expected_without_collected is not None:
            texts.append(
                "Expected in rows where what was collected is missing or unreadable:"
                f" {exact_dollars(sums.expected_without_collected)} (if a blank means 0.00 in"
                " your books, fill it before)."
            )
        if self.snapped:
            texts.append(f"Floats read as the whole cent they are nearest to: {self.snapped:,}.")
        return [*texts, *self.notes]

    def _tables(self, width: int, worst: int) -> Sequence[Table]:
        """The tables by state, reason and group, and of the rows with the largest differences.

        Args:
            width: how many characters wide the display is.
            worst: how many of the rows with the largest differences are listed.
        """
        measures: list[tuple[Hashable, Head]] = [
            ("rows", number("Rows")),
            ("expected", number("Expected")),
            ("collected", number("Collected")),
            ("difference", number("Difference")),
            ("over", number("Over")),
            ("under", number("Under")),
        ]
        of_rows: list[tuple[str, Head]] = [
            ("expected_tax", number("Expected")),
            ("collected_tax", number("Collected")),
            ("tax_difference", number("Difference")),
            ("difference_reason", "Reason"),
            ("implied_rate", number("Implied rate")),
        ]
        reason: tuple[Hashable, Head] = ("reason", "Reason")
        meant: tuple[Hashable, Head] = ("meaning", prose("What it states"))
        by_reason = [("class", "Class"), reason, *measures[:4], meant]
        if width < _WIDE:
            by_reason = by_reason[:-1]
        if width < _NARROW:
            by_reason, of_rows = [reason, *measures[2:4]], of_rows[1:4]
            measures = measures[:4]
        largest = self.by_state.sort_values("difference", key=_size, kind="stable")
        tables = [
            table_of(
                "By state, the largest difference first",
                largest,
                (("state", "State"), *measures),
                rows=10,
            ),
            table_of("By reason", self.by_reason, by_reason, rows=_MOST_REASONS),
        ]
        if width < _WIDE:
            shown = self.by_reason.iloc[:_MOST_REASONS].drop_duplicates("reason")
            tables.append(table_of("What the reasons state", shown, [reason, meant]))
        if self.by_group is not None:
            keys = list(self.by_group.columns)[: -len(self.by_state.columns) + 1]
            named = [(key, plain(key)) for key in keys]
            tables.append(
                table_of(
                    f"By {', '.join(name for _, name in named)}",
                    self.by_group,
                    (*named, *measures),
                    rows=10,
                )
            )
        tables.append(
            table_of(
                "Rows with the largest differences",
                self.worst,
                [(self.prefix + name, head) for name, head in of_rows],
                rows=worst,
                labelled=plain(self.worst.index.name or "Index"),
            )
        )
        return tables


_MOST_REASONS = 15
"""Lines of the table by reason that are shown."""
_WIDE, _NARROW = 110, 66
"""Characters with room for what a reason states, and with room for the parts of a difference."""


def _size(column: pd.Series) -> pd.Series:
    """A sort key: the largest first, whatever the sign, and missing values last."""
    return -column.abs()
