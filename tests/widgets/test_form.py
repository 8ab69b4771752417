"""A form: all values in one message; a key in it is never widget state."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from svc_tools.widgets.parts import Entry, Form

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


def test_cancel_reaches_who_asked(sent):
    form = Form(ENTRIES, submit="Send", on_submit=sent.append, on_cancel=lambda: sent.append("no"))
    page_sends(form, event="cancel")
    assert sent == ["no"]


@pytest.mark.parametrize(
    "content", [{}, {"event": "submit"}, {"event": "submit", "values": [1]}, {"event": "other"}]
)
def test_a_strange_message_does_nothing(form, sent, content):
    page_sends(form, **content)
    assert sent == []


def test_a_test_drives_it_as_the_page_does(form, sent):
    form.submit(name="given", key=SecretStr(SECRET))
    assert sent[0].texts == {"name": "given"}
    with pytest.raises(ValueError, match="no such field"):
        form.submit(nome="x")
