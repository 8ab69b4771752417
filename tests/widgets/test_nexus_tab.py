"""The Nexus tab: from the register to the receipt and back, and what was left unfinished."""

from __future__ import annotations

import threading
from datetime import date
from pathlib import Path

import pytest
from support.faults import KEY
from support.nexus import (
    FIVE,
    LOST,
    click,
    confirm,
    edited,
    fill,
    planned,
    previewed,
    row,
    there,
    tick,
)
from support.nexus import message as said

from svc_sdk import Svc
from svc_tools.nexus.notices import BAND_WORDS
from svc_tools.widgets.nexus_plan import PAGE
from svc_tools.widgets.nexus_tab import NexusTab
from svc_tools.widgets.session import Session


@pytest.fixture
def client(empty_account):
    """A client of the embedded service, with five records and no others."""
    for record in FIVE:
        empty_account.add_nexus(**record)
    return empty_account


@pytest.fixture
def tab(client, tmp_path):
    return NexusTab(Session(client, folder=tmp_path / "work"))


def opened(client, folder):
    tab = NexusTab(Session(client, folder=folder))
    tab.opened()
    tab.session.background.settle()
    return tab


@pytest.fixture
def lean_tab(lean, scripted, tmp_path):
    return opened(scripted, tmp_path / "work")


def own_register(tab, folder, *lines, head="state,nexus_type,registered_at"):
    """The tab with the records of a file."""
    path = folder / "nexus.csv"
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    tab.register.file.submit(path=str(path))
    tab.session.background.settle()


def test_the_service_s_records_become_a_plan_and_nothing_is_ticked(tab):
    planned(tab)
    assert "5 records in 5 states, from the service" in tab.register.records.value
    assert "nothing ticked" in tab.plan.summary.value
    assert not any(box.value for one in tab.plan.rows.rows for box in one.view.children[:-1])
    assert tab.apply.preview_button.disabled
    assert [one.row.state for one in tab.plan.rows.rows][:2] == ["DE", "MT"]


def test_a_registration_is_added_by_the_form(tab):
    click(tab, tab.register.list_button)
    tab.edit.opening.button.click()
    assert len(tab.edit.state.options) == 52  # a menu, with nothing chosen at first
    fill(tab, state="WA")
    assert "Choose the state and the type" in said(tab.edit)
    fill(tab, nexus_type="economic", registered_at=date(2024, 5, 1), notes="<permit>")
    assert "&lt;permit&gt;" in tab.edit.preview.value
    assert "nexus.add_registration(" in tab.edit.code.code
    confirm(tab, tab.edit.confirm, "WA")
    assert "Edit WA economic" in [one.button.description for one in tab.edit.rows.rows]
    assert tab.edit.state.value == ""  # the next one begins with an empty form
    assert "WA economic was added" in tab.receipt.result.value


def test_a_registration_is_changed_from_the_button_of_its_row(tab, client):
    edited(tab, "DE economic")
    assert tab.edit.opening.opened
    assert "DE economic" in tab.edit.subject.value
    assert (tab.edit.state.value, tab.edit.notes.value) == ("DE", "<b>old</b>")
    assert tab.edit.registered_at.value == date(2019, 5, 1)
    fill(tab, notes="", address="1 Main St")
    assert "What changes" in tab.edit.preview.value
    names = {"client": client}
    dry = tab.edit.code.code.replace("dry_run=False", "dry_run=True")
    exec(dry, names)  # noqa: S102 - ours
    assert [item.status for item in names["receipt"].items] == ["planned"]
    confirm(tab, tab.edit.confirm, "DE")
    now = {one.state: one for one in client.list_nexus().nexus}["DE"]
    assert (now.notes, now.address, now.registered_at) == (None, "1 Main St", "2019-05-01")


