"""What a plan takes from an exposure: each state's row as plain values, and its figures told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from svc_tools.nexus.plan import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from svc_tools.nexus.register import Registration
    from svc_tools.nexus.thresholds import Threshold

__all__ = ["Seen", "evidence_of", "exposed_on", "other_test", "read_exposure"]

_NEEDED = ("state", "band", "below_all", "marketplace_only")
_NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Seen:
    """What the exposure says of one state; `None` is what it does not know.

    Attributes: as the columns of `exposure`; `sentence` is its `why`.
    """

    state: str
    band: str
    below_all: bool | None = None
    marketplace_only: bool = False
    below_now: bool | None = None
    period_covered: bool = True
    certainty: str | None = None
    checked_on: date | None = None
    sentence: str = ""
    test: tuple[str, int | None, int | None] | None = None
    """The threshold that was measured against: logic, dollars of sales, transactions."""


def read_exposure(frame: pd.DataFrame) -> dict[str, Seen]:
    """The exposure's rows by state.

    Raises:
        PlanError: it is no exposure: columns are missing, a state has several rows, or a cell
            that is true, false or missing holds something else.
    """
    absent = [name for name in _NEEDED if name not in frame.columns]
    if absent:
        raise PlanError(
            [f"the exposure has no column {', '.join(absent)}; give what exposure() returned"]
        )
    found: dict[str, Seen] = {}
    for row in frame.to_dict("records"):
        seen = _seen({str(name): _known(value) for name, value in row.items()})
        if seen.state in found:
            raise PlanError([f"the exposure has several rows for {seen.state}"])
        found[seen.state] = seen
    return found


def exposed_on(frame: pd.DataFrame) -> date | None:
    """The day for which an exposure was measured, where it says so."""
    told = frame.attrs.get("svc_exposure")
    day = told.get("as_of") if isinstance(told, dict) else None
    return date.fromisoformat(day) if isinstance(day, str) else _day(day)


def evidence_of(
    record: Registration, threshold: Threshold | None, seen: Seen | None, as_of: date
) -> str:
    """The figures and the source that a suggestion rests on, as sentences on one line."""
    since = record.registered_at
    told = [f"Registered since {since}." if since else "The day of the registration is not known."]
    untaxed = threshold is not None and threshold.logic == "none"
    if seen is not None and seen.sentence and not (untaxed and seen.band == "no tax"):
        told.append(seen.sentence)
    if threshold is not None:
        told.append(_threshold(threshold, as_of))
    return " ".join(told)


def other_test(seen: Seen, threshold: Threshold | None) -> str:
    """How the threshold that the exposure measured against is another one; "" where it is not."""
    if seen.test is None or threshold is None:
        return ""
    here = (threshold.logic, threshold.sales, threshold.transactions)
    return "" if seen.test == here else f"{_asks(*seen.test)}, not {_asks(*here)}"


def _threshold(row: Threshold, as_of: date) -> str:
    asks = "none" if row.logic == "none" else _asks(row.logic, row.sales, row.transactions)
    return (
        f"Threshold on {as_of}: {asks}; certainty {row.certainty}, checked {row.checked_on};"
        f" source: {row.source.rstrip('.')}."
    )


def _asks(logic: str, sales: int | None, transactions: int | None) -> str:
    if logic == "none":
        return "no general sales tax"
    amount = f"${sales:,} of sales" if sales is not None else ""
    count = f"{transactions:,} transactions" if transactions is not None else ""
    joined = f" {logic if logic in {'and', 'or'} else 'with'} "
    asks = joined.join(filter(None, (amount, count))) or _NOT_KNOWN
    return f"{asks}; whether transactions count is not known" if logic == "unknown" else asks


def _seen(cells: Mapping[str, object]) -> Seen:
    below, covered = _truth(cells, "below_all"), _truth(cells, "period_covered")
    logic = _text(cells.get("logic"))
    asked = (_whole(cells, "threshold_sales"), _whole(cells, "threshold_transactions"))
    return Seen(
        state=str(cells["state"]),
        band=str(cells["band"]),
        below_all=below,
        marketplace_only=_truth(cells, "marketplace_only") is True,
        below_now=_truth(cells, "below_now"),
        # an exposure that does not say so is not taken to cover it
        period_covered=below is not None if covered is None else covered,
        certainty=_text(cells.get("certainty")),
        checked_on=_day(cells.get("checked_on")),
        sentence=_text(cells.get("why")) or "",
        test=None if logic is None else (logic, *asked),
    )


def _known(value: object) -> object | None:
    """A cell, or `None` where pandas has nothing."""
    return None if value is None or str(value) in {"nan", "NaN", "NaT", "<NA>"} else value


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _truth(cells: Mapping[str, object], name: str) -> bool | None:
    """A cell that is true, false or missing; a text "False" is not taken for true."""
    value = cells.get(name)
    if value is None or value in {True, False}:
        return None if value is None else bool(value)
    raise PlanError([f"the exposure says {value!r} in {name}, which is neither true nor false"])


def _whole(cells: Mapping[str, object], name: str) -> int | None:
    value = cells.get(name)
    return None if value is None else int(Decimal(str(value)))


def _day(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None
