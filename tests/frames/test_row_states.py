"""The state and the place of each row."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from support.frames import enriched, row

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.lookup.row_states import states_of
from svc_tools.tables.text_dtype import text_dtype

LOST = row("TX", rate=None)


def states(frame, **options):
    codes, values = states_of(Enriched(frame, **options))
    return [values[code] for code in codes]


def noted(frame, columns=None, scalars=None):
    frame.attrs["svc"]["lookups"][""]["inputs"] = {
        "columns": columns or {},
        "scalars": scalars or {},
    }
    return frame


def test_an_unanswered_row_has_the_state_of_the_column_that_was_asked():
    frame = enriched(LOST, row("NJ"), LOST, bundesland=["Georgia", "TX", "nowhere"])
    assert states(noted(frame, {"state": "bundesland", "zip": "zip"})) == ["GA", "NJ", ""]


def test_a_state_that_was_said_of_all_rows_is_theirs():
    assert states(noted(enriched(LOST, row("NJ")), scalars={"state": "wa"})) == ["WA", "NJ"]


def test_a_column_that_the_lookup_did_not_read_says_nothing():
    frame = noted(enriched(LOST, LOST), {"zip": "zip"})
    frame["zip"] = ["30303", "not one"]
    assert states(frame) == ["GA", ""]


def test_without_a_memory_of_the_lookup_the_usual_names_are_read_ship_to_first():
    frame = enriched(LOST, LOST, ShipToState=["Ohio", None])
    frame["zip"] = pd.array(["07030", None], dtype=text_dtype())
    frame.attrs.clear()
    assert states(frame) == ["OH", ""]


def test_each_of_two_lookups_reads_its_own_column(embedded):
    frame = pd.DataFrame({"from": ["TX", "GA"], "to": ["WA", "NJ"], "zip": ["99999", "99999"]})
    for name in ("from", "to"):
        frame = SvcAccessor(frame).lookup(
            state=name, zip="zip", prefix=f"{name}_", client=embedded, progress=False
        )
    assert states(frame, prefix="from_") == ["TX", "GA"]
    assert states(frame, prefix="to_") == ["WA", "NJ"]


@pytest.mark.parametrize("given", [None, " ", "Puerto Rico", "XX"])
def test_what_is_no_state_of_the_50_and_dc_is_none(given):
    frame = enriched(LOST)
    frame["state"] = pd.array([given], dtype=text_dtype())
    frame["zip"] = pd.array([None], dtype=text_dtype())
    assert states(frame) == [""]


DAY = "2026-02-01"
ORDERS = pd.DataFrame(
    {
        "address": [
            *("1 Market St, San Francisco, CA 94105", "1 Market St, San Francisco, CA"),
            *("94105 San Francisco, 1 Market St", "1 Market St San Francisco", "1 Elm St, 42223"),
            *("1 Elm St, Springfield, IL 90210", "1 King St, Toronto, ON M5V 2T6", None),
        ]
    }
)


@pytest.fixture
def orders(embedded):
    return ORDERS.svc.lookup(client=embedded, as_of=DAY, progress=False)


def test_the_end_of_an_address_gives_the_state(orders):
    assert list(orders["lookup_status"]) == ["ok"] * 3 + ["invalid"] * 3 + [
        "unsupported",
        "invalid",
    ]
    assert list(orders["resolved_state"].iloc[:3]) == ["CA"] * 3
    assert list(orders["combined_rate"].iloc[:3]) == [Decimal("0.08625")] * 3
    assert orders["combined_rate"].iloc[3:].isna().all()


def test_another_city_than_that_of_the_zip_is_reviewed_unless_the_row_named_the_state(embedded):
    frame = pd.DataFrame(
        {
            "state": [None, "OR", None, None],
            "address": ["1 Main St", "1 Main St", None, "1 Main St, Portland, OR"],
            "city": "Seattle",
            "zip": "97204",
        }
    )
    found = frame.svc.lookup(client=embedded, as_of=DAY, progress=False)
    assert list(found["lookup_status"]) == ["ok"] * 4
    assert found["warnings"].str.contains("place_input_mismatch").all()
    assert list(found["needs_review"]) == [True, False, True, False]


def test_reports_count_a_row_in_the_state_that_its_address_names(embedded):
    frame = pd.DataFrame({"address": ["1 Elm St, Nowhere at All, CA", "5 Elm St, Dallas"]})
    found = frame.svc.lookup(client=embedded, as_of=DAY, progress=False)
    assert list(found["lookup_status"]) == ["unresolved", "invalid"]
    codes, values = states_of(Enriched(found))
    assert [values[code] for code in codes] == ["CA", ""]


EXPORT = Path(__file__).parents[1] / "data" / "exports" / "shopify.csv"


@pytest.fixture
def looked_up(embedded):
    """An order in Alaska whose second row, as Shopify writes it, has no place."""
    order = pd.read_csv(EXPORT, dtype="str").iloc[1:3]
    moved = {"Shipping Zip": "99723", "Shipping Province": "AK", "Shipping City": "Utqiagvik"}
    for label, value in moved.items():
        order[label] = [value, None]
    return order.svc.lookup(client=embedded, progress=False)


def test_a_further_row_of_an_order_is_in_its_state_and_at_its_place(looked_up):
    assert states(looked_up) == ["AK", "AK"]
    (place,) = looked_up.svc.review().groups["place"]
    assert place.endswith("Utqiagvik, AK 99723")
    looked_up.attrs = {}
    assert states(looked_up) == ["AK", "AK"]


def test_two_columns_of_one_name_say_nothing_of_other_rows(looked_up):
    twice = pd.concat([looked_up, looked_up[["Shipping Province"]]], axis=1)
    twice.attrs = {}
    assert states(twice)[0] == "AK"
