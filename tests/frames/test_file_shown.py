"""What became of a file, and of an answer that was frozen, as a notebook shows it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest

from svc_tools.frames import enrich_file

ROWS = """\
state,zip,date,amount
NJ,07030,2026-08-03,129.99
LA,70112,2026-08-03,10.00
NJ,<b>no,2026-08-03,5.00
"""


@pytest.fixture(scope="module")
def run(embedded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("file")
    source = folder / "orders.csv"
    source.write_text(ROWS)
    return enrich_file(source, folder / "out.csv", tax={"amount": "amount"}, client=embedded)


def text(shown):
    return re.sub(r"\s*<[^>]+>\s*", " ", shown._repr_html_())


def test_a_file_shows_its_rows_its_tax_and_where_they_are(run):
    told = text(run)
    assert "orders.csv: 3 rows, 2 distinct places" in told
    assert f"Written: {run.written}." in told
    assert "0 from the cache or lock file, 2 requested from the embedded service" in told
    assert "Rows with a tax: 1, $129.99 of sales, $8.61 of tax. Rows without: 2." in told
    for status in ("ok", "partial", "invalid"):
        assert f" {status}  1 " in told


def test_what_a_notebook_shows_a_terminal_prints(run):
    said = str(run)
    assert said.splitlines()[0] == "orders.csv: 3 rows, 2 distinct places"
    assert "Tax" not in said.splitlines()[0]
    assert "Why rows have no whole rate" in said


def test_a_run_that_ended_early_says_so_before_anything_else(run):
    early = replace(run, stopped="the key is refused", written=None)
    assert text(early).strip().startswith("INCOMPLETE: orders.csv")
    assert "Ended early: the key is refused. Nothing was written." in re.sub(
        r"\s+", " ", text(early)
    )


def test_no_cell_of_a_file_becomes_markup(run):
    page = run._repr_html_()
    assert "<b>no" not in page
    assert "&lt;b&gt;no" in page
    assert "\x1b" not in str(replace(run, notes=("a \x1b[31mnote",)))
    totals = replace(run.totals, reasons=Counter({("failed", "a \x1b[31mreason"): 1}))
    assert "\x1b" not in str(replace(run, totals=totals))


def test_tables_have_a_caption_and_heads(run):
    page = run._repr_html_()
    assert page.count("<table") == page.count("<caption") == 4
    assert page.count("<th ") == page.count('<th scope="col"') == 14


def test_a_lock_file_shows_how_many_answers_it_holds(embedded, tmp_path):
    rows = pd.DataFrame({"state": ["NJ"], "zip": ["07030"], "date": ["2026-08-03"]})
    frozen = rows.svc.lookup(client=embedded, cache=False, progress=False).svc.freeze(
        tmp_path / "a.svclock"
    )
    assert text(frozen).strip() == str(frozen) == "1 answer is frozen in a.svclock"
    assert "<p" in replace(frozen, notes=("<script>",))._repr_html_()
    assert "<script>" not in replace(frozen, notes=("<script>",))._repr_html_()
