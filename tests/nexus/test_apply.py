"""Applying a plan: only what is ticked, each once; no result claimed that was not reported."""

from __future__ import annotations

import json
import signal
import threading

import pytest
from support.faults import KEY, answer
from support.nexus import KEYS, LOST, RECORDS, Nexus, plan_of, refused, said, statuses

import svc_tools
from svc_sdk import AuthError, ServiceError, Svc
from svc_tools import config
from svc_tools.nexus import (
    ApplyError,
    abilities,
    apply_plan,
    list_register,
    preview,
    read_plan,
    read_receipt,
    remove_state,
    restore,
)

DE, NH, TX = KEYS[:3]
TYPES = ("economic", "marketplace", "physical")


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


def apply(plan, client, tmp_path, **more):
    return apply_plan(plan, client, dry_run=False, folder=tmp_path / "receipts", **more)


# what is sent


def test_only_what_is_ticked_is_removed_each_with_its_type(nexus, scripted, tmp_path):
    told = []
    receipt = apply(
        plan_of(scripted, DE, TX),
        scripted,
        tmp_path,
        on_progress=lambda *one: told.append((one[0].key, *one[1:])),
    )
    assert nexus.removals == [DE, TX]
    assert nexus.keys == [NH, KEYS[3], KEYS[4]]
    assert statuses(receipt) == {DE: "removed", TX: "removed"}
    assert receipt.finished
    assert receipt.counts == {"done": 2, "not_done": 0, "unknown": 0, "flagged": 0}
    assert [item.reference for item in receipt.items] == ["ref-DE", "ref-TX"]
    assert receipt.sentence == "2 removals: 2 removed."
    assert told == [(DE, 1, 2), (TX, 2, 2)]


def test_a_dry_run_only_looks_and_leaves_nothing_on_disk(nexus, scripted, faults, tmp_path):
    receipt = apply_plan(plan_of(scripted, DE, TX), scripted, folder=tmp_path / "receipts")
    assert {one.method for one in faults.seen} == {"GET", "POST"}
    assert [json.loads(one.body) for one in faults.seen if one.method == "POST"] == [{}]
    assert nexus.keys == KEYS
    assert not (tmp_path / "receipts").exists()
    assert statuses(receipt) == {DE: "planned", TX: "planned"}
    assert receipt.dry_run
    assert "Nothing was sent" in receipt.sentence
    assert "DELETE /v1/portability/nexus/DE?nexus_type=economic" in receipt.items[0].message


def test_the_preview_is_exactly_what_is_sent(nexus, scripted, faults, tmp_path):
    plan = plan_of(scripted, DE, NH)
    before = [one.line for one in preview(plan)]
    apply(plan, scripted, tmp_path)
    sent = [f"{one.method} {one.target}" for one in faults.seen if one.method == "DELETE"]
    assert sent == before
    assert all("nexus_type=" in line for line in sent)


def test_a_service_that_does_not_list_is_sent_what_the_plan_says(faults, scripted, tmp_path):
    nexus = Nexus(faults, lists=False)
    receipt = apply(plan_of(scripted, DE), scripted, tmp_path)
    assert nexus.removals == [DE]
    assert statuses(receipt) == {DE: "removed"}
    assert not receipt.undoable
    assert "cannot be undone on this service" in receipt.restore_note


# what is left alone


def test_what_is_no_longer_there_or_has_changed_is_left_alone(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, NH, TX)
    nexus.records = [one for one in nexus.records if one["state"] != "DE"]
    nexus.records[0] = nexus.records[0] | {"notes": "keep this one!"}
    receipt = apply(plan, scripted, tmp_path)
    assert nexus.removals == [TX]
    assert statuses(receipt) == {DE: "absent", NH: "changed", TX: "removed"}
    assert "keep this one!" in receipt.items[1].message


def test_blanks_and_ends_of_lines_that_a_spreadsheet_changes_are_no_change(
    nexus, scripted, tmp_path
):
    nexus.records[1]["address"] = " 1 Main St\r\nConcord "
    assert statuses(apply(plan_of(scripted, NH), scripted, tmp_path)) == {NH: "removed"}


