"""The task pane in a browser: the service, lookups, the key, the functions, and freezing."""

from __future__ import annotations

import json
import re
from html import unescape

import httpx
import pytest
from playwright.sync_api import expect
from support.browser import new_page, tab_to
from support.faults import RESET, answer, echoing, serving
from support.keyrings import use_keyring
from support.nexus import RECORDS, Nexus
from support.secrets import TYPED_KEY, files_with
from support.spreadsheets import STAND_IN, local_server, pane_page, shown, zips_asked

import svc_tools
from svc_sdk import Svc
from svc_tools.excel.com.macros import FROZEN_COLUMNS as COLUMNS
from svc_tools.excel.desk import Desk
from svc_tools.excel.officejs import guard, pages
from svc_tools.excel.officejs.pages import OFFICE_JS
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.show.codes import CONFIDENCES

pytestmark = pytest.mark.timeout(180)  # Chromium starts slowly on a busy machine

AUSTIN = ("TX", "78701", "2026-05-01")


@pytest.fixture
def keyring(monkeypatch, tmp_path):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return use_keyring(monkeypatch)


@pytest.fixture
def desk(keyring):
    return Desk(svc_tools.connect("embedded"), cache=False)


@pytest.fixture
def served(desk):
    with local_server(desk) as server:
        yield server


@pytest.fixture
def pane(served, chrome):
    with pane_page(chrome, served) as (page, seen):
        yield page
        assert seen.outside(served.origin) == []
        assert seen.complaints == []


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def click(page, name):
    button(page, name).click()


def give_key(page, address, key):
    page.get_by_text("Service and key", exact=True).click()
    page.get_by_label("Address of the service").fill(address)
    page.get_by_label("API key").fill(key)
    click(page, "Check and store")


def test_it_shows_the_service_and_the_cached_results(desk, pane):
    expect(pane.locator("#state")).to_have_text("Connected")
    expect(pane.locator("#service")).to_have_text("Embedded service")
    expect(pane.locator("#source")).to_contain_text("Rate book of 20")
    expect(pane.locator("#cached")).to_have_text("0")
    shown(desk, "SVC_RATE", *AUSTIN)
    click(pane, "Check again")
    expect(pane.locator("#cached")).to_have_text("1")
    year = desk.oldest.astimezone().strftime("%Y-%m-%d %H:%M")
    expect(pane.locator("#oldest")).to_have_text(year)
    assert not pane.locator("#freezing").is_visible(), "there is no workbook in a browser"


def look_up(page, place, *, state="TX", day="2026-08-01", amount=""):
    page.get_by_label("State", exact=True).fill(state)
    page.get_by_label("ZIP Code or address").fill(place)
    page.get_by_label("Date of the sale").fill(day)
    page.get_by_label("Amount").fill(amount)
    page.get_by_role("button", name="Look up", disabled=False).click()


def result(page):
    """The rows of the result, by their names."""
    expect(page.locator("#result")).not_to_be_empty()
    rows = page.locator("#result > div").all()
    return {
        row.locator("dt").inner_text(): "; ".join(row.locator("dd").all_inner_texts())
        for row in rows
    }


FORMULAS = {
    ("78701", ""): ('=SVC.RATE("TX", "78701", DATE(2026, 8, 1))', 0.0825, "8.25%"),
    ("78701-1234", "1,234.5"): (
        '=SVC.TAX(1234.5, "TX", "78701-1234", DATE(2026, 8, 1))',
        101.85,
        "$101.85 on $1,234.50",
    ),
    ('500 "Old" Congress Ave, Austin', "10"): (
        '=SVC.RATE_ADDRESS("TX", "500 ""Old"" Congress Ave, Austin", , , DATE(2026, 8, 1))',
        0.0825,
        "8.25%",
    ),
}


@pytest.mark.parametrize(("place", "amount"), FORMULAS)
def test_a_rate_is_looked_up_once_and_its_formula_and_value_are_copied(desk, pane, place, amount):
    formula, value, shown = FORMULAS[place, amount]
    look_up(pane, place, amount=amount)
    rows = result(pane)
    assert rows["Rate"] == "8.25%"
    assert shown in (rows["Tax"] if "TAX" in formula else rows["Rate"])
    assert rows["Confidence"].partition(":")[0] in CONFIDENCES
    assert rows["Place"].startswith("Austin, Travis County, TX")
    assert rows["Source"].startswith("embedded service: ")
    expect(pane.locator("#spent")).to_have_text("1")
    assert desk.spent == 1
    for name, copied in (("Copy formula", formula), ("Copy value", f"{value}")):
        click(pane, name)
        expect(pane.locator("#lookup-message")).to_have_text(f"Copied: {copied}")
        assert pane.evaluate("navigator.clipboard.readText()") == copied


