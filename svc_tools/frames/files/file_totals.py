"""What became of a file's rows, added up chunk by chunk. Sums of money are exact."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.enriched import warning_codes
from svc_tools.lookup import STATUSES

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    import pandas as pd

__all__ = ["FileTotals"]

_MOST_REASONS = 20_000
"""Reasons that are told apart: those that quote a cell can be as many as the rows."""
_KEPT_REASONS = 1_000


@dataclass(slots=True)
class FileTotals:
    """Rows by status, their reasons, and dollars where a tax was computed.

    Attributes:
        rows: all rows.
        statuses: rows by `lookup_status`.
        reasons: rows by status and reason, where there is no whole rate; the rarest may be left
            out where there are very many.
        whole: rows with a whole rate, and with a tax where one was asked for.
        review: rows that a person should look at.
        review_codes: rows by the codes that say why.
        taxed: rows with a tax; `None` where none was asked for.
        sales: the amounts of those rows.
        tax: their tax.
        due: the part of it that the seller owes; `None` without a register and channels.
        at_stake: what the tax may be off by, where answers had several candidates.
        untaxed: rows that have a rate by the reason why they have no tax.
    """

    rows: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    whole: int = 0
    review: int = 0
    review_codes: Counter[str] = field(default_factory=Counter)
    taxed: int | None = None
    sales: Decimal = Decimal("0.00")
    tax: Decimal = Decimal("0.00")
    due: Decimal | None = None
    at_stake: Decimal = Decimal("0.00")
    untaxed: Counter[str] = field(default_factory=Counter)

    def add(self, frame: pd.DataFrame, prefix: str, *, taxed: Collection[str] | None) -> None:
        """Take the rows of an enriched frame in.

        `taxed` names the statuses whose rows should have a tax; `None` where none was asked for.
        """
        self.rows += len(frame)
        status, error = frame[f"{prefix}lookup_status"], frame[f"{prefix}lookup_error"]
        self.statuses.update(_counts(status))
        open_rows = (status != "ok").to_numpy(bool, na_value=True)
        if open_rows.any():
            pairs = zip(status[open_rows].tolist(), error[open_rows].tolist(), strict=True)
            for (state, why), rows in Counter(pairs).items():
                self.reasons[state, why if isinstance(why, str) else ""] += rows
            if len(self.reasons) > _MOST_REASONS:
                self.reasons = Counter(dict(self.reasons.most_common(_KEPT_REASONS)))
        if f"{prefix}needs_review" in frame:
            self.review += int(frame[f"{prefix}needs_review"].sum())
            for codes, rows in _counts(frame[f"{prefix}lookup_review_reason"]).items():
                self.review_codes.update(dict.fromkeys(warning_codes(codes), rows))
        whole = ~open_rows
        if taxed is not None:
            self._add_money(frame, prefix, status.isin(taxed).to_numpy(bool))
            whole &= frame[f"{prefix}tax"].notna().to_numpy()
        self.whole += int(whole.sum())

    def _add_money(self, frame: pd.DataFrame, prefix: str, rated: np.ndarray) -> None:
        tax = frame[f"{prefix}tax"]
        self.taxed = (self.taxed or 0) + int(tax.notna().sum())
        self.tax += _sum(tax)
        for name in ("taxable_amount", "exempt_amount"):
            if prefix + name in frame:
                self.sales += _sum(frame[prefix + name])
        if f"{prefix}tax_due" in frame:
            self.due = (self.due or Decimal("0.00")) + _sum(frame[f"{prefix}tax_due"])
        if f"{prefix}at_stake" in frame:
            self.at_stake += _sum(frame[f"{prefix}at_stake"])
        self.untaxed.update(_counts(frame.loc[rated, f"{prefix}tax_error"]))
        if len(self.untaxed) > _MOST_REASONS:
            self.untaxed = Counter(dict(self.untaxed.most_common(_KEPT_REASONS)))

    def as_json(self) -> dict[str, object]:
        """Plain values; dollars as text with two decimals."""
        told: dict[str, object] = {
            "rows": self.rows,
            "statuses": {name: self.statuses[name] for name in STATUSES if self.statuses[name]},
            "rows_whole": self.whole,
            "needs_review": self.review,
            "review_reasons": dict(self.review_codes.most_common()),
            "reasons": [
                {"status": status, "reason": why, "rows": rows}
                for (status, why), rows in self.reasons.most_common(_KEPT_REASONS)
            ],
        }
        if self.taxed is not None:
            told |= {
                "rows_with_tax": self.taxed,
                "sales": str(self.sales),
                "tax": str(self.tax),
                **({} if self.due is None else {"tax_due": str(self.due)}),
                "at_stake": str(self.at_stake),
                "without_tax": [
                    {"reason": why, "rows": rows}
                    for why, rows in self.untaxed.most_common(_KEPT_REASONS)
                ],
            }
        return told


def _counts(column: pd.Series) -> dict[str, int]:
    counted = column.value_counts()
    return {str(name): int(rows) for name, rows in counted.items()}


def _sum(column: pd.Series) -> Decimal:
    """The exact sum of a column of money."""
    array = pa.array(column.array)
    total = pc.sum(array.cast(pa.decimal128(38, 2))).as_py()
    return Decimal("0.00") if total is None else total
