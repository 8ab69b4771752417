"""`df.svc.lookup`: one row in, one row out, and nothing that looks right and is not."""

from __future__ import annotations

import asyncio
import datetime as dt
import subprocess
import sys
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cards import DOUBTFUL, FREIGHT, UNREADABLE, doubtful, of_freight
from support.examples import examples
from support.faults import answer, echo, echoing

import svc_tools
from svc_sdk import AsyncSvc
from svc_tools.frames.lookup.queries import distinct_rows
from svc_tools.frames.values.arrow import MONEY, RATE, cents_of, decimals, units_of
from svc_tools.lookup.columns import COLUMNS, LOOKUP_COLUMNS
from svc_tools.tables.text_dtype import text_dtype

CATEGORIES = [one.name for one in COLUMNS if one.form == "category"]
MIXED = pd.DataFrame(
    {
        "order": ["a", "b", "c", "d", "e", "f"],
        "state": ["CA", "New Jersey", "la", "PR", "OR", None],
        "zip": ["94105", "7030", "70601", "00901", "97201.0", "see notes"],
        "city": ["San Francisco", "Hoboken", "Lake Charles", "San Juan", "Seattle", None],
    },
    index=[10, 10, 7, 5, 3, 1],
)


@pytest.fixture
def mixed(embedded):
    return MIXED.svc.lookup(client=embedded, as_of="2026-02-01", progress=False)


def test_same_rows_same_order_same_index(mixed):
    assert list(mixed.index) == list(MIXED.index)
    pd.testing.assert_frame_equal(mixed[list(MIXED.columns)], MIXED)
    assert list(mixed.columns) == [*MIXED.columns, *LOOKUP_COLUMNS]


def test_a_rate_of_another_country_is_failed_and_not_cached(scripted, faults, tmp_path):
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"], "amount": [100.0]})
    options = {"client": scripted, "as_of": "2026-02-01", "progress": False}
    options["cache"] = tmp_path / "cache.sqlite"
    faults.will(echoing(rate={"country": "Canada"}))
    taxed = frame.svc.lookup(**options).svc.tax(progress=False)
    row = taxed.iloc[0]
    assert (row["lookup_status"], row["lookup_review_reason"]) == ("failed", "failed")
    assert "a rate of Canada (CA)" in row["lookup_error"]
    assert "the United States (US)" in row["lookup_error"]
    assert pd.isna(row["combined_rate"])
    assert pd.isna(row["tax"])
    faults.will(echo)
    assert frame.svc.lookup(**options)["lookup_status"].tolist() == ["ok"]
    assert len(faults.seen) == 2


def test_every_row_has_its_own_outcome(mixed):
    assert list(mixed["lookup_status"]) == ["ok", "ok", "partial", "unsupported", "ok", "invalid"]
    rates = list(mixed["combined_rate"])
    assert rates[:2] == [Decimal("0.08625"), Decimal("0.06625")]
    assert rates[4] == 0
    assert [pd.isna(rate) for rate in rates] == [False, False, False, True, False, True]
    errors = mixed["lookup_error"]
    assert "territory" in errors.iloc[3]
    assert "see notes" in errors.iloc[5]
    assert errors.iloc[:2].isna().all()
    assert errors.iloc[2] == "local_rates_not_covered"


def test_rates_are_exact_and_the_parts_add_up(mixed):
    assert str(mixed["combined_rate"].dtype) == "decimal128(7, 5)[pyarrow]"
    there = mixed[mixed["combined_rate"].notna()]
    parts = ["state_rate", "county_rate", "city_rate", "combined_district_rate"]
    assert (there[parts].sum(axis=1) == there["combined_rate"]).all()
    assert mixed["freight_taxable"].dtype == "boolean"
    assert list(mixed["resolved_state"].dropna()) == ["CA", "NJ", "LA", "OR"]


def test_a_rate_that_may_be_wrong_requires_review_and_says_why(faults, scripted):
    faults.will(doubtful)
    frame = pd.DataFrame({"state": "NY", "zip": list(DOUBTFUL), "amount": "100.00"})
    result = frame.svc.lookup(client=scripted, progress=False)
    expected = [row[2:] for row in DOUBTFUL.values()]
    reasons = result["lookup_review_reason"]
    cells = reasons.astype(object).where(reasons.notna(), None)
    assert list(zip(result["lookup_status"], cells, strict=True)) == expected
    assert list(result["needs_review"]) == [why is not None for _, why in expected]
    # no status but ok has a rate, and so a tax
    taxed = result.svc.tax("amount", progress=False)
    assert list(taxed["tax"].notna()) == [status == "ok" for status, _ in expected]
    rows = taxed.svc.review().rows
    listed = dict(zip(rows["zip"], rows["review_reasons"], strict=True))
    assert listed == {zip5: row[3] for zip5, row in DOUBTFUL.items() if row[3]}
    assert all(rows["review_to_do"].str.endswith("."))
    # a row without a rate is not estimated at a rate that cannot be
    estimates = rows.loc[rows["review_basis"] == "estimate", "review_dollars"]
    assert set(estimates) == {Decimal("20.00")}


