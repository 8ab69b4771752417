"""The panel in JupyterLab: the same lookup, and what is saved with the notebook."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect
from support.browser import choose, look_up, new_page, rate, shown, use_key
from support.jupyter import jupyterlab, run_all, save
from support.secrets import TYPED_KEY, files_with
from support.waiting import until

CELL = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
import svc_tools
panel = svc_tools.panel()
panel
"""

WITH_KEY = f"""
import os
os.environ |= {{"SVC_API_KEY": os.environ["LAB_KEY"], "SVC_BASE_URL": os.environ["LAB_URL"]}}
{CELL}"""

BESIDE = """
from IPython.display import HTML, display
from svc_tools.show.display import Note, Table, as_html, prose
import svc_sdk, svc_tools
class Money:
    def _repr_html_(self):
        why = "$1,234.00 of $5,000.00 are used"
        return as_html(Note("Sums", [why]), Table([prose("Why")], [[why]], "By state"))
service = svc_tools.connect("embedded")
display(Money(), service.lookup("NJ", zip="07030"), HTML("<p>$x^2$</p>"), svc_tools.panel(service))
"""


pytestmark = [
    pytest.mark.skipif(
        os.environ.get("SVC_TEST_REQUIRE") != "all",
        reason="takes long: once in each .ci/run, or with SVC_TEST_REQUIRE=all",
    ),
    pytest.mark.timeout(300),  # JupyterLab, Chromium and a kernel, one after the other
]


@pytest.fixture(scope="module")
def lab(account, tmp_path_factory):
    """One for all notebooks: only `WITH_KEY` makes settings of what the environment holds."""
    folder = tmp_path_factory.mktemp("lab")
    given = {"LAB_KEY": TYPED_KEY, "LAB_URL": account.url, "SVC_RECEIPTS": str(folder / "receipts")}
    with jupyterlab(folder, **given) as running:
        yield running


def test_a_key_that_is_typed_in_jupyterlab_is_not_saved_and_the_rate_is_read(chrome, account, lab):
    with lab.notebook(CELL) as (address, notebook), new_page(chrome) as (page, seen):
        page.goto(address)
        panel = run_all(page)
        use_key(panel, account.url, TYPED_KEY)
        page.set_viewport_size({"width": 1280, "height": 800})
        shown(panel.get_by_role("textbox", name="Amount")).fill("129.99")
        day = shown(panel.get_by_label("Date of the sale"))
        day.fill("2019-05-01")  # before what the book knows: a warning
        look_up(panel, "CA", "94105")
        expect(rate(panel)).to_have_text("8.625%")
        for part in ("[data-svc=rate]", "[data-svc=tax]", ".svc-warnings"):
            expect(shown(panel.locator(part))).to_be_in_viewport(ratio=1)
        save(page)
        saved = until(lambda: "widget-state+json" in notebook.read_text() and notebook.read_text())
        assert account.url in saved, "the state of the widgets is saved"
        assert "8.625%" in saved
        page.reload()  # the notebook was saved, and its kernel runs
        expect(rate(page)).to_have_text("8.625%")
        expect(page.locator(".svc-service")).to_contain_text(account.url)
        expect(page.get_by_label("ZIP Code, address or place")).to_have_value("94105")
        shown(page.get_by_label("Date of the sale")).fill("")
        look_up(page, "TX", "78701")
        expect(rate(page)).to_have_text("8.25%")
        assert seen.outside(address.partition("/lab")[0]) == []
        assert seen.complaints == []
    found, written = files_with(TYPED_KEY, lab.folder)
    assert found == []
    assert {notebook, lab.folder / "jupyterlab.log"} <= set(written)


