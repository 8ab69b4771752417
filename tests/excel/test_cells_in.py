"""What is read from cells; and whatever they hold, a known value or an error results."""

from __future__ import annotations

import logging
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.faults import KEY, LISTED, echo, echoing, serving
from support.spreadsheets import cells_of, desk_of, shown

from svc_sdk import Svc
from svc_tools.excel.functions import FunctionCall, evaluate
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import OMITTED, BadValueError, CellError, ErrorCell, day_in

DAY = "2026-02-01"


@pytest.mark.parametrize(
    ("state", "cell", "zip_code"),
    [("MA", 2134.0, "02134"), ("MA", 21341234.0, "02134-1234"), (None, "'94105", "94105")],
)
def test_a_zip_is_requested_as_it_was_meant(state, cell, zip_code, faults, scripted_desk):
    assert shown(scripted_desk, "SVC_RATE", state, cell, DAY) == 0.0825
    (seen,) = faults.seen
    assert f"zip={zip_code}" in seen.target


@pytest.mark.parametrize(
    ("state", "cell", "starts"),
    [
        ("TX", 2134.0, "#INVALID zip: "),
        ("CA", "n/a", "#INVALID "),
        ("CA", 0.0, "#INVALID zip: "),
        ("CA", float("nan"), "#NUM! zip: "),
        ("XX", "94105", "#INVALID state: "),
        (7.0, "94105", "#INVALID state: "),
        ("CA", "K1A 0B1", "#UNSUPPORTED "),
        ("CA", ErrorCell("#DIV/0!"), "#DIV/0! zip: "),
        ("CA", "#NV", "#NV zip: "),  # errors in other languages
        ("CA", "#¡VALOR!", "#¡VALOR! zip: "),
        ("#N/A", "94105", "#N/A state: "),
        ("CA", "#UNRESOLVED No rate.", "#UNRESOLVED zip: the cell holds #UNRESOLVED No rate."),
        (OMITTED, "42223", "#INVALID state: it is missing, and ZIP 42223 lies in KY and TN"),
        ("CA", OMITTED, "#INVALID zip is left out: "),
    ],
)
def test_what_is_no_zip_is_an_error_and_not_requested(state, cell, starts, faults, scripted_desk):
    assert shown(scripted_desk, "SVC_RATE", state, cell, DAY).startswith(starts)
    assert faults.seen == []


@pytest.mark.parametrize("state", [None, "", OMITTED])
def test_a_state_that_the_zip_or_the_address_names_may_be_left_out(state, faults, scripted_desk):
    faults.will(echoing(rate={"state": "CA"}))
    line = "425 Market St, San Francisco, CA 94105"
    for call in (
        ("SVC_RATE", state, "94105", DAY),
        ("SVC_RATE_ADDRESS", state, line, None, None, DAY),
        ("SVC_RATE_PLACE", state, "San Francisco, CA", DAY),
    ):
        assert shown(scripted_desk, *call) == 0.0825
    assert shown(scripted_desk, "SVC_TAX", 100, state, "94105", DAY) == 8.25
    assert {one.target.split("?")[0] for one in faults.seen} == {"/v1/tax/CA"}


@pytest.mark.parametrize("blank", [None, "", "   "])
@pytest.mark.parametrize("day", [DAY, None, OMITTED, "no day"])
def test_a_row_without_a_place_is_an_empty_cell(blank, day, faults, scripted_desk):
    for name, *cells in [
        ("SVC_RATE", "TX", blank),
        ("SVC_STATUS", "TX", blank),
        ("SVC_TAX", None, "TX", blank),
        ("SVC_RATE_PLACE", "TX", blank),
        ("SVC_RATE_GEO", "TX", blank, blank),
        ("SVC_RATE_ADDRESS", "TX", blank, blank, blank),
    ]:
        assert shown(scripted_desk, name, *cells, day) is None
    error = shown(scripted_desk, "SVC_RATE", "TX", blank, ErrorCell("#REF!"))
    assert error.startswith("#REF! as_of")
    assert faults.seen == []


@pytest.mark.parametrize(
    "cell",
    [
        *(None, "", " ", "n/a", "45413", "2024-05", "2024-02-30", "0202-05-01"),
        *(0.0, 29999.9, 70000.0, 20241301.0, 20240501.5, 20910825.0, True),
        *(datetime(1899, 12, 30), date(1982, 2, 17)),  # noqa: DTZ001 - as COM hands it over
    ],
)
def test_what_is_no_day_is_refused_with_an_example(cell):
    with pytest.raises(BadValueError, match=r"^as_of") as raised:
        day_in(cell)
    assert "2026-05-01" in raised.value.message


