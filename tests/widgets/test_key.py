"""The key: typed once, used, and to be found nowhere afterwards."""

from __future__ import annotations

import logging
import threading

import ipywidgets
import pytest
from pydantic import SecretStr
from support.faults import KEY, answer

import svc_tools
from svc_sdk import Svc


@pytest.fixture
def panel():
    return svc_tools.panel()


def state_of(panel):
    """All that a saved notebook would hold."""
    states = [
        widget.get_state()
        for widget in ipywidgets.Widget.get_manager_state()["state"].values()
        if hasattr(widget, "get_state")
    ]
    return str(ipywidgets.Widget.get_manager_state(drop_defaults=False)) + str(states)


def typed(panel, address, key):
    """The message that the page sends when the form is sent."""
    values = {"address": address, "key": key}
    panel.key.form._handle_custom_msg({"event": "submit", "values": values}, [])


def test_the_key_is_used_and_is_in_no_state_repr_or_log(panel, service, caplog):
    caplog.set_level(logging.DEBUG)
    assert panel.key.opened
    typed(panel, service, KEY)
    assert not panel.key.opened
    assert service in panel.head.value
    panel.lookup.form.submit(state="TX", zip="78701")
    panel.session.background.settle()
    assert "8.25%" in panel.lookup.card.value
    everything = state_of(panel) + repr(panel) + repr(vars(panel.session)) + caplog.text
    assert KEY not in everything
    assert service in everything  # it was looked for where things are


def test_what_is_missing_or_unusable_is_said_at_the_field(panel):
    typed(panel, "", "")
    assert set(panel.key.form.errors) == {"address", "key"}
    typed(panel, "rates", KEY)
    assert "is not usable" in panel.key.form.errors["address"]
    assert KEY not in str(panel.key.form.errors)
    typed(panel, "https://rates.example", "ü")
    assert "HTTP header" in panel.key.form.errors["key"]
    assert not panel.session.connected


def test_a_wrong_key_is_a_sentence_and_another_can_be_given(panel, service):
    typed(panel, service, "a-key-of-nobody-0123456789")
    panel.lookup.form.submit(state="TX", zip="78701")
    panel.session.background.settle()
    assert "does not accept the key" in panel.lookup.message.html
    assert "Support reference" in panel.lookup.message.html
    assert "a-key-of-nobody" not in panel.lookup.message.html
    panel.key.change.click()
    assert panel.key.opened
    typed(panel, service, KEY)
    panel.lookup.form.submit(state="TX", zip="78701")
    panel.session.background.settle()
    assert "8.25%" in panel.lookup.card.value


def test_a_service_that_sends_the_key_back_does_not_bring_it_onto_the_page(panel, faults):
    faults.will(answer(401, f'{{"error": {{"message": "no {KEY}", "code": "X"}}}}'.encode()))
    typed(panel, faults.base_url, KEY)
    panel.lookup.form.submit(state="TX", zip="78701")
    panel.session.background.settle()
    assert "does not accept the key" in panel.lookup.message.html
    assert KEY not in state_of(panel)


def test_the_embedded_service_is_one_click(panel):
    panel.key.embedded.click()
    panel.session.background.settle(60)
    assert panel.session.service_name == "embedded service"
    assert "embedded service" in panel.head.value
    assert not panel.key.opened
    assert panel.session.code.endswith("svc_tools.connect('embedded')")
    assert panel.session.address is None, "its own address is none that a key would be for"


def test_half_a_configuration_is_said_in_the_panel(monkeypatch):
    monkeypatch.setenv("SVC_API_KEY", KEY)
    panel = svc_tools.panel()
    assert "SVC_BASE_URL" in panel.key.message.html
    assert KEY not in panel.key.message.html
    assert panel.key.opened


def test_a_client_given_leaves_the_form_closed(service):
    with Svc(SecretStr(KEY), base_url=service) as client:
        panel = svc_tools.panel(client)
        assert not panel.key.opened
        assert service in panel.head.value


def test_a_key_given_while_the_embedded_service_starts_is_the_later_choice(
    panel, service, monkeypatch
):
    go, asked = threading.Event(), []

    def slow(name):
        asked.append(name)
        go.wait(10)
        return Svc("key-of-the-embedded", base_url="http://127.0.0.1:9")

    monkeypatch.setattr("svc_tools.widgets.panel.config.connect", slow)
    panel.key.embedded.click()
    assert panel.key.embedded.disabled, "it is not started twice"
    typed(panel, service, KEY)
    go.set()
    for thread in threading.enumerate():
        if thread.name == "svc-tools panel":
            thread.join(10)
    panel.session.background.settle()
    assert asked == ["embedded"]
    assert panel.session.service_name == service
    assert service in panel.head.value
    assert not panel.key.embedded.disabled


def test_an_embedded_service_that_does_not_start_is_said_and_can_be_tried_again(panel, monkeypatch):
    def broken(_name):
        raise OSError("no room for its database")

    monkeypatch.setattr("svc_tools.widgets.panel.config.connect", broken)
    panel.key.embedded.click()
    panel.session.background.settle()
    assert "No room for its database" in panel.key.message.html
    assert not panel.key.embedded.disabled
    assert panel.key.opened


def test_the_first_screen_says_what_to_do_and_names_no_service(panel, service):
    assert "First choose a service" in panel.key.note.value
    assert panel.key.note.layout.display == ""
    assert "none yet" in panel.head.value
    typed(panel, service, KEY)
    assert "none yet" not in panel.head.value
    panel.key.change.click()
    assert panel.key.note.layout.display == "none"


def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(panel):
    for key in ("a-secret\nb", "a-secret\u200by", "a-secret\x00", "\u201ca-secret\u201d"):
        typed(panel, "https://rates.example", key)
        assert "HTTP header" in panel.key.form.errors["key"]
        assert "a-secret" not in str(panel.key.form.get_state()) + panel.key.message.html
        assert not panel.session.connected


def test_blanks_around_a_key_are_no_part_of_it(panel, faults):
    typed(panel, f" {faults.base_url} ", f"  {KEY}\r\n")
    panel.lookup.form.submit(state="TX", zip="78701")
    panel.session.background.settle()
    assert faults.seen[0].headers["x-api-key"] == KEY
