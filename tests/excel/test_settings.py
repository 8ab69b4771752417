"""The service of the cells, its key in the keyring, and the file of the local server."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import traceback

import keyring as keyring_package
import pytest
from keyring.backends.chainer import ChainerBackend
from keyring.backends.fail import Keyring as FailKeyring
from keyring.backends.null import Keyring as NullKeyring
from pydantic import SecretStr
from support.faults import KEY
from support.keyrings import (
    ForgetfulKeyring,
    LockedKeyring,
    MemoryKeyring,
    PlainKeyring,
    use_keyring,
)
from support.secrets import files_with
from support.spreadsheets import desk_of, shown

from svc_tools import ConfigurationError, config
from svc_tools.excel import server_file, settings
from svc_tools.excel import settings as keys
from svc_tools.excel.settings import forget_key_of, keyring_name, store_key, stored_key

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


def test_a_key_is_kept_for_one_address_until_it_is_forgotten(monkeypatch):
    backend = use_keyring(monkeypatch)
    store_key(f"{ADDRESS}/", SecretStr(f" {KEY}\n"))
    assert backend.kept == {("svc-tools", ADDRESS): KEY}
    assert stored_key(ADDRESS).get_secret_value() == KEY
    assert KEY not in repr(stored_key(ADDRESS))
    assert stored_key("https://other.example") is None
    store_key(ADDRESS, SecretStr("the-next-one"))
    assert stored_key(ADDRESS).get_secret_value() == "the-next-one"
    assert forget_key_of(ADDRESS) is True
    assert forget_key_of(ADDRESS) is False
    assert backend.kept == {}


def test_an_empty_key_is_refused(monkeypatch):
    backend = use_keyring(monkeypatch)
    with pytest.raises(ConfigurationError, match="empty"):
        store_key(ADDRESS, SecretStr(" \n"))
    assert backend.kept == {}


class OfOthers(MemoryKeyring):
    """One of the collection of keyrings that write files, whatever it says of itself."""


OfOthers.__module__ = "keyrings.alt.file"


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        (FailKeyring(), "no keyring was found"),
        (NullKeyring(), "store nothing"),
        (PlainKeyring(), "does not store keys safely"),
        (OfOthers(), "keyrings.alt.file.OfOthers does not store keys safely"),
        (ForgetfulKeyring(), "stores nothing"),
        (LockedKeyring(), "KeyringLocked"),
    ],
)
def test_a_keyring_that_is_not_safe_or_not_open_is_refused_in_a_sentence(
    monkeypatch, backend, said
):
    use_keyring(monkeypatch, backend)
    with pytest.raises(ConfigurationError, match=said) as caught:
        store_key(ADDRESS, SecretStr(KEY))
    assert "SVC_API_KEY" in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert getattr(backend, "kept", {}) == {}


@pytest.mark.parametrize("backend", [FailKeyring(), NullKeyring(), LockedKeyring()])
def test_reading_from_it_is_refused_as_well(monkeypatch, backend):
    use_keyring(monkeypatch, backend)
    with pytest.raises(ConfigurationError):
        stored_key(ADDRESS)
    with pytest.raises(ConfigurationError):
        forget_key_of(ADDRESS)


def test_of_several_keyrings_the_key_goes_to_the_safe_one(monkeypatch):
    safe, plain = MemoryKeyring(), PlainKeyring()
    monkeypatch.setattr(ChainerBackend, "backends", [safe, plain])
    use_keyring(monkeypatch, ChainerBackend())
    store_key(ADDRESS, SecretStr(KEY))
    assert (list(safe.kept.values()), plain.kept) == ([KEY], {})
    monkeypatch.setattr(ChainerBackend, "backends", [plain])
    with pytest.raises(ConfigurationError, match="safely"):
        stored_key(ADDRESS)


def test_a_keyring_that_does_not_load_is_a_sentence_too(monkeypatch):
    monkeypatch.setattr(keyring_package.core, "_keyring_backend", None)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "absent_module.Keyring")
    with pytest.raises(ConfigurationError, match="does not load"):
        keyring_name()


URL = "https://localhost:8643"


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return server_file.server_path()


def test_before_the_first_run_there_is_a_new_token_and_no_port():
    assert server_file.read() is None
    assert server_file.last_port() is None
    one, other = server_file.last_token(), server_file.last_token()
    assert one != other
    assert len(one.get_secret_value()) >= 32


def test_token_and_port_stay_the_same_from_run_to_run(path, tmp_path):
    token = server_file.last_token()
    server_file.publish(f"{URL}/", token, tmp_path / "cert.pem")
    running = server_file.read()
    assert (running.url, running.pid) == (URL, os.getpid())
    assert running.certificate == tmp_path / "cert.pem"
    server_file.withdraw()
    stopped = server_file.read()
    assert stopped.pid is None
    assert (stopped.url, stopped.token) == (URL, token)
    assert (server_file.last_token(), server_file.last_port()) == (token, 8643)
    assert token.get_secret_value() not in repr(stopped)


def test_only_its_owner_reads_it(path):
    server_file.publish(URL, SecretStr("token"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    server_file.publish(URL, SecretStr("token"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {
        "url": URL,
        "token": "token",
        "pid": os.getpid(),
        "certificate": None,
    }


def test_a_run_that_ends_late_does_not_withdraw_the_next_one(path):
    server_file.publish(URL, SecretStr("token"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": 1}))
    server_file.withdraw()
    assert server_file.read().pid == 1


@pytest.mark.parametrize("content", ["{}", '{"url": 1, "token": "t"}', '{"url": "", "token": ""}'])
def test_a_file_that_says_nothing_is_as_none(path, content):
    path.parent.mkdir()
    path.write_text(content)
    assert server_file.read() is None


def test_a_file_that_cannot_be_read_is_a_sentence_that_names_it(path):
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(ConfigurationError, match=r"server\.json cannot be read"):
        server_file.last_token()