@pytest.mark.parametrize(("rate", "meta", "_said"), UNREADABLE)
def test_a_field_that_cannot_be_read_is_missing_and_the_rate_stays(
    faults, scripted, rate, meta, _said
):
    faults.will(echoing(rate=rate, **meta))
    frame = pd.DataFrame({"state": "TX", "zip": ["78701"], "amount": "100.00"})
    result = frame.svc.lookup(client=scripted, progress=False)
    row = result.iloc[0]
    assert (row["lookup_status"], row["combined_rate"]) == ("ok", Decimal("0.08250"))
    assert (row["warnings"], row["needs_review"]) == ("unreadable_field", False)
    for name in (*rate, *meta):
        column = f"resolved_{name}" if name in rate else name
        assert column not in result or pd.isna(row[column])
    assert list(result.svc.tax("amount", progress=False)["tax"]) == [Decimal("8.25")]


@pytest.mark.parametrize(
    ("rate", "why"),
    [
        ({"country": {"code": "CA"}}, "the country of the rate that the service sent cannot"),
        ({"state": {"code": "NM"}}, "its state cannot be read"),
        ({"zip": [87501]}, "its zip cannot be read"),
    ],
)
def test_a_place_that_cannot_be_read_may_be_another_one(faults, scripted, rate, why):
    faults.will(echoing(rate=rate))
    frame = pd.DataFrame({"state": "TX", "zip": ["78701"]})
    row = frame.svc.lookup(client=scripted, progress=False).iloc[0]
    assert (row["lookup_status"], why in row["lookup_error"]) == ("failed", True)
    assert pd.isna(row["combined_rate"])


def test_delivery_is_taxed_only_where_the_service_clearly_says_so(faults, scripted):
    faults.will(of_freight)
    frame = pd.DataFrame({"state": "TX", "zip": list(FREIGHT), "amount": "100.00", "ship": "10.00"})
    result = frame.svc.lookup(client=scripted, progress=False)
    assert list(result["lookup_status"]) == ["ok"] * len(FREIGHT)
    expected = [taxable for _, taxable in FREIGHT.values()]
    assert [None if pd.isna(one) else one for one in result["freight_taxable"]] == expected
    taxed = result.svc.tax("amount", shipping="ship", progress=False)
    dollars = {True: Decimal("9.08"), False: Decimal("8.25"), None: None}
    cells = [None if pd.isna(one) else one for one in taxed["tax"]]
    assert cells == [dollars[taxable] for taxable in expected]
    unknown = taxed["tax_review"] == "freight_taxable_unknown"
    assert list(unknown) == [taxable is None for taxable in expected]


def test_only_distinct_places_are_asked_for(faults, scripted):
    frame = pd.DataFrame(
        {
            "state": ["MA", "ma", "Massachusetts", "TX"] * 100,
            "zip": ["2134", 2134.0, " 02134 ", "78701"] * 100,
        }
    )
    result = frame.svc.lookup(client=scripted, progress=False)
    assert len(faults.seen) == 2
    assert result.attrs["svc"]["lookups"][""]["asked"] == 2
    assert len(result) == 400


def test_a_city_beside_a_zip_is_compared_with_the_answer(scripted, faults):
    frame = pd.DataFrame(
        {"state": "TX", "zip": "78701", "city": ["austin ", "Dallas", None, "AUSTIN city"]}
    )
    result = frame.svc.lookup(client=scripted, progress=False)
    assert list(result["warnings"].fillna("")) == ["", "place_input_mismatch", "", ""]
    assert len(faults.seen) == 1


def test_columns_are_found_by_their_usual_names_and_said(scripted, capsys):
    frame = pd.DataFrame(
        {"Ship State": ["TX"], "PostalCode": ["78701"], "Order Date": ["2024-01-01"]}
    )
    frame.svc.lookup(client=scripted)
    said = capsys.readouterr().err
    assert "state from column 'Ship State'" in said
    assert "zip from column 'PostalCode'" in said
    assert "as_of from column 'Order Date'" in said


def test_false_keeps_a_column_out(scripted, faults):
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"], "address": ["500 W 2nd St, Austin"]})
    frame.svc.lookup(client=scripted, address=False, progress=False)
    assert "zip=78701" in faults.seen[0].target


