"""Company computers: what `excel check` finds on them, and the server that starts at logon."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from xml.etree.ElementTree import fromstring

import certifi
import pytest
import xlwings
from filelock import FileLock
from pydantic import SecretStr
from support.keyrings import use_keyring
from support.systems import Registry, homes, posix
from typer.testing import CliRunner

from svc_tools.base import operating_system
from svc_tools.cli.app import app
from svc_tools.excel import settings, setup
from svc_tools.excel.company import ADVICE, VARIABLES
from svc_tools.excel.desk import Desk
from svc_tools.excel.officejs import pages

USER, MACHINE = "HKEY_CURRENT_USER", "HKEY_LOCAL_MACHINE"
MOUNTS = rf"{USER}\Software\SyncEngines\Providers\OneDrive"
RULES = r"Microsoft\Windows Defender\Windows Defender Exploit Guard\ASR\Rules"
MANAGED = rf"{MACHINE}\SOFTWARE\Policies\Microsoft\Windows Defender\Policy Manager"
NO_CHILDREN = "d4f940ab-401b-4efc-aadc-ad5f3c50688a"
SECURITY = r"Microsoft\Office\16.0\Excel\Security"
EXCEL = rf"{MACHINE}\SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths\excel.exe"
SHELL = r"Microsoft\PowerShell\1\ShellIds\Microsoft.PowerShell"
SHELL_POLICY = r"Policies\Microsoft\Windows\PowerShell"
INTERNET = rf"{USER}\Software\Microsoft\Windows\CurrentVersion\Internet Settings"
SERVE = ["-m", "svc_tools", "excel", "serve"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of the user with nothing in it, and none of the variables."""
    use_keyring(monkeypatch)
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "settings"))
    for name in (*VARIABLES, "SVC_BASE_URL", "SVC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    found = tmp_path / "taxes"
    found.mkdir()
    monkeypatch.chdir(found)
    return found


@pytest.fixture
def registry(monkeypatch, tmp_path):
    """The registry of a Windows on which nothing was set."""
    found = Registry()
    monkeypatch.setattr(operating_system, "NAME", "win32")
    monkeypatch.setitem(sys.modules, "winreg", found)
    monkeypatch.setattr(xlwings, "USER_CONFIG_FILE", str(tmp_path / "xlwings.conf"))
    return found


def run(*words):
    return CliRunner().invoke(app, ["excel", *words], env={"COLUMNS": "100"})


def checked():
    """The lines of `excel check --json`, by their names, and its exit code."""
    done = run("check", "--json")
    return {line["name"]: line for line in json.loads(done.stdout)["lines"]}, done.exit_code


def line(name, advice, mark="wrong"):
    """A line of the check, whose mark and advice are as expected."""
    lines, code = checked()
    found = lines[name]
    assert (found["mark"], found["todo"]) == (mark, ADVICE[advice].todo)
    assert code == 1 or mark != "wrong"
    return found["said"]


def test_a_computer_without_a_policy_has_nothing_wrong(registry, folder):
    registry.values[EXCEL] = {"": (1, r"C:\Program Files\Microsoft Office\root\Office16\EXCEL.EXE")}
    registry.put(rf"{USER}\Software\{SECURITY}", AccessVBOM=1)
    registry.put(rf"{USER}\Software\{SHELL}", ExecutionPolicy="RemoteSigned")
    (folder / "orders.xlsm").touch()
    lines, _ = checked()
    for name in ("Folder", "Child processes", "VBA trust", "Store", "PowerShell"):
        assert (lines[name]["mark"], lines[name]["todo"]) == ("ok", None), name
    assert "EXCEL.EXE" in lines["Store"]["said"]
    assert "Proxy" not in lines


def test_what_is_not_set_or_closed_is_not_taken_for_a_policy(registry):
    registry.closed = {rf"{USER}\Software\Policies\{SECURITY}", MANAGED, EXCEL}
    lines, _ = checked()
    marks = {name: lines[name]["mark"] for name in ("Folder", "Child processes", "VBA trust")}
    assert marks == {"Folder": "ok", "Child processes": "ok", "VBA trust": "not set up"}
    assert "Trust access to the VBA project object model" in lines["VBA trust"]["todo"]
    assert lines["Store"]["mark"] == "not set up"


@pytest.mark.parametrize("name", ["OneDrive", "OneDriveCommercial", "OneDriveConsumer"])
def test_a_workbook_in_onedrive_is_named(name, registry, folder, monkeypatch):
    monkeypatch.setenv(name, str(folder.parent))
    assert checked()[0]["Folder"]["mark"] == "ok"  # there is none
    (folder / "orders.xlsm").touch()
    said = line("Folder", "cloud")
    assert "orders.xlsm" in said
    assert str(folder) in said
    monkeypatch.setenv(name, str(folder.parent / "tax"))  # a name that begins alike
    assert checked()[0]["Folder"]["mark"] == "ok"


def test_a_workbook_in_a_synced_library_of_sharepoint_is_named(registry, folder):
    (folder / "svc_udfs.py").touch()
    registry.put(rf"{MOUNTS}\1", MountPoint=str(folder.parent / "Other - Documents"))
    assert checked()[0]["Folder"]["mark"] == "ok"
    registry.put(rf"{MOUNTS}\2", MountPoint=str(folder))
    assert "svc_udfs.py" in line("Folder", "cloud")


@pytest.mark.parametrize("within", ["SOFTWARE", r"SOFTWARE\Policies"])
@pytest.mark.parametrize(
    ("state", "mark"), [("1", "wrong"), (1, "wrong"), ("6", "wrong"), ("2", "ok"), ("0", "ok")]
)
def test_a_rule_that_keeps_excel_from_starting_python(within, state, mark, registry):
    registry.put(rf"{MACHINE}\{within}\{RULES}", **{NO_CHILDREN.upper(): state})
    assert checked()[0]["Child processes"]["mark"] == mark
    if mark == "wrong":
        line("Child processes", "child")


def test_such_a_rule_of_a_managed_computer(registry):
    other = "26190899-1602-49e8-8b27-eb1d0a1ce869"
    registry.put(MANAGED, ASRRules=f"{other}=1|{NO_CHILDREN}=2")
    assert checked()[0]["Child processes"]["mark"] == "ok"
    registry.put(MANAGED, ASRRules=f"{other}=2|{NO_CHILDREN}=1")
    line("Child processes", "child")


@pytest.mark.parametrize("policy", [{"AccessVBOM": 0}, {"VBAWarnings": 4}])
def test_a_policy_that_locks_the_vba_project_is_named_whatever_the_user_ticked(policy, registry):
    registry.put(rf"{USER}\Software\{SECURITY}", AccessVBOM=1)
    registry.put(rf"{USER}\Software\Policies\{SECURITY}", **policy)
    assert "policy" in line("VBA trust", "vba")


def test_a_policy_may_also_allow_it(registry):
    registry.put(rf"{USER}\Software\Policies\{SECURITY}", AccessVBOM=1, VBAWarnings=2)
    assert checked()[0]["VBA trust"]["mark"] == "ok"


def test_excel_or_python_from_the_store(registry, monkeypatch):
    path = r"C:\Program Files\WindowsApps\Microsoft.Office.Desktop.Excel\Office16\EXCEL.EXE"
    registry.values[EXCEL] = {"": (1, path)}
    assert path in line("Store", "store")
    registry.values[EXCEL] = {"": (1, r"C:\Office16\EXCEL.EXE")}
    python = r"C:\Users\me\AppData\Local\Microsoft\WindowsApps\python.exe"
    monkeypatch.setattr(setup.sys, "executable", python)
    assert python in line("Store", "store")
    monkeypatch.setattr(setup.sys, "executable", r"C:\taxes\.venv\Scripts\python.exe")
    assert checked()[0]["Store"]["mark"] == "ok"
    base = r"C:\Program Files\WindowsApps\PythonSoftwareFoundation.Python.3.13"
    monkeypatch.setattr(setup.sys, "base_prefix", base)
    assert base in line("Store", "store")


@pytest.mark.parametrize(
    ("where", "values", "mark"),
    [
        (None, {}, "not set up"),  # Windows begins with Restricted
        (rf"{MACHINE}\SOFTWARE\{SHELL}", {"ExecutionPolicy": "AllSigned"}, "not set up"),
        (rf"{MACHINE}\SOFTWARE\{SHELL}", {"ExecutionPolicy": "Bypass"}, "ok"),
        (rf"{USER}\Software\{SHELL}", {"ExecutionPolicy": "Undefined"}, "not set up"),
        (rf"{USER}\Software\{SHELL_POLICY}", {"EnableScripts": 0}, "not set up"),
    ],
)
def test_the_execution_policy_of_powershell_is_no_fault_but_named(where, values, mark, registry):
    if where:
        registry.put(where, **values)
    lines, _ = checked()
    assert lines["PowerShell"]["mark"] == mark
    if mark != "ok":
        line("PowerShell", "powershell", mark)


def test_of_several_execution_policies_that_of_the_company_counts(registry):
    registry.put(rf"{USER}\Software\{SHELL}", ExecutionPolicy="RemoteSigned")
    assert checked()[0]["PowerShell"]["mark"] == "ok"
    registry.put(rf"{MACHINE}\SOFTWARE\{SHELL_POLICY}", ExecutionPolicy="AllSigned")
    assert "AllSigned" in line("PowerShell", "powershell", "not set up")


PASSWORD = "hunter2"
SERVICE, KEY = "https://rates.invalid", "a-key-of-the-account"


@pytest.fixture
def account(monkeypatch):
    """An account of this terminal, elsewhere."""
    monkeypatch.setenv("SVC_BASE_URL", SERVICE)
    monkeypatch.setenv("SVC_API_KEY", KEY)


def proxy_line():
    """The line on the proxy, without its name; `None` where there is none."""
    found = checked()[0].get("Proxy")
    return found and (found["mark"], found["said"], found["todo"])


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_is_named_and_never_with_its_password(variable, monkeypatch):
    monkeypatch.setenv(variable, f"http://me:{PASSWORD}@127.0.0.1:9")
    done = run("check", "--json")
    found = {one["name"]: one for one in json.loads(done.stdout)["lines"]}["Proxy"]
    assert (found["mark"], found["todo"]) == ("ok", None)
    assert found["said"] == f"requests to {SERVICE} go through the proxy 127.0.0.1:9"
    assert PASSWORD not in done.output


@pytest.mark.usefixtures("account")
def test_a_proxy_from_which_the_service_is_excepted_is_not_said_to_be_used(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "*")
    assert proxy_line() == ("ok", f"{SERVICE} is reached without a proxy", None)


def test_the_embedded_service_is_reached_without_a_proxy(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert proxy_line() == ("ok", "the embedded service is reached without a proxy", None)


@pytest.mark.usefixtures("account")
def test_a_proxy_that_no_request_can_use_is_wrong(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PASSWORD}#@127.0.0.1:9")
    mark, said, todo = proxy_line()
    assert mark == "wrong"
    assert said.startswith("HTTPS_PROXY cannot be used as a proxy")
    assert PASSWORD not in said
    assert todo.startswith("Correct or remove it")


@pytest.mark.usefixtures("account")
def test_a_file_of_certificates_that_is_missing_is_wrong_on_every_system(monkeypatch, tmp_path):
    monkeypatch.setattr(operating_system, "NAME", "darwin")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "company.pem"))
    mark, said, todo = proxy_line()
    assert mark == "wrong"
    assert said.startswith("SSL_CERT_FILE is")
    assert "company.pem" in said
    assert todo.startswith("Correct or remove it")


