"""The key: typed once, used, and to be found nowhere afterwards."""

from __future__ import annotations

import logging
import threading

import ipywidgets
import pytest
from support.faults import HANG, KEY, LISTED, RESET, answer, echo

import svc_tools
from svc_sdk import Svc


@pytest.fixture
def panel():
    ipywidgets.Widget.close_all()  # what earlier tests left would be searched for keys, too
    return svc_tools.panel()


def saved_state():
    """All that a saved notebook would hold."""
    return str(ipywidgets.Widget.get_manager_state(drop_defaults=False))


def typed(panel, address, key):
    """The message that the page sends when the form is sent; the key is checked then."""
    values = {"address": address, "key": key}
    panel.key.form._handle_custom_msg({"event": "submit", "values": values}, [])
    panel.session.background.settle()


def look_up(panel):
    panel.lookup.form.submit(state="TX", place="78701")
    panel.session.background.settle()


def test_the_key_is_used_and_is_in_no_state_repr_or_log(panel, service, caplog):
    caplog.set_level(logging.DEBUG)
    assert panel.key.opened
    typed(panel, service, KEY)
    assert not panel.key.opened
    assert service in panel.head.value
    look_up(panel)
    assert "8.25%" in panel.lookup.card.value
    panel.key.change.click()
    assert panel.key.opened
    assert panel.key.note.layout.display == "none"
    everything = saved_state() + repr(panel) + repr(vars(panel.session)) + caplog.text
    assert KEY not in everything
    assert service in everything  # it was looked for where things are


@pytest.mark.parametrize(
    ("address", "key", "fields"),
    [
        ("", "", {"address", "key"}),
        ("rates", "a-secret-0123456789", {"address"}),
        # one in the field of the other
        ("a-secret-0123456789", "https://rates.example/a-secret", {"key"}),
        ("a-secret-0123456789", "a-secret-0123456789", {"address"}),
        ("https://rates.example", "https://rates.example/a-secret", {"key"}),
        *(
            ("https://rates.example", key, {"key"})
            for key in ("a-secret\nb", "a-secret\u200by", "a-secret\x00", "\u201ca-secret\u201d")
        ),
    ],
)
def test_an_unusable_address_or_key_is_reported_at_its_field(panel, address, key, fields):
    typed(panel, address, key)
    assert set(panel.key.form.errors) == fields
    assert "a-secret" not in saved_state() + panel.key.message.html
    assert not panel.session.connected
    assert panel.key.note.layout.display == ""  # how to begin is explained until there is one


def test_a_service_that_sends_the_key_back_does_not_bring_it_onto_the_page(panel, faults):
    refusal = answer(401, f'{{"error": {{"message": "no {KEY}", "code": "X"}}}}'.encode())
    faults.will(LISTED, refusal)
    typed(panel, faults.base_url, KEY)
    look_up(panel)
    assert "does not accept the key" in panel.lookup.message.html
    typed(panel, faults.base_url, KEY)
    assert "does not accept the key" in panel.key.form.errors["key"]
    assert KEY not in saved_state()


REFUSED = [
    (answer(401, b'{"error": {"code": "UNAUTHORIZED"}}'), "key", "does not accept the key"),
    (answer(402, b'{"error": {"code": "BILLING_REQUIRED"}}'), "key", "billing"),
    (RESET, "address", "does not respond"),
    (answer(200, b"<html>"), "address", "not from the service"),
]


@pytest.mark.parametrize("refused", REFUSED)
def test_a_wrong_key_or_address_is_reported_when_it_is_entered_and_spends_no_lookup(
    panel, faults, service, refused
):
    step, field, said = refused
    typed(panel, service, KEY)
    faults.will(step)
    panel.key.change.click()
    panel.key.form.values = {"address": faults.base_url}
    typed(panel, faults.base_url, "wrong-key-0123456789")
    assert said in panel.key.form.errors[field]
    assert panel.key.opened
    assert panel.key.form.values == {"address": faults.base_url}, "what was typed stays"
    assert "wrong-key" not in saved_state()
    assert panel.session.service_name == service, "the service in use stays in use"
    assert [one.target for one in faults.seen] == ["/v1/portability/nexus?state=TX"]
    assert not panel.key.form.busy


def test_an_address_with_a_wrong_path_is_reported_at_its_field(panel, faults):
    faults.will(answer(404, b'{"detail": "Not Found"}'))
    typed(panel, faults.base_url, KEY)
    assert set(panel.key.form.errors) == {"address"}
    assert "No service is at this address" in panel.key.form.errors["address"]
    assert not panel.session.connected


def test_a_check_that_hangs_can_be_canceled_and_the_next_key_is_used(panel, faults, service):
    faults.will(HANG)
    values = {"address": faults.base_url, "key": KEY}
    panel.key.form._handle_custom_msg({"event": "submit", "values": values}, [])
    assert faults.asked.wait(10)
    assert panel.key.form.busy
    panel.key.form.cancel()
    assert not panel.key.form.busy
    assert not panel.session.connected
    typed(panel, service, KEY)
    assert panel.session.service_name == service


def test_the_embedded_service_is_one_click(panel):
    panel.key.embedded.click()
    panel.session.background.settle(60)
    assert panel.session.service_name == "embedded service"
    assert "embedded service" in panel.head.value
    assert not panel.key.opened
    assert panel.session.code.endswith("svc_tools.connect('embedded')")
    assert panel.session.address is None, "its own address is none that a key would be for"


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


def test_blanks_around_a_key_are_no_part_of_it(panel, faults):
    faults.will(LISTED, echo)
    typed(panel, f" {faults.base_url} ", f"  {KEY}\r\n")
    look_up(panel)
    assert [one.headers["x-api-key"] for one in faults.seen] == [KEY, KEY]
