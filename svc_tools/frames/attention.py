"""Which rows of an enriched frame need a person, why, and what that person can do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.frames.enriched import OTHER_DATE, require_columns, texts, warning_codes
from svc_tools.frames.totals import cents, dollars

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from decimal import Decimal

    import pandas as pd

__all__ = ["Flag", "Group", "attention", "grouped_flags"]

_AGAIN = "Run the lookup again."
_CHECK_PLACE = "Check the place against the order."
_ASK_STATE = "Check the rate with the state."
_TO_DO = {
    "failed": _AGAIN,
    "not_attempted": _AGAIN,
    "invalid": "Correct the row, then look it up again.",
    "unresolved": "Check state, ZIP Code and city; if they are right, get the rate from the state.",
    "place_mismatch": _CHECK_PLACE,
    "no_tax": "Correct the amount, then compute the tax again.",
    "unsupported": "Treat by hand: no US state sales-tax rate applies here.",
    "source_conflict": _ASK_STATE,
    "other_date": "Check the rate for this date with the state.",
    "low_confidence": _ASK_STATE,
    "partial": "Get the local rate from the state before you charge or file tax.",
}
"""What to do about each kind of fault; the most pressing kinds first."""
_RANK = {kind: rank for rank, kind in enumerate(_TO_DO)}
_UNKNOWN_STATUS = _RANK["unresolved"]


@dataclass(frozen=True, slots=True)
class Flag:
    """One row that needs a person.

    Attributes:
        position: the row's position in the frame, from 0.
        kind: the most pressing of its faults: a status other than ok, `place_mismatch`, `no_tax`,
            `source_conflict`, `other_date` or `low_confidence`.
        reason: why, in a sentence for each fault.
        to_do: what to do about it, in a sentence for each fault.
        sale: the row's amount; `None` where the frame has no tax, or the amount cannot be read.
        tax: its tax; `None` where there is none.
    """

    position: int
    kind: str
    reason: str
    to_do: str
    sale: Decimal | None = None
    tax: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The flagged rows of one kind: how many, the sales and the tax at stake, what to do.

    `sales` and `tax` add up what there is; they are `None` where no row of the kind has any.
    """

    kind: str
    rows: int
    sales: Decimal | None
    tax: Decimal | None
    to_do: str


def attention(
    frame: pd.DataFrame, *, amount: Hashable = "amount", prefix: str = ""
) -> tuple[Flag, ...]:
    """The rows that need a person: the most pressing kinds first, in each the largest amounts.

    These are the rows without a whole rate, those without a tax (if the frame has taxes), and
    those whose rate is for another city than the row's, for another date, of low confidence, or
    disputed between published sources.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        amount: the column of amounts that the tax was computed from.
        prefix: the prefix of the lookup's columns.

    Raises:
        ValueError: the frame has not been looked up.
    """
    status_column = f"{prefix}lookup_status"
    require_columns(frame, (status_column,), "look the rates up first: df.svc.lookup()")
    names = ("confidence", "warnings", "lookup_error", "tax_error", "resolved_city")
    cells = zip(
        (status or "not_attempted" for status in texts(frame, status_column)),
        *(texts(frame, prefix + name) for name in names),
        strict=True,
    )
    sales, taxes = _money(frame, amount, prefix)
    explain = cache(_explain)  # most rows share their cells with others
    flags = []
    for position, (row, sale, tax) in enumerate(zip(cells, sales, taxes, strict=True)):
        said = explain(_Row(*row))
        if said is not None:
            flags.append(Flag(position, *said, sale, tax))
    return tuple(sorted(flags, key=_pressing))


def grouped_flags(flags: Iterable[Flag]) -> tuple[Group, ...]:
    """The flags counted by kind, the most pressing kinds first."""
    kinds: dict[str, list[Flag]] = {}
    for flag in flags:
        kinds.setdefault(flag.kind, []).append(flag)
    return tuple(
        Group(
            kind,
            len(kinds[kind]),
            _sum(flag.sale for flag in kinds[kind]),
            _sum(flag.tax for flag in kinds[kind]),
            _TO_DO.get(kind, _CHECK_PLACE),
        )
        for kind in sorted(kinds, key=lambda kind: (_rank(kind), kind))
    )


