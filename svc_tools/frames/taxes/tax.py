"""Tax of an enriched frame: whole cents times whole units of 10^-5, rounded in whole numbers.

`Tax` computes the columns that `df.svc.tax()` adds: the tax and its parts, the lowest and the
highest tax that the rates of the row allow, what of it is due, and which rows to review first.
Rules of single states (origin sourcing, caps on one item) only mark rows for review: the tax is
always that of the destination, on the whole amount.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.added.names import (
    names_of_lookup,
    placed,
    remember_columns,
    require_one,
    without_tax,
)
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.lookup.columns import distinct_values, free_labels, is_label
from svc_tools.frames.lookup.enrich import FailedRowsError, with_columns
from svc_tools.frames.lookup.freeze import changed_rows
from svc_tools.frames.lookup.results import reading_of
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.taxes.amounts import (
    amounts_of_tax,
    rates_known,
    refuse_if_open,
    sample_of,
    with_late_parts,
)
from svc_tools.frames.taxes.due import (
    Sales,
    channel_of,
    marketplace_only,
    register_of,
    sale_dates,
    terms_stored,
    why_not_due,
)
from svc_tools.frames.taxes.invoices import (
    invoice_codes,
    shared_out,
    tax_by_invoice,
)
from svc_tools.frames.taxes.layouts import of_tax_for_layout
from svc_tools.frames.taxes.tax_lines import (
    TaxLines,
    check_figures,
    exempt_or_taxable,
    flags_of,
    read_lines,
    rows_of_states,
)
from svc_tools.frames.values.arrow import MONEY, Decimals, RowNumbers, Texts, decimals
from svc_tools.frames.values.rounding import rounded_tax
from svc_tools.lookup.columns import LEVEL_TAX_COLUMNS, RANGE_COLUMNS, SALE_COLUMNS, tax_columns
from svc_tools.show.codes import NOT_DUE, codes_of
from svc_tools.show.meters import say
from svc_tools.tables.states import Elsewhere, state_code

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from pandas.api.extensions import ExtensionArray

    from svc_tools.frames.added.rates import Rates
    from svc_tools.frames.options import TaxOptions
    from svc_tools.frames.orders.sale import Counts, OrderMarks, Sale
    from svc_tools.frames.taxes.amounts import AmountsOfTax
    from svc_tools.frames.taxes.due import Channel
    from svc_tools.lookup.options import Rounding
    from svc_tools.nexus.register import Register


class OriginSourcing(NamedTuple):
    """How a state sources sales that are shipped within it."""

    part: Literal["all", "some"]
    """How much of the tax goes by the origin."""
    note: str
    certainty: Literal["high", "medium", "low"]
    checked: str
    """The day on which published summaries were last read (ISO)."""


class Cap(NamedTuple):
    """Local tax applies to the first `cents` of one item only."""

    cents: int
    note: str
    certainty: Literal["high", "medium", "low"]
    checked: str


_CHANNELS_SHOWN = 5
_PARTLY = "differs among the rows of the order, whose amount is that of all of them"
_READ = "2026-11-21"
ORIGIN_SOURCED = {
    "AZ": OriginSourcing("all", "sellers within the state", "medium", _READ),
    "CA": OriginSourcing(
        "some",
        "state, county and city parts by origin, district taxes by destination",
        "high",
        _READ,
    ),
    "IL": OriginSourcing("all", "sellers who sell from within the state", "medium", _READ),
    "MO": OriginSourcing("all", "sellers within the state", "medium", _READ),
    "MS": OriginSourcing("all", "summaries differ on whether it is listed", "low", _READ),
    "OH": OriginSourcing("all", "goods; some services by destination", "medium", _READ),
    "PA": OriginSourcing("all", "goods; services by destination", "medium", _READ),
    "TN": OriginSourcing("all", "local tax of sellers within the state", "medium", _READ),
    "TX": OriginSourcing(
        "some",
        "cities and counties by origin; destination districts may come on top",
        "high",
        _READ,
    ),
    "UT": OriginSourcing("all", "sellers within the state", "medium", _READ),
    "VA": OriginSourcing("all", "sellers within the state", "medium", _READ),
}
"""States that tax sales shipped within them by where they are shipped from.

