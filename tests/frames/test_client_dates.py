"""Dates of pandas given straight to the client."""

from __future__ import annotations

import pandas as pd
import pytest


def test_a_missing_date_is_refused_and_a_timestamp_counts_as_its_day(scripted, faults):
    with pytest.raises(ValueError, match="as_of"):
        scripted.lookup("TX", zip="78701", as_of=pd.NaT)
    assert faults.seen == []
    scripted.lookup("TX", zip="78701", as_of=pd.Timestamp("2024-02-29 23:00"))
    assert faults.seen[0].target.endswith("as_of=2024-02-29")
