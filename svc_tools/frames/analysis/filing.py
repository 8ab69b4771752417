"""What a state's return asks for: taxable, exempt and tax by official jurisdiction code."""

# MERGED filed: The result of a filing, how it reads, and the proof that it ties to its lines.

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.display import as_html, as_text, counted, exact_dollars
from svc_tools.frames.analysis.comparison import periods_of_rows, undated
from svc_tools.frames.analysis.filing_table import LEVEL_COLUMNS, LOCATION, NO_CODE, filing_table
from svc_tools.frames.arrow import MONEY, Coded, coded, combined, decimals
from svc_tools.frames.lookup_columns import require_columns, require_one
from svc_tools.frames.money import dollars_by, money, money_column
from svc_tools.frames.review import codes_of_rows
from svc_tools.frames.row_states import states_of_rows
from svc_tools.frames.tables import table_of
from svc_tools.frames.taxes.taxed_rows import changes_since, sales_of, taxed_rows
from svc_tools.places import STATES, state_code

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.display import Table
    from svc_tools.frames.analysis.comparison import Period

_DETAIL = "lookup_jurisdictions"

_ROWS, _REASONS = 40, 10
_ONCE = ("state", NO_CODE)
"""The levels that have each line exactly once."""


def filing(
    frame: pd.DataFrame,
    state: str,
    *,
    period: Period | None,
    date: Hashable | None,
    amount: Hashable | None,
    prefix: str,
) -> Filing:
    """Add up one state's return; see `SvcAccessor.filing` for the meaning of the arguments."""
    code = _code(state)
    require_columns(
        frame,
        (f"{prefix}lookup_status",),
        "look the rates up first: df.svc.lookup(detail=True), then df.svc.tax(amount='…')",
    )
    detail = f"{prefix}{_DETAIL}"
    require_columns(frame, (detail,), "look the rates up with df.svc.lookup(detail=True)")
    require_one(frame, detail, "lookup")
    if date is not None and period is None:
        raise ValueError("date: it is for period='month', 'quarter' or 'year'; give that too")
    states = states_of_rows(frame, prefix=prefix)
    mine = _of_state(states, code)
    rows = taxed_rows(frame, prefix)
    notes = changes_since(frame, rows, prefix)
    undue = rows.due.missing
    lines = frame.iloc[np.flatnonzero(mine & ~undue)]
    left_out = _left_out(frame.iloc[np.flatnonzero(mine & undue)], prefix, amount)
    periods = (
        Coded(np.zeros(len(lines), np.int64), ("",))
        if period is None
        else periods_of_rows(lines, f"{prefix}lookup_as_of" if date is None else date, period)
    )
    table, by_level = filing_table(lines, code, periods, prefix)
    if period is None:
        table = table.drop(columns="period")
    return Filing(
        state=code,
        table=table,
        left_out=left_out,
        lines=lines,
        totals=filing_totals(
            table,
            lines,
            left_out,
            prefix=prefix,
            of_unknown_state=int(np.count_nonzero(states.where(lambda one: not one))),
        ),
        by_level=by_level,
        period=period,
        prefix=prefix,
        notes=(*notes, *undated(None if period is None else periods.where(lambda one: not one))),
    )


def _code(state: object) -> str:
    """The state's code.

    Raises:
        TypeError: it is no text: one state is filed at a time.
        ValueError: it is none of the 50 and DC.
    """
    if not isinstance(state, str):
        raise TypeError(
            f"state: expected one state, such as 'WA', not {type(state).__name__}; a return is"
            " filed state by state"
        )
    code = state_code(state)
    if isinstance(code, str) and code in STATES:
        return code
    raise ValueError(f"state: {state!r} is none of the 50 states and DC; expected one such as 'WA'")


def _of_state(states: Coded, code: str) -> np.ndarray:
    """The rows of the state.

    Raises:
        ValueError: there are none.
    """
    mine = states.where(lambda one: one == code)
    if not mine.any():
        counted = sorted(states.counts(), key=lambda pair: (-pair[1], pair[0]))
        there = ", ".join(f"{name or 'not known'} {rows:,}" for name, rows in counted)
        raise ValueError(
            f"state: the frame has no row in {code}; its rows by state: {there or 'none'}"
        )
    return mine


def _left_out(rest: pd.DataFrame, prefix: str, amount: Hashable | None) -> pd.DataFrame:
    """The rows that are not filed, in their order, with why and their sales."""
    codes, why = taxed_rows(rest, prefix).why
    details = []
    for name in ("tax_error", "lookup_error"):
        of_rows, values = coded(rest, prefix + name)
        details.append(np.array([*values, ""], object)[of_rows])
    said = np.where(details[1] != "", details[1], details[0])
    sales = sales_of(rest, prefix, amount)
    tax = money(rest, f"{prefix}tax")
    return pd.DataFrame(
        {
            "reason": pd.array(why, dtype="str").take(codes),
            "detail": pd.array([one or None for one in said], dtype="str"),
            "sales": decimals(sales.cents, sales.missing, MONEY),
            "tax": decimals(tax.cents, tax.missing, MONEY),
        },
        index=rest.index,
    )