Compiled from public summaries, none checked against a state's own page. New Mexico, which older
summaries list, sources by destination since 2021-07.
"""
CAPS = {
    "FL": Cap(500_000, "county surtax on the first $5,000 of a single item", "high", _READ),
    "TN": Cap(
        160_000,
        "local tax on the first $1,600 of a single article; the state has a tax of 2.75% on"
        " the part from $1,600.01 to $3,200",
        "high",
        _READ,
    ),
}
"""States whose local tax applies to the first dollars of an item only."""


class TaxFailedError(FailedRowsError):
    """Rows have no tax, and `errors="raise"` was given.

    Attributes:
        frame: the frame with every tax that could be computed: nothing is lost.
    """


class _WithGaps(NamedTuple):
    """Whole numbers by row, and the mask of the rows where they are not known."""

    numbers: np.ndarray
    missing: np.ndarray


def add_tax(
    frame: pd.DataFrame,
    terms: TaxOptions,
    source: AmountsOfTax | None = None,
    *,
    progress: bool = True,
) -> pd.DataFrame:
    """Add the columns of a tax; see `df.svc.tax` for the meaning of the terms.

    Args:
        frame: the rows.
        terms: the arguments of `df.svc.tax`.
        source: where the amounts are, if that was decided for more than these rows.
        progress: print what was decided, and how many rows have no tax.
    """
    source = source or amounts_of_frame(frame, terms)
    return Tax.of(source, names_of_lookup(frame, terms.prefix)).add(frame, progress=progress)


@dataclass(frozen=True, slots=True)
class Tax:
    """A tax of which everything is decided but the figures of the rows.

    Attributes:
        source: where the amounts are.
        terms: the arguments, with the columns that the amounts of a sale are put in.
        register: the registrations; `None` without any.
        added: the columns that it adds, without the prefix, in their order.
        ranged: whether the lookup added the lowest and the highest rate.
    """

    source: AmountsOfTax
    terms: TaxOptions
    register: Register | None
    added: tuple[str, ...]
    ranged: bool

    @classmethod
    def of(cls, source: AmountsOfTax, looked_up: Collection[str]) -> Self:
        """The tax of these amounts, of rows that have these columns of a lookup.

        Raises:
            RegisterError: the registrations cannot be read.
            ValueError: there are none.
        """
        prefix, own = source.terms.prefix, source.sale_columns
        terms = source.terms_with({name: prefix + name for name in own})
        due = terms.nexus is not None or terms.channel is not None
        options = {"shipping_tax": terms.shipping is not None, "tax_due": due}
        options |= {"tax_due_reason": due, **{name: name in own for name in SALE_COLUMNS}}
        return cls(
            source,
            terms,
            None if terms.nexus is None else register_of(terms.nexus),
            tuple(name for name in tax_columns(looked_up) if options.get(name, True)),
            {*RANGE_COLUMNS} <= {*looked_up},
        )

    def check(self, frame: pd.DataFrame) -> None:
        """Refuse arguments that no row could be computed with.

        Args:
            frame: some of the rows, with the columns of the user.

        Raises:
            ValueError: an argument is neither a column nor a value.
            TypeError: a column of amounts holds truth values.
        """
        terms, source = self.source.terms, self.source
        for label in source.columns:
            require_one(frame, label, "amount")
        check_figures(
            frame, replace(terms, amount=None, shipping=None) if source.computed else terms
        )
        if terms.channel is not None:
            channel_of(frame, terms.channel)
        if terms.ship_from is not None:
            _origins_of(frame, terms.ship_from)

    def stamped(self, stamp: Stamp) -> Stamp:
        """The stamp of a frame with what its tax was computed by."""
        prefix, source = self.terms.prefix, self.source
        stamp = stamp.put(prefix, terms=terms_stored(self.terms, self.register))
        if (kept := of_tax_for_layout(source)) is not None:
            stamp = stamp.put(prefix, layouts=kept)
        if source.computed:
            stamp = stamp.put(prefix, readings=source.reading.as_plain())
        return stamp

    def add(
        self,
        frame: pd.DataFrame,
        *,
        marks: OrderMarks | None = None,
        counts: Counts | None = None,
        progress: bool = False,
    ) -> pd.DataFrame:
        """The rows with the columns of the tax.

        Args:
            frame: the rows.
            marks: what is known of the rows from further chunks; `None` for a whole frame, with
                which the tax is stored.
            counts: what was counted is added to them.
            progress: print what was decided, and how many rows have no tax.

        Raises:
            TaxFailedError: rows have no tax, with `errors="raise"`.
        """
        source, terms, prefix = self.source, self.terms, self.terms.prefix
        sold, wrong = _sold(frame, source, marks)
        if counts is not None and sold is not None:
            counts.add(sold.counts)
        own = {} if sold is None else _sale_columns(sold)
        rest = without_tax(frame, prefix, self.added)
        rows = Enriched(with_columns(frame, prefix, own) if own else frame, prefix)
        lines = read_lines(rows, terms, wrong)
        if marks is None and (moved := changed_rows(rows)):
            warnings.warn(
                f"{moved:,} of {len(rows):,} rows have another place, date or rate than their"
                " lookup gave them, and their tax is computed from the rate that stands there; look"
                " them up again: df.svc.lookup()",
                stacklevel=4,
            )
        tax, incomplete = _tax(rows.frame, lines, terms)
        columns = {**_money(lines, tax, terms, ranged=self.ranged), **own}
        sales = _sales(rows, lines, terms)
        reviewed = _marks(rows.frame, lines, terms, sales)
        reviewed["invoice_incomplete"] = incomplete
        if sold is not None:
            off = (sold.off & ~sold.further) | np.isin(np.arange(len(frame)), [*sold.lines_off])
            reviewed["amounts_do_not_add_up"] = off
        if self.register is not None and sales.dates is not None:
            reviewed["marketplace_record_only"] = marketplace_only(
                sales, sales.dates, self.register
            )
        if "tax_due" in self.added:
            reasons = why_not_due(sales, self.register)
            not_due = reasons.are(NOT_DUE)  # of which nothing requires review
            reviewed = {code: marked & ~not_due for code, marked in reviewed.items()}
            columns["tax_due"] = decimals(tax, reasons.given, MONEY)
            columns["tax_due_reason"] = reasons.column()
        columns["tax_review"] = _review_column(reviewed, len(frame))
        taxed = placed(rest, prefix, {name: columns[name] for name in self.added})
        remember_columns(taxed, prefix, self.added)
        if marks is None:
            self.stamped(Stamp.of(taxed)).write(taxed)
        of_rows = sold.counts.sentences(source.reading) if sold else []
        if progress:
            say([*source.notes, *of_rows, *_notes(lines, columns, sales.channel)])
        if terms.errors == "raise":
            _raise_for(lines, taxed)
        return taxed


def amounts_of_frame(frame: pd.DataFrame, terms: TaxOptions) -> AmountsOfTax:
    """Where the tax of a frame finds its amounts.

    Raises:
        ColumnAmbiguous: the columns leave open what the amounts are.
        ColumnMissing: no column holds amounts.
        ValueError: two columns have the label of the amount or of the delivery.
    """
    reading = reading_of(Enriched(frame, terms.prefix))
    sample = sample_of(frame, reading)
    if len(sample) < len(frame):
        sample = with_late_parts(frame, sample, free_labels(frame), reading)
    rates = rates_known(Enriched(sample, terms.prefix))
    source = amounts_of_tax(sample, free_labels(frame), terms, reading, rates)
    if sums := source.reading.sums:
        for argument, columns in (("amount", sums.goods), ("shipping", sums.delivery)):
            for column in columns:
                require_one(frame, column.label, argument)
    if len(sample) < len(frame):
        source = source.of_some_rows()
    return replace(source, as_it_stands=False) if has_totals(frame, source) else source


def has_totals(frame: pd.DataFrame, source: AmountsOfTax) -> bool:
    """Whether a frame whose amounts could be used as they stand has rows of totals."""
    return source.as_it_stands and bool(Orders(frame, source.reading).rows_of_totals().any())


def _sold(
    frame: pd.DataFrame, source: AmountsOfTax, marks: OrderMarks | None
) -> tuple[Sale | None, dict[int, str]]:
    """The rows as sales, and why rows have no amount, by row."""
    if not source.computed:
        return None, {}
    for label in source.columns:
        require_one(frame, label, "amount")
    orders = Orders(frame, source.reading)
    sold = orders.sale(marks)
    if marks is None:
        refuse_if_open(sold.counts, source.reading)
    return sold, _parted(frame, source.terms, orders, marks) | sold.wrong


def _parted(
    frame: pd.DataFrame, terms: TaxOptions, orders: Orders, marks: OrderMarks | None
) -> dict[int, str]:
    """Why orders of which only some rows are exempt have no tax, by row."""
    role, label = exempt_or_taxable(terms)
    if label is None or not is_label(frame, label):
        return {}
    why = f"{role}: {_PARTLY}"
    sums = orders.reading.sums
    if sums is None or not any(term.once for term in sums.goods):
        return {}
    further = orders.further if marks is None else marks.further
    if marks is not None:
        parted = marks.parted
    else:
        flags = flags_of(frame, label, role) if further.any() else None
        if flags is None:  # dollars, or no order has several rows
            return {}
        parted = orders.parted(flags.yes, further & ~flags.unknown)
    if all(term.once for term in sums.goods):
        parted = parted & ~further
    return dict.fromkeys(np.flatnonzero(parted).tolist(), why)


def _sale_columns(sold: Sale) -> dict[str, ExtensionArray]:
    """The columns that are added for a sale."""
    parts = dict(zip(SALE_COLUMNS, (sold.amount, sold.shipping, sold.taxable), strict=True))
    columns: dict[str, ExtensionArray] = {}
    for name, part in parts.items():
        if part is not None:
            missing = np.zeros(len(part.cents), bool)
            missing[[*part.wrong]] = True
            columns[name] = decimals(part.cents, missing, MONEY)
    return columns


def _sales(rows: Enriched, lines: TaxLines, terms: TaxOptions) -> Sales:
    """Where, when and by whom each sale was made, as far as the terms need it."""
    for argument, value in (("nexus", terms.nexus), ("ship_from", terms.ship_from)):
        if value is not None:
            remedy = f"{argument}= needs it: look the rates up with all columns, or with this one"
            rows.require("resolved_state", remedy=remedy)
    return Sales(
        states=rows_of_states(rows),
        dates=None if terms.nexus is None else sale_dates(rows),
        channel=None if terms.channel is None else channel_of(rows.frame, terms.channel),
        untaxed=lines.reasons.given,
    )


def _marks(
    frame: pd.DataFrame, lines: TaxLines, terms: TaxOptions, sales: Sales
) -> dict[str, np.ndarray]:
    """The rows that require review, by the code of `tax_review`."""
    marks = {
        "partial_rate": lines.partial & ~lines.reasons.given,
        "freight_taxable_unknown": lines.delivery.unknown & ~lines.inputs.given,
        **{code: rows & ~lines.inputs.given for code, rows in lines.delivery.doubts.items()},
        "over_cap": _above_cap(lines, sales.states),
    }
    if terms.ship_from is not None:
        sourced, unknown = _origins(frame, terms.ship_from, sales.states)
        marks |= {"origin_sourced": sourced, "origin_unknown": unknown}
    if sales.channel is not None:
        marks["channel_unknown"] = sales.channel.unknown
    return marks


def _above_cap(lines: TaxLines, states: tuple[np.ndarray, Sequence[str]]) -> np.ndarray:
    """Which rows are above their state's cap on local tax, and are have a local rate."""
    codes, names = states
    caps = [CAPS[state].cents if state in CAPS else 0 for state in names]
    over = np.zeros(len(codes), bool)
    if any(caps):
        cap = np.array([*caps, 0], np.int64)[codes]
        local = lines.rates.units > lines.levels[0].units  # a part that is missing counts 0
        over = (cap > 0) & (np.abs(lines.goods) > cap) & local & (lines.taxable_goods != 0)
    return over


