"""What `svc-tools excel check` finds, link by link."""

from __future__ import annotations

import importlib
import os
import zipfile

import pytest
from filelock import FileLock
from keyring.backends.fail import Keyring as FailKeyring
from pydantic import SecretStr
from support.certificates import make_certificate
from support.excel_server import excel_serve, local_server
from support.faults import HANG, KEY, answer
from support.keyrings import use_keyring
from support.windows import FORBIDDEN, NO_MACROS, OF_32_BITS, TRUSTED, windows

from svc_sdk import __version__
from svc_tools.excel import checking, server_file, settings
from svc_tools.excel.calc import write_addin
from svc_tools.excel.checking import check
from svc_tools.excel.checking_calc import calc_lines
from svc_tools.excel.checking_excel import excel_lines
from svc_tools.excel.checking_server import server_lines
from svc_tools.excel.installing import Wish, install
from svc_tools.excel.machine import Machine

NO_RECORDS = answer(200, b'{"nexus": [], "count": 0}')


@pytest.fixture(autouse=True)
def keyring(monkeypatch, tmp_path):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return use_keyring(monkeypatch)


def by_name(lines):
    return {line.name: line for line in lines}


def running():
    """The lock that a server holds, for the length of the block."""
    server_file.lock_path().parent.mkdir(exist_ok=True)
    return FileLock(server_file.lock_path())


def of_service():
    """The lines on who answers."""
    return by_name(line for line in check(Machine(system="linux")) if line.part == "service")


def test_on_another_system_only_windows_lines_are_left_open_and_nothing_is_wrong():
    lines = list(check(Machine(system="linux")))
    assert [line.name for line in lines if line.mark == "wrong"] == []
    elsewhere = [line.name for line in lines if line.mark == "elsewhere"]
    assert elsewhere == ["Excel", "Library", "xlwings.conf", "Trust", "Macros"]
    found = by_name(lines)
    assert "xlwings 0." in found["Packages"].said
    assert "embedded service" in found["Service"].said
    assert "rate book of edition 20" in found["Answers"].said


def test_a_machine_that_was_set_up_is_all_right(tmp_path):
    machine = windows(tmp_path, TRUSTED)
    list(install(Wish(), machine))
    assert {line.mark for line in excel_lines(machine)} == {"ok"}


def test_what_was_not_set_up_is_named_with_what_to_do(tmp_path):
    machine = windows(tmp_path, OF_32_BITS, FORBIDDEN, NO_MACROS)
    found = by_name(excel_lines(machine))
    assert found["Excel"].mark == "ok"
    assert "32-bit" in found["Excel"].said
    assert found["Library"].mark == "wrong"
    assert "xlwings32-0.37.8.dll is missing" in found["Library"].said
    assert found["xlwings.conf"].mark == "wrong"
    assert "svc-tools excel install" in found["xlwings.conf"].todo
    assert "your organisation forbids" in found["Trust"].said
    assert "ask its administrators" in found["Trust"].todo
    assert found["Macros"].mark == "wrong"
    no_excel = by_name(excel_lines(windows(tmp_path, registry=None)))
    assert [*no_excel] == ["Excel"]
    assert no_excel["Excel"].mark == "not set up"


def test_another_python_in_the_configuration_is_wrong(tmp_path):
    machine = windows(tmp_path)
    machine.conf.parent.mkdir(parents=True)
    machine.conf.write_bytes(b'"INTERPRETER_WIN","C:\\Python38\\python.exe"\r\n')
    line = by_name(excel_lines(machine))["xlwings.conf"]
    assert line.mark == "wrong"
    assert r"Excel starts C:\Python38\python.exe, not " in line.said


def test_missing_packages_and_an_xlwings_that_does_not_load_are_wrong(monkeypatch):
    monkeypatch.setattr(checking, "_PACKAGES", ("xlwings", "absent-package"))
    machine = Machine(system="linux", xlwings=None)
    found = by_name(line for line in check(machine) if line.part == "python")
    assert (found["Packages"].mark, found["Packages"].said) == ("wrong", "missing: absent-package")
    assert "svc-tax-tools[excel]" in found["Packages"].todo
    assert found["xlwings"].mark == "wrong"

    def broken(name):
        raise ImportError("DLL load failed while importing pythoncom")

    monkeypatch.setattr(importlib, "import_module", broken)
    found = by_name(line for line in check(Machine(system="linux")) if line.part == "python")
    assert found["xlwings"].mark == "wrong"
    assert "DLL load failed" in found["xlwings"].said


def test_a_service_that_takes_the_key_answers_and_no_lookup_is_made(faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(NO_RECORDS)
    found = of_service()
    assert {line.mark for line in found.values()} == {"ok"}
    assert "it holds the key" in found["Keyring"].said
    assert "accepts the key" in found["Answers"].said
    assert KEY not in repr(found)
    assert all("/v1/tax/" not in one.target for one in faults.seen)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "No."}}'), "accept the key"),
        (answer(402, b'{"error": {"code": "BILLING_REQUIRED", "message": "Pay."}}'), "billing"),
        (HANG, "does not answer"),
        (answer(200, b"<html>"), "not the service's"),
    ],
)
def test_a_service_that_does_not_answer_as_it_should_is_wrong(faults, monkeypatch, step, said):
    monkeypatch.setattr(checking, "_ASKING", 0.3)
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(step)
    line = of_service()["Answers"]
    assert line.mark == "wrong"
    assert said in line.said
    assert line.todo


