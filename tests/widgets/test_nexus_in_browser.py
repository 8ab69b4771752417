"""The Nexus tab in a real browser, where the page is closed or loaded anew in the middle."""

from __future__ import annotations

import threading

import pytest
from filelock import FileLock, Timeout
from playwright.sync_api import expect
from support.browser import browser, new_page
from support.by_hand import shown
from support.faults import KEY, serving
from support.nexus_service import NexusService
from support.nexus_tab import FIVE
from support.pages import served_page
from support.waiting import until


@pytest.fixture(scope="module")
def service():
    with serving() as faults:
        yield NexusService(faults)


@pytest.fixture(scope="module")
def receipts(tmp_path_factory):
    return tmp_path_factory.mktemp("page") / "receipts"


@pytest.fixture(scope="module")
def served(service, receipts):
    account = {"SVC_API_KEY": KEY, "SVC_BASE_URL": service.faults.base_url}
    with served_page(cwd=receipts.parent, SVC_RECEIPTS=str(receipts), **account) as page:
        yield page


@pytest.fixture
def lean(service):
    service.records.clear()
    service.sent.clear()
    for record in FIVE:
        service.put(**record)
    return service


@pytest.fixture(scope="module")
def chrome():
    with browser() as running:
        yield running


@pytest.fixture
def page(lean, served, chrome):
    with new_page(chrome, width=600, colours="dark") as (opened, seen):
        opened.goto(served.url)
        yield opened
        assert seen.outside(served.origin) == []
        assert seen.complaints == []


def tick(page, *names):
    page.get_by_role("tab", name="Nexus").click()
    page.get_by_role("button", name="List from the service").click()
    expect(shown(page.get_by_text("5 records in 5 states"))).to_be_visible()
    page.get_by_role("button", name="Make the plan").click()
    for name in names:
        page.get_by_role("checkbox", name=f"Remove {name}").check()


def ask(page):
    page.get_by_role("button", name="Preview the requests").click()


def confirm(page, text):
    shown(page.get_by_label(f"Type {text}")).fill(text)
    shown(page.locator(".svc-confirm button")).click()


def is_free(receipts):
    """Whether no process changes records any more."""
    [lock] = receipts.glob(".*.lock")
    try:
        with FileLock(lock, timeout=0):
            return True
    except Timeout:
        return False


def test_a_page_that_is_left_in_the_middle_of_a_removal_asks_and_the_next_one_goes_on(
    page, lean, receipts
):
    under_way, over = threading.Event(), threading.Event()

    def before(state, _):
        if state == "MT":
            under_way.set()
            over.wait(60)

    lean.before = before
    tick(page, "DE economic", "MT economic", "NY economic")
    ask(page)
    confirm(page, "3")
    assert under_way.wait(30)
    expect(page.locator(".svc-busy")).to_have_count(1)

    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.reload()
    assert asked == ["beforeunload"]
    page.get_by_role("tab", name="Nexus").click()
    expect(shown(page.get_by_text("is not complete"))).to_be_visible()
    until(lambda: is_free(receipts), what="the kernel of the page that was left has ended")
    over.set()  # the service does what was asked, and nobody hears of it
    until(lambda: len(lean.sent) == 2)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("checkbox", name="Remove NY economic")).to_be_checked()
    expect(shown(page.get_by_text("? Not known"))).to_be_visible()
    ask(page)
    confirm(page, "NY")
    expect(shown(page.get_by_text("The receipt is under 5"))).to_be_visible()
    assert {state for state, _ in lean.records} == {"CA", "TX"}
    assert [state for _, state, _ in lean.sent] == ["DE", "MT", "NY"]
    lean.before = None


def test_a_preview_that_hangs_is_cancelled_in_the_page(page, lean):
    over = threading.Event()
    tick(page, "DE economic")
    lean.listing = lambda: over.wait(60)
    ask(page)
    shown(page.get_by_role("button", name="Cancel", exact=True)).click()
    expect(shown(page.get_by_text("Canceled. Nothing was changed"))).to_be_visible()
    over.set()
    lean.listing = None
    ask(page)
    expect(shown(page.get_by_label("Type DE"))).to_be_visible()
    assert lean.sent == []