_ZERO = Decimal("0.00")


@dataclass(frozen=True, slots=True)
class FilingTotals:
    """What a return comes to, in dollars exact to the cent.

    Attributes:
        rows: the lines filed.
        taxable: the amount that their tax was computed on.
        exempt: the amount left untaxed.
        tax: their tax.
        no_code_rows: lines among them whose answers name no jurisdictions.
        no_code_tax: the tax of those.
        partial_rows: lines among them whose rate is known to lack a part: a lower bound.
        review_rows: lines among them that a person should look at first (`df.svc.review()`).
        review_tax: the tax of those.
        left_out_rows: lines of the state that are not filed.
        left_out_sales: their sales, as far as they are known; `None` where none is.
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
    """A figure of the table beside the same figure added up from the lines."""

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
            code; `no code` for lines whose answers name no jurisdictions, with the reason as the
            name), `code`, `official` (it is a number of the state's or the census's, not a name
            made into a code), `name`, `rate`, `rows`, `taxable` and `exempt` (of the lines that
            lie there), `tax` (the lines' shares, which add up to their tax) and `tax_of_total`
            (rate x taxable, rounded once, as a form computes it: what it differs from `tax` by is
            the rounding of the lines).
        left_out: the lines that are not filed, with the labels of the index: `reason` (a code),
            `detail`, `sales` and `tax`.
        lines: the lines that are filed, as they are in the frame.
        totals: what it comes to (see `FilingTotals`).
        by_level: whether every line was shared out level by level: the levels then tie, too.
        period: "month", "quarter" or "year" where the table is by period.
        prefix: the prefix of the columns of ours.
        notes: what has changed in the frame since its tax was computed, and how many lines have no
            date for the period, in sentences.
    """

    state: str
    table: pd.DataFrame
    left_out: pd.DataFrame
    lines: pd.DataFrame
    totals: FilingTotals
    by_level: bool
    period: Period | None = None
    prefix: str = ""
    notes: tuple[str, ...] = ()

    @property
    def ties(self) -> tuple[Tie, ...]:
        """The figures of `table` beside those of `lines`, both added up anew."""
        level = self.table["level"]
        once = level.isin(_ONCE).to_numpy(bool)
        name = "tax_due" if f"{self.prefix}tax_due" in self.lines.columns else "tax"
        ties = [
            Tie("rows", Decimal(int(self.table["rows"][once].sum())), Decimal(len(self.lines))),
            self._tie("taxable", once, "taxable_amount"),
            self._tie("exempt", once, "exempt_amount"),
            self._tie("tax", np.ones(len(self.table), bool), name),
        ]
        if self.by_level:
            local = LOCATION in set(level)
            levels = ("state", LOCATION) if local else ("state", "county", "city", "district")
            ties += [
                self._tie("tax", level.eq(one).to_numpy(bool), *LEVEL_COLUMNS[one], name=one)
                for one in levels
            ]
        return tuple(ties)

    def _tie(self, column: str, rows: np.ndarray, *of_lines: str, name: str = "") -> Tie:
        lines = sum((_total(self.lines, self.prefix + one) for one in of_lines), _ZERO)
        return Tie(f"{name} {column}".strip(), _total(self.table, column, rows), lines)

    @property
    def left_out_by_reason(self) -> pd.DataFrame:
        """What is left out, added up by reason and detail, the most rows first."""
        codes, cells = combined([coded(self.left_out, name) for name in ("reason", "detail")])
        counts = np.bincount(codes, minlength=len(cells)).tolist()
        order = sorted(range(len(cells)), key=lambda one: -counts[one])
        sums = {}
        for name in ("sales", "tax"):
            added = dollars_by(codes, money(self.left_out, name), len(cells))
            sums[name] = [added[one] for one in order]
        texts = (pd.array([cells[one][at] or None for one in order], dtype="str") for at in (0, 1))
        return pd.DataFrame(
            {
                **dict(zip(("reason", "detail"), texts, strict=True)),
                "rows": np.array([counts[one] for one in order], np.int64),
                **{name: money_column(values) for name, values in sums.items()},
            }
        )

    def check(self) -> None:
        """Add table and lines up again and compare them.

        Raises:
            ValueError: a figure of the table is not that of the lines; it names both.
        """
        broken = [
            f"{tie.name}: {tie.table:,} in the table, {tie.lines:,} in the lines"
            for tie in self.ties
            if not tie.holds
        ]
        if broken:
            raise ValueError(f"the return of {self.state} does not tie: {'; '.join(broken)}")

    def __str__(self) -> str:
        """The return as text: totals, table, what is left out."""
        return as_text(self._title, self._sentences, self._tables)

    def __repr__(self) -> str:
        """One line: the state and what its return comes to."""
        return (
            f"<Filing of {self.state}: {counted(self.totals.rows, 'row')}, tax"
            f" {exact_dollars(self.totals.tax)}>"
        )

    def _repr_html_(self) -> str:
        return as_html(self._title, self._sentences, self._tables)

    @property
    def _title(self) -> str:
        return f"{STATES[self.state]}: sales tax by jurisdiction code"

    @property
    def _sentences(self) -> Sequence[str]:
        sums = self.totals
        taxable, exempt, tax = map(exact_dollars, (sums.taxable, sums.exempt, sums.tax))
        said = [
            f"{counted(sums.rows, 'row')} to file: taxable {taxable}, exempt {exempt}, tax {tax}."
        ]
        broken = [tie.name for tie in self.ties if not tie.holds]
        if broken or sums.rows:
            said.append(
                f"It does NOT tie to the lines: {', '.join(broken)}."
                if broken
                else "It ties to the lines to the cent"
                f" ({', '.join(tie.name for tie in self.ties)})."
            )
        if sums.no_code_rows:
            said.append(
                f"Of no known jurisdiction: {counted(sums.no_code_rows, 'row')} with"
                f" {exact_dollars(sums.no_code_tax)} of tax, under “no code” with the reason."
            )
        named = self.table["code"].notna() & ~self.table["official"]
        if named.any():
            count = self.table["code"][named].nunique()
            said.append(
                f"Not official: {counted(count, 'code')} made of a name; look the state's up."
            )
        numbered = self.table["official"] & self.table["level"].isin(("county", "city"))
        if numbered.any():
            said.append(
                "Codes of counties and cities are those of the answers, mostly the census's (FIPS):"
                " the state's form may ask for numbers of its own."
            )
        if sums.partial_rows:
            said.append(
                f"A lower bound, as asked for: {counted(sums.partial_rows, 'row')} with a rate"
                " that lacks its local or district part."
            )
        if sums.review_rows:
            said.append(
                f"To be looked at before it is filed: {counted(sums.review_rows, 'row')} with"
                f" {exact_dollars(sums.review_tax)} of tax, whose rate or tax is marked for review"
                " (df.svc.review() lists them)."
            )
        if sums.left_out_rows:
            sales = "sales not known"
            if sums.left_out_sales is not None:
                sales = f"{exact_dollars(sums.left_out_sales)} of sales"
            said.append(f"Left out: {counted(sums.left_out_rows, 'row')} of the state ({sales}).")
        if sums.unknown_state_rows:
            said.append(
                "Perhaps of this state, too:"
                f" {counted(sums.unknown_state_rows, 'row')} of the frame without a state."
            )
        return [*said, *self.notes]

    @property
    def _tables(self) -> Sequence[Table]:
        columns = [
            ("level", "Level"),
            ("code", "Code"),
            ("name", "Name"),
            ("rate", ">Rate"),
            ("rows", ">Rows"),
            ("taxable", ">Taxable"),
            ("exempt", ">Exempt"),
            ("tax", ">Tax"),
            ("tax_of_total", ">Rate x total"),
        ]
        if self.period is not None:
            columns.insert(0, ("period", self.period.title()))
        tables = [table_of("By jurisdiction", self.table, columns, rows=_ROWS)]
        if len(self.left_out):
            tables.append(
                table_of(
                    "Left out, by reason",
                    self.left_out_by_reason,
                    (
                        ("reason", "Reason"),
                        ("detail", "Detail"),
                        ("rows", ">Rows"),
                        ("sales", ">Sales"),
                        ("tax", ">Tax"),
                    ),
                    rows=_REASONS,
                )
            )
        return tables


