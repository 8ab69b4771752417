"""US sales-tax rates where analysts work: exact, dated, and honest about what is not known.

    import pandas as pd
    import svc_tools

    orders = pd.read_csv("orders.csv").svc.lookup().svc.tax(amount="amount")

Importing the package gives every frame the accessor `df.svc` (where pandas is installed).
"""

from typing import TYPE_CHECKING

from svc_sdk import __version__
from svc_tools._register import when_pandas_is_loaded
from svc_tools.config import ConfigurationError, connect

if TYPE_CHECKING:
    from svc_tools.frames import LookupFailedError

__all__ = ["ConfigurationError", "LookupFailedError", "__version__", "connect"]

when_pandas_is_loaded()


def __getattr__(name: str) -> object:
    """What needs pandas is loaded when it is asked for."""
    if name == "LookupFailedError":
        from svc_tools.frames import LookupFailedError  # noqa: PLC0415 - loads pandas

        return LookupFailedError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