def test_the_form_of_a_change_shows_only_what_it_sends(lean_tab, lean):
    edited(lean_tab, "TX physical")
    fill(lean_tab)
    assert "as given already" in said(lean_tab.edit)
    fill(lean_tab, nexus_type="economic")
    assert lean_tab.edit.confirm.button.description == "Change the registration"
    lean_tab.edit.notes.value = "typed after the preview"
    assert lean_tab.edit.confirm.expected == ""  # the preview is of other values
    fill(lean_tab, state="NY")
    assert "NY has a record of type economic already" in said(lean_tab.edit)
    lean_tab.edit.new_button.click()
    assert (lean_tab.edit.state.value, lean_tab.edit.record) == ("", None)
    assert lean.methods == {"GET"}


def test_a_record_that_somebody_changed_since_it_was_listed_is_listed_again_first(lean_tab, lean):
    edited(lean_tab, "DE economic")
    lean.records["DE", "economic"]["notes"] = "somebody else's"
    fill(lean_tab, notes="mine")
    assert "list the records again" in said(lean_tab.edit)
    assert lean_tab.edit.confirm.expected == ""
    edited(lean_tab, "DE economic")
    assert lean_tab.edit.notes.value == "somebody else's"
    fill(lean_tab, notes="mine")
    confirm(lean_tab, lean_tab.edit.confirm, "DE")
    assert lean.records["DE", "economic"]["notes"] == "mine"


def test_a_change_that_was_left_unfinished_is_offered_and_made_again(
    lean_tab, lean, scripted, tmp_path
):
    lean.adding = [LOST]
    edited(lean_tab, "TX physical")
    fill(lean_tab, notes="x")
    confirm(lean_tab, lean_tab.edit.confirm, "TX")
    assert [item.status for item in lean_tab.cleanup.receipt.items] == ["still_there"]
    later = opened(scripted, tmp_path / "later")
    assert "The change of a record started" in later.left_over.result.value
    click(later, later.left_over.open_button)
    assert "make the same change again" in later.receipt.result.value
    edited(later, "TX physical")
    fill(later, notes="x")
    confirm(later, later.edit.confirm, "TX")
    assert (later.cleanup.receipt.finished, lean.records["TX", "physical"]["notes"]) == (True, "x")
    assert later.cleanup.receipt.path == lean_tab.cleanup.receipt.path


def test_what_the_service_holds_is_escaped_and_no_key_is_saved(tab):
    previewed(tab, "DE economic")
    record = next(one for one in tab.edit.rows.rows if one.record.state == "DE")
    shown = [record.facts.value, tab.plan.rows.rows[0].facts.value, tab.apply.preview.value]
    assert all("&lt;b&gt;old&lt;/b&gt;" in text for text in shown)
    confirm(tab, tab.apply.confirm, "DE")
    saved = [*walk(tab.view)]
    assert not any("<b>old" in text for text in [*shown, *saved])
    assert not any(KEY in text for text in saved)
    assert any("DE economic" in text for text in saved)


def test_only_the_state_enables_the_button_and_other_ticks_take_it_back(tab, client):
    previewed(tab, "DE economic")
    box = tab.apply.confirm
    for typed in ("", "D", "1", "DEL", "MT", ""):
        box.typed.value = typed
        assert box.button.disabled, typed
        click(tab, box.button)
    box.typed.value = "de"
    assert not box.button.disabled
    tick(tab, "MT economic")
    assert box.button.disabled
    assert tab.apply.preview.value == ""
    assert "preview the requests again" in said(tab.apply)
    click(tab, box.button)
    assert len(there(client)) == 5


def test_a_preview_that_a_tick_outdates_requests_no_confirmation(lean_tab, lean):
    tick(planned(lean_tab), "DE economic")
    lean.listing = lambda: tick(lean_tab, "MT economic")
    click(lean_tab, lean_tab.apply.preview_button)
    assert lean_tab.apply.confirm.expected == ""
    assert lean_tab.apply.preview.value == ""
    assert "preview again" in said(lean_tab.apply)


