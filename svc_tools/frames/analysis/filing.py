"""A state's return: taxable, exempt and tax by official jurisdiction code, tied to its lines.

The tax of each line is shared out over the jurisdictions of its rate in whole cents, so that the
shares of a line add up to its tax, and the table to the lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.analysis.periods import periods_of, undated
from svc_tools.frames.lookup.results import decode
from svc_tools.frames.lookup.row_states import states_of
from svc_tools.frames.review.codes import review_codes
from svc_tools.frames.review.summary import RestsOn, rests_on
from svc_tools.frames.taxes.invoices import shared_out
from svc_tools.frames.taxes.taxed_rows import (
    changes_since,
    goods_of,
    is_product,
    sales_of,
    taxed_rows,
)
from svc_tools.frames.values.arrow import MONEY, RATE, Coded, coded, combined, decimals, text_column
from svc_tools.frames.values.money import dollars, dollars_by, money, money_column, sums_by
from svc_tools.frames.values.tables import table_of
from svc_tools.lookup.columns import LEVEL_TAX_COLUMNS
from svc_tools.show.display import Note, as_html, as_text, counted, exact_dollars, number
from svc_tools.tables.states import STATES, us_state

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.analysis.periods import Period
    from svc_tools.frames.options import AmountOptions
    from svc_tools.frames.taxes.taxed_rows import Goods, TaxedRows
    from svc_tools.lookup.outcomes import Component
    from svc_tools.show.display import Head, Table
    from svc_tools.tables.dates import DateTerms

FILING_COLUMNS = (
    "period",
    "level",
    "code",
    "official",
    "name",
    "rate",
    "rows",
    "taxable",
    "exempt",
    "tax",
    "tax_of_total",
)
"""The columns of a return; `period` only where a period is given."""

EXEMPT_BY_EXPORT = "export"
"""The reason of sales that an export marks not taxable."""
_NO_CODE = "no code"
"""The level of the rows that stand for lines whose results name no jurisdictions."""
LOCATION = "location"
"""The level of Washington's location codes: all local parts together."""
_LEVEL_COLUMNS = {
    "state": ("state_tax",),
    "county": ("county_tax",),
    "city": ("city_tax",),
    "district": ("combined_district_tax",),
    LOCATION: ("county_tax", "city_tax", "combined_district_tax"),
}
"""The columns of a line's tax that belong to the parts of a level."""

_LEVELS = ("state", LOCATION, "county", "city", "district")
"""The levels in the order in which they are listed."""
_ZERO = Decimal("0.00")


def filing(
    rows: Enriched,
    state: str,
    *,
    period: Period | None,
    date: Hashable | None,
    dates: DateTerms,
    amount: Hashable | None,
    options: AmountOptions,
) -> Filing:
    """Add up one state's return; see `SvcAccessor.filing` for the meaning of the arguments."""
    code = _code(state)
    advice = "look the rates up first: df.svc.lookup(detail=True), then df.svc.tax(amount='…')"
    rows.require("lookup_status", remedy=advice)
    advice = "look the rates up with df.svc.lookup(detail=True)"
    rows.require("lookup_jurisdictions", remedy=advice)
    if date is not None and period is None:
        raise ValueError("date: it is for period='month', 'quarter' or 'year'; give that too")
    states = states_of(rows)
    in_state = _of_state(states, code)
    undue = taxed_rows(rows).due.missing
    notes = changes_since(rows)
    goods = goods_of(rows, amount, options, call="filing")
    at, left, every = map(np.flatnonzero, (in_state & ~undue, in_state & undue, in_state))
    lines = rows.at(at)
    left_out = _left_out(rows.at(left), goods.at(left))
    periods, how = Coded(np.zeros(len(rows), np.int64), ("",)), list[str]()
    if period is not None:  # of all rows, which decide together how dates are read
        periods, how = periods_of(rows, period, date, dates)
    periods = periods.at(at)
    table, by_level = _filing_table(lines, code, periods)
    if period is None:
        table = table.drop(columns="period")
    return Filing(
        state=code,
        table=table,
        left_out=left_out,
        lines=lines.frame,
        totals=_totals(table, lines, left_out, int(states.where(lambda value: not value).sum())),
        rests_on=rests_on(rows.at(every), goods.at(every)),
        by_level=by_level,
        period=period,
        prefix=rows.prefix,
        notes=(
            *notes,
            *how,
            *undated(None if period is None else periods.where(lambda value: not value)),
        ),
    )


