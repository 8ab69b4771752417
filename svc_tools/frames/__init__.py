"""Frames: pandas in, pandas out. Importing this package makes `df.svc` available.

`accessor` delegates to the rooms, from the ground up: `values`, `added`, `orders`, `lookup`,
`taxes`, `sales`, `review`, `analysis`, `charting`, `reports`, `files`.
"""

from typing import TYPE_CHECKING

from svc_tools.base.extras import needs, not_pandas, require_pandas

with needs("svc_tools.frames", "pandas"):
    import pandas as pd

require_pandas("df.svc", pd.__version__)
with needs("svc_tools.frames", "pandas"):
    from svc_tools.frames.accessor import SvcAccessor
    from svc_tools.frames.lookup.enrich import LookupFailedError
    from svc_tools.frames.orders.saved_layout import LayoutError, SalesLayout
    from svc_tools.frames.taxes.tax import TaxFailedError

if TYPE_CHECKING:
    from svc_tools.frames.files.enriching import enrich_file
    from svc_tools.frames.sales.exposure import exposure_of_file

__all__ = [
    "LayoutError",
    "LookupFailedError",
    "SalesLayout",
    "SvcAccessor",
    "TaxFailedError",
    "enrich_file",
    "exposure_of_file",
    "svc",
]

pd.api.extensions.register_dataframe_accessor("svc")(SvcAccessor)


def svc(frame: pd.DataFrame) -> SvcAccessor:
    """`df.svc` for type checkers and editors: `svc(df).lookup()` is `df.svc.lookup()`.

    Raises:
        TypeError: it is not a pandas frame; the message names the way from other frames to one.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"svc: expected a pandas.DataFrame, not {not_pandas(frame)}")
    return SvcAccessor(frame)


def __getattr__(name: str) -> object:
    """Load what reads and writes files on first use."""
    if name == "enrich_file":
        from svc_tools.frames.files.enriching import enrich_file  # noqa: PLC0415 - on first use

        return enrich_file
    if name == "exposure_of_file":
        from svc_tools.frames.sales.exposure import exposure_of_file  # noqa: PLC0415 - on first use

        return exposure_of_file
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