def test_a_removal_under_way_is_marked_cannot_be_dropped_and_runs_once(lean_tab, lean):
    seen, apply = [], lean_tab.apply

    def before(*_):
        seen.append("svc-busy" in apply.status._dom_classes)
        apply.give_up()
        seen.append(apply.busy)
        seen.append(apply.cancel_button.layout.display)
        apply.confirm.typed.value = "2"
        apply.confirm.button.click()  # a second click

    lean.before = before
    previewed(lean_tab, "DE economic", "MT economic")
    assert "svc-busy" not in apply.status._dom_classes
    confirm(lean_tab, apply.confirm, "2")
    assert seen == [True, True, "none"] * 2
    assert "svc-busy" not in apply.status._dom_classes
    assert lean.sent == [("DELETE", "DE", "economic"), ("DELETE", "MT", "economic")]


def test_what_is_gone_before_the_preview_is_not_asked_to_be_confirmed(tab, client):
    tick(planned(tab), "DE economic", "MT economic")
    client.remove_nexus("DE", nexus_type="economic")
    click(tab, tab.apply.preview_button)
    assert tab.apply.confirm.expected == "MT"
    assert "Ticked, but not sent" in tab.apply.preview.value


@pytest.mark.parametrize("lacks", ["lists", "adds"])
def test_a_service_without_list_or_add_offers_no_undo_and_says_so(lean_tab, lean, tmp_path, lacks):
    setattr(lean, lacks, False)
    lean.records["DE", "economic"]["notes"] = None
    click(lean_tab, lean_tab.register.list_button)
    assert (lean_tab.cleanup.register is None) == (lacks == "lists")
    assert ("does not list" in said(lean_tab.register)) == (lacks == "lists")
    own_register(lean_tab, tmp_path, "DE,economic,2019-05-01")
    click(lean_tab, lean_tab.plan.make_button)
    tick(lean_tab, "DE economic")
    click(lean_tab, lean_tab.apply.preview_button)
    assert "cannot be undone on this service" in lean_tab.apply.preview.value
    confirm(lean_tab, lean_tab.apply.confirm, "DE")
    assert lean.sent == [("DELETE", "DE", "economic")]
    assert lean_tab.receipt.preview_button.layout.display == "none"
    assert "cannot be undone on this service" in lean_tab.receipt.result.value


def test_a_tick_taken_back_after_it_was_applied_is_reported_at_once(lean_tab):
    previewed(lean_tab, "MT economic")
    confirm(lean_tab, lean_tab.apply.confirm, "MT")
    row(lean_tab, "MT economic").remove.value = False
    assert "MT economic: removed by an earlier run of this plan" in said(lean_tab.plan)


def test_another_account_hides_the_list_and_the_preview_and_refuses_the_plan(
    tab, lean, scripted, client
):
    previewed(tab, "DE economic")
    tab.session.use(scripted)
    assert tab.cleanup.register is None
    assert tab.register.records.value == tab.apply.preview.value == ""
    assert tab.apply.confirm.expected == ""
    click(tab, tab.apply.preview_button)
    assert "The plan was made for" in said(tab.apply)
    assert tab.apply.confirm.button.disabled
    assert lean.sent == []
    assert len(there(client)) == 5


def test_what_hangs_is_dropped_with_the_account_and_the_form_is_free_again(tab, scripted):
    over = threading.Event()
    section = tab.register
    section.run("Reading", lambda: over.wait(30), section._listed, forms=[section.file])
    assert section.file.busy
    tab.session.use(scripted)
    assert not section.file.busy
    over.set()
    tab.session.background.settle()
    assert tab.cleanup.register is None


