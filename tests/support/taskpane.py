"""The task pane of the local server, in a browser."""

from __future__ import annotations

import contextlib
from pathlib import Path

from support.browser import new_page

STAND_IN = (Path(__file__).parent / "excel_stand_in.js").read_text(encoding="utf-8")
"""A workbook as Office.js shows it; what it holds is in `standIn`."""


@contextlib.contextmanager
def pane_page(running, served, *, width=320, height=900, colours="light", script=None):
    """The pane on a page of its own, its service asked; and what happens in it."""
    with new_page(running, width=width, height=height, colours=colours) as (page, seen):
        if script is not None:
            page.add_init_script(script)
        page.goto(f"{served.origin}/excel/taskpane.html?token={served.token}")
        page.locator(".source[aria-busy=false]").wait_for()
        yield page, seen
