"""The state of every row: the answer's, else what the lookup read, else what the columns say."""

from __future__ import annotations

import pandas as pd
import pytest
from support.enriched import enriched, row

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.row_states import states_of_rows

LOST = row("TX", rate=None)


def states(frame, **options):
    codes, values = states_of_rows(frame, **options)
    return [values[code] for code in codes]


def noted(frame, columns=None, scalars=None):
    frame.attrs["svc_lookup"]["inputs"] = {"columns": columns or {}, "scalars": scalars or {}}
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
    frame["zip"] = pd.array(["07030", None], dtype="str")
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
    frame["state"] = pd.array([given], dtype="str")
    frame["zip"] = pd.array([None], dtype="str")
    assert states(frame) == [""]