def _origins(
    frame: pd.DataFrame, ship_from: Hashable, states: tuple[np.ndarray, Sequence[str]]
) -> tuple[np.ndarray, np.ndarray]:
    """Which sales stay within a state that sources by origin, and those of unknown origin there."""
    codes, names = states
    sourced = np.array([*(name in ORIGIN_SOURCED for name in names), False], bool)[codes]
    origins = _origins_of(frame, ship_from)
    if isinstance(origins, str):
        within = np.array([*(name == origins for name in names), False], bool)[codes]
        return sourced & within, np.zeros(len(frame), bool)
    destination = np.array([*names, None], object)[codes]
    unknown = pd.isna(origins)
    return sourced & ~unknown & (origins == destination), sourced & unknown


def _origins_of(frame: pd.DataFrame, ship_from: Hashable) -> str | np.ndarray:
    """The state that all rows are sent from, or that of each row.

    Raises:
        ValueError: `ship_from` is neither a column nor a state.
    """
    if not is_label(frame, ship_from):
        code = _origin(ship_from)
        if code is None:
            raise ValueError(f"ship_from: {ship_from!r} is neither a column nor a US state")
        return code
    codes, values = distinct_values(frame, ship_from, "ship_from")
    origins: np.ndarray = np.array([*map(_origin, values), None], object)[codes]
    return origins