def _code(state: object) -> str:
    """The state's code.

    Raises:
        TypeError: `state` is not text: one state is filed at a time.
        ValueError: it is not one of the 50 states and DC.
    """
    if not isinstance(state, str):
        raise TypeError(
            f"state: expected one state, such as 'WA', not {type(state).__name__}; a return is"
            " filed state by state"
        )
    code = us_state(state)
    if code is None:
        raise ValueError(
            f"state: {state!r} is not one of the 50 states and DC; expected a code as 'WA'"
        )
    return code


def _of_state(states: Coded[str], code: str) -> np.ndarray:
    """The rows of the state, as a mask.

    Raises:
        ValueError: no row has them.
    """
    in_state = states.where(lambda state: state == code)
    if not in_state.any():
        counts = sorted(states.counts(), key=lambda pair: (-pair[1], pair[0]))
        listed = ", ".join(f"{name or 'not known'} {rows:,}" for name, rows in counts)
        raise ValueError(
            f"state: the frame has no row in {code}; its rows by state: {listed or 'none'}"
        )
    return in_state


def _left_out(rest: Enriched, goods: Goods) -> pd.DataFrame:
    """The rows that are not filed, in frame order, with the reason and their sales."""
    errors, cells = combined([rest.coded("lookup_error"), rest.coded("tax_error")])
    details = [of_lookup or of_tax for of_lookup, of_tax in cells]
    sales, tax = sales_of(rest, goods), rest.money("tax")
    return pd.DataFrame(
        {
            "reason": taxed_rows(rest).why.column(),
            "detail": text_column(details).take(errors),
            "sales": decimals(sales.cents, sales.missing, MONEY),
            "tax": decimals(tax.cents, tax.missing, MONEY),
        },
        index=rest.frame.index,
    )


def _totals(
    table: pd.DataFrame, lines: Enriched, left_out: pd.DataFrame, unknown_state_rows: int
) -> FilingTotals:
    """The sums over all lines of the filing, and over the rows that were left out of it."""
    uncoded = table["level"].eq(_NO_CODE).to_numpy(bool)
    taxed = taxed_rows(lines)
    marked = review_codes(lines).where(bool)
    return FilingTotals(
        rows=len(lines),
        taxable=taxed.taxable.total() or _ZERO,
        exempt=taxed.exempt.total() or _ZERO,
        tax=taxed.due.total() or _ZERO,
        no_code_rows=int(table["rows"][uncoded].sum()),
        no_code_tax=_total(table, "tax", uncoded),
        partial_rows=int(lines.where(lambda status: status.partial).sum()),
        review_rows=int(marked.sum()),
        review_tax=taxed.due.total(marked) or _ZERO,
        left_out_rows=len(left_out),
        left_out_sales=money(left_out, "sales").total(),
        unknown_state_rows=unknown_state_rows,
    )


def _tax_column(lines: pd.DataFrame, prefix: str) -> str:
    """The column of the tax that is filed, without its prefix: the part due, where computed."""
    return "tax_due" if f"{prefix}tax_due" in lines.columns else "tax"


def _total(frame: pd.DataFrame, column: str, rows: np.ndarray | None = None) -> Decimal:
    return money(frame, column).total(rows) or _ZERO


@dataclass(frozen=True, slots=True)
class FilingTotals:
    """What a return comes to, in dollars exact to the cent.

    Attributes:
        rows: the lines filed.
        taxable: the amount that their tax was computed on.
        exempt: the amount left untaxed.
        tax: their tax.
        no_code_rows: lines among them whose results name no jurisdictions.
        no_code_tax: the tax of those.
        partial_rows: lines among them whose rate is known to lack a part: a lower bound.
        review_rows: lines among them that require review first (`df.svc.review()`).
        review_tax: the tax of those.
        left_out_rows: lines of the state that are not filed.
        left_out_sales: their sales with delivery, as far as they are known; `None` where none are.
        unknown_state_rows: rows of the frame that name no state: they may belong here.
    """

    rows: int
    taxable: Decimal
    exempt: Decimal
    tax: Decimal
    no_code_rows: int
    no_code_tax: Decimal
    partial_rows: int
    review_rows: int
    review_tax: Decimal
    left_out_rows: int
    left_out_sales: Decimal | None
    unknown_state_rows: int


