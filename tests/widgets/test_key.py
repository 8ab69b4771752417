"""The key: typed once, used, and to be found nowhere afterwards."""

from __future__ import annotations

import logging

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
    assert "8.25 %" in panel.lookup.card.value
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
    assert "8.25 %" in panel.lookup.card.value


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
