"""Columns of coordinates: named ones decide, those found beside a ZIP are only reported."""

from __future__ import annotations

import pandas as pd
import pytest
from support.command import svc_tools

from svc_tools.frames import enrich_file
from svc_tools.frames.lookup.columns import propose
from svc_tools.lookup import lookup_many
from svc_tools.tables.places import UNUSED_POINTS

DAY = "2026-05-01"
POINT = {"lat": "Latitude", "lng": "Longitude"}
ORDERS = pd.DataFrame(
    {
        "order": [f"A{number}" for number in range(7)],
        "state": ["TX"] * 7,
        "zip": ["78701", "78701", "78701", "78701", "78701", None, None],
        "Latitude": ["30.2672", "30.27", "-97.7431", "0", None, "30.2672", "30.27"],
        "Longitude": ["-97.7431", "-97.74", "30.2672", "0", None, "-97.7431", "-97.74"],
    }
)


def column(made, name):
    return [None if pd.isna(value) else str(value) for value in made[name]]


def test_named_coordinates_decide_and_those_that_cannot_be_exact_say_so(run):
    made = run(ORDERS, as_of=DAY, **POINT)
    via = column(made, "resolved_via")
    assert via == ["coordinates", "zip5", "zip5", "zip5", "zip5", "coordinates", "coordinates"]
    reasons = [text or "" for text in column(made, "lookup_review_reason")]
    warned = [text or "" for text in column(made, "warnings")]
    for rows in (reasons, warned):
        flagged = ["point_not_used" in text for text in rows]
        assert flagged == [False, True, True, True, False, False, False]
    assert column(made, "needs_review")[1:4] == ["True"] * 3
    for rows in (reasons, warned):  # nothing better is there than the last one
        assert ["point_coarse" in text for text in rows] == [False] * 6 + [True]
    assert column(made, "needs_review")[6] == "True"


def test_where_a_state_has_one_rate_a_point_that_is_not_exact_is_a_warning_only(run):
    rows = [
        ("MA", "02138", "0", "0", "point_not_used", "False"),
        ("OR", "97201", "45.5", "-122.7", "point_not_used", "False"),
        ("MA", None, "42.37", "-71.11", "point_coarse", "False"),
        ("KS", None, "39", "-95.7", "point_coarse", "True"),
        ("KS", "66603", "0", "0", "point_not_used", "True"),
    ]
    names = ["state", "zip", "Latitude", "Longitude", "code", "reviewed"]
    orders = pd.DataFrame(rows, columns=names)
    made = run(orders[names[:4]], as_of=DAY, **POINT)
    assert all(map(str.__contains__, column(made, "warnings"), orders["code"]))
    assert column(made, "needs_review") == [*orders["reviewed"]]
    # of a row without a state the ZIP may be wrong, and with it the state
    unnamed = orders.iloc[[0, 0, 1]][["zip", "Latitude", "Longitude"]].reset_index(drop=True)
    assert column(run(unnamed, as_of=DAY, **POINT), "needs_review") == ["True"] * 3


def test_coordinates_found_beside_a_zip_decide_only_rows_without_one(run):
    made = run(ORDERS, as_of=DAY)
    assert column(made, "resolved_via") == ["zip5"] * 5 + ["coordinates"] * 2
    assert not any("point_not_used" in (text or "") for text in column(made, "warnings"))


def test_found_coordinates_are_reported_and_say_how_they_are_used(embedded, tmp_path):
    said = (
        "coordinates found, not used where a row has a ZIP or an address."
        " To use them: lat='Latitude', lng='Longitude'"
    )
    assert said in ORDERS.svc.plan(client=embedded).notes
    made = ORDERS.svc.lookup(client=embedded, progress=False)
    assert said in made.attrs["svc"]["lookups"][""]["notes"]
    used = made.attrs["svc"]["lookups"][""]["notes"][0]
    assert used == "state from column 'state', zip from column 'zip'"
    ORDERS.to_csv(tmp_path / "in.csv", index=False)
    run = enrich_file(tmp_path / "in.csv", tmp_path / "out.csv", client=embedded)
    assert said in run.notes
    assert "Latitude" not in run.read
    done = svc_tools("enrich", tmp_path / "in.csv", "-o", tmp_path / "by.csv", "--embedded")
    typed = (
        "not used where a row has a ZIP or an address. To use them: --lat Latitude --lng Longitude"
    )
    assert typed in " ".join(done.stderr.split())
    assert "lat='Latitude'" not in done.stderr + done.stdout
    for given in (POINT, {"lat": False, "lng": False}):
        notes = ORDERS.svc.plan(client=embedded, **given).notes
        assert not any("coordinates found" in note for note in notes)


def test_rows_whose_coordinates_are_not_used_are_counted_by_why(embedded):
    made = ORDERS.svc.lookup(client=embedded, progress=False, **POINT)
    notes = [note for note in made.attrs["svc"]["lookups"][""]["notes"] if "not used" in note]
    assert notes == [
        f"rows whose coordinates are not used ({UNUSED_POINTS['few_decimals']}): 1",
        "rows whose coordinates are not used (a zero, which fills an empty cell): 1",
        "rows whose coordinates are not used (latitude and longitude are swapped): 1",
    ]


