"""The tab "Lookup", as a person uses it in the browser."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.browser import panel_page
from support.by_hand import look_up, rate, shown, tab_to, use_key
from support.faults import HANG
from support.secrets import TYPED_KEY
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
    use_key(page, account.url, TYPED_KEY)
    look_up(page, "TX", "78701")
    expect(rate(page)).to_be_visible()
    assert page.locator("input[type=password]").evaluate_all("all => all.map(e => e.value)") == [""]
    for key in ("wrong-key-0123456789", TYPED_KEY):
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
    expect(shown(page.get_by_text("Canceled"))).to_be_visible()
    use_key(page, account.url, TYPED_KEY)
    look_up(page, "CA", "94105")
    expect(rate(page)).to_be_visible()


@pytest.fixture
def narrow(page):
    wide = page.viewport_size
    page.set_viewport_size({"width": 600, "height": 900})
    page.emulate_media(color_scheme="dark")
    yield page
    page.set_viewport_size(wide)
    page.emulate_media(color_scheme="light")


def test_at_600_pixels_in_the_dark_nothing_is_cut_off(narrow):
    page = narrow
    look_up(page, "CA", "94105")
    expect(rate(page)).to_be_visible()
    for tab in ("Lookup", "File", "Nexus"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        assert page.evaluate("document.documentElement.scrollWidth") <= 600
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", ground)[:3]) < 80


@pytest.fixture
def own_page(served, chrome):
    """A page that a test may end, and where the state of its process is told."""
    with panel_page(chrome, served) as (page, seen):
        found = (re.search(r"/api/kernels/([\w-]+)", address) for address in seen.asked)
        (kernel,) = {match[1] for match in found if match}
        yield page, f"{served.home}api/kernels/{kernel}"


def test_a_page_asks_before_it_is_closed_in_the_middle_and_then_ends_its_process(
    own_page, faults, tmp_path
):
    page, kernel = own_page
    other = page.context.new_page()
    orders = tmp_path / "orders.csv"
    orders.write_text("order,state,zip\n1,TX,78701\n")
    faults.will(HANG)
    use_key(page, faults.base_url, "any-key-0123456789")
    page.get_by_role("tab", name="File").click()
    shown(page.get_by_label("Or the path of a file")).fill(str(orders))
    shown(page.get_by_role("button", name="Open", exact=True)).click()
    shown(page.get_by_role("button", name="Show the plan")).click()
    shown(page.get_by_role("button", name="Run", exact=True)).click()
    expect(shown(page.get_by_role("button", name="Stop", exact=True))).to_be_visible()
    page.get_by_role("tab", name="Lookup").click()  # what runs is out of sight
    questions = []
    page.on("dialog", lambda question: (questions.append(question.type), question.dismiss()))
    with page.expect_event("dialog"):
        page.close(run_before_unload=True)
    assert questions == ["beforeunload"]
    assert other.goto(kernel).status == 200, "who stays finds the page as it was"
    page.get_by_role("tab", name="File").click()
    shown(page.get_by_role("button", name="Stop", exact=True)).click()
    expect(page.locator(".svc-busy")).to_have_count(0)
    page.close(run_before_unload=True)
    until(lambda: other.goto(kernel).status == 404)
    assert questions == ["beforeunload"]


def test_a_page_whose_process_ended_says_so(own_page):
    page, kernel = own_page
    number = kernel.rpartition("/")[2]
    for found in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if f"kernel-{number}.json" in found.read_text():
                os.kill(int(found.parent.name), signal.SIGKILL)
    expect(page.get_by_role("alert").locator("visible=true")).to_contain_text("Reload the page")


def test_every_label_is_that_of_a_field_in_its_own_form(page):
    page.get_by_role("tab", name="Nexus").click()
    strays = page.evaluate("""() => {
      const ids = [...document.querySelectorAll("form [id]")].map((one) => one.id);
      const doubled = ids.filter((id, at) => ids.indexOf(id) !== at);
      const labels = [...document.querySelectorAll("form label[for]")];
      const astray = labels.filter((one) => one.control?.form !== one.closest("form"));
      return [labels.length > 8, doubled, astray.map((one) => one.textContent)];
    }""")
    assert strays == [True, [], []]
