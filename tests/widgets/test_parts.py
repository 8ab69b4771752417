"""The parts of the panel: escaped, labeled and read out; forms, code, errors."""

from __future__ import annotations

import ast
import errno
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

import svc_sdk
from svc_sdk import AuthError, SvcError
from svc_tools.config import ConfigurationError
from svc_tools.show.display import prose
from svc_tools.widgets.parts import (
    CodeView,
    Entry,
    Form,
    MessageArea,
    Name,
    as_code,
    heading,
    note,
    titled_table_html,
    trouble_of,
)

BAD = "<img src=x onerror=alert(1)>\"'&"


def test_nothing_given_becomes_markup():
    area = MessageArea()
    area.show_note(BAD)
    shown = [area.html]
    area.show_trouble(AuthError(BAD, support_reference=BAD))
    shown.append(area.html)
    area.announce(BAD)
    shown.append(area.html)
    code = CodeView()
    code.show(BAD)
    shown += [code.view.value, heading(BAD).value, note(BAD).value]
    shown.append(titled_table_html([prose(BAD)], [[BAD]], BAD))
    for html in shown:
        assert "<img" not in html
        assert "&lt;img" in html
        assert "&quot;" in html or "&#34;" in html


ENTRIES = (Entry("name", "Name", value="first"), Entry("key", "Key", "password"))
SECRET = "sk-a-very-secret-key-0123456789"


@pytest.fixture
def sent():
    return []


@pytest.fixture
def form(sent):
    return Form(ENTRIES, submit="Send", on_submit=sent.append, cancel="Stop")


def page_sends(form, **content):
    """What the page's code sends, through the widget's own door."""
    form._handle_custom_msg(content, [])


def test_what_the_page_sends_arrives_whole_and_the_key_as_a_secret(form, sent):
    values = {"name": "typed", "key": SECRET, "other": "ignored"}
    page_sends(form, event="submit", values=values)
    assert sent[0].texts == {"name": "typed"}
    assert sent[0].secrets["key"].get_secret_value() == SECRET
    assert SECRET not in repr(sent[0])
    assert SECRET not in str(values)  # the text of the message does not live on
    assert SECRET not in str(form.get_state())
    assert form.values == {"name": "typed"}


def test_nothing_is_sent_twice_while_it_is_under_way(form, sent):
    form.busy = True
    page_sends(form, event="submit", values={"name": "again"})
    assert sent == []


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


def test_a_secret_is_refused_wherever_it_stands():
    with pytest.raises(ValueError, match="malformed"):
        as_code("connect", api_key=SecretStr("k"))
    with pytest.raises(ValueError, match="malformed"):
        as_code("connect", [SecretStr("k")])


OF_SERVICE = [
    one
    for one in (getattr(svc_sdk, name) for name in svc_sdk.__all__ if name.endswith("Error"))
    if issubclass(one, SvcError)
]


@pytest.mark.parametrize("kind", OF_SERVICE)
def test_every_error_of_the_service_has_words_of_its_own_and_its_reference(kind):
    error = kind(
        "It is so",
        status_code=499,
        error_code="CODE",
        support_reference="req_1",
        response_body={},
        attempts=3,
    )
    said = trouble_of(error)
    assert said.reference == "req_1"
    assert "It is so (status 499, after 3 attempts)" in said.text
    assert said.title
    assert said.what_to_do.endswith(".")


def test_a_quota_a_delay_and_a_strange_page_say_what_helps():
    quota = svc_sdk.RateLimitError("x", status_code=429, error_code="QUOTA_EXCEEDED")
    assert "quota" in trouble_of(quota).title
    wait = svc_sdk.RateLimitError("x", status_code=429, error_code="C", retry_after=7)
    assert "Wait 7 seconds" in trouble_of(wait).what_to_do
    for delay, words in ((1, "Wait 1 second,"), (0.4, "Wait 1 second,"), (0, "Wait a moment,")):
        short = svc_sdk.RateLimitError("x", status_code=429, error_code="C", retry_after=delay)
        assert words in trouble_of(short).what_to_do
    page = svc_sdk.NotFoundError("x", status_code=404, response_body="<html>")
    assert "address of the service" in trouble_of(page).what_to_do
    gateway = svc_sdk.AuthError("x", status_code=401, response_body="<html>")
    assert "does not accept the key" in trouble_of(gateway).title
    assert trouble_of(gateway).text == "X (status 401)", "one attempt is not counted"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("zip: '787' is not a ZIP"), "'787' is not a ZIP"),
        (ConfigurationError("set the address"), "Set the address"),
        (FileNotFoundError(errno.ENOENT, "No such file", "orders.csv"), "No such file: orders.csv"),
        (PermissionError(errno.EACCES, "Denied", "out.csv"), "Denied: out.csv"),
        (OSError(errno.ENOSPC, "No space left", "out.csv"), "No space left: out.csv"),
        (ImportError("pip install x"), "Pip install x"),
        (KeyError("what"), "KeyError: 'what'"),
        (MemoryError(), "MemoryError"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_every_other_error_is_a_sentence_too(error, words):
    said = trouble_of(error)
    assert said.text == words
    assert said.title
    assert said.what_to_do.endswith(".")
    assert said.reference is None
