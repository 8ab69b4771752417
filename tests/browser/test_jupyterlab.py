"""The panel in JupyterLab: the same lookup, and what is saved with the notebook."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect
from support.browser import new_page
from support.by_hand import look_up, rate, shown, use_key
from support.jupyter import jupyterlab, run_all, save
from support.secrets import files_with
from support.waiting import until

KEY = "browser-key-7f3e9a1c5b"

CELL = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
import svc_tools
panel = svc_tools.panel()
panel
"""


pytestmark = pytest.mark.skipif(
    os.environ.get("SVC_TEST_REQUIRE") != "all",
    reason="takes long: once in each .ci/run, or with SVC_TEST_REQUIRE=all",
)


def test_a_key_that_is_typed_in_jupyterlab_is_not_saved_and_the_rate_is_read(
    chrome, account, tmp_path
):
    with (
        jupyterlab(tmp_path, CELL) as (address, notebook),
        new_page(chrome) as (page, seen),
    ):
        page.goto(address)
        panel = run_all(page)
        use_key(panel, account.url, KEY)
        look_up(panel, "CA", "94105")
        expect(rate(panel)).to_have_text("8.625 %")
        save(page)
        saved = until(lambda: "widget-state+json" in notebook.read_text() and notebook.read_text())
        assert account.url in saved, "the state of the widgets is saved"
        assert "8.625 %" in saved
        assert seen.outside(address.partition("/lab")[0]) == []
        assert seen.complaints == []
    found, written = files_with(KEY, tmp_path)
    assert found == []
    assert {"panel.ipynb", "jupyterlab.log"} <= {path.name for path in written}


def test_keys_pressed_in_the_panel_are_the_panels_and_none_changes_the_notebook(
    chrome, account, tmp_path
):
    cells = "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.length"
    keys = {"SVC_API_KEY": KEY, "SVC_BASE_URL": account.url}
    with (
        jupyterlab(tmp_path, CELL, **keys) as (address, notebook),
        new_page(chrome) as (page, _),
    ):
        page.goto(address)
        panel = run_all(page)
        press = page.keyboard.press
        tabs = panel.get_by_role("tab")
        modes = panel.locator("fieldset", has_text="Find the place by").locator("input")
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
            for key in ("d", "d", "x", "a", "b", "Shift+Enter", "Control+Shift+m"):
                press(key)
        assert page.evaluate(cells) == 1
        change.focus()
        press("Enter")
        expect(shown(panel.get_by_label("API key"))).to_be_visible()
        press("Space")
        expect(panel.get_by_label("API key").first).to_be_hidden()
        panel.get_by_label("State", exact=True).first.focus()
        page.keyboard.type("CA")
        shown(panel.get_by_label("ZIP Code or ZIP+4")).focus()
        page.keyboard.type("94105")
        press("Enter")
        expect(rate(panel)).to_have_text("8.625 %")
        code.focus()
        press("Enter")
        expect(shown(panel.get_by_text("client.lookup("))).to_be_visible()
        before = notebook.stat().st_mtime_ns
        press("Control+s")
        until(lambda: notebook.stat().st_mtime_ns != before)
        assert page.evaluate(cells) == 1
