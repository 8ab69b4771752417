"""The shipped JavaScript in a real browser: the page of the shared runtime and its own policy."""

from __future__ import annotations

import re
from html import unescape

import httpx
import pytest
from support.browser import browser, new_page
from support.excel_server import local_server

from svc_tools.excel.desk import Desk
from svc_tools.excel.officejs.pages import OFFICE_JS

# as office.js does, this makes `CustomFunctions` and loads a part of itself from its own address
STAND_IN = """
globalThis.made = {};
globalThis.CustomFunctions = {
  associate: (id, one) => (made[id] = one),
  Error: class extends Error { constructor(code, text) { super(text); this.code = code; } },
  ErrorCode: { invalidValue: "#VALUE!", notAvailable: "#N/A" },
};
globalThis.Office = { onReady: (then) => Promise.resolve().then(then) };
"""


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


def test_the_page_that_the_manifest_names_computes_cells(chromium, scripted):
    with local_server(Desk(scripted, cache=False)) as server:
        told = httpx.get(f"{server.origin}/excel/manifest.xml?token={server.token}").text
        found = re.search(r'id="Taskpane.Url" DefaultValue="([^"]+)"', told)
        with new_page(chromium) as (page, watched):
            page.route(
                f"{OFFICE_JS}*",
                lambda route: route.fulfill(body=STAND_IN, content_type="text/javascript"),
            )
            page.goto(unescape(found[1]))
            shown = page.evaluate(
                """async () => {
                  const ask = (...a) => made.RATE(...a, {}).catch((e) => [[e.code, e.message]]);
                  return Promise.all([
                    ask([["TX"]], [["78701"]], [["2026-05-01"]]),
                    ask([["TX"]], [["78701"], ["x"]], [["2026-05-01"]]),
                    ask([["TX"]], [["78701"]], [[0]]),
                  ]);
                }"""
            )
            page.get_by_text("Who answers").wait_for()
        assert shown[0] == [[0.0825]]
        assert shown[1][0] == [0.0825]
        assert shown[2][0][0] == "#VALUE!"
        batches = [one for one in watched.asked if one.endswith("/excel/batch")]
        assert len(batches) == 1
        assert watched.outside(server.origin) == [OFFICE_JS]
        assert watched.complaints == []
