"""Sentences that every report of a summary carries: in a terminal, a workbook and a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

    from svc_tools.frames.reports.report_facts import Facts
    from svc_tools.frames.summary import Summary

__all__ = ["exact_dollars", "other_date_sentence", "stake_sentence"]


def other_date_sentence(summary: Summary) -> str | None:
    """What rests on rates of another date than the sale's; `None` where nothing does."""
    part = summary.other_date
    if not part.rows:
        return None
    start = (
        f"In {part.rows:,} of {summary.answered_rows:,} answered rows the rate is that of another"
        " date than the sale's, the nearest one known"
    )
    if part.tax is None or summary.money is None:
        return f"{start}: check it before use."
    tax, whole = exact_dollars(part.tax), exact_dollars(summary.money.tax)
    return f"{start}; {tax} of the {whole} tax rests on such rates: check them before use."


def stake_sentence(facts: Facts) -> str | None:
    """What the tax may differ by where places were not told apart; `None` where nothing does."""
    stake = facts.stake
    if stake is None or not stake.rows:
        return None
    low, high, between = map(exact_dollars, (stake.low, stake.high, stake.at_stake))
    refunds = "" if stake.high - stake.low == stake.at_stake else ", refunds without their sign"
    return (
        f"In {stake.rows:,} rows the place fits several rates: their tax comes to {low} at the"
        f" lowest of them and to {high} at the highest, and {between} is at stake{refunds}."
    )


def exact_dollars(value: Decimal) -> str:
    """An amount with its cents and the sign in front: `-$1,234.50`."""
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"
