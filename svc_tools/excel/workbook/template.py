"""The template of xlwings that a workbook is made from: its VBA, as it is, and its version."""

from __future__ import annotations

import zipfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["vba_project", "xlwings_version"]

_TEMPLATE = "quickstart_standalone.xlsm"
_PROJECT = "xl/vbaProject.bin"
_MISSING = (
    "the workbook is made from the template of xlwings, which is not installed: pip install"
    " 'svc-tax-tools[excel]'"
)


def xlwings_version() -> str:
    """The version of the xlwings that is installed: the VBA of its template works with it alone.

    Raises:
        ImportError: xlwings is not installed.
    """
    try:
        return version("xlwings")
    except PackageNotFoundError:
        raise ImportError(_MISSING) from None


def vba_project() -> bytes:
    """The VBA of xlwings' template for a workbook that works without its add-in, unchanged.

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