def test_half_a_configuration_is_wrong_and_nobody_is_asked(monkeypatch, faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    use_keyring(monkeypatch, FailKeyring())
    found = of_service()
    assert found["Service"].mark == found["Keyring"].mark == "wrong"
    assert "Answers" not in found
    assert faults.seen == []


def test_a_server_that_never_ran_or_was_stopped_is_no_fault():
    assert [(line.name, line.mark) for line in server_lines()] == [("Server", "not set up")]
    server_file.publish("http://localhost:1", SecretStr("token"))
    server_file.withdraw()
    line = by_name(server_lines())["Server"]
    assert (line.mark, line.todo) == ("not set up", "Start it: svc-tools excel serve")
    server_file.publish("https://localhost:1", SecretStr("token"))
    server_file.withdraw()
    line = by_name(server_lines())["Server"]
    assert line.todo.endswith("svc-tools excel serve --cert FILE --key FILE")


def test_the_server_that_runs_answers_to_its_own_token(desk):
    with local_server(desk) as server, running():
        server_file.publish(server.origin, SecretStr(server.token))
        found = by_name(server_lines())
        assert found["Server"].mark == "ok"
        assert str(os.getpid()) in found["Server"].said
        assert found["https"].mark == "not set up"  # Calc takes http, Excel does not
        assert "--cert" in found["https"].todo
        assert server.token not in repr(found)
        server_file.publish(server.origin, SecretStr("another"))
        line = by_name(server_lines())["Server"]
        assert (line.mark, "does not know our token" in line.said) == ("wrong", True)
    with running():
        line = by_name(server_lines())["Server"]
    assert (line.mark, "no answer" in line.said) == ("wrong", True)


def test_after_a_crash_the_token_is_not_sent_to_whoever_listens_there(faults):
    with running():
        server_file.publish(faults.base_url, SecretStr("token"))
    line = by_name(server_lines())["Server"]
    assert (line.mark, "does not run" in line.said) == ("not set up", True)
    assert faults.seen == []


def test_a_server_with_https_is_known_by_its_certificate(tmp_path):
    cert, key = make_certificate(tmp_path / "certificate")
    other, _ = make_certificate(tmp_path / "other")
    unconfigured = os.environ | {"SVC_API_KEY": "a key without an address"}  # it asks nobody
    with excel_serve("--port", 0, "--cert", cert, "--key", key, **unconfigured):
        found = by_name(server_lines())
        assert {line.mark for line in found.values()} == {"ok"}
        running = server_file.read()
        # nobody else, who took the port, is given the token
        server_file.publish(running.url, running.token, other)
        assert by_name(server_lines())["Server"].mark == "wrong"


def test_the_token_goes_to_no_other_machine():
    server_file.publish("https://elsewhere.example", SecretStr("token"))
    with running():
        line = by_name(server_lines())["Server"]
    assert line.mark == "wrong"
    assert "not this machine" in line.said


def test_calc_and_its_addin_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    machine = Machine(system="linux")
    assert [(line.name, line.mark) for line in calc_lines(machine)] == [
        ("LibreOffice", "not set up")
    ]
    (tmp_path / "soffice").touch(mode=0o755)
    assert by_name(calc_lines(machine))["Add-in"].mark == "not set up"
    packages = tmp_path / "config/libreoffice/4/user/uno_packages/cache/uno_packages"
    unpacked = packages / "lu1a2b.tmp_" / "svc-tools.oxt"
    unpacked.mkdir(parents=True)
    with zipfile.ZipFile(write_addin(tmp_path / "svc-tools.oxt")) as addin:
        addin.extractall(unpacked)
    line = by_name(calc_lines(machine))["Add-in"]
    assert (line.mark, line.said) == ("ok", f"version {__version__} is installed")
    described = unpacked / "description.xml"
    described.write_text(described.read_text().replace(__version__, "0.0.1"))
    line = by_name(calc_lines(machine))["Add-in"]
    assert (line.mark, "version 0.0.1 is installed" in line.said) == ("wrong", True)
    described.write_text(described.read_text().replace("svc.tools", "another.one"))
    assert by_name(calc_lines(machine))["Add-in"].mark == "not set up"


def test_variables_of_a_terminal_are_not_taken_for_those_that_excel_sees(
    tmp_path, monkeypatch, faults
):
    monkeypatch.setenv("SVC_BASE_URL", faults.base_url)
    monkeypatch.setenv("SVC_API_KEY", KEY)
    faults.will(NO_RECORDS)
    on_windows = by_name(line for line in check(windows(tmp_path)) if line.part == "service")
    assert "not those of this terminal" in on_windows["Service"].todo
    assert of_service()["Service"].todo is None
