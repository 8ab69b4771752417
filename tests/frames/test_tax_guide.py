"""docs/TAX.md says what the code does: its tables are the code's, its examples run."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from support.looked_up import dollars, found, taxed

from svc_tools.frames.lookup_columns import TAX_COLUMNS, TAX_OPTION_COLUMNS
from svc_tools.frames.taxes.rounding import ROUNDINGS
from svc_tools.frames.taxes.tax import CAPS, ORIGIN_SOURCED
from svc_tools.places import STATES

GUIDE = (Path(__file__).parents[2] / "docs" / "TAX.md").read_text(encoding="utf-8")


def table(first):
    """The rows of the table whose first heading is `first`; there may be several such tables."""
    found_tables = []
    for block in re.findall(r"(?:^\|.*\n)+", GUIDE, re.MULTILINE):
        rows = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()
        ]
        if rows[0][0] == first:
            found_tables.append((rows[0], rows[2:]))
    return found_tables


def test_every_column_is_described_in_order():
    ((_, rows),) = table("column")
    assert [row[0].strip("`") for row in rows] == [*TAX_COLUMNS, *TAX_OPTION_COLUMNS]


def test_the_rules_of_states_are_those_of_the_code():
    (_, origin), (_, caps) = table("state")
    assert origin == [[STATES[code], *rule] for code, rule in ORIGIN_SOURCED.items()]
    assert caps == [
        [STATES[code], f"${rule.cents // 100:,}", *rule[1:]] for code, rule in CAPS.items()
    ]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_rounding_of_the_examples(rounding):
    ((header, rows),) = table("`rounding=`")
    (cells,) = (row for row in rows if row[0] == f"`{rounding}`")
    amounts = [Decimal(exact) * 1000 for exact in header[2:]]
    rate = ["0.00100"] * len(amounts)
    result = taxed(amounts, {"rounding": rounding}, combined_rate=rate)
    assert found(result, "tax") == dollars(cells[2:])
    assert len(rows) == len(ROUNDINGS)


def test_the_example_of_an_invoice():
    said = re.search(r"0\.2601 together: 0\.26, as (.*)\.$", GUIDE, re.MULTILINE)
    amounts = ["1.00", "1.00", "1.00", "0.06"]
    result = taxed(amounts, {"invoice": "order"}, combined_rate="0.08500", order=1)
    assert found(result, "tax") == dollars(re.findall(r"[0-9.]*[0-9]", said[1]))
