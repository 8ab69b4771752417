"""One nexus journey, the same in every host: shown first, confirmed, sent once, put back.

The rules themselves are in `test_apply` and `test_edit`; what a host alone has (buttons, options,
cells), in its own tests.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.both import without_waiting
from support.com_stand_ins import com
from support.nexus import KEYS, LOST, RECORDS, SERVICES, Nexus, refused, statuses
from support.nexus_hosts import ADDING, EDITING, REMOVING, SETTLING, STATES, STOPPING

from svc_tools import config
from svc_tools.nexus import list_register

__all__ = ["com"]  # the sheet asks for it by its name

DE, NH, TX = KEYS[:3]
OHIO = {
    "state": "OH",
    "nexus_type": "economic",
    "registered_at": "2024-05-31",
    "address": "1 Main St",
    "notes": "permit 7",
}
OH = ("OH", "economic")


def every(hosts):
    """The case in each of these hosts."""
    return pytest.mark.parametrize(
        "host", hosts, indirect=True, ids=[host.__name__.lower() for host in hosts]
    )


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


@pytest.fixture
def make(tmp_path, monkeypatch, request):
    """Makes a host over a client; receipts are in a folder of the test."""
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "receipts"))
    without_waiting(monkeypatch)
    return lambda kind, client: kind(client, tmp_path, request)


@pytest.fixture
def host(request, make, nexus, scripted):
    return make(request.param, scripted)


# removals


@every(REMOVING)
def test_marked_records_alone_are_removed_once_it_is_confirmed(host, nexus):
    host.mark(DE, NH)
    shown = host.preview()
    host.apply(confirmed=False)
    assert (nexus.methods, host.receipts) == ({"GET"}, [])
    for path in ("DE?nexus_type=economic", "NH?nexus_type=physical"):
        assert f"DELETE /v1/portability/nexus/{path}" in shown
    assert all(notice in shown for notice in host.notices)
    host.apply()
    assert nexus.removals == [DE, NH]
    assert nexus.keys == KEYS[2:]
    assert statuses(host.receipt) == {DE: "removed", NH: "removed"}
    assert host.receipt.finished


@every(REMOVING)
def test_what_was_removed_is_put_back_from_its_receipt(host, nexus):
    host.mark(DE, NH)
    host.apply()
    assert "POST /v1/portability/nexus" in host.restore(confirmed=False)
    assert nexus.additions == []
    host.restore()
    assert nexus.rows == RECORDS
    assert statuses(host.receipt) == {DE: "restored", NH: "restored"}


@every(REMOVING)
def test_a_record_that_is_there_again_as_another_is_left_alone_by_the_undo(host, nexus):
    host.mark(DE, NH)
    host.apply()
    nexus.put(*DE, notes="another")
    host.restore()
    assert statuses(host.receipt) == {DE: "changed", NH: "restored"}
    assert nexus.records[DE]["notes"] == "another"


@pytest.mark.parametrize("undo", SERVICES)
@every(REMOVING)
def test_a_preview_sends_only_get_and_says_whether_it_can_be_undone(host, nexus, undo):
    host.mark(DE, TX)
    vars(nexus).update(SERVICES[undo])
    assert undo in host.preview()
    assert type(host) not in STATES or undo in host.preview_state("NH")
    assert nexus.methods == {"GET"}
    host.apply()
    nexus.faults.seen.clear()
    if undo != "cannot be undone":
        shown = host.restore(confirmed=False)
        assert undo != "is not known" or undo in shown
        assert nexus.methods == {"GET"}


@every(REMOVING)
def test_what_is_gone_or_was_changed_since_is_left_alone(host, nexus):
    host.mark(DE, NH, TX)
    nexus._drop(*DE)
    nexus.records[NH]["notes"] = "keep this one!"
    assert "keep this one!" in host.preview()
    host.apply()
    assert nexus.removals == [TX]
    assert statuses(host.receipt) == {DE: "absent", NH: "changed", TX: "removed"}


@every(REMOVING)
def test_a_mark_taken_back_after_it_was_applied_is_reported(host, nexus):
    host.mark(DE)
    host.apply()
    host.mark(TX)
    for shown in (host.preview(), host.apply()):
        assert "No longer ticked, and done by an earlier run: DE economic" in shown
    assert nexus.removals == [DE, TX]


@every(REMOVING)
def test_a_lost_response_is_settled_by_the_list(host, nexus):
    nexus.instead = [lambda _: LOST]
    host.mark(DE, TX)
    host.apply()
    assert statuses(host.receipt) == {DE: "gone", TX: "removed"}
    assert nexus.removals == [DE, TX]
    host.restore()
    assert nexus.rows == RECORDS


@every(SETTLING)
def test_a_removal_carried_out_late_is_settled_by_the_same_plan(host, nexus):
    nexus.instead = [LOST]
    host.mark(DE)
    host.apply()
    assert statuses(host.receipt) == {DE: "still_there"}
    nexus._drop(*DE)
    host.apply()
    assert (statuses(host.receipt), host.receipt.finished) == ({DE: "gone"}, True)
    assert nexus.removals == [DE]


@every(REMOVING)
def test_what_is_not_known_is_not_sent_again(host, nexus):
    host.mark(DE, TX)
    nexus.lists, nexus.instead = False, [lambda _: LOST]
    host.apply()
    assert statuses(host.receipt) == {DE: "unknown", TX: "not_attempted"}
    host.apply()
    assert statuses(host.receipt) == {DE: "unknown", TX: "removed"}
    assert nexus.removals == [DE, TX]


@every(REMOVING)
def test_a_service_that_goes_down_in_the_middle_leaves_the_rest_for_the_same_plan(host, nexus):
    def before(state, _):
        nexus.down = state == "NH"

    nexus.before = before
    host.mark(DE, NH, TX)
    host.apply()
    assert statuses(host.receipt) == {DE: "removed", NH: "unknown", TX: "not_attempted"}
    nexus.down, nexus.before = False, None
    host.apply()
    assert set(statuses(host.receipt).values()) == {"removed"}
    assert [state for _, state, _ in nexus.sent] == ["DE", "NH", "TX"]


@every(REMOVING)
def test_it_stops_where_the_account_is_refused_and_goes_on_where_it_ended(host, nexus):
    nexus.instead = [lambda done: done, refused(402)]
    host.mark(DE, NH, TX)
    assert "it said 402" in host.apply()
    assert statuses(host.receipt) == {DE: "removed", NH: "refused", TX: "not_attempted"}
    host.apply()
    assert set(statuses(host.receipt).values()) == {"removed"}
    assert nexus.removals == [DE, NH, NH, TX]


@every(STOPPING)
def test_a_stop_ends_it_after_the_request_under_way(host, nexus):
    nexus.before = lambda *_: host.stop()
    host.mark(DE, NH)
    assert "it was stopped" in host.apply()
    assert statuses(host.receipt) == {DE: "removed", NH: "not_attempted"}
    nexus.before = None
    host.apply()
    assert nexus.removals == [DE, NH]


@every(REMOVING)
def test_a_plan_of_another_account_sends_nothing(host, nexus, monkeypatch):
    host.mark(DE)
    other = replace(config.account_of(host.client), account="another")
    monkeypatch.setattr(config, "account_of", lambda _: other)
    for shown in (host.preview(), host.apply()):
        assert "was made for account" in shown
    assert nexus.methods == {"GET"}


# all records of a state


@every(STATES)
def test_all_types_of_a_state_go_once_its_code_is_typed(host, nexus):
    shown = host.preview_state("TX")
    assert "DELETE /v1/portability/nexus/TX" in shown
    host.remove_state("TX", confirmed=False)
    assert nexus.methods == {"GET"}
    host.remove_state("TX")
    assert nexus.removals == [("TX", None)]
    assert statuses(host.receipt) == {("TX", ""): "removed"}


@every(STATES)
def test_a_state_whose_removal_is_not_known_has_a_way_out(host, nexus):
    nexus.lists, nexus.instead = False, [LOST]
    host.remove_state("NH")
    assert statuses(host.receipt) == {("NH", ""): "unknown"}
    assert "make a plan from your own register" in host.preview_state("NH")
    assert nexus.removals == [("NH", None)]


# additions and changes


@every(ADDING)
def test_a_record_is_added_once_it_is_confirmed(host, nexus):
    shown = host.add(OHIO, confirmed=False)
    assert "POST /v1/portability/nexus" in shown
    assert "can be undone" in shown
    assert (nexus.methods, host.receipts) == ({"GET"}, [])
    host.add(OHIO)
    assert nexus.additions == [OHIO]
    assert (host.receipt.kind, statuses(host.receipt)) == ("add", {OH: "added"})


@pytest.mark.parametrize("undo", SERVICES)
@every(ADDING)
def test_the_preview_of_an_addition_sends_only_get(host, nexus, undo):
    vars(nexus).update(SERVICES[undo])
    shown = host.add(OHIO, confirmed=False)
    assert ("does not add or change" if undo == "cannot be undone" else undo) in shown
    assert nexus.methods == {"GET"}


@every(ADDING)
def test_a_record_that_is_there_is_never_overwritten(host, nexus):
    texas = {**OHIO, "state": "TX"}
    for confirmed in (False, True):
        assert "2022-05-01" in host.add(texas, confirmed=confirmed)
    assert nexus.methods == {"GET"}


@every(ADDING)
def test_what_the_service_cannot_add_sends_nothing(host, nexus):
    for lacks in ("adds", "lists"):
        vars(nexus).update({"adds": True, "lists": True, lacks: False})
        assert "does not" in host.add(OHIO)
    assert nexus.methods == {"GET"}


@every(ADDING)
def test_a_lost_response_to_an_addition_is_settled(host, nexus):
    nexus.adding = [lambda _: LOST]
    host.add(OHIO)
    assert (statuses(host.receipt), nexus.additions) == ({OH: "added"}, [OHIO])


@every(ADDING)
def test_an_addition_that_was_refused_is_made_by_the_next(host, nexus):
    nexus.adding = [refused(500)]
    assert "OH economic not changed" in host.add(OHIO)
    host.add(OHIO)
    assert (statuses(host.receipt), nexus.records[OH]) == ({OH: "added"}, OHIO)


@every(EDITING)
def test_a_record_is_changed_and_put_back(host, nexus):
    shown = host.edit(*DE, confirmed=False, notes="new")
    assert "POST /v1/portability/nexus" in shown
    assert nexus.methods == {"GET"}
    host.edit(*DE, notes="new")
    assert nexus.records[DE]["notes"] == "new"
    assert (host.receipt.kind, statuses(host.receipt)) == ("edit", {DE: "updated"})
    host.restore()
    assert nexus.rows == RECORDS


@pytest.mark.parametrize("undo", SERVICES)
@every(EDITING)
def test_the_preview_of_a_change_sends_only_get(host, nexus, undo):
    vars(nexus).update(SERVICES[undo])
    shown = host.edit(*DE, confirmed=False, notes="new")
    assert ("does not add or change" if undo == "cannot be undone" else undo) in shown
    assert nexus.methods == {"GET"}


# the embedded service


def listed(client):
    return [record.texts for record in list_register(client).records]


@pytest.mark.parametrize("kind", REMOVING, ids=[host.__name__.lower() for host in REMOVING])
def test_so_it_is_on_the_embedded_service(make, empty_account, kind):
    for record in RECORDS:
        empty_account.add_nexus(**record)
    host, before = make(kind, empty_account), listed(empty_account)
    host.mark(DE, TX)
    host.apply()
    assert statuses(host.receipt) == {DE: "removed", TX: "removed"}
    host.restore()
    assert listed(empty_account) == before
    host.add(OHIO)
    assert listed(empty_account) == sorted([*before, tuple(OHIO.values())])
    host.restore()
    assert listed(empty_account) == before
