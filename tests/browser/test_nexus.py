"""The tab "Nexus", as a controller uses it in the browser; the service is asked what is true."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from support.by_hand import shown, tab_to

FIVE = {"TX", "CA", "OR", "NH", "WA"}


@pytest.fixture
def nexus(fresh, account):
    page = fresh
    account.fill()
    page.get_by_role("tab", name="Nexus").click()
    page.get_by_role("button", name="List from the service").click()
    expect(shown(page.get_by_text("5 records in 5 states"))).to_be_visible()
    page.get_by_role("button", name="Make the plan").click()
    expect(page.get_by_role("checkbox", name="Remove ")).to_have_count(5)
    return page


def states(account):
    return {state for state, _, _ in account.records()}


def test_two_of_five_records_are_removed_and_come_back(nexus, account):
    before = account.records()
    boxes = nexus.get_by_role("checkbox", name="Remove ")
    assert [box.is_checked() for box in boxes.all()] == [False] * 5, "nothing is ticked in advance"
    for record in ("OR economic", "NH economic"):
        nexus.get_by_role("checkbox", name=f"Remove {record}").check()
    nexus.get_by_role("button", name="Preview the requests").click()
    for state in ("OR", "NH"):
        request = f"DELETE /v1/portability/nexus/{state}?nexus_type=economic"
        expect(shown(nexus.get_by_text(request))).to_be_visible()
    remove = nexus.get_by_role("button", name="Remove 2 records")
    expect(remove).to_be_disabled()
    confirm = shown(nexus.get_by_label("Type 2, the number of records"))
    confirm.fill("3")
    confirm.press("Tab")
    expect(remove).to_be_disabled()
    assert account.records() == before
    confirm.fill("2")
    remove.click()
    expect(shown(nexus.get_by_role("button", name="Preview the undo"))).to_be_visible()
    assert states(account) == FIVE - {"OR", "NH"}
    shown(nexus.get_by_role("button", name="Preview the undo")).click()
    shown(nexus.get_by_label("Type 2, the number of records")).fill("2")
    shown(nexus.get_by_role("button", name="Add 2 records again")).click()
    expect(shown(nexus.get_by_text("2 records: 2 there again"))).to_be_visible()
    assert account.records() == before


def test_a_removal_needs_no_mouse(fresh, account):
    page = fresh
    account.fill()
    press = page.keyboard.press
    tab_to(page, "Lookup")
    press("End")
    tab_to(page, "List from the service")
    press("Enter")
    expect(shown(page.get_by_text("5 records in 5 states"))).to_be_visible()
    tab_to(page, "Make the plan")
    press("Enter")
    expect(page.get_by_role("checkbox", name="Remove ")).to_have_count(5)
    tab_to(page, "Remove OR economic")
    press("Space")
    expect(page.get_by_role("checkbox", name="Remove OR economic")).to_be_checked()
    tab_to(page, "Preview the requests")
    press("Enter")
    expect(shown(page.get_by_label("Type OR"))).to_be_visible()
    tab_to(page, "Type OR")
    page.keyboard.type("OR")
    press("Tab")
    expect(page.get_by_role("button", name="Remove 1 record")).to_be_enabled()
    tab_to(page, "Remove 1 record")
    press("Enter")
    expect(shown(page.get_by_role("button", name="Preview the undo"))).to_be_visible()
    assert states(account) == FIVE - {"OR"}
