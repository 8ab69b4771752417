"""Which rows of an enriched frame need a person, why, and what that person can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.display import capital
from svc_tools.frames.coded import Coded, coded, combined
from svc_tools.frames.enriched import require_columns
from svc_tools.frames.review_codes import advice_on, codes_of_rows
from svc_tools.frames.totals import Money, money
from svc_tools.frames.what_to_do import codes_in, meaning_of, urgency, what_to_do

if TYPE_CHECKING:
    from collections.abc import Hashable
    from decimal import Decimal

    import pandas as pd

__all__ = ["Attention", "Fault", "Group", "attention"]

_ANSWERED = frozenset({"ok", "partial"})


class Fault(NamedTuple):
    """Why rows need a person.

    Attributes:
        failed: they have no rate, or no tax (in a frame with taxes); else the tax is in doubt.
        kind: the most pressing of the faults: a status, `no_tax`, or a code of a review.
        reason: a sentence for each fault.
        to_do: what to do about it, a sentence for each fault.
    """

    failed: bool
    kind: str
    reason: str
    to_do: str


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one kind of fault.

    `sales`, `tax` and `at_stake` (US dollars) add up what there is; they are `None` where no row
    of the kind has any.
    """

    kind: str
    failed: bool
    rows: int
    sales: Decimal | None
    tax: Decimal | None
    at_stake: Decimal | None
    to_do: str


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """The rows that need a person: first those that failed, then those to be reviewed.

    Failed rows come by the urgency of their fault, in each kind the largest sales first; rows to
    be reviewed by the dollars at stake, then by their tax.

    Attributes:
        rows: positions in the frame, from 0.
        codes: which of `faults` each of these rows has.
        faults: the distinct faults.
        failed: how many of `rows` failed: the first ones.
        sales: the sale of every row of the frame; missing in a frame without taxes.
        tax: the tax of every row of the frame.
        at_stake: what the tax of every row may differ by.
    """

    rows: np.ndarray
    codes: np.ndarray
    faults: tuple[Fault, ...]
    failed: int
    sales: Money
    tax: Money
    at_stake: Money

    def groups(self) -> tuple[Group, ...]:
        """The rows by kind: the failed ones first, the most pressing kinds first."""
        kinds = sorted(
            {(not fault.failed, *urgency(fault.kind)) for fault in self.faults},
        )
        return tuple(self._group(kind, failed=not passed) for passed, _, kind in kinds)

    def _group(self, kind: str, *, failed: bool) -> Group:
        of_kind = [fault.kind == kind and fault.failed == failed for fault in self.faults]
        rows = np.zeros(len(self.sales.cents), bool)
        rows[self.rows[np.array(of_kind, bool)[self.codes]]] = True
        return Group(
            kind,
            failed,
            int(rows.sum()),
            self.sales.total(rows),
            self.tax.total(rows),
            self.at_stake.total(rows),
            what_to_do(kind),
        )


def attention(frame: pd.DataFrame, *, amount: Hashable = "amount", prefix: str = "") -> Attention:
    """The rows that need a person.

    These are the rows without a whole rate, those without a tax (if the frame has taxes), and
    those that the lookup (`needs_review`) or the tax (`tax_review`) marked for review.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        amount: the column of amounts that the tax was computed from.
        prefix: the prefix of the lookup's columns.

    Raises:
        ValueError: the frame has not been looked up.
    """
    status_column = f"{prefix}lookup_status"
    require_columns(frame, (status_column,), "look the rates up first: df.svc.lookup()")
    taxed = f"{prefix}tax" in frame.columns and amount in frame.columns
    sales, tax, at_stake = (
        money(frame, name if taxed else None)
        for name in (amount, f"{prefix}tax", f"{prefix}at_stake")
    )
    status = coded(frame, status_column, "not_attempted")
    cells = codes_of_rows(frame, status, prefix)
    answered = status.where(_ANSWERED.__contains__)
    failed = ~answered | (tax.missing if taxed else status.where(lambda one: one == "partial"))
    listed = np.flatnonzero(failed | cells.where(bool))
    columns = [
        status,
        coded(frame, f"{prefix}lookup_error"),
        coded(frame, f"{prefix}tax_error"),
        cells,
        _city_of_mismatch(frame, cells, prefix),
        Coded(failed.astype(np.int64), ("", "failed")),
    ]
    codes, rows = combined([Coded(column.codes[listed], column.values) for column in columns])
    faults = tuple(_fault(*row) for row in rows)
    ranks = _ranks(faults)[codes] if faults else codes
    size = np.abs(sales.cents[listed])
    keys = (  # the last one counts first
        listed,
        -size,
        sales.missing[listed],
        -np.abs(tax.cents[listed]) * ~failed[listed],
        -np.abs(at_stake.cents[listed]) * ~failed[listed],
        ranks * failed[listed],
        ~failed[listed],
    )
    order = np.lexsort(keys)
    return Attention(
        listed[order],
        codes[order],
        faults,
        int(failed[listed].sum()),
        sales,
        tax,
        at_stake,
    )


def _ranks(faults: tuple[Fault, ...]) -> np.ndarray:
    """The urgency of each fault's kind as a number."""
    kinds = sorted({fault.kind for fault in faults}, key=urgency)
    return np.array([kinds.index(fault.kind) for fault in faults], np.int64)


def _city_of_mismatch(frame: pd.DataFrame, reasons: Coded, prefix: str) -> Coded:
    """The city that a rate is for, where it is not the one that was given."""
    cities = coded(frame, f"{prefix}resolved_city")
    differs = reasons.where(lambda cell: "place_input_mismatch" in codes_in(cell))
    place = cities.values.index("")  # noqa: PD011 - no frame's
    return Coded(np.where(differs, cities.codes, place), cities.values)


def _fault(  # noqa: PLR0917 - a row's cells
    status: str, error: str, tax_error: str, cell: str, city: str, failed: str
) -> Fault:
    """What is wrong with a row, the most pressing fault first."""
    codes = codes_in(cell) or ("no_tax",)
    if status not in _ANSWERED:
        reason = error or f"No rate ({status}), and no reason given."
        return Fault(True, status, reason, advice_on(cell))  # noqa: FBT003
    kinds = [code for code in ("partial", "no_tax") if code in codes]
    said: list[str] = []
    if failed and "partial" not in codes:
        kinds.append("no_tax")
        said.append(f"No tax: {tax_error.removesuffix('.') or 'no reason given'}.")
    said += [_sentence(code, city) for code in codes if code != "no_tax"]
    return Fault(bool(failed), kinds[0] if failed else codes[0], " ".join(said), advice_on(cell))


def _sentence(code: str, city: str) -> str:
    if code == "place_input_mismatch" and city:
        return f"The city given is not the place the rate is for: {city}."
    meaning = meaning_of(code)
    return f"{capital(meaning)}." if meaning else f"{code}."
