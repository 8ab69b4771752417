"""Exposure of files: the same as of the frame, whatever the kind of file and however it is cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import svc_tools
from svc_tools import tabular
from svc_tools.frames import exposure_of_file


@pytest.fixture(scope="module")
def sales():
    random = np.random.default_rng(8)
    size = 3_000
    days = np.datetime64("2025-01-01") + random.integers(0, 600, size)
    return pd.DataFrame(
        {
            "Order ID": [f"A-{number}" for number in random.integers(0, 1_200, size)],
            "Ship State": random.choice(["TX", "New York", "ca", "OR", "Guam"], size),
            "Order Date": days.astype(str),
            "Customer": "x",
            "Amount": [f"{cents / 100:.2f}" for cents in random.integers(-900, 90_000, size)],
            "Channel": random.choice(["direct", "marketplace"], size),
        }
    )


def written(sales, path):
    if path.suffix == ".csv":
        sales.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        sales.to_parquet(path)
    else:
        days = pd.to_datetime(sales["Order Date"])
        amounts = sales["Amount"].astype(float)
        sales.assign(**{"Order Date": days, "Amount": amounts}).to_excel(path, index=False)
    return path


@pytest.mark.parametrize("name", ["sales.csv", "sales.parquet", "sales.xlsx"])
def test_a_file_gives_what_its_frame_gives(sales, tmp_path, monkeypatch, name):
    monkeypatch.setattr(tabular, "_BLOCK_BYTES", 20_000)  # so that orders lie in several chunks
    path = written(sales, tmp_path / name)
    expected = svc_tools.svc(sales).exposure(progress=False)
    found = exposure_of_file(path, progress=False)
    pd.testing.assert_frame_equal(found, expected)
    about = found.attrs["svc_exposure"]
    assert about["rows"] == 3_000
    guam = int((sales["Ship State"] == "Guam").sum())
    assert about["left_out"] == [
        {"reason": "state: outside of the 50 states and DC", "rows": guam, "example": "Guam"}
    ]


def test_columns_and_sheets_are_named_as_for_a_lookup(sales, tmp_path):
    sales = sales.head(400)
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as book:
        sales.head(5).to_excel(book, sheet_name="old", index=False)
        sales.to_excel(book, sheet_name="sales", index=False)
    found = exposure_of_file(
        path, sheet="sales", amount="Amount", transaction=False, channel=False, progress=False
    )
    as_of = found.attrs["svc_exposure"]["as_of"]
    last = found.set_index("state").loc["TX", ["period_from", "period_to"]].tolist()
    rows = sales["Ship State"].eq("TX") & ~sales["Amount"].str.startswith("-")
    rows &= sales["Order Date"].between(str(last[0]), str(last[1]))
    assert str(last[1]) == as_of
    assert found.set_index("state").loc["TX", "transactions"] == rows.sum()


SALES = pd.DataFrame(
    {
        "date": ["2026-01-02", "2026-01-02", "2026-02-03", "2026-03-04", "2026-03-04", "soon"],
        "state": ["TX", "TX", "TX", "CA", "TX", "TX"],
        "amount": ["100.10", "0.05", "-3.00", "7.77", "12.00", "9.00"],
        "channel": ["direct", "marketplace", "direct", "direct", "direct", "direct"],
    }
)


@pytest.mark.parametrize("cuts", [(0, 1), (0, 3), (0, 2, 4)])
def test_several_files_count_as_one(tmp_path, cuts):
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
