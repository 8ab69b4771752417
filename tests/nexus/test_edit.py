"""A registration added or changed: shown first, sent once, with a receipt that undoes it."""

from __future__ import annotations

import json
from datetime import date

import pytest
from support.faults import KEY, answer
from support.nexus import KEYS, LOST, RECORDS, Nexus, refused, response, statuses

from svc_tools.nexus import (
    ApplyError,
    add_registration,
    add_registrations,
    edit_registration,
    list_register,
    preview_restore,
    read_receipt,
    receipts,
    restore,
)

TX = ("TX", "economic")


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "receipts"


@pytest.fixture
def add(scripted, folder):
    def add(state="OR", kind="economic", **more):
        more = {"dry_run": False, "folder": folder, **more}
        return add_registration(scripted, state, nexus_type=kind, **more)

    return add


@pytest.fixture
def edit(scripted, folder):
    def edit(state="TX", kind="economic", **more):
        more = {"dry_run": False, "folder": folder, **more}
        return edit_registration(scripted, state, nexus_type=kind, **more)

    return edit


def sent(nexus):
    """The requests that change something, as they came in."""
    return [
        (one.method, one.target, json.loads(one.body) if one.body else None)
        for one in nexus.faults.seen
        if one.method != "GET"
    ]


def test_what_was_added_is_listed_with_all_that_it_holds(empty_account, folder):
    """On the embedded service."""
    texts = {"address": "1 Main St", "notes": "=1+1"}
    for state, kind, more in (
        ("texas", "Physical presence", {"registered_at": "2024-05-01", **texts}),
        ("OR", "economic", {"registered_at": date(2021, 3, 1)}),
    ):
        done = add_registration(
            empty_account, state, nexus_type=kind, dry_run=False, folder=folder, **more
        )
        assert [item.status for item in done.items] == ["added"]
        assert (done.finished, done.counts["flagged"], done.undoable) == (True, 0, True)
    assert [record.texts for record in list_register(empty_account).records] == [
        ("OR", "economic", "2021-03-01", "", ""),
        ("TX", "physical", "2024-05-01", "1 Main St", "=1+1"),
    ]


def test_an_addition_and_its_undo(nexus, add, scripted, folder):
    dry = add(notes="new", registered_at="2021-03-01", dry_run=True)
    assert nexus.methods == {"GET"}
    assert not folder.exists()
    assert statuses(dry) == {("OR", "economic"): "planned"}
    (planned,) = dry.requests
    done = add(notes="new", registered_at="2021-03-01")
    body = {
        "state": "OR",
        "nexus_type": "economic",
        "registered_at": "2021-03-01",
        "notes": "new",
    }
    assert sent(nexus) == [("POST", "/v1/portability/nexus", body)]
    assert (planned.method, planned.path, planned.body) == sent(nexus)[0]
    assert done.kind == "add"
    assert read_receipt(done.path).items == done.items
    nexus.faults.seen.clear()
    assert [one.line for one in preview_restore(done)] == [
        "DELETE /v1/portability/nexus/OR?nexus_type=economic"
    ]
    assert statuses(restore(done, scripted)) == {("OR", "economic"): "planned"}
    assert nexus.methods == {"GET"}
    undone = restore(done, scripted, dry_run=False)
    assert statuses(undone) == {("OR", "economic"): "removed"}
    assert nexus.keys == KEYS
    assert receipts(folder)["undoable"].tolist() == [False, False]


def test_an_addition_that_was_changed_since_is_not_undone(nexus, add, scripted):
    done = add(notes="new")
    nexus.put("OR", "economic", notes="somebody else's")
    undone = restore(done, scripted, dry_run=False)
    assert statuses(undone) == {("OR", "economic"): "changed"}
    assert (undone.finished, undone.stopped) == (True, "")  # nothing is left that a rerun would do
    assert ("OR", "economic") in nexus.keys


