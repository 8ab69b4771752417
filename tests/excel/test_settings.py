"""Who answers the cells: environment, settings with keyring, embedded; never half of one."""

from __future__ import annotations

import contextlib
import json
import stat

import pytest
from keyring.backends.fail import Keyring as FailKeyring
from pydantic import SecretStr
from support.desks import desk_of, shown
from support.faults import KEY
from support.keyrings import use_keyring
from support.secrets import files_with

from svc_tools import ConfigurationError, config
from svc_tools.excel import settings
from svc_tools.excel import settings as keys

ADDRESS = "https://rates.example"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return tmp_path / "excel"


@pytest.fixture(autouse=True)
def keyring(monkeypatch):
    return use_keyring(monkeypatch)


def test_where_nothing_is_said_the_embedded_service_answers():
    told = settings.describe()
    assert (told.known_from, told.service, told.key) == ("nothing", "embedded", "none needed")
    with settings.client() as client:
        assert config.service_name(client) == "embedded service"


def test_what_was_set_up_answers_with_the_key_of_the_keyring(service):
    assert settings.remember(f" {service}/ ", SecretStr(KEY)) == service
    told = settings.describe()
    assert (told.known_from, told.service, told.key) == ("settings", service, "keyring")
    with settings.client() as client:
        assert client.base_url == service
        assert client.lookup("TX", zip="78701").rate.combined_rate


def test_the_environment_comes_first(monkeypatch):
    settings.remember(ADDRESS, SecretStr("another-key"))
    monkeypatch.setenv("SVC_BASE_URL", "https://first.example")
    monkeypatch.setenv("SVC_API_KEY", KEY)
    told = settings.describe()
    assert (told.known_from, told.service, told.key) == (
        "environment",
        "https://first.example",
        "environment",
    )
    with settings.client() as client:
        assert client.base_url == "https://first.example"


@pytest.mark.parametrize(
    ("variables", "said"),
    [({"SVC_API_KEY": KEY}, "SVC_BASE_URL"), ({"SVC_BASE_URL": ADDRESS}, "SVC_API_KEY")],
)
def test_half_of_the_environment_is_an_error_whatever_the_settings_are(
    monkeypatch, variables, said
):
    settings.remember(ADDRESS, SecretStr("another-key"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told = settings.describe()
    assert (told.known_from, told.service) == ("environment", None)
    assert said in told.problem
    assert KEY not in repr(told)
    with pytest.raises(ConfigurationError, match=said):
        settings.client()


def test_an_address_without_its_key_is_an_error_and_not_the_embedded_service():
    settings.remember(ADDRESS, SecretStr(KEY))
    assert settings.forget_key() == ADDRESS
    assert settings.chosen() == ADDRESS
    with pytest.raises(ConfigurationError, match=f"no key for it.*--base-url {ADDRESS}"):
        settings.client()
    assert settings.describe().known_from == "settings"
    assert settings.forget_key() is None


def test_a_keyring_that_is_gone_is_an_error_and_not_the_embedded_service(monkeypatch):
    settings.remember(ADDRESS, SecretStr(KEY))
    use_keyring(monkeypatch, FailKeyring())
    with pytest.raises(ConfigurationError, match="no keyring was found"):
        settings.client()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"service": 7}', '{"service": " "}', '{"service": "rates"}', "\xff"]
)
def test_settings_that_cannot_be_read_are_an_error_and_stay_as_they_are(folder, content):
    folder.mkdir()
    path = folder / "settings.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(ConfigurationError):
        settings.client()
    assert settings.describe().problem
    if content not in {'{"service": 7}', '{"service": " "}', '{"service": "rates"}'}:
        with pytest.raises(ConfigurationError, match="Set it aside"):
            settings.choose_embedded()
        assert path.read_text(encoding="latin-1") == content


def test_the_embedded_service_may_be_chosen_and_other_settings_stay(folder):
    folder.mkdir()
    path = folder / "settings.json"
    path.write_text('{"later": 1}')
    settings.choose_embedded()
    assert json.loads(path.read_text()) == {"later": 1, "service": "embedded"}
    told = settings.describe()
    assert (told.known_from, told.service) == ("settings", "embedded")


@pytest.mark.parametrize(
    "address", ["rates", "ftp://rates.example", "https://u:p@rates.example", ""]
)
def test_an_address_that_is_none_is_refused_before_anything_is_kept(folder, keyring, address):
    with pytest.raises(ConfigurationError, match="address cannot be used") as caught:
        settings.remember(address, SecretStr(KEY))
    assert "base_url" not in str(caught.value)
    assert keyring.kept == {}
    assert not folder.exists()


def test_a_key_that_cannot_be_kept_leaves_the_address_as_it_was(monkeypatch, folder):
    settings.choose_embedded()
    use_keyring(monkeypatch, FailKeyring())
    with pytest.raises(ConfigurationError):
        settings.remember(ADDRESS, SecretStr(KEY))
    assert settings.chosen() == "embedded"
    assert files_with(KEY, folder)[0] == []


def test_the_files_are_their_owners_alone_and_hold_no_key(folder):
    settings.remember(ADDRESS, SecretStr(KEY))
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert json.loads(path.read_text()) == {"service": ADDRESS}
    assert files_with(KEY, folder)[0] == []
    assert keys.stored_key(ADDRESS).get_secret_value() == KEY
    shown = repr(settings._found()) + repr(settings.describe())
    assert KEY not in shown


def test_the_folder_is_the_users_own_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("SVC_EXCEL")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config.excel_folder().parts[-2:] == ("svc-tools", "excel")
    monkeypatch.setenv("SVC_EXCEL", "~nobody-of-that-name/excel")
    with pytest.raises(ConfigurationError, match="SVC_EXCEL"):
        settings.client()


def test_cells_say_who_answers_and_where_half_of_it_is_missing_that(service):
    settings.remember(service, SecretStr(KEY))
    with contextlib.closing(settings.client()) as client:
        desk = desk_of(client)
        assert service in shown(desk, "SVC_SOURCE")
    settings.forget_key()
    unable = desk_of(None)
    for call in (("SVC_RATE", "TX", "78701", "2026-05-01"), ("SVC_TAX", 10, "TX", "78701")):
        cell = shown(unable, *call)
        assert cell.startswith("#")
        assert f"svc-tools excel install --base-url {service}" in cell
