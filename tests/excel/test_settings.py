"""The service of the cells and its key: settings, keyring, `excel install`, `check`, the pane."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import keyring as keyring_package
import pytest
import xlwings
from filelock import FileLock
from keyring.backends.chainer import ChainerBackend
from keyring.backends.fail import Keyring as FailKeyring
from keyring.backends.null import Keyring as NullKeyring
from pydantic import SecretStr
from support.faults import HANG, KEY, LISTED, answer
from support.keyrings import (
    ForgetfulKeyring,
    LockedKeyring,
    MemoryKeyring,
    PlainKeyring,
    use_keyring,
)
from support.secrets import files_with
from support.spreadsheets import desk_of, shown
from support.systems import posix

import svc_tools
from svc_tools import ConfigurationError, config
from svc_tools.base import operating_system
from svc_tools.excel import settings, setup
from svc_tools.excel.officejs import pages
from svc_tools.excel.settings import keyring_name, stored_key
from svc_tools.excel.workbook import XLWINGS
from svc_tools.tables.places import Place

ADDRESS = "https://rates.example"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    # on Windows the registry and the file of xlwings would be those of whoever runs the tests
    monkeypatch.setattr(operating_system, "NAME", "linux")
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return tmp_path / "excel"


@pytest.fixture(autouse=True)
def keyring(monkeypatch):
    return use_keyring(monkeypatch)


def origin():
    """Where the service of the cells is known from, and the service."""
    found = settings.describe()
    return found.known_from, found.service


def test_without_settings_the_embedded_service_is_used():
    assert origin() == ("nothing", "embedded")
    with settings.client() as client:
        assert config.service_name(client) == "embedded service"


def test_what_was_set_up_is_used_with_the_key_of_the_keyring(service):
    settings.remember(f" {service}/ ", SecretStr(KEY))
    assert origin() == ("settings", service)
    with settings.client() as client:
        assert client.base_url == service
        assert client.lookup("TX", zip="78701").rate.combined_rate


def test_the_environment_comes_first(monkeypatch):
    settings.remember(ADDRESS, SecretStr("another-key"))
    monkeypatch.setenv("SVC_BASE_URL", "https://first.example")
    monkeypatch.setenv("SVC_API_KEY", KEY)
    assert origin() == ("environment", "https://first.example")
    with settings.client() as client:
        assert client.base_url == "https://first.example"
    setup.use_embedded()
    assert any("SVC_BASE_URL" in step for step in setup.install())
    assert "https://first.example" in setup.current_service()


@pytest.mark.parametrize(
    ("name", "value", "missing"),
    [("SVC_API_KEY", KEY, "SVC_BASE_URL"), ("SVC_BASE_URL", ADDRESS, "SVC_API_KEY")],
)
def test_half_of_the_environment_is_an_error_whatever_the_settings_are(
    monkeypatch, name, value, missing
):
    settings.remember(ADDRESS, SecretStr("another-key"))
    monkeypatch.setenv(name, value)
    assert origin() == ("environment", None)
    assert missing in settings.describe().problem
    assert KEY not in repr(settings.describe())
    with pytest.raises(ConfigurationError, match=missing):
        settings.client()


def test_nor_is_the_key_of_the_environment_sent_unencrypted_to_another_computer(monkeypatch):
    monkeypatch.setenv("SVC_BASE_URL", "http://rates.example")
    monkeypatch.setenv("SVC_API_KEY", KEY)
    assert origin() == ("environment", None)
    with pytest.raises(ConfigurationError, match="unencrypted"):
        settings.client()
    assert checked()["Service"].mark == "wrong"
    assert "#FAILED" in shown(desk_of(None), "SVC_RATE", "TX", "78701", "2026-05-01")


def test_an_address_without_its_key_is_an_error_and_not_the_embedded_service(service):
    settings.remember(service, SecretStr(KEY))
    with contextlib.closing(settings.client()) as client:
        assert service in shown(desk_of(client), "SVC_SOURCE")
    assert settings.forget_key() == service
    assert settings.forget_key() is None
    assert settings.chosen() == service
    command = f"svc-tools excel install --base-url {service}"
    with pytest.raises(ConfigurationError, match=command):
        settings.client()
    assert origin()[0] == "settings"
    desk = desk_of(None)
    for call in (
        ("SVC_RATE", "TX", "78701", "2026-05-01"),
        ("SVC_TAX", 10, "TX", "78701"),
        ("SVC_SOURCE",),
        ("SVC_NEXUS",),
    ):
        cell = shown(desk, *call)
        assert cell.startswith("#FAILED ")
        assert command in cell


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "\xff", '{"service": 7}', '{"service": " "}', '{"service": "rates"}']
)
def test_settings_that_cannot_be_read_are_an_error_and_stay_as_they_are(folder, content):
    folder.mkdir()
    path = folder / "settings.json"
    path.write_text(content, encoding="latin-1")
    assert settings.describe().problem
    assert origin()[0] == "settings"  # the pane can repair it
    assert pages.status(desk_of(None))["locked"] is None
    for use in (settings.client, *[settings.choose_embedded] * ("service" not in content)):
        with pytest.raises(ConfigurationError):
            use()
    assert path.read_text(encoding="latin-1") == content


@pytest.mark.parametrize("content", ["null", '["a"]', '["a", "b", "c"]', '"ab"', '["a", 7]', "7"])
def test_a_certificate_that_was_edited_into_something_else_is_none(folder, content):
    folder.mkdir()
    (folder / "settings.json").write_text(f'{{"certificate": {content}, "https": true}}')
    assert settings.certificate() == ((), True)
    assert checked()["Certificate"].mark == "not set up"


def test_the_embedded_service_may_be_chosen_and_other_settings_stay(folder):
    folder.mkdir()
    path = folder / "settings.json"
    path.write_text('{"later": 1}')
    settings.choose_embedded()
    assert json.loads(path.read_text()) == {"later": 1, "service": "embedded"}
    assert origin() == ("settings", "embedded")


def test_settings_that_another_program_holds_are_not_waited_for_without_end(folder, monkeypatch):
    monkeypatch.setattr(settings, "LOCK_PATIENCE", 0)
    folder.mkdir()
    with FileLock(folder / "settings.lock"), pytest.raises(ConfigurationError, match="another"):
        settings.choose_embedded()
    settings.choose_embedded()
    assert settings.chosen() == "embedded"


@pytest.mark.parametrize(
    "address",
    ["rates", "ftp://rates.example", "https://u:p@rates.example", "", KEY, "http://rates.example"],
)
def test_an_unusable_address_is_refused_before_anything_is_stored(folder, keyring, address):
    with pytest.raises(ConfigurationError, match="address cannot be used") as caught:
        settings.remember(address, SecretStr(KEY))
    assert "base_url" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert keyring.kept == {}
    assert not folder.exists()


def test_a_key_that_cannot_be_stored_leaves_the_address_as_it_was(monkeypatch, folder):
    settings.choose_embedded()
    use_keyring(monkeypatch, FailKeyring())
    with pytest.raises(ConfigurationError):
        settings.remember(ADDRESS, SecretStr(KEY))
    assert settings.chosen() == "embedded"
    assert files_with(KEY, folder)[0] == []


@posix
def test_the_files_are_their_owners_alone_and_hold_no_key(folder):
    settings.remember(ADDRESS, SecretStr(KEY))
    path = folder / "settings.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert json.loads(path.read_text()) == {"service": ADDRESS}
    assert files_with(KEY, folder)[0] == []
    assert KEY not in repr(settings.describe())


def test_what_two_programs_store_at_the_same_time_is_stored(folder):
    for _ in range(50):
        with ThreadPoolExecutor(2) as threads:
            stored = (
                threads.submit(setup.use_embedded),
                threads.submit(settings.remember_certificate),
            )
        assert [one.exception() for one in stored] == [None, None]
        path = folder / "settings.json"
        assert json.loads(path.read_text()) == {"service": "embedded", "https": False}
        path.unlink()


def test_a_folder_that_cannot_be_made_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "file" / "excel"))
    with pytest.raises(ConfigurationError, match="excel cannot be written"):
        setup.use_embedded()


def test_a_folder_that_cannot_be_found_is_an_error(monkeypatch):
    monkeypatch.setenv("SVC_EXCEL", "~nobody-of-that-name/excel")
    with pytest.raises(ConfigurationError, match="SVC_EXCEL"):
        settings.client()


def test_a_key_is_stored_for_one_address_until_it_is_removed(keyring):
    settings.remember(f"{ADDRESS}/", SecretStr(f" {KEY}\n"))
    assert keyring.kept == {("svc-tools", ADDRESS): KEY}
    assert stored_key(ADDRESS).get_secret_value() == KEY
    assert KEY not in repr(stored_key(ADDRESS))
    assert stored_key("https://other.example") is None
    with pytest.raises(ConfigurationError, match="empty"):
        settings.remember(ADDRESS, SecretStr(" \n"))
    settings.remember(ADDRESS, SecretStr("the-next-one"))
    assert stored_key(ADDRESS).get_secret_value() == "the-next-one"
    settings.choose_embedded()
    assert settings.forget_key() is None
    settings.remember(ADDRESS, SecretStr(KEY))
    assert settings.forget_key() == ADDRESS
    assert settings.forget_key() is None
    assert keyring.kept == {}


class OfOthers(MemoryKeyring):
    """One of the collection of keyrings that write files, whatever it says of itself."""


OfOthers.__module__ = "keyrings.alt.file"


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (FailKeyring(), "no keyring was found"),
        (NullKeyring(), "null.Keyring does not store keys safely"),
        (PlainKeyring(), "does not store keys safely"),
        (OfOthers(), "keyrings.alt.file.OfOthers does not store keys safely"),
        (ForgetfulKeyring(), "stores nothing"),
        (LockedKeyring(), "KeyringLocked"),
    ],
)
def test_an_unsafe_or_locked_keyring_is_refused(monkeypatch, backend, reason):
    use_keyring(monkeypatch, backend)
    with pytest.raises(ConfigurationError, match=reason) as caught:
        settings.remember(ADDRESS, SecretStr(KEY))
    assert "SVC_API_KEY" in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert getattr(backend, "kept", {}) == {}
    if not isinstance(backend, ForgetfulKeyring):
        with pytest.raises(ConfigurationError):
            stored_key(ADDRESS)


def test_of_several_keyrings_the_key_goes_to_the_safe_one(monkeypatch):
    safe, plain = MemoryKeyring(), PlainKeyring()
    monkeypatch.setattr(ChainerBackend, "backends", [safe, plain])
    use_keyring(monkeypatch, ChainerBackend())
    settings.remember(ADDRESS, SecretStr(KEY))
    assert (list(safe.kept.values()), plain.kept) == ([KEY], {})
    monkeypatch.setattr(ChainerBackend, "backends", [plain])
    with pytest.raises(ConfigurationError, match="safely"):
        stored_key(ADDRESS)


def test_a_keyring_that_does_not_load_is_an_error(monkeypatch):
    monkeypatch.setattr(keyring_package.core, "_keyring_backend", None)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "absent_module.Keyring")
    with pytest.raises(ConfigurationError, match="does not load"):
        keyring_name()


def test_a_run_that_ends_late_does_not_withdraw_the_next_one(folder):
    settings.publish_server("https://localhost:8643", SecretStr("token"))
    path = folder / "server.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": 1}))
    settings.withdraw_server()
    assert settings.read_server().pid == 1


@pytest.mark.parametrize("content", ["{}", '{"url": 1, "token": "t"}', '{"url": "", "token": ""}'])
def test_a_file_without_an_address_or_a_token_is_no_server(folder, content):
    folder.mkdir()
    path = folder / "server.json"
    path.write_text(content)
    assert settings.read_server() is None
    path.write_text("{")
    with pytest.raises(ConfigurationError, match=r"server\.json cannot be read"):
        settings.read_server()


@pytest.fixture
def conf(monkeypatch, tmp_path):
    """The file that tells xlwings which Python Excel starts, on Windows; it is not there yet."""
    monkeypatch.setattr(operating_system, "NAME", "win32")
    path = tmp_path / "home" / ".xlwings" / "xlwings.conf"
    monkeypatch.setattr(xlwings, "USER_CONFIG_FILE", str(path))
    return path


def test_excel_starts_this_python(conf):
    for _ in range(2):
        assert sys.executable in setup.use_this_python()
        assert conf.read_text() == f'"INTERPRETER_WIN","{sys.executable}"\n'


@pytest.mark.parametrize("line", ['"INTERPRETER_WIN","C:\\old\\python.exe"', '"LICENSE_KEY","abc"'])
def test_a_file_that_is_there_stays_and_the_line_that_it_lacks_is_named(conf, line):
    conf.parent.mkdir(parents=True)
    conf.write_text(line)
    with pytest.raises(ConfigurationError) as failed:
        setup.use_this_python()
    assert f'"INTERPRETER_WIN","{sys.executable}"' in str(failed.value)
    assert conf.read_text() == line


def test_a_conda_environment_is_known_by_its_name(conf, monkeypatch):
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "tax")
    monkeypatch.setenv("CONDA_EXE", "C:/conda/Scripts/conda.exe")
    conf.parent.mkdir(parents=True)
    conf.write_text('"CONDA PATH","C:/conda"\n"CONDA ENV","tax"\n')
    assert "the conda environment tax" in setup.use_this_python()
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "other")
    assert checked()["Excel's Python"].mark == "wrong"


@pytest.mark.parametrize("step", [answer(401, b"{}"), answer(404, b"<html>"), HANG])
def test_a_key_is_stored_unless_the_service_refuses_it(faults, keyring, monkeypatch, step):
    monkeypatch.setattr(setup, "_TIMEOUT", 0.2)
    settings.choose_embedded()
    faults.will(step, step)  # a second request looks for its health
    if step is HANG:
        assert "could not be checked" in setup.use_account(faults.base_url, SecretStr(KEY))
        assert keyring.kept
        return
    with pytest.raises(ConfigurationError, match="nothing was changed"):
        setup.use_account(faults.base_url, SecretStr(KEY))
    assert keyring.kept == {}
    assert settings.chosen() == "embedded"


def test_a_key_is_removed_on_request(service, keyring):
    setup.use_account(service, SecretStr(KEY))
    assert service in setup.forget_key()
    assert keyring.kept == {}
    assert "no key in the keyring" in setup.forget_key()
    with pytest.raises(ConfigurationError):  # an address without its key
        setup.current_service()


def checked():
    """The lines of the check, by name."""
    return {line.name: line for line in setup.check()}


def server_line():
    return checked()["Server"]


def test_a_machine_on_which_nothing_was_set_up_is_all_right():
    lines = checked()
    assert [*lines] == ["Packages", "Service", "Response", "Certificate", "Server"]
    assert {line.mark for line in lines.values()} == {"ok", "not set up"}
    assert sys.executable in lines["Packages"].said
    assert "embedded service" in lines["Service"].said
    assert "rate book of edition 20" in lines["Response"].said


@pytest.mark.parametrize(
    ("content", "mark"),
    [
        (None, "wrong"),
        ('"INTERPRETER_WIN","C:\\Python38\\python.exe"\r\n', "wrong"),
        (f'"INTERPRETER_WIN","{sys.executable}"\n', "ok"),
    ],
)
def test_another_python_in_the_configuration_of_xlwings_is_wrong(conf, content, mark):
    if content:
        conf.parent.mkdir(parents=True)
        conf.write_text(content)
    assert checked()["Excel's Python"].mark == mark


@posix
def test_missing_packages_are_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "win32")
    assert "pywintypes is missing" in checked()["Packages"].said
    monkeypatch.setattr(setup, "_PACKAGES", ("xlwings", "absent_package"))
    line = checked()["Packages"]
    assert line.mark == "wrong"
    assert "absent_package is missing" in line.said
    assert "[excel]" in line.said


def test_another_xlwings_than_that_of_the_workbook_is_named(monkeypatch):
    monkeypatch.setattr(setup.metadata, "version", lambda _: "0.36.0")
    line = checked()["Packages"]
    assert line.mark == "wrong"
    assert {"0.36.0", XLWINGS} <= set(line.said.replace(";", "").split())
    assert line.todo.endswith(f"xlwings=={XLWINGS}")


@pytest.mark.parametrize(
    ("step", "mark", "reason"),
    [
        (LISTED, "ok", "accepts the key"),
        (answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "No."}}'), "wrong", "the key"),
        (answer(402, b'{"error": {"code": "BILLING", "message": "Pay."}}'), "wrong", "billing"),
        (HANG, "wrong", "does not respond"),
        (answer(200, b"<html>"), "wrong", "not from the service"),
    ],
)
def test_the_response_of_the_service_is_checked_without_a_lookup(
    faults, monkeypatch, step, mark, reason
):
    monkeypatch.setattr(setup, "_TIMEOUT", 0.3)
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(step)
    lines = checked()
    assert lines["Service"].mark == "ok"
    assert lines["Response"].mark == mark
    assert reason in lines["Response"].said
    assert bool(lines["Response"].todo) == (mark == "wrong")
    assert KEY not in repr(lines)
    assert all("/v1/tax/" not in one.target for one in faults.seen)


def test_half_a_configuration_is_wrong_and_nothing_is_requested(monkeypatch, faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    use_keyring(monkeypatch, FailKeyring())
    lines = checked()
    assert lines["Service"].mark == "wrong"
    assert "Response" not in lines
    assert faults.seen == []


def test_a_server_that_never_ran_or_was_stopped_is_no_fault():
    assert server_line().mark == "not set up"
    for scheme in ("http", "https"):
        settings.publish_server(f"{scheme}://localhost:1", SecretStr("token"))
        settings.withdraw_server()
        line = server_line()
        assert line.mark == "not set up"
        assert line.todo.endswith("svc-tools excel serve")


@contextlib.contextmanager
def running(url, token="token"):  # noqa: S107 - of a test
    """A server file, and the lock that its server holds while it runs."""
    settings.publish_server(url, SecretStr(token))
    with FileLock(settings.lock_path()):
        yield server_line()


def test_the_server_that_runs_is_named_and_its_token_goes_nowhere(faults):
    with running(faults.base_url) as line:
        assert line.mark == "ok"
        assert str(os.getpid()) in line.said
        assert "--https" in line.todo  # Calc takes http, Excel does not
        assert "token" not in repr(line)
    assert server_line().mark == "not set up"  # after a crash
    assert faults.seen == []


def test_the_status_has_the_notes_of_the_cache(scripted, tmp_path):
    (tmp_path / "answers.db").write_bytes(b"no database at all" * 500)
    desk = desk_of(scripted, cache=tmp_path / "answers.db")
    assert pages.status(desk)["notes"] == ""
    shown(desk, "SVC_RATE", "TX", "78701")
    assert "set aside" in pages.status(desk)["notes"]


def test_results_of_the_embedded_service_are_not_stored(tmp_path):
    desk = desk_of(svc_tools.connect("embedded"), cache=tmp_path / "answers.db")
    rate = shown(desk, "SVC_RATE", "TX", "78701")
    assert desk.refresh([Place("TX", "zip", zip="78701")]).requested == 1
    assert shown(desk, "SVC_RATE", "TX", "78701") == rate
    assert (desk.notes, list(tmp_path.iterdir())) == ((), [])


def test_the_status_of_a_service_has_the_problem_and_its_reference(faults, scripted_desk):
    refused = {"error": {"code": "UNAUTHORIZED", "message": "No.", "support_reference": "req_7"}}
    faults.will(answer(401, json.dumps(refused).encode()))
    status = pages.status(scripted_desk)
    assert status["service"] == faults.base_url
    assert status["problem"]["title"] == "The service does not accept the key"
    assert status["problem"]["reference"] == "req_7"
    assert len(faults.seen) == 1


NOT_THE_SERVICE = "The response is not from the service"


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([answer(403, b'{"error": {"code": "PLAN", "message": "x"}}')], None),  # the key is known
        ([answer(404, b"{}"), answer(200, b'{"status": "ok"}')], None),  # it lists no nexus
        ([answer(405, b"{}"), answer(200, b'{"status": "ok"}')], None),
        *(([answer(status, b"<html>")], NOT_THE_SERVICE) for status in (200, 302, 403)),
        ([answer(404, b"<html>")], "No service is at this address"),
    ],
)
def test_the_problem_of_a_service(faults, scripted_desk, steps, problem):
    faults.will(*steps)
    found = pages.status(scripted_desk)["problem"]
    assert (found and found["title"]) == problem
    assert faults.seen[-1].target == "/healthz" or len(steps) == 1


def test_half_a_configuration_is_a_problem_and_no_other_service_is_used(service):
    settings.remember(service, SecretStr(KEY))
    settings.forget_key()
    status = pages.status(desk_of(None))
    assert (status["service"], status["address"]) == ("No service", service)
    assert service in status["problem"]["text"]
    assert not status["embedded"]


UNUSABLE = [
    ("{service}", "wrong-key-0123456789", "key", "does not accept the key"),
    ("{service}", "two\nlines", "key", "cannot be a key"),
    ("rates.example", KEY, "address", "cannot be used"),
    ("http://rates.example", KEY, "address", "cannot be used"),
    (KEY, KEY, "address", "cannot be used"),
    ("{service}", "https://rates.example", "key", "cannot be a key"),
    ("http://127.0.0.1:9", KEY, "address", "does not respond"),
]


@pytest.mark.parametrize("given", UNUSABLE)
def test_what_the_pane_cannot_use_changes_nothing(service, keyring, folder, given):
    address, key, field, reason = given
    desk = desk_of(svc_tools.connect("embedded"))
    result = pages.use_key(desk, address.format(service=service), SecretStr(key))
    assert reason in result["problem"]["title"]
    assert result["problem"]["field"] == field
    assert key not in json.dumps(result)
    assert keyring.kept == {}
    assert not folder.exists() or list(folder.iterdir()) == []
    assert pages.status(desk)["service"] == "Embedded service"


def test_certificates_that_cannot_be_used_are_no_fault_of_the_key(keyring, folder, monkeypatch):
    desk = desk_of(svc_tools.connect("embedded"))
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "none.pem"))
    problem = pages.use_key(desk, "https://rates.example", SecretStr(KEY))["problem"]
    assert (problem["title"], problem["field"]) == ("The configuration cannot be used", None)
    assert "SSL_CERT_FILE" in str(problem)
    with pytest.raises(svc_tools.ConfigurationError, match="SSL_CERT_FILE"):
        setup.use_account("https://rates.example", SecretStr(KEY))
    settings.remember("https://rates.example", SecretStr(KEY))
    with pytest.raises(svc_tools.ConfigurationError, match="SSL_CERT_FILE"):
        settings.client()
    assert list(keyring.kept.values()) == [KEY]


def test_where_the_environment_decides_the_pane_changes_nothing(service, keyring, monkeypatch):
    monkeypatch.setenv("SVC_BASE_URL", service)
    monkeypatch.setenv("SVC_API_KEY", KEY)
    desk = desk_of(None)
    assert "SVC_BASE_URL and SVC_API_KEY" in pages.status(desk)["locked"]
    for result in (
        pages.use_key(desk, service, SecretStr("another")),
        pages.forget_key(desk),
        pages.use_embedded(desk),
    ):
        assert result["problem"]["title"] == "The environment names the service"
    assert pages.status(desk)["service"] == service
    assert keyring.kept == {}


def test_the_pane_stores_no_key_in_an_unsafe_keyring(service, monkeypatch):
    plain = use_keyring(monkeypatch, PlainKeyring())
    desk = desk_of(svc_tools.connect("embedded"))
    problem = pages.use_key(desk, service, SecretStr(KEY))["problem"]
    assert problem["title"] == "The key cannot be stored"
    assert plain.kept == {}
    assert pages.status(desk)["service"] == "Embedded service"