def test_an_own_register_is_compared_with_the_service_s_list(tab, tmp_path):
    click(tab, tab.register.list_button)
    own_register(tab, tmp_path, "CA,economic,2019-04-01", "DE,economic,2020-01-01", "WA,economic,")
    shown = tab.register.differences.value
    for text in ("Only in your register", "Only on the service", "Another day of registration"):
        assert text in shown
    assert "3 records in 3 states, from your own file" in tab.register.records.value
    click(tab, tab.plan.make_button)
    assert {one.state for one in tab.cleanup.plan.rows} == {"CA", "DE", "MT", "NY", "TX", "WA"}
    tab.register.source.value = "service"
    click(tab, tab.plan.make_button)
    assert {one.state for one in tab.cleanup.plan.rows} == {"CA", "DE", "MT", "NY", "TX"}


def test_a_file_that_cannot_be_read_is_a_sentence_and_the_form_stays_usable(tab, tmp_path):
    own_register(tab, tmp_path, "TX,economic,", "XX,economic,")
    tab.exposure.file.submit(path=str(tmp_path / "none.csv"))
    tab.session.background.settle()
    for section, words in ((tab.register, ("row 2", "xx")), (tab.exposure, ("none.csv",))):
        assert all(word in said(section).lower() for word in words)
        assert not section.file.busy


def doubled(tab, tmp_path):
    own_register(tab, tmp_path, "CA,economic,2019-04-01", "CA,economic,2021-01-01")
    click(tab, tab.plan.make_button)
    return [one for one in tab.plan.rows.rows if one.row and one.row.state == "CA"]


def test_a_duplicate_is_removed_as_a_whole_or_replaced_by_one(tab, tmp_path):
    first, second = doubled(tab, tmp_path)
    first.remove.value = True
    assert second.remove.value
    assert "2 times" in said(tab.plan)
    first.remove.value = False
    assert not second.remove.value
    assert first.replace in first.view.children
    second.replace.value = True
    assert (first.remove.value, first.replace.value) == (False, False)
    assert [row.action for row in tab.cleanup.plan.ticked] == ["replace"]
    click(tab, tab.apply.preview_button)
    assert "POST /v1/portability/nexus" in tab.apply.preview.value


def test_a_duplicate_is_not_replaced_where_the_service_cannot_add(lean_tab, lean, tmp_path):
    lean.adds = False
    first, _ = doubled(lean_tab, tmp_path)
    assert first.replace not in first.view.children


def test_tick_all_takes_only_the_candidates_that_the_filter_shows(tab):
    planned(tab)
    tab.plan.text.value = "2019-05-01"
    assert tab.plan.tick_button.description == "Tick all 1 shown candidate"
    tab.plan.tick_button.click()
    tab.plan.text.value = ""
    assert [row.state for row in tab.cleanup.plan.ticked] == ["DE"]
    assert "1 candidate ticked" in said(tab.plan)
    tab.plan.tick_button.click()
    assert [row.state for row in tab.cleanup.plan.ticked] == ["DE", "MT"]
    assert tab.plan.tick_button.disabled
    tab.plan.untick_button.click()
    assert tab.cleanup.plan.ticked == ()


def test_two_hundred_records_are_shown_in_pages_of_the_same_widgets(scripted, lean, tmp_path):
    states = ("TX", "CA", "DE", "NY")
    rows = [
        {"state": states[number % 4], "nexus_type": "economic", "notes": f"nr-{number}"}
        for number in range(200)
    ]
    tab = NexusTab(Session(scripted, register=rows, folder=tmp_path / "work"))
    tab.session.background.settle()
    click(tab, tab.plan.make_button)
    widgets = tab.plan.rows.view.children
    assert len(widgets) == PAGE
    assert tab.plan.where.value == "Rows 1 to 20 of 200"
    first = tab.plan.rows.rows[0].row
    tab.plan.next_button.click()
    assert tab.plan.where.value == "Rows 21 to 40 of 200"
    assert tab.plan.rows.rows[0].row != first
    assert tab.plan.rows.view.children == widgets
    tab.plan.text.value = "no-such-number"
    assert tab.plan.where.value == "No row fits the filter."
    tab.plan.text.value = "nr-17"
    assert tab.plan.where.value == "Rows 1 to 11 of 11"
    shown = [one for one in tab.plan.rows.rows if one.view.layout.display != "none"]
    assert len(shown) == 11


