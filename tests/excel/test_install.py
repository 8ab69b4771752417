"""What `svc-tools excel install` does."""

from __future__ import annotations

import sys

import pytest
import xlwings
from keyring.backends.fail import Keyring as FailKeyring
from pydantic import SecretStr
from support.faults import HANG, KEY, answer
from support.keyrings import use_keyring
from support.secrets import files_with

from svc_tools import ConfigurationError
from svc_tools.excel import installing, settings

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
    said = installing.use_this_python(windows=True)
    assert said == f"Excel starts {sys.executable}, as {conf} says."
    written = conf.read_text()
    assert written == f'"INTERPRETER_WIN","{sys.executable}"\n'
    assert installing.use_this_python(windows=True) == said
    assert conf.read_text() == written


@pytest.mark.parametrize("line", ['"INTERPRETER_WIN","C:\\old\\python.exe"', '"LICENSE_KEY","abc"'])
def test_a_file_that_is_there_stays_and_the_line_that_it_lacks_is_named(conf, line):
    conf.parent.mkdir(parents=True)
    conf.write_text(line)
    with pytest.raises(ConfigurationError) as failed:
        installing.use_this_python(windows=True)
    assert f'"INTERPRETER_WIN","{sys.executable}"' in str(failed.value)
    assert conf.read_text() == line


def test_a_conda_environment_is_known_by_its_name(conf, monkeypatch):
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "tax")
    monkeypatch.setenv("CONDA_EXE", "C:/conda/Scripts/conda.exe")
    conf.parent.mkdir(parents=True)
    conf.write_text('"CONDA PATH","C:/conda"\n"CONDA ENV","tax"\n')
    assert "the conda environment tax" in installing.use_this_python(windows=True)
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "other")
    assert not installing.python_of_excel()[1]


def test_where_there_is_no_windows_nothing_is_written_for_excel(conf):
    assert "need Excel on Windows" in installing.use_this_python(windows=False)
    assert not conf.exists()


def test_a_key_that_the_service_takes_is_kept_in_the_keyring_alone(tmp_path, service, keyring):
    said = installing.use_account(service, SecretStr(KEY))
    assert "accepts the key" in said
    assert KEY not in said
    assert keyring.kept == {("svc-tools", service): KEY}
    assert files_with(KEY, tmp_path)[0] == []
    assert service in installing.current_service()
    assert "accepts the key" in installing.use_account(service, None)


def test_a_key_that_the_service_refuses_changes_nothing(faults, keyring):
    settings.choose_embedded()
    faults.will(answer(401, UNKNOWN))
    with pytest.raises(ConfigurationError, match="nothing was changed"):
        installing.use_account(faults.base_url, SecretStr(KEY))
    assert keyring.kept == {}
    assert settings.chosen() == "embedded"


def test_a_service_that_does_not_answer_now_is_kept_and_that_is_said(faults, keyring, monkeypatch):
    monkeypatch.setattr(installing, "_TIMEOUT", 0.2)
    faults.will(HANG)
    said = installing.use_account(faults.base_url, SecretStr(KEY))
    assert "is not known: No answer from" in said
    assert keyring.kept


def test_without_a_safe_keyring_the_key_is_not_kept(service, monkeypatch):
    use_keyring(monkeypatch, FailKeyring())
    with pytest.raises(ConfigurationError, match="no keyring was found"):
        installing.use_account(service, SecretStr(KEY))
    assert settings.chosen() is None


def test_a_choice_that_the_environment_overrules_says_so(monkeypatch):
    monkeypatch.setenv("SVC_BASE_URL", "https://rates.example")
    monkeypatch.setenv("SVC_API_KEY", KEY)
    assert "environment, which comes first" in installing.use_embedded()
    assert installing.current_service().startswith("https://rates.example answers")


def test_a_key_is_forgotten_on_request(service, keyring):
    installing.use_account(service, SecretStr(KEY))
    assert "once they are started again" in installing.forget_key()  # what runs has it in memory
    assert keyring.kept == {}
    assert "has no key" in installing.forget_key()
    with pytest.raises(ConfigurationError):  # an address without its key
        installing.current_service()
