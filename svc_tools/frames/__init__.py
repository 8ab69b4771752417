"""Frames: pandas in, pandas out. Importing this package makes `df.svc` available."""

import pandas as pd

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.enrich import LookupFailedError

__all__ = ["LookupFailedError", "SvcAccessor"]

pd.api.extensions.register_dataframe_accessor("svc")(SvcAccessor)
