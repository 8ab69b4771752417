"""Every warning that an answer can carry has a meaning that reports can print."""

from __future__ import annotations

import re
from pathlib import Path

from svc_tools.meanings import MEANINGS
from svc_tools.service.ratebook import advisories


def test_every_warning_of_the_service_has_a_meaning():
    codes = set(re.findall(r'"code": "(\w+)"', Path(advisories.__file__).read_text()))
    assert "zip_spans_jurisdictions" in codes
    assert codes <= set(MEANINGS)
