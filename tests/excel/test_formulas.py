"""The calls of formulas, read from their text; and when a workbook is read for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.cell import get_column_letter

from svc_tools.excel.formulas import (
    Book,
    Patience,
    Unknown,
    calls_in,
    column_number,
)


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
        ("=SVC_RATE(A2", []),
        (
            '=SVC.TOOLS.SVC_RATE("TX";A2;;"partial")',
            [("SVC_RATE", ('"TX"', "A2", "", '"partial"'))],
        ),
        ('=IFERROR(ROUND(B2*svc.tools.svc_rate(A2;B2);2);"x")', [("SVC_RATE", ("A2", "B2"))]),
        (
            "=SVC.TOOLS.SVC_TAX(SUM(A1;B1);$'My; (Sheet'.A1;C1)",
            [("SVC_TAX", ("SUM(A1;B1)", "$'My; (Sheet'.A1", "C1"))],
        ),
        (
            '=SVC.TOOLS.SVC_FIELD("a "";"" b";{1;2|3};A1)',
            [("SVC_FIELD", ('"a "";"" b"', "{1;2|3}", "A1"))],
        ),
    ],
)
def test_calls_are_found_in_the_text_of_a_formula(formula, calls):
    separator = ";" if "svc.tools" in formula.lower() else ","
    assert [(one.name, one.arguments) for one in calls_in(formula, separator)] == calls


class Rows(Book):
    """A sheet with constants in some cells; the others are empty."""

    def __init__(self, formula, cells):
        self._formula, self._cells = formula, cells

    def formulas(self):
        yield "Orders", 2, self._formula

    def cell(self, sheet, column, row):
        return self._cells.get((sheet, column, row))

    def sheet(self, name):
        return name

    def named(self, name):
        if name != "DAY":
            raise Unknown
        return "2026-02-01"

    def in_table(self, table, heading, sheet, row):  # noqa: ARG002 - the base's
        return f"{table}/{heading}/{row}"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ('"T""X"', 'T"X'),
        ("2134", 2134.0),
        ("-97.5", -97.5),
        ("true", True),
        ("A2", "TX"),
        ("$A$2", "TX"),
        ("Other!A2", "WA"),
        ("'Other'!$A2", "WA"),
        ("B7", None),
        ("DAY", "2026-02-01"),
        ("[@ZIP]", "/ZIP/2"),
        ("[@[Ship ZIP]]", "/Ship ZIP/2"),
        ("Orders[@ZIP]", "Orders/ZIP/2"),
        ("Orders[[#This Row],[Ship ZIP]]", "Orders/Ship ZIP/2"),
    ],
)
def test_an_argument_has_the_value_of_its_cell_or_constant(argument, value):
    book = Rows(f"=SVC_RATE({argument})", {("Orders", 1, 2): "TX", ("Other", 1, 2): "WA"})
    ((_, _, name, arguments),) = book.calls()
    assert (name, arguments, type(arguments[0])) == ("SVC_RATE", [value], type(value))


@pytest.mark.parametrize(
    "argument", ["Orders[ZIP]", "A2:B2", "A2&B2", "OTHER_NAME", "TEXT(A2,0)", "A2+1"]
)
def test_an_argument_in_doubt_leaves_its_call_out(argument):
    assert list(Rows(f"=SVC_RATE({argument})", {}).calls()) == []


@pytest.mark.parametrize(
    ("formula", "is_made"),
    [
        ('=IF(A2="","",SVC_RATE(A2,B2))', True),
        ('=IF(A2<>"",SVC_RATE(A2,B2),"")', True),
        ('=IF(A2="",SVC_RATE(A2,B2))', False),
        ('=IF(B7="",SVC_RATE(A2,B2))', True),
        ('=IF(B7="",IF(A2="",1,SVC_RATE(A2,B2)))', True),
        ('=IF(B7="",IF(A2="",SVC_RATE(A2,B2)))', False),
        ("=IF(A2>1,SVC_RATE(A2,B2))", False),
        ('=IF($Z$1="go, (on",SVC_RATE(A2,B2))', False),
        ("=CHOOSE(1,SVC_RATE(A2,B2))", False),
        ("=IFERROR(A1,ROUND(SVC_RATE(A2,B2),4))", False),
        ("=LAMBDA(x,SVC_RATE(A2,x))", False),
        ("=ROUND(SUM(1,SVC_RATE(A2,B2)),2)", True),
        ("=IFERROR(SVC_RATE(A2,B2),0)", True),
        ('=IF(SVC_STATUS(A2,B2)="ok",1,2)', True),
    ],
)
def test_only_tests_of_emptiness_are_understood_as_conditions(formula, is_made):
    assert bool(list(Rows(formula, {("Orders", 1, 2): "TX"}).calls())) is is_made


@given(st.text(alphabet="=SVC_RATE(),\"'[]{}@ A2!:;", max_size=60))
def test_any_text_is_read_without_an_error(formula):
    for call in calls_in(formula):
        assert all(part in formula for part in call.arguments)


@given(st.integers(1, 16_384))
def test_the_letters_of_a_column_are_its_number(column):
    assert column_number(get_column_letter(column)) == column


def test_a_workbook_is_read_at_the_start_of_a_burst_and_ever_more_rarely_where_that_was_no_use():
    now = 0.0
    eager = Patience(eager=True, clock=lambda: now)
    later = Patience(eager=False, clock=lambda: now)
    due = []
    for at in range(100):
        now += 0.01
        for one in (eager, later):
            if one.is_due():
                due.append((one, at))
                one.read(helped=False)
            one.missed()
    assert [at for one, at in due if one is eager][:4] == [0, 2, 6, 14]
    assert [at for one, at in due if one is later][:4] == [1, 3, 7, 15]
    now += 1
    assert eager.is_due()
    assert not later.is_due()
