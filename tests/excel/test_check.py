"""What `svc-tools excel check` finds, part by part."""

from __future__ import annotations

import os
import sys

import pytest
import xlwings
from filelock import FileLock
from keyring.backends.fail import Keyring as FailKeyring
from pydantic import SecretStr
from support.certificates import make_certificate
from support.excel_server import excel_serve, local_server
from support.faults import HANG, KEY, answer
from support.keyrings import use_keyring

from svc_tools.excel import checking, server_file, settings
from svc_tools.excel.checking import check

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


def found(*, windows=False):
    return by_name(check(windows=windows))


def server_line():
    return checking._server()


def test_a_machine_on_which_nothing_was_set_up_is_all_right():
    lines = found()
    assert [*lines] == ["Packages", "Service", "Answers", "Server"]
    assert {line.mark for line in lines.values()} == {"ok", "not set up"}
    assert sys.executable in lines["Packages"].said
    assert "embedded service" in lines["Service"].said
    assert "rate book of edition 20" in lines["Answers"].said


def test_another_python_in_the_configuration_of_xlwings_is_wrong(tmp_path, monkeypatch):
    conf = tmp_path / "xlwings.conf"
    monkeypatch.setattr(xlwings, "USER_CONFIG_FILE", str(conf))
    line = found(windows=True)["Excel's Python"]
    assert (line.mark, line.todo) == ("wrong", "Run: svc-tools excel install")
    conf.write_text('"INTERPRETER_WIN","C:\\Python38\\python.exe"\r\n')
    line = found(windows=True)["Excel's Python"]
    assert line.mark == "wrong"
    assert r"Excel starts C:\Python38\python.exe, not " in line.said
    conf.write_text(f'"INTERPRETER_WIN","{sys.executable}"\n')
    assert found(windows=True)["Excel's Python"].mark == "ok"


def test_missing_packages_are_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(checking, "_PACKAGES", ("xlwings", "absent-package"))
    line = found()["Packages"]
    assert (line.mark, line.said) == ("wrong", "missing: absent-package")
    assert "svc-tax-tools[excel]" in line.todo
    assert "pywin32" in found(windows=True)["Packages"].said


def test_a_service_that_takes_the_key_answers_and_no_lookup_is_made(faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(NO_RECORDS)
    lines = found()
    assert lines["Service"].mark == lines["Answers"].mark == "ok"
    assert "accepts the key" in lines["Answers"].said
    assert KEY not in repr(lines)
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
    monkeypatch.setattr(checking, "_SERVICE_SECONDS", 0.3)
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(step)
    line = found()["Answers"]
    assert line.mark == "wrong"
    assert said in line.said
    assert line.todo


def test_half_a_configuration_is_wrong_and_nobody_is_asked(monkeypatch, faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    use_keyring(monkeypatch, FailKeyring())
    lines = found()
    assert lines["Service"].mark == "wrong"
    assert "Answers" not in lines
    assert faults.seen == []


def test_a_server_that_never_ran_or_was_stopped_is_no_fault():
    assert server_line().mark == "not set up"
    server_file.publish("http://localhost:1", SecretStr("token"))
    server_file.withdraw()
    line = server_line()
    assert (line.mark, line.todo) == ("not set up", "Start it: svc-tools excel serve")
    server_file.publish("https://localhost:1", SecretStr("token"))
    server_file.withdraw()
    line = server_line()
    assert line.todo.endswith("svc-tools excel serve --cert FILE --key FILE")


def test_the_server_that_runs_answers_to_its_own_token(desk):
    with local_server(desk) as server, running():
        server_file.publish(server.origin, SecretStr(server.token))
        line = server_line()
        assert line.mark == "ok"
        assert str(os.getpid()) in line.said
        assert "--cert" in line.todo  # Calc takes http, Excel does not
        assert server.token not in repr(line)
        server_file.publish(server.origin, SecretStr("another"))
        line = server_line()
        assert (line.mark, "does not know our token" in line.said) == ("wrong", True)
    with running():
        line = server_line()
    assert (line.mark, "no answer" in line.said) == ("wrong", True)


def test_after_a_crash_the_token_is_not_sent_to_whoever_listens_there(faults):
    with running():
        server_file.publish(faults.base_url, SecretStr("token"))
    line = server_line()
    assert (line.mark, "does not run" in line.said) == ("not set up", True)
    assert faults.seen == []


def test_a_server_with_https_is_known_by_its_certificate(tmp_path):
    cert, key = make_certificate(tmp_path / "certificate")
    other, _ = make_certificate(tmp_path / "other")
    unconfigured = os.environ | {"SVC_API_KEY": "a key without an address"}  # it asks nobody
    with excel_serve("--port", 0, "--cert", cert, "--key", key, **unconfigured):
        line = server_line()
        assert (line.mark, line.todo) == ("ok", None)
        running = server_file.read()
        # nobody else, who took the port, is given the token
        server_file.publish(running.url, running.token, other)
        assert server_line().mark == "wrong"


def test_the_token_goes_to_no_other_machine():
    server_file.publish("https://elsewhere.example", SecretStr("token"))
    with running():
        line = server_line()
    assert line.mark == "wrong"
    assert "not this machine" in line.said


def test_variables_of_a_terminal_are_not_taken_for_those_that_excel_sees(monkeypatch, faults):
    monkeypatch.setenv("SVC_BASE_URL", faults.base_url)
    monkeypatch.setenv("SVC_API_KEY", KEY)
    faults.will(NO_RECORDS)
    assert "not those of this terminal" in found(windows=True)["Service"].todo
    assert found()["Service"].todo is None