def test_a_file_in_jupyterlab(chrome, lab, tmp_path):
    orders = tmp_path / "orders.csv"
    orders.write_text("order,state,zip\n1,TX,78701\n2,CA,94105\n")
    with lab.notebook(WITH_KEY) as (address, _), new_page(chrome) as (page, seen):
        page.goto(address)
        panel = run_all(page)
        panel.get_by_role("tab", name="File").click()
        choose(page, panel, orders)
        press(panel, "Add rates")
        download = shown(panel.get_by_role("button", name="Download"))
        expect(download).to_be_visible()
        with page.expect_download() as found:
            download.click()
        assert found.value.path().read_text("utf-8-sig").count("0.08625") == 1
        assert seen.outside(address.partition("/lab")[0]) == []
        assert seen.complaints == []


def press(panel, name):
    shown(panel.get_by_role("button", name=name, exact=True)).click()


def test_figures_beside_the_panel_are_no_formulas_and_lie_on_nothing(chrome, lab):
    gaps = """card => [...card.querySelectorAll(".svc-grounds tr")].map(row => {
      const words = document.createRange();
      words.selectNodeContents(row.cells[0]);
      return row.cells[1].getBoundingClientRect().left - words.getBoundingClientRect().right;
    })"""
    with lab.notebook(BESIDE) as (address, _), new_page(chrome) as (page, _seen):
        page.goto(address)
        run_all(page)
        expect(page.locator(".svc-panel").first).to_be_visible()
        shown_here = page.locator(".jp-OutputArea")
        expect(shown_here.locator("mjx-container")).to_have_count(1)  # what is a formula
        expect(shown_here.get_by_text("$1,234.00 of $5,000.00 are used")).to_have_count(2)
        card = shown_here.locator(".svc-card")
        assert min(card.evaluate(gaps)) >= 0


def test_keys_pressed_in_the_panel_are_the_panels_and_none_changes_the_notebook(chrome, lab):
    cells = "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.length"
    with lab.notebook(WITH_KEY) as (address, notebook), new_page(chrome) as (page, _):
        page.goto(address)
        panel = run_all(page)
        press = page.keyboard.press
        tabs = panel.get_by_role("tab")
        modes = panel.locator("fieldset", has_text="Give the place as").locator("input")
        panel.get_by_text("Street and city, or coordinates").press("Enter")
        expect(modes.first).to_be_visible()
        tabs.first.focus()
        press("ArrowRight")
        expect(tabs.nth(1)).to_be_focused()
        expect(modes.first).to_be_hidden()
        press("ArrowLeft")
        expect(modes.first).to_be_visible()
        modes.first.focus()
        press("ArrowDown")
        expect(modes.nth(1)).to_be_checked()
        press("ArrowLeft")
        expect(modes.first).to_be_checked()
        code = panel.get_by_text("Show as code").first
        change = panel.get_by_role("button", name="Change service or key")
        for one in (tabs.first, modes.first, change):
            one.focus()
            for key in ("d", "d", "x", "a", "b", "Control+Shift+m"):
                press(key)
            if one is tabs.first:  # in the others it is the form's or the button's own key
                press("Shift+Enter")
        assert page.evaluate(cells) == 1
        change.focus()
        press("Enter")
        expect(shown(panel.get_by_label("API key"))).to_be_visible()
        close = panel.get_by_role("button", name="Close", exact=True)
        expect(close).to_be_visible()
        close.press("Space")
        expect(panel.get_by_label("API key").first).to_be_hidden()
        for label, text in (("State", "CA"), ("ZIP Code, address or place", "94105")):
            field = shown(panel.get_by_label(label, exact=True))
            field.focus()
            page.keyboard.type(text)
            expect(field).to_have_value(text)
        press("Enter")
        expect(rate(panel)).to_have_text("8.625%")
        code.focus()
        press("Enter")
        expect(shown(panel.get_by_text("client.lookup("))).to_be_visible()
        before = notebook.stat().st_mtime_ns
        press("Control+s")
        until(lambda: notebook.stat().st_mtime_ns != before)
        assert page.evaluate(cells) == 1
