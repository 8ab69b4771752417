"""docs/RECONCILE.md says what the code does: its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from svc_tools.frames.analysis.comparison import CLASSES
from svc_tools.frames.analysis.filing import FILING_COLUMNS
from svc_tools.frames.analysis.reconcile import LINE_COLUMNS
from svc_tools.frames.review import REVIEW_COLUMNS

GUIDE = Path(__file__).parents[2] / "docs" / "RECONCILE.md"


def table(head):
    """The rows of the guide's table whose first head is this."""
    lines = GUIDE.read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        first, second = (cell.strip() for cell in line.strip("|").split("|"))
        rows[first.strip("`")] = second
    return rows


def test_the_classes():
    assert tuple(table("class")) == CLASSES


@pytest.mark.parametrize("columns", [LINE_COLUMNS, REVIEW_COLUMNS, FILING_COLUMNS[1:]])
def test_every_column_is_named(columns):
    named = set(re.findall(r"`([a-z_]+)`", GUIDE.read_text(encoding="utf-8")))
    assert set(columns) <= named