HOSTILE = [
    *("=1+1", "+1", "-1", "@x", "00123", "3/4", "'quoted", '"', "a;b,c\td", "line\nline\r\nline"),
    *("  blanks  ", "\N{EURO SIGN} \N{GRINNING FACE}", "1e5", "TRUE", "2024-01-01", "x" * 4000),
]


def test_whatever_a_record_says_it_still_fits_after_a_round_through_a_plan_file(
    nexus, scripted, tmp_path
):
    pairs = [(state, kind) for state in ("CA", "GA", "IA", "KY", "LA", "MA") for kind in TYPES]
    nexus.records = [
        {"state": state, "nexus_type": kind, "notes": text, "address": text[:400]}
        for (state, kind), text in zip(pairs, HOSTILE, strict=False)
    ]
    nexus.records[0]["registered_at"] = "2024-05-01T00:00:00Z"
    before = [dict(one) for one in nexus.records]
    plan = plan_of(scripted, *nexus.keys, records=list_register(scripted))
    read = read_plan(plan.write(tmp_path / "plan.csv"))
    receipt = apply(read, scripted, tmp_path)
    assert set(statuses(receipt).values()) == {"removed"}
    assert nexus.records == []
    restore(receipt, scripted, dry_run=False)
    before[0]["registered_at"] = "2024-05-01"
    assert nexus.records == before


def test_nothing_ticked_is_refused(nexus, scripted, faults, tmp_path):
    with pytest.raises(ApplyError, match="Nothing is ticked"):
        apply(plan_of(scripted), scripted, tmp_path)
    assert faults.seen == []


def test_another_account_or_service_is_refused_before_anything(nexus, scripted, faults, tmp_path):
    plan = plan_of(scripted, DE)
    with (
        Svc("another-key-0123456789", base_url=faults.base_url) as other,
        pytest.raises(ApplyError, match=f"made for account {plan.account}"),
    ):
        apply(plan, other, tmp_path)
    with (
        Svc(KEY, base_url="http://127.0.0.1:9") as elsewhere,
        pytest.raises(ApplyError, match="was made for http://127"),
    ):
        apply(plan, elsewhere, tmp_path)
    assert faults.seen == []
    assert not (tmp_path / "receipts").exists()


def test_a_wrong_key_is_said_before_anything(nexus, scripted, tmp_path):
    nexus.listing = [refused(401)]
    with pytest.raises(AuthError):
        apply(plan_of(scripted, DE), scripted, tmp_path)
    assert nexus.removals == []


# replace


def replacing(client):
    """A plan in which the second of two records of DE is to stay."""
    good = {"state": "DE", "nexus_type": "economic", "notes": "the good one"}
    plan = plan_of(client, records=[*RECORDS, good])
    number = next(row.number for row in plan.rows if row.notes == "the good one")
    return plan.tick(number, action="replace")


def test_of_duplicates_the_chosen_one_stays(nexus, scripted, tmp_path):
    plan = replacing(scripted)
    assert [one.method for one in preview(plan)] == ["DELETE", "POST"]
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {DE: "replaced"}
    assert receipt.counts["flagged"] == 0
    assert [one["notes"] for one in nexus.records if one["state"] == "DE"] == ["the good one"]
    assert apply(plan, scripted, tmp_path).finished
    assert (nexus.removals, len(nexus.additions)) == ([DE], 1)


def test_a_failure_between_remove_and_add_is_said_and_finished_by_a_rerun(
    nexus, scripted, tmp_path
):
    plan = replacing(scripted)
    nexus.adding = [refused(422)]
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {DE: "removed_only"}
    assert not receipt.finished
    assert receipt.counts["flagged"] == 1
    assert "has no record now" in receipt.items[0].message
    assert "the good one" in receipt.restore_file.read_text("utf-8-sig")
    again = apply(plan, scripted, tmp_path)
    assert statuses(again) == {DE: "replaced"}
    assert nexus.removals == [DE]


def test_replace_is_refused_where_nothing_can_be_added(faults, scripted, tmp_path):
    nexus = Nexus(faults, adds=False)
    with pytest.raises(ApplyError, match="cannot add records"):
        apply(replacing(scripted), scripted, tmp_path)
    assert nexus.removals == []


# answers


