"""Sales in several files count together as those of one, to the cent."""

from __future__ import annotations

import pandas as pd
import pytest

from svc_tools.frames.sales.exposure import exposure_of_file

SALES = pd.DataFrame(
    {
        "date": ["2026-01-02", "2026-01-02", "2026-02-03", "2026-03-04", "2026-03-04", "soon"],
        "state": ["TX", "TX", "TX", "CA", "TX", "TX"],
        "amount": ["100.10", "0.05", "-3.00", "7.77", "12.00", "9.00"],
        "channel": ["direct", "marketplace", "direct", "direct", "direct", "direct"],
    }
)


@pytest.mark.parametrize("cuts", [(0, 1), (0, 3), (0, 2, 4)])
def test_as_of_one_file(tmp_path, cuts):
    whole = tmp_path / "whole.csv"
    SALES.to_csv(whole, index=False)
    parts = []
    for start, end in zip(cuts, (*cuts[1:], len(SALES)), strict=True):
        parts.append(tmp_path / f"{start}.csv")
        SALES.iloc[start:end].to_csv(parts[-1], index=False)
    one = exposure_of_file(whole, progress=False)
    several = exposure_of_file(*parts, progress=False)
    pd.testing.assert_frame_equal(one, several, check_dtype=True)
    noted, told = (frame.attrs["svc_exposure"] for frame in (one, several))
    assert told["rows"] == noted["rows"] == 6
    assert sum(cause["rows"] for cause in told["left_out"]) == 1
    assert any(note.startswith(parts[-1].name) for note in told["notes"])


def test_files_of_different_kinds_are_refused(tmp_path):
    SALES.to_csv(tmp_path / "one.csv", index=False)
    SALES.assign(taxable=SALES["amount"]).to_csv(tmp_path / "two.csv", index=False)
    with pytest.raises(ValueError, match=r"one\.csv has no taxable amounts, which other files"):
        exposure_of_file(tmp_path / "one.csv", tmp_path / "two.csv", progress=False)