@pytest.mark.parametrize(
    ("cell", "month_first", "day_first"),
    [("03/04/2026", "2026-03-04", "2026-04-03"), ("3.4.26 14:03", "2026-03-04", "2026-04-03")],
)
def test_a_text_that_may_be_two_days_names_both(cell, month_first, day_first):
    with pytest.raises(BadValueError, match=r"^as_of") as raised:
        day_in(cell)
    message = raised.value.message
    assert cell in message
    assert message.index(month_first) < message.index(day_first)
    assert "date cell" in message


def test_a_text_date_means_the_same_in_a_range_as_alone(faults, scripted_desk):
    days = [["02/15/2026"], ["03/04/2026"]]  # the first would settle the order of a column
    (read,), (refused,) = shown(scripted_desk, "SVC_FIELD", "lookup_as_of", "TX", "78701", days)
    assert read == "2026-02-15"
    assert refused is None
    assert "may be" in shown(scripted_desk, "SVC_WARNINGS", "TX", "78701", days)[1][0]
    assert len(faults.seen) == 1


def test_a_time_in_utc_has_its_day_in_the_sellers_zone(monkeypatch):
    late = "2026-07-01T02:00:00Z"
    assert day_in(late) == date(2026, 7, 1)
    monkeypatch.setenv("SVC_TZ", "America/Chicago")
    assert day_in(late) == date(2026, 6, 30)
    assert day_in("2026-07-01T02:00:00+09:00") == date(2026, 7, 1)  # as written


@given(st.dates(date(1982, 2, 18), date(2091, 8, 22)), st.floats(0, 0.99999))
def test_every_serial_is_the_day_that_a_spreadsheet_shows(day, time):
    serial = (day - date(1899, 12, 30)) / timedelta(days=1)
    assert day_in(serial + time) == day_in(day.isoformat()) == day


def test_a_day_left_out_is_today_and_an_empty_cell_is_refused(faults, scripted_desk):
    assert shown(scripted_desk, "SVC_RATE", "TX", "78701") == 0.0825
    assert "as_of" not in faults.seen[0].target
    empty = shown(scripted_desk, "SVC_RATE", "TX", "78701", None)
    assert empty.startswith("#INVALID as_of is an empty cell")
    assert len(faults.seen) == 1


def test_a_column_goes_along_a_block_and_one_cell_with_all(scripted_desk):
    amounts = [[100.0, 200.0, None], [300.0, 400.0, 0.0]]
    taxes = shown(scripted_desk, "SVC_TAX", amounts, "TX", [["75001"], ["75002"]], DAY)
    assert taxes == [[8.25, 16.5, None], [24.75, 33.0, 0.0]]


@pytest.mark.parametrize(
    ("state", "zips"),
    [
        ([["TX"], ["TX"]], [["75001"], ["75002"], ["75003"]]),
        ([["TX"], ["TX"]], [["75001", "75002"]]),  # crossed, they would make a table nobody meant
        ([["TX", "TX"], ["TX"]], "75001"),
        ([], "75001"),
        ([[]], "75001"),
    ],
)
def test_ranges_of_different_shapes_are_refused_whole(state, zips, faults, scripted_desk):
    result = shown(scripted_desk, "SVC_RATE", state, zips, DAY)
    assert result.startswith(("#INVALID state: ", "#INVALID zip: "))
    assert faults.seen == []


@pytest.mark.parametrize(
    "cells", [(None, None, "78701"), ("1 Elm", None, OMITTED), ("Elm " * 60, None, "78701")]
)
def test_an_address_that_is_empty_or_unfit_is_not_replaced_by_its_zip(cells, faults, scripted_desk):
    bad = shown(scripted_desk, "SVC_RATE_ADDRESS", "TX", *cells, DAY)
    assert bad.startswith("#INVALID address: ")
    assert faults.seen == []
    assert shown(scripted_desk, "SVC_RATE_ADDRESS", "TX", "#5 1 Elm St", "Austin") == 0.0825