@pytest.mark.usefixtures("account")
def test_of_several_folders_of_certificates_one_with_a_certificate_is_enough(monkeypatch, tmp_path):
    shutil.copy(certifi.where(), tmp_path / "01234567.0")  # as `openssl rehash` names one
    monkeypatch.setenv("SSL_CERT_DIR", os.pathsep.join([str(tmp_path / "none"), str(tmp_path)]))
    assert proxy_line() is None
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    assert proxy_line()[0] == "wrong"


@pytest.mark.usefixtures("account")
def test_a_proxy_that_windows_finds_with_a_script_is_named_until_a_variable_names_it(
    registry, monkeypatch
):
    registry.put(INTERNET, AutoConfigURL="http://wpad.example/proxy.pac", ProxyEnable=0)
    mark, said, todo = proxy_line()
    assert mark == "not set up"
    assert "with a script" in said
    assert "set HTTPS_PROXY" in todo
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert proxy_line()[0] == "ok"
    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.delenv("SVC_BASE_URL")
    monkeypatch.delenv("SVC_API_KEY")
    assert proxy_line() is None  # the embedded service needs none


def test_the_task_for_windows_starts_this_python_when_its_user_logs_on(registry, monkeypatch):
    monkeypatch.setenv("USERDOMAIN", "OHIO & SONS")
    monkeypatch.setenv("USERNAME", "ann")
    monkeypatch.setattr(setup.sys, "executable", r"C:\my venv\Scripts\python.exe")
    done = run("serve", "--at-logon")
    assert done.exit_code == 0, done.output
    path = setup.config.excel_folder() / "svc-tools-serve.xml"
    content = path.read_bytes()
    assert content[:2] in {b"\xff\xfe", b"\xfe\xff"}  # schtasks refuses UTF-8
    task = fromstring(content.decode("utf-16").partition("?>")[2])  # noqa: S314 - we wrote it
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    values = {one.tag.removeprefix(space): one.text for one in task.iter()}
    assert {
        "UserId": r"OHIO & SONS\ann",
        "LogonType": "InteractiveToken",
        "RunLevel": "LeastPrivilege",
        "ExecutionTimeLimit": "PT0S",  # without an end
        "Command": r"C:\my venv\Scripts\python.exe",
        "Arguments": " ".join(SERVE),
    }.items() <= values.items()
    assert len(task.findall(f"{space}Triggers/{space}LogonTrigger")) == 1
    assert f'schtasks /Create /TN "svc-tools excel serve" /XML {path}' in done.stdout
    assert 'schtasks /Delete /TN "svc-tools excel serve" /F' in done.stdout
    assert registry.values == {}


