"""What a person does on the panel: in the page, and in a notebook."""

from __future__ import annotations

from playwright.sync_api import expect


def shown(locator):
    """What is seen: hidden parts of other tabs may be called the same."""
    return locator.locator("visible=true").first


def look_up(panel, state, zip_code):
    """Type a ZIP and press the button."""
    shown(panel.get_by_label("State", exact=True)).fill(state)
    shown(panel.get_by_label("ZIP Code or ZIP+4")).fill(zip_code)
    shown(panel.get_by_role("button", name="Look up", exact=True)).click()


def rate(panel):
    """Where the rate of the card stands."""
    return shown(panel.locator("[data-svc=rate]"))


def use_key(panel, address, key):
    """Give another service or key."""
    change = shown(panel.get_by_role("button", name="Change service or key"))
    if change.count():
        change.click()
    shown(panel.get_by_label("Address of the service")).fill(address)
    shown(panel.get_by_label("API key")).fill(key)
    shown(panel.get_by_role("button", name="Use this key")).click()
    expect(panel.locator(".svc-service")).to_contain_text(address)
    expect(panel.get_by_label("Address of the service")).to_be_hidden()


def choose(page, panel, path):
    """Upload a file with the page's own dialog."""
    with page.expect_file_chooser() as chooser:
        shown(panel.get_by_role("button", name="Choose a file")).click()
    chooser.value.set_files(path)
    expect(shown(panel.get_by_text(f"Uploaded: {path.name}"))).to_be_visible()


def tab_to(page, name, *, most=60):
    """Press Tab until what has the focus is called `name`; no mouse."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(NAME_OF_FOCUS).startswith(name):
            return
    raise AssertionError(f"{name!r} is not reached with Tab")


NAME_OF_FOCUS = """() => {
  const at = document.activeElement;
  const label = at.getAttribute("aria-label") || [...(at.labels ?? [])].map(
    (one) => one.textContent.trim()).join(" ");
  return label || (at.textContent ?? "").trim();
}"""
