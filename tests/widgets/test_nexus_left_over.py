"""What a page or a kernel leaves unfinished is said by the next one, and can be gone on with."""

from __future__ import annotations

import threading

import pytest
from support.nexus import click, confirm, planned, previewed, row, tick
from support.nexus import message as said

from svc_sdk import Svc
from svc_tools.widgets.nexus_tab import NexusTab
from svc_tools.widgets.session import Session


@pytest.fixture
def tab(lean, scripted, tmp_path):
    return opened(scripted, tmp_path / "first")


def opened(client, folder):
    tab = NexusTab(Session(client, folder=folder))
    tab.opened()
    tab.session.background.settle()
    return tab


def offered(tab):
    return tab.left_over.result.value


def stopped_in_the_middle(tab, lean):
    lean.before = lambda *_: tab.apply.stop_button.click()
    previewed(tab, "DE economic", "MT economic")
    confirm(tab, tab.apply.confirm, "2")
    lean.before = None
    assert lean.sent == [("DELETE", "DE", "economic")]


def test_a_removal_that_ended_early_is_offered_and_continued(tab, lean, scripted, tmp_path):
    early = NexusTab(Session(scripted, folder=tmp_path / "early"))
    stopped_in_the_middle(tab, lean)
    assert "it was stopped" in tab.receipt.result.value
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


def test_ticks_that_were_not_applied_are_offered_and_nothing_is_sent(tab, lean, scripted, tmp_path):
    tick(planned(tab), "DE economic", "NY economic")
    later = opened(scripted, tmp_path / "later")
    assert "was not applied" in offered(later)
    assert "2 ticked" in offered(later)
    click(later, later.left_over.open_button)
    assert row(later, "NY economic").remove.value
    assert later.apply.confirm.expected == ""
    assert lean.sent == []


def test_what_another_account_left_over_is_offered_only_to_that_account(
    tab, lean, faults, scripted, tmp_path
):
    stopped_in_the_middle(tab, lean)
    tick(planned(tab), "NY economic")
    with Svc("other-key-0123456789abcdef", base_url=faults.base_url) as other:
        later = opened(other, tmp_path / "other")
        assert offered(later) == ""
        later.session.use(scripted)
        later.session.background.settle()
        assert "1 removed" in offered(later)
        later.session.use(other)
        later.session.background.settle()
        assert offered(later) == ""


def test_the_plan_of_an_earlier_receipt_is_opened_from_it(tab, lean, scripted, tmp_path):
    stopped_in_the_middle(tab, lean)
    later = opened(scripted, tmp_path / "later")
    click(later, later.history.list_button)
    click(later, later.history.open_button)
    click(later, later.receipt.plan_button)
    assert [one.state for one in later.cleanup.plan.ticked] == ["DE", "MT"]


def test_ticks_that_cannot_be_written_are_said_and_take_the_preview_back(tab, lean, tmp_path):
    previewed(tab, "DE economic")
    results = tab.session.folder / "results"
    results.rename(tmp_path / "elsewhere")
    results.write_text("in the way")
    tick(tab, "MT economic")
    assert "svc-trouble" in said(tab.plan)
    assert tab.apply.confirm.expected == ""
    assert tab.apply.preview.value == ""


@pytest.mark.parametrize("step", ["register", "apply", "whole_state"])
def test_a_question_that_hangs_is_given_up_with_a_button(tab, lean, step):
    tick(planned(tab), "DE economic")
    section = getattr(tab, step)
    asks = section.list_button if step == "register" else section.preview_button
    tab.whole_state.state.value = "DE"
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
    click(tab, asks)
    assert "Canceled" not in said(section)
    assert lean.sent == []


def test_an_undo_shows_how_far_it_is_and_stops_after_the_one_under_way(tab, lean):
    previewed(tab, "DE economic", "MT economic")
    confirm(tab, tab.apply.confirm, "2")
    click(tab, tab.receipt.preview_button)
    receipt, moved = tab.receipt, []

    def stop_after_the_first(change):
        moved.append((change.new, receipt.progress.max))
        if change.new == 1:
            receipt.stop_button.click()

    receipt.progress.observe(stop_after_the_first, "value")
    confirm(tab, tab.receipt.confirm, "2")
    assert moved[0] == (1, 2)
    assert [method for method, *_ in lean.sent].count("POST") == 1
    assert receipt.running.layout.display == "none"


def test_two_panels_never_send_the_same_removal_twice(tab, lean, scripted, tmp_path):
    previewed(tab, "DE economic", "MT economic")
    other = opened(scripted, tmp_path / "other")
    previewed(other, "DE economic", "NY economic")
    confirm(tab, tab.apply.confirm, "2")
    confirm(other, other.apply.confirm, "2")
    assert lean.sent == [("DELETE", state, "economic") for state in ("DE", "MT", "NY")]
    found = {item.state: item.status for item in other.cleanup.receipt.items}
    assert found == {"DE": "absent", "NY": "removed"}
