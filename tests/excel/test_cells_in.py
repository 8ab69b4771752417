"""What is read from cells; and whatever they hold, a known value or an error results."""

from __future__ import annotations

import logging
import re
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.faults import KEY, answer, echo, serving
from support.spreadsheets import cells_of, desk_of, shown, zips_asked

from svc_sdk import Svc
from svc_tools.excel.functions import Call, evaluate
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import OMITTED, BadValueError, CellError, ErrorCell, day_in

DAY = "2026-02-01"


@pytest.mark.parametrize(
    ("state", "cell", "asked"),
    [
        ("MA", 2134.0, "02134"),
        ("MA", 2134, "02134"),
        ("MA", "2134", "02134"),
        ("CA", 94105.0, "94105"),
        ("CA", "94105.0", "94105"),
        ("CA", "'94105", "94105"),
        ("CA", "  94105 ", "94105"),
        ("CA", "94105-1804", "94105-1804"),
        ("CA", 941051804.0, "94105-1804"),
        ("MA", 21341234.0, "02134-1234"),
        ("CA", "94105 1804", "94105-1804"),
        ("california", "94105", "94105"),
        ("US-CA", "94105", "94105"),
        (None, "94105", "94105"),
    ],
)
def test_a_zip_is_asked_for_as_it_was_meant(state, cell, asked, faults, scripted_desk):
    assert shown(scripted_desk, "SVC_RATE", state, cell, DAY) == 0.0825
    (seen,) = faults.seen
    assert f"zip={asked}" in seen.target


@pytest.mark.parametrize(
    ("state", "cell", "starts"),
    [
        ("TX", 2134.0, "#INVALID zip: '2134' is too short, and padded it would be 02134"),
        ("CA", 94105.5, "#INVALID zip: 94105.5 is not a ZIP"),
        ("CA", True, "#INVALID zip: the cell holds TRUE"),
        ("CA", date(2026, 5, 1), "#INVALID zip: the cell holds the date 2026-05-01"),
        ("CA", -94105.0, "#INVALID zip: '-94105' is not a ZIP"),
        ("CA", "n/a", "#INVALID the row gives no address, coordinates, ZIP or place name"),
        ("CA", 0.0, "#INVALID zip: '0' is not a ZIP"),
        ("CA", 1e300, "#INVALID zip: "),
        ("CA", float("nan"), "#NUM! zip: the cell holds #NUM!; fix that cell first."),
        ("XX", "94105", "#INVALID state: 'XX' is not a US state"),
        (7.0, "94105", "#INVALID state: '7' is not a US state"),
        ("CA", "K1A 0B1", "#UNSUPPORTED K1A 0B1 is a Canadian postal code."),
        ("PR", "00901", "#UNSUPPORTED Puerto Rico is a territory"),
        ("CA", ErrorCell("#DIV/0!"), "#DIV/0! zip: the cell holds #DIV/0!; fix that cell first."),
        ("#N/A", "94105", "#N/A state: the cell holds #N/A; fix that cell first."),
        ("CA", "#UNRESOLVED No rate.", "#UNRESOLVED zip: the cell holds #UNRESOLVED No rate."),
        (OMITTED, "94105", "#INVALID state is left out: SVC_RATE(state, zip, [as_of], [accept])."),
    ],
)
def test_what_is_no_zip_says_why_and_is_not_asked_for(state, cell, starts, faults, scripted_desk):
    assert shown(scripted_desk, "SVC_RATE", state, cell, DAY).startswith(starts)
    assert faults.seen == []


@pytest.mark.parametrize("blank", [None, "", "   "])
@pytest.mark.parametrize("day", [DAY, None, OMITTED, "no day"])
def test_a_row_without_a_place_is_an_empty_cell(blank, day, faults, scripted_desk):
    assert shown(scripted_desk, "SVC_RATE", "TX", blank, day) is None
    assert shown(scripted_desk, "SVC_STATUS", "TX", blank, day) is None
    assert shown(scripted_desk, "SVC_TAX", None, "TX", blank, day) is None
    assert shown(scripted_desk, "SVC_RATE_PLACE", "TX", blank, day) is None
    assert shown(scripted_desk, "SVC_RATE_GEO", "TX", blank, blank, day) is None
    assert shown(scripted_desk, "SVC_RATE_ADDRESS", "TX", blank, blank, blank, day) is None
    assert faults.seen == []