@pytest.mark.parametrize(
    ("status", "stops"), [(400, False), (404, False), (422, False), (409, False)]
)
def test_a_refusal_is_told_and_the_next_is_sent(nexus, scripted, tmp_path, status, stops):
    nexus.instead = [refused(status)]
    receipt = apply(plan_of(scripted, DE, TX), scripted, tmp_path)
    assert statuses(receipt) == {DE: "refused", TX: "removed"}
    assert receipt.items[0].reference == f"ref-{status}"
    assert f"it said {status}" in receipt.items[0].message
    assert not receipt.stopped


@pytest.mark.parametrize("status", [401, 402, 403, 405, 302, 429])
def test_it_stops_where_every_further_request_would_be_refused(nexus, scripted, tmp_path, status):
    nexus.instead = [lambda done: done, refused(status, retry_after="7")]
    receipt = apply(plan_of(scripted, DE, NH, TX), scripted, tmp_path)
    assert statuses(receipt) == {DE: "removed", NH: "refused", TX: "not_attempted"}
    assert nexus.removals == [DE, NH]
    assert receipt.stopped
    assert not receipt.finished
    if status == 429:
        assert "for 7 seconds" in receipt.stopped
    assert statuses(apply(plan_of(scripted, DE), scripted, tmp_path)) == {DE: "absent"}


def test_the_same_plan_goes_on_where_it_was_stopped(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, NH, TX)
    nexus.instead = [lambda done: done, refused(402)]
    assert not apply(plan, scripted, tmp_path).finished
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {DE: "removed", NH: "removed", TX: "removed"}
    assert receipt.finished
    assert not receipt.stopped
    assert nexus.removals == [DE, NH, NH, TX]  # of NH the first was refused


def test_a_rerun_sends_only_what_is_ticked_now(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, NH, TX)
    nexus.instead = [lambda done: done, refused(401)]
    apply(plan, scripted, tmp_path)
    receipt = apply(plan.untick(NH, TX), scripted, tmp_path)
    assert nexus.removals == [DE, NH]
    assert statuses(receipt) == {DE: "removed", NH: "refused"}
    assert receipt.finished


@pytest.mark.parametrize("executes", [True, False])
@pytest.mark.parametrize("kind", ["lost", 500, 503, 408, "no json", "no count", "no content"])
def test_what_the_answer_does_not_say_is_settled_by_looking(
    nexus, scripted, tmp_path, kind, executes
):
    sent = {
        "lost": LOST,
        "no json": answer(200, b"<html>done</html>"),
        "no count": said({"ok": True}),
        "no content": answer(204, b""),
    }.get(kind) or refused(kind)
    nexus.instead = [(lambda _: sent) if executes else sent]
    receipt = apply(plan_of(scripted, DE, TX), scripted, tmp_path)
    assert statuses(receipt) == {DE: "gone" if executes else "still_there", TX: "removed"}
    assert nexus.removals == [DE, TX]  # never sent again by itself
    if executes:
        assert receipt.items[0].deleted is None
    else:
        assert statuses(apply(plan_of(scripted, DE), scripted, tmp_path)) == {DE: "removed"}


@pytest.mark.parametrize("executes", [True, False])
def test_where_the_service_does_not_list_it_stays_unknown_and_is_not_sent_again(
    faults, scripted, tmp_path, executes
):
    nexus = Nexus(faults, lists=False)
    nexus.instead = [(lambda _: LOST) if executes else LOST]
    plan = plan_of(scripted, DE, TX)
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {DE: "unknown", TX: "not_attempted"}
    assert receipt.items[0].outcome == "unknown"
    assert not receipt.finished
    again = apply(plan, scripted, tmp_path)
    assert statuses(again) == {DE: "unknown", TX: "removed"}
    assert nexus.removals == [DE, TX]
    assert any("make a new plan" in note for note in again.notes)


def test_an_unknown_is_settled_by_the_next_run_where_the_list_failed_too(nexus, scripted, tmp_path):
    nexus.instead = [lambda _: LOST]
    plan = plan_of(scripted, DE, TX)
    nexus.listing = [said({"nexus": RECORDS, "count": 5}), refused(503)]
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {DE: "unknown", TX: "not_attempted"}
    assert statuses(apply(plan, scripted, tmp_path)) == {DE: "gone", TX: "removed"}
    assert nexus.removals == [DE, TX]


