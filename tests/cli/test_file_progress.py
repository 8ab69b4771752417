"""How far a file is: what a person sees on a terminal, and what a log gets."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from svc_tools import progress
from svc_tools.cli.enrich import FileProgress
from svc_tools.display import duration


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test turns; also that of the bar on a terminal."""
    now = [1_000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def advanced(console, clock, steps, *, name="Looking up", total=10_000, unit="places"):
    """What was written while so many seconds passed and so many were done, step by step."""
    with progress.stage(FileProgress(console, shown=True), name, total, unit) as shown:
        for seconds, count in steps:
            clock[0] += seconds
            shown.advance(count)
    return console.file.getvalue()


def test_a_log_gets_a_line_now_and_then_with_the_rate_and_the_time_left(clock):
    console = Console(file=io.StringIO(), width=80)
    steps = [(10, 1_000), (20, 2_000), (15, 1_000), (15, 2_000)]
    assert advanced(console, clock, steps).splitlines() == [
        "svc: looking up: 3,000 of 10,000 places, 100/s, 1 min 10 s left",
        "svc: looking up: 6,000 of 10,000 places, 100/s, 40 s left",
    ]


def test_a_slow_service_is_told_by_the_minute(clock):
    console = Console(file=io.StringIO(), width=80)
    told = advanced(console, clock, [(60, 6)], total=600)
    assert told == "svc: looking up: 6 of 600 places, 6/min, 1 h 39 min left\n"


def test_rows_of_a_file_whose_length_is_not_known_have_a_rate_and_no_end(clock):
    console = Console(file=io.StringIO(), width=80)
    told = advanced(console, clock, [(30, 300_000)], name="Reading", total=None, unit="rows")
    assert told == "svc: reading: 300,000 rows, 10,000/s\n"


@pytest.mark.parametrize("width", [58, 100])
def test_a_terminal_shows_the_rate_and_the_time_left(clock, width):
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system=None,
        get_time=lambda: clock[0],
    )
    told = advanced(console, clock, [(10, 1_000)] * 4)
    assert "4,000 of 10,000 places, 100/s, 1 min 00 s left" in told


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_shown_where_nobody_wants_it(clock, terminal):
    console = Console(file=io.StringIO(), width=80, force_terminal=terminal)
    with progress.stage(FileProgress(console, shown=False), "Writing", 10, "rows") as shown:
        clock[0] += 100
        shown.advance(5)
    assert console.file.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.44, "0.4 s"),
        (45.2, "45 s"),
        (59.7, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3_599.8, "1 h 00 min"),
        (7_500, "2 h 05 min"),
    ],
)
def test_a_length_of_time_reads_as_people_say_it(seconds, told):
    assert duration(seconds) == told