def test_formula_and_value_go_into_an_empty_cell_with_a_note_of_the_source(served, chrome):
    host = "{ context: { requirements: { isSetSupported: () => true } }, onReady: async () => {} }"
    script = f"{STAND_IN} globalThis.Office = {host};"
    with pane_page(chrome, served, script=script) as (page, _):
        page.evaluate("standIn.sheets = {Orders: {B2: 7}}; standIn.texts = ['Orders!B3']")
        look_up(page, "78701", amount="100")
        for cell, name, message in (
            ("B2", "formula", "Orders!B2 is not empty"),
            ("B3", "value", "Orders!B3 is formatted as text"),
            ("C3", "formula", "is in Orders!C3."),
            ("C4", "value", "8.25 is in Orders!C4."),
        ):
            page.evaluate("(cell) => { standIn.selected = ['Orders', cell] }", cell)
            click(page, f"Insert {name}")
            expect(page.locator("#lookup-message")).to_contain_text(message)
        formula = '=SVC.TAX(100, "TX", "78701", DATE(2026, 8, 1))'
        assert page.evaluate("standIn.sheets.Orders") == {"B2": 7, "C3": formula, "C4": 8.25}
        notes = page.evaluate("standIn.notes")
        assert list(notes) == ["Orders!C4"]
        assert notes["Orders!C4"].startswith("TX 78701 on 2026-08-01; embedded service: ")
        assert re.search(r"; looked up 20\d\d-\d\d-\d\dT[\d:]+Z$", notes["Orders!C4"])


@pytest.fixture
def scripted(keyring, chrome):
    """The pane over a service that responds as the test says."""
    with (
        serving() as faults,
        Svc("key-0123456789", base_url=faults.base_url) as client,
        local_server(Desk(client, cache=False)) as served,
        pane_page(chrome, served) as (page, _),
    ):
        yield page, faults


def test_a_rate_for_review_or_in_part_is_not_shown_like_another(scripted):
    page, faults = scripted
    look_up(page, "78700")
    assert result(page)["Status"] == "ok"
    faults.will(echoing(confidence="low", warnings=["as_of_after_edition"]))
    look_up(page, "78701")
    expect(page.locator("#result")).to_contain_text("The sale is after")
    rows = result(page)
    assert (rows["Rate"], rows["Status"]) == ("8.25%", "review")  # the word of SVC_STATUS
    assert rows["Warnings"].startswith("The sale is after what the rates cover")
    expect(button(page, "Copy value")).to_be_visible()
    faults.will(echoing(warnings=["local_rates_not_covered"]))
    look_up(page, "78702")
    expect(page.locator("#result")).to_contain_text("partial")
    rows = result(page)
    assert (rows["Rate"], rows["Status"]) == ("#PARTIAL", "partial")
    expect(button(page, "Copy value")).to_be_hidden()
    expect(button(page, "Copy formula")).to_be_visible()


def test_a_result_is_gone_as_soon_as_a_field_is_changed(pane):
    look_up(pane, "78701")
    assert result(pane)["Rate"] == "8.25%"
    pane.get_by_label("ZIP Code or address").fill("7870")
    expect(pane.locator("#result")).to_be_hidden()
    expect(button(pane, "Copy value")).to_be_hidden()
    pane.route("**/batch", lambda route: (retype(pane), route.continue_()))
    look_up(pane, "78702")
    expect(pane.locator("#lookup-message")).to_contain_text("look up again")
    expect(pane.locator("#result")).to_be_hidden()


def retype(page):
    """Type into the form while its lookup is under way."""
    page.locator("#lookup-state").dispatch_event("input", {"bubbles": True})


@pytest.mark.parametrize(
    ("field", "place", "amount"),
    [("place", "", ""), ("amount", "78701", "1.234,56"), ("amount", "78701", "1,23")],
)
def test_a_field_that_cannot_be_read_is_named_and_nothing_is_sent(desk, pane, field, place, amount):
    look_up(pane, place, amount=amount)
    expect(pane.locator(f"#lookup-{field}")).to_be_focused()
    expect(pane.locator(f"#lookup-{field}-error")).not_to_be_empty()
    assert desk.spent == 0