class Tie(NamedTuple):
    """A figure of the table, and the same figure summed from the lines."""

    name: str
    table: Decimal
    lines: Decimal

    @property
    def holds(self) -> bool:
        """Whether the two are equal, to the cent."""
        return self.table == self.lines


@dataclass(frozen=True, slots=True, eq=False)
class Filing:
    """One state's return: each line's tax shared out over the jurisdictions of its rate.

    Attributes:
        state: the state's code.
        table: one row for each jurisdiction code and rate (and period): `level` (state, county,
            city, district; for Washington `location`, all local parts together under its location
            code; `no code` for lines whose results name no jurisdictions, with the reason as the
            name), `code`, `official` (whether it is a number of the state or the Census, not a
            name made into a code), `name`, `rate`, `rows`, `taxable` and `exempt` (of the lines
            that lie there), `tax` (the lines' shares, which add up to their tax) and
            `tax_of_total` (rate x taxable, rounded once, as a form computes it: its difference
            from `tax` is the rounding of the lines).
        left_out: the lines that are not filed, with the labels of the index: `reason` (a code),
            `detail`, `sales` and `tax`.
        lines: the lines that are filed, as they are in the frame.
        totals: the totals of the return.
        rests_on: how much of the tax rests on the rate of another date, or on an incomplete
            one; and the state's rows with an incomplete rate that have no tax.
        by_level: whether every line was shared out level by level: the levels then tie, too.
        period: "month", "quarter" or "year" where the table is by period.
        prefix: the prefix of the added columns.
        notes: sentences on what has changed in the frame since its tax was computed, and on lines
            without a date for the period.
    """

    state: str
    table: pd.DataFrame
    left_out: pd.DataFrame
    lines: pd.DataFrame
    totals: FilingTotals
    rests_on: RestsOn
    by_level: bool
    period: Period | None = None
    prefix: str = ""
    notes: tuple[str, ...] = ()

    @property
    def ties(self) -> tuple[Tie, ...]:
        """The figures of `table` and those of `lines`, both summed again."""
        level = self.table["level"]
        once = level.isin(("state", _NO_CODE)).to_numpy(bool)  # these have each line exactly once
        ties = [
            Tie("rows", Decimal(int(self.table["rows"][once].sum())), Decimal(len(self.lines))),
            self._tie("taxable", once, "taxable_amount"),
            self._tie("exempt", once, "exempt_amount"),
            self._tie("tax", np.ones(len(self.table), bool), _tax_column(self.lines, self.prefix)),
        ]
        if self.by_level:
            local = LOCATION in set(level)
            levels = ("state", LOCATION) if local else ("state", "county", "city", "district")
            ties += [
                self._tie("tax", level.eq(name).to_numpy(bool), *_LEVEL_COLUMNS[name], name=name)
                for name in levels
            ]
        return tuple(ties)

    def _tie(self, column: str, rows: np.ndarray, *of_lines: str, name: str = "") -> Tie:
        lines = sum((_total(self.lines, self.prefix + label) for label in of_lines), _ZERO)
        return Tie(f"{name} {column}".strip(), _total(self.table, column, rows), lines)

    @property
    def exempt_by_reason(self) -> pd.DataFrame:
        """What is exempt by reason: `export`, the goods that it marks not taxable, and `other`.

        `other` is what `exempt=` or `taxable=` leaves untaxed, and delivery that is not taxed.
        """
        names = [f"{self.prefix}{name}" for name in ("exempt_amount", "sale_amount")]
        exempt, sold = (money(self.lines, name) for name in names)
        taxable = money(self.lines, f"{self.prefix}sale_taxable")
        marked = np.where(sold.missing | taxable.missing, 0, sold.cents - taxable.cents)
        marked = np.where(exempt.missing, 0, marked)
        other = np.where(exempt.missing, 0, exempt.cents) - marked
        found = [
            (reason, int(np.count_nonzero(cents)), dollars(int(cents.sum())))
            for reason, cents in ((EXEMPT_BY_EXPORT, marked), ("other", other))
            if cents.any()
        ]
        return pd.DataFrame(
            {
                "reason": text_column(reason for reason, *_ in found),
                "rows": np.array([rows for _, rows, _ in found], np.int64),
                "exempt": money_column([amount for *_, amount in found]),
            }
        )

    @property
    def left_out_by_reason(self) -> pd.DataFrame:
        """The rows left out by reason and detail, the most frequent first."""
        codes, cells = combined([coded(self.left_out, name) for name in ("reason", "detail")])
        counts = np.bincount(codes, minlength=len(cells)).tolist()
        order = sorted(range(len(cells)), key=lambda place: -counts[place])
        sums = {}
        for name in ("sales", "tax"):
            added = dollars_by(codes, money(self.left_out, name), len(cells))
            sums[name] = [added[place] for place in order]
        return pd.DataFrame(
            {
                "reason": text_column(cells[place][0] for place in order),
                "detail": text_column(cells[place][1] for place in order),
                "rows": np.array([counts[place] for place in order], np.int64),
                **{name: money_column(values) for name, values in sums.items()},
            }
        )

    def check(self) -> None:
        """Sum table and lines again and compare them.

        Raises:
            ValueError: a figure of the table is not that of the lines; the message names both.
        """
        broken = [
            f"{tie.name}: {tie.table:,} in the table, {tie.lines:,} in the lines"
            for tie in self.ties
            if not tie.holds
        ]
        if broken:
            raise ValueError(f"the return of {self.state} does not tie: {'; '.join(broken)}")

    def __str__(self) -> str:
        """The return as text: totals, table, rows left out."""
        return as_text(Note(self._title, self._sentences), *self._tables)

    def __repr__(self) -> str:
        """One line: the state, the rows and the tax."""
        return (
            f"<Filing of {self.state}: {counted(self.totals.rows, 'row')}, tax"
            f" {exact_dollars(self.totals.tax)}{self.rests_on.brief}>"
        )

    def _repr_html_(self) -> str:
        return as_html(Note(self._title, self._sentences), *self._tables)

    @property
    def _title(self) -> str:
        return f"{STATES[self.state]}: sales tax by jurisdiction code"

    @property
    def _sentences(self) -> Sequence[str]:
        """The totals, what does not tie, and what to check before filing, in words for the note."""
        sums = self.totals
        taxable, exempt, tax = map(exact_dollars, (sums.taxable, sums.exempt, sums.tax))
        texts = [
            f"{counted(sums.rows, 'row')} to file: taxable {taxable}, exempt {exempt}, tax {tax}."
            f" {self.rests_on.sentence}".rstrip()
        ]
        broken = [tie.name for tie in self.ties if not tie.holds]
        if broken or sums.rows:
            texts.append(
                f"It does NOT tie to the lines: {', '.join(broken)}."
                if broken
                else "It ties to the lines to the cent"
                f" ({', '.join(tie.name for tie in self.ties)})."
            )
        if sums.no_code_rows:
            texts.append(
                f"Of no known jurisdiction: {counted(sums.no_code_rows, 'row')} with"
                f" {exact_dollars(sums.no_code_tax)} of tax, under “no code” with the reason."
            )
        named = self.table["code"].notna() & ~self.table["official"]
        if named.any():
            count = self.table["code"][named].nunique()
            texts.append(
                f"Not official: {counted(count, 'code')} made of a name; look the state's up."
            )
        numbered = self.table["official"] & self.table["level"].isin(("county", "city"))
        if numbered.any():
            texts.append(
                "Codes of counties and cities are those of the results, mostly Census (FIPS) codes:"
                " the state's form may require its own numbers."
            )
        if sums.review_rows:
            texts.append(
                f"To be looked at before it is filed: {counted(sums.review_rows, 'row')} with"
                f" {exact_dollars(sums.review_tax)} of tax, whose rate or tax is marked for review"
                " (df.svc.review() lists them)."
            )
        if sums.left_out_rows:
            sales = "sales not known"
            if sums.left_out_sales is not None:
                sales = f"{exact_dollars(sums.left_out_sales)} of sales"
                if f"{self.prefix}shipping_tax" in self.lines.columns:
                    sales += ", delivery included"
            texts.append(f"Left out: {counted(sums.left_out_rows, 'row')} of the state ({sales}).")
        if sums.unknown_state_rows:
            texts.append(
                "Perhaps of this state, too:"
                f" {counted(sums.unknown_state_rows, 'row')} of the frame without a state."
            )
        return [*texts, *self.notes]

    @property
    def _tables(self) -> Sequence[Table]:
        """The tables to display: by jurisdiction, by reason of exemption, and of rows left out."""
        columns: list[tuple[Hashable, Head]] = [
            ("level", "Level"),
            ("code", "Code"),
            ("name", "Name"),
            ("rate", number("Rate")),
            ("rows", number("Rows")),
            ("taxable", number("Taxable")),
            ("exempt", number("Exempt")),
            ("tax", number("Tax")),
            ("tax_of_total", number("Rate x total")),
        ]
        if self.period is not None:
            columns.insert(0, ("period", self.period.title()))
        tables = [table_of("By jurisdiction", self.table, columns, rows=40)]
        exempt = self.exempt_by_reason
        if exempt["reason"].eq(EXEMPT_BY_EXPORT).any():
            of_exempt: tuple[tuple[Hashable, Head], ...] = (
                ("reason", "Reason"),
                ("rows", number("Rows")),
                ("exempt", number("Exempt")),
            )
            tables.append(table_of("Exempt, by reason", exempt, of_exempt, rows=10))
        if len(self.left_out):
            tables.append(
                table_of(
                    "Left out, by reason",
                    self.left_out_by_reason,
                    (
                        ("reason", "Reason"),
                        ("detail", "Detail"),
                        ("rows", number("Rows")),
                        ("sales", number("Sales")),
                        ("tax", number("Tax")),
                    ),
                    rows=10,
                )
            )
        return tables


