"""docs/COLUMNS.md names every column, its form and its meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from svc_tools.frames.lookup_columns import COLUMN_MEANINGS, DETAIL_COLUMNS, LOOKUP_COLUMNS

GUIDE = (Path(__file__).parents[2] / "docs" / "COLUMNS.md").read_text(encoding="utf-8")


def tables():
    """The rows of each table, without its head."""
    found = re.findall(r"((?:^\|.*\n)+)", GUIDE, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()[2:]]
        for table in found
    ]


@pytest.fixture(scope="module")
def looked(embedded):
    frame = pd.DataFrame({"state": ["CA", "TX"], "zip": ["94105", "bad"]})
    return frame.svc.lookup(
        client=embedded, as_of="2026-02-01", detail=True, cache=False, progress=False
    )


def test_every_column_stands_in_its_order_with_its_meaning():
    plain, detail, *_ = tables()
    assert [row[0].strip("`") for row in plain] == list(LOOKUP_COLUMNS)
    assert [row[0].strip("`") for row in detail] == list(DETAIL_COLUMNS)
    for name, _, meaning in plain + detail:
        assert meaning == COLUMN_MEANINGS[name.strip("`")]


def test_every_column_has_the_form_that_is_told(looked):
    plain, detail, *_ = tables()
    for name, form, _ in plain + detail:
        dtype = str(looked[name.strip("`")].dtype).replace("[day]", "").removesuffix("[pyarrow]")
        assert dtype == form.strip("`"), name
