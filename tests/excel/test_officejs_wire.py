"""The JSON between the sheets and the local server."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.excel.functions import Call
from svc_tools.excel.officejs.app import MOST_CALLS, BadRequestError, read_calls, results_json
from svc_tools.excel.values import (
    OMITTED,
    BadValueError,
    CellError,
    ErrorCell,
    NotAvailableError,
    NumberOf1904,
    day_in,
)


def read(*calls):
    return read_calls(json.dumps({"calls": calls}).encode())


def told(*results):
    return json.loads(results_json(results))["results"]


def test_what_is_left_out_an_empty_cell_and_an_error_value_are_three_things():
    (call,) = read({"f": "SVC_RATE", "a": [None, "", {"error": "#DIV/0!"}]})
    assert call == Call("SVC_RATE", (OMITTED, "", ErrorCell("#DIV/0!"), OMITTED))


def test_a_call_of_a_workbook_that_counts_from_1904_has_numbers_that_are_no_days():
    given = ["CA", [[94105, True]], 44592.5]
    (call,) = read({"f": "SVC_RATE", "a": given, "from_1904": True})
    assert call.arguments[:3] == ("CA", [[94105, True]], 44592.5)
    ((zip_code, truth),), day = call.arguments[1:3]
    assert isinstance(zip_code, NumberOf1904)
    assert truth is True
    with pytest.raises(BadValueError, match="counts dates from 1904"):
        day_in(day)


def test_ranges_are_rows_and_null_in_them_is_an_empty_cell():
    (call,) = read({"f": "SVC_SUM", "a": [[[1, 2.5], [None, True], ["x", {"error": "#N/A"}]]]})
    assert call.arguments == ([[1, 2.5], [None, True], ["x", ErrorCell("#N/A")]],)


def test_a_function_of_another_release_and_too_many_arguments_are_errors_of_their_cells():
    found = read({"f": "SVC_FUTURE", "a": []}, {"f": "SVC_FIELDS", "a": [1]}, {"f": "SVC_FIELDS"})
    assert isinstance(found[0], NotAvailableError)
    assert "SVC_FUTURE" in found[0].message
    assert isinstance(found[1], BadValueError)
    assert found[2] == Call("SVC_FIELDS", ())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"calls": {}}',
        b'{"calls": [1]}',
        b'{"calls": [{"f": 1, "a": []}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": {}}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [NaN]}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [Infinity]}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [1' + b"0" * 5000 + b"]}]}",
        b'{"calls": ' + b"[" * 100_000,
        b'\xff\xfe{"calls": []}',
        json.dumps({"calls": [0] * (MOST_CALLS + 1)}).encode(),
    ],
)
def test_what_is_no_batch_is_refused_with_what_is_expected(body):
    with pytest.raises(BadRequestError, match=r"\w+ .*\w"):
        read_calls(body)


@pytest.mark.parametrize("odd", [[1, 2], [[[1]]], {"error": 1}, 10**400, {"v": 1}])
def test_one_odd_cell_is_the_matter_of_its_formula_alone(odd):
    first, second = read({"f": "SVC_SUM", "a": [odd]}, {"f": "SVC_SUM", "a": [[[1]]]})
    assert isinstance(first, BadValueError)
    assert first.message.endswith(".")
    assert second == Call("SVC_SUM", ([[1]],))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["calls", "f", "a", "error", "x"]), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_any_other_json_is_read_or_refused_and_nothing_else(body):
    for asked in (body, {"calls": [{"f": "SVC_RATE", "a": body}]}):
        try:
            found = read_calls(json.dumps(asked).encode())
        except BadRequestError:
            continue
        assert all(isinstance(one, Call | CellError) for one in found)


def test_results_keep_their_kinds_and_an_empty_cell_never_becomes_a_zero():
    rows = [[0.0825, None], ["x", NotAvailableError("not found", "UNRESOLVED")]]
    assert told(0.0825, None, "#PARTIAL", rows, [[True]]) == [
        {"v": 0.0825},
        {"v": ""},
        {"v": "#PARTIAL"},
        {"v": [[0.0825, ""], ["x", {"e": "na", "m": "not found"}]]},
        {"v": [[True]]},
    ]


def test_errors_are_two_kinds_with_their_sentences():
    assert told(NotAvailableError("gone", "FAILED"), BadValueError("bad")) == [
        {"e": "na", "m": "gone"},
        {"e": "value", "m": "bad"},
    ]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_through_to_the_last_digit(number):
    assert told(number) == [{"v": number}]
    (call,) = read({"f": "SVC_SUM", "a": [number]})
    assert call.arguments == (number,)
