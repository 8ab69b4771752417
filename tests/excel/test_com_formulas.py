"""Formulas as text: which of our functions they call, and with which arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.cell import range_boundaries
from support.com_cells import in_r1c1

from svc_tools.excel.com.converting import Area
from svc_tools.excel.com.formulas import Reference, calls_in, has_calls, literal, other_names


@pytest.mark.parametrize(
    ("formula", "calls"),
    [
        ("=SVC_RATE(A2,B2)", [("SVC_RATE", ("A2", "B2"))]),
        ('=svc_rate( "TX" , $B2 ,, "partial")', [("SVC_RATE", ('"TX"', "$B2", "", '"partial"'))]),
        ('=SVC_RATE("a,b(""c",B2)', [("SVC_RATE", ('"a,b(""c"', "B2"))]),
        ("=SVC_RATE('A (1), x'!B2,B2)", [("SVC_RATE", ("'A (1), x'!B2", "B2"))]),
        ("=SVC_RATE([@[a), b]],[@ZIP])", [("SVC_RATE", ("[@[a), b]]", "[@ZIP]"))]),
        ("=ROUND(SVC_TAX(C2,A2,TEXT(B2,0)),2)", [("SVC_TAX", ("C2", "A2", "TEXT(B2,0)"))]),
        ("=@SVC_RATE(A2,B2)", [("SVC_RATE", ("A2", "B2"))]),
        ("=SVC_FIELDS()", [("SVC_FIELDS", ())]),
        (
            "=SVC_RATE(A2,B2)+SVC_RATE(A3,B3)",
            [("SVC_RATE", ("A2", "B2")), ("SVC_RATE", ("A3", "B3"))],
        ),
        ('="=SVC_RATE(A2,B2)"', []),
        ("=MY_SVC_RATE(A2,B2)", []),
        ("=SVC_RATES(A2,B2)", []),
        ("=SVC_RATE(A2", []),
    ],
)
def test_the_calls_of_a_formula_are_found_and_nothing_within_quotes(formula, calls):
    assert [(one.name, one.arguments) for one in calls_in(formula)] == calls
    assert has_calls(formula) is bool(calls)


def test_a_text_that_looks_like_a_formula_is_none():
    assert not has_calls("SVC_RATE(A2,B2)")
    assert not has_calls(None)


def test_other_functions_around_a_call_are_told():
    assert other_names('=IF(A2="SUM(",0,ROUND(SVC_RATE(A2,B2),4))') == {"IF", "ROUND"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("RC[-2]", Reference(0, 4)),
        ("R[3]C1", Reference(3, 1)),
        ("R2C3", Reference(None, 3, 2)),
        ("RC", Reference(0, 6)),
        ("[@ZIP]", Reference(0, field="ZIP")),
        ("[@[Ship ZIP]]", Reference(0, field="Ship ZIP")),
        ("Orders[@ZIP]", Reference(0, field="ZIP", table="Orders")),
        ("Orders[[#This Row],[Ship ZIP]]", Reference(0, field="Ship ZIP", table="Orders")),
        ("Orders[ZIP]", None),
        ("Other!RC[-2]", None),
        ("RC[-2]:RC[-1]", None),
        ("RC[-2]&RC[-1]", None),
        ("SVC_AS_OF", None),
    ],
)
def test_an_argument_refers_to_one_cell_of_the_same_sheet_or_it_is_not_certain(text, meant):
    assert Reference.read(text, 6) == meant


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"T""X"', 'T"X'),
        ("2134", 2134.0),
        ("-97.5", -97.5),
        ("true", True),
        ("RC1", None),
        ("", None),
    ],
)
def test_what_is_written_out_is_read(text, value):
    found = literal(text)
    assert (found, type(found)) == (value, type(value))


@given(st.text(alphabet="=SVC_RATE(),\"'[]{}@ A2!:;", max_size=60))
def test_any_text_is_read_without_an_error(formula):
    for call in calls_in(formula):
        assert all(part in formula for part in call.arguments)


@given(st.integers(1, 9999), st.integers(1, 700), st.integers(1, 9), st.integers(1, 9))
def test_an_area_is_the_one_of_its_address(row, column, height, width):
    area = Area(row, column, height, width)
    assert range_boundaries(area.address) == (column, row, column + width - 1, row + height - 1)
    assert len(list(area.cells())) == height * width
    assert Area.around(area.cells()) == area


def test_the_stand_in_writes_formulas_in_r1c1_style_as_excel_does():
    assert in_r1c1('=SVC_RATE($A2,B$1,"C3",D2)', 2, 5) == '=SVC_RATE(RC1,R1C[-3],"C3",RC[-1])'