@pytest.mark.parametrize(("place", "reason"), [("00000", "is unknown"), ("Main", "is too short")])
def test_a_place_without_a_rate_has_its_reason_and_nothing_to_insert(pane, place, reason):
    look_up(pane, place)
    assert reason in result(pane)["No rate"]
    expect(pane.locator("#inserting")).to_be_hidden()


def test_the_form_is_used_with_the_keyboard_alone(pane):
    tab_to(pane, "State")
    for text in ("TX", "78701", "100"):
        pane.keyboard.type(text)
        pane.keyboard.press("Tab")
    pane.keyboard.press("Enter")
    assert result(pane)["Tax"].startswith("$8.25")
    tab_to(pane, "Copy value")
    pane.keyboard.press("Enter")
    expect(pane.locator("#lookup-message")).to_have_text("Copied: 8.25")


def test_lookups_that_are_left_are_those_that_the_service_reports(scripted):
    page, faults = scripted
    expect(page.locator("#left")).to_have_text("no limit known")
    faults.will(answer(x_quota_remaining="4711"))
    look_up(page, "78701")
    expect(page.locator("#left")).to_have_text("4,711")
    expect(page.locator("#spent")).to_have_text("1")


@pytest.fixture
def metered(keyring, chrome, tmp_path):
    """The pane in a workbook of five rows and a name, over a service that counts requests."""
    with serving() as faults, Svc("key-0123456789", base_url=faults.base_url) as client:
        desk = Desk(client, cache=tmp_path / "results.db")
        with local_server(desk) as served, pane_page(chrome, served, script=STAND_IN) as (page, _):
            cells = {
                **{f"A{row}": one for row, one in enumerate(("78701", "78702", "78701"), 1)},
                **{f"B{row}": f'=SVC.RATE("TX",A{row},DAY)' for row in (1, 2, 3)},
                "B4": '=SVC.RATE("TX",TEXT(A1,"00000"),DAY)',
                "C1": "=SVC.RATE([@State],[@ZIP],DAY)",
                "D1": "'=SVC.RATE(A1,A1)",
                "E1": "'2026-05-01",
                "F1": "TX",
                "G1": "'78703",
            }
            page.evaluate(
                "(cells) => { standIn.sheets = { Orders: cells }; standIn.names ="
                " { DAY: '=Orders!$E$1' }; standIn.tables = [{ name: 'Lines', sheet: 'Orders',"
                " row: 0, column: 5, height: 1, columns: ['State', 'ZIP'] }] }",
                cells,
            )
            faults.seen.clear()
            yield page, faults, desk


def lookups(faults):
    return sorted(zip_code for zip_code in zips_asked(faults) if zip_code)


def test_a_refresh_says_its_lookups_and_sends_none_before_the_user_agrees(metered):
    page, faults, _ = metered
    click(page, "Refresh rates")
    expect(page.locator("#refresh-text")).to_contain_text(
        "3 lookups for 4 cells. The places of 1 cell"
    )
    expect(button(page, "Refresh")).to_be_focused()
    click(page, "Cancel")
    expect(button(page, "Refresh rates")).to_be_focused()
    assert lookups(faults) == []
    assert page.evaluate("[standIn.calculated, globalThis.svcSince]") == [[], None]


def test_a_refresh_counts_the_cells_that_look_up_by_a_name(metered):
    page, _, _ = metered
    page.evaluate(
        'standIn.names = { Austin: \'=LAMBDA(day,SVC.RATE("TX","78701",day))\' };'
        "standIn.sheets = { Orders: { A1: '=Austin(B1)', A2: '=B1*2' } }"
    )
    click(page, "Refresh rates")
    expect(page.locator("#refresh-text")).to_contain_text("The places of 1 cell")


