"""Programs that some tests need: found, or the test skips with the line that installs them."""

from __future__ import annotations

import functools
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from benchmarks import tools

if TYPE_CHECKING:
    from collections.abc import Callable


def _or_skip(find: Callable[[], str]) -> str:
    try:
        return find()
    except tools.ToolError as error:
        pytest.skip(str(error))


def soffice() -> str:
    """LibreOffice: a real spreadsheet engine."""
    return _or_skip(tools.soffice)


def chromium() -> str:
    """Chromium: the pages, as a person sees and uses them."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("Chromium is missing: apt-get install --no-install-recommends chromium")
    return found


def node() -> str:
    """Node: JavaScript of ours, run as it is shipped."""
    return _or_skip(tools.node)


@functools.cache
def openssl() -> str:
    """openssl: a certificate for https on this machine."""
    found = shutil.which("openssl")
    if found is None:
        pytest.skip("openssl is missing: apt-get install --no-install-recommends openssl")
    return found


@functools.cache
def python_with_uno() -> str:
    """A Python that knows LibreOffice: that of the system, not that of the tests."""
    return _or_skip(tools.python_with_uno)


def unoidl_write() -> str:
    """What makes type libraries for LibreOffice."""
    found = shutil.which("unoidl-write", path="/usr/lib/libreoffice/sdk/bin:" + os.defpath)
    if found is None:
        pytest.skip(
            "unoidl-write is missing: apt-get install --no-install-recommends libreoffice-dev"
        )
    return found