@pytest.mark.parametrize(
    ("lat", "lng", "wrong"), [(30.2, None, "lng"), (130.0, "-97.7", "lat"), (True, -97.0, "lat")]
)
def test_a_point_needs_two_numbers(lat, lng, wrong, faults, scripted_desk):
    bad = shown(scripted_desk, "SVC_RATE_GEO", "TX", lat, lng, DAY)
    assert bad.startswith(f"#INVALID {wrong}: ")
    assert faults.seen == []
    assert shown(scripted_desk, "SVC_RATE_GEO", "TX", "30.2672", -97.7431, DAY) == 0.0825
    assert shown(scripted_desk, "SVC_RATE_GEO", "TX", 1.0, -97.0, DAY) == 0.0825


RATE = 0.0825

TEXTS = [
    *("TX", "texas", "78701", "2026-02-01", "Austin", "1100 Congress Ave", "partial", "half_even"),
    *("confidence", "TRUE", "physical", "state", "zip", "as_of", "#N/A", "#PARTIAL", "", " "),
    *("03/04/2024", "$1.50", "n/a", "78701-1234"),
]
USUAL = st.sampled_from([*TEXTS, 78701.0, 45413.0, 100.0, 30.2672, -97.7431, 0.0, None, True])
SCALARS = (
    USUAL
    | st.none()
    | st.text(max_size=8)
    | st.floats()
    | st.integers()
    | st.booleans()
    | st.dates()
    | st.datetimes()
    | st.decimals()
    | st.builds(ErrorCell, st.sampled_from(["#DIV/0!", "#REF!", "#N/A", "#NAME?"]))
)
RANGES = st.tuples(st.integers(1, 3), st.integers(1, 3)).flatmap(
    lambda shape: st.lists(
        st.lists(SCALARS, min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)
STRANGE = st.sampled_from([[], [[]], [1.0, 2.0], [[1.0], [1.0, 2.0]], b"x", 1j, object(), {}])
CALLS = st.sampled_from(FUNCTIONS).flatmap(
    lambda one: st.builds(
        FunctionCall,
        st.just(one.name),
        st.lists(
            st.just(OMITTED) | SCALARS | RANGES | STRANGE, max_size=len(one.parameters) + 1
        ).map(tuple),
    )
)


@pytest.fixture(scope="module")
def steady():
    """A desk whose service knows one rate, and registrations in no state."""

    def step(seen):
        return LISTED if "nexus" in seen.target else echo(seen)

    with serving() as faults, Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
        faults.will(step)
        yield desk_of(client)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CALLS, min_size=1, max_size=4))
def test_any_cells_give_a_known_value_or_an_error_with_a_sentence(steady, caplog, calls):
    caplog.set_level(logging.ERROR)
    caplog.clear()
    results = evaluate(steady, calls)
    assert len(results) == len(calls)
    for call, result in zip(calls, results, strict=True):
        if isinstance(result, list):
            assert len({len(row) for row in result}) == 1
        for cell in cells_of(result):
            assert isinstance(cell, str | float | int | bool | CellError | None), cell
            assert not isinstance(cell, Decimal)
            if isinstance(cell, CellError):
                assert cell.message[-1] in ".!?", cell.message
                assert " " in cell.message
                assert cell.text.startswith("#")
            if call.name.startswith("SVC_RATE"):
                assert isinstance(cell, CellError) or cell in {RATE, None}
            if call.name == "SVC_TAX" and cell == 0:
                assert known_to_be_nothing(call.arguments[0])
    assert "could not be computed" not in caplog.text


def known_to_be_nothing(amount):
    """Whether an amount that was given may have no tax: less than seven cents."""
    amounts = cells_of(amount)
    texts = [one for one in amounts if isinstance(one, str) and any(map(str.isdigit, one))]
    return bool(texts) or any(
        isinstance(one, int | float | Decimal) and not isinstance(one, bool) and abs(one) < 0.07
        for one in amounts
    )


@given(
    st.sampled_from([None, "", " ", "n/a", "-", "nan", "#N/A", ErrorCell("#REF!"), float("nan")])
)
def test_what_is_missing_is_never_a_rate(steady, missing):
    for name, count in [("SVC_RATE", 1), ("SVC_RATE_PLACE", 1), ("SVC_RATE_GEO", 2)]:
        for cell in evaluate(steady, [FunctionCall(name, ("TX", *[missing] * count))]):
            assert cell is None or isinstance(cell, CellError)