def _filing_table(lines: Enriched, state: str, periods: Coded[str]) -> tuple[pd.DataFrame, bool]:
    """The return of some lines, each of which has a tax that is due.

    Args:
        lines: the lines, all of one state.
        state: its code.
        periods: the period of each line.

    Returns:
        The rows, with the columns of `FILING_COLUMNS`; and whether every line was shared out
        level by level, so that each level adds up to its column of the lines.
    """
    taxed = taxed_rows(lines)
    codes, shapes = _shapes(lines, state)
    level_taxes = {name: lines.money(name) for name in LEVEL_TAX_COLUMNS}
    numbered: dict[tuple[str, str, int | None], tuple[int, ReturnRow]] = {}  # by the parts' keys
    pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    by_level = True
    for levels, members in _alike(shapes).items():
        place = np.full(len(shapes), -1)
        place[members] = np.arange(len(members))
        here = np.flatnonzero(place[codes] >= 0)
        own = place[codes[here]]
        parts = list(zip(*(shapes[member] for member in members), strict=True))
        tax = taxed.due.cents[here]
        if levels == (_NO_CODE,):
            shares, by_level = [tax], False
        else:
            units = [np.array([part.units for part in each], np.int64)[own] for each in parts]
            taxes = {
                name: (amounts.cents[here], amounts.missing[here])
                for name, amounts in level_taxes.items()
            }
            shares, whole = _shares_of(levels, units, tax, taxed.taxable.cents[here], taxes)
            by_level &= bool(whole.all())
        for each, share in zip(parts, shares, strict=True):
            numbers = [numbered.setdefault(part.key, (len(numbered), part))[0] for part in each]
            pieces.append((here, np.array(numbers, np.int64)[own], share))
    return _summed(pieces, [part for _, part in numbered.values()], taxed, periods), by_level