def test_ticks_are_in_the_plan_s_file_at_once_and_are_read_back(tab, tmp_path):
    tick(planned(tab), "DE economic")
    written = next((tmp_path / "work").rglob("plan-*.csv"))
    tab.plan.untick_button.click()
    other = NexusTab(Session(tab.session.client, folder=tmp_path / "other"))
    tick(tab, "DE economic")
    other.plan.file.submit(path=str(written))
    other.session.background.settle()
    assert [row.state for row in other.cleanup.plan.ticked] == ["DE"]
    assert row(other, "DE economic").remove.value
    assert "1 tick in it" in said(other.plan)


def test_ticks_stay_when_the_plan_is_made_anew(tab, client):
    tick(planned(tab), "DE economic", "MT economic")
    client.add_nexus("MT", nexus_type="economic", notes="another")
    click(tab, tab.register.list_button)
    assert "Make it again" in said(tab.plan)
    click(tab, tab.plan.make_button)
    assert [row.state for row in tab.cleanup.plan.ticked] == ["DE"]
    assert "1 tick of the former plan could not be carried over" in said(tab.plan)


def test_another_state_takes_back_the_confirmation_of_the_first(lean_tab, lean):
    click(lean_tab, lean_tab.register.list_button)
    section = lean_tab.whole_state
    section.state.value = "NY"
    click(lean_tab, section.preview_button)
    section.confirm.typed.value = "NY"
    section.state.value = "TX"
    click(lean_tab, section.confirm.button)
    assert lean.sent == []
    click(lean_tab, section.preview_button)
    section.confirm.typed.value = "2"
    assert section.confirm.button.disabled


def test_the_code_that_is_shown_does_the_same(tab, client):
    tick(planned(tab), "DE economic")
    click(tab, tab.apply.preview_button)
    names = {"client": client}
    for section in (tab.register, tab.plan, tab.apply):
        exec(section.code.code.replace("listed =", "register = listed ="), names)  # noqa: S102 - ours
    assert [item.status for item in names["receipt"].items] == ["removed"]
    assert ("DE", "economic") not in there(client)


def walk(widget):
    """The state of a widget and of all that are in it, as text."""
    yield repr(widget.get_state())
    for child in getattr(widget, "children", ()):
        yield from walk(child)


SALES = "state,order_date,amount,channel\n" + "".join(
    f"{state},{year}-{month:02}-15,{amount},direct\n"
    for state, amount in (("WA", "20000.00"), ("CA", "1000.00"), ("DE", "9000.00"))
    for year in (2024, 2025)
    for month in range(1, 13)
)


def test_sales_show_who_lacks_a_record_first_and_become_evidence_of_the_plan(tab, tmp_path):
    head, *lines = SALES.splitlines()
    files = {tmp_path / "a.csv": lines[::2], tmp_path / "b.csv": lines[1::2]}
    for path, some in files.items():
        path.write_text("\n".join([head, *some]) + "\n", encoding="utf-8")
    click(tab, tab.register.list_button)
    tab.exposure.file.submit(path="; ".join(map(str, files)), as_of="2025-12-31")
    tab.session.background.settle()
    shown = tab.exposure.result.value
    assert "As of 2025-12-31." in shown
    assert shown.index(">WA<") < shown.index(">CA<")
    assert BAND_WORDS["missing"] in shown
    assert "$240,000.00" in shown
    click(tab, tab.plan.make_button)
    assert "Washington" in tab.plan.missing.value
    assert "$12,000.00" in row(tab, "CA economic").facts.value
    names = {"register": tab.cleanup.register}
    exec(tab.exposure.code.code, names)  # noqa: S102 - ours
    assert names["exposure"].equals(tab.cleanup.exposure)