def test_several_additions_have_one_receipt_and_leave_alone_what_is_there(nexus, scripted, folder):
    rows = [
        {"state": "Oregon", "nexus_type": "Economic", "registered_at": "May 31, 2024"},
        {"state": "TX", "nexus_type": "economic", "notes": "another"},
        {"state": "ID", "nexus_type": "physical", "address": "1 Main St", "notes": ""},
    ]
    dry = add_registrations(scripted, rows, folder=folder)
    assert nexus.methods == {"GET"}
    assert not folder.exists()
    done = add_registrations(scripted, rows, dry_run=False, folder=folder)
    for receipt, status in ((dry, "planned"), (done, "added")):
        assert [item.status for item in receipt.items] == [status, "changed", status]
    assert [one.body for one in dry.requests] == nexus.additions
    assert (done.finished, len([*folder.glob("*.jsonl")])) == (True, 1)
    assert nexus.records["OR", "economic"]["registered_at"] == "2024-05-31"
    nexus.put("ID", "physical", notes="changed since")  # it is left, and the others are undone
    undone = statuses(restore(done, scripted, dry_run=False))
    assert undone == {("ID", "physical"): "changed", ("OR", "economic"): "removed"}
    nexus._drop("ID", "physical")
    assert nexus.rows == RECORDS


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"state": "OR", "nexus_type": "economic"}, {"state": "Oregon", "nexus_type": "economic"}],
        [{"state": "OR", "nexus_type": "economic"}, {"state": "ID"}],
        [{"state": "OR", "nexus_type": "economic", "registered_at": "05/04/2024"}],
    ],
)
def test_of_several_additions_none_is_sent_where_one_is_not_valid(nexus, scripted, rows):
    with pytest.raises(ValueError, match=r"no registration|OR economic|nexus_type|05/04/2024"):
        add_registrations(scripted, rows, dry_run=False)
    assert nexus.faults.seen == []


@pytest.mark.parametrize("changed_since", [False, True])
def test_what_the_service_fills_in_itself_is_flagged_and_undone(
    nexus, add, edit, scripted, changed_since
):
    """Such as a day of registration that was not given, or an address in capitals."""
    before = [dict(one) for one in nexus.rows]
    own = {"registered_at": "2026-11-23", "notes": "AS THE SERVICE WRITES IT"}

    def filled_in(_done):
        nexus.records[key] |= own
        return response(nexus.records[key])

    for key, change in ((("OR", "economic"), add), (("WA", "marketplace"), edit)):
        nexus.adding = [filled_in]
        done = change(*key, address="1 Main St", notes="as the service writes it")
        assert done.items[0].flagged
        if changed_since:
            nexus.records[key]["notes"] = "somebody else's"
        undone = restore(done, scripted, dry_run=False)
        assert undone.finished
        assert ({*statuses(undone).values()} == {"changed"}) is changed_since
    assert (nexus.rows == before) is not changed_since


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_record_that_is_there_is_never_overwritten_by_an_addition(nexus, add, folder, dry_run):
    with pytest.raises(ApplyError, match=r"TX has a record of type economic .*2022-05-01"):
        add(*TX, notes="another", dry_run=dry_run)
    assert nexus.methods == {"GET"}
    assert not [*folder.glob("*.jsonl")]


@pytest.mark.parametrize(
    ("state", "kind", "day", "problem"),
    [
        ("Nowhere", "economic", None, "'Nowhere'"),
        ("TX", "virtual", None, "'virtual'"),
        ("OR", "economic", "around May", "registered_at"),
    ],
)
def test_what_is_not_valid_is_refused_before_anything_is_sent(  # noqa: PLR0917 - fixtures
    nexus, add, edit, state, kind, day, problem
):
    for change in (add, edit):
        with pytest.raises(ValueError, match=problem):
            change(state, kind, registered_at=day)
    assert nexus.faults.seen == []


@pytest.mark.parametrize("written", ["05/31/2024", "May 31, 2024", date(2024, 5, 31)])
def test_a_day_is_read_in_every_form_with_one_meaning(nexus, add, written):
    add(registered_at=written)
    assert nexus.records["OR", "economic"]["registered_at"] == "2024-05-31"
    with pytest.raises(ValueError, match=r"05/04/2024.*write it as 2026-05-31$"):
        add("ID", registered_at="05/04/2024")  # a command has no option of a format for it
    assert ("ID", "economic") not in nexus.keys


