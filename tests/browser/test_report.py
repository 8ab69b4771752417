"""The page of a report in the browser: no figure is wrapped, none falls off the paper."""

from __future__ import annotations

import pytest
from support.browser import browser, new_page
from support.frames import enriched, partial, row

from svc_tools.frames import SvcAccessor

pytestmark = pytest.mark.timeout(180)  # Chromium starts slowly on a busy machine

WRAPPED = """() => [...document.querySelectorAll("td:not(.w)")].filter(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1;
}).map(cell => cell.textContent)"""
OUTSIDE = """width => [...document.querySelectorAll("table")]
  .filter(table => table.getBoundingClientRect().right > width + 1)
  .map(table => table.caption ? table.caption.textContent : "Lines")"""
PORTRAIT, LANDSCAPE = 725, 965
"""What a letter page has between its margins, in pixels."""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with long figures, many columns, and codes and dates with hyphens."""
    rows = [
        row("WA", "-1234567.89", "0.10250", warnings="as_of_before_history", confidence="low"),
        row("NJ", "9876543.21", "0.06625", rate_low="0.06000", rate_high="0.07000"),
        partial("TX", "300.00"),
        row("AK", "40.00", None, lookup_error="no ZIP 99999 " + "in any of the lists " * 8),
    ]
    more = {f"column {number}": ["7"] * 4 for number in range(12)}
    frame = enriched(
        *rows,
        order_id=["111-7654321-1234567"] * 4,
        sold=["2026-05-01"] * 4,
        description=["a cup of tea, and what else there was on the table that morning"] * 4,
        **more,
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    return SvcAccessor(frame).report(path).as_uri()


@pytest.mark.parametrize("width", [1280, 400])
def test_figures_dates_and_codes_stand_in_one_line(report, width):
    with browser() as running, new_page(running, width=width) as (page, seen):
        page.goto(report)
        assert page.locator("td.n", has_text="-1,234,567.89").count() > 0
        assert page.evaluate(WRAPPED) == []
        # what is wide scrolls inside itself
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert seen.complaints == []


def test_on_paper_no_figure_is_wrapped_and_no_column_is_lost(report):
    with browser() as running, new_page(running, width=PORTRAIT) as (page, _):
        page.goto(report)
        page.emulate_media(media="print")
        assert page.evaluate(WRAPPED) == []
        assert {*page.evaluate(OUTSIDE, PORTRAIT)} <= {"Lines"}
        page.set_viewport_size({"width": LANDSCAPE, "height": PORTRAIT})
        assert page.evaluate(OUTSIDE, LANDSCAPE) == []
