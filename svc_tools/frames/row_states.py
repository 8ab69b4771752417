"""The state of every row of an enriched frame, as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svc_tools.frames.coded import Coded, coded
from svc_tools.frames.enriched import state_codes
from svc_tools.places import STATES, state_code

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

__all__ = ["known_states", "states_of_rows"]


def known_states(given: Iterable[str]) -> frozenset[str]:
    """The codes of states that a person named, by code or by name.

    Raises:
        ValueError: one of them is none of the 50 states and DC.
    """
    names = [given] if isinstance(given, str) else list(given)
    codes = [state_code(name) for name in names]
    for name, code in zip(names, codes, strict=True):
        if not isinstance(code, str) or code not in STATES:
            raise ValueError(f"states: {name!r} is none of the 50 states and DC; 'TX' or 'Texas'")
    return frozenset(code for code in codes if isinstance(code, str))


def states_of_rows(frame: pd.DataFrame, *, prefix: str = "") -> Coded:
    """The two-letter code of each row's state; empty where none is known (see `state_codes`)."""
    answered = coded(frame, f"{prefix}resolved_state")
    values = sorted(STATES)
    number = {code: place for place, code in enumerate(values)}
    distinct = answered.values  # noqa: PD011 - no frame's
    known = np.array([number.get(code, -1) for code in distinct], np.int64)
    codes = known[answered.codes]
    rest = np.flatnonzero(codes < 0)  # few: rows without an answer are read one by one
    if len(rest):
        found = state_codes(frame.iloc[rest], prefix=prefix)
        codes[rest] = [number.get(code or "", len(values)) for code in found]
    return Coded(codes, (*values, ""))
