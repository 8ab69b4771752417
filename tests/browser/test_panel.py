"""The panel in the browser: a journey for each tab, by keyboard, and what goes wrong on the way."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import signal
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from filelock import FileLock, Timeout
from playwright.sync_api import expect
from support.browser import (
    choose,
    look_up,
    panel_page,
    rate,
    shown,
    tab_to,
    type_key,
    use_key,
)
from support.faults import HANG, KEY, LISTED
from support.nexus import FIVE, Nexus
from support.secrets import TYPED_KEY, files_with
from support.systems import linux
from support.waiting import until

from svc_tools.frames import enrich_file
from svc_tools.show.display import Note, Table, as_html, card, number, prose

pytestmark = pytest.mark.timeout(300)  # Chromium, and a kernel for each page


def press(page, name):
    shown(page.get_by_role("button", name=name, exact=True)).click()


def percent(text):
    """The first percentage of a text."""
    return Decimal(re.search(r"(\d+\.?\d*)\s*%", text)[1])


def expected(account, state, zip_code):
    return Decimal(account.client.lookup(state, zip=zip_code).rate.combined_rate) * 100


# the tab Lookup, the key


def test_a_whole_lookup_needs_no_mouse(page, account):
    page.keyboard.press("Tab")
    tab_to(page, "ZIP Code, address or place")
    page.keyboard.type("78701")
    focus = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert focus != "none", "the focus is visible"
    for name in ("State", "Date of the sale", "Amount"):  # in the order in which they are read
        tab_to(page, name, most=4)
    page.keyboard.type("129.99")
    page.keyboard.press("Enter")
    expect(rate(page)).to_be_visible()
    assert percent(rate(page).inner_text()) == expected(account, "TX", "78701")
    tax = Decimal("129.99") * expected(account, "TX", "78701") / 100
    expect(shown(page.locator("[data-svc=tax]"))).to_have_text(f"${round(tax, 2)}")
    tab_to(page, "Look up", most=2)
    tab_to(page, "Street and city, or coordinates", most=1)
    page.keyboard.press("Enter")
    tab_to(page, "One line", most=1)
    page.keyboard.press("ArrowRight")
    expect(shown(page.get_by_label("Street address"))).to_be_visible()
    page.keyboard.press("ArrowLeft")
    look_up(page, "TX", "787")
    place = shown(page.get_by_label("ZIP Code, address or place"))
    expect(place).to_have_attribute("aria-invalid", "true")
    expect(place).to_be_focused()


def test_a_date_that_is_typed_in_part_is_not_taken_for_today(page):
    look_up(page, "TX", "78701")
    expect(rate(page)).to_be_visible()
    day = shown(page.get_by_label("Date of the sale"))
    day.focus()
    page.keyboard.type("0501")
    page.keyboard.press("Enter")
    expect(day).to_have_attribute("aria-invalid", "true")
    page.keyboard.type("26")
    page.keyboard.press("Enter")
    expect(shown(page.get_by_text("in four digits"))).to_be_visible()
    day.fill("2026-05-01")
    page.keyboard.press("Enter")
    expect(shown(page.get_by_text("combined rate, on 2026-05-01"))).to_be_visible()
    day.fill("")
    look_up(page, "TX", "78701")
    expect(shown(page.get_by_text("combined rate, today"))).to_be_visible()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (400, 900)])
def test_rate_tax_and_warning_are_in_sight_without_scrolling(page, width, height):
    before = page.viewport_size
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("scrollTo(0, 0)")
    shown(page.get_by_role("textbox", name="Amount")).fill("129.99")
    day = shown(page.get_by_label("Date of the sale"))
    day.fill("2019-05-01")  # before what the book knows: a warning
    look_up(page, "", "94105")
    expect(shown(page.get_by_text("on 2019-05-01"))).to_be_visible()
    for part in ("[data-svc=rate]", "[data-svc=tax]", ".svc-warnings"):
        expect(shown(page.locator(part))).to_be_in_viewport(ratio=1)
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".svc-warnings").locator("visible=true").count() == 1
    day.fill("")
    page.set_viewport_size(before)


def test_a_wrong_key_is_a_message_at_its_field_and_neither_key_is_written(
    page, account, served, work
):
    type_key(page, account.url, "wrong-key-0123456789")
    expect(shown(page.get_by_text("does not accept the key"))).to_be_visible()
    key = shown(page.get_by_label("API key"))
    expect(key).to_have_attribute("aria-invalid", "true")
    expect(key).to_have_value("")
    expect(shown(page.get_by_label("Address of the service"))).to_have_value(account.url)
    use_key(page, account.url, TYPED_KEY)
    look_up(page, "TX", "78701")
    expect(rate(page)).to_be_visible()
    assert page.locator("input[type=password]").evaluate_all("all => all.map(e => e.value)") == [""]
    token = served.url.partition("token=")[2]
    (work / "said.log").write_text("\n".join(one for one in served.said if token not in one))
    for secret in ("wrong-key-0123456789", TYPED_KEY, token):
        assert secret not in page.content()
        found, written = files_with(secret, work)
        assert found == []
        assert written


def test_a_lookup_that_hangs_leaves_the_page_usable_and_can_be_canceled(page, account, faults):
    faults.will(LISTED, HANG)
    use_key(page, faults.base_url, "any-key-0123456789")
    faults.asked.clear()
    look_up(page, "TX", "78701")
    assert faults.asked.wait(60)
    page.get_by_role("tab", name="Nexus").click()
    expect(page.get_by_role("button", name="List from the service")).to_be_visible()
    page.get_by_role("tab", name="Lookup").click()
    shown(page.get_by_role("button", name="Cancel")).click()
    expect(shown(page.get_by_text("Canceled"))).to_be_visible()
    use_key(page, account.url, TYPED_KEY)
    look_up(page, "CA", "94105")
    expect(rate(page)).to_be_visible()
    assert percent(rate(page).inner_text()) == expected(account, "CA", "94105")


# the page


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


@pytest.fixture
def own_page(served, chrome):
    """A page that a test may end, and where the state of its process is found."""
    with panel_page(chrome, served) as (page, seen):
        yield page, f"{served.home}api/kernels/{kernel_of(seen)}"


def kernel_of(seen):
    """The process of a page, from its requests."""
    found = (re.search(r"/api/kernels/([\w-]+)", address) for address in seen.asked)
    (kernel,) = {match[1] for match in found if match}
    return kernel


def test_a_page_warns_before_it_is_closed_in_the_middle_and_the_address_finds_it_again(
    own_page, served, faults, tmp_path
):
    page, kernel = own_page
    other = page.context.new_page()
    orders = tmp_path / "orders.csv"
    orders.write_text("order,state,zip\n1,TX,78701\n")
    faults.will(LISTED, HANG)
    use_key(page, faults.base_url, "any-key-0123456789")
    page.get_by_role("tab", name="File").click()
    shown(page.get_by_label("Or the path of a file")).fill(str(orders))
    press(page, "Open")
    press(page, "Add rates")
    expect(shown(page.get_by_role("button", name="Stop", exact=True))).to_be_visible()
    page.get_by_role("tab", name="Lookup").click()  # what runs is out of sight
    questions = []
    page.on("dialog", lambda question: (questions.append(question.type), question.dismiss()))
    with page.expect_event("dialog"):
        page.close(run_before_unload=True)
    assert questions == ["beforeunload"]
    assert other.goto(kernel).status == 200, "who stays finds the page as it was"
    page.get_by_role("tab", name="File").click()
    press(page, "Stop")
    expect(page.locator(".svc-busy")).to_have_count(0)
    page.close(run_before_unload=True)
    until(lambda: other.goto(kernel).json()["connections"] == 0, what="the page is closed")
    assert questions == ["beforeunload"]
    other.goto(served.url)
    expect(shown(other.get_by_role("button", name="Show the plan", exact=True))).to_be_visible()
    expect(other.locator(".svc-service")).to_contain_text(faults.base_url)


def test_a_reload_keeps_service_lookup_file_and_plan_and_the_browser_stores_nothing(
    fresh, account, tmp_path
):
    page = fresh
    account.fill()
    orders = tmp_path / "orders.csv"
    orders.write_text("order,state,zip\n1,CA,94105\n2,TX,78701\n")
    use_key(page, account.url, TYPED_KEY)
    shown(page.get_by_role("textbox", name="Amount")).fill("129.99")
    look_up(page, "CA", "94105")
    expect(rate(page)).to_be_visible()
    figures = page.locator(".svc-card").text_content()
    page.get_by_role("tab", name="Nexus").click()
    press(page, "List from the service")
    expect(shown(page.get_by_text("5 records in 5 states"))).to_be_visible()
    press(page, "Make the plan")
    expect(page.get_by_role("checkbox", name="Remove ")).to_have_count(5)
    page.get_by_role("checkbox", name="Remove NH economic").check()
    page.get_by_role("tab", name="File").click()
    choose(page, page, orders)
    press(page, "Add rates")
    expect(shown(page.get_by_role("button", name="Download"))).to_be_visible()

    page.reload()
    with page.expect_download() as found:
        shown(page.get_by_role("button", name="Download")).click()
    assert len(rows(found.value.path())) == 2
    expect(page.get_by_role("tab", name="File")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".svc-service")).to_contain_text(account.url)
    page.get_by_role("tab", name="Nexus").click()
    expect(page.get_by_role("checkbox", name="Remove NH economic")).to_be_checked()
    page.get_by_role("tab", name="Lookup").click()
    assert page.locator(".svc-card").text_content() == figures
    expect(shown(page.get_by_label("ZIP Code, address or place"))).to_have_value("94105")
    expect(shown(page.get_by_role("textbox", name="Amount"))).to_have_value("129.99")
    look_up(page, "TX", "78701")  # and it goes on working
    expect(shown(page.get_by_text("Travis County"))).to_be_visible()
    stored = "() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    assert TYPED_KEY not in page.evaluate(stored) + page.content()


def kill(kernel):
    """End the process behind a page, as a crash does."""
    number = kernel.rpartition("/")[2]
    for found in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if f"kernel-{number}.json" in found.read_text():
                os.kill(int(found.parent.name), signal.SIGKILL)


@linux
def test_a_page_whose_process_ended_says_so_and_a_reload_begins_again(own_page):
    page, kernel = own_page
    look_up(page, "TX", "78701")
    expect(rate(page)).to_be_visible()
    kill(kernel)
    expect(page.get_by_role("alert").locator("visible=true")).to_contain_text("Reload the page")
    page.reload()
    expect(shown(page.get_by_label("ZIP Code, address or place"))).to_have_value("")
    look_up(page, "TX", "78701")
    expect(rate(page)).to_be_visible()


# the tab File

ORDERS = """order,sold,state,zip,amount
0001,02/03/2026,CA,94105,100.00
0002,02/03/2026,TX,78701,20.00
0003,02/03/2026,WA,98101,300.00
0004,02/04/2026,CA,00000,40.00
0005,02/04/2026,XX,12345,5.00
"""


def rows(path):
    """The rows of a result, without times of lookups and references."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return [
            {
                name: re.sub(r"req_\w+", "req", text)
                for name, text in row.items()
                if not name.endswith("_at")
            }
            for row in csv.DictReader(file)
        ]


