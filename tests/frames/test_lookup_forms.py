"""Every form in which columns come, and what the added ones can be used for."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults import echoing

from svc_tools.frames.arrow import MONEY, RATE, cents_of, decimals, units_of
from svc_tools.frames.lookup_columns import CATEGORY_COLUMNS, LOOKUP_COLUMNS
from svc_tools.frames.queries import distinct_rows

DICTIONARY = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))


def looked(frame, client, **arguments):
    return frame.svc.lookup(client=client, cache=False, progress=False, **arguments)


@pytest.mark.parametrize(
    "zips",
    [
        pd.array(["78701", "78702", None], dtype="str"),
        pd.array(["78701", "78702", None], dtype="string[python]"),
        pd.array(["78701", "78702", None], dtype=pd.ArrowDtype(pa.string())),
        pd.array(["78701", "78702", None], dtype=pd.ArrowDtype(pa.large_string())),
        pd.array(["78701", "78702", None], dtype=DICTIONARY),
        pd.array([78701, 78702, None], dtype=pd.ArrowDtype(pa.int64())),
        pd.array([78701, 78702, None], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
        pd.array([78701, 78702, None], dtype="Int64"),
        pd.array([78701, 78702, None], dtype="Float64"),
        pd.Series([78701, "78702", np.nan], dtype=object),
        pd.Series([Decimal(78701), 78702.0, pd.NA], dtype=object),
        pd.Categorical(["78701", "78702", None], categories=["9", "78702", "78701"]),
        pd.Categorical([78701.0, 78702.0, np.nan]),
    ],
    ids=str,
)
def test_every_form_of_a_zip(scripted, faults, zips):
    result = looked(pd.DataFrame({"state": "TX", "zip": zips}), scripted)
    assert list(result["lookup_status"]) == ["ok", "ok", "invalid"]
    assert list(result["resolved_zip"].fillna("")) == ["78701", "78702", ""]
    assert len(faults.seen) == 2


@pytest.mark.parametrize(
    "dates",
    [
        pd.array([dt.date(2024, 5, 1), None], dtype=pd.ArrowDtype(pa.date32())),
        pd.array([dt.datetime(2024, 5, 1, 9), None], dtype=pd.ArrowDtype(pa.timestamp("ms"))),  # noqa: DTZ001
        pd.PeriodIndex(["2024-05-01", None], freq="D"),
        pd.Series([pd.Timestamp("2024-05-01"), pd.NaT], dtype=object),
        pd.Series([np.datetime64("2024-05-01"), None], dtype=object),
        pd.array(["20240501", None], dtype="str"),
    ],
    ids=["date32", "timestamp", "period", "timestamps", "numpy", "digits"],
)
def test_every_form_of_a_date(scripted, faults, dates):
    result = looked(pd.DataFrame({"state": "TX", "zip": "78701", "order_date": dates}), scripted)
    assert list(result["lookup_status"]) == ["ok", "invalid"]
    assert faults.seen[0].target.endswith("as_of=2024-05-01")


@pytest.mark.parametrize("rows", [0, 1])
def test_frames_of_no_row_and_of_one_have_all_columns_in_their_form(scripted, rows):
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"]}).iloc[:rows]
    result = looked(frame, scripted)
    whole = looked(pd.DataFrame({"state": ["TX"] * 3, "zip": ["78701"] * 3}), scripted)
    for name in LOOKUP_COLUMNS:
        if name not in CATEGORY_COLUMNS:
            assert result[name].dtype == whole[name].dtype, name
        assert (result[name].dtype == "category") is (name in CATEGORY_COLUMNS), name
    assert len(result) == rows


def test_half_a_character_in_an_answer_does_not_lose_the_others(scripted, faults):
    faults.will(echoing(rate={"city": "Aus\ud800tin"}))
    result = looked(pd.DataFrame({"state": ["TX"], "zip": ["78701"]}), scripted)
    assert result["lookup_status"].iloc[0] == "ok"
    assert result["resolved_city"].iloc[0] == "Aus?tin"


@pytest.fixture(scope="module")
def mixed(embedded):
    frame = pd.DataFrame(
        {"state": ["CA", "NJ", "WA", "PR"], "zip": ["94105", "07030", "98101", "00901"]}
    )
    return frame.svc.lookup(client=embedded, as_of="2026-02-01", cache=False, progress=False)


@pytest.mark.parametrize("name", CATEGORY_COLUMNS)
def test_columns_of_few_texts_work_as_text_does(mixed, name, tmp_path):
    column = mixed[name]
    text = column.astype("str")
    assert text.isna().tolist() == column.isna().tolist()
    some = column.dropna().iloc[0]
    assert (column == some).tolist() == (text == some).fillna(value=False).tolist()
    assert column.isin([some]).tolist() == text.isin([some]).tolist()
    assert column.str.len().dropna().tolist() == text.str.len().dropna().tolist()
    counted = mixed.groupby(name)["zip"].count()
    assert counted.to_dict() == text.dropna().value_counts().to_dict()
    assert column.cat.categories.is_monotonic_increasing
    assert text.fillna("none").notna().all()
    mixed[[name]].to_csv(tmp_path / "t.csv")
    assert pd.read_csv(tmp_path / "t.csv")[name].fillna("").tolist() == text.fillna("").tolist()
    mixed[[name]].to_parquet(tmp_path / "t.parquet")
    back = pd.read_parquet(tmp_path / "t.parquet")[name]
    assert back.astype("str").fillna("").tolist() == text.fillna("").tolist()
    both = pd.concat([column, column.iloc[:0], pd.Series(["else"], dtype="str")])
    assert both.tolist()[-1] == "else"


def test_whole_numbers_come_back_from_our_decimals_exactly():
    values = np.array([0, -1, 123_456, 10**16, -(10**17)], np.int64)
    missing = np.array([True, False, False, False, False])
    money = pd.Series(decimals(values, missing, MONEY))
    for column, kept in (
        (money, slice(None)),
        (money.iloc[1:4], slice(1, 4)),
        (pd.concat([money, money.iloc[:2]]), [0, 1, 2, 3, 4, 0, 1]),
        (money.iloc[:0], slice(0, 0)),
    ):
        cents, gone = cents_of(column)
        np.testing.assert_array_equal(cents, values[kept])
        np.testing.assert_array_equal(gone, missing[kept])
    units, _ = units_of(pd.Series(decimals(values[:3], missing[:3], RATE)))
    assert units.tolist() == [0, -1, 123_456]
    for other in (money, pd.Series([1.0], name="x")):
        with pytest.raises(TypeError, match="decimal128 with 5 decimals"):
            units_of(other)


_CELLS = st.sampled_from(["TX", "CA", "", None, "NY"])
_TEXTS = st.sampled_from(["78701", "78702", None, "07030", "7030"])


@settings(max_examples=60)
@given(st.lists(st.tuples(_CELLS, _TEXTS, st.sampled_from([1, 2, None])), max_size=40))
def test_rows_share_a_question_exactly_where_their_cells_are_equal(rows):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).astype({"a": "str", "b": "str"})
    codes, first = distinct_rows(frame, ["a", "b", "c"])
    seen: dict[object, int] = {}
    for position, row in enumerate(rows):
        number = seen.setdefault(row, len(seen))
        assert codes[position] == number
        assert rows[first[number]] == row
    assert len(first) == len(seen)


def test_a_million_rows_hold_no_more_than_three_times_their_own_memory():
    """Smaller here; `make bench` measures a million, and the process that holds them."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import benchmarks.frames as f;"
        " f.ROWS, f.PLACES = 60_000, 600; m = f.measured_memory();"
        " print(m['result'] / m['frame'])"
    )
    command = [sys.executable, "-c", code, Path(__file__).parents[2]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 1 < float(done.stdout) < 3
