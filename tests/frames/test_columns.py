"""Which columns are taken, and where it could be two, the error that lists them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import svc_tools  # noqa: F401 - registers df.svc
from svc_tools.frames.lookup.columns import propose
from svc_tools.tables.roles import ColumnAmbiguous, ColumnMissing, ColumnsOfTwoParties

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
PLACE = {"state": ["WA"], "zip": ["98101"]}


def asked(client, faults, frame, **arguments):
    """What a lookup of the frame asks."""
    frame.svc.lookup(client=client, progress=False, **arguments)
    return faults.seen[-1].target


@pytest.mark.parametrize(
    "name",
    [
        *("DestRegion", "Dest Region", "Destination Region", "Destination State", "shipToRegion"),
        *("Ship To Region", "Shipping Region", "Delivery Region", "Recipient Region"),
        *("Ship-to State/Province", "Province/State", "State/Province/Region", "State or Region"),
        *("StateProv", "State Province Code", "US State", "State (US)", "State Abbrev", "Region"),
    ],
)
def test_a_state_that_conflicts_with_the_zip_code_is_not_passed_over(scripted, faults, name):
    frame = pd.DataFrame({name: ["TX"], "zip": ["43215"]})  # of Ohio
    assert asked(scripted, faults, frame).endswith("/TX?zip=43215")


@pytest.mark.parametrize(
    "names",
    [("Ship State", "Ship Region"), ("state", "DestRegion"), ("Region", "region_code")],
)
def test_of_two_columns_of_states_none_is_taken(scripted, faults, names):
    frame = pd.DataFrame({**{name: ["OH"] for name in names}, "zip": ["43215"]})
    with pytest.raises(ColumnAmbiguous) as refused:
        frame.svc.lookup(client=scripted, progress=False)
    assert (refused.value.role, refused.value.candidates) == ("state", names)
    assert faults.seen == []


def test_the_region_shipped_from_is_no_state_of_the_sale(scripted, faults):
    names = ("OrigRegion", "OrigPostalCode", "DestRegion", "DestPostalCode")
    frame = pd.DataFrame([["CA", "94105", "OH", "43215"]], columns=names)
    assert "/OH?zip=43215" in asked(scripted, faults, frame)
    with pytest.raises(ColumnsOfTwoParties):
        frame[["OrigRegion", "DestRegion"]].assign(zip="43215").svc.lookup(client=scripted)


@pytest.mark.parametrize(
    ("columns", "unused"),
    [
        ({}, ""),
        ({"Region": ["Midwest"]}, "'Region'"),
        ({"Billing State": ["TX"]}, "'Billing State'"),
        ({"state tax": ["1.00"]}, ""),
    ],
)
def test_without_a_column_of_states_the_notes_say_so(scripted, columns, unused):
    frame = pd.DataFrame({"zip": ["43215"], **columns})
    said = [note for note in frame.svc.plan(client=scripted).notes if "no column of states" in note]
    assert [unused in note and ("not used" in note) == bool(unused) for note in said] == [True]
    for state in ("OH", False):  # given, or not wanted
        notes = frame.svc.plan(client=scripted, state=state).notes
        assert "no column of states" not in " ".join(notes)


@pytest.mark.parametrize(
    "name",
    [
        *("order_date", "Order Date", "orderDate", "date", "Date/Time", "Created at"),
        *("invoice_date", "TransactionDate", "trandate", "date_of_sale", "Date Sold", "sold_at"),
        *("timestamp", "as_of"),
    ],
)
def test_the_date_of_the_sale_is_found_by_its_name(scripted, faults, name):
    target = asked(scripted, faults, pd.DataFrame(PLACE | {name: ["2019-01-15"]}))
    assert target.endswith("as_of=2019-01-15")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("birth_date", ["2019-01-15"]),
        ("expiry_date", ["2019-01-15"]),
        ("Due Date", ["2019-01-15"]),
        ("update_date", ["2019-01-15"]),
        ("fulfilled_at", ["soon"]),
        ("Created (UTC)", ["2026-04-01 02:00"]),
        ("order_date_utc", ["2026-04-01 02:00"]),
        *(("when", [text]) for text in ("2019/01/15", "2019-1-15", "15.01.2019", "01-15-2019")),
        *(("when", [text]) for text in ("15-Jan-2019", "January 15, 2019", "Tue Jan 15 2019")),
        *(("when", [value]) for value in ("20190115", 20190115, "2019-01", "2019Q1", "01/15/2019")),
        *(("month", [1]), ("sales_month", ["Jan 2019"]), ("fiscal_period", ["201901"])),
        ("Year", [2019]),
        ("booked", [dt.date(2019, 1, 15)]),
        ("booked", pd.to_datetime(["2019-01-15"])),
        ("booked", pd.Categorical(pd.to_datetime(["2019-01-15"]))),
        ("booked", pd.PeriodIndex(["2019-01-15"], freq="D")),
        ("booked", pd.array([dt.date(2019, 1, 15)], dtype="date32[pyarrow]")),
    ],
)
def test_another_date_is_neither_taken_nor_ignored(scripted, faults, name, values):
    frame = pd.DataFrame(PLACE | {name: values})
    with pytest.raises(ColumnAmbiguous) as refused:
        frame.svc.lookup(client=scripted, progress=False)
    assert (refused.value.role, refused.value.candidates) == ("as_of", (name,))
    assert faults.seen == []
    asked(scripted, faults, frame, as_of="today")


@pytest.mark.parametrize("values", [["2019-01"], [201901], ["Q1 2019"], [20190116]])
def test_a_month_beside_the_date_of_the_sale_is_no_doubt(scripted, faults, values):
    frame = pd.DataFrame(PLACE | {"order_date": ["2019-01-15"], "month": values})
    assert asked(scripted, faults, frame).endswith("as_of=2019-01-15")


def test_a_part_of_the_place_in_the_index_is_not_passed_over(scripted, faults):
    frame = pd.DataFrame(PLACE | {"city": ["Seattle"]}).set_index("zip")
    with pytest.raises(ValueError, match=r"index 'zip'.*reset_index.*zip=False"):
        frame.svc.lookup(client=scripted, progress=False)
    assert "location=Seattle" in asked(scripted, faults, frame, zip=False)
    named = frame.reset_index().rename_axis(index="zip")
    assert asked(scripted, faults, named).endswith("zip=98101")


def test_midnights_of_a_zone_are_said_to_be_dates_perhaps(scripted):
    days = pd.to_datetime(["2026-05-01T00:00:00Z", None])
    frame = pd.DataFrame({name: cells * 2 for name, cells in PLACE.items()} | {"order_date": days})
    notes = frame.svc.plan(client=scripted, tz="America/Chicago").notes
    assert any("column 'order_date': all times are midnight" in note for note in notes)
    later = frame.assign(order_date=days + pd.Timedelta(hours=1))
    for other, tz in ((later, "America/Chicago"), (frame, "UTC")):
        assert "midnight" not in " ".join(other.svc.plan(client=scripted, tz=tz).notes)


def test_a_second_date_makes_the_first_doubtful(scripted, faults):
    frame = pd.DataFrame(PLACE | {"Created at": ["2019-01-15"], "Due Date": ["2026-02-15"]})
    with pytest.raises(ColumnAmbiguous) as refused:
        frame.svc.lookup(client=scripted)
    assert refused.value.candidates == ("Created at", "Due Date")
    assert asked(scripted, faults, frame, as_of="Created at").endswith("as_of=2019-01-15")


@pytest.mark.parametrize(
    "index",
    [
        pd.to_datetime(["2019-01-15"]).rename("order_date"),
        pd.to_datetime(["2019-01-15"]),
        pd.MultiIndex.from_arrays([pd.to_datetime(["2019-01-15"]), ["x"]], names=["day", "k"]),
        pd.Index(["2019-01-15"], name="order_date"),
        pd.Index(["01/15/2019"]),
        pd.Index([dt.date(2019, 1, 15)], name="day"),
    ],
)
def test_dates_in_the_index_are_not_ignored(scripted, index):
    frame = pd.DataFrame(PLACE, index=index)
    with pytest.raises(ValueError, match="reset_index"):
        frame.svc.lookup(client=scripted)


@pytest.mark.parametrize(
    "name", ["day_of_week", "days_late", "update_count", "on", "at", "day", "Time"]
)
def test_a_column_that_is_no_date_is_none(scripted, faults, name):
    assert "as_of" not in asked(scripted, faults, pd.DataFrame(PLACE | {name: [3]}))


def test_columns_of_another_lookup_answer_nothing(scripted, faults):
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"]})
    first = frame.svc.lookup(client=scripted, progress=False)
    for once, again in (("", "b_"), ("svc_", "")):
        both = frame.svc.lookup(client=scripted, prefix=once, progress=False)
        result = both.svc.lookup(client=scripted, prefix=again, progress=False)
        assert {seen.target for seen in faults.seen} == {faults.seen[0].target}
        assert list(result[again + "combined_rate"]) == list(first["combined_rate"])
        assert once + "combined_rate" in result


@pytest.mark.parametrize(
    "columns",
    [
        {"state": "WA", "zip": "98101", "ship_to_address": "1 Elm St", "bill_to_city": "Reno"},
        {"state": "WA", "Shipping Zip": "90012", "Billing Zip": "98101"},
        {"state": "CA", "zip": "94105", "shipping_parcel_zip": "90012"},
        {"state": "CA", "zip": "94105", "consignee": "x", "zip_of_consignee": "90012"},
        {
            "address": "1 Elm St",
            "city": "Reno",
            "ship_state": "CA",
            "ship_zip": "90012",
            "Vendor City": "",
        },
    ],
)
def test_columns_of_two_parties_are_not_mixed(scripted, faults, columns):
    frame = pd.DataFrame({name: [value] for name, value in columns.items()})
    with pytest.raises(ColumnsOfTwoParties):
        frame.svc.lookup(client=scripted, progress=False)
    assert faults.seen == []


def test_two_states_or_zips_are_an_error(scripted):
    frame = pd.DataFrame(
        {
            "State": ["WA"],
            "ZIP Code": ["98101"],
            "Shipping State/Province": ["CA"],
            "Shipping Zip/Postal Code": ["90012"],
        }
    )
    with pytest.raises(ColumnAmbiguous) as refused:
        frame.svc.lookup(client=scripted, progress=False)
    assert refused.value.role == "state"
    assert refused.value.candidates == ("State", "Shipping State/Province")


def test_a_code_is_taken_before_a_name_and_the_first_line_before_the_street(scripted, faults):
    frame = pd.DataFrame(
        {
            "ShippingState": ["Washington"],
            "ShippingStateCode": ["WA"],
            "Shipping Street": ["1 Elm St, rear"],
            "Shipping Address1": ["1 Elm St"],
            "Shipping City": ["Seattle"],
        }
    )
    assert "street=1+Elm+St&" in asked(scripted, faults, frame).replace("%20", "+")


def test_a_country_column_keeps_foreign_rows_out(scripted, faults):
    frame = pd.DataFrame(
        {
            "Shipping Zip": ["28001", "98101"],
            "Shipping City": ["Madrid", "Seattle"],
            "Shipping Country": ["ES", "US"],
        }
    )
    result = frame.svc.lookup(client=scripted, progress=False)
    assert list(result["lookup_status"]) == ["unsupported", "ok"]
    assert len(faults.seen) == 1


def test_a_value_that_is_like_the_name_of_a_column_is_still_one(scripted, faults):
    frame = pd.DataFrame({"tax": [1], "78702": [2], "2026-05-02": [3], "cat": [4]})
    target = asked(scripted, faults, frame, state="TX", zip="78701", as_of="2026-05-01")
    assert target == "/v1/tax/TX?zip=78701&as_of=2026-05-01"
    with pytest.raises(ValueError, match="did you mean 'tax'"):
        frame.svc.lookup(client=scripted, state="taxx", zip="78701")


def test_a_frame_without_a_place_is_one_error(scripted):
    frame = pd.DataFrame({"Billing State": ["WA"], "Billing Zip": ["98101"]})
    with pytest.raises(ColumnMissing) as refused:
        frame.svc.lookup(client=scripted)
    assert (refused.value.role, refused.value.columns) == ("place", tuple(frame.columns))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"city": "Town name"}, "did you mean 'Town Name'"),
        ({"address": "Shipping Street"}, "did you mean 'Shipping Street 9'"),
        ({"location": "twon name"}, "did you mean 'Town Name'"),
        ({"as_of": pd.NaT}, "as_of: the value is missing"),
        ({"zip": np.nan}, "zip: the value is missing"),
    ],
)
def test_a_mistyped_name_does_not_become_a_value(scripted, faults, arguments, said):
    frame = pd.DataFrame(PLACE | {"Town Name": ["Seattle"], "Shipping Street 9": ["1 Elm St"]})
    with pytest.raises(ValueError, match=said):
        frame.svc.lookup(client=scripted, **arguments)
    assert faults.seen == []


@pytest.mark.parametrize("value", [["98101"], {"98101"}, ("98101",), b"98101", True])
def test_what_is_no_single_value_is_refused(scripted, value):
    with pytest.raises(TypeError, match="zip"):
        pd.DataFrame(PLACE).svc.lookup(zip=value, client=scripted)


def test_scalars_of_numpy_are_values(scripted, faults):
    frame = pd.DataFrame({"order": [1]})
    arguments = {
        "lat": np.float64(47.5),
        "lng": np.int64(-122),
        "as_of": np.datetime64("2024-05-01"),
    }
    target = asked(scripted, faults, frame, state="WA", **arguments)
    assert target == "/v1/tax/WA?lat=47.5&lng=-122.0&as_of=2024-05-01"


@pytest.mark.parametrize("name", ["location", "Location", "LOCATION "])
def test_a_column_named_location_is_the_place_where_nothing_else_names_one(scripted, faults, name):
    frame = pd.DataFrame({"state": ["WA"], name: ["Seattle"], "amount": ["1.00"]})
    plan = frame.svc.plan(client=scripted)
    assert f"location from column {name!r}" in " ".join(plan.notes)
    assert asked(scripted, faults, frame).endswith("/WA?location=Seattle")
    alone = pd.DataFrame({name: ["Austin, TX", "Salt Lake City, UT"]})
    assert "/UT?location=Salt" in asked(scripted, faults, alone, concurrency=1)
    assert "zip=98101" in asked(scripted, faults, frame, zip="98101")
    with pytest.raises(ColumnMissing):
        frame.svc.lookup(client=scripted, location=False)


@pytest.mark.parametrize(
    ("beside", "sent"),
    [
        ({"zip": "98101"}, "zip=98101"),
        ({"city": "Tacoma"}, "location=Tacoma"),
        ({"address": "600 Pine St, Seattle, WA 98101"}, "address=600"),
        ({"address": "600 Pine St", "city": "Seattle"}, "street=600"),
        ({"lat": "47.6", "lng": "-122.3"}, "lat=47.6"),
        ({"ship_to_zip": "98101"}, "zip=98101"),
    ],
)
def test_beside_another_column_of_the_place_location_is_none(scripted, faults, beside, sent):
    frame = pd.DataFrame(
        {"location": ["Spokane"], "state": ["WA"], **{k: [v] for k, v in beside.items()}}
    )
    assert sent in asked(scripted, faults, frame)
    assert "Spokane" not in faults.seen[-1].target


@pytest.mark.parametrize(
    "values", [["Store 12", "Store 14"], ["98101"], ["https://x.example"], [None]]
)
def test_what_does_not_look_like_a_name_is_no_place(scripted, faults, values):
    with pytest.raises(ColumnMissing):
        pd.DataFrame({"state": "WA", "location": values}).svc.lookup(client=scripted)
    assert faults.seen == []


OF_SHOPS = [
    path
    for path in sorted(EXPORTS.glob("*.csv"))
    if path.stem not in {"ebay", "quickbooks"}  # their names stand below a title
]


@pytest.mark.parametrize("path", OF_SHOPS, ids=lambda path: path.stem)
def test_a_column_named_location_changes_nothing_in_a_known_export(path):
    frame = pd.read_csv(path, dtype="str", nrows=20)
    expected = propose(frame)
    assert "location" not in expected.found
    if "Location" not in frame:
        found = propose(frame.assign(Location="Austin, TX"))
        assert (found.found, found.unclear) == (expected.found, expected.unclear)


def test_of_two_columns_named_location_none_is_taken(scripted, faults):
    frame = pd.DataFrame([["WA", "Seattle", "Tacoma"]], columns=["state", "location", "Location"])
    with pytest.raises(ColumnMissing):
        frame.svc.lookup(client=scripted)
    assert faults.seen == []