def test_it_stops_after_several_lost_answers(nexus, scripted, tmp_path):
    nexus.instead = [refused(503)] * 5
    receipt = apply(plan_of(scripted, *KEYS), scripted, tmp_path)
    assert len(nexus.removals) == 3
    assert receipt.stopped


def test_a_service_that_cannot_be_reached_was_sent_nothing(faults, scripted, tmp_path):
    nexus = Nexus(faults)
    plan = plan_of(scripted, DE, TX)
    with Svc(KEY, base_url=faults.base_url, max_retries=0) as client:

        def unplugged(request):
            if request.method == "DELETE":
                request.url = request.url.copy_with(port=9)

        client._http.event_hooks["request"].append(unplugged)
        receipt = apply(plan, client, tmp_path)
    assert nexus.removals == []
    assert statuses(receipt) == {DE: "refused", TX: "not_attempted"}
    assert receipt.items[0].outcome == "not_done"
    assert "cannot be reached" in receipt.stopped


def removal(**names):
    """A response to the removal of DE."""
    return said({"deleted": 1, "state": "DE", "nexus_type": "economic"} | names)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (removal(deleted=0), ("absent", 0, True, True)),
        (lambda _: removal(deleted=2), ("removed", 2, True, False)),
        (removal(state="TX"), ("still_there", 1, True, False)),
        (removal(nexus_type="physical"), ("still_there", 1, True, False)),
        (removal(nexus_type=None), ("still_there", 1, True, False)),
        (lambda _: said({"deleted": 1}), ("removed", 1, False, True)),
        (removal(), ("still_there", 1, True, True)),  # claimed, and not done
    ],
)
def test_what_a_response_states_is_checked(nexus, scripted, tmp_path, script, expected):
    nexus.instead = [script]
    receipt = apply(plan_of(scripted, DE, TX), scripted, tmp_path)
    item = receipt.items[0]
    *found, goes_on = expected
    assert [item.status, item.deleted, item.flagged] == found
    assert item.expected == 1
    assert statuses(receipt)[TX] == ("removed" if goes_on else "not_attempted")
    assert bool(receipt.stopped) is not goes_on
    assert nexus.removals == ([DE, TX] if goes_on else [DE])


def test_a_service_that_removes_more_than_it_says_is_found_out(nexus, scripted, tmp_path):
    def all_types(done):
        nexus.records = [one for one in nexus.records if one["state"] != "TX"]
        return done

    nexus.instead = [all_types]
    receipt = apply(plan_of(scripted, TX), scripted, tmp_path)
    assert statuses(receipt) == {TX: "removed", KEYS[3]: "lost"}
    lost = receipt.items[1]
    assert (lost.outcome, lost.flagged) == ("unknown", True)
    assert lost.record["address"] == "500 W 2nd St, Austin"
    assert "500 W 2nd St, Austin" in receipt.restore_file.read_text("utf-8-sig")


def test_a_part_of_a_list_proves_nothing(nexus, scripted, tmp_path):
    part = said({"nexus": RECORDS[:2], "count": 5})
    nexus.listing = [part] * 9
    nexus.instead = [lambda _: LOST]
    receipt = apply(plan_of(scripted, TX), scripted, tmp_path)
    assert statuses(receipt) == {TX: "unknown"}


def test_a_client_that_retries_still_sends_each_removal_once(nexus, faults, tmp_path):
    with Svc(KEY, base_url=faults.base_url, max_retries=3) as client:
        nexus.instead = [refused(503)]
        apply(plan_of(client, DE), client, tmp_path)
        assert nexus.removals == [DE]


def test_a_record_that_came_back_is_not_removed_again_by_the_same_plan(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE)
    apply(plan, scripted, tmp_path)
    nexus.records.insert(0, dict(RECORDS[0]))
    receipt = apply(plan, scripted, tmp_path)
    assert nexus.removals == [DE]
    assert statuses(receipt) == {DE: "removed"}
    assert "make a new plan" in receipt.items[0].message
    assert statuses(apply(plan_of(scripted, DE), scripted, tmp_path)) == {DE: "removed"}


