"""The panel in JupyterLab: the same lookup, and what is saved with the notebook."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect
from support.browser import new_page
from support.by_hand import look_up, rate, use_key
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


@pytest.mark.skipif(
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
