"""The dtype of columns of text: pandas 3's `str`, under pandas 2.3 too, whose "str" is `object`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd


@functools.cache
def text_dtype() -> pd.StringDtype[Literal["pyarrow"]]:
    """Text on pyarrow, missing as NaN: what `"str"` is in pandas 3."""
    import numpy as np  # noqa: PLC0415 - the nexus module reads registers without pandas
    import pandas as pd  # noqa: PLC0415 - the same

    return pd.StringDtype("pyarrow", na_value=np.nan)
