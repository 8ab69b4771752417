"""docs/COLUMNS.md, docs/FILING.md, docs/RECONCILE.md and docs/TAX.md say what the code does."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from support.frames import dollars, found, tax_of

from svc_tools.frames.analysis.comparison import CLASSES
from svc_tools.frames.analysis.filing import FILING_COLUMNS
from svc_tools.frames.analysis.reconcile import LINE_COLUMNS
from svc_tools.frames.review.review import REVIEW_COLUMNS
from svc_tools.frames.taxes.tax import CAPS, ORIGIN_SOURCED
from svc_tools.lookup.columns import (
    ADDED_COLUMNS,
    COLUMN_MEANINGS,
    COLUMNS,
    DETAIL_COLUMNS,
    DTYPES,
    LOOKUP_COLUMNS,
    SHORT_COLUMNS,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
)
from svc_tools.lookup.options import ROUNDINGS
from svc_tools.tables.states import STATES

DOCS = Path(__file__).parents[2] / "docs"


def text(page):
    return (DOCS / page).read_text(encoding="utf-8")


def tables(page, first):
    """The tables of a page whose first heading is `first`: their heads and rows."""
    made = []
    for block in re.findall(r"(?:^\|.*\n)+", text(page), re.MULTILINE):
        rows = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()
        ]
        if rows[0][0] == first:
            made.append((rows[0], rows[2:]))
    return made


def names(rows):
    return [row[0].strip("`") for row in rows]


def test_every_column_of_a_lookup_and_a_tax_has_the_form_of_the_table(embedded):
    frame = pd.DataFrame({"state": ["CA", "TX"], "zip": ["94105", "bad"]})
    options = {"client": embedded, "as_of": "2026-02-01", "cache": False, "progress": False}
    looked = frame.assign(amount="9.99", delivery="1.00").svc.lookup(**options, detail=True)
    nexus = pd.DataFrame({"state": ["CA"], "nexus_type": ["economic"]})
    taxed = looked.svc.tax("amount", shipping="delivery", nexus=nexus, progress=False)
    sold = frame.assign(price="9.99", quantity="2").svc.lookup(**options).svc.tax(progress=False)
    there = {**sold.dtypes, **taxed.dtypes}
    dtypes = {
        name: str(dtype).replace("[day]", "").removesuffix("[pyarrow]")
        for name, dtype in there.items()
        if name in COLUMN_MEANINGS
    }
    assert dtypes == {one.name: DTYPES[one.form] for one in COLUMNS if one.name in dtypes}
    assert {*COLUMN_MEANINGS} - {*dtypes} <= {"sale_shipping", "sale_taxable"}


def test_the_page_has_the_tables_that_are_written_from_the_code():
    """After a change: `python -m scripts.write_code_tables`."""
    written = re.findall(r"<!-- columns: (\w+) -->\n\n\| (\w+) \|", text("COLUMNS.md"))
    assert written == [("order", "Part"), ("lookup", "Column"), ("detail", "Column")]
    (_, plain), (_, detail), *_ = tables("COLUMNS.md", "Column")
    assert [row[0].strip("`") for row in plain + detail] == [*LOOKUP_COLUMNS, *DETAIL_COLUMNS]


def test_the_classes_and_columns_of_a_reconciliation_a_review_and_a_return():
    ((_, classes),) = tables("RECONCILE.md", "class")
    assert tuple(names(classes)) == CLASSES
    named = {page: re.findall(r"`([a-z_]+)`", text(page)) for page in ("RECONCILE.md", "FILING.md")}
    assert {*LINE_COLUMNS, *REVIEW_COLUMNS} <= set(named["RECONCILE.md"])
    assert set(FILING_COLUMNS[1:]) <= set(named["FILING.md"])


def test_every_column_of_a_tax_is_described_in_order():
    ((_, rows),) = tables("TAX.md", "column")
    assert names(rows) == [
        one for one in ADDED_COLUMNS if one in {*TAX_COLUMNS, *TAX_OPTION_COLUMNS}
    ]


def test_the_short_columns_are_those_of_the_code():
    short = re.search(
        r"adds the first ten columns of the lookup \((.*?)\).*? adds (.*?) only",
        text("COLUMNS.md"),
        re.DOTALL,
    )
    of_lookup, of_tax = (re.findall(r"`(\w+)`", one) for one in short.groups())
    assert of_lookup == list(LOOKUP_COLUMNS[:10])
    assert of_tax == [one for one in SHORT_COLUMNS if one in TAX_COLUMNS]
    assert [one for one in SHORT_COLUMNS if one in LOOKUP_COLUMNS] == of_lookup


def test_the_rules_of_states_are_those_of_the_code():
    (_, origin), _, (_, caps) = tables("TAX.md", "state")
    assert origin == [[STATES[code], *rule] for code, rule in ORIGIN_SOURCED.items()]
    assert caps == [
        [STATES[code], f"${rule.cents // 100:,}", *rule[1:]] for code, rule in CAPS.items()
    ]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_rounding_of_the_examples(rounding):
    ((header, rows),) = tables("TAX.md", "`rounding=`")
    (cells,) = (row for row in rows if row[0] == f"`{rounding}`")
    amounts = [Decimal(exact) * 1000 for exact in header[2:]]
    result = tax_of(amounts, {"rounding": rounding}, combined_rate="0.00100")
    assert found(result, "tax") == dollars(cells[2:])
    assert len(rows) == len(ROUNDINGS)


def test_the_example_of_an_invoice():
    example = re.search(r"0\.2601 together: 0\.26, as (.*)\.$", text("TAX.md"), re.MULTILINE)
    amounts = ["1.00", "1.00", "1.00", "0.06"]
    result = tax_of(amounts, {"invoice": "order"}, combined_rate="0.08500", order=1)
    assert found(result, "tax") == dollars(re.findall(r"[0-9.]*[0-9]", example[1]))
