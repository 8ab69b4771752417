"""The links of Excel through xlwings, which only Windows has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.excel.finding import mac_excel
from svc_tools.excel.installing_excel import (
    ASKS,
    BY_POLICY,
    MACROS,
    TRUST,
    conf_wanted,
    excel_words,
    missing_library,
)
from svc_tools.excel.lines import Line
from svc_tools.excel.xlwings_file import INTERPRETER, pairs_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.excel.finding import Excel
    from svc_tools.excel.machine import Machine

__all__ = ["excel_lines"]

_XLWINGS = "xlwings"
_NAMES = ("Excel", "Library", "xlwings.conf", "Trust", "Macros")
_WINDOWS = "only Windows can answer this"
_INSTALL = "Run: svc-tools excel install"


def excel_lines(machine: Machine) -> Iterator[Line]:
    """Excel, the library between it and Python, which Python it starts, and what it allows."""
    if not machine.is_windows:
        for name in _NAMES:
            found = mac_excel() if name == "Excel" else None
            said = f"{found} takes the add-in, not xlwings" if found else _WINDOWS
            yield Line(_XLWINGS, name, "elsewhere", said)
        return
    excel = machine.excel()
    if excel is None:
        todo = "The add-in serves other Excels, and Calc: svc-tools excel serve"
        yield Line(_XLWINGS, "Excel", "not set up", "no Excel was found", todo)
        return
    yield Line(_XLWINGS, "Excel", "ok", excel_words(excel))
    if machine.xlwings is not None:
        yield _library(machine, excel)
        yield _conf(machine)
    yield _trust(excel)
    yield _macros(excel)


def _library(machine: Machine, excel: Excel) -> Line:
    name, path = machine.library(excel)
    if path is not None:
        return Line(_XLWINGS, "Library", "ok", str(path))
    said = f"{name} is missing"
    return Line(_XLWINGS, "Library", "wrong", said, missing_library(machine, name))


def _conf(machine: Machine) -> Line:
    name = "xlwings.conf"
    try:
        content = machine.conf.read_bytes()
    except FileNotFoundError:
        return Line(_XLWINGS, name, "wrong", f"there is no {machine.conf}", _INSTALL)
    except OSError as error:
        return Line(_XLWINGS, name, "wrong", f"{machine.conf} cannot be read: {error}")
    told = pairs_in(content).get(INTERPRETER)
    if conf_wanted(machine, content) != content:
        said = f"Excel starts {told or 'a Python of its own choice'}, not {machine.python}"
        return Line(_XLWINGS, name, "wrong", said, _INSTALL)
    return Line(_XLWINGS, name, "ok", f"Excel starts {told}, which is this Python")


def _trust(excel: Excel) -> Line:
    if excel.trusts_import:
        return Line(_XLWINGS, "Trust", "ok", "functions can be imported into a workbook")
    # not wrong: functions that were imported before work on without it
    if excel.import_by_policy:
        said = "your organisation forbids importing functions"
        return Line(_XLWINGS, "Trust", "not set up", said, BY_POLICY)
    said = "Excel does not allow importing functions"
    return Line(_XLWINGS, "Trust", "not set up", said, TRUST)


def _macros(excel: Excel) -> Line:
    if excel.macros in MACROS:
        return Line(_XLWINGS, "Macros", "wrong", MACROS[excel.macros], ASKS)
    said = "all of them run" if excel.macros == 1 else "they run once you press Enable Content"
    return Line(_XLWINGS, "Macros", "ok", said)
