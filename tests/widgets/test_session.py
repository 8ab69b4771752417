"""What the tabs share: who is asked, and with what; the key is shown nowhere."""

from __future__ import annotations

import ast
import stat

import pytest
from pydantic import SecretStr
from support.faults import KEY

from svc_sdk import Svc
from svc_tools.widgets.session import Session


def test_nothing_configured_is_no_service_and_starts_none():
    session = Session()
    assert not session.connected
    assert session.service_name == "no service"
    assert "connect()" in session.code


def test_the_configured_service_is_asked(monkeypatch, service):
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_BASE_URL", f"{service}/")
    session = Session()
    assert session.service_name == service
    assert session.client.lookup("TX", zip="78701").rate.state == "TX"
    assert KEY not in repr(session) + session.code
    assert session.code.endswith("svc_tools.connect()")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SVC_API_KEY", KEY, "SVC_BASE_URL"),
        ("SVC_BASE_URL", "https://rates.example", "SVC_API_KEY"),
    ],
)
def test_half_a_configuration_is_told_and_not_raised(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    session = Session()
    assert not session.connected
    assert said in str(session.configuration_error)
    assert KEY not in str(session.configuration_error)
    session.use_key(SecretStr(KEY), "https://rates.example")
    assert session.configuration_error is None


def test_a_key_given_later_is_used_and_everybody_is_told(service):
    session, told = Session(), []
    session.on_change(lambda: told.append(session.service_name))
    session.use_key(SecretStr(KEY), service)
    assert told == [service]
    assert session.connected
    assert KEY not in repr(vars(session))
    ast.parse(session.code)
    assert f"base_url='{service}'" in session.code


def test_a_key_that_cannot_be_used_leaves_the_client_before(scripted):
    session = Session(scripted)
    for key, address in (("", None), ("  ", None), (KEY, "no address")):
        with pytest.raises(ValueError, match=r"key|address"):
            session.use_key(SecretStr(key), address)
    assert session.client is scripted


def test_the_address_stays_where_only_the_key_is_new(scripted):
    session = Session(scripted)
    session.use_key(SecretStr(KEY))
    assert session.client.base_url == scripted.base_url


def test_the_folder_is_private_and_goes_with_the_session_unless_it_is_the_users(tmp_path):
    session = Session()
    folder = session.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    del session
    assert not folder.exists()
    kept = Session(folder=tmp_path / "mine")
    (kept.folder / "result.csv").write_text("a")
    del kept
    assert (tmp_path / "mine" / "result.csv").exists()


def test_a_client_of_the_wrong_kind_is_refused():
    with pytest.raises(TypeError, match=r"svc_sdk\.Svc"):
        Session("key")


def test_a_client_that_was_given_is_not_closed(service):
    with Svc(KEY, base_url=service) as client:
        session = Session(client)
        del session
        assert client.health().status == "ok"