def test_over_http_a_named_point_is_sent_alone_and_what_is_not_used_is_the_zip(scripted, faults):
    frame = ORDERS.iloc[:3]
    plan = frame.svc.plan(client=scripted, as_of=DAY, **POINT)
    assert plan.to_ask == 2
    frame.svc.lookup(client=scripted, progress=False, as_of=DAY, **POINT)
    assert {one.target for one in faults.seen} == {
        f"/v1/tax/TX?lat=30.2672&lng=-97.7431&as_of={DAY}",
        f"/v1/tax/TX?zip=78701&as_of={DAY}",
    }
    faults.seen.clear()
    frame.svc.lookup(client=scripted, progress=False, as_of=DAY)
    assert {one.target for one in faults.seen} == {f"/v1/tax/TX?zip=78701&as_of={DAY}"}


def test_a_point_that_was_paid_for_alone_is_in_the_cache_beside_a_zip(scripted, faults, tmp_path):
    options = {"client": scripted, "progress": False, "cache": tmp_path / "c.sqlite", "as_of": DAY}
    ORDERS.iloc[[0]].svc.lookup(**options, zip=False, **POINT)
    faults.seen.clear()
    plan = ORDERS.iloc[[0]].svc.plan(client=scripted, cache=options["cache"], as_of=DAY, **POINT)
    assert plan.to_ask == 0
    made = ORDERS.iloc[[0]].svc.lookup(**options, **POINT)
    assert (faults.seen, column(made, "lookup_status")) == ([], ["ok"])


def test_many_places_with_a_point_beside_the_zip_are_as_those_of_a_frame(
    scripted, faults, embedded
):
    rows = [{"state": "TX", "zip": "78701", "lat": 30.2672, "lng": -97.7431}] * 2
    assert len([*lookup_many(rows, client=scripted, cache=False)]) == len(rows)
    assert [one.target for one in faults.seen] == ["/v1/tax/TX?lat=30.2672&lng=-97.7431"]
    for _, outcome in lookup_many(rows, client=embedded):
        assert outcome.found.resolved_via == "coordinates"


def test_a_frozen_lookup_has_the_points_that_were_named(embedded, tmp_path):
    made = ORDERS.svc.lookup(client=embedded, progress=False, as_of=DAY, **POINT)
    made.svc.freeze(tmp_path / "rates.svclock")
    again = ORDERS.svc.lookup(locked=tmp_path / "rates.svclock", progress=False, as_of=DAY, **POINT)
    for name in ("combined_rate", "resolved_via", "warnings"):
        assert column(again, name) == column(made, name)


def test_a_lookup_read_from_a_file_is_frozen_with_the_points_that_were_only_found(
    embedded, tmp_path
):
    frame = ORDERS.iloc[:1]
    made = frame.svc.lookup(client=embedded, progress=False, as_of=DAY)
    made.to_parquet(tmp_path / "made.parquet")
    pd.read_parquet(tmp_path / "made.parquet").svc.freeze(tmp_path / "rates.svclock")
    again = frame.svc.lookup(locked=tmp_path / "rates.svclock", progress=False, as_of=DAY)
    assert column(again, "lookup_status") == ["ok"]
    assert column(again, "resolved_via") == column(made, "resolved_via")


def test_a_frame_is_read_anew_where_its_coordinates_are_named_afterwards(embedded):
    frame = ORDERS[["state", "zip", *POINT.values()]].iloc[:1]
    named = {"state": "state", "zip": "zip", **POINT}
    via = [
        column(
            frame.svc.lookup(client=embedded, progress=False, as_of=DAY, **given), "resolved_via"
        )
        for given in ({}, named, {})
    ]
    assert via == [["zip5"], ["coordinates"], ["zip5"]]


@pytest.mark.parametrize(
    "further", [{"lat": ["1"] * 7}, {"Shop Longitude": ["2"] * 7}, {"bill_to_zip": ["75001"] * 7}]
)
def test_coordinates_that_would_not_be_used_raise_no_question(embedded, further):
    frame = ORDERS.rename(columns={"zip": "ship_to_zip", "state": "ship_to_state"})
    frame = frame.assign(**further)
    made = frame.svc.lookup(client=embedded, progress=False, as_of=DAY)
    assert column(made, "resolved_via")[:5] == ["zip5"] * 5
    notes = " ".join(made.attrs["svc"]["lookups"][""]["notes"])
    assert "coordinates found, not used" in notes


def test_the_panel_proposes_no_coordinates_beside_a_zip():
    assert not {"lat", "lng"} & propose(ORDERS).found.keys()
    alone = propose(ORDERS.drop(columns="zip")).found
    assert (alone["lat"], alone["lng"]) == ("Latitude", "Longitude")
