"""Whatever stands in the cells: a value that is known, or an error with a sentence."""

from __future__ import annotations

import logging
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.desks import cells_of, desk_of
from support.faults import KEY, answer, echo, serving

from svc_sdk import Svc
from svc_tools.excel.functions import Call, evaluate
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import OMITTED, CellError, ErrorCell

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
