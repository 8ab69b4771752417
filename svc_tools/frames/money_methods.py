"""The part of `df.svc` that is about money: tax, what was collected, what is filed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc_tools.frames.on_frame import OnFrame
from svc_tools.frames.tax import add_tax

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

__all__ = ["MoneyMethods"]


class MoneyMethods(OnFrame):
    """Tax of an enriched frame, exact to the cent, and the questions that follow."""

    def tax(
        self,
        amount: Hashable = "amount",
        *,
        partial: Literal["use"] | None = None,
        prefix: str = "",
        progress: bool = True,
    ) -> pd.DataFrame:
        """Add the tax on an amount, exact to the cent, half a cent rounded up (away from zero).

        Rows without a whole rate have no tax: neither failed rows nor, unless `partial="use"`,
        rows whose rate is known to lack its local or district part. A missing tax is missing,
        never 0; `tax_error` says why.

        Args:
            amount: the column of taxable amounts in dollars; negative for refunds. Floats within
                a millionth of a dollar of a whole cent snap to it.
            partial: "use" computes the tax of partial rows too, from what is known of the rate.
            prefix: the prefix that the lookup was given.
            progress: say how many amounts snapped.

        Returns:
            A new frame with `tax` (decimal128(18, 2)) and `tax_error`.

        Raises:
            ValueError: the frame has not been looked up, has no such column, or has a column
                `tax` that is not ours.
        """
        return add_tax(self._frame, amount, partial=partial, prefix=prefix, progress=progress)
