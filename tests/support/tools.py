"""Programs that some tests need: found, or the test skips with the line that installs them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

import pytest


def soffice() -> str:
    """LibreOffice: a real spreadsheet engine."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        pytest.skip(
            "LibreOffice is missing: apt-get install --no-install-recommends libreoffice-calc"
        )
    return found


def chromium() -> str:
    """Chromium: the pages, as a person sees and uses them."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("Chromium is missing: apt-get install --no-install-recommends chromium")
    return found


def node() -> str:
    """Node: JavaScript of ours, run as it is shipped."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node is missing: apt-get install --no-install-recommends nodejs")
    return found


def openssl() -> str:
    """openssl: a certificate for https on this machine."""
    found = shutil.which("openssl")
    if found is None:
        pytest.skip("openssl is missing: apt-get install --no-install-recommends openssl")
    return found


@functools.cache
def python_with_uno() -> str:
    """A Python that knows LibreOffice: that of the system, not that of the tests."""
    for name in ("/usr/bin/python3", "python3"):
        found = shutil.which(name)
        knows = [found or "", "-c", "import uno"]
        if found and not subprocess.run(knows, capture_output=True, check=False).returncode:
            return found
    pytest.skip(
        "python3-uno is missing: apt-get install --no-install-recommends libreoffice-calc"
        " python3-uno"
    )


def unoidl_write() -> str:
    """What makes type libraries for LibreOffice."""
    found = shutil.which("unoidl-write", path="/usr/lib/libreoffice/sdk/bin:" + os.defpath)
    if found is None:
        pytest.skip(
            "unoidl-write is missing: apt-get install --no-install-recommends libreoffice-dev"
        )
    return found
