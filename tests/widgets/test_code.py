"""What is shown as code runs, means the same, and holds no secret."""

from __future__ import annotations

import ast
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from svc_tools.widgets.parts import Name, as_code

_LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
_LEAVES = _LEAVES.filter(lambda value: value not in {float("inf"), float("-inf")})
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(_VALUES, max_size=3), st.dictionaries(st.sampled_from(["zip", "call"]), _VALUES))
def test_the_code_says_what_was_called(positional, named):
    call = ast.parse(as_code("client.lookup", *positional, **named), mode="eval").body
    assert ast.unparse(call.func) == "client.lookup"
    assert [ast.literal_eval(one) for one in call.args] == positional
    told = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    assert told == {name: value for name, value in named.items() if value is not None}


def test_days_and_paths_are_texts_names_are_bare_and_nothing_is_left_out():
    code = as_code("f", Path("a/b.csv"), client=Name("client"), as_of=date(2026, 5, 1), more=None)
    assert code == "f('a/b.csv', client=client, as_of='2026-05-01')"


def test_a_long_call_has_its_arguments_on_lines_of_their_own():
    code = as_code("client.lookup", "TX", address="x" * 60, city="y" * 30)
    assert code.splitlines()[0] == "client.lookup("
    ast.parse(code)


def test_a_secret_is_refused_wherever_it_stands():
    with pytest.raises(ValueError, match="secret"):
        as_code("connect", api_key=SecretStr("k"))
    with pytest.raises(ValueError, match="secret"):
        as_code("connect", [SecretStr("k")])


@pytest.mark.parametrize("call", ["", "a b", "client.", "f()", "class"])
def test_what_is_no_name_is_not_called(call):
    with pytest.raises(ValueError, match="not the name"):
        as_code(call)