def filing_totals(
    table: pd.DataFrame,
    lines: pd.DataFrame,
    left_out: pd.DataFrame,
    *,
    prefix: str,
    of_unknown_state: int,
) -> FilingTotals:
    """What a return comes to, from its table and its lines."""
    uncoded = table["level"].eq(NO_CODE).to_numpy(bool)
    due = "tax_due" if f"{prefix}tax_due" in lines.columns else "tax"
    status = coded(lines, f"{prefix}lookup_status", "not_attempted")
    marked = codes_of_rows(lines, status, prefix).where(bool)
    return FilingTotals(
        rows=len(lines),
        taxable=_total(lines, f"{prefix}taxable_amount"),
        exempt=_total(lines, f"{prefix}exempt_amount"),
        tax=_total(lines, prefix + due),
        no_code_rows=int(table["rows"][uncoded].sum()),
        no_code_tax=_total(table, "tax", uncoded),
        partial_rows=int(lines[f"{prefix}lookup_status"].eq("partial").sum()),
        review_rows=int(marked.sum()),
        review_tax=_total(lines, prefix + due, marked),
        left_out_rows=len(left_out),
        left_out_sales=money(left_out, "sales").total(),
        unknown_state_rows=of_unknown_state,
    )


def _total(frame: pd.DataFrame, column: str, rows: np.ndarray | None = None) -> Decimal:
    return money(frame, column).total(rows) or _ZERO