def _origin(value: object) -> str | None:
    """A state's code; "elsewhere" for a place outside the states; `None` if it cannot be read."""
    code = state_code(value)
    return "elsewhere" if isinstance(code, Elsewhere) else code


def _review_column(marks: Mapping[str, np.ndarray], rows: int) -> ExtensionArray:
    """A column of codes separated by "; ", in the order of their table; missing where none."""
    codes = codes_of("tax_review")
    bits = np.zeros(rows, np.int32)
    for code, marked in marks.items():
        if marked.any():
            bits[marked] |= 1 << codes.index(code)
    at = np.flatnonzero(bits)
    combined, numbers = np.unique(bits[at]), np.zeros(rows, np.int64)
    cells = [
        "; ".join(code for place, code in enumerate(codes) if each >> place & 1)
        for each in combined.tolist()
    ]
    numbers[at] = 1 + np.searchsorted(combined, bits[at])
    return Texts([None, *cells]).at(RowNumbers(numbers))


def _tax(frame: pd.DataFrame, lines: TaxLines, terms: TaxOptions) -> tuple[np.ndarray, np.ndarray]:
    """The tax of each row in cents, 0 where it has none; and rows of incomplete invoices."""
    units = lines.rates.units
    if terms.invoice is None:
        known = np.where(lines.reasons.given, 0, lines.taxable)
        return rounded_tax(known, units, terms.rounding), np.zeros(len(frame), bool)
    codes, named = invoice_codes(frame, terms.invoice)
    rows = np.flatnonzero(~lines.reasons.given)
    products = lines.taxable[rows] * units[rows]
    tax = np.zeros(len(frame), np.int64)
    tax[rows], too_large = tax_by_invoice(products, units[rows], codes[rows], terms.rounding)
    for row in rows[too_large].tolist():
        lines.refuse(row, "invoice: its lines are too large together for exact tax")
    untaxed = lines.reasons.given
    tax[untaxed] = 0
    lacking = np.zeros(int(codes.max(initial=0)) + 1, bool)
    lacking[codes[untaxed & named]] = True
    return tax, ~untaxed & named & lacking[codes]