@posix
def test_the_launch_agent_for_macos_starts_this_python_at_login(monkeypatch, tmp_path):
    monkeypatch.setattr(operating_system, "NAME", "darwin")
    home = tmp_path / "my home"
    for name, value in homes(home).items():
        monkeypatch.setenv(name, value)
    done = run("serve", "--at-logon")
    assert done.exit_code == 0, done.output
    folder = setup.config.excel_folder()
    agent = plistlib.loads((folder / "svc-tools.excel-serve.plist").read_bytes())
    log = str(folder / "serve.log")
    assert agent == {
        "Label": "svc-tools.excel-serve",
        "RunAtLoad": True,
        "ProcessType": "Background",
        "ProgramArguments": [sys.executable, *SERVE],
        "EnvironmentVariables": {"SVC_EXCEL": str(folder)},
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    assert not home.exists()  # the commands are shown, and none is run
    shown = [shlex.split(one) for one in done.stdout.splitlines() if one.startswith("  ")]
    make, copy, load, unload, remove = shown
    installed = home / "Library" / "LaunchAgents" / f"{agent['Label']}.plist"
    assert load == ["launchctl", "load", str(installed)]  # of macOS alone
    assert unload == ["launchctl", "unload", str(installed)]
    for command in (make, copy):
        subprocess.run(command, check=True)
    assert plistlib.loads(installed.read_bytes()) == agent
    subprocess.run(remove, check=True)
    assert not installed.exists()


SESSION = rf"{MACHINE}\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_an_account_that_only_the_terminal_knows_is_not_left_out_at_logon(
    system, registry, monkeypatch
):
    monkeypatch.setattr(operating_system, "NAME", system)
    for _ in range(2):
        done = run("serve", "--at-logon")
        said = " ".join(done.stderr.split())
        assert done.exit_code == 2
        assert "does not see SVC_BASE_URL and SVC_API_KEY" in said
        assert f"svc-tools excel install --base-url {SERVICE}" in said
        assert KEY not in done.output
        assert not [*setup.config.excel_folder().glob("svc-tools*serve*")]
        settings.remember(SERVICE, SecretStr("another-key"))
    settings.remember(SERVICE, SecretStr(KEY))
    done = run("serve", "--at-logon")
    assert done.exit_code == 0, done.output
    assert "Made" in done.stdout
    settings.choose_embedded()
    assert run("serve", "--at-logon").exit_code == 2


