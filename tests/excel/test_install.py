"""What `svc-tools excel install` does, on Windows machines that are made up and on this one."""

from __future__ import annotations

import pytest
import xlwings
from keyring.backends.fail import Keyring as FailKeyring
from pydantic import SecretStr
from support.faults import HANG, KEY, answer
from support.keyrings import use_keyring
from support.secrets import files_with
from support.windows import FORBIDDEN, NO_MACROS, OF_32_BITS, TRUSTED, as_excel_reads, windows

from svc_tools.excel import installing, settings
from svc_tools.excel.installing import Wish, install
from svc_tools.excel.machine import Machine

UNKNOWN = b'{"error": {"code": "UNAUTHORIZED", "message": "No.", "support_reference": "r"}}'


@pytest.fixture(autouse=True)
def keyring(monkeypatch, tmp_path):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return use_keyring(monkeypatch)


def taken(wish, machine):
    """The steps by their names."""
    return {step.name: step for step in install(wish, machine)}


def test_excel_is_told_which_python_it_starts(tmp_path, monkeypatch):
    machine = windows(tmp_path, TRUSTED)
    steps = taken(Wish(), machine)
    assert {name: step.state for name, step in steps.items()} == {
        "Service": "already so",
        "Excel": "already so",
        "Library": "already so",
        "xlwings.conf": "done",
        "Trust": "already so",
        "Macros": "already so",
    }
    assert as_excel_reads(machine.conf.read_bytes()) == {"INTERPRETER_WIN": str(machine.python)}
    monkeypatch.setattr(xlwings, "USER_CONFIG_FILE", str(machine.conf))
    assert xlwings.utils.read_user_config() == {"interpreter_win": str(machine.python)}
    again = taken(Wish(), machine)
    assert again["xlwings.conf"].state == "already so"
    assert [one.name for one in machine.conf.parent.iterdir()] == ["xlwings.conf"]


def test_what_stood_in_the_configuration_stays_and_is_kept_as_it_was(tmp_path):
    machine = windows(tmp_path)
    machine.conf.parent.mkdir(parents=True)
    before = b'"LICENSE_KEY","abc"\r\n\r\n"INTERPRETER_WIN","C:\\old\\python.exe"\r\n'
    machine.conf.write_bytes(before)
    step = taken(Wish(), machine)["xlwings.conf"]
    assert "xlwings.conf.before-1" in step.said
    assert (machine.conf.parent / "xlwings.conf.before-1").read_bytes() == before
    read = as_excel_reads(machine.conf.read_bytes())
    assert read == {"LICENSE_KEY": "abc", "INTERPRETER_WIN": str(machine.python)}


def test_a_toolkit_that_is_not_installed_is_named_beside_other_folders(tmp_path):
    machine = windows(tmp_path, beside=tmp_path / "copy")
    machine.conf.parent.mkdir(parents=True)
    machine.conf.write_bytes(b'"PYTHONPATH","C:\\mine"\r\n')
    taken(Wish(), machine)
    assert as_excel_reads(machine.conf.read_bytes())["PYTHONPATH"] == f"C:\\mine;{tmp_path}/copy"
    assert taken(Wish(), machine)["xlwings.conf"].state == "already so"


def test_a_setting_that_hides_the_workbooks_module_is_named(tmp_path):
    machine = windows(tmp_path)
    machine.conf.parent.mkdir(parents=True)
    machine.conf.write_bytes(b'"ADD_WORKBOOK_TO_PYTHONPATH","False"\r\n')
    assert "Take that line out" in taken(Wish(), machine)["xlwings.conf"].said


@pytest.mark.parametrize(
    ("values", "name", "said"),
    [
        ([], "Trust", "Trust access to the VBA project object model"),
        ([TRUSTED, FORBIDDEN], "Trust", "ask its administrators"),
        ([NO_MACROS], "Macros", "runs no macros"),
    ],
)
def test_what_only_a_person_may_allow_is_named_and_not_changed(tmp_path, values, name, said):
    step = taken(Wish(), windows(tmp_path, *values))[name]
    assert step.state == "by hand"
    assert said in step.said
    assert "svc-tools excel serve" in step.said or "File > Options > Trust Center" in step.said


def test_excels_bits_decide_the_library_and_not_pythons(tmp_path):
    step = taken(Wish(), windows(tmp_path, OF_32_BITS))["Library"]
    assert step.state == "by hand"
    assert "xlwings32-0.37.8.dll" in step.said
    assert "--force-reinstall" in step.said
    assert taken(Wish(), windows(tmp_path, OF_32_BITS, library="xlwings32"))["Library"].state == (
        "already so"
    )