def test_a_file_needs_no_mouse(fresh, account, tmp_path):
    page = fresh
    orders = tmp_path / "orders.csv"
    orders.write_text(ORDERS)
    press_key = page.keyboard.press
    tab_to(page, "Lookup")
    press_key("ArrowRight")
    tab_to(page, "Or the path of a file")
    page.keyboard.type(str(orders))
    press_key("Enter")
    expect(shown(page.get_by_role("button", name="Show the plan"))).to_be_enabled()
    assert shown(page.get_by_label("State", exact=True)).input_value() == "state"
    tab_to(page, "Add rates and tax")
    press_key("Enter")
    written = shown(page.get_by_label("Date format", exact=True))
    expect(written).to_be_focused()  # the dates could be either: here it is settled
    expect(page.locator(".svc-grid .svc-error")).to_contain_text("'02/03/2026' and '02/04/2026'")
    press_key("ArrowDown")
    expect(page.locator(".svc-grid .svc-error")).to_have_count(0)
    expect(written.locator("option:checked")).to_contain_text("month first")
    tab_to(page, "Show the plan")
    press_key("Enter")
    expect(shown(page.get_by_text("billable"))).to_be_visible()
    tab_to(page, "Add rates and tax", back=True)
    press_key("Enter")
    expect(shown(page.get_by_role("button", name="Download"))).to_be_visible()
    review = page.locator(".svc-table", has_text="Rows to review: 1 to").locator("tbody tr")
    expect(review.first).to_contain_text("0004")  # the most dollars first
    tab_to(page, "Download")
    with page.expect_download() as found:
        press_key("Enter")
    found.value.save_as(tmp_path / "found.csv")
    expected = tmp_path / "expected.csv"
    enrich_file(
        orders,
        expected,
        client=account.client,
        tax={},
        date_format="month first",
        cache=False,
        progress=False,
    )
    assert rows(tmp_path / "found.csv") == rows(expected)
    assert [row["order"] for row in rows(expected)] == ["0001", "0002", "0003", "0004", "0005"]


