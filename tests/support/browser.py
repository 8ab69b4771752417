"""A real browser, and what happened in it that a person does not see."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from support.tools import chromium

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 60_000
"""Milliseconds that a test waits for what it expects: a busy machine is no failure."""


@dataclass
class Watched:
    """What a page did: the addresses it asked, and what its console complained of.

    Attributes:
        asked: the address of each request.
        complaints: errors of the console, and exceptions of scripts.
    """

    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def outside(self, *own):
        """The addresses that were asked and are none of these servers'."""
        inside = (*own, "data:", "blob:", *(at.replace("http:", "ws:") for at in own))
        return [address for address in self.asked if not address.startswith(inside)]


@contextlib.contextmanager
def browser():
    """Chromium, for the length of the block."""
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 - a tool of few tests

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield running
        finally:
            running.close()


@contextlib.contextmanager
def new_page(running, *, width=1200, height=900, colours="light", **options):
    """A page of a fresh profile, and what happens in it."""
    context = running.new_context(
        viewport={"width": width, "height": height},
        color_scheme=colours,
        accept_downloads=True,
        **options,
    )
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    seen = Watched()
    page = context.new_page()
    page.on("request", lambda request: seen.asked.append(request.url))
    page.on("websocket", lambda socket: seen.asked.append(socket.url))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on(
        "console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None
    )
    try:
        yield page, seen
    finally:
        context.close()


@contextlib.contextmanager
def panel_page(running, served):
    """The panel on a page of its own, with a process of its own; and what happens in it.

    Where a busy machine does not show it in time, the page is opened once more.
    """
    from playwright.sync_api import TimeoutError as TooLateError  # noqa: PLC0415 - as above

    with contextlib.ExitStack() as opened:
        for last in (False, True):
            page, seen = opened.enter_context(new_page(running))
            try:
                page.goto(served.url, timeout=2 * PATIENCE)
                page.get_by_role("tab", name="Lookup").wait_for(timeout=2 * PATIENCE)
                break
            except TooLateError:
                if last:
                    raise
                opened.close()
        yield page, seen
