"""A state's exposure in sentences: what is said in the column `why`. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from svc_tools.shown import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from svc_tools.nexus.exposure_state import Covered, Exposed, Reading
    from svc_tools.nexus.exposure_sums import Found, Uncounted
    from svc_tools.nexus.thresholds import Threshold

__all__ = ["dollars", "period_words", "why"]

_PERIODS = {
    "current_or_previous_year": "the current or the previous calendar year",
    "previous_year": "the previous calendar year",
    "four_quarters": "the last four quarters",
    "rolling_12_months": "the last 12 months",
    "twelve_months_to_september": "the 12 months to 30 September",
}


def dollars(cents: int) -> str:
    """Cents as people write dollars."""
    sign = "-" if cents < 0 else ""
    return f"{sign}${Decimal(abs(cents)).scaleb(-2):,.2f}"


def period_words(exposed: Exposed) -> str:
    """Over which time the state measures, and which of its windows is shown."""
    row = exposed.row
    if row is None or row.period is None or not exposed.readings:
        return ""
    best = exposed.readings[0].best.window.words
    return best if not exposed.readings[0].other else f"{best} ({_PERIODS[row.period]})"


def why(exposed: Exposed, as_of: date, covered: Covered, *, registered: str | None) -> str:
    """Everything that is to be said of a state's row."""
    row = exposed.row
    if row is None:
        return f"The thresholds have no row for {exposed.state} on {as_of}."
    if exposed.band == "no tax":
        record = f" The register has a record: {registered}." if registered else ""
        return f"The state has no general sales tax.{record}"
    return " ".join(_sentences(exposed, row, as_of, covered, registered))


def _sentences(
    exposed: Exposed, row: Threshold, as_of: date, covered: Covered, registered: str | None
) -> Iterator[str]:
    shown = exposed.readings[0]
    yield _figure(shown.best, row)
    if exposed.first_crossed is not None:
        yield _crossed(exposed, exposed.first_crossed)
    yield from (
        f"In {other.window.words} it is {_percent(other)}." for other in shown.other if other.cents
    )
    yield from _reading_sentences(exposed, row)
    if row.logic == "unknown":
        yield (
            "Sources disagree on a test of transactions, so sales below the threshold do not say"
            " that there is no duty."
        )
    if row.transactions is None and exposed.dropped_within:
        yield f"There is no test of transactions any more since {row.transactions_dropped_on}."
    if exposed.running is not None:
        yield (
            f"Sales from {exposed.running.window.words} meet the threshold already, since"
            f" {exposed.running.met_on}: they count from the next period on."
        )
    elif exposed.earlier is not None and exposed.first_crossed is None:
        yield f"The threshold of that time was met in {exposed.earlier.words}."
    if exposed.trailing is not None and exposed.trailing_cents is not None:
        yield (
            f"The duty lasts {row.trailing_months} months after the threshold is no longer met;"
            f" sales {exposed.trailing.words}: {dollars(exposed.trailing_cents)}."
        )
    yield from _coverage(exposed, as_of, covered)
    if exposed.uncounted.rows:
        yield _uncounted(exposed.uncounted)
    if exposed.marketplace_only:
        yield "All sales were made through marketplaces."
    yield from _unknown(exposed, row)
    if registered is not None:
        yield f"In the register: {registered}." if registered else "The register has no record."


def _figure(found: Found, row: Threshold) -> str:
    assert row.sales is not None  # noqa: S101 - only a state without a tax has none
    figure = dollars(found.cents)
    test = f"${row.sales:,}"
    if row.transactions is not None and row.logic in {"and", "or"}:
        figure += f" and {counted(found.transactions, 'transaction')}"
        test += f" {row.logic} {row.transactions:,} transactions"
    return f"{figure} in {found.window.words}: {_percent(found)} of the threshold of {test}."


def _crossed(exposed: Exposed, day: date) -> str:
    best = exposed.readings[0].best
    if best.met_on is None:
        return f"The 12 months to {day} met it; those to {best.window.last} do not."
    net = " Refunds have brought the total below it since." if best.used < 1 else ""
    return f"It was first met on {day}.{net}"


def _reading_sentences(exposed: Exposed, row: Threshold) -> Iterator[str]:
    """What the figure would be where a fact of the threshold is not known."""
    shown, *others = exposed.readings
    if not exposed.any_sales:
        return
    if exposed.base_missing:
        yield (
            f"The state counts {row.base} sales, which are not in what was given: these are gross"
            " sales, the most that it can be."
        )
    elif row.base is None:
        yield f"Which sales the state counts is not known: these are {shown.base} sales."
    alike = [one for one in others if one.base == shown.base]
    if row.marketplace_counts is None and alike:
        yield (
            "Whether sales through marketplaces count is not known:"
            f" {_channels(shown)} it is {_percent(shown.best)}, {_channels(alike[0])}"
            f" {_percent(alike[0].best)} ({dollars(alike[0].best.cents)})."
        )
    elif row.marketplace_counts is False and exposed.marketplace_cents:
        yield (
            "Sales through marketplaces do not count here"
            f" ({dollars(exposed.marketplace_cents)} of them are left out)."
        )
    bases = {one.base: one for one in others if one.base != shown.base and one.marketplace}
    if row.base is None and bases:
        told = ", ".join(f"{base} sales {_percent(one.best)}" for base, one in bases.items())
        yield f"By other ways to count: {told}."


def _coverage(exposed: Exposed, as_of: date, covered: Covered) -> Iterator[str]:
    if covered.first is None or covered.last is None:
        yield "No sales were given."
    elif not exposed.covered:
        yield (
            f"The sales given are of {covered.first} to {covered.last}, and {exposed.begin} to"
            f" {as_of} is needed: more may have been sold than is counted here."
        )


def _uncounted(lost: Uncounted) -> str:
    """What was left out and may be sales of this state."""
    some = f"{dollars(lost.cents)}, and " if lost.cents and lost.unsized else ""
    sums = f"{some}amounts that cannot be read" if lost.unsized else dollars(lost.cents)
    return (
        f"Not counted: {counted(lost.rows, 'row')} that may be sales to the state ({sums}); the"
        " list of what was left out says why."
    )


def _unknown(exposed: Exposed, row: Threshold) -> Iterator[str]:
    if row.trailing_months is None and exposed.below_all is None:
        yield "How long the duty lasts once sales have fallen is not known."
    if row.certainty == "low":
        yield "The threshold itself is uncertain."


def _channels(reading: Reading) -> str:
    return "with them" if reading.marketplace else "without them"


def _percent(found: Found) -> str:
    """The part used, cut off and not rounded: what is not met is never 100 %."""
    percent = found.used * 100
    return f"{percent.quantize(Decimal('0.1'), rounding='ROUND_DOWN')} %"
