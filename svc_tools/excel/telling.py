"""From what became of a question to what a cell shows. Pure.

A rate or an amount of tax leaves as a float: the one nearest to the exact value, so that its 15
significant digits are those of the rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_sdk._reading import percent
from svc_sdk.rates import UNITS_PER_ONE, rate_to_decimal, units_to_rate
from svc_tools.excel.cell_errors import (
    PARTIAL,
    BadValueError,
    CellError,
    NotAvailableError,
)
from svc_tools.excel.values import OMITTED, error_in, is_empty
from svc_tools.meanings import MEANINGS
from svc_tools.shown import capital

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from svc_tools.lookup import Found, Outcome

__all__ = [
    "accepts_partial",
    "error_of",
    "moment",
    "rate_cell",
    "sentences",
    "units_or_error",
    "why",
]

_ANOTHER_TIME = {
    "failed": "Refresh, or compute again in a minute.",
    "not_attempted": "What has come is kept: compute again in a minute.",
}


def rate_cell(units: int) -> float:
    """A rate of units of 10^-5 as a number: the float nearest to the exact fraction."""
    return units / UNITS_PER_ONE  # the division of two whole numbers is rounded correctly


def why(outcome: Outcome) -> str:
    """Why there is no whole rate, in sentences."""
    # what starts with the name of an argument keeps its form: "as_of is an empty cell"
    reason = outcome.error or MEANINGS[outcome.status]
    told = [_ended(reason) if outcome.status == "invalid" else _sentence(reason)]
    if outcome.support_reference:
        told.append(f"Support reference {outcome.support_reference}.")
    if outcome.status in _ANOTHER_TIME:
        told.append(_ANOTHER_TIME[outcome.status])
    return " ".join(told)


def error_of(outcome: Outcome) -> CellError:
    """What a cell shows that has no rate."""
    word = outcome.status.upper()
    if outcome.status == "invalid":
        return BadValueError(why(outcome), word)
    return NotAvailableError(why(outcome), word)


def units_or_error(outcome: Outcome, *, partial: bool) -> int | CellError | str:
    """The combined rate in units of 10^-5; #PARTIAL where it lacks a part and that is not taken."""
    if outcome.found is None:
        return error_of(outcome)
    if outcome.status == "ok" or partial:
        return outcome.found.combined
    return PARTIAL


def accepts_partial(cell: object) -> bool:
    """What the argument `accept` says.

    Raises:
        CellError: something that it cannot say.
    """
    if cell is OMITTED or is_empty(cell):
        return False
    if (error := error_in("accept", cell)) is not None:
        raise error
    if isinstance(cell, str) and cell.strip().casefold() == "partial":
        return True
    raise BadValueError(f'accept: expected "partial", or nothing, not {str(cell)[:40]}.')


def sentences(outcome: Outcome, warnings: Sequence[str], reasons: Sequence[str]) -> str | None:
    """What to know of a rate, or why there is none; `None` where there is nothing.

    Args:
        outcome: what became of the question.
        warnings: the warnings of its answer.
        reasons: why a person should look at it, as `review_reasons` says.
    """
    found = outcome.found
    if found is None:
        return why(outcome)
    codes = dict.fromkeys([*reasons, *warnings])
    codes.pop("partial", None)  # its warnings say what is lacking
    if "several_rates" in codes:
        codes.pop("zip_spans_jurisdictions", None)  # the same, less precisely
    told = [_meaning(code, found) for code in codes]
    if outcome.status == "partial" and not told:
        told = [_sentence(MEANINGS["partial"])]
    return " ".join(told) or None


def _meaning(code: str, found: Found) -> str:
    if code == "several_rates" and found.low is not None and found.high is not None:
        ends = (percent(rate_to_decimal(units_to_rate(one))) for one in (found.low, found.high))
        return _sentence(f"{MEANINGS[code]}: {' to '.join(ends)}")
    if code == "low_confidence":  # what follows may say why
        return "The service has little confidence in the answer."
    return _sentence(MEANINGS.get(code, code))


def _sentence(text: str) -> str:
    return _ended(capital(text.strip()))


def _ended(said: str) -> str:
    return said if said.endswith((".", "!", "?")) else f"{said}."


def moment(at: datetime | None) -> str | None:
    """A moment as ISO text in UTC, to the second."""
    return None if at is None else f"{at.replace(microsecond=0, tzinfo=None).isoformat()}Z"
