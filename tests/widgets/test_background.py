"""Jobs beside the page: nobody waits for them, and their news come in order."""

from __future__ import annotations

import asyncio
import threading

import pytest

from svc_tools.widgets.session import Background


@pytest.fixture
def background():
    return Background()


def test_a_job_that_hangs_holds_nobody_up_and_its_result_is_dropped_when_it_is_cancelled(
    background,
):
    free, told = threading.Event(), []
    job = background.start(lambda: free.wait(30), done=told.append, failed=told.append)
    assert job.running
    job.cancel()
    assert not job.running
    background.settle(5)  # it does not wait for what was given up
    background.start(lambda: "second", done=told.append, failed=told.append)
    background.settle(5)
    free.set()
    for thread in threading.enumerate():
        if thread.name == "svc-tools panel":
            thread.join(5)
    assert told == ["second"]


def test_what_a_job_raises_is_told_as_it_is(background):
    told = []
    background.start(lambda: 1 // 0, done=told.append, failed=told.append)
    background.settle(5)
    assert isinstance(told[0], ZeroDivisionError)


def test_a_job_is_over_when_its_result_is_told(background):
    free, told = threading.Event(), []
    job = background.start(
        lambda: free.wait(5), done=lambda _: told.append(job.running), failed=print
    )
    free.set()
    background.settle(5)
    assert told == [False]


def test_progress_comes_in_order_and_before_the_result(background):
    told = []

    def work():
        for number in range(200):
            background.deliver(told.append, number)
        return "result"

    background.start(work, done=told.append, failed=told.append)
    background.settle(5)
    assert told == [*range(200), "result"]


def test_a_cancelled_job_tells_nothing_more(background):
    begun, go_on, told = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        go_on.wait(5)
        background.deliver(told.append, "late")

    job = background.start(work, done=told.append, failed=told.append)
    begun.wait(5)
    job.cancel()
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "svc-tools panel":
            thread.join(5)
    assert told == []


def test_news_are_delivered_in_the_thread_of_a_running_event_loop(background):
    async def page():
        delivered = asyncio.get_running_loop().create_future()
        background.start(
            threading.get_ident,
            done=lambda worker: delivered.set_result((worker, threading.get_ident())),
            failed=delivered.set_exception,
        )
        return await asyncio.wait_for(delivered, 5)

    worker, deliverer = asyncio.run(page())
    assert deliverer == threading.get_ident() != worker


def test_a_loop_that_is_busy_with_a_cell_does_not_hold_the_news_back(background):
    told = threading.Event()

    async def cell():
        background.start(lambda: None, done=lambda _: told.set(), failed=print)
        return told.wait(10)  # the loop is blocked, as by a long computation

    assert asyncio.run(cell())


def test_an_error_of_the_page_is_not_swallowed_and_the_next_job_works(background, caplog):
    told = []
    background.start(lambda: 1, done=lambda one: one.no_such_thing, failed=told.append)
    with pytest.raises(AttributeError):
        background.settle(5)
    assert "could not show" in caplog.text
    background.start(lambda: 2, done=told.append, failed=told.append)
    background.settle(5)
    assert told == [2]


def test_waiting_for_a_job_that_hangs_says_so(background):
    free = threading.Event()
    background.start(lambda: free.wait(30), done=print, failed=print)
    with pytest.raises(TimeoutError, match="still run"):
        background.settle(0.05)
    free.set()
    background.settle(5)


def others():
    """The threads of other jobs."""
    here = threading.current_thread()
    return [one for one in threading.enumerate() if one.name == here.name and one is not here]


def test_two_jobs_never_tell_at_once(background):
    told, begun = [], threading.Event()

    def first_is_told(_result):
        background.start(begun.set, done=lambda _: told.append("second"), failed=print)
        begun.wait(5)
        for thread in others():
            thread.join(5)  # the second one has ended, and has not told
        told.append("first")

    background.start(lambda: None, done=first_is_told, failed=print)
    background.settle(15)
    assert told == ["first", "second"]


def test_progress_is_seen_while_a_cell_blocks_the_loop_and_the_job_goes_on(background):
    told, end = threading.Event(), threading.Event()

    def work():
        background.deliver(told.set)
        while not (told.wait(0.01) or end.is_set()):
            background.deliver(int)

    async def cell():
        background.start(work, done=print, failed=print)
        seen = told.wait(10)
        end.set()
        return seen

    assert asyncio.run(cell())