def _money(
    lines: TaxLines, tax: np.ndarray, terms: TaxOptions, *, ranged: bool
) -> dict[str, ExtensionArray]:
    """Every column of money but `tax_due`, and `tax_error`.

    `ranged`: the frame has the lowest and the highest rate; else how far they lie apart is unknown.
    """
    columns = {name: Decimals(len(tax), MONEY) for name in _MONEY}
    if terms.shipping is None:
        del columns["shipping_tax"]
    for start in range(0, len(tax), _BLOCK):  # blocks that fit the processor's cache
        here = slice(start, start + _BLOCK)
        block = _money_of(lines.block(here), tax[here], terms, ranged=ranged)
        for name, column in columns.items():
            column.put(here, *block[name])
    made: dict[str, ExtensionArray] = {name: column.column() for name, column in columns.items()}
    return {**made, "tax_error": lines.reasons.column()}


_BLOCK = 65_536
_MONEY = (
    *("tax", "taxable_amount", "exempt_amount", *LEVEL_TAX_COLUMNS),
    *("tax_low", "tax_high", "at_stake", "shipping_tax"),
)


def _money_of(
    lines: TaxLines, tax: np.ndarray, terms: TaxOptions, *, ranged: bool
) -> dict[str, _WithGaps]:
    """The money of some rows."""
    untaxed = lines.reasons.given
    units, taxable = lines.rates.units, lines.taxable
    known = np.where(untaxed, 0, taxable) if untaxed.any() else taxable
    parts = [level.units for level in lines.levels]
    split = untaxed | (sum(parts) != units)
    for level in lines.levels:
        split |= level.missing
    whole, base = tax, known
    if split.any():
        whole, base = np.where(split, 0, tax), np.where(split, 0, known)
    levels = shared_out(whole, [base * part for part in parts])
    low, high = _tax_range(lines, tax, terms.rounding)
    if not ranged:  # other rates may fit a place than the one in the frame
        low.missing[:] = high.missing[:] = True
    stake = np.abs(high.numbers - low.numbers)
    found = {
        "tax": _WithGaps(tax, untaxed),
        "taxable_amount": _WithGaps(known, untaxed),
        "exempt_amount": _WithGaps(lines.goods + lines.shipping - known, untaxed),
        **{
            name: _WithGaps(part, split)
            for name, part in zip(LEVEL_TAX_COLUMNS, levels, strict=True)
        },
        "tax_low": low,
        "tax_high": high,
        "at_stake": _WithGaps(stake, low.missing | high.missing),
    }
    if terms.shipping is not None:
        goods = np.where(untaxed, 0, lines.taxable_goods * units)
        delivery = np.where(untaxed, 0, lines.taxable_shipping * units)
        found["shipping_tax"] = _WithGaps(shared_out(tax, [goods, delivery])[1], untaxed)
    return found


