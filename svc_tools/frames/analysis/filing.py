"""What a state's return asks for: taxable, exempt and tax by official jurisdiction code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.analysis.filed import Filing, filing_totals
from svc_tools.frames.analysis.filing_table import filing_table
from svc_tools.frames.analysis.periods import periods_of_rows, undated
from svc_tools.frames.coded import Coded, coded
from svc_tools.frames.enriched import require_columns, require_one
from svc_tools.frames.exact import MONEY, decimals
from svc_tools.frames.row_states import states_of_rows
from svc_tools.frames.taxes.changes import changes_since
from svc_tools.frames.taxes.taxed_rows import sales_of, taxed_rows
from svc_tools.frames.totals import money
from svc_tools.places import STATES, state_code

if TYPE_CHECKING:
    from collections.abc import Hashable

    from svc_tools.frames.analysis.periods import Period

__all__ = ["filing"]

_DETAIL = "lookup_jurisdictions"


def filing(
    frame: pd.DataFrame,
    state: str,
    *,
    period: Period | None,
    date: Hashable | None,
    amount: Hashable | None,
    prefix: str,
) -> Filing:
    """Add up one state's return; see `MoneyMethods.filing` for the meaning of the arguments."""
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