def _shapes(lines: Enriched, state: str) -> tuple[np.ndarray, list[tuple[ReturnRow, ...]]]:
    """The distinct parts of the lines, and the number of each line's."""
    distinct, rate_codes = np.unique(lines.rates("combined_rate").units, return_inverse=True)
    cells = lines.coded("lookup_jurisdictions")
    of_rates = Coded(rate_codes, tuple(map(str, distinct.tolist())))
    codes, pairs = combined([cells, of_rates])
    shapes = [return_rows(cell or None, int(rate), state=state) for cell, rate in pairs]
    taxed = taxed_rows(lines)
    off = ~is_product(lines, taxed.due, taxed.taxable)
    if off.any():  # a tax that somebody edited: it is not the sum of the parts
        codes = np.where(off, len(shapes), codes)
        shapes.append(_without_code("the tax is not the taxable amount times the rate"))
    return codes, shapes


def _alike(shapes: Sequence[tuple[ReturnRow, ...]]) -> dict[tuple[str, ...], list[int]]:
    """The numbers of the shapes by the levels of their parts."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for place, shape in enumerate(shapes):
        alike.setdefault(tuple(part.level for part in shape), []).append(place)
    return alike


class ReturnRow(NamedTuple):
    """One row of a return: a jurisdiction at one rate (units of 10^-5), or why none is named."""

    level: str
    code: str | None
    name: str
    units: int | None

    @property
    def key(self) -> tuple[str, str, int | None]:
        """What makes it a separate row: the code, where there is one, whatever the name."""
        return self.level, f"name {self.name}" if self.code is None else self.code, self.units


_NUMBER = re.compile(r"[A-Z]?[0-9]+", re.ASCII)


def is_official(code: str | None) -> bool:
    """Whether a code is a number of the state's or the census, not a name made into a code.

    `L1726` and `053` are; `kansas-city` and `county-003` (all district taxes of a county) are not.
    """
    return code is not None and _NUMBER.fullmatch(code) is not None


def return_rows(cell: str | None, rate: int, *, state: str) -> tuple[ReturnRow, ...]:
    """The parts that a cell of `lookup_jurisdictions` names, the state's first.

    Args:
        cell: the cell, `None` where it is missing.
        rate: the combined rate of its row, which the parts must add up to.
        state: the state of the return; Washington's local parts become one, by location code.

    Returns:
        The parts, exactly one of them the state's; where the cell does not name them, one part of
        the level `_NO_CODE` with the reason as its name.
    """
    try:
        components = decode(cell)
    except ValueError:
        return _without_code("the result's jurisdictions cannot be read")
    if not components:
        return _without_code("the result names no jurisdictions")
    if sum(component.units for component in components) != rate:
        return _without_code("the jurisdictions' rates do not add up to the rate")
    local = [
        ReturnRow(component.level, component.code, component.name, component.units)
        for component in components
        if component.level != "state"
    ]
    if len({part.key for part in local}) < len(local):
        return _without_code("the result names a jurisdiction twice")
    if state == "WA":
        local = _by_location(local)
    local.sort(key=lambda part: _rank(part.level))
    return (_state_part(components, state), *local)


def _without_code(reason: str) -> tuple[ReturnRow, ...]:
    """The only part of lines whose jurisdictions are not known, for this reason."""
    return (ReturnRow(_NO_CODE, None, reason, None),)


def _state_part(components: Sequence[Component], state: str) -> ReturnRow:
    """The state's part; where the result names none, the state levies no tax."""
    found = [component for component in components if component.level == "state"]
    if not found:
        return ReturnRow("state", None, STATES[state], 0)
    return ReturnRow(
        "state", found[0].code, found[0].name, sum(component.units for component in found)
    )