@pytest.mark.usefixtures("account")
def test_an_account_that_windows_stores_is_seen_at_logon(registry):
    registry.put(SESSION, SVC_BASE_URL="https://of-the-computer.invalid")
    registry.put(rf"{USER}\Environment", Svc_Base_Url=SERVICE, SVC_API_KEY=KEY)
    assert run("serve", "--at-logon").exit_code == 0
    registry.put(rf"{USER}\Environment", SVC_BASE_URL=SERVICE, SVC_API_KEY="another")
    settings.remember(SERVICE, SecretStr(KEY))  # the variables come first
    done = run("serve", "--at-logon")
    assert done.exit_code == 2
    assert "Windows stores other values" in " ".join(done.stderr.split())


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_further_variables_that_the_server_does_not_see_at_logon_are_named(
    system, registry, monkeypatch
):
    monkeypatch.setattr(operating_system, "NAME", system)
    monkeypatch.setenv("SVC_TZ", "America/New_York")
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PASSWORD}@127.0.0.1:9")
    registry.put(rf"{USER}\Environment", SVC_TZ="America/New_York")
    done = run("serve", "--at-logon")
    assert done.exit_code == 0, done.output
    first, todo, *_ = done.stdout.splitlines()
    named = first.partition(": ")[2].rstrip(".").split(", ")
    assert "HTTPS_PROXY" in named
    assert ("SVC_TZ" in named) == (system == "darwin")
    assert ("SVC_EXCEL" in named) == (system == "win32")  # the other file has it
    assert ("EnvironmentVariables" in todo) == (system == "darwin")
    assert PASSWORD not in done.output


