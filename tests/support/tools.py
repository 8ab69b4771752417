"""Programs that some tests need: found, or the test skips with the line that installs them."""

from __future__ import annotations

import shutil

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
