"""What the task pane says and does, without a browser: over real services and a keyring."""

from __future__ import annotations

import json

import pytest
from pydantic import SecretStr
from support.faults import KEY, answer, echoing
from support.keyrings import PlainKeyring, use_keyring
from support.secrets import files_with

import svc_tools
from svc_tools.excel import settings
from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import run
from svc_tools.excel.officejs import pages

AUSTIN = ("TX", "78701", "2026-05-01")


@pytest.fixture
def keyring(monkeypatch):
    return use_keyring(monkeypatch)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, keyring):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return tmp_path / "excel"


@pytest.fixture
def desk():
    return Desk(svc_tools.connect("embedded"), cache=False)


@pytest.fixture
def scripted_desk(scripted):
    return Desk(scripted, cache=False)


def test_the_status_names_the_embedded_service_its_edition_and_what_is_kept(desk):
    before = pages.status(desk)
    assert before["service"] == "Embedded service"
    assert before["source"].startswith("Rate book of 20")
    assert (before["cached"], before["oldest"], before["problem"]) == (0, None, None)
    run(desk, "SVC_RATE", *AUSTIN)
    after = json.loads(json.dumps(pages.status(desk)))
    assert after["cached"] == 1
    assert after["oldest"].endswith("+00:00")


def test_the_status_says_what_became_of_the_kept_answers(tmp_path):
    (tmp_path / "answers.db").write_bytes(b"no database at all" * 500)
    desk = Desk(svc_tools.connect("embedded"), cache=tmp_path / "answers.db")
    assert pages.status(desk)["notes"] == ""
    run(desk, "SVC_RATE", *AUSTIN, "partial")
    assert "set aside" in pages.status(desk)["notes"]


def test_the_status_of_a_service_says_what_is_wrong_with_its_reference(faults, scripted_desk):
    refused = {"error": {"code": "UNAUTHORIZED", "message": "No.", "support_reference": "req_7"}}
    faults.will(answer(401, json.dumps(refused).encode()))
    told = pages.status(scripted_desk)
    assert told["service"] == faults.base_url
    assert told["problem"]["title"] == "The service does not accept the key"
    assert told["problem"]["reference"] == "req_7"
    assert len(faults.seen) == 1, "a person waits: it is asked once"


def test_a_plan_without_nexus_has_accepted_the_key(faults, scripted_desk):
    faults.will(answer(403, b'{"error": {"code": "PLAN", "message": "x"}}'))
    assert pages.status(scripted_desk)["problem"] is None


@pytest.mark.parametrize("status", [404, 405])
def test_a_service_that_lists_no_nexus_is_asked_for_its_health(faults, scripted_desk, status):
    faults.will(answer(status, b"{}"), answer(200, b'{"status": "ok"}'))
    assert pages.status(scripted_desk)["problem"] is None
    assert faults.seen[-1].target == "/healthz"


@pytest.mark.parametrize("status", [200, 302, 403, 404])
def test_a_page_of_something_else_is_not_taken_for_the_service(faults, scripted_desk, status):
    faults.will(answer(status, b"<html>sign in</html>"))
    assert pages.status(scripted_desk)["problem"]["title"] == "The response is not from the service"


def test_half_a_configuration_is_said_and_never_answered_by_another_service(service):
    settings.remember(service, SecretStr(KEY))
    settings.forget_key()
    told = pages.status(Desk(cache=False))
    assert told["service"] == "No service"
    assert service in told["problem"]["text"]
    assert told["address"] == service
    assert not told["embedded"]


def test_a_key_is_checked_kept_and_used(desk, service, keyring, folder):
    run(desk, "SVC_RATE", *AUSTIN)
    told = pages.use_key(desk, f" {service}/ ", SecretStr(KEY))
    assert told["message"].startswith(f"{service} accepts the key.")
    assert list(keyring.kept.values()) == [KEY]
    assert files_with(KEY, folder)[0] == []
    status = pages.status(desk)
    assert (status["service"], status["has_key"], status["cached"]) == (service, True, 0)
    assert status["problem"] is None
    assert KEY not in json.dumps([told, status])
    assert run(desk, "SVC_SOURCE") == service


UNUSABLE = [
    ("{service}", "wrong-key-0123456789", "key", "does not accept the key"),
    ("{service}", "two\nlines", "key", "cannot be a key"),
    ("rates.example", KEY, "address", "not an address"),
    ("http://127.0.0.1:9", KEY, "address", "does not respond"),
]


@pytest.mark.parametrize("given", UNUSABLE)
def test_what_cannot_be_used_is_said_and_changes_nothing(desk, service, keyring, folder, given):
    address, key, field, words = given
    told = pages.use_key(desk, address.format(service=service), SecretStr(key))
    assert words in told["problem"]["title"]
    assert told["problem"]["field"] == field
    assert key not in json.dumps(told)
    assert keyring.kept == {}
    assert not folder.exists() or list(folder.iterdir()) == []
    assert pages.status(desk)["service"] == "Embedded service"


def test_a_keyring_that_is_not_safe_keeps_no_key_and_none_is_used(desk, service, monkeypatch):
    plain = use_keyring(monkeypatch, PlainKeyring())
    told = pages.use_key(desk, service, SecretStr(KEY))
    assert told["problem"]["title"] == "The key cannot be stored"
    assert "no safe place for a key" in told["problem"]["text"]
    assert plain.kept == {}
    assert pages.status(desk)["service"] == "Embedded service"


def test_a_forgotten_key_leaves_the_cells_without_an_answer_and_says_so(desk, service, keyring):
    pages.use_key(desk, service, SecretStr(KEY))
    assert service in pages.forget_key(desk)["message"]
    assert keyring.kept == {}
    assert "keyring has no key" in pages.status(desk)["problem"]["text"]
    with pytest.raises(Exception, match="keyring has no key"):
        run(desk, "SVC_RATE", *AUSTIN)
    assert pages.forget_key(desk)["message"] == "There was no key to remove."


def test_the_embedded_service_answers_when_it_is_chosen(desk, service, keyring):
    pages.use_key(desk, service, SecretStr(KEY))
    assert "embedded service" in pages.use_embedded(desk)["message"]
    assert pages.status(desk)["embedded"]
    assert list(keyring.kept.values()) == [KEY], "another day it may be wanted"


def test_where_the_environment_decides_nothing_else_does(service, keyring, monkeypatch):
    monkeypatch.setenv("SVC_BASE_URL", service)
    monkeypatch.setenv("SVC_API_KEY", KEY)
    desk = Desk(cache=False)
    assert "SVC_BASE_URL and SVC_API_KEY" in pages.status(desk)["locked"]
    for told in (
        pages.use_key(desk, service, SecretStr("another")),
        pages.forget_key(desk),
        pages.use_embedded(desk),
    ):
        assert told["problem"]["title"] == "The environment names the service"
    assert pages.status(desk)["service"] == service
    assert keyring.kept == {}


def test_a_refresh_says_how_many_answers_changed(faults, scripted_desk):
    assert pages.refresh(scripted_desk)["requested"] == 0
    assert run(scripted_desk, "SVC_RATE", *AUSTIN) == 0.0825
    faults.will(echoing(rate={"combined_rate": "0.08500", "city_rate": "0.01250"}))
    told = pages.refresh(scripted_desk)
    assert (told["requested"], told["changed"], told["failed"]) == (1, 1, 0)
    assert "1 result changed" in told["message"]
    assert run(scripted_desk, "SVC_RATE", *AUSTIN) == 0.085