def test_a_running_server_of_another_service_is_wrong(monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "linux")
    settings.publish_server("http://localhost:1", SecretStr("token"))
    with FileLock(settings.lock_path()):
        assert checked()[0]["Server"]["mark"] == "ok"
        monkeypatch.setenv("SVC_BASE_URL", SERVICE)
        monkeypatch.setenv("SVC_API_KEY", KEY)
        lines, code = checked()
        assert (lines["Server"]["mark"], code) == ("wrong", 1)
        assert f"it uses the embedded service, not {SERVICE}" in lines["Server"]["said"]
        assert "svc-tools excel install --base-url" in lines["Server"]["todo"]


def test_a_server_whose_service_was_changed_in_the_pane_is_not_wrong():
    settings.remember(SERVICE, SecretStr(KEY))
    settings.publish_server("http://localhost:1", SecretStr("token"))
    pages.use_embedded(Desk(cache=False))
    with FileLock(settings.lock_path()):
        assert checked()[0]["Server"]["mark"] == "ok"
        settings.remember(SERVICE, SecretStr(KEY))  # in another terminal
        assert "embedded service, not https://rates" in checked()[0]["Server"]["said"]


def test_on_other_systems_the_command_is_named_and_nothing_written(monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "linux")
    done = run("serve", "--at-logon")
    assert done.exit_code == 2
    assert "svc_tools excel serve" in " ".join(done.stderr.split())
    assert not setup.config.excel_folder().exists()


@pytest.mark.parametrize("option", [["--port", "0"], ["--http"], ["--yes"], ["--open"]])
def test_an_option_that_the_start_at_logon_would_pass_over_is_refused(option, registry):
    done = run("serve", "--at-logon", *option)
    assert done.exit_code == 2
    assert "--at-logon takes no other option" in " ".join(done.stderr.split())
    assert not setup.config.excel_folder().exists()


def test_what_the_server_says_where_it_does_not_run_names_the_start_at_logon(monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "linux")
    assert "svc-tools excel serve --at-logon" in checked()[0]["Server"]["todo"]