def _tax_range(lines: TaxLines, tax: np.ndarray, rounding: Rounding) -> tuple[_WithGaps, _WithGaps]:
    """Lowest and highest tax of each row.

    Both are `tax` where one rate fits. Otherwise each is rounded for the row by itself (also where
    `tax` is rounded by invoice), but the low one is never above `tax` nor the high one below it.
    Where it is in doubt whether delivery is taxable, the low one is without it and the high one
    with it. Of a partial rate only the low one is known. Rows whose own figures cannot be read have
    neither.
    """
    untaxed, refused = lines.reasons.given, lines.inputs.given
    low, high = tax.copy(), tax.copy()
    bottom, top = _either(lines.low, lines.rates), _either(lines.high, lines.rates)
    no_low = (untaxed & bottom.missing) | refused
    no_high = (untaxed & top.missing) | refused | lines.partial
    several = (bottom.numbers != lines.rates.units) | (top.numbers != lines.rates.units)
    in_doubt = lines.in_doubt
    rows = np.flatnonzero((untaxed | several | in_doubt) & ~refused)
    if len(rows):
        goods, delivery = lines.taxable_goods[rows], lines.taxable_shipping[rows]
        without, with_it = delivery, delivery
        if in_doubt.any():
            open_ = in_doubt[rows]
            without = np.where(open_, 0, delivery)
            with_it = np.where(open_, lines.shipping_if_taxed[rows], without)
        least = rounded_tax(goods + without, bottom.numbers[rows], rounding)
        most = rounded_tax(goods + with_it, top.numbers[rows], rounding)
        taxed, own = ~untaxed[rows], tax[rows]
        # a refund: more is further below zero
        below = (most < least) | ((most == least) & (lines.taxable[rows] < 0))
        nearer = np.where(below, np.maximum(least, own), np.minimum(least, own))
        further = np.where(below, np.minimum(most, own), np.maximum(most, own))
        low[rows] = np.where(taxed, nearer, least)
        high[rows] = np.where(taxed, further, most)
    return _WithGaps(low, no_low), _WithGaps(high, no_high)


def _either(bound: Rates, rates: Rates) -> _WithGaps:
    """The bound where there is one, else the rate itself."""
    if bound.missing.all():
        return _WithGaps(rates.units, rates.missing)
    units = np.where(bound.missing, rates.units, bound.units)
    return _WithGaps(units, bound.missing & rates.missing)


def _notes(
    lines: TaxLines, columns: Mapping[str, ExtensionArray], channel: Channel | None
) -> list[str]:
    """How many rows have no tax, require review or had their amounts corrected."""
    notes = []
    if most := lines.reasons.most_frequent():
        count = int(np.count_nonzero(lines.reasons.given))
        notes.append(
            f"rows without a tax: {count:,}; most frequent reason: {most[0]} (rows: {most[1]:,})"
        )
    if not lines.delivery.warned:
        notes.append(
            "the frame has no column 'warnings', so nothing shows where it is in doubt whether"
            " delivery is taxed: look the rates up with that column, too"
        )
    if lines.snapped:
        notes.append(
            f"floats off a whole cent by a rounding error, read as that cent: {lines.snapped:,}"
        )
    if marked := int((~columns["tax_review"].isna()).sum()):
        notes.append(f"rows to review before the tax is used (tax_review): {marked:,}")
    if "tax_due" in columns:
        none = int(columns["tax_due"].isna().sum())
        notes.append(f"rows for which no tax is due from you, or it is not known: {none:,}")
    if channel is not None and channel.odd:
        shown = ", ".join(map(repr, channel.odd[:_CHANNELS_SHOWN]))
        rest = len(channel.odd) - _CHANNELS_SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        notes.append(f"channels that are neither direct nor marketplace: {shown}{more}")
    return notes


def _raise_for(lines: TaxLines, taxed: pd.DataFrame) -> None:
    most = lines.reasons.most_frequent()
    if most is None:
        return
    count = int(np.count_nonzero(lines.reasons.given))
    raise TaxFailedError(
        f"{count:,} of {len(taxed):,} rows have no tax; most frequent reason: {most[0]} (rows:"
        f" {most[1]:,}). The frame with every tax that could be computed is in the exception's"
        " `frame`.",
        taxed,
    )
