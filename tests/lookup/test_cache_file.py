"""Whatever is wrong with the cache's file, nothing false is read and no lookup fails for it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from support.answers import NOW, SOURCE, ok, zip_place

from svc_tools.config import embedded_source
from svc_tools.lookup import cache as cache_module
from svc_tools.lookup import cache_store
from svc_tools.lookup.cache import Cache, cache_info, clear_cache

PLACES = [zip_place(number) for number in range(2000)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "answers.db"


@pytest.fixture
def cache(path):
    return fresh(path)


def fresh(path):
    """The cache as another process finds it: nothing is open, nothing in memory."""
    store = cache_module._stores.at(path)
    with store.lock:
        store.close()
    return Cache(path, clock=lambda: NOW)


def filled(path, places=PLACES):
    cache = fresh(path)
    cache.store(SOURCE, [(place, ok(resolved_zip=place.zip)) for place in places], detail=False)
    assert cache.notes == []
    fresh(path)  # closed: all of it is in the one file
    return cache


def known(cache, places=PLACES):
    return cache.known(SOURCE, places, detail=False)


def works(cache):
    """Whether answers are kept and found."""
    cache.store(SOURCE, [(PLACES[0], ok())], detail=False)
    return PLACES[0] in known(cache)


def aside(path, word="damaged"):
    return [one for one in path.parent.iterdir() if f".{word}-" in one.name]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_nobody_else_may_read_it_whatever_the_umask(path, cache):
    before = os.umask(0)
    try:
        assert works(cache)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    assert works(fresh(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("network", "journal", "synchronous"),
    [(False, "wal", 2), (True, "delete", 3)],  # FULL and, on another machine's disk, EXTRA
)
def test_a_commit_that_returned_outlives_a_power_cut(  # noqa: PLR0917 - fixtures
    cache, path, monkeypatch, network, journal, synchronous
):
    monkeypatch.setattr(cache_store, "is_on_network", lambda _: network)
    assert works(cache)
    connection = cache_module._stores.at(path)._file.connection
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == journal
    assert connection.execute("PRAGMA synchronous").fetchone()[0] == synchronous
    assert works(fresh(path))


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:50 / /home rw shared:2 - nfs4 server:/home rw
31 30 8:2 / /home/me/local\\040disk rw - xfs /dev/sdb1 rw
"""


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/var/answers.db", False),
        ("/home/me/answers.db", True),
        ("/home/me/local disk/answers.db", False),
        ("/homeless/answers.db", False),
    ],
)
def test_another_machines_disk_is_told_by_its_mount(tmp_path, path, there):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert cache_store.is_on_network(Path(path), mounts) is there
    assert cache_store.is_on_network(Path(path), tmp_path / "absent") is False


def cut(path, left):
    os.truncate(path, int(path.stat().st_size * left) // 4096 * 4096)


def overwritten(path):
    content = bytearray(path.read_bytes())
    for page in range(3, len(content) // 4096 - 1, 3):
        content[page * 4096 : page * 4096 + 2048] = os.urandom(2048)
    path.write_bytes(content)


def changed(path, old, new):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def executed(path, sql):
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(sql)
        raw.commit()


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda path: path.write_bytes(b"not a database at all" * 100), "damaged"),
        (lambda path: cut(path, 0.3), "damaged"),
        (lambda path: cut(path, 0.9), "damaged"),
        (overwritten, "damaged"),
        (lambda path: changed(path, b",8250,6250,", b",9250,6250,"), "damaged"),  # a rate
        (lambda path: changed(path, b"zip TX 00007", b"zip TX 99907"), "damaged"),  # the place
        (lambda path: changed(path, b'"2026-04"', b'"2026-05"'), "damaged"),  # shared by many
        (lambda path: executed(path, "DELETE FROM profile"), "damaged"),
        (lambda path: executed(path, "PRAGMA user_version = 0"), "older"),
    ],
)
def test_a_damaged_or_older_file_is_never_served_and_set_aside(path, damage, word):
    filled(path)
    damage(path)
    cache = fresh(path)
    for place, outcome in known(cache, [*PLACES, zip_place(99_907)]).items():
        assert (outcome.found.combined, outcome.found.resolved_zip) == (8250, place.zip)
    assert works(cache)
    (moved,) = aside(path, word)
    (note,) = cache.notes
    assert moved.name in note
    assert str(path) in note