def test_a_refresh_renews_what_the_workbook_uses_and_recalculates(metered):
    page, faults, desk = metered
    shown(desk, "SVC_RATE", "TX", "78701", "2026-05-01")
    shown(desk, "SVC_RATE", "TX", "78799", "2026-05-01")
    faults.seen.clear()
    faults.will(echoing(rate={"combined_rate": "0.08500", "city_rate": "0.01250"}))
    click(page, "Refresh rates")
    click(page, "Refresh")
    expect(page.locator("#message")).to_contain_text("3 places looked up again: 1 result changed.")
    assert lookups(faults) == ["78701", "78702", "78703"]
    assert page.evaluate("standIn.calculated") == ["Full"]
    assert page.evaluate("svcSince").endswith("+00:00")
    assert shown(desk, "SVC_RATE", *AUSTIN) == 0.085


def test_a_refresh_of_a_service_that_is_away_changes_nothing(metered):
    page, faults, desk = metered
    shown(desk, "SVC_RATE", *AUSTIN)
    faults.will(RESET)
    click(page, "Refresh rates")
    click(page, "Refresh")
    expect(page.locator("#message")).to_contain_text("Nothing was refreshed")
    assert page.evaluate("[standIn.calculated, globalThis.svcSince]") == [[], None]
    assert shown(desk, "SVC_RATE", *AUSTIN) == 0.0825


@pytest.fixture
def register(keyring, chrome, tmp_path, monkeypatch):
    """The section of the registrations, open, in a workbook, over a service that is scripted."""
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "receipts"))
    with serving() as faults, Svc("key-0123456789", base_url=faults.base_url) as client:
        nexus = Nexus(faults, RECORDS[2:])
        with (
            local_server(Desk(client, cache=False)) as served,
            pane_page(chrome, served, script=STAND_IN) as (page, seen),
        ):
            page.get_by_text("Registrations", exact=True).click()
            yield page, nexus
            assert seen.complaints == []


def test_registrations_are_listed(register):
    page, nexus = register
    click(page, "List")
    expect(page.locator("#nexus-rows tr")).to_have_count(4)
    expect(page.locator("#nexus-rows")).to_contain_text("TX economic")
    expect(page.locator("#nexus-message")).to_contain_text("3 records in 2 states")
    assert nexus.methods == {"GET"}


def test_a_registration_is_added_with_the_keyboard_once_its_state_is_typed(register, tmp_path):
    page, nexus = register
    tab_to(page, "List")
    page.keyboard.press("Tab")
    page.keyboard.type("Ohio")
    page.get_by_label("Type", exact=True).select_option("economic")
    page.get_by_label("Since").fill("2024-05-31")
    page.get_by_label("Notes").fill("<b>permit</b> 7")
    page.keyboard.press("Enter")
    expect(page.locator("#nexus-requests")).to_contain_text("POST /v1/portability/nexus {")
    expect(page.locator("#nexus-typed")).to_be_focused()
    page.keyboard.type("TX")
    click(page, "Add the registration")
    expect(page.locator("#nexus-typed-error")).to_contain_text("Type OH")
    assert nexus.methods == {"GET"}
    page.locator("#nexus-typed").fill("OH")
    click(page, "Add the registration")
    expect(page.locator("#nexus-message")).to_contain_text("svc-tools nexus restore")
    expect(page.locator("#nexus-rows")).to_contain_text("OH economic")
    expect(page.locator("#nexus-confirm")).to_be_hidden()
    assert [one["notes"] for one in nexus.additions] == ["<b>permit</b> 7"]
    assert page.evaluate("standIn.calculated") == ["Full"]
    assert len([*(tmp_path / "receipts").glob("*-add-*.jsonl")]) == 1


def test_a_preview_ends_with_a_change_of_the_form_or_cancel_and_nothing_is_sent(register):
    page, nexus = register
    for end in ("change", "cancel", "there already"):
        page.locator("#nexus-state").fill("TX" if end == "there already" else "OH")
        page.locator("#nexus-nexus_type").select_option("economic")
        click(page, "Preview the request")
        if end == "there already":
            expect(page.locator("#nexus-message")).to_contain_text("is registered already")
        else:
            expect(page.locator("#nexus-confirm")).to_be_visible()
        if end == "change":
            page.locator("#nexus-address").fill("1 Main St")
        elif end == "cancel":
            page.locator("#nexus-cancel").click()
        expect(page.locator("#nexus-confirm")).to_be_hidden()
    assert nexus.methods == {"GET"}


