"""svc-tools excel install and check."""

from __future__ import annotations

import os
import sys

import pytest
import xlwings
from filelock import FileLock
from keyring.backends.fail import Keyring as FailKeyring
from pydantic import SecretStr
from support.faults import HANG, KEY, answer
from support.keyrings import use_keyring
from support.secrets import files_with
from support.spreadsheets import local_server

from svc_tools import ConfigurationError
from svc_tools.excel import server_file, settings, setup
from svc_tools.excel.setup import check

UNKNOWN = b'{"error": {"code": "UNAUTHORIZED", "message": "No.", "support_reference": "r"}}'


@pytest.fixture(autouse=True)
def keyring(monkeypatch, tmp_path):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return use_keyring(monkeypatch)


@pytest.fixture
def conf(monkeypatch, tmp_path):
    """The file that tells xlwings which Python Excel starts; it is not there yet."""
    path = tmp_path / "home" / ".xlwings" / "xlwings.conf"
    monkeypatch.setattr(xlwings, "USER_CONFIG_FILE", str(path))
    return path


def test_excel_is_told_which_python_it_starts(conf):
    said = setup.use_this_python(windows=True)
    assert said == f"Excel starts {sys.executable}, as {conf} says."
    written = conf.read_text()
    assert written == f'"INTERPRETER_WIN","{sys.executable}"\n'
    assert setup.use_this_python(windows=True) == said
    assert conf.read_text() == written


@pytest.mark.parametrize("line", ['"INTERPRETER_WIN","C:\\old\\python.exe"', '"LICENSE_KEY","abc"'])
def test_a_file_that_is_there_stays_and_the_line_that_it_lacks_is_named(conf, line):
    conf.parent.mkdir(parents=True)
    conf.write_text(line)
    with pytest.raises(ConfigurationError) as failed:
        setup.use_this_python(windows=True)
    assert f'"INTERPRETER_WIN","{sys.executable}"' in str(failed.value)
    assert conf.read_text() == line


def test_a_conda_environment_is_known_by_its_name(conf, monkeypatch):
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "tax")
    monkeypatch.setenv("CONDA_EXE", "C:/conda/Scripts/conda.exe")
    conf.parent.mkdir(parents=True)
    conf.write_text('"CONDA PATH","C:/conda"\n"CONDA ENV","tax"\n')
    assert "the conda environment tax" in setup.use_this_python(windows=True)
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "other")
    assert not setup.python_of_excel()[1]


def test_where_there_is_no_windows_nothing_is_written_for_excel(conf):
    assert "need Excel on Windows" in setup.use_this_python(windows=False)
    assert not conf.exists()


def test_a_key_that_the_service_takes_is_kept_in_the_keyring_alone(tmp_path, service, keyring):
    said = setup.use_account(service, SecretStr(KEY))
    assert "accepts the key" in said
    assert KEY not in said
    assert keyring.kept == {("svc-tools", service): KEY}
    assert files_with(KEY, tmp_path)[0] == []
    assert service in setup.current_service()
    assert "accepts the key" in setup.use_account(service, None)


def test_a_key_that_the_service_refuses_changes_nothing(faults, keyring):
    settings.choose_embedded()
    faults.will(answer(401, UNKNOWN))
    with pytest.raises(ConfigurationError, match="nothing was changed"):
        setup.use_account(faults.base_url, SecretStr(KEY))
    assert keyring.kept == {}
    assert settings.chosen() == "embedded"


def test_a_service_that_does_not_answer_now_is_kept_and_that_is_said(faults, keyring, monkeypatch):
    monkeypatch.setattr(setup, "_TIMEOUT", 0.2)
    faults.will(HANG)
    said = setup.use_account(faults.base_url, SecretStr(KEY))
    assert "could not be checked" in said
    assert keyring.kept


def test_a_choice_that_the_environment_overrules_says_so(monkeypatch):
    monkeypatch.setenv("SVC_BASE_URL", "https://rates.example")
    monkeypatch.setenv("SVC_API_KEY", KEY)
    assert "environment, which comes first" in setup.use_embedded()
    assert setup.current_service().startswith("The cells use https://rates.example")


def test_a_key_is_forgotten_on_request(service, keyring):
    setup.use_account(service, SecretStr(KEY))
    assert "once they are started again" in setup.forget_key()  # what runs has it in memory
    assert keyring.kept == {}
    assert "has no key" in setup.forget_key()
    with pytest.raises(ConfigurationError):  # an address without its key
        setup.current_service()


NO_RECORDS = answer(200, b'{"nexus": [], "count": 0}')


def by_name(lines):
    return {line.name: line for line in lines}


def running():
    """The lock that a server holds, for the length of the block."""
    server_file.lock_path().parent.mkdir(exist_ok=True)
    return FileLock(server_file.lock_path())


def found(*, windows=False):
    return by_name(check(windows=windows))


def server_line():
    return setup._server()


def test_a_machine_on_which_nothing_was_set_up_is_all_right():
    lines = found()
    assert [*lines] == ["Packages", "Service", "Response", "Server"]
    assert {line.mark for line in lines.values()} == {"ok", "not set up"}
    assert sys.executable in lines["Packages"].said
    assert "embedded service" in lines["Service"].said
    assert "rate book of edition 20" in lines["Response"].said


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
    monkeypatch.setattr(setup, "_PACKAGES", ("xlwings", "absent-package"))
    line = found()["Packages"]
    assert (line.mark, line.said) == ("wrong", "missing: absent-package")
    assert "svc-tax-tools[excel]" in line.todo
    assert "pywin32" in found(windows=True)["Packages"].said


def test_a_service_that_takes_the_key_answers_and_no_lookup_is_made(faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(NO_RECORDS)
    lines = found()
    assert lines["Service"].mark == lines["Response"].mark == "ok"
    assert "accepts the key" in lines["Response"].said
    assert KEY not in repr(lines)
    assert all("/v1/tax/" not in one.target for one in faults.seen)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "No."}}'), "accept the key"),
        (answer(402, b'{"error": {"code": "BILLING_REQUIRED", "message": "Pay."}}'), "billing"),
        (HANG, "does not respond"),
        (answer(200, b"<html>"), "not from the service"),
    ],
)
def test_a_service_that_does_not_answer_as_it_should_is_wrong(faults, monkeypatch, step, said):
    monkeypatch.setattr(setup, "_TIMEOUT", 0.3)
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(step)
    line = found()["Response"]
    assert line.mark == "wrong"
    assert said in line.said
    assert line.todo


def test_half_a_configuration_is_wrong_and_nobody_is_asked(monkeypatch, faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    use_keyring(monkeypatch, FailKeyring())
    lines = found()
    assert lines["Service"].mark == "wrong"
    assert "Response" not in lines
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
        assert line.mark == "wrong"
    with running():
        line = server_line()
    assert line.mark == "wrong"


def test_after_a_crash_the_token_is_not_sent_to_whoever_listens_there(faults):
    with running():
        server_file.publish(faults.base_url, SecretStr("token"))
    line = server_line()
    assert line.mark == "not set up"
    assert faults.seen == []


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