def test_one_value_for_all_rows(scripted, faults):
    frame = pd.DataFrame({"postal": ["78701", "75201"]})
    frame.svc.lookup(client=scripted, state="Texas", as_of="2024-05-01", progress=False)
    assert {seen.target for seen in faults.seen} == {
        "/v1/tax/TX?zip=78701&as_of=2024-05-01",
        "/v1/tax/TX?zip=75201&as_of=2024-05-01",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"state": "ship_staet"}, "ship_staet"),
        ({"zip": "zpi"}, "zpi"),
        ({"as_of": "order_dat"}, "order_dat"),
        ({"lat": "latt", "lng": 1.0}, "latt"),
        ({"errors": "ignore"}, "errors"),
        ({"rates": "Decimal"}, "rates"),
    ],
)
def test_an_argument_that_is_no_column_and_no_value_is_an_error(scripted, faults, arguments, said):
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"]})
    with pytest.raises(ValueError, match=said):
        frame.svc.lookup(client=scripted, progress=False, **arguments)
    assert faults.seen == []


def test_an_asynchronous_client_is_refused():
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"]})
    with pytest.raises(TypeError, match="AsyncSvc"):
        frame.svc.lookup(client=AsyncSvc("k"))


def test_a_column_of_yours_is_never_overwritten(scripted, faults):
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"], "confidence": ["mine"]})
    with pytest.raises(ValueError, match=r"'confidence'.*prefix='svc_'"):
        frame.svc.lookup(client=scripted, progress=False)
    assert faults.seen == []
    result = frame.svc.lookup(client=scripted, prefix="svc_", progress=False)
    assert list(result["confidence"]) == ["mine"]
    assert list(result["svc_confidence"]) == ["high"]


def test_running_again_replaces_our_columns(embedded):
    frame = pd.DataFrame({"state": ["CA"], "zip": ["94105"], "amount": ["10.00"]})
    once = frame.svc.lookup(client=embedded, as_of="2026-02-01", progress=False)
    taxed = once.svc.tax(progress=False)
    again = taxed.svc.lookup(client=embedded, as_of="2026-02-01", progress=False)
    answered = "looked_up_at"
    pd.testing.assert_frame_equal(again.drop(columns=answered), once.drop(columns=answered))
    assert again[answered].iloc[0] > once[answered].iloc[0]
    for keep in (taxed, again):
        twice = keep.svc.tax(progress=False)
        pd.testing.assert_frame_equal(twice.drop(columns=answered), taxed.drop(columns=answered))


def test_frames_that_cannot_be_read_clearly_are_refused(scripted):
    multi = pd.DataFrame(
        [["TX", "78701"]], columns=pd.MultiIndex.from_tuples([("a", "s"), ("a", "z")])
    )
    with pytest.raises(TypeError, match="MultiIndex"):
        multi.svc.lookup(client=scripted)
    double = pd.DataFrame([["TX", "78701", "75201"]], columns=["state", "z", "z"])
    with pytest.raises(ValueError, match="several columns 'z'"):
        double.svc.lookup(zip="z", client=scripted)


def test_errors_raise_carries_everything_that_was_found(embedded):
    with pytest.raises(svc_tools.LookupFailedError, match="2 of 6 rows") as caught:
        MIXED.svc.lookup(client=embedded, as_of="2026-02-01", errors="raise", progress=False)
    assert list(caught.value.frame["lookup_status"]).count("ok") == 3
    good = MIXED.iloc[:2].svc.lookup(client=embedded, as_of="2026-02-01", errors="raise")
    assert len(good) == 2


def test_a_refused_key_stops_the_run_and_warns_once(scripted, faults):
    faults.will(answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "no such key"}}'))
    frame = pd.DataFrame({"state": "TX", "zip": [f"78{number}" for number in range(100, 400)]})
    with pytest.warns(UserWarning, match="no such key") as seen:
        result = frame.svc.lookup(client=scripted, progress=False)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert set(result["lookup_status"]) == {"failed", "not_attempted"}
    assert result["combined_rate"].isna().all()
    assert len(faults.seen) < 40


def test_a_frame_without_a_usable_row_loses_nothing_and_warns_once(scripted, faults, capsys):
    frame = pd.DataFrame(
        {"zip": ["78701", "78702", "1"], "state": "TX", "sold": ["soon", "later", "2026-05-01"]}
    )
    with pytest.warns(UserWarning, match="2 of 3 rows.*'soon'") as seen:
        result = frame.svc.lookup(as_of="sold", client=scripted)
    assert (len(seen), faults.seen) == (1, [])
    assert seen[0].filename == __file__
    assert list(result["lookup_status"]) == ["invalid"] * 3
    assert result["lookup_error"].notna().all()
    assert "soon" not in capsys.readouterr().err  # the warning says it