def test_a_key_is_given_with_the_keyboard_alone(pane, served, account, keyring, tmp_path):
    tab_to(pane, "Service and key")
    pane.keyboard.press("Enter")
    pane.keyboard.press("Tab")
    pane.keyboard.type(account.url)
    pane.keyboard.press("Tab")
    pane.keyboard.type(TYPED_KEY)
    with pane.expect_request("**/excel/key") as sent:
        pane.keyboard.press("Enter")
    expect(pane.locator("#service")).to_have_text(account.url)
    expect(pane.locator("#key-message")).to_contain_text("accepts the key. It is stored in")
    expect(pane.locator("#state")).to_have_text("Connected")
    assert pane.get_by_label("API key").input_value() == ""
    assert list(keyring.kept.values()) == [TYPED_KEY]
    assert sent.value.headers["authorization"] == f"Bearer {served.token}"
    assert sent.value.post_data_json == {"address": account.url, "key": TYPED_KEY}
    left = pane.evaluate(
        "[document.documentElement.outerHTML, location.href, document.cookie,"
        " {...localStorage}, {...sessionStorage}, performance.getEntries().map(e => e.name)]"
    )
    assert TYPED_KEY not in json.dumps(left)
    assert files_with(TYPED_KEY, tmp_path)[0] == []
    click(pane, "Remove the key")
    expect(pane.locator("#problem")).to_contain_text("the keyring has no key for it")
    assert keyring.kept == {}
    click(pane, "Use the embedded service")
    expect(pane.locator("#service")).to_have_text("Embedded service")


def test_a_missing_or_wrong_key_is_an_error_at_its_field_and_is_gone(
    served, chrome, account, keyring
):
    with pane_page(chrome, served) as (page, seen):
        give_key(page, "", TYPED_KEY)
        address, key = page.get_by_label("Address of the service"), page.get_by_label("API key")
        expect(page.locator("#address-error")).to_contain_text("Give the address")
        expect(address).to_be_focused()
        address.fill(account.url)
        key.fill(" ")
        click(page, "Check and store")
        expect(page.locator("#key-error")).to_have_text("Give the API key of your account.")
        expect(page.locator("#address-error")).to_have_text("")
        assert not any(one.endswith("/key") for one in seen.asked)
        key.fill("wrong-key-0123456789")
        click(page, "Check and store")
        expect(page.locator("#key-error")).to_contain_text("does not accept the key.")
        expect(page.locator("#key-error")).to_contain_text("For support: ")
        expect(key).to_have_attribute("aria-invalid", "true")
        expect(key).to_be_focused()
        expect(key).to_have_value("")
        expect(key).to_have_attribute("autocomplete", "new-password")
        assert keyring.kept == {}
        expect(page.locator("#service")).to_have_text("Embedded service")


def test_a_local_server_of_another_run_or_none_is_an_error_with_what_to_do(served, chrome):
    with pane_page(chrome, served) as (page, _):
        look_up(page, "78701")
        assert result(page)["Rate"] == "8.25%"
        page.route("**/status", lambda route: route.fulfill(status=401, body="{}"))
        click(page, "Check again")
        expect(page.get_by_role("alert")).to_contain_text("does not know this pane")
        page.unroute("**/status")
        served.stop()
        click(page, "Look up")
        expect(page.locator("#lookup-message")).to_contain_text("svc-tools excel serve")
        expect(page.locator("#result")).to_be_hidden()
        click(page, "Check again")
        expect(page.get_by_role("alert")).to_contain_text("svc-tools excel serve")
        expect(page.locator("#message")).to_have_text("")


def test_what_the_local_server_refuses_is_no_success(served, chrome, keyring, monkeypatch):
    monkeypatch.setattr(guard, "LARGEST_REQUEST", 10)
    with pane_page(chrome, served, script=STAND_IN) as (page, _):
        give_key(page, "https://rates.example", TYPED_KEY)
        expect(page.locator("#key-error")).to_contain_text("give a smaller range")
        assert keyring.kept == {}
        look_up(page, "78701")
        expect(page.locator("#lookup-message")).to_contain_text("give a smaller range")
        page.get_by_text("Registrations", exact=True).click()
        page.get_by_label("Registered in").fill("OH")
        click(page, "Preview the request")
        expect(page.locator("#nexus-message")).to_contain_text("give a smaller range")
        click(page, "Refresh rates")
        expect(page.locator("#message")).to_contain_text("give a smaller range")
        assert page.evaluate("standIn.calculated") == []
        monkeypatch.setattr(pages, "status", None)
        click(page, "Check again")
        expect(page.locator("#state")).to_have_text("Not connected")
        expect(page.get_by_role("alert")).to_contain_text("The local server failed")


