"""`svc-tools excel install` and `check`, as a person and as a program see them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
import xlwings
from pydantic import SecretStr
from support.faults import KEY, LISTED, answer
from support.keyrings import use_keyring
from support.secrets import files_with
from support.systems import Registry, homes, posix, pty
from support.waiting import read_until
from typer.testing import CliRunner

from svc_tools.base import operating_system
from svc_tools.base.loopback import LocalGuard
from svc_tools.cli.app import app
from svc_tools.excel import settings
from svc_tools.excel.officejs import pages

TESTS = str(Path(__file__).parents[1])


@pytest.fixture(autouse=True)
def keyring(monkeypatch, tmp_path):
    # on Windows the registry and the file of xlwings would be those of whoever runs the tests
    monkeypatch.setattr(operating_system, "NAME", "linux")
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return use_keyring(monkeypatch)


def run(*words, typed=None, width=100):
    """One command of the group: exit code, output, errors."""
    result = CliRunner().invoke(app, ["excel", *words], input=typed, env={"COLUMNS": str(width)})
    return result.exit_code, result.stdout, result.stderr


def test_a_key_from_a_program_is_kept_and_shown_nowhere(tmp_path, service, keyring):
    code, out, err = run("install", "--base-url", service, "--key-stdin", typed=f"{KEY}\n")
    assert code == 0, err
    assert "accepts the key" in out
    assert "svc-tools excel serve" in out  # what comes next
    assert KEY not in out + err
    assert list(keyring.kept.values()) == [KEY]
    assert files_with(KEY, tmp_path)[0] == []
    code, out, _ = run("check")
    assert code == 0
    assert f"Service: {service}" in out
    assert KEY not in out


def test_without_a_key_and_a_terminal_the_key_is_asked_for_in_a_sentence(service, keyring):
    code, _, err = run("install", "--base-url", service)
    assert code == 2
    assert "--key-stdin" in err
    code, _, err = run("install", "--base-url", service, "--key-stdin", typed="\n")
    assert code == 2
    assert "no key" in err
    settings.remember(service, SecretStr(KEY))  # now there is one
    assert run("install", "--base-url", service)[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--base-url", "rates", "--key-stdin"], "address cannot be used"),
        (["--base-url", "http://rates.example", "--key-stdin"], "unencrypted to rates.example"),
        (["--base-url", "https://rates.example", "--embedded"], "exclude each other"),
        (["--embedded", "--forget-key"], "exclude each other"),
        (["--embedded", "--uninstall"], "exclude each other"),
        (["--key-stdin"], "--key-stdin needs --base-url"),
    ],
)
def test_options_that_cannot_be_used_are_refused_before_anything_is_done(tmp_path, words, said):
    code, out, err = run("install", *words, typed=f"{KEY}\n")
    assert (code, out) == (2, "")
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_is_refused_is_a_sentence_and_an_exit_code(faults):
    faults.will(answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "No."}}'))
    code, out, err = run("install", "--base-url", faults.base_url, "--key-stdin", typed=f"{KEY}\n")
    assert (code, out) == (2, "")
    assert "does not accept the key" in err


@posix
def test_a_key_is_typed_unseen_on_a_terminal(service):
    """The words of the command on a real terminal; what is typed is not among them."""
    keyring = {"PYTHON_KEYRING_BACKEND": "support.keyrings.MemoryKeyring", "PYTHONPATH": TESTS}
    ours, theirs = pty.openpty()
    words = ("-m", "svc_tools", "excel", "install", "--base-url", service)
    with subprocess.Popen(
        [sys.executable, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | keyring,
    ) as process:
        os.close(theirs)
        # the blank is written once nothing that is typed is shown any more
        asked = b"API key of your account: "
        seen = read_until(lambda seen: asked in seen, ours, process, what="the question")
        os.write(ours, f"{KEY}\n".encode())
        seen += read_until(lambda _: False, ours, process, what="the end, after the key")
    os.close(ours)
    assert KEY.encode() not in seen
    assert b"accepts the key" in seen
    assert process.returncode == 0


def test_check_for_a_program_has_every_line_and_says_whether_all_is_well(faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(LISTED)
    code, out, _ = run("check", "--json")
    told = json.loads(out)
    assert (code, told["ok"]) == (0, True)
    lines = {line["name"]: line for line in told["lines"]}
    assert lines["Response"]["mark"] == "ok"
    assert set(lines["Server"]) == {"name", "mark", "said", "todo"}
    faults.will(answer(401, b"{}"))
    code, out, _ = run("check", "--json")
    assert (code, json.loads(out)["ok"]) == (1, False)
    assert KEY not in out


def test_a_key_stored_for_plain_http_earlier_is_sent_nowhere_and_can_be_removed(tmp_path, keyring):
    folder = tmp_path / "excel"
    folder.mkdir()
    (folder / "settings.json").write_text('{"service": "http://rates.example"}')
    keyring.set_password("svc-tools", "http://rates.example", KEY)
    with pytest.raises(settings.ConfigurationError, match="unencrypted to rates"):
        settings.client()
    assert run("install", "--forget-key")[0] == 0
    assert keyring.kept == {}


@pytest.fixture
def windows(monkeypatch, tmp_path):
    """Windows, as far as the commands look at it: its registry."""
    registry = Registry()
    monkeypatch.setattr(operating_system, "NAME", "win32")
    monkeypatch.setitem(sys.modules, "winreg", registry)
    monkeypatch.setattr(xlwings, "USER_CONFIG_FILE", str(tmp_path / "xlwings.conf"))
    monkeypatch.chdir(tmp_path)
    return registry


def manifest_of(folder):
    """What the server writes over https."""
    folder.mkdir(exist_ok=True)
    path = folder / "svc-tools-manifest.xml"
    settings.write_private(path, pages.manifest(LocalGuard(8643, "https", SecretStr("a-token"))))
    return path


DEVELOPER = r"HKEY_CURRENT_USER\Software\Microsoft\Office\16.0\WEF\Developer"


def test_on_windows_the_developer_key_of_the_registry_names_the_manifest(tmp_path, windows):
    code, out, _ = run("install")
    assert (code, windows.values) == (0, {})  # there is no manifest yet
    assert "svc-tools excel serve --https" in out
    path = manifest_of(tmp_path / "excel")
    other = {"another-add-in": (1, "C:\\another.xml")}
    windows.values[DEVELOPER] = dict(other)
    identifier = fromstring(path.read_bytes())[0].text  # noqa: S314 - we wrote it
    assert identifier == "a43ce9a7-2b34-42ce-8ac2-502c30822036"  # Excel knows the add-in by it
    for _ in range(2):
        code, out, err = run("install")
        assert code == 0, err
        assert windows.values == {DEVELOPER: other | {identifier: (windows.REG_SZ, str(path))}}
        assert "Unblock" in out
    for _ in range(2):
        assert run("install", "--uninstall")[0] == 0
        assert windows.values == {DEVELOPER: other}


def test_a_registry_that_an_administrator_closed_is_a_sentence(tmp_path, windows, monkeypatch):
    def closed(*_):
        raise PermissionError(13, "Access is denied")

    manifest_of(tmp_path / "excel")
    monkeypatch.setattr(windows, "SetValueEx", closed)
    code, _, err = run("install")
    assert code == 2
    assert "administrator" in err


@posix
def test_on_macos_excel_finds_a_copy_of_the_manifest(tmp_path, monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "darwin")
    for name, value in homes(tmp_path).items():
        monkeypatch.setenv(name, value)
    path = manifest_of(tmp_path / "excel")
    folder = tmp_path / "Library/Containers/com.microsoft.Excel/Data/Documents/wef"
    assert run("install")[0] == 2  # Excel was never started here
    folder.parent.mkdir(parents=True)
    assert run("install")[0] == 0
    (copy,) = folder.iterdir()
    assert copy.read_bytes() == path.read_bytes()
    assert copy.stat().st_mode & 0o077 == 0  # it has the token
    for _ in range(2):
        assert run("install", "--uninstall")[0] == 0
        assert list(folder.iterdir()) == []


def test_uninstall_removes_the_key_too(service, keyring):
    settings.remember(service, SecretStr(KEY))
    assert run("install", "--uninstall")[0] == 0
    assert keyring.kept == {}


def test_check_names_a_workbook_that_windows_blocks(tmp_path, windows):
    (tmp_path / "orders.xlsm").touch()
    code, out, _ = run("check", "--json")
    lines = {line["name"]: line for line in json.loads(out)["lines"]}
    assert lines["Downloaded files"]["mark"] == "ok"
    # where Windows notes that a file was downloaded: a stream of that file
    (tmp_path / "orders.xlsm:Zone.Identifier").write_text("[ZoneTransfer]\nZoneId=3\n")
    code, out, _ = run("check", "--json")
    lines = {line["name"]: line for line in json.loads(out)["lines"]}
    assert (code, lines["Downloaded files"]["mark"]) == (1, "wrong")
    assert "orders.xlsm" in lines["Downloaded files"]["said"]
    assert "Unblock" in lines["Downloaded files"]["todo"]


@pytest.mark.parametrize("day", ["10/31/2026", "2026-02-30"])
def test_a_day_that_is_none_is_a_sentence_and_nothing_is_written(tmp_path, day):
    code, _, err = run("workbook", str(tmp_path / "close.xlsm"), "--as-of", day)
    assert code == 2
    assert f"--as-of: given '{day}', expected a date as 2026-05-01" in " ".join(err.split())
    assert list(tmp_path.glob("*.xlsm")) == []
