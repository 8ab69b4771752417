"""Rows of other countries have no US rate, whatever the column is called; else it is asked."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import svc_tools as run

import svc_tools
import svc_tools.frames.dask
from svc_tools.frames import enrich_file, exposure_of_file
from svc_tools.frames.files.enriching import view_of_file
from svc_tools.frames.lookup.columns import propose
from svc_tools.tables.roles import ColumnAmbiguous, ColumnsOfTwoParties

FILES = Path(__file__).parents[1] / "data" / "sales_files"
DAY = "2026-08-14"
SHARED_CODES = (
    "AL AR AZ CA CO DE GA ID IL IN KY LA MA MD ME MN MO MS MT NC NE PA SC SD TN VA".split()  # noqa: SIM905 - to read
)
"""The states whose codes are codes of countries, too."""
ZIPS = (  # noqa: SIM905 - to read
    "35203 72201 85004 94105 80202 19901 30303 83702 60601 46201 40202 70601 02108 21201 04101"
    " 55401 63101 39201 59601 27601 68102 19103 29201 57104 37203 23219"
).split()


def looked_up(embedded, frame, **arguments):
    given = {"as_of": DAY} | arguments
    return frame.svc.lookup(client=embedded, progress=False, cache=False, **given)


def statuses(embedded, frame, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no row can be used
        return list(looked_up(embedded, frame, **arguments)["lookup_status"])


def notes_of(embedded, frame, **arguments):
    given = {"as_of": DAY} | arguments
    return frame.svc.plan(client=embedded, cache=False, **given).notes


def asked(embedded, frame, **arguments):
    """The questions about a frame: the role, the likeliest value."""
    with pytest.raises(ColumnAmbiguous) as refused:
        looked_up(embedded, frame, **arguments)
    return [(one.role, one.likely) for one in refused.value.questions]


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("c08_country_region.csv", ["ok", "unsupported", "unsupported"]),
        ("c08_country_iso.csv", ["ok", "unsupported"]),
    ],
)
def test_a_file_with_a_country_under_another_name(embedded, tmp_path, name, statuses):
    output = tmp_path / "out.csv"
    enrich_file(FILES / name, output, client=embedded, cache=False, tax={})
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["lookup_status"] for row in rows] == statuses
    assert [row["tax"] for row in rows] == ["10.55", *[""] * (len(rows) - 1)]
    assert "country" in view_of_file(FILES / name).found


@pytest.mark.parametrize(
    "name",
    [
        *("Country", "country/region", "Country ISO", "ship_country_code", "SHIPTOCOUNTRYCODE"),
        *("Delivery country", "Customer Country", "Billing Country", "Country Name", "Destination"),
        *("Land", "Pays", "País", "Kraj", "Страна", "Lieferland"),
    ],
)
@pytest.mark.parametrize("cells", [["US", "DE", "MX"], ["United States", "Germany", "Mexico"]])
def test_no_postal_code_abroad_is_taken_for_a_zip_code(embedded, name, cells):
    frame = pd.DataFrame({"Zip": ["98101", "10115", "06600"], name: cells})
    assert statuses(embedded, frame) == ["ok", "unsupported", "unsupported"]
    notes = " ".join(notes_of(embedded, frame))
    assert f"country from column {name!r}" in notes
    assert "not used" not in notes


@pytest.mark.parametrize(
    "name",
    [
        *("Country of Origin", "Country of Manufacture", "Card Issue Country", "IP Country"),
        *("Item Country", "Tax Country", "Seller Country", "Billing Country", "Market"),
    ],
)
def test_the_country_of_something_else_is_named_and_not_used(embedded, name):
    places = {"Ship Zip": ["98101", "10011"], "Ship State": ["WA", "NY"]}
    frame = pd.DataFrame({**places, name: ["China", "Germany"]})
    assert statuses(embedded, frame) == ["ok", "ok"]
    assert f"columns that look like countries and are not used: {name!r}" in notes_of(
        embedded, frame
    )
    at_home = frame.assign(**{name: "US"})
    assert "look like countries" not in " ".join(notes_of(embedded, at_home))


@pytest.mark.parametrize(
    "cells",
    [[0, 1], [1.0, np.nan], [True, False], ["yes", "no"], ["12 Elm St", "x@example.com"]],
)
def test_a_column_named_country_that_holds_none_is_not_used(embedded, cells):
    frame = pd.DataFrame({"Zip": ["98101", "10011"], "Country": cells, "Rock": [0, 1]})
    assert statuses(embedded, frame) == ["ok", "ok"]


def test_columns_of_lists_and_objects_are_passed_over(embedded):
    frame = pd.DataFrame({"Zip": ["98101", "10115"], "Country": ["US", "DE"]})
    for cells in ([["US"], ["DE"]], [{"a": 1}, None], [object(), b"DE"]):
        odd = frame.assign(Market=pd.Series(cells, dtype=object))
        assert statuses(embedded, odd) == ["ok", "unsupported"]


def test_codes_of_phones_are_no_codes_of_countries(embedded):
    frame = pd.DataFrame({"Zip": ["98101", "10115"], "Country": ["US", "DE"]})
    for codes in (["+1", "+49"], [1, 1]):
        both = frame.assign(**{"Country Code": codes})
        assert statuses(embedded, both) == ["ok", "unsupported"]


def test_states_are_no_countries_though_their_codes_are(embedded):
    assert len(SHARED_CODES) == len(ZIPS) == 26
    frame = pd.DataFrame({"State": SHARED_CODES, "Zip": ZIPS})
    assert "unsupported" not in statuses(embedded, frame)
    assert "countr" not in " ".join(notes_of(embedded, frame))
    for name in ("Ship Location", "Destination", "Market"):
        there = frame.rename(columns={"State": name})
        if name == "Destination":  # all of them may be countries, and the ZIP Codes say otherwise
            assert asked(embedded, there) == [("country", False)]
        else:
            assert "unsupported" not in statuses(embedded, there)


@pytest.mark.parametrize("cells", [["CA", "TX"], ["San Francisco", "Dallas"], ["94105", "75201"]])
def test_a_destination_that_is_no_country_is_not_used(embedded, cells):
    frame = pd.DataFrame({"Zip": ["94105", "75201"], "Destination": cells})
    assert statuses(embedded, frame) == ["ok", "ok"]


def test_the_country_shipped_to_counts_and_the_code_before_the_name(embedded):
    frame = pd.DataFrame({"Ship Zip": ["98101", "10115"], "Country": "US", "Billing Country": "US"})
    named = frame.assign(**{"Shipping Country": ["United States", "Germany"]})
    coded = named.assign(**{"Shipping Country Code": ["US", "DE"]})
    for one, used in ((named, "Shipping Country"), (coded, "Shipping Country Code")):
        assert statuses(embedded, one) == ["ok", "unsupported"]
        assert f"country from column {used!r}" in notes_of(embedded, one)[0]


def test_two_countries_are_asked_where_they_differ(embedded):
    frame = pd.DataFrame({"Zip": ["98101", "10115"], "Order Country": ["US", "DE"]})
    same = frame.assign(Country=["USA", "Germany"])
    assert statuses(embedded, same) == ["ok", "unsupported"]
    other = frame.assign(Country=["USA", "USA"])
    assert asked(embedded, other) == [("country", None)]
    assert statuses(embedded, other, country="Order Country") == ["ok", "unsupported"]


def test_a_country_beside_us_states_and_zip_codes_is_asked(embedded):
    frame = pd.DataFrame(
        {"State": ["WA", "NY", "CA"], "Zip": ["98101", "10011", "94105"], "Country": "China"}
    )
    assert asked(embedded, frame) == [("country", False)]
    assert statuses(embedded, frame, country=False) == ["ok"] * 3
    assert statuses(embedded, frame, country="Country") == ["unsupported"] * 3
    assert propose(frame).unclear == {"country": ("Country",)}
    most_at_home = frame.assign(Country=["China", "US", "US"])
    assert statuses(embedded, most_at_home) == ["unsupported", "ok", "ok"]
    other_zips = frame.assign(Zip=["10115", "75001", "06600"])  # those of other states
    assert statuses(embedded, other_zips) == ["unsupported"] * 3


def test_states_named_country_are_asked(embedded):
    frame = pd.DataFrame({"Zip": ["94105", "46201", "19901"], "Country": ["CA", "IN", "DE"]})
    assert asked(embedded, frame) == [("country", False)]
    assert statuses(embedded, frame, country=False) == ["ok"] * 3


def test_all_questions_come_at_once(embedded):
    frame = pd.DataFrame(
        {
            "Ship Zip": ["98101"],
            "Zip": ["98101"],
            "Ship State": ["WA"],
            "Country": ["CN"],
            "Order Date": [DAY],
            "Due Date": ["2026-09-14"],
        }
    )
    with pytest.raises(ColumnAmbiguous) as refused:
        frame.svc.lookup(client=embedded, progress=False)
    error = refused.value
    assert (error.role, error.candidates) == ("zip", ("Ship Zip", "Zip"))
    assert [(one.role, one.likely) for one in error.questions] == [
        ("zip", "Ship Zip"),
        ("country", False),
        ("as_of", "Order Date"),
    ]
    line = str(error).rpartition(": ")[2]
    assert line == "lookup(zip='Ship Zip', country=False, as_of='Order Date')"
    answers = {one.argument: one.likely for one in error.questions}
    assert list(frame.svc.lookup(client=embedded, progress=False, **answers)["lookup_status"]) == [
        "ok"
    ]


def test_of_two_parties_the_place_shipped_to_is_likeliest(embedded):
    frame = pd.DataFrame({"State": ["CA"], "Ship Zip": ["98101"], "Billing Zip": ["94105"]})
    with pytest.raises(ColumnsOfTwoParties) as refused:
        looked_up(embedded, frame)
    answers = {one.argument: one.likely for one in refused.value.questions}
    assert answers == {"state": False, "zip": "Ship Zip"}
    assert list(looked_up(embedded, frame, **answers)["resolved_state"]) == ["WA"]
    dated = frame.assign(**{"Due Date": "2026-09-14"})
    assert [role for role, _ in asked(embedded, dated, as_of=None)] == ["state", "zip", "as_of"]


@pytest.mark.parametrize("name", ["birth date", "Due Date", "Expiry Date"])
def test_no_date_of_something_else_is_likely(embedded, name):
    frame = pd.DataFrame({"zip": ["98101"], name: ["2019-01-15"]})
    assert asked(embedded, frame, as_of=None) == [("as_of", None)]
    booked = frame.rename(columns={name: "Booked"})
    assert asked(embedded, booked, as_of=None) == [("as_of", "Booked")]


ORIGIN = "Ship Zip,Zip,Ship State,Country,Order Date,Due Date,Amount\n98101,98101,WA,CN,{},{},100\n"


def test_the_command_asks_all_at_once_and_its_line_answers(tmp_path):
    (tmp_path / "orders.csv").write_text(ORIGIN.format(DAY, "2026-09-14"))
    command = ("enrich", "orders.csv", "-o", "out.csv", "--embedded")
    refused = run(*command, folder=tmp_path)
    assert refused.returncode == 2
    assert not (tmp_path / "out.csv").exists()
    *_, line = refused.stderr.splitlines()
    assert line.strip() == '--zip "Ship Zip" --without country --as-of "Order Date"'
    for seen in ("3 questions", "beside 'WA 98101'", "the place shipped to counts"):
        assert seen in refused.stderr
    words = [word.strip('"') for word in ("--zip", "Ship Zip", "--without", "country")]
    done = run(*command, *words, "--as-of", "Order Date", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open(newline="") as file:
        assert [row["tax"] for row in csv.DictReader(file)] == ["10.55"]


def test_the_command_names_the_answers_to_one_question(tmp_path):
    (tmp_path / "orders.csv").write_text(f"State,Zip,Country,Date\nWA,98101,China,{DAY}\n")
    refused = run("enrich", "orders.csv", "-o", "out.csv", "--embedded", folder=tmp_path)
    assert refused.returncode == 2
    first, _, line = refused.stderr.splitlines()
    assert first.endswith("; say --country Country or --without country")
    assert line.strip() == "--without country"


SALES = pd.DataFrame(
    {
        "state": ["WA", "CO", "IN"],
        "order_date": [DAY] * 3,
        "amount": [100, 1000, 10000],
        "Country/Region": ["US", "Mexico", "India"],
    }
)


def sales(found):
    sold = found.set_index("state")["sales"]
    return {state: int(sold[state]) for state in ("WA", "CO", "IN")}


def test_sales_to_other_countries_are_no_sales_of_a_state(tmp_path):
    frame = SALES.assign(zip=["98101", "06600", "110001"])
    given = {"as_of": "2026-11-21", "progress": False}
    found = svc_tools.svc(frame).exposure(**given)
    assert sales(found) == {"WA": 100, "CO": 0, "IN": 0}
    notes = found.attrs["svc_exposure"]["notes"]
    assert "left out, shipped to another country: 2 rows" in notes
    everything = svc_tools.svc(frame).exposure(**given, country=False)
    assert sales(everything) == {"WA": 100, "CO": 1000, "IN": 10000}
    frame.to_csv(tmp_path / "sales.csv", index=False)
    assert sales(exposure_of_file(tmp_path / "sales.csv", **given)) == sales(found)
    without = exposure_of_file(tmp_path / "sales.csv", **given, country=False)
    assert sales(without) == sales(everything)


def test_an_exposure_asks_about_a_country_beside_us_states(tmp_path):
    origin = SALES.assign(**{"Country/Region": "China"})
    for frame, likely in ((origin, None), (origin.assign(zip=["98101", "80202", "46201"]), False)):
        with pytest.raises(ColumnAmbiguous) as refused:
            svc_tools.svc(frame).exposure(progress=False)
        assert [(one.role, one.likely) for one in refused.value.questions] == [("country", likely)]
    frame.to_csv(tmp_path / "sales.csv", index=False)
    (tmp_path / "register.csv").write_text("state,nexus_type\nWA,physical\n")
    command = ("nexus", "plan", "-o", "plan.csv", "--register", "register.csv")
    command += ("--sales", "sales.csv")
    refused = run(*command, folder=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].strip() == "--without country"
    assert run(*command, "--without", "country", folder=tmp_path).returncode == 0
