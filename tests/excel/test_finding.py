"""Excel in the Windows registry: which one it is, and what it allows."""

from __future__ import annotations

import struct

import pytest
from support.windows import (
    EXCEL,
    FORBIDDEN,
    HERE,
    NO_MACROS,
    OF_32_BITS,
    TRUSTED,
    MadeRegistry,
)

from svc_tools.excel.finding import bits_of, find_calc, find_excel

OUTLOOK = ("HKLM", r"SOFTWARE\Microsoft\Office\16.0\Outlook", "Bitness")
PLATFORM = ("HKLM", r"SOFTWARE\Microsoft\Office\ClickToRun\Configuration", "Platform")


def found(*values):
    return find_excel(MadeRegistry(HERE, *values))


def test_an_excel_of_today_is_found_with_its_version_and_bits():
    excel = found()
    assert str(excel.path) == EXCEL
    assert (excel.version, excel.build, excel.bits) == ("16.0", "16.0.17928.20114", 64)
    assert not excel.trusts_import
    assert excel.macros == 2


def test_there_may_be_none():
    assert find_excel(MadeRegistry()) is None
    assert find_excel(MadeRegistry(HERE, dict.fromkeys(HERE, ""))) is None


def test_the_bits_of_an_office_from_a_disc_are_told_beside_outlook():
    assert found(OF_32_BITS).bits == 32
    assert found({PLATFORM: None, OUTLOOK: "x86"}).bits == 32
    assert found({PLATFORM: None}).bits is None


def test_the_users_own_excel_comes_before_the_machines():
    path = ("HKCU", r"SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths\excel.exe", "")
    assert str(found({path: r'"D:\Office\EXCEL.EXE"'}).path) == r"D:\Office\EXCEL.EXE"


def test_a_policy_decides_over_the_users_own_choice():
    assert found(TRUSTED).trusts_import
    assert not found(TRUSTED).import_by_policy
    forbidden = found(TRUSTED, FORBIDDEN)
    assert not forbidden.trusts_import
    assert forbidden.import_by_policy
    assert found(NO_MACROS).macros == 4


@pytest.mark.parametrize(("machine", "bits"), [(0x14C, 32), (0x8664, 64), (0xAA64, 64), (1, None)])
def test_a_programs_own_header_says_its_bits(tmp_path, machine, bits):
    program = tmp_path / "EXCEL.EXE"
    header = struct.pack("<I", 128)
    program.write_bytes(
        b"MZ".ljust(0x3C, b"\0")
        + header.ljust(68, b"\0")
        + b"PE\0\0"
        + (struct.pack("<H", machine))
    )
    assert bits_of(program) == bits


@pytest.mark.parametrize("content", [None, b"", b"MZ", b"\0" * 200])
def test_what_is_no_program_says_nothing(tmp_path, content):
    program = tmp_path / "EXCEL.EXE"
    if content is not None:
        program.write_bytes(content)
    assert bits_of(program) is None


def test_calc_is_found_by_its_name_or_in_the_registry(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_calc(None) is None
    path = ("HKLM", r"SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths\soffice.exe", "")
    assert find_calc(MadeRegistry({path: "/opt/office/soffice.exe"})).name == "soffice.exe"
    (tmp_path / "soffice").touch(mode=0o755)
    assert find_calc(None) == tmp_path / "soffice"