def test_an_edit_changes_what_is_given_and_its_undo_puts_all_back(nexus, edit, scripted):
    before = [dict(one) for one in nexus.rows]
    dry = edit("NH", "physical", address="2 Elm St", registered_at="2020-02-02", dry_run=True)
    assert nexus.methods == {"GET"}
    done = edit("NH", "physical", address="2 Elm St", registered_at="2020-02-02")
    assert statuses(done) == {("NH", "physical"): "updated"}
    after = {"address": "2 Elm St", "registered_at": "2020-02-02", "notes": 'a "b", c'}
    body = {"state": "NH", "nexus_type": "physical", **after}
    assert sent(nexus) == [("POST", "/v1/portability/nexus", body)]
    assert [one.body for one in dry.requests] == [body]
    assert nexus.records["NH", "physical"] == body
    assert "1 Main St" in done.restore_file.read_text("utf-8-sig")
    assert "2 Elm St" not in done.restore_file.read_text("utf-8-sig")
    undo = restore(done, scripted)
    # the day was empty before: the record is removed and added again to clear it
    assert [one.method for one in undo.requests] == ["DELETE", "POST"]
    assert statuses(restore(done, scripted, dry_run=False)) == {("NH", "physical"): "restored"}
    assert nexus.rows == before


def test_a_field_is_cleared_on_the_embedded_service_too(empty_account, folder):
    empty_account.add_nexus("TX", nexus_type="economic", notes="wrong", address="1 Main St")
    done = edit_registration(
        empty_account, *TX[:1], nexus_type="economic", notes="", dry_run=False, folder=folder
    )
    assert [item.status for item in done.items] == ["updated"]
    assert done.counts["flagged"] == 0
    assert list_register(empty_account).records[0].texts[2:] == ("", "1 Main St", "")
    restore(done, empty_account, dry_run=False)
    assert list_register(empty_account).records[0].texts[2:] == ("", "1 Main St", "wrong")


def test_another_type_is_added_first_and_the_former_removed_then(nexus, edit, scripted):
    before = [dict(one) for one in nexus.rows]
    done = edit("DE", "economic", to_type="marketplace", notes="as the office says")
    assert [one[:2] for one in sent(nexus)] == [
        ("POST", "/v1/portability/nexus"),
        ("DELETE", "/v1/portability/nexus/DE?nexus_type=economic"),
    ]
    assert [*statuses(done).values()] == ["added", "removed"]
    moved = nexus.records["DE", "marketplace"]
    assert (moved["registered_at"], moved["notes"]) == ("2021-01-01", "as the office says")
    undone = restore(done, scripted, dry_run=False)
    assert [*statuses(undone).values()] == ["restored", "removed"]
    assert nexus.rows == before


