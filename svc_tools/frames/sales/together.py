"""The daily totals of several files as those of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["together"]

_KEYS = ["state", "day", "channel"]
_CENT_COLUMNS = ("retail_cents", "taxable_cents")


def together(dailies: Sequence[pd.DataFrame], paths: Sequence[Path]) -> pd.DataFrame:
    """Add up daily totals; what is said of each file is said with its name.

    Raises:
        ValueError: only some of the files have retail or taxable amounts.
    """
    if len(dailies) == 1:
        return dailies[0]
    for part in _CENT_COLUMNS:
        has = [bool(daily[part].notna().any()) for daily in dailies]
        if any(has) and not all(has):
            lacks = paths[has.index(False)].name
            raise ValueError(
                f"{lacks} has no {part.removesuffix('_cents')} amounts, which other files have;"
                " name its column, or give files of one kind"
            )
    joined = pd.concat([daily for daily in dailies if len(daily)] or [dailies[0]])
    added = joined.groupby(_KEYS, sort=False, as_index=False, observed=True).sum(min_count=1)
    noted = [daily.attrs["svc_sales"] for daily in dailies]
    added.attrs["svc_sales"] = {
        "rows": sum(one["rows"] for one in noted),
        "left_out": [cause for one in noted for cause in one["left_out"]],
        "uncounted": [part for one in noted for part in one["uncounted"]],
        "notes": [
            f"{path.name}: {note}"
            for path, one in zip(paths, noted, strict=True)
            for note in one["notes"]
        ],
    }
    return added
