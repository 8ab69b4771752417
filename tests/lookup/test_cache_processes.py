"""Several notebooks at once, and processes that end without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.answers import SOURCE, zip_place

from svc_tools.lookup.cache import Cache, clear_cache

_START = """
import os, sys
from pathlib import Path
from datetime import UTC, datetime
sys.path.append({tests!r})
from support.answers import SOURCE, ok, zip_place
from svc_tools.lookup.cache import Cache

cache = Cache(Path(sys.argv[1]))
first = int(sys.argv[2])

def burst(start):
    now = datetime.now(UTC)
    places = [zip_place(number) for number in range(start, start + 100)]
    outcomes = [(place, ok(now, resolved_zip=place.zip)) for place in places]
    cache.store(SOURCE, outcomes, detail=False)
    return places
"""

_WRITER = """
for step in range(10):
    places = burst(first + 100 * step)
    assert len(cache.known(SOURCE, places, detail=False)) == 100
print(cache.notes)
"""

_ENDLESS = """
step = 0
while True:
    burst(first + 100 * step)
    step += 1
    print(step, flush=True)
"""

_FORKING = """
import signal
import threading
from svc_tools.lookup import cache as module

burst(first)
held, done = threading.Event(), threading.Event()

def hold():
    with module._stores.at(cache.path).lock:
        held.set()
        done.wait()

threading.Thread(target=hold).start()
held.wait()
child = os.fork()  # a thread that the child does not have holds the lock
done.set()
signal.alarm(30)
if child == 0:
    mine = burst(first + 100)
    known = cache.known(SOURCE, [*mine, zip_place(first)], detail=False)
    os._exit(0 if len(known) == 101 and not cache.notes else 1)
_, status = os.waitpid(child, 0)
burst(first + 200)
everything = [zip_place(number) for number in range(first, first + 300)]
print(status, len(cache.known(SOURCE, everything, detail=False)), cache.notes)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.db"


def start(path, body, first=0):
    tests = str(Path(__file__).parents[1])
    program = textwrap.dedent(_START).format(tests=tests) + body
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path), str(first)], stdout=subprocess.PIPE, text=True
    )


def there(path, count):
    known = Cache(path).known(SOURCE, [zip_place(number) for number in range(count)], detail=False)
    assert all(place.zip == outcome.found.resolved_zip for place, outcome in known.items())
    return len(known)


def test_processes_that_write_at_the_same_time_lose_nothing(path):
    writers = [start(path, _WRITER, 1000 * number) for number in range(4)]
    outputs = [writer.communicate(timeout=60)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    assert outputs == ["[]\n"] * 4
    assert there(path, 4000) == 4000


def test_a_process_that_is_killed_loses_at_most_the_burst_it_was_writing(path):
    with start(path, _ENDLESS) as writer:
        for line in writer.stdout:
            said = int(line)
            if said == 5:
                break
        writer.send_signal(signal.SIGKILL)
        said = max([said, *map(int, writer.stdout)])
    found = there(path, 100 * said)
    assert found == 100 * said
    assert Cache(path).notes == []


def test_a_notebook_that_runs_notices_what_others_do(path):
    cache = Cache(path)
    assert there(path, 1000) == 0
    start(path, _WRITER).communicate(timeout=60)
    assert there(path, 1000) == 1000
    assert there(path, 1000) == 1000  # from memory
    assert clear_cache(path) == 1000
    assert there(path, 1000) == 0
    assert cache.notes == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_and_its_parent_both_go_on(path):
    with start(path, _FORKING) as writer:
        assert writer.communicate(timeout=60)[0] == "0 300 []\n"