@pytest.mark.parametrize(("name", "marketplace"), [("amazon.txt", True), ("shopify.csv", False)])
def test_the_export_of_a_shop_is_measured_without_a_choice(tab, name, marketplace):
    path = Path(__file__).parents[1] / "data" / "exports" / name
    tab.exposure.file.submit(path=str(path))
    tab.session.background.settle()
    assert "recognized by the column names" in tab.exposure.result.value
    assert {one.value for one in tab.exposure.columns.values()} == {None}
    found = tab.cleanup.exposure.set_index("state")
    assert found["sales"]["TX"] > 0
    assert bool(found["marketplace_sales"].dropna().sum() > 0) is marketplace
    assert "states below 50% of every threshold" in tab.exposure.result.value


def test_dates_of_two_meanings_mark_their_menu_and_the_choice_settles_them(tab, tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text("state,date,amount\nWA,05/04/2026,200000.00\nWA,03/02/2026,1.00\n")
    form = tab.exposure.file
    menus = {one["name"]: dict(one["options"]) for one in form.fields if one["kind"] == "menu"}
    assert {"", "month first", "day first"} <= set(menus["date_format"])
    assert {"", "America/Chicago", "UTC"} <= set(menus["tz"])
    form.submit(path=str(sales), as_of="2026-11-21")
    tab.session.background.settle()
    assert set(form.errors) == {"date_format"}
    assert tab.cleanup.exposure is None
    form.submit(path=str(sales), as_of="2026-11-21", date_format="day first")
    tab.session.background.settle()
    assert form.errors == {}
    assert str(tab.cleanup.exposure.set_index("state")["first_crossed"]["WA"]) == "2026-04-05"
    names = {"register": tab.cleanup.register}
    exec(tab.exposure.code.code, names)  # noqa: S102 - ours
    assert names["exposure"].equals(tab.cleanup.exposure)
    sales.write_text("state,date,amount\nWA,2026-01-01T03:00:00Z,200000.00\n")
    form.submit(path=str(sales), as_of="2026-11-21", date_format="", tz="America/Los_Angeles")
    tab.session.background.settle()
    assert str(tab.cleanup.exposure.set_index("state")["first_crossed"]["WA"]) == "2025-12-31"


def test_columns_are_offered_and_those_chosen_are_used(tab, tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text(SALES.replace("amount", "figure"), encoding="utf-8")
    tab.exposure.file.values = {**tab.exposure.file.values, "path": str(sales)}
    click(tab, tab.exposure.columns_button)
    offered = [value for _, value in tab.exposure.columns["amount"].options]
    assert offered == [None, "state", "order_date", "figure", "channel"]
    tab.exposure.columns["amount"].value = "figure"
    tab.exposure.file.submit(path=str(sales))
    tab.session.background.settle()
    assert "$240,000.00" in tab.exposure.result.value
    assert "amount='figure'" in tab.exposure.code.code


def test_a_doubtful_country_can_be_left_out(tab, tmp_path):
    head, *rows = SALES.strip().splitlines()
    sales = tmp_path / "sales.csv"
    sales.write_text("\n".join([f"{head},country", *(f"{row},China" for row in rows)]))
    tab.exposure.file.submit(path=str(sales))
    tab.session.background.settle()
    assert "has another country beside a US state" in tab.exposure.message.html
    tab.exposure.columns["country"].value = False
    tab.exposure.file.submit(path=str(sales))
    tab.session.background.settle()
    assert "$240,000.00" in tab.exposure.result.value
    assert "country=False" in tab.exposure.code.code


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"path": " "}, "path"),
        ({"path": "sales.csv", "as_of": "2025-13-01"}, "as_of"),
        ({"path": "sales.csv", "first": "2025-01-01"}, "last"),
        ({"path": "sales.csv", "last": "2025-01-01"}, "first"),
    ],
)
def test_what_cannot_be_computed_is_said_at_its_field(tab, given, field):
    tab.exposure.file.submit(**given)
    assert list(tab.exposure.file.errors) == [field]
    assert not tab.exposure.file.busy