def test_the_former_record_stays_where_the_new_one_was_not_added(nexus, edit):
    nexus.adding = [refused(422)]
    done = edit("DE", "economic", to_type="marketplace")
    assert [*statuses(done).values()] == ["refused", "not_attempted"]
    assert nexus.keys == KEYS
    assert nexus.removals == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"state": "OR", "notes": "x"}, "no OR economic"),
        ({"registered_at": "2022-05-01"}, "as given already"),
        ({}, "as given already"),
        ({"to_type": "physical"}, "TX has a record of type physical already"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_an_edit_of_nothing_or_onto_another_record_is_refused(  # noqa: PLR0917 - fixtures
    nexus, edit, folder, change, problem, dry_run
):
    with pytest.raises(ApplyError, match=problem):
        edit(**change, dry_run=dry_run)
    assert nexus.methods == {"GET"}
    assert not [*folder.glob("*.jsonl")]


def test_of_several_records_none_is_edited(nexus, edit):
    nexus.rows.append(dict(nexus.rows[0]))
    with pytest.raises(ApplyError, match="2 records"):
        edit("DE", notes="x")
    assert nexus.methods == {"GET"}


def test_a_record_that_changes_between_two_looks_is_left_alone(nexus, edit):
    looks = []

    def listing():
        looks.append(1)
        if len(looks) == 2:
            nexus.put(*TX, notes="somebody else's")

    nexus.listing = listing
    done = edit(notes="mine")
    assert statuses(done) == {TX: "changed"}
    assert sent(nexus) == []


def test_where_the_service_does_not_describe_itself_the_response_shows_it(faults, add, edit):
    nexus = Nexus(faults, adds=False, describes=False)
    done = add(notes="x")
    assert statuses(done) == {("OR", "economic"): "refused"}
    assert "does not add records" in done.stopped
    with pytest.raises(ApplyError, match="does not say that it can add"):
        edit("DE", notes="")  # it would be removed first
    assert nexus.removals == []


def test_an_edit_is_undone_where_the_service_does_not_describe_itself(faults, edit, scripted):
    nexus = Nexus(faults, describes=False)
    before = [dict(one) for one in nexus.rows]
    done = edit(notes="there were none")
    assert statuses(restore(done, scripted, dry_run=False)) == {TX: "restored"}
    assert nexus.rows == before


def test_without_a_list_a_record_is_added_unseen_only_on_request(faults, add, edit):
    nexus = Nexus(faults, lists=False)
    for refused_change in (add, lambda: edit(notes="x")):
        with pytest.raises(ApplyError, match="does not list"):
            refused_change()
    assert nexus.methods == {"GET"}
    done = add(unseen=True)
    assert statuses(done) == {("OR", "economic"): "added"}
    assert not done.undoable
    assert "cannot be undone" in done.undo_note


def test_a_lost_response_is_settled_by_the_list(nexus, add, edit):
    nexus.adding = [lambda _: LOST, LOST]
    assert statuses(add(notes="x")) == {("OR", "economic"): "added"}
    lost = edit(notes="x")
    assert statuses(lost) == {TX: "still_there"}
    assert not lost.finished
    again = edit(notes="x")
    assert statuses(again) == {TX: "updated"}
    assert again.finished
    assert again.path == lost.path  # the same once more goes on with the same receipt


def test_a_service_that_adds_a_second_record_instead_of_updating_is_found_out(nexus, edit):
    def twice(done):
        nexus.rows.append({"state": "TX", "nexus_type": "economic"})
        return done

    nexus.adding = [twice]
    done = edit(notes="x")
    assert done.items[0].flagged


def test_a_wrong_saved_field_is_flagged(nexus, add):
    nexus.adding = [lambda _: response({"state": "OR", "nexus_type": "economic", "notes": "y"})]
    assert add(notes="x").items[0].flagged


def test_a_clearing_edit_that_stops_between_its_requests_is_finished_by_the_same(nexus, edit):
    nexus.adding = [refused(422)]
    half = edit("DE", notes="")
    assert statuses(half) == {("DE", "economic"): "removed_only"}
    assert half.items[0].flagged
    again = edit("DE", notes="")
    assert statuses(again) == {("DE", "economic"): "updated"}
    assert nexus.removals == [("DE", "economic")]
    assert nexus.records["DE", "economic"]["registered_at"] == "2021-01-01"
    assert not nexus.records["DE", "economic"].get("notes")


def test_a_clearing_edit_that_stopped_in_the_middle_is_undone(nexus, edit, scripted):
    before = [dict(one) for one in nexus.rows]
    nexus.adding = [refused(422)]
    half = edit("DE", notes="")
    assert statuses(restore(half, scripted, dry_run=False)) == {("DE", "economic"): "restored"}
    assert nexus.rows == before


def test_an_edited_record_that_was_changed_since_is_not_put_back(nexus, edit, scripted):
    done = edit(notes="x")
    nexus.put(*TX, notes="y")
    receipt = restore(done, scripted, dry_run=False)
    assert statuses(receipt) == {TX: "changed"}
    assert receipt.items[0].flagged
    assert nexus.records[TX]["notes"] == "y"


def test_the_journal_comes_before_the_request_and_never_holds_the_key(nexus, edit, folder):
    seen = []

    def look(done):
        (journal,) = folder.glob("*.jsonl")
        seen.append(journal.read_text())
        return done

    nexus.adding = [look]
    edit(notes="x")
    assert KEY not in seen[0]
    assert '"event": "sending"' in seen[0]
    assert '"event": "answer"' not in seen[0]


def test_a_service_that_is_not_available_is_an_error_before_anything(faults, edit, folder):
    faults.will(answer(503))
    with pytest.raises(Exception, match="503"):
        edit(notes="x")
    assert not folder.exists()
