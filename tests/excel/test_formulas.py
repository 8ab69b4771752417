"""The calls of formulas, read from their text; and when a workbook is read for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.cell import get_column_letter

from svc_tools.excel.formulas import (
    NO_PLACES,
    Book,
    Contents,
    Patience,
    Unknown,
    calls_in,
    column_number,
)
from svc_tools.excel.registry import FUNCTIONS


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


SHEET = {
    "name": "Orders",
    "row": 1,
    "column": 1,
    "formulas": [["", "", "", ""], ["", '="787"&"01"', "", "=B2"], ["", "", "", "=SUM(B:B)"]],
    "values": [
        ["State", "ZIP", "Amount", ""],
        ["TX", "78701", 5.0, ""],
        ["WA", "98101", "", "#N/A"],
    ],
}
LOOKUPS = {
    "Rate_of": '=LAMBDA(zip,SVC_RATE("TX",zip))',
    "Orders!Austin": '=SVC_RATE("TX","78701")',
    "Records": "=SVC_NEXUS()",
}
LINES = {"name": "Lines", "sheet": "Orders", "row": 2, "column": 1, "height": 2}


def in_use(formula, row=2):
    """The calls of one more formula of a computed workbook, and whether it has others."""
    cell = {"name": "Orders", "row": row, "column": 9, "formulas": [[formula]], "values": [[0.1]]}
    book = Contents(
        [SHEET, cell, {**SHEET, "name": "A b"}],
        {"Day": "='A b'!$B$1", "Moves": "=Orders!B2", "ZIPs": "=Orders!$B$2:$B$3", **LOOKUPS},
        [{**LINES, "columns": ["State", "ZIP", "Amount"]}],
    )
    cells, unknown = book.in_use(lambda name, given: (name, *given))
    return [call for calls in cells for call in calls], unknown


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("B2", "78701"),  # what a formula shows
        ("'a B'!B3", "98101"),
        ("DAY", "ZIP"),
        ("[@Zip]", "78701"),
        ("Lines[@ZIP]", "78701"),
        ("B2:B3", [["78701"], ["98101"]]),
        ("$A$2:B3", [["TX", "78701"], ["WA", "98101"]]),
        ("ZIPs", [["78701"], ["98101"]]),
        ("Lines[ZIP]", [["78701"], ["98101"]]),
        ("lines", [["TX", "78701", 5.0], ["WA", "98101", ""]]),
        ("Lines[#Data]", [["TX", "78701", 5.0], ["WA", "98101", ""]]),
        ("Lines[[State]:[ZIP]]", [["TX", "78701"], ["WA", "98101"]]),
        ("Lines[[#All],[zip]]", [["ZIP"], ["78701"], ["98101"]]),
        ("Lines[[#All], [ZIP]:[Amount]]", [["ZIP", "Amount"], ["78701", 5.0], ["98101", ""]]),
        ("Lines[[ZIP]:[State]]", [["TX", "78701"], ["WA", "98101"]]),
        ("Lines[[ZIP]:[Nothing]]", None),
        ("Lines[#Totals]", None),
        ("Other[#All]", None),
        ("DATE(2026,2,1)", 46054.0),
        ("DATE(2026, 2, C2-4)", None),
        ("DATE(2026,13,1)", None),  # a sheet reads it as January
        ("DATE(26,2,1)", None),  # and that as 1926
        ('DATE("2026",2,1)', None),
        ("DATE(2026,2,1)+DATE(2026,2,1)", None),
        ("Z99", ""),
        ("D3", "#N/A"),
        ("Moves", None),  # another cell in each row
        ("Nothing!A1", None),
        ("Lines[Nothing]", None),
        ("Other[@ZIP]", None),
        ("B:B", None),
        ("B2&B3", None),
    ],
)
def test_what_a_computed_workbook_shows_may_be_any_argument(argument, value):
    calls, unknown = in_use(f"=SVC_RATE(A2,{argument})")
    expected = [] if value is None else [("SVC_RATE", "TX", value)]
    assert (calls, unknown) == (expected, value is None)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('B2=""', False),
        ('D2<>""', False),
        ('AND(A2<>"",[@Amount]<>"")', True),
        ('OR(A2="",C2="")', False),
        ('NOT(OR(A2="",D2=""))', False),
        ('A2="tx"', True),
        ('A2<>"WA, or"', True),
        ("C2>=5", True),
        ("C2<5", False),
        ("$C$2<DATE(2026,1,1)", True),
        ('AND(A2="",B2="")+OR(A2="TX")', None),
        ('NOT(A2="")=TRUE', None),
        ('A2<"WA"', None),
        ('D3<>""', None),  # an error is passed on
        ("C2=TRUE", None),
        ("A2>1", None),  # a text and a number
        ("D3=0", None),
        ('D3="x"', None),
        ("C2", None),
        ("ISNUMBER(C2)", None),
        ("AND(LEN(A2)>1,C2>1)", None),
    ],
)
def test_a_call_counts_where_what_is_shown_lets_it_through(condition, holds):
    for formula, made in (
        (f'=IF({condition},SVC_RATE(A2,B2),"")', holds),
        (f'=IF({condition},"",SVC_RATE(A2,B2))', None if holds is None else not holds),
    ):
        calls, unknown = in_use(formula)
        assert (bool(calls), bool(unknown)) == (made is True, made is None), formula


def test_a_cell_may_have_calls_that_are_known_and_others_that_are_not():
    assert in_use("=IFERROR(SVC_RATE(A2,B2),SVC_RATE_PLACE(A2,C2))") == (
        [("SVC_RATE", "TX", "78701")],
        1,
    )
    assert in_use("=SVC.TAX([@Amount],[@State],[@ZIP])", row=3) == (
        [("SVC_TAX", "", "WA", "98101")],
        0,
    )
    for named in ("=RATE_OF(B2)", "=MAP(B2:B3,Rate_of)", "=C2*austin"):
        assert in_use(named) == ([], 1)
    for other in (
        "=Records",
        "=Rate_of_all*2",
        "=SVC_SUM(B2&B3)",
        "=IF(B2,SVC_ASOF())",
        "=B2&B3",
        "=SVC_RATE(A2",
    ):
        assert in_use(other) == ([], 0)


def test_the_functions_that_look_no_place_up_are_those_without_a_day_or_a_table():
    days = {one.name for one in FUNCTIONS for part in one.parameters if part.name == "as_of"}
    assert {one.name for one in FUNCTIONS} - days - {"SVC_LOOKUP"} == NO_PLACES


@given(st.text(alphabet="=SVC_RATE(),\"'[]{}@ A2!:;", max_size=60))
def test_any_text_is_read_without_an_error(formula):
    in_use(formula)
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