def test_damage_in_the_middle_of_a_run_costs_no_answer_that_comes(path):
    filled(path)
    cache = fresh(path)
    assert known(cache, PLACES[:1])
    with path.open("r+b") as file:
        for page in range(5, path.stat().st_size // 4096 - 1):
            file.seek(page * 4096)
            file.write(os.urandom(4096))
    late = [zip_place(number) for number in range(500, 510)]
    cache.store(SOURCE, [(place, ok()) for place in late], detail=False)
    assert len(known(fresh(path), late)) == len(late)
    assert aside(path)
    assert "damaged" in cache.notes[0]


def test_a_file_that_disappears_is_made_again(cache, path):
    assert works(cache)
    path.unlink()  # while a run writes
    cache.store(SOURCE, [(place, ok()) for place in PLACES[5:]], detail=False)
    assert known(fresh(path)).keys() == set(PLACES[5:])
    shutil.rmtree(path.parent)
    assert known(cache) == {}
    assert works(cache)
    assert cache.notes == []


@pytest.mark.parametrize(
    ("name", "make", "problem"),
    [
        ("orders.csv", lambda path: path.write_text("order,zip\n1,78701\n" * 100), "without it"),
        ("notes", lambda path: path.write_text("order,zip\n1,78701\n" * 100), "without it"),
        (
            "a.db",
            lambda path: executed(path, "CREATE TABLE accounts (id INTEGER)"),
            "another program",
        ),
        (
            "b.db",
            lambda path: executed(filled(path).path, "PRAGMA user_version = 99"),
            "newer release",
        ),
        ("c.db/answers.db", lambda path: path.parent.write_text("in the way"), "without it"),
        ("folder", Path.mkdir, "it is a folder"),
    ],
)
def test_what_is_not_a_cache_of_this_release_is_left_alone(tmp_path, name, make, problem):
    path = tmp_path / name
    make(path)
    before = {one: one.is_file() and one.read_bytes() for one in tmp_path.rglob("*")}
    cache = fresh(path)
    for _ in range(2):
        assert not works(cache)
    assert {one: one.is_file() and one.read_bytes() for one in tmp_path.rglob("*")} == before
    (note,) = cache.notes
    assert problem in note


def test_a_full_disk_is_reported_once_and_what_was_stored_is_still_read(path):
    filled(path)
    cache = fresh(path)
    assert known(cache, PLACES[:1])
    connection = cache_module._stores.at(path)._file.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    new = [zip_place(number) for number in range(50_000, 60_000)]
    for _ in range(2):
        cache.store(SOURCE, [(place, ok()) for place in new], detail=False)
    assert known(cache, new) == {}
    assert len(known(cache)) == len(PLACES)
    (note,) = cache.notes
    assert "the disk is full" in note
    assert not aside(path)
    fresh(path)


def test_another_process_that_never_ends_writing_is_not_waited_for_for_ever(path, monkeypatch):
    filled(path)
    monkeypatch.setattr(cache_store, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        cache = fresh(path)
        cache.store(SOURCE, [(zip_place(50_000), ok())], detail=False)
        assert len(known(cache)) == len(PLACES)  # readers are not kept waiting
    (note,) = cache.notes
    assert "another process" in note


def test_what_expired_is_removed_in_time(path):
    late = NOW.replace(year=2027)
    filled(path, [zip_place(number, None) for number in range(10)])
    assert cache_info(path, now=late).sources[0].expired == 10
    cache = Cache(path, clock=lambda: late)
    cache.store(SOURCE, [(zip_place(1), ok(late))], detail=False)
    assert cache_info(path, now=late).sources[0].answers == 1


def test_rate_books_that_nobody_asks_any_more_are_forgotten_and_paid_answers_are_not(path):
    former, current = embedded_source("a" * 64), embedded_source("b" * 64)
    for days, source in ((0, former), (0, SOURCE), (40, current)):
        then = NOW + timedelta(days=days)
        Cache(path, clock=lambda now=then: now).store(source, [(PLACES[0], ok(then))], detail=False)
    assert {one.service for one in cache_info(path).sources} == {current.service, SOURCE.service}


def test_a_ctrl_c_between_a_transaction_and_its_work_does_not_close_the_cache(cache, path):
    assert works(cache)
    connection = cache_module._stores.at(path)._file.connection
    connection.execute("BEGIN IMMEDIATE")  # ... and the interrupt came here
    assert works(cache)
    assert cache.notes == []
    with closing(sqlite3.connect(path, timeout=0)) as other:  # nobody is locked out
        other.execute("BEGIN IMMEDIATE")


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