def test_a_dry_run_writes_nothing_and_asks_nobody(tmp_path, keyring, faults):
    machine = windows(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    wish = Wish(address=faults.base_url, addin=True, dry_run=True)
    steps = taken(wish, machine)
    for name in ("Service", "xlwings.conf", "Ribbon"):
        assert steps[name].state == "would do", name
    assert str(machine.python) in steps["xlwings.conf"].said
    assert sorted(tmp_path.rglob("*")) == before
    assert (faults.seen, keyring.kept) == ([], {})


def test_the_ribbon_is_the_one_of_the_installed_xlwings(tmp_path):
    machine = windows(tmp_path)
    assert taken(Wish(addin=True), machine)["Ribbon"].state == "done"
    ribbon = tmp_path / "XLSTART" / "xlwings.xlam"
    assert ribbon.read_bytes()[:2] == b"PK"
    assert taken(Wish(addin=True), machine)["Ribbon"].state == "already so"
    ribbon.write_bytes(b"of another version")
    assert taken(Wish(addin=True), machine)["Ribbon"].state == "done"
    # Excel opens all that lies there: neither a backup nor a draft may
    assert [one.name for one in ribbon.parent.iterdir()] == ["xlwings.xlam"]


def test_without_excel_it_says_so_and_does_what_is_left(tmp_path, service):
    machine = windows(tmp_path, registry=None)
    steps = taken(Wish(address=service, key=SecretStr(KEY)), machine)
    assert steps["Service"].state == "done"
    assert steps["Excel"].state == "not here"
    assert "No Excel was found" in steps["Excel"].said
    assert not machine.conf.exists()
    elsewhere = taken(Wish(), Machine(system="darwin"))
    assert "this is macOS" in elsewhere["Excel"].said


def test_a_key_that_the_service_takes_is_kept_in_the_keyring_alone(tmp_path, service, keyring):
    wish = Wish(address=service, key=SecretStr(KEY))
    step = taken(wish, windows(tmp_path))["Service"]
    assert step.state == "done"
    assert "accepts the key" in step.said
    assert KEY not in step.said + repr(wish)
    assert keyring.kept == {("svc-tools", service): KEY}
    assert files_with(KEY, tmp_path)[0] == []
    assert taken(Wish(address=service), windows(tmp_path))["Service"].state == "already so"


def test_a_key_that_the_service_refuses_changes_nothing(tmp_path, faults, keyring):
    settings.choose_embedded()
    faults.will(answer(401, UNKNOWN))
    steps = taken(Wish(address=faults.base_url, key=SecretStr(KEY)), windows(tmp_path))
    assert steps["Service"].state == "failed"
    assert "nothing was changed" in steps["Service"].said
    assert keyring.kept == {}
    assert settings.chosen() == "embedded"
    assert steps["xlwings.conf"].state == "done"  # the next step goes on


def test_a_service_that_does_not_answer_now_is_kept_and_that_is_said(
    tmp_path, faults, keyring, monkeypatch
):
    monkeypatch.setattr(installing, "_ASKING", 0.2)
    faults.will(HANG)
    step = taken(Wish(address=faults.base_url, key=SecretStr(KEY)), windows(tmp_path))["Service"]
    assert step.state == "done"
    assert "is not known: No answer from" in step.said
    assert keyring.kept


def test_without_a_safe_keyring_the_key_is_not_kept_and_excel_is_set_up(tmp_path, monkeypatch):
    use_keyring(monkeypatch, FailKeyring())
    wish = Wish(address="https://rates.example", key=SecretStr(KEY))
    steps = taken(wish, windows(tmp_path))
    assert steps["Service"].state == "failed"
    assert "no keyring was found" in steps["Service"].said
    assert settings.chosen() is None
    assert steps["xlwings.conf"].state == "done"


def test_a_choice_that_the_environment_overrules_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_BASE_URL", "https://rates.example")
    monkeypatch.setenv("SVC_API_KEY", KEY)
    assert (
        "environment, which comes first"
        in taken(Wish(embedded=True), windows(tmp_path))["Service"].said
    )


def test_a_key_is_forgotten_on_request(tmp_path, service, keyring):
    machine = windows(tmp_path)
    taken(Wish(address=service, key=SecretStr(KEY)), machine)
    assert taken(Wish(forget_key=True, dry_run=True), machine)["Service"].state == "would do"
    assert keyring.kept
    step = taken(Wish(forget_key=True), machine)["Service"]
    assert step.state == "done"
    assert "once they are started again" in step.said  # what runs has the key in its memory
    assert keyring.kept == {}
    assert taken(Wish(forget_key=True), machine)["Service"].state == "already so"
    assert taken(Wish(), machine)["Service"].state == "failed"  # an address without its key