def test_an_error_shows_even_where_the_row_is_empty(scripted_desk):
    assert shown(scripted_desk, "SVC_RATE", "TX", None, ErrorCell("#REF!")).startswith(
        "#REF! as_of"
    )


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        (45413.0, date(2024, 5, 1)),
        (45413.75, date(2024, 5, 1)),
        (45413, date(2024, 5, 1)),
        (30000.0, date(1982, 2, 18)),
        (69999.999, date(2091, 8, 24)),
        (20240501.0, date(2024, 5, 1)),
        ("2024-05-01", date(2024, 5, 1)),
        (" 2024-05-01 ", date(2024, 5, 1)),
        ("'2024-05-01", date(2024, 5, 1)),
        ("2024-05-01T23:59:00", date(2024, 5, 1)),
        (date(2024, 5, 1), date(2024, 5, 1)),
        (datetime(2024, 5, 1, 23, 59), date(2024, 5, 1)),  # noqa: DTZ001 - as COM hands it over
    ],
)
def test_a_day_is_read_from_whatever_a_cell_holds(cell, day):
    assert day_in(cell) == day


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (None, "as_of is an empty cell"),
        ("", "as_of is an empty cell"),
        (" ", "as_of is an empty cell"),
        ("03/04/2024", 'as_of: "03/04/2024" may mean two days'),
        ("45413", 'as_of: "45413" is not a date in ISO form'),
        ("2024-05", 'as_of: "2024-05" is not a date in ISO form'),
        ("2024-02-30", 'as_of: "2024-02-30" is not a date'),
        ("n/a", 'as_of: "n/a" is not a date in ISO form'),
        ("2024-05-01T10:00:00Z", "is not a date in ISO form"),
        (0.0, "as_of: 0 is not the number of a day from 1982 to 2091"),
        (29999.9, "as_of: 29999.9 is not"),
        (70000.0, "as_of: 70000 is not"),
        (20241301.0, "as_of: 20241301 is not"),
        (20240501.5, "is not the number of a day"),
        (True, "as_of: TRUE is not a day"),
        (datetime(1899, 12, 30), "as_of: 1899-12-30 is not a day from 1982 to 2091"),  # noqa: DTZ001
        (date(1982, 2, 17), "as_of: 1982-02-17 is not a day"),
        ("0202-05-01", "as_of: 0202-05-01 is not a day"),
        (20910825.0, "as_of: 2091-08-25 is not a day"),
    ],
)
def test_what_is_no_day_says_what_to_give(cell, told):
    with pytest.raises(BadValueError, match=re.escape(told)) as raised:
        day_in(cell)
    assert "2026-05-01" in raised.value.message  # an example of what is expected


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


def test_ranges_give_a_cell_for_each_of_theirs(faults, scripted_desk):
    faults.will(echo)
    zips = [["75001"], [None], [75002.0], ["#N/A"]]
    (one,), (two,), (three,), (four,) = shown(scripted_desk, "SVC_RATE", "TX", zips, DAY)
    assert (one, two, three) == (0.0825, None, 0.0825)
    assert four.startswith("#N/A zip: the cell holds #N/A")
    assert sorted(zips_asked(faults)) == ["75001", "75002"]


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


def test_an_address_cell_that_is_empty_or_unfit_is_not_answered_by_its_zip(faults, scripted_desk):
    empty = shown(scripted_desk, "SVC_RATE_ADDRESS", "TX", None, None, "78701", DAY)
    assert empty.startswith("#INVALID address: the cell is empty")
    short = shown(scripted_desk, "SVC_RATE_ADDRESS", "TX", "1 Elm", None, OMITTED, DAY)
    assert short.startswith("#INVALID address: '1 Elm' has 5 characters")
    endless = shown(scripted_desk, "SVC_RATE_ADDRESS", "TX", "Elm " * 60, None, "78701", DAY)
    assert "has 240 characters, which is no address in one line" in endless
    assert faults.seen == []
    assert shown(scripted_desk, "SVC_RATE_ADDRESS", "TX", "#5 1 Elm St", "Austin") == 0.0825


def test_a_point_needs_both_numbers(faults, scripted_desk):
    half = shown(scripted_desk, "SVC_RATE_GEO", "TX", 30.2672, None, DAY)
    assert half == "#INVALID lng: missing; lat and lng go together."
    far = shown(scripted_desk, "SVC_RATE_GEO", "TX", 130.0, "-97.7", DAY)
    assert far.startswith("#INVALID lat: 130.0 is not within")
    assert faults.seen == []
    assert shown(scripted_desk, "SVC_RATE_GEO", "TX", "30.2672", -97.7431, DAY) == 0.0825


def test_true_is_not_one_although_python_says_so(faults, scripted_desk):
    one = shown(scripted_desk, "SVC_RATE_GEO", "TX", 1.0, -97.0, DAY)
    true = shown(scripted_desk, "SVC_RATE_GEO", "TX", True, -97.0, DAY)  # noqa: FBT003 - a cell
    assert one == 0.0825
    assert true.startswith("#INVALID lat: the cell holds TRUE")


def test_an_error_in_another_language_is_an_error_too(faults, scripted_desk):
    for text, word in [("#WERT!", "#WERT!"), ("#NV", "#NV"), ("#¡VALOR!", "#¡VALOR!")]:
        assert shown(scripted_desk, "SVC_RATE", "TX", text).startswith(f"{word} zip: the cell")
    assert faults.seen == []


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
        Call,
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
        return answer(body=b'{"nexus": [], "count": 0}') if "nexus" in seen.target else echo(seen)

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
        for cell in evaluate(steady, [Call(name, ("TX", *[missing] * count))]):
            assert cell is None or isinstance(cell, CellError)
