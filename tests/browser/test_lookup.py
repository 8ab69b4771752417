"""The tab "Lookup", as a person uses it in the browser."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect
from support.browser import new_page
from support.by_hand import look_up, rate, shown, tab_to, use_key
from support.faults import HANG
from support.serving import serving_service
from support.waiting import until

from svc_sdk import Svc

SECOND_KEY = "second-key-0a1b2c3d4e"


def percent(text):
    """The first percentage of a text."""
    return Decimal(re.search(r"(\d+\.?\d*)\s*%", text)[1])


def expected(account, state, zip_code):
    return as_percent(account.client.lookup(state, zip=zip_code))


def as_percent(answer):
    return Decimal(answer.rate.combined_rate) * 100


def test_a_zip_is_looked_up_and_its_rate_is_read(page, account):
    look_up(page, "California", "94105")
    expect(rate(page)).to_be_visible()
    assert percent(rate(page).inner_text()) == expected(account, "CA", "94105")
    look_up(page, "TX", "787")
    expect(shown(page.get_by_label("ZIP Code or ZIP+4"))).to_have_attribute("aria-invalid", "true")


def test_a_whole_lookup_needs_no_mouse(page, account):
    page.keyboard.press("Tab")
    tab_to(page, "State")
    page.keyboard.type("TX")
    tab_to(page, "ZIP Code or ZIP+4")
    page.keyboard.type("78701")
    focus = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert focus != "none", "the focus is to be seen"
    page.keyboard.press("Enter")
    expect(rate(page)).to_be_visible()
    assert percent(rate(page).inner_text()) == expected(account, "TX", "78701")


def test_a_wrong_key_is_said_and_the_right_one_still_goes_in(page, account):
    use_key(page, account.url, "wrong-key-0123456789")
    look_up(page, "TX", "78701")
    expect(shown(page.get_by_text("does not accept the key"))).to_be_visible()
    expect(page.locator("[data-svc=rate]").locator("visible=true")).to_have_count(0)
    use_key(page, account.url, "browser-key-7f3e9a1c5b")
    look_up(page, "TX", "78701")
    expect(rate(page)).to_be_visible()
    assert page.locator("input[type=password]").evaluate_all("all => all.map(e => e.value)") == [""]
    for key in ("wrong-key-0123456789", "browser-key-7f3e9a1c5b"):
        assert key not in page.content()


def test_a_service_that_goes_down_is_a_sentence_and_its_return_an_answer(page, tmp_path):
    db = tmp_path / "service.db"
    with serving_service(db, key=SECOND_KEY) as (process, url):
        use_key(page, url, SECOND_KEY)
        look_up(page, "TX", "78701")
        expect(rate(page)).to_be_visible()
        process.terminate()
        process.wait(30)
    look_up(page, "TX", "78701")
    expect(shown(page.get_by_text("The service does not answer"))).to_be_visible()
    expect(page.locator("[data-svc=rate]").locator("visible=true")).to_have_count(0)
    port = int(url.rpartition(":")[2])
    with serving_service(db, port=port, key=SECOND_KEY), Svc(SECOND_KEY, base_url=url) as client:
        look_up(page, "CA", "94105")
        expect(rate(page)).to_be_visible()
        found = client.lookup("CA", zip="94105")
        assert percent(rate(page).inner_text()) == as_percent(found)


def test_a_lookup_that_hangs_leaves_the_page_usable_and_can_be_cancelled(page, account, faults):
    faults.will(HANG)
    use_key(page, faults.base_url, "any-key-0123456789")
    look_up(page, "TX", "78701")
    assert faults.asked.wait(30)
    page.get_by_role("tab", name="Nexus").click()
    expect(page.get_by_role("button", name="List from the service")).to_be_visible()
    page.get_by_role("tab", name="Lookup").click()
    shown(page.get_by_role("button", name="Cancel")).click()
    expect(shown(page.get_by_text("Cancelled"))).to_be_visible()
    use_key(page, account.url, "browser-key-7f3e9a1c5b")
    look_up(page, "CA", "94105")
    expect(rate(page)).to_be_visible()


@pytest.mark.parametrize("colours", ["dark"])
@pytest.mark.parametrize("width", [600])
def test_at_600_pixels_in_the_dark_nothing_is_cut_off(page):
    look_up(page, "CA", "94105")
    expect(rate(page)).to_be_visible()
    for tab in ("Lookup", "File", "Nexus"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        assert page.evaluate("document.documentElement.scrollWidth") <= 600
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", ground)[:3]) < 80


def test_a_page_that_is_closed_ends_its_kernel(served, chrome):
    with new_page(chrome) as (page, seen):
        page.goto(served.url)
        page.get_by_role("tab", name="Lookup").wait_for()
        found = {re.search(r"/api/kernels/([\w-]+)", address) for address in seen.asked}
        (kernel,) = {match[1] for match in found if match}
        other = page.context.new_page()
        other.goto(f"{served.home}api/kernels/{kernel}")
        assert kernel in other.content()
        page.close(run_before_unload=True)
        until(lambda: other.goto(f"{served.home}api/kernels/{kernel}").status == 404)