def test_an_uploaded_register_is_read_from_the_session_s_folder(tab, tmp_path):
    content = b"state,nexus_type\nWA,economic\n"
    for message, buffers in (
        ({"type": "begin", "name": "nexus.csv"}, []),
        ({"type": "piece"}, [content]),
        ({"type": "end", "size": len(content)}, []),
    ):
        tab.register.upload._received(None, {"view": "page", **message}, buffers)
    tab.session.background.settle()
    assert "1 record in 1 state, from your own file" in tab.register.records.value
    assert (tmp_path / "work" / "uploads" / "nexus.csv").read_bytes() == content


def test_a_plan_is_made_while_the_service_is_away(lean_tab, lean, tmp_path):
    lean.down = True
    own_register(lean_tab, tmp_path, "DE,economic,")
    click(lean_tab, lean_tab.plan.make_button)
    tick(lean_tab, "DE economic")
    click(lean_tab, lean_tab.apply.preview_button)
    assert "does not respond" in said(lean_tab.apply)
    assert lean_tab.apply.confirm.expected == ""


def test_without_a_service_every_step_says_what_to_do(tmp_path):
    tab = NexusTab(Session(register=[{"state": "DE", "nexus_type": "economic"}], folder=tmp_path))
    tab.session.background.settle()
    click(tab, tab.register.list_button)
    assert "give a key above" in said(tab.register)
    click(tab, tab.plan.make_button)
    tick(tab, "DE economic")
    click(tab, tab.apply.preview_button)
    assert "give a key above" in said(tab.apply)
    tab.whole_state.state.value = "DE"
    click(tab, tab.whole_state.preview_button)
    assert "give a key above" in said(tab.whole_state)


# what a page or a kernel left unfinished


def offered(lean_tab):
    return lean_tab.left_over.result.value


def stopped_in_the_middle(lean_tab, lean):
    lean.before = lambda *_: lean_tab.apply.stop_button.click()
    previewed(lean_tab, "DE economic", "MT economic")
    confirm(lean_tab, lean_tab.apply.confirm, "2")
    lean.before = None
    assert lean.sent == [("DELETE", "DE", "economic")]


def test_a_removal_that_ended_early_is_offered_and_continued(lean_tab, lean, scripted, tmp_path):
    early = NexusTab(Session(scripted, folder=tmp_path / "early"))
    stopped_in_the_middle(lean_tab, lean)
    assert "it was stopped" in lean_tab.receipt.result.value
    early.opened()  # it looks when it is shown, not when it is made
    early.session.background.settle()
    later = opened(scripted, tmp_path / "later")
    assert "2 removals: 1 removed, 1 not removed" in offered(later) == offered(early)
    click(later, later.left_over.open_button)
    assert [one.state for one in later.cleanup.plan.ticked] == ["DE", "MT"]
    assert "1 removed" in later.receipt.result.value
    assert lean.sent == [("DELETE", "DE", "economic")]
    click(later, later.apply.preview_button)
    confirm(later, later.apply.confirm, "MT")
    assert lean.sent == [("DELETE", "DE", "economic"), ("DELETE", "MT", "economic")]
    assert offered(opened(scripted, tmp_path / "last")) == ""


def test_ticks_that_were_not_applied_are_offered_and_nothing_is_sent(
    lean_tab, lean, scripted, tmp_path
):
    tick(planned(lean_tab), "DE economic", "NY economic")
    later = opened(scripted, tmp_path / "later")
    assert "was not applied" in offered(later)
    assert "2 ticked" in offered(later)
    click(later, later.left_over.open_button)
    assert row(later, "NY economic").remove.value
    assert later.apply.confirm.expected == ""
    assert lean.sent == []