_LOCATION_CODE = re.compile(r"L?([0-9]{4})", re.ASCII)


def _by_location(local: list[ReturnRow]) -> list[ReturnRow]:
    """Washington's local parts as one, under the location code that its return requires."""
    names = {}
    for part in local:
        found = _LOCATION_CODE.fullmatch(part.code or "")
        if found is not None:
            names[found[1]] = part.name
    if len(names) != 1:
        return local
    ((code, name),) = names.items()
    return [ReturnRow(LOCATION, code, name, sum(part.units or 0 for part in local))]


def _shares_of(
    levels: Sequence[str],
    units: Sequence[np.ndarray],
    tax: np.ndarray,
    taxable: np.ndarray,
    level_taxes: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> tuple[list[np.ndarray], np.ndarray]:
    """The tax of lines shared out over their parts: the shares add up to each line's tax.

    Each part gets taxable x rate without its fraction of a cent; the cents left over go to the
    largest fractions, on a tie to the first part. Where a line has its tax by level, and it is
    that of its parts, this is done within each level, so that the parts of a level add up, too.

    Args:
        levels: the level of each part.
        units: the rate of each part, line by line.
        tax: the tax of each line in cents.
        taxable: its taxable amount in cents.
        level_taxes: cents of each tax column, and where it is missing.

    Returns:
        The cents of each part, line by line; and which lines were shared out by level.
    """
    exact = [taxable * rate for rate in units]
    by_level = np.ones(len(tax), bool)
    totals: dict[str, np.ndarray] = {}
    for level in dict.fromkeys(levels):
        columns = [level_taxes[name] for name in _LEVEL_COLUMNS.get(level, ())]
        totals[level] = sum((cents for cents, _ in columns), np.zeros(len(tax), np.int64))
        here = sum(exact[place] for place, of_part in enumerate(levels) if of_part == level)
        for _, missing in columns:
            by_level &= ~missing
        by_level &= np.abs(totals[level] * UNITS_PER_ONE - here) < UNITS_PER_ONE * len(columns)
    by_level &= sum(totals.values(), np.zeros(len(tax), np.int64)) == tax
    shares = shared_out(
        np.where(by_level, 0, tax), [np.where(by_level, 0, weights) for weights in exact]
    )
    for level, total in totals.items():
        places = [place for place, of_part in enumerate(levels) if of_part == level]
        within = [np.where(by_level, exact[place], 0) for place in places]
        whole = np.where(by_level, total, 0)
        shared = [whole] if len(places) == 1 else shared_out(whole, within)
        for place, share in zip(places, shared, strict=True):
            shares[place] += share
    return shares, by_level


def _rank(level: str) -> int:
    return _LEVELS.index(level) if level in _LEVELS else len(_LEVELS) + (level == _NO_CODE)


def _summed(
    pieces: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    parts: Sequence[ReturnRow],
    taxed: TaxedRows,
    periods: Coded[str],
) -> pd.DataFrame:
    """The table from pieces: the lines, the number of the part of each, and its cents."""
    none = np.zeros(0, np.int64)
    lines, which, taxes = (
        np.concatenate([none, *(piece[at] for piece in pieces)]) for at in range(3)
    )
    of_lines, names = periods
    size = len(names) * len(parts)
    codes = of_lines[lines] * len(parts) + which
    counts = np.bincount(codes, minlength=size).tolist()
    taxable = sums_by(codes, taxed.taxable.cents[lines], size)
    exempt = sums_by(codes, taxed.exempt.cents[lines], size)
    tax = sums_by(codes, taxes, size)

    def order(code: int) -> tuple[bool, str, int, str, str, int]:
        period, part = names[code // len(parts)], parts[code % len(parts)]
        return not period, period, _rank(part.level), part.code or "", part.name, part.units or 0

    present = sorted((code for code in range(size) if counts[code]), key=order)
    of = [parts[code % len(parts)] for code in present]
    units = [part.units for part in of]
    missing = np.array([rate is None for rate in units], bool)
    columns = (
        text_column(names[code // len(parts)] for code in present),
        text_column(part.level for part in of),
        text_column(part.code for part in of),
        np.array([is_official(part.code) for part in of], bool),
        text_column(part.name for part in of),
        decimals(np.array([rate or 0 for rate in units], np.int64), missing, RATE),
        np.array([counts[code] for code in present], np.int64),
        money_column([dollars(taxable[code]) for code in present]),
        money_column([dollars(exempt[code]) for code in present]),
        money_column([dollars(tax[code]) for code in present]),
        money_column(
            [_of_total(taxable[code], rate) for code, rate in zip(present, units, strict=True)]
        ),
    )
    return pd.DataFrame(dict(zip(FILING_COLUMNS, columns, strict=True)))


def _of_total(taxable: int, units: int | None) -> Decimal | None:
    """The rate times the taxable total, rounded once, half a cent away from zero."""
    if units is None:
        return None
    cents = (abs(taxable) * units + UNITS_PER_ONE // 2) // UNITS_PER_ONE
    return dollars(-cents if taxable < 0 else cents)