# stopping


def test_stop_ends_it_after_the_request_under_way(nexus, scripted, tmp_path):
    stop = threading.Event()
    nexus.on_removal = stop.set
    receipt = apply(plan_of(scripted, DE, NH, TX), scripted, tmp_path, stop=stop)
    assert nexus.removals == [DE]
    assert statuses(receipt) == {DE: "removed", NH: "not_attempted", TX: "not_attempted"}
    assert receipt.stopped == "it was stopped"
    assert receipt.ended is not None


def test_ctrl_c_ends_it_after_the_request_under_way(nexus, scripted, tmp_path):
    nexus.on_removal = lambda: signal.raise_signal(signal.SIGINT)
    before = signal.getsignal(signal.SIGINT)
    receipt = apply(plan_of(scripted, DE, NH), scripted, tmp_path)
    assert statuses(receipt) == {DE: "removed", NH: "not_attempted"}
    assert signal.getsignal(signal.SIGINT) is before


# all types of a state


def test_all_types_of_a_state_need_its_code_typed(nexus, scripted, tmp_path):
    for typed in ("", "tx", "Texas", "DE"):
        with pytest.raises(ApplyError, match="type its code, TX"):
            remove_state(scripted, "TX", typed=typed, dry_run=False, folder=tmp_path)
    with pytest.raises(ApplyError, match="not a US state"):
        remove_state(scripted, "ZZ", typed="ZZ", dry_run=False, folder=tmp_path)
    assert nexus.removals == []
    assert remove_state(scripted, "TX", typed="TX").items[0].status == "planned"
    assert nexus.removals == []
    receipt = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    assert nexus.removals == [("TX", None)]
    (item,) = receipt.items
    assert (item.status, item.expected, item.deleted, item.nexus_type) == ("removed", 2, 2, "")
    assert len(item.before) == 2
    assert "500 W 2nd St, Austin" in receipt.restore_file.read_text("utf-8-sig")


def test_a_state_without_records_is_sent_nothing(nexus, scripted, tmp_path):
    receipt = remove_state(scripted, "VT", typed="VT", dry_run=False, folder=tmp_path)
    assert statuses(receipt) == {("VT", ""): "absent"}
    assert nexus.removals == []


# what a service can do


@pytest.mark.parametrize(("lists", "adds"), [(True, True), (True, False), (False, True)])
def test_what_a_service_can_do_is_found_out_without_changing_anything(
    faults, scripted, lists, adds
):
    nexus = Nexus(faults, lists=lists, adds=adds)
    found = abilities(scripted)
    assert (found.lists, found.adds, found.restores) == (lists, adds, lists and adds)
    assert ("cannot be undone" in found.note) == (not found.restores)
    assert nexus.keys == KEYS
    assert nexus.additions == []


def test_what_cannot_be_found_out_is_an_error(faults, scripted):
    Nexus(faults).listing = [refused(401)]
    with pytest.raises(AuthError):
        abilities(scripted)
    nexus = Nexus(faults)
    nexus._add = lambda _: refused(503)
    with pytest.raises(ServiceError):
        abilities(scripted)


# the key


def test_the_key_is_in_nothing_that_is_written_or_shown(nexus, scripted, tmp_path):
    nexus.instead = [said({"error": {"message": f"key {KEY} is bad"}}, 400)]
    receipt = apply(plan_of(scripted, DE, TX), scripted, tmp_path)
    shown = f"{receipt}{receipt!r}{receipt._repr_html_()}{receipt.frame().to_csv()}"
    written = "".join(
        path.read_text("utf-8") for path in (tmp_path / "receipts").iterdir() if path.is_file()
    )
    assert KEY not in shown + written
    assert read_receipt(receipt.path).counts == receipt.counts


def test_a_plan_for_the_embedded_service_holds_for_the_next_process_and_not_another_database(
    tmp_path, monkeypatch
):
    accounts = []
    for name in ("one.db", "one.db", "two.db"):
        monkeypatch.setenv("SVC_DATABASE_URL", str(tmp_path / name))
        with svc_tools.connect("embedded") as client:
            accounts.append(config.account_of(client))
            client._service.close()
    assert accounts[0] == accounts[1] != accounts[2]
