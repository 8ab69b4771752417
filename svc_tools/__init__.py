"""US sales-tax rates where analysts work: exact, dated, and honest about what is not known.

    import pandas as pd
    import svc_tools

    orders = pd.read_csv("orders.csv").svc.lookup().svc.tax(amount="amount")

Importing the package gives every frame the accessor `df.svc` (where pandas is installed).
"""

from typing import TYPE_CHECKING

from svc_sdk import __version__
from svc_tools._register import when_frames_are_loaded
from svc_tools.config import ConfigurationError, connect

if TYPE_CHECKING:
    from svc_tools.frames import LookupFailedError, svc
    from svc_tools.lookup import alookup_many, lookup_many

__all__ = [
    "ConfigurationError",
    "LookupFailedError",
    "__version__",
    "alookup_many",
    "connect",
    "lookup_many",
    "svc",
]

when_frames_are_loaded()


def __getattr__(name: str) -> object:
    """What needs pandas, or takes its time, is loaded when it is asked for."""
    if name in {"alookup_many", "lookup_many"}:
        from svc_tools import lookup  # noqa: PLC0415 - 50 ms that a script may not need

        return getattr(lookup, name)
    if name in {"LookupFailedError", "svc"}:
        from svc_tools import frames  # noqa: PLC0415 - loads pandas

        return getattr(frames, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
