"""The steps that Excel on Windows needs before it can start Python."""

from __future__ import annotations

import shutil
from importlib import resources
from typing import TYPE_CHECKING

from svc_tools.excel.steps import Step, tried
from svc_tools.excel.xlwings_file import (
    INTERPRETER,
    keep_backup,
    pairs_in,
    with_pair,
    write_conf,
)
from svc_tools.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.excel.finding import Excel
    from svc_tools.excel.machine import Machine

__all__ = [
    "ASKS",
    "BY_POLICY",
    "MACROS",
    "TRUST",
    "conf_wanted",
    "excel_steps",
    "excel_words",
    "missing_library",
]

TRUST = (
    "In Excel: File > Options > Trust Center > Trust Center Settings > Macro Settings, tick"
    ' "Trust access to the VBA project object model". "Import functions" needs it, once for each'
    " workbook; you may clear it again afterwards"
)
MACROS = {
    3: "Excel runs signed macros alone, and the workbook's are not signed",
    4: "Excel runs no macros, and says nothing of it",
}
"""What stands in the way of the workbook, by the setting of the Trust Center."""
BY_POLICY = (
    'Your organisation decides on "Trust access to the VBA project object model", which "Import'
    ' functions" needs: ask its administrators, or use the add-in instead: svc-tools excel serve'
)
ASKS = (
    'In Excel: File > Options > Trust Center > Trust Center Settings > Macro Settings, "Disable VBA'
    ' macros with notification"; then press "Enable Content" when the workbook opens'
)
_ASKS = 2
_RIBBON = "xlwings.xlam"
_PATHS = "PYTHONPATH"


def excel_steps(machine: Machine, *, addin: bool, dry_run: bool) -> Iterator[Step]:
    """The steps, each done when it is given out; one alone where there is no Excel.

    Args:
        machine: this machine.
        addin: xlwings' own ribbon is wanted too.
        dry_run: nothing is written.
    """
    excel = machine.excel()
    if excel is None:
        said = "No Excel was found on this machine: nothing was written for it."
        yield Step("Excel", "not here", said)
        return
    yield Step("Excel", "already so", f"{excel_words(excel)}.")
    if machine.xlwings is None:
        said = 'xlwings is not installed. Install it with: pip install "svc-tax-tools[excel]"'
        yield Step("xlwings", "by hand", said)
        return
    yield tried("Library", lambda: _library(machine, excel))
    yield tried("xlwings.conf", lambda: _conf(machine, dry_run=dry_run))
    yield _trust(excel)
    yield _macros(excel)
    if addin:
        yield tried("Ribbon", lambda: _ribbon(machine, dry_run=dry_run))


def excel_words(excel: Excel) -> str:
    """Which Excel it is, in words."""
    bits = "" if excel.bits is None else f", {excel.bits}-bit"
    return f"Excel {excel.build or excel.version}{bits}: {excel.path}"


def missing_library(machine: Machine, name: str) -> str:
    """What to do where the library that Excel loads is not beside the Python."""
    python = f'"{machine.python}"' if " " in str(machine.python) else machine.python
    return (
        f"{name} is not beside {machine.python.name}, and Excel reaches Python through it."
        f" Install xlwings again: {python} -m pip install --force-reinstall --no-deps"
        f" xlwings=={machine.xlwings}. If it stays away: a Python of the Microsoft Store keeps it"
        " elsewhere (take one of python.org), and some virus scanners remove it"
    )


def _library(machine: Machine, excel: Excel) -> Step:
    name, path = machine.library(excel)
    if path is None:
        return Step("Library", "by hand", f"{missing_library(machine, name)}.")
    return Step("Library", "already so", f"Excel reaches Python through {path}.")


def conf_wanted(machine: Machine, content: bytes) -> bytes:
    """The configuration of xlwings as it has to be, out of the one that is there.

    Raises:
        ConfigurationError: the path of this Python cannot be written there.
    """
    told = pairs_in(content)
    if not machine.names_this_python(told.get(INTERPRETER)):
        content = with_pair(content, INTERPRETER, str(machine.python))
    if machine.beside is not None:
        paths = [one for one in told.get(_PATHS, "").split(";") if one]
        if str(machine.beside) not in paths:
            content = with_pair(content, _PATHS, ";".join([*paths, str(machine.beside)]))
    return content


def _conf(machine: Machine, *, dry_run: bool) -> Step:
    path = machine.conf
    before = path.read_bytes() if path.exists() else b""
    wanted = conf_wanted(machine, before)
    told = pairs_in(wanted)
    named = f"Excel starts {machine.python}, as {path} says."
    if told.get("ADD_WORKBOOK_TO_PYTHONPATH", "true").casefold() == "false":
        named += (
            ' It also says "ADD_WORKBOOK_TO_PYTHONPATH","false": then a workbook does not find'
            " svc_udfs.py beside itself. Take that line out by hand."
        )
    if wanted == before:
        return Step("xlwings.conf", "already so", named)
    if dry_run:
        changed = ", ".join(
            f'"{name}","{told[name]}"'
            for name in (INTERPRETER, _PATHS)
            if told.get(name) != pairs_in(before).get(name)
        )
        return Step("xlwings.conf", "would do", f"Write {changed} to {path}.")
    backup = keep_backup(path)
    write_conf(path, wanted)
    kept = "" if backup is None else f" The other lines stay; the file as it was: {backup.name}."
    return Step("xlwings.conf", "done", named + kept)


def _trust(excel: Excel) -> Step:
    if excel.trusts_import:
        said = "Excel lets functions be imported into a workbook."
        return Step("Trust", "already so", said)
    return Step("Trust", "by hand", f"{BY_POLICY if excel.import_by_policy else TRUST}.")


def _macros(excel: Excel) -> Step:
    if excel.macros in MACROS:
        return Step("Macros", "by hand", f"{MACROS[excel.macros]}. {ASKS}.")
    asks = 'Excel asks before macros run: press "Enable Content" when the workbook opens.'
    return Step("Macros", "already so", asks if excel.macros == _ASKS else "Excel runs macros.")


def _ribbon(machine: Machine, *, dry_run: bool) -> Step:
    if machine.startup is None:
        return Step("Ribbon", "not here", "Excel's start-up folder is not known.")
    target = machine.startup / _RIBBON
    with resources.as_file(resources.files("xlwings") / "addin" / _RIBBON) as source:
        if target.exists() and target.read_bytes() == source.read_bytes():
            return Step("Ribbon", "already so", f"xlwings' ribbon is at {target}.")
        if dry_run:
            return Step("Ribbon", "would do", f"Copy xlwings' ribbon to {target}.")
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as draft:  # no copy beside it: Excel opens all that lies there
            shutil.copyfile(source, draft)
    return Step("Ribbon", "done", f"xlwings' ribbon is at {target}; start Excel again.")