def test_it_fits_and_can_be_read_at_every_width_and_in_both_colors(served, chrome):
    for width, colours in ((250, "dark"), (600, "light")):
        with pane_page(chrome, served, width=width, colours=colours, script=STAND_IN) as (page, _):
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for paper, inks in PAPERS.items():
                for ink in inks:
                    assert page.evaluate(CONTRAST, [f"--{ink}", f"--{paper}"]) >= 4.5, (ink, paper)
            names = page.evaluate(UNNAMED)
            assert names == [], "every field and button has a name of its own"


def test_every_field_and_button_is_reached_with_the_keyboard_in_the_order_of_the_page(
    served, chrome
):
    with pane_page(chrome, served, script=STAND_IN) as (page, _):
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        look_up(page, "78701")
        expect(button(page, "Insert value")).to_be_visible()
        page.get_by_role("button", name="Look up", disabled=False).wait_for()
        page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
        page.evaluate(
            "globalThis.expected = [...document.querySelectorAll('button, input, select, summary')]"
            ".filter((one) => one.checkVisibility()); globalThis.reached = new Set();"
            " document.addEventListener('focusin', (event) => reached.add(event.target), true);"
            " expected[0].focus()"
        )
        for _ in range(page.evaluate("expected.length") + 10):  # a date has several stops
            page.keyboard.press("Tab")
        assert page.evaluate("expected.length") > 20
        assert (
            page.evaluate(
                "expected.filter((one) => !reached.has(one)).map((one) => one.id || one.outerHTML)"
            )
            == []
        )
        assert page.evaluate(
            "JSON.stringify([...reached].filter((one) => expected.includes(one)).map("
            "(one) => expected.indexOf(one))) === JSON.stringify(expected.map((_, at) => at))"
        )


def test_the_colors_are_those_of_the_office_theme(served, chrome):
    colours = '{bodyBackgroundColor: "#262626", bodyForegroundColor: "#F0F0F0"}'
    theme = f"window.Office = {{context: {{officeTheme: {colours}}}, onReady: async () => {{}}}}"
    with pane_page(chrome, served, script=theme) as (page, _):
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(38, 38, 38)"
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_page_that_the_manifest_names_computes_cells_and_shows_the_pane(chrome, served):
    host = f"""{STAND_IN}
    globalThis.Office = {{ onReady: async (then) => then?.({{ host: "Excel" }}), context: {{}} }};
    globalThis.made = {{}};
    globalThis.CustomFunctions = {{ associate: (id, one) => (made[id] = one) }};
    CustomFunctions.ErrorCode = {{ invalidValue: "#VALUE!", notAvailable: "#N/A" }};
    CustomFunctions.Error = class extends Error {{
      constructor(code, text) {{ super(text); this.code = code; }}
    }};"""
    manifest = httpx.get(f"{served.origin}/excel/manifest.xml?token={served.token}").text
    address = unescape(re.search(r'id="Taskpane.Url" DefaultValue="([^"]+)"', manifest)[1])
    with new_page(chrome, width=320) as (page, seen):
        page.route(
            f"{OFFICE_JS}*",
            lambda route: route.fulfill(body=host, content_type="text/javascript"),
        )
        page.goto(address)
        expect(page.locator("#state")).to_have_text("Connected")
        expect(button(page, "Freeze selection")).to_be_visible()
        shown = page.evaluate(
            """async () => {
              const ask = (...a) => made.RATE(...a, {}).catch((e) => [[e.code, e.message]]);
              return Promise.all([
                ask([["CA"]], [["94105"]], [["2026-02-01"]]),
                ask([["CA"]], [["94105"], ["x"]], [["2026-02-01"]]),
                ask([["CA"]], [["94105"]], [[0]]),
              ]);
            }"""
        )
        assert len(page.evaluate("Object.keys(made)")) == len(FUNCTIONS)
        assert shown[0] == [[0.08625]]
        assert shown[1][0] == [0.08625]
        assert shown[2][0][0] == "#VALUE!"
        assert len([one for one in seen.asked if one.endswith("/excel/batch")]) == 1
        assert set(seen.outside(served.origin)) == {OFFICE_JS}
        assert seen.complaints == [], "the page's own policy allows what it needs"


