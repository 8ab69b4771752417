"""The lines that answer questions about columns: in Python, and as options for a shell."""

from __future__ import annotations

import ast
import pickle
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.base import operating_system
from svc_tools.tables.questions import Question, in_python, in_sentences, in_shell
from svc_tools.tables.roles import ColumnAmbiguous, ColumnMissing, raise_all

NO, YES = False, True


def question(argument, likely, *others, because=""):
    values = (likely, *others)
    return Question(argument, (), values, likely, f"{argument} is open", argument, because)


ASKED = [
    question("zip", "Ship Zip", "Bill Zip", because="the place shipped to counts"),
    question("as_of", "Order Date", "today"),
    question("country", NO, "Country"),
]


def test_one_line_answers_all_questions():
    line = "zip='Ship Zip', as_of='Order Date', country=False"
    assert in_python(ASKED) == f"lookup({line})"
    as_dictionary = in_python(ASKED, "lookup=").removeprefix("lookup=")
    assert ast.literal_eval(as_dictionary) == {
        "zip": "Ship Zip",
        "as_of": "Order Date",
        "country": False,
    }
    assert in_shell(ASKED, {}) == '--zip "Ship Zip" --as-of "Order Date" --without country'


def test_other_kinds_of_answers_and_names_of_options():
    money = [
        question("once", ["Order Total"], NO),
        question("once", ["Order Tax"], NO),
        question("contains_tax", YES, NO),
        question("refunds", "subtract", "add", "leave"),
        question("amount", NO),
    ]
    assert in_python(money, "tax") == (
        "tax(once=['Order Total', 'Order Tax'], contains_tax=True, refunds='subtract',"
        " amount=False)"
    )
    options = {"contains_tax True": "--contains-tax yes", "amount False": "--no-tax"}
    assert in_shell(money, options) == (
        '--once "Order Total" --once "Order Tax" --contains-tax yes --refunds subtract --no-tax'
    )
    assert in_shell([question("amount", "Net")], {"amount": "--tax"}) == "--tax Net"


def test_what_nothing_is_likely_for_is_left_to_choose():
    assert in_shell([question("zip", None)], {}) == "--zip …"
    assert in_python([question("zip", None)]) == "lookup(zip='…')"
    assert in_sentences([question("zip", None)]) == ["zip is open"]
    assert in_sentences(ASKED[:1]) == [
        "zip is open; likeliest: zip='Ship Zip' (the place shipped to counts)"
    ]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_a_shell_reads_the_name_as_it_is(name):
    assert shlex.split(in_shell([question("zip", name)], {})) == ["--zip", name]


def test_a_percent_sign_is_quoted_on_windows(monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "win32")
    assert in_shell([question("zip", 'a "b"')], {}) == r'--zip "a \"b\""'
    assert in_shell([question("zip", "Ship Zip")], {}) == '--zip "Ship Zip"'


def test_an_error_has_the_role_and_the_columns_of_the_first_question():
    first = ColumnAmbiguous("zip", ["Ship Zip", "Bill Zip"])
    with pytest.raises(ColumnAmbiguous) as refused:
        raise_all([first, ColumnAmbiguous.of(ASKED[1:])])
    error = pickle.loads(pickle.dumps(refused.value))
    assert (error.role, error.candidates) == ("zip", ("Ship Zip", "Bill Zip"))
    assert [(one.role, one.likely) for one in error.questions] == [
        ("zip", "Ship Zip"),
        ("as_of", "Order Date"),
        ("country", False),
    ]
    assert str(error).count("\n") == 4
    assert str(error).endswith("lookup(zip='Ship Zip', as_of='Order Date', country=False)")


def test_one_fault_is_raised_as_it_is():
    raise_all([])
    for one in (ColumnAmbiguous("zip", ["a", "b"]), ColumnMissing("zip", [])):
        with pytest.raises(type(one)) as refused:
            raise_all([one])
        assert refused.value is one


def test_of_one_question_every_answer_is_named():
    text = str(ColumnAmbiguous.of([question("refunds", "subtract", "add", because="as usual")]))
    assert text == (
        "refunds is open; say refunds='subtract' or refunds='add'; the first seems likeliest"
        " (as usual)"
    )


def test_columns_of_one_name_cannot_be_named():
    error = ColumnAmbiguous("zip", ["Ship Zip", "Ship Zip"])
    assert (error.advice, error.questions[0].likely) == ("rename all but one", None)
