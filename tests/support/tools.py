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