SHOPIFY = Path(__file__).parents[1] / "data" / "exports" / "shopify.csv"


def test_an_export_of_a_shop_is_one_button_from_its_tax_on_a_narrow_page(narrow, account, tmp_path):
    page = narrow
    page.set_viewport_size({"width": 400, "height": 800})
    page.get_by_role("tab", name="File").click()
    choose(page, page, SHOPIFY)
    expect(shown(page.get_by_text("Recognized by its columns as Shopify orders"))).to_be_visible()
    press(page, "Add rates and tax")
    expect(shown(page.get_by_text("rows are ready to use"))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    with page.expect_download() as found:
        shown(page.get_by_role("button", name="Download")).click()
    found.value.save_as(tmp_path / "found.csv")
    expected = tmp_path / "expected.csv"
    enrich_file(SHOPIFY, expected, tax={}, client=account.client, cache=False)
    assert rows(tmp_path / "found.csv") == rows(expected)
    assert sum(Decimal(row["tax"] or 0) for row in rows(expected)) > 0


def test_a_file_above_the_hosts_usual_limit_comes_and_goes_whole(page, tmp_path):
    page.get_by_role("tab", name="File").click()
    large = tmp_path / "large.csv"
    line = "{:08d},CA,94105," + "x" * 1_000 + "\n"
    with large.open("w") as out:
        out.write("order,state,zip,note\n")
        out.writelines(line.format(number) for number in range(13_000))
    assert large.stat().st_size > 12 * 1024 * 1024
    choose(page, page, large)
    press(page, "Show the plan")
    expect(shown(page.get_by_text("13,000"))).to_be_visible()
    press(page, "Add rates")
    link = shown(page.get_by_role("link", name="Download"))
    expect(link).to_be_visible()
    with page.expect_download() as found:
        link.click()
    found.value.save_as(tmp_path / "found.csv")
    with (tmp_path / "found.csv").open(newline="", encoding="utf-8-sig") as result:
        assert [int(row["order"]) for row in csv.DictReader(result)] == list(range(13_000))


# the tab Nexus


def states(account):
    return {state for state, _, _ in account.records()}


def test_two_of_five_records_are_removed_without_a_mouse_and_come_back(fresh, account):
    page = fresh
    account.fill()
    before = account.records()
    press_key = page.keyboard.press
    tab_to(page, "Lookup")
    press_key("End")
    tab_to(page, "List from the service")
    press_key("Enter")
    expect(shown(page.get_by_text("5 records in 5 states"))).to_be_visible()
    tab_to(page, "Make the plan")
    press_key("Enter")
    boxes = page.get_by_role("checkbox", name="Remove ")
    expect(boxes).to_have_count(5)
    assert [box.is_checked() for box in boxes.all()] == [False] * 5, "nothing is ticked in advance"
    for record in ("NH economic", "OR economic"):
        tab_to(page, f"Remove {record}")
        press_key("Space")
        expect(page.get_by_role("checkbox", name=f"Remove {record}")).to_be_checked()
    tab_to(page, "Preview the requests")
    press_key("Enter")
    for state in ("OR", "NH"):
        request = f"DELETE /v1/portability/nexus/{state}?nexus_type=economic"
        expect(shown(page.get_by_text(request))).to_be_visible()
    remove = page.get_by_role("button", name="Remove 2 records")
    expect(remove).to_be_disabled()
    tab_to(page, "Type 2, the number of records")
    page.keyboard.type("3")
    expect(shown(page.get_by_label("Type 2, the number of records"))).to_have_value("3")
    expect(remove).to_be_disabled()
    assert account.records() == before
    press_key("Backspace")
    page.keyboard.type("2")
    expect(remove).to_be_enabled()
    tab_to(page, "Remove 2 records")
    press_key("Enter")
    expect(shown(page.get_by_role("button", name="Preview the undo"))).to_be_visible()
    assert states(account) == {"TX", "CA", "WA"}
    press(page, "Preview the undo")
    shown(page.get_by_label("Type 2, the number of records")).fill("2")
    press(page, "Add 2 records again")
    expect(shown(page.get_by_text("2 records: 2 there again"))).to_be_visible()
    assert account.records() == before


def preview(page, request):
    """Preview by keyboard until this request is shown: letters may still be on their way."""
    tab_to(page, "Preview the request")
    for _ in range(20):
        page.keyboard.press("Enter")
        with contextlib.suppress(AssertionError):
            return expect(shown(page.get_by_text(request))).to_be_visible(timeout=3_000)
    raise AssertionError(f"{request} is not previewed")


def test_a_registration_is_added_and_changed_without_a_mouse(page, account):
    account.fill()
    before = account.records()
    press_key = page.keyboard.press
    tab_to(page, "Lookup")
    press_key("End")
    tab_to(page, "List from the service")
    press_key("Enter")
    expect(shown(page.get_by_role("button", name="Edit OR economic"))).to_be_visible()
    tab_to(page, "Add a registration")
    press_key("Enter")
    tab_to(page, "State")
    page.keyboard.type("Idaho")
    tab_to(page, "Type")
    page.keyboard.type("Eco")
    preview(page, '{"state": "ID", "nexus_type": "economic"}')
    tab_to(page, "Type ID, the state")
    page.keyboard.type("id")
    assert account.records() == before
    tab_to(page, "Add the registration")
    press_key("Enter")
    row = shown(page.get_by_role("button", name="Edit ID economic"))
    expect(row).to_be_visible()
    assert account.records() == before | {("ID", "economic", "None")}
    tab_to(page, "Edit ID economic")
    press_key("Enter")
    expect(shown(page.get_by_text("Change a registration: ID economic"))).to_be_visible()
    tab_to(page, "Registered at (optional)")
    page.keyboard.type("05012024")
    preview(page, '"registered_at": "2024-05-01"')
    tab_to(page, "Type ID, the state")
    page.keyboard.type("ID")
    tab_to(page, "Change the registration")
    press_key("Enter")
    expect(shown(page.get_by_text("ID economic changed"))).to_be_visible()
    assert account.records() == before | {("ID", "economic", "2024-05-01")}
    press(page, "Preview the undo")
    confirm(page, "ID")
    expect(shown(page.get_by_text("1 record: 1 there again"))).to_be_visible()
    assert account.records() == before | {("ID", "economic", "None")}


@pytest.fixture
def lean(faults):
    return Nexus(faults, FIVE)


def ticked(page, lean, *names):
    """The Nexus tab over that service, with its plan and these ticks."""
    use_key(page, lean.faults.base_url, KEY)
    page.get_by_role("tab", name="Nexus").click()
    press(page, "List from the service")
    expect(shown(page.get_by_text("5 records in 5 states"))).to_be_visible()
    press(page, "Make the plan")
    for name in names:
        page.get_by_role("checkbox", name=f"Remove {name}").check()
    press(page, "Preview the requests")


def confirm(page, text):
    shown(page.get_by_label(f"Type {text}")).fill(text)
    shown(page.locator(".svc-confirm button")).click()


def nothing_runs(receipts):
    """Whether no process changes records any more."""
    try:
        for lock in receipts.glob(".*.lock"):
            with FileLock(lock, timeout=0):
                pass
    except Timeout:
        return False
    return True


def test_a_page_left_in_the_middle_of_a_removal_warns_and_after_a_crash_it_is_continued(
    own_page, lean, work
):
    (page, kernel), under_way, over = own_page, threading.Event(), threading.Event()

    def before(state, _):
        if state == "MT":
            under_way.set()
            over.wait(120)

    lean.before = before
    ticked(page, lean, "DE economic", "MT economic", "NY economic")
    confirm(page, "3")
    assert under_way.wait(60)
    expect(page.locator(".svc-busy")).to_have_count(1)
    dialogs = []
    page.once("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    page.reload()
    assert dialogs == ["beforeunload"]
    expect(page.get_by_role("tab", name="Nexus")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".svc-busy")).to_have_count(1)  # it goes on
    kill(kernel)
    expect(page.get_by_role("alert").locator("visible=true")).to_contain_text("Reload the page")
    page.reload()
    expect(page.get_by_role("tab", name="Lookup")).to_have_attribute("aria-selected", "true")
    use_key(page, lean.faults.base_url, KEY)
    page.get_by_role("tab", name="Nexus").click()
    expect(shown(page.get_by_text("is not complete"))).to_be_visible()
    until(
        lambda: nothing_runs(work / "svc_receipts"),
        seconds=120,
        what="the process has ended",
    )
    over.set()  # the service carries it out, and the response reaches nobody
    until(lambda: len(lean.sent) == 2, seconds=60)
    press(page, "Continue")
    expect(page.get_by_role("checkbox", name="Remove NY economic")).to_be_checked()
    expect(shown(page.get_by_text("? Not known"))).to_be_visible()
    press(page, "Preview the requests")
    confirm(page, "NY")
    expect(shown(page.get_by_text("The receipt is under 5"))).to_be_visible()
    assert {state for state, _ in lean.records} == {"CA", "TX"}
    assert [state for _, state, _ in lean.sent] == ["DE", "MT", "NY"]


def test_no_number_of_a_table_or_a_card_is_broken_into_two_lines(chrome, account):
    part = Table(
        (number("Dollars"), "Rows", prose("What to do")),
        [("-$1,234,567.89", "12,345,678", "Look it up. " * 20)],
        "Sums",
    )
    answer = account.client.lookup("WA", zip="98101")
    looks = [as_html(Note("a note"), part), card(answer, tax=("$12,345,678.90", "tax"))]
    page = chrome.new_page(viewport={"width": 240, "height": 800})
    for html in looks:
        page.set_content(html)
        broken = page.evaluate(
            """() => [...document.querySelectorAll('td, .svc-rate, .svc-tax')].filter(cell => {
                if (!/^[-$]*[0-9][0-9.,%]*$/.test(cell.innerText.trim())) return false
                const range = document.createRange()
                range.selectNodeContents(cell)
                return new Set([...range.getClientRects()].map(one => one.top)).size > 1
            }).map(cell => cell.innerText)"""
        )
        assert broken == []
        assert page.locator("td").count() > 2
    page.close()