def test_an_example_is_copied_where_there_is_no_workbook(pane):
    pane.locator("summary", has_text="SVC.RATE(").click()
    click(pane, "Example of SVC.RATE")
    formula = '=SVC.RATE("CA", "94105", DATE(2026, 2, 1))'
    expect(pane.locator("#functions-message")).to_have_text(f"Copied: {formula}")
    assert pane.evaluate("navigator.clipboard.readText()") == formula


def test_an_example_goes_into_an_empty_cell_and_never_over_another(served, chrome):
    with pane_page(chrome, served, script=STAND_IN) as (page, _):
        page.evaluate("standIn.sheets = {Orders: {B2: 7}}")
        page.locator("summary", has_text="SVC.SUM(").click()
        for cell, message in (("B2", "Orders!B2 is not empty"), ("C3", "is in Orders!C3.")):
            page.evaluate("(cell) => { standIn.selected = ['Orders', cell] }", cell)
            click(page, "Example of SVC.SUM")
            expect(page.locator("#functions-message")).to_contain_text(message)
        assert page.evaluate("standIn.sheets.Orders") == {"B2": 7, "C3": "=SVC.SUM({19.99; 4})"}


PAPERS = {
    "paper": ("ink", "muted", "bad"),
    "shade": ("muted", "good", "warn", "bad"),
    "accent": ("on-accent",),
    "field": ("ink", "muted"),
}
"""Which colors stand on which."""

