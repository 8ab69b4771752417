"""The tab Lookup: its form as a query, and the tab driven over real HTTP."""

from __future__ import annotations

import json
import threading
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from support.cards import answer as response
from support.cards import text_of
from support.faults import ALIVE, GOOD, HANG, KEY, RESET, answer, echo, echoing

import svc_tools
from svc_sdk import Svc
from svc_sdk.wire import lookup_call
from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import FunctionCall, evaluate
from svc_tools.lookup.outcomes import of_response
from svc_tools.tables.places import Place
from svc_tools.tables.states import STATES
from svc_tools.widgets.lookup_tab import ENTRIES, LookupQuery, LookupTab, query_of, result_card
from svc_tools.widgets.session import Session

_NAMES = [entry.name for entry in ENTRIES if entry.kind != "radio"]


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ({"state": "Texas", "place": " 78701 "}, "'TX', zip='78701'", "TX 78701"),
        ({"place": "02108", "mode": "any"}, "'MA', zip='02108'", "MA 02108"),
        ({"place": "78701-1234"}, "'TX', zip='78701-1234'", "TX 78701-1234"),
        ({"place": "TX 78701"}, "'TX', zip='78701'", "TX 78701"),
        ({"place": "42223", "state": "KY"}, "'KY', zip='42223'", "KY 42223"),
        (
            {"mode": "address", "state": "TX", "address": "1100 Congress Ave", "city": "Austin"},
            "'TX', address='1100 Congress Ave', city='Austin'",
            "1100 Congress Ave, Austin, TX",
        ),
        (
            {"place": "Seattle", "state": "wa", "address_zip": "no zip at all", "lat": "north"},
            "'WA', location='Seattle'",
            "Seattle, WA",
        ),
        (
            {"place": "600 Congress Ave, Austin, TX 78701"},
            "'TX', address='600 Congress Ave, Austin, TX 78701'",
            "600 Congress Ave, Austin, TX 78701",
        ),
        (
            {"mode": "address", "address": "600 Congress Ave", "city": "Austin, TX"},
            "'TX', address='600 Congress Ave', city='Austin, TX'",
            "600 Congress Ave, Austin, TX",
        ),
        (
            {"mode": "address", "address": "600 Congress Ave", "address_zip": "78701"},
            "'TX', address='600 Congress Ave', zip='78701'",
            "600 Congress Ave, TX 78701",
        ),
        (
            {"place": "600 Congress Ave Austin 78701"},
            "'TX', address='600 Congress Ave Austin 78701'",
            "600 Congress Ave Austin 78701",
        ),
        ({"place": "Austin, TX"}, "'TX', location='Austin, TX'", "Austin, TX"),
        (
            {"state": "TX", "place": "30.27, -97.74"},
            "'TX', lat=30.27, lng=-97.74",
            "TX, 30.27, -97.74",
        ),
        (
            {"mode": "coordinates", "state": "TX", "lat": "30.27", "lng": "-97.74"},
            "'TX', lat=30.27, lng=-97.74",
            "TX, 30.27, -97.74",
        ),
        (
            {"state": "TX", "place": "78701", "as_of": "2024-05-01"},
            "'TX', zip='78701', as_of='2024-05-01'",
            "TX 78701",
        ),
    ],
)
def test_each_mode_asks_with_its_own_fields_alone(values, code, words):
    question = query_of(values)
    assert question.code() == f"client.lookup({code})"
    assert question.words == words


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({}, "place", "Give a ZIP Code"),
        ({"state": "TX", "place": "787"}, "place", "not in TX"),
        ({"state": "TX", "place": "K1A 0B1"}, "place", "Canadian"),
        ({"state": "Texarkana", "place": "78701"}, "state", "not a US state"),
        ({"state": "Puerto Rico", "place": "00901"}, "place", "territory"),
        ({"place": "Austin"}, "state", "missing"),
        ({"place": "42223"}, "state", "It is missing, and ZIP 42223 lies in KY and TN."),
        ({"place": "600 Congress Ave Austin"}, "state", "missing"),
        ({"place": "30.27, -97.74"}, "state", "Give the state"),
        ({"mode": "address", "address": "600 Congress Ave"}, "state", "missing"),
        ({"mode": "coordinates", "lat": "30", "lng": "-97"}, "state", "Give the state"),
        ({"state": "TX", "place": "x" * 65}, "place", "more than 64"),
        ({"mode": "coordinates", "state": "TX", "lat": "91", "lng": "0"}, "lat", "within"),
        ({"mode": "coordinates", "state": "TX", "lat": "north", "lng": "0"}, "lat", "number"),
        ({"mode": "address", "state": "TX", "address": "1 A", "city": ""}, "address", "expected"),
        (
            {"mode": "address", "state": "TX", "address": "1 A" * 90, "address_zip": "78701"},
            "address",
            "too long",
        ),
        (
            {"mode": "address", "state": "TX", "address": "1100 Congress", "address_zip": "1"},
            "address_zip",
            "not a ZIP",
        ),
        ({"state": "TX", "place": "78701", "as_of": "5/1"}, "as_of", "2026-05-01"),
        ({"place": "78701", "as_of": "0026-05-01"}, "as_of", "four digits"),
        ({"place": "78701", "amount": "ten"}, "amount", "not a number of dollars"),
        ({"place": "78701", "amount": "1.005"}, "amount", "cents"),
        ({"place": "78701", "amount": "999,999,999,999,999"}, "amount", "out of range"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence_at_its_field(values, field, said):
    errors = query_of(values)
    assert said in errors[field]
    assert errors[field].endswith(".")


_TEXTS = st.text(max_size=20) | st.sampled_from(["78701", "TX", "Austin", "30.2", "2024-05-01"])


@given(
    st.dictionaries(st.sampled_from(_NAMES), _TEXTS),
    st.sampled_from(["any", "address", "coordinates"]),
)
def test_whatever_is_typed_is_a_question_of_the_chosen_mode_or_a_sentence(values, mode):
    question = query_of(values | {"mode": mode})
    if isinstance(question, LookupQuery):
        place = question.place
        assert mode in {"any", place.mode}
        assert place.state in STATES
        assert (place.as_of is not None) == bool(values.get("as_of"))
        arguments = dict.fromkeys(
            ("address", "city", "zip", "location", "lat", "lng", "as_of", "period")
        )
        lookup_call(place.state, **(arguments | place.arguments()), mode="simple")
    else:
        assert question
        assert set(question) <= set(_NAMES)


@pytest.fixture
def tab(scripted):
    return LookupTab(Session(scripted))


def look_up(tab, **values):
    tab.form.submit(**({"state": "TX", "place": "78701"} | values))
    tab.session.background.settle()


def test_a_rate_is_looked_up_and_shown_with_its_code(tab):
    look_up(tab, as_of="2026-05-01")
    assert "8.25%" in tab.card.value
    assert "on 2026-05-01" in tab.card.value
    assert tab.history.rows[0]["cells"][1] == "2026-05-01"
    assert tab.copy_rate.text == "0.08250"
    assert tab.message.html.count("8.25% for TX 78701") == 1
    assert not tab.form.busy
    assert tab.result.layout.display == ""


@pytest.mark.parametrize(("lng", "status"), [("-97.7431", "ok"), ("-97.743", "review")])
def test_a_coarse_point_is_marked_and_explained(tab, lng, status):
    look_up(tab, mode="coordinates", lat="30.2672", lng=lng)
    assert status in tab.history.rows[0]["cells"]
    assert ("fewer than four decimals" in tab.card.value) == (status == "review")


def test_a_rate_of_another_country_is_not_shown_as_one(tab, faults):
    faults.will(echoing(rate={"country": "CAN"}))
    look_up(tab, amount="100.00")
    assert "a rate of Canada (CA)" in tab.message.html
    assert "the United States (US)" in tab.message.html
    assert (tab.card.value, tab.copy_rate.text, tab.copy_tax.text) == ("", "", "")
    assert tab.history.rows[0]["cells"][2] == "no rate"


def test_the_code_that_is_shown_gives_the_same_answer(service, monkeypatch):
    with Svc(KEY, base_url=service) as client:
        tab = LookupTab(Session(client))
        look_up(tab, as_of="2026-09-01")
    monkeypatch.setenv("SVC_API_KEY", KEY)
    code, names = tab.code.code, {}
    *before, last = code.splitlines()
    exec("\n".join(before), names)  # noqa: S102 - it is what is tested
    with names["client"]:
        again = eval(last, names)  # noqa: S307 - as above
    assert again.combined_rate_string == tab.copy_rate.text or not tab.copy_rate.text
    assert again.combined_rate_string.startswith("0.0825")
    assert KEY not in code
    assert tab.copy_code.text == code


def test_refused_input_is_said_at_the_field_and_nothing_is_sent(tab, faults):
    look_up(tab)
    sent = len(faults.seen)
    look_up(tab, place="787")
    assert "not in TX" in tab.form.errors["place"]
    assert len(faults.seen) == sent
    assert tab.result.layout.display == "none"  # the old rate is not beside the new question
    assert tab.card.value == ""
    look_up(tab)
    assert tab.form.errors == {}


def test_a_lookup_that_hangs_can_be_cancelled_and_the_next_one_works(tab, faults):
    faults.will(HANG, echoing())
    tab.form.submit(state="TX", place="78701")
    assert faults.asked.wait(10)
    assert tab.form.busy
    assert "Looking up" in tab.message.html
    tab.form.submit(state="TX", place="78702")  # a second Enter sends nothing
    tab.form.cancel()
    assert not tab.form.busy
    assert "Canceled" in tab.message.html
    look_up(tab, place="78703")
    assert "78703" in tab.card.value
    assert [row["cells"][0] for row in tab.history.rows] == ["TX 78703"]
    assert len(faults.seen) == 2


@pytest.mark.parametrize(
    ("step", "title", "status"),
    [
        (answer(401, b'{"error": {"code": "UNAUTHORIZED"}}'), "does not accept the key", "failed"),
        (answer(402, b'{"error": {"code": "BILLING_REQUIRED"}}'), "billing", "failed"),
        (answer(404, b'{"error": {"code": "NOT_FOUND"}}'), "has no rate", "unresolved"),
        (answer(503, b"{}", x_request_id="req_9"), "req_9", "failed"),
        (RESET, "does not respond", "failed"),
        (answer(200, b"<html>"), "not from the service", "failed"),
        (answer(body=GOOD.replace(b'"zip": "78701"', b'"zip": "10001"')), "ZIP 10001", "failed"),
        # beyond five decimals: not rounded into a rate that looks right
        (
            answer(body=GOOD.replace(b'"0.08250"', b'"0.08250000000000000000001"')),
            "cannot be used",
            "failed",
        ),
    ],
)
def test_every_failure_is_a_sentence_and_a_line_in_the_history(tab, faults, step, title, status):
    faults.will(step)
    faults.health = ALIVE
    look_up(tab)
    assert title in tab.message.html
    assert tab.card.value == ""
    assert tab.copy_rate.text == ""
    assert tab.history.rows[0]["cells"][2:5] == ["no rate", "", status]


def test_a_wrong_address_of_the_service_is_not_a_place_without_a_rate(tab, faults):
    faults.will(answer(404, b'{"error": {"code": "NOT_FOUND"}}'))
    look_up(tab)
    assert "No service is at this address" in tab.message.html
    assert f"{faults.base_url} has no health check" in tab.message.html
    assert tab.history.rows[0]["cells"][2:5] == ["no rate", "", "failed"]


MORE = {"code": "districts_not_covered", "message": "more may come on top"}


def test_a_partial_rate_is_not_offered_for_copying_and_gives_no_tax_but_the_reason(tab, faults):
    faults.will(echoing(warnings=[MORE]))
    look_up(tab, amount="100")
    assert "PARTIAL" in tab.card.value
    assert "No tax is computed on $100.00 before the rest is known" in text_of(tab.card.value)
    for copy in (tab.copy_rate, tab.copy_tax):
        assert copy.text == ""
        assert copy.layout.display == "none"
    cells = ["At least 8.25%", "not computed on $100.00", "partial"]
    assert tab.history.rows[0]["cells"][2:5] == cells
    assert "Decimal" not in tab.code.code, "no code that computes a tax from it"


@pytest.mark.parametrize(
    ("amount", "rate"),
    [
        ("100", "0.08250"),
        ("$1,234.50", "0.08625"),
        ("0.20", "0.02500"),  # half a cent
        ("(15.20)", "0.06250"),  # a refund
        ("999999999.99", "0.10500"),
        ("0", "0.08250"),
        ("12.34", "0.00000"),
    ],
)
def test_an_amount_gives_the_tax_that_a_cell_gives_and_so_does_the_code(
    tab, faults, monkeypatch, amount, rate
):
    faults.will(echoing(rate={"combined_rate": rate}))
    look_up(tab, amount=amount)
    tax = tab.copy_tax.text
    desk = Desk(tab.session.client, cache=False)
    (in_sheet,) = evaluate(desk, [FunctionCall("SVC_TAX", (amount, "TX", "78701"))])
    assert float(tax) == in_sheet
    assert f"{abs(Decimal(tax)):,.2f} tax on" in text_of(tab.card.value)
    assert f"{abs(Decimal(tax)):,.2f} on" in tab.history.rows[0]["cells"][3]
    monkeypatch.setenv("SVC_API_KEY", KEY)
    names = {}
    exec(tab.code.code, names)  # noqa: S102 - it is what is tested
    names["client"].close()
    assert names["tax"] == Decimal(tax)


def test_without_a_rate_an_amount_has_no_tax(tab, faults):
    faults.will(echoing(confidence="none"))
    look_up(tab, amount="100")
    assert "No tax is computed on $100.00: there is no rate" in text_of(tab.card.value)
    assert tab.copy_tax.text == ""


def test_a_warning_is_shown_once(tab, faults):
    spans = {"code": "zip_spans_jurisdictions", "message": "it lies in several"}
    ends = {"lowest_combined_rate": "0.06250", "highest_combined_rate": "0.08250"}
    later = {"code": "as_of_after_edition", "message": "the edition is older"}
    faults.will(echoing(warnings=[MORE, spans | ends, later, later]))
    look_up(tab)
    said = text_of(tab.card.value)
    for once in ("More may come on top", "their rates differ, from 6.25% to 8.25%", "is older"):
        assert said.count(once) == 1, once
    assert "lies in several" not in said, "it is the same as the rates that differ"
    assert "more may come" not in tab.message.html


def test_the_history_has_the_same_word_for_a_status_as_a_spreadsheet(tab, faults):
    faults.will(echoing(), echoing(confidence="low"), echoing(warnings=["local_rates_not_covered"]))
    for place in ("78701", "78702", "78703"):
        look_up(tab, place=place)
    heads = tab.history.heads
    words = [row["cells"][heads.index("Status") - 1] for row in tab.history.rows]
    assert words == ["partial", "review", "ok"]


def test_a_share_of_housing_is_enough_as_the_environment_says(tab, faults, monkeypatch):
    spans = {"code": "zip_spans_jurisdictions", "message": "it lies in several", "share": "0.9300"}
    ends = {"lowest_combined_rate": "0.06250", "highest_combined_rate": "0.08250"}
    faults.will(echoing(warnings=[spans | ends], confidence="medium"))
    look_up(tab)
    assert "it lies in several" in text_of(tab.card.value).lower()
    monkeypatch.setenv("SVC_REVIEW_BELOW", "0.98")
    look_up(tab, place="78702")
    assert "93.00% of the ZIP's housing has this one" in text_of(tab.card.value)
    heads = tab.history.heads
    words = [row["cells"][heads.index("Status") - 1] for row in tab.history.rows]
    assert words == ["review", "ok"]


def test_the_history_shows_an_earlier_answer_again_without_asking(tab, faults):
    faults.will(echoing(), answer(404, b'{"error": {"code": "NOT_FOUND"}}'), echoing())
    look_up(tab)
    look_up(tab, place="78799")
    look_up(tab, place="78703")
    newest, failed, oldest = tab.history.rows
    assert tab.history.shown == newest["number"]
    tab.history._handle_custom_msg({"event": "show", "number": oldest["number"]}, [])
    assert "78701" in tab.card.value
    assert tab.copy_rate.text == "0.08250"
    assert "zip='78701'" in tab.code.code
    assert tab.history.shown == oldest["number"]
    tab.history.show(failed["number"])
    assert "has no rate" in tab.message.html
    assert tab.card.value == ""
    assert len(faults.seen) == 3


def test_a_state_that_only_the_zip_told_is_said(tab, faults):
    look_up(tab, state="", place="78701")
    assert "State TX, from the ZIP Code" in text_of(tab.card.value)
    look_up(tab, state="", place="600 Congress Ave, Austin, TX 78701")
    assert "State TX, from the end of the address" in text_of(tab.card.value)
    look_up(tab, state="", place="Austin, TX")
    assert "State TX, from the end of the place name" in text_of(tab.card.value)
    assert [request.target.split("?")[0] for request in faults.seen] == ["/v1/tax/TX"] * 3


def test_the_panel_holds_the_three_tabs_and_shows_the_chosen_one(scripted):
    panel = svc_tools.panel(scripted)
    assert [page.layout.display for page in panel.pages] == ["", "none", "none"]
    panel.tabs.selected = 2
    assert [page.layout.display for page in panel.pages] == ["none", "none", ""]
    assert scripted.base_url in repr(panel)
    assert "\n" not in repr(panel)


def test_an_answer_names_the_service_that_was_asked_though_another_is_chosen_meanwhile(
    tab, faults, service
):
    go, asked = threading.Event(), tab.session.service_name

    def slow(seen):
        go.wait(10)
        return echo(seen)

    faults.will(slow)
    tab.form.submit(state="TX", place="78701")
    assert faults.asked.wait(10)
    tab.session.use(tab.session.client_for(SecretStr(KEY), service))
    go.set()
    tab.session.background.settle()
    assert asked in tab.card.value
    assert service not in tab.card.value
    assert asked in tab.code.code
    look_up(tab)
    assert service in tab.card.value
    assert service in tab.code.code


def test_markup_from_the_service_is_text_in_the_card_and_in_messages(tab, faults):
    bad = "<img src=x onerror=alert(1)>"
    warnings = [bad, {"code": bad, "message": bad}]
    marked = echoing(rate={"city": bad, "county": bad}, source=bad, warnings=warnings)
    refused = {"error": {"code": bad, "message": bad, "support_reference": bad}}
    faults.will(marked, answer(400, json.dumps(refused).encode()))
    look_up(tab)
    look_up(tab)
    for html in (next(iter(tab.history.past.values())).card, tab.message.html):
        assert "&lt;img" in html
        assert "<img" not in html


PLACE = Place("TX", "zip", zip="78701")


def carded(one, day=None):
    at = datetime(2026, 5, 20, tzinfo=UTC)
    return text_of(result_card(one, of_response(PLACE, one, at=at), service="the one", day=day))


def test_the_panel_says_why_a_person_should_look():
    ranged = {
        "code": "zip_spans_jurisdictions",
        "message": "spans",
        "lowest_combined_rate": "0.06250",
        "highest_combined_rate": "0.08250",
    }
    said = carded(response(warnings=[ranged]))
    assert "from 6.25% to 8.25%" in said
    assert "the one" in said
    assert "2026-05-20" in said
    odd = carded(response({"city_rate": "0.02000"}))
    assert "The parts of the rate are not its sum" in odd
    later = response(effective_date="2026-01-01", effective_date_basis="publisher_effective_date")
    assert "took effect after the day" in carded(later, date(2025, 6, 1))
    assert "took effect" not in carded(later, date(2026, 6, 1))