def _pressing(flag: Flag) -> tuple[int, str, bool, Decimal | int, int]:
    at_stake = abs(flag.sale) if flag.sale is not None else 0
    return _rank(flag.kind), flag.kind, flag.sale is None, -at_stake, flag.position


def _rank(kind: str) -> int:
    return _RANK.get(kind, _UNKNOWN_STATUS)


def _sum(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return sum(known, dollars(0)) if known else None


def _money(
    frame: pd.DataFrame, amount: Hashable, prefix: str
) -> tuple[Sequence[Decimal | None], Sequence[Decimal | None]]:
    """Amounts and taxes by row; all `None` where the frame has no taxes."""
    columns = (amount, f"{prefix}tax")
    if any(name not in frame.columns for name in columns):
        return [None] * len(frame), [None] * len(frame)
    sales, taxes = (_dollars(frame[name]) for name in columns)
    return sales, taxes


def _dollars(column: pd.Series) -> list[Decimal | None]:
    return [None if value is None else dollars(value) for value in cents(column)]


class _Row(NamedTuple):
    status: str
    confidence: str | None
    warnings: str | None
    error: str | None
    tax_error: str | None
    resolved_city: str | None


class _Fault(NamedTuple):
    kind: str
    reason: str
    to_do: str


def _explain(row: _Row) -> tuple[str, str, str] | None:
    """Kind, reason and what to do; `None` for a row that needs nobody."""
    faults = _faults(row)
    if not faults:
        return None
    to_do = dict.fromkeys(fault.to_do for fault in faults)  # each sentence once
    kind = faults[0].kind
    return kind, " ".join(fault.reason for fault in faults), " ".join(to_do)


def _faults(row: _Row) -> list[_Fault]:
    """What is wrong with a row, the most pressing fault first."""
    if row.status not in {"ok", "partial"}:
        reason = row.error or f"No rate ({row.status}), and no reason given."
        return [_Fault(row.status, reason, _TO_DO.get(row.status, _CHECK_PLACE))]
    codes = frozenset(warning_codes(row.warnings))
    faults = []
    if "place_input_mismatch" in codes:
        where = f": {row.resolved_city}" if row.resolved_city else ""
        faults.append(
            _fault("place_mismatch", f"The city given is not the place the rate is for{where}.")
        )
    if row.status == "partial":
        faults.append(_fault("partial", "Local or district rates are not covered."))
    elif row.tax_error is not None:
        faults.append(_fault("no_tax", f"No tax: {row.tax_error}."))
    if "source_conflict" in codes:
        faults.append(_fault("source_conflict", "Published sources disagree on this rate."))
    if codes & OTHER_DATE:
        faults.append(_fault("other_date", _of_another_date(codes)))
    if row.status == "ok" and row.confidence in {"low", "none"}:
        faults += _doubts(row.confidence, codes, explained=bool(faults))
    return faults


def _fault(kind: str, reason: str) -> _Fault:
    return _Fault(kind, reason, _TO_DO[kind])


def _of_another_date(codes: frozenset[str]) -> str:
    if "as_of_before_history" in codes:
        return "The sale is before the oldest rate known, which is the one used."
    return "The sale is after what the rates on file cover; the newest is used."


def _doubts(confidence: str, codes: frozenset[str], *, explained: bool) -> list[_Fault]:
    """Further reasons of a low confidence; a bare one where nothing else explains it."""
    if "zip_spans_jurisdictions" in codes:
        return [
            _Fault(
                "low_confidence",
                "The ZIP Code lies in several jurisdictions.",
                "Find out in which of them the address lies: the ZIP Code alone does not tell.",
            )
        ]
    if explained:
        return []
    return [_fault("low_confidence", f"Confidence is {confidence}.")]
