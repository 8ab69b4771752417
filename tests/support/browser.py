"""A real browser: what a user does on the panel, and what happened that nobody sees."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from uuid import uuid4

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

    Where a busy machine does not show it in time, the page is opened again.
    """
    from playwright.sync_api import TimeoutError as TooLateError  # noqa: PLC0415 - as above

    with contextlib.ExitStack() as opened:
        for last in (False, False, False, True):
            page, seen = opened.enter_context(new_page(running))
            page.request.get(served.url, max_redirects=0)  # for its cookie
            try:  # the address without a name would continue a panel that was left
                page.goto(f"{served.home}?panel={uuid4().hex}", timeout=PATIENCE / 2)
                page.get_by_role("tab", name="Lookup").wait_for(timeout=PATIENCE / 2)
                break
            except TooLateError:
                if last:
                    raise
                opened.close()
        yield page, seen


def shown(locator):
    """What is seen: hidden parts of other tabs may be called the same."""
    return locator.locator("visible=true").first


def look_up(panel, state, zip_code):
    """Type a ZIP and press the button."""
    shown(panel.get_by_label("State", exact=True)).fill(state)
    shown(panel.get_by_label("ZIP Code, address or place")).fill(zip_code)
    shown(panel.get_by_role("button", name="Look up", exact=True)).click()


def rate(panel):
    """Where the rate of the card stands."""
    return shown(panel.locator("[data-svc=rate]"))


def use_key(panel, address, key):
    """Give another service or key, which it accepts."""
    from playwright.sync_api import expect  # noqa: PLC0415 - as above

    type_key(panel, address, key)
    expect(panel.locator(".svc-service")).to_contain_text(address)
    expect(panel.get_by_label("Address of the service")).to_be_hidden()


def type_key(panel, address, key):
    """Type the address of a service and a key, and send them."""
    change = shown(panel.get_by_role("button", name="Change service or key"))
    if change.count():
        change.click()
    shown(panel.get_by_label("Address of the service")).fill(address)
    shown(panel.get_by_label("API key")).fill(key)
    shown(panel.get_by_role("button", name="Use this key")).click()


def choose(page, panel, path):
    """Upload a file with the page's own dialog."""
    from playwright.sync_api import expect  # noqa: PLC0415 - as above

    with page.expect_file_chooser() as chooser:
        shown(panel.get_by_role("button", name="Choose a file")).click()
    chooser.value.set_files(path)
    expect(shown(panel.get_by_text(f"Uploaded: {path.name}"))).to_be_visible()


def tab_to(page, name, *, most=60, back=False):
    """Press Tab until what has the focus is called `name`; no mouse.

    A button that the last step enables may still be disabled, and Tab would pass it by.
    """
    page.wait_for_function(
        f"(name) => {CAN_BE_FOCUSED}.some((one) => ({NAME})(one).startsWith(name))", arg=name
    )
    for _ in range(most):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate(NAME_OF_FOCUS).startswith(name):
            return
    raise AssertionError(f"{name!r} is not reached with Tab")


NAME = """(one) => {
  const label = one.getAttribute("aria-label") || [...(one.labels ?? [])].map(
    (part) => part.textContent.trim()).join(" ");
  return label || (one.textContent ?? "").trim();
}"""
NAME_OF_FOCUS = f"() => ({NAME})(document.activeElement)"
CAN_BE_FOCUSED = """[...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, [tabindex]")].filter(
    (one) => !one.disabled && one.tabIndex >= 0 && one.checkVisibility())"""