def test_nothing_is_lost_where_warnings_are_errors(scripted, faults):
    refused = answer(402, b'{"error": {"code": "BILLING_REQUIRED", "message": "past due"}}')
    frame = pd.DataFrame({"state": "TX", "zip": [f"78{number}" for number in range(100, 200)]})
    for errors in ("coerce", "raise"):
        faults.will(*[echo] * 40, refused)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(svc_tools.LookupFailedError) as caught:
                frame.svc.lookup(client=scripted, errors=errors, progress=False)
        assert list(caught.value.frame["lookup_status"]).count("ok") == 40


def test_it_works_inside_a_running_event_loop(embedded):
    async def cell():
        return MIXED.svc.lookup(client=embedded, as_of="2026-02-01", progress=False)

    assert asyncio.run(cell())["lookup_status"].iloc[0] == "ok"


@pytest.mark.parametrize("terminal", [True, False])
def test_the_progress_bar_counts_places_on_a_terminal(scripted, capsys, monkeypatch, terminal):
    frame = pd.DataFrame({"state": "TX", "zip": ["78701", "78702", "78702"]})
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame.svc.lookup(client=scripted)
    said = capsys.readouterr().err
    assert ("/2 [" in said) is terminal
    assert "rows: 3 ok" in said


def test_how_the_rows_ended_is_said(scripted, capsys):
    frame = pd.DataFrame({"state": ["TX", "ZZ", "ZZ", "PR"], "zip": ["78701", "1", "2", "00901"]})
    frame.svc.lookup(client=scripted)
    said = capsys.readouterr().err
    assert "rows: 1 ok, 2 invalid, 1 unsupported" in said
    assert "most frequent reason: state: 'ZZ' is not a US state" in said


def test_without_configuration_the_embedded_service_answers_loudly():
    frame = pd.DataFrame({"state": ["CA"], "zip": ["94105"]})
    with pytest.warns(UserWarning, match="EMBEDDED") as seen:
        result = frame.svc.lookup(progress=False)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert result["lookup_source"].str.startswith("embedded service").all()


# forms of columns

DICTIONARY = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))


def looked(frame, client, **arguments):
    return frame.svc.lookup(client=client, cache=False, progress=False, **arguments)


@pytest.mark.parametrize(
    "zips",
    [
        pd.array(["78701", "78702", None], dtype=text_dtype()),
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
        pd.array(["20240501", None], dtype=text_dtype()),
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
        if name not in CATEGORIES:
            assert result[name].dtype == whole[name].dtype, name
        assert (result[name].dtype == "category") is (name in CATEGORIES), name
    assert len(result) == rows


def test_half_a_character_in_an_answer_does_not_lose_the_others(scripted, faults):
    faults.will(echoing(rate={"city": "Aus\ud800tin"}))
    result = looked(pd.DataFrame({"state": ["TX"], "zip": ["78701"]}), scripted)
    assert result["lookup_status"].iloc[0] == "ok"
    assert result["resolved_city"].iloc[0] == "Aus?tin"


@pytest.fixture(scope="module")
def texts(embedded):
    frame = pd.DataFrame(
        {"state": ["CA", "NJ", "WA", "PR"], "zip": ["94105", "07030", "98101", "00901"]}
    )
    return frame.svc.lookup(client=embedded, as_of="2026-02-01", cache=False, progress=False)


@pytest.mark.parametrize("name", CATEGORIES)
def test_columns_of_few_texts_work_as_text_does(texts, name, tmp_path):
    column = texts[name]
    text = column.astype(text_dtype())
    assert text.isna().tolist() == column.isna().tolist()
    some = column.dropna().iloc[0]
    assert (column == some).tolist() == (text == some).fillna(value=False).tolist()
    assert column.isin([some]).tolist() == text.isin([some]).tolist()
    assert column.str.len().dropna().tolist() == text.str.len().dropna().tolist()
    counted = texts.groupby(name, observed=True)["zip"].count()
    assert counted.to_dict() == text.dropna().value_counts().to_dict()
    assert column.cat.categories.is_monotonic_increasing
    assert text.fillna("none").notna().all()
    texts[[name]].to_csv(tmp_path / "t.csv")
    assert pd.read_csv(tmp_path / "t.csv")[name].fillna("").tolist() == text.fillna("").tolist()
    texts[[name]].to_parquet(tmp_path / "t.parquet")
    back = pd.read_parquet(tmp_path / "t.parquet")[name]
    assert back.astype(text_dtype()).fillna("").tolist() == text.fillna("").tolist()
    both = pd.concat([column, column.iloc[:0], pd.Series(["else"], dtype=text_dtype())])
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


@examples(15, of=60)
@given(st.lists(st.tuples(_CELLS, _TEXTS, st.sampled_from([1, 2, None])), max_size=40))
def test_rows_share_a_question_exactly_where_their_cells_are_equal(rows):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).astype(
        {"a": text_dtype(), "b": text_dtype()}
    )
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