CONTRAST = """(names) => {
  const light = (name) => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const parts = hex.match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16) / 255)
      .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return parts[0] * 0.2126 + parts[1] * 0.7152 + parts[2] * 0.0722;
  };
  const [low, high] = names.map(light).sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""
"""The contrast of two colors (WCAG 2)."""

UNNAMED = """() => [...document.querySelectorAll("button, input, select")].filter((one) =>
  !(one.labels?.[0]?.textContent.trim() || one.getAttribute("aria-label") || one.textContent.trim())
).map((one) => one.outerHTML)"""


RATE = '=SVC.RATE("CA", A2)'
ZIP = '=SVC.FIELD("resolved_zip", "MA", A2)'
BAD = '=IF(SVC.RATE("XX", A2) > 0, 1, 2)'
PARTIAL = '=SVC.RATE("TX", A3)'
OTHER = '="SVC.RATE(" & A2'
SPILL = '=SVC.LOOKUP(A2:B3, "zip")'
ORDERS = {"A1": "ZIP", "A2": 94105, "B2": RATE, "B3": ZIP, "B4": BAD, "B5": PARTIAL, "B6": OTHER}
RESULTS = {RATE: 0.08625, ZIP: "02134", BAD: "#N/A", PARTIAL: "#PARTIAL", OTHER: "SVC.RATE(94105"}


@pytest.fixture(scope="module")
def opened(chrome, _own_home, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_EXCEL", str(tmp_path_factory.mktemp("excel")))
        desk = Desk(svc_tools.connect("embedded"), cache=False)
        with (
            local_server(desk) as server,
            pane_page(chrome, server, script=STAND_IN) as (page, seen),
        ):
            yield page
            assert seen.complaints == []


@pytest.fixture
def book(opened):
    opened.evaluate(
        """([orders, results]) => Object.assign(standIn, {
          sheets: {Orders: orders}, results, spills: {}, texts: [], state: "Done", writes: 0,
          selected: ["Orders", "A1", [6, 2]], breaksAfter: Infinity,
        })""",
        [ORDERS, RESULTS],
    )
    return opened


def freeze(page, message, what="selection"):
    """Press the button and confirm; the message is shown."""
    click(page, f"Freeze {what}")
    click(page, "Freeze")
    expect(page.locator("#freeze-message")).to_contain_text(message)


def sheet(page, name="Orders"):
    return page.evaluate("(name) => standIn.sheets[name] ?? null", name)


def noted(page):
    cells = sheet(page, "SVC frozen")
    rows = max(int(place[1:]) for place in cells)
    return [[cells.get(f"{one}{row}", "") for one in "ABCDE"] for row in range(1, rows + 1)]


def test_formulas_become_values_and_their_source_and_date_are_noted(book):
    freeze(book, "2 formulas frozen. 2 cells without a complete value stay formulas:")
    expect(book.locator("#freeze-left li")).to_have_text(
        ["Orders!B4 shows #N/A", "Orders!B5 shows #PARTIAL"]
    )
    assert sheet(book) == ORDERS | {"B2": 0.08625, "B3": "02134"}, "a ZIP Code stays text"
    heads, (on, where, source, _, at) = noted(book)
    assert heads == [*COLUMNS]
    assert (on, where) == ("Orders", "B2:B3")
    assert source.startswith("embedded service, edition 20")
    assert at.endswith("Z")


def test_a_spilled_result_is_frozen_as_a_whole(book):
    cells = {"D2": SPILL, "E2": "Suffolk", "D3": "94105", "E3": "San Francisco"}
    book.evaluate(
        """([cells, formula]) => {
          Object.assign(standIn.sheets.Orders, cells);
          standIn.results[formula] = "02134";
          standIn.spills["Orders!D2"] = [2, 2];
          standIn.selected = ["Orders", "D2", [1, 1]];
        }""",
        [cells, SPILL],
    )
    freeze(book, "1 formula frozen.")
    assert sheet(book) == ORDERS | cells | {"D2": "02134"}
    assert noted(book)[1][:2] == ["Orders", "D2:E3"]


@pytest.mark.parametrize("what", ["selection", "workbook"])
def test_formulas_are_frozen_after_a_question_alone(book, what):
    book.evaluate("([f]) => standIn.sheets.More = {C9: f}", [RATE])
    click(book, f"Freeze {what}")
    expect(book.locator("#confirm-text")).to_contain_text("keep a copy of the workbook")
    expect(button(book, "Freeze")).to_be_focused()
    click(book, "Cancel")
    expect(button(book, f"Freeze {what}")).to_be_focused()
    assert sheet(book) == ORDERS
    assert sheet(book, "SVC frozen") is None
    click(book, f"Freeze {what}")
    book.keyboard.press("Enter")
    whole = what == "workbook"
    expect(book.locator("#freeze-message")).to_contain_text(f"{3 if whole else 2} formulas frozen.")
    assert sheet(book, "More") == {"C9": 0.08625 if whole else RATE}


def test_when_excel_stops_half_way_each_cell_has_its_formula_or_its_value(book):
    book.evaluate("standIn.breaksAfter = 5 + 5 + 1")  # headings, a row of the log, one cell
    freeze(book, "the sheet is protected")
    assert sheet(book) == ORDERS | {"B2": 0.08625}
    book.evaluate("standIn.breaksAfter = Infinity")
    freeze(book, "1 formula frozen.")
    assert sheet(book) == ORDERS | {"B2": 0.08625, "B3": "02134"}
    assert [row[1] for row in noted(book)] == ["range", "B2:B3", "B3"]


@pytest.mark.parametrize(
    ("before", "message", "log"),
    [
        ("standIn.sheets['SVC frozen'] = {A1: 'my notes'}", "other headings", {"A1": "my notes"}),
        ("standIn.state = 'Pending'", "press F9, then freeze", None),
        ("standIn.selected = ['Orders', 'Z9', [1, 1]]", "0 formulas frozen.", None),
    ],
)
def test_what_cannot_be_frozen_is_left_with_the_reason(book, before, message, log):
    book.evaluate(before)
    freeze(book, message)
    assert sheet(book) == ORDERS
    assert sheet(book, "SVC frozen") == log


def test_a_cell_formatted_as_text_and_a_text_like_a_formula_stay_as_they_are(book):
    text = "'" + RATE
    book.evaluate("(text) => standIn.sheets.Orders.A1 = text", text)
    book.evaluate("standIn.texts = ['Orders!B2']")  # a number would become a text there
    freeze(book, "1 formula frozen.")
    expect(book.locator("#freeze-left li").first).to_contain_text("Orders!B2 is formatted as text")
    assert sheet(book) == ORDERS | {"A1": text, "B3": "02134"}


def test_a_large_sheet_is_frozen_in_steps_that_excel_takes(book):
    book.evaluate(
        """([formula]) => {
          const cells = {J1: "wide"};
          for (let row = 1; row <= 2500; row++) cells[`A${row}`] = formula;
          standIn.sheets = {Orders: cells};
          standIn.selected = ["Orders", "A1", [2500, 10]];
        }""",
        [RATE],
    )
    freeze(book, "2,500 formulas frozen.")
    assert book.evaluate(
        "Object.values(standIn.sheets.Orders).every((one) => one === 0.08625 || one === 'wide')"
    )
