"""`df.svc.lookup`: one row in, one row out, and nothing that looks right and is not."""

from __future__ import annotations

import asyncio
import sys
import warnings
from decimal import Decimal

import pandas as pd
import pytest
from support.faults import answer, echo, echoing

import svc_tools
from svc_sdk import AsyncSvc
from svc_tools.frames.lookup_columns import LOOKUP_COLUMNS

MIXED = pd.DataFrame(
    {
        "order": ["a", "b", "c", "d", "e", "f"],
        "state": ["CA", "New Jersey", "la", "PR", "OR", None],
        "zip": ["94105", "7030", "70112", "00901", "97201.0", "see notes"],
        "city": ["San Francisco", "Hoboken", "New Orleans", "San Juan", "Seattle", None],
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


def test_only_distinct_places_are_asked_for(faults, scripted):
    frame = pd.DataFrame(
        {
            "state": ["MA", "ma", "Massachusetts", "TX"] * 100,
            "zip": ["2134", 2134.0, " 02134 ", "78701"] * 100,
        }
    )
    result = frame.svc.lookup(client=scripted, progress=False)
    assert len(faults.seen) == 2
    assert result.attrs["svc_lookup"]["asked"] == 2
    assert len(result) == 400


def test_a_city_beside_a_zip_is_compared_with_the_answer(scripted, faults):
    frame = pd.DataFrame(
        {"state": "TX", "zip": "78701", "city": ["austin ", "Dallas", None, "AUSTIN city"]}
    )
    result = frame.svc.lookup(client=scripted, progress=False)
    assert list(result["warnings"].fillna("")) == ["", "place_input_mismatch", "", ""]
    assert len(faults.seen) == 1


def test_a_name_that_the_zip_also_goes_by_is_no_mismatch(scripted, faults):
    faults.will(echoing(accepted_places=["West Lake Hills"]))
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"], "city": ["West Lake Hills"]})
    assert frame.svc.lookup(client=scripted, progress=False)["warnings"].isna().all()


def test_a_mismatch_that_the_service_reports_is_not_said_twice(scripted, faults):
    faults.will(echoing(warnings=[{"code": "place_input_mismatch"}, "as is"]))
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"], "city": ["Dallas"]})
    result = frame.svc.lookup(client=scripted, progress=False)
    assert result["warnings"].iloc[0] == "place_input_mismatch; as is"


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
    with pytest.raises(ValueError, match=r"'confidence'.*choose a prefix"):
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
    lists = pd.DataFrame({"state": ["TX"], "zip": [["78701"]]})
    with pytest.raises(TypeError, match="zip"):
        lists.svc.lookup(client=scripted, progress=False)


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
