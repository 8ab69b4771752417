"""What a workbook is built from: the host it is for, the VBA of xlwings, and its Python module."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MODULE_TEXT = '''\
"""The functions and macros of this workbook: SVC_RATE, SVC_TAX, SVC_REFRESH and the others.

Keep this file beside the workbook, under this name; nothing in it needs to be changed. Excel reads
it when the functions are imported: once, and again after an update of svc-tools.
"""

from svc_tools.excel.com.macros import *  # noqa: F403 - what Alt+F8 shows
from svc_tools.excel.com.udfs import *  # noqa: F403 - what a formula can call
'''
"""The module in the workbook's folder: it brings the functions and the macros."""
_TEMPLATE = "quickstart_standalone.xlsm"
_PROJECT = "xl/vbaProject.bin"
_MISSING = (
    "the workbook is made from the template of xlwings, which is not installed: pip install"
    " 'svc-tax-tools[excel]'"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One of the first steps.

    Attributes:
        title: when it is done.
        text: what to do.
        button: the caption and the macro of a button that does it, if there is one.
    """

    title: str
    text: str
    button: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """A spreadsheet program, as far as the sheets differ in it.

    Attributes:
        name: its name in a sentence.
        naming: gives the name of a function of the registry in a formula.
        macros: whether it has the macros, and buttons for them.
        spills: whether arrays spill.
        empty_is_zero: whether an empty cell reaches a function as 0.
        steps: what to do before the first formula computes.
        refresh: how the rates are refreshed, in words.
    """

    name: str
    naming: Callable[[str], str]
    macros: bool
    spills: bool
    empty_is_zero: bool
    steps: tuple[Step, ...]
    refresh: str


_LAST_STEP = Step(
    "Then work",
    "Look a place up, put your own lines in place of the example orders, see what your nexus"
    " register says. Yellow cells are yours to type in; all others are computed.",
)


def excel(version: str) -> Host:
    """Excel on Windows with xlwings; the workbook has the VBA of that version."""
    return Host(
        name="Excel",
        naming=str,
        macros=True,
        spills=True,
        empty_is_zero=False,
        steps=(
            Step(
                "Once on this computer",
                "Run `svc-tools excel install` in a terminal; `svc-tools excel check` says what is"
                " wrong, if something is. Then in Excel, under File > Options > Trust Center >"
                " Trust Center Settings > Macro Settings, tick “Trust access to the VBA project"
                " object model”: the import of step 2 needs it.",
            ),
            Step(
                "Once in this workbook",
                "Enable the content if Excel asks, press the button, then Ctrl+Alt+F9. Until then"
                " cells with our functions show #NAME?. Keep the file svc_udfs.py in the folder of"
                " the workbook; a copy of the workbook needs it beside itself as well. The workbook"
                f" is made for xlwings {version}; after an update of xlwings make a new one.",
                ("Import functions", "ImportPythonUDFs"),
            ),
            _LAST_STEP,
        ),
        refresh="the macro SVC_REFRESH",
    )


def calc(naming: Callable[[str], str]) -> Host:
    """LibreOffice Calc with the add-in; functions have the names they have in its files."""
    return Host(
        name="LibreOffice Calc",
        naming=naming,
        macros=False,
        spills=False,
        empty_is_zero=True,
        steps=(
            Step(
                "Once on this computer",
                "Run `svc-tools excel calc-addin` in a terminal: it makes the extension. Install it"
                " under Tools > Extension Manager > Add, and start LibreOffice again.",
            ),
            Step(
                "Before you open this file",
                "Run `svc-tools excel serve` in a terminal and leave it running: the cells ask it."
                " Then compute everything once with Ctrl+Shift+F9.",
            ),
            _LAST_STEP,
        ),
        refresh="the menu of the extension",
    )


def xlwings_version() -> str:
    """The version of the installed xlwings, the only one that the VBA of its template works with.

    Raises:
        ImportError: xlwings is not installed.
    """
    try:
        return version("xlwings")
    except PackageNotFoundError:
        raise ImportError(_MISSING) from None


def vba_project() -> bytes:
    """The unchanged VBA of xlwings' template for a workbook that works without its add-in.

    Raises:
        ImportError: xlwings is not installed, or has no such template.
    """
    found = find_spec("xlwings")  # importing it would take most of a second
    if found is None or found.origin is None:
        raise ImportError(_MISSING)
    path = Path(found.origin).with_name(_TEMPLATE)
    try:
        with zipfile.ZipFile(path) as template:
            return template.read(_PROJECT)
    except (OSError, KeyError, zipfile.BadZipFile):
        raise ImportError(
            f"the installed xlwings ({xlwings_version()}) has no template {_TEMPLATE} with VBA in"
            " it; install another version: pip install --upgrade 'svc-tax-tools[excel]'"
        ) from None