def test_what_another_account_left_over_is_offered_only_to_that_account(
    lean_tab, lean, faults, scripted, tmp_path
):
    stopped_in_the_middle(lean_tab, lean)
    tick(planned(lean_tab), "NY economic")
    with Svc("other-key-0123456789abcdef", base_url=faults.base_url) as other:
        later = opened(other, tmp_path / "other")
        assert offered(later) == ""
        later.session.use(scripted)
        later.session.background.settle()
        assert "1 removed" in offered(later)
        later.session.use(other)
        later.session.background.settle()
        assert offered(later) == ""


def test_an_undo_that_ended_early_is_offered_and_continued(lean_tab, lean, scripted, tmp_path):
    previewed(lean_tab, "DE economic", "MT economic")
    confirm(lean_tab, lean_tab.apply.confirm, "2")
    click(lean_tab, lean_tab.receipt.preview_button)
    stop = lean_tab.receipt.stop_button
    lean_tab.receipt.progress.observe(lambda moved: moved.new == 1 and stop.click(), "value")
    confirm(lean_tab, lean_tab.receipt.confirm, "2")
    assert len(lean.additions) == 1
    later = opened(scripted, tmp_path / "later")
    assert "The undo started" in offered(later)
    click(later, later.left_over.open_button)
    assert "preview the undo again" in said(later.left_over)
    click(later, later.receipt.preview_button)
    confirm(later, later.receipt.confirm, "MT")
    assert [one["state"] for one in lean.additions] == ["DE", "MT"]
    assert offered(opened(scripted, tmp_path / "last")) == ""


def test_ticks_that_cannot_be_written_are_said_and_take_the_preview_back(lean_tab, lean, tmp_path):
    previewed(lean_tab, "DE economic")
    results = lean_tab.session.folder / "results"
    results.rename(tmp_path / "elsewhere")
    results.write_text("in the way")
    tick(lean_tab, "MT economic")
    assert "svc-trouble" in said(lean_tab.plan)
    assert lean_tab.apply.confirm.expected == ""
    assert lean_tab.apply.preview.value == ""


@pytest.mark.parametrize("step", ["register", "apply", "whole_state"])
def test_a_question_that_hangs_is_given_up_with_a_button(lean_tab, lean, step):
    tick(planned(lean_tab), "DE economic")
    section = getattr(lean_tab, step)
    asks = section.list_button if step == "register" else section.preview_button
    lean_tab.whole_state.state.value = "DE"
    asked, over = threading.Event(), threading.Event()

    def hangs():
        asked.set()
        over.wait(30)

    lean.listing = hangs
    asks.click()
    assert asked.wait(30)
    assert section.busy
    assert section.cancel_button.layout.display == ""
    section.cancel_button.click()
    assert not section.busy
    assert section.cancel_button.layout.display == "none"
    assert "Nothing was changed" in said(section)
    lean.listing = None
    over.set()
    click(lean_tab, asks)
    assert "Canceled" not in said(section)
    assert lean.sent == []


def test_an_undo_shows_how_far_it_is_and_stops_after_the_one_under_way(lean_tab, lean):
    previewed(lean_tab, "DE economic", "MT economic")
    assert lean_tab.apply.confirm.button.description == "Remove 2 records"
    confirm(lean_tab, lean_tab.apply.confirm, "2")
    click(lean_tab, lean_tab.receipt.preview_button)
    assert lean_tab.receipt.confirm.typed.description.endswith("add them again in DE and MT.")
    receipt, moved = lean_tab.receipt, []

    def stop_after_the_first(change):
        moved.append((change.new, receipt.progress.max))
        if change.new == 1:
            receipt.stop_button.click()

    receipt.progress.observe(stop_after_the_first, "value")
    confirm(lean_tab, lean_tab.receipt.confirm, "2")
    assert moved[0] == (1, 2)
    assert [method for method, *_ in lean.sent].count("POST") == 1
    assert receipt.running.layout.display == "none"
