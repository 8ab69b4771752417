"""Whatever is wrong with the cache's file, nothing false is read and no lookup fails for it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import textwrap
from contextlib import ExitStack, closing, suppress
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from support.answers import NOW, OTHER, SOURCE, ok, zip_place
from support.examples import ALL
from support.systems import posix

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


def aside(path):
    return list(path.parent.glob(f"{path.stem}.damaged-*{path.suffix}"))


@posix
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
        raw.executescript(sql)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"not a database at all" * 100),
        lambda path: cut(path, 0.3),
        lambda path: cut(path, 0.9),
        overwritten,
        lambda path: changed(path, b",8250,6250,", b",9250,6250,"),  # a rate
        lambda path: changed(path, b"zip TX 00007", b"zip TX 99907"),  # the place
        lambda path: changed(path, b'"2026-04"', b'"2026-05"'),  # shared by many
        # in the schema, which the message of SQLite quotes
        lambda path: changed(path, b"CREATE TABLE upkeep", b"CREATE TABLE" + 7 * b"\xea"),
        lambda path: executed(path, "DELETE FROM profile"),
    ],
)
def test_a_damaged_file_is_never_served_and_set_aside(path, damage):
    filled(path)
    damage(path)
    cache = fresh(path)
    for place, outcome in known(cache, [*PLACES, zip_place(99_907)]).items():
        assert (outcome.found.combined, outcome.found.resolved_zip) == (8250, place.zip)
    assert works(cache)
    (moved,) = aside(path)
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


@posix
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
    monkeypatch.setattr(cache_store, "_BUSY_SECONDS", 0.05)
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


def test_what_earlier_releases_stored_of_the_embedded_service_stays_until_it_is_cleared(path):
    former = embedded_source("a" * 64)
    for days, source in ((0, former), (0, SOURCE), (400, OTHER)):
        then = NOW + timedelta(days=days)
        Cache(path, clock=lambda now=then: now).store(source, [(PLACES[0], ok(then))], detail=False)
    assert {one.service for one in cache_info(path).sources} == {
        *(former.service, SOURCE.service, OTHER.service)
    }
    assert clear_cache(path, service="embedded") == 1
    assert former.service not in {one.service for one in cache_info(path).sources}


def test_a_ctrl_c_between_a_transaction_and_its_work_does_not_close_the_cache(cache, path):
    assert works(cache)
    connection = cache_module._stores.at(path)._file.connection
    connection.execute("BEGIN IMMEDIATE")  # ... and the interrupt came here
    assert works(cache)
    assert cache.notes == []
    with closing(sqlite3.connect(path, timeout=0)) as other:  # nobody is locked out
        other.execute("BEGIN IMMEDIATE")


CONTENT = [zip_place(number) for number in range(600)]
LOGGED = [zip_place(number) for number in range(600, 700)]
USED = [*CONTENT, *LOGGED, zip_place(90_000)]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a cache, of its log, and of another cache: of another account, other rates."""
    files = []
    for name, source, rate in (("a", SOURCE, 8250), ("b", OTHER, 5000)):
        path = tmp_path_factory.mktemp(name) / "answers.db"
        for content in (CONTENT, LOGGED):
            cache = fresh(path)  # which writes the log into the file
            stored = [(place, ok(resolved_zip=place.zip, combined=rate)) for place in content]
            cache.store_quota(source, 4711)
            cache.store(source, stored, detail=False)
        files += [path.read_bytes(), Path(f"{path}-wal").read_bytes()]
        fresh(path)
    return files


def pages(content):
    return len(content) // 4096


def some(random, count):
    return random.sample(range(count), k=min(count, random.randint(1, 4)))


def truncated(random, files):
    return files[0][: random.randrange(len(files[0]))], files[1]


def truncated_log(random, files):
    return files[0], files[1][: random.randrange(len(files[1]))]


def single_bytes(random, files, index=0):
    content = bytearray(files[index])
    for _ in range(random.choice([1, 1, 3, 50])):
        content[random.randrange(len(content))] = random.randrange(256)
    return [content if number == index else files[number] for number in range(2)]


def single_bytes_of_the_log(random, files):
    return single_bytes(random, files, 1)


def header_bytes(random, files):
    content = bytearray(files[0])
    for _ in range(random.choice([1, 2, 8])):
        content[random.randrange(100)] = random.randrange(256)
    return content, random.choice([files[1], b""])


def swapped_header_fields(random, files):
    content = bytearray(files[0])
    one, other = (4 * place for place in random.sample(range(4, 25), k=2))
    content[one : one + 4], content[other : other + 4] = (
        content[other : other + 4],
        content[one : one + 4],
    )
    return content, random.choice([files[1], b""])


def random_pages(random, files, make=None):
    content = bytearray(files[0])
    for page in some(random, pages(content)):
        new = random.randbytes(4096) if make is None else make(page)
        content[page * 4096 : page * 4096 + 4096] = new
    return content, random.choice([files[1], b""])


def zeroed_pages(random, files):
    return random_pages(random, files, lambda _: bytes(4096))


def pages_of_another_cache(random, files):
    other = files[2]
    return random_pages(random, files, lambda page: other[page * 4096 : page * 4096 + 4096])


def log_of_another_cache(random, files):
    return files[0], random.choice([files[3], random.randbytes(70_000), files[0]])


def emptied(random, files):
    return b"", files[1]


def another_schema(random, files):
    statement = random.choice(
        [
            "DROP TABLE answer",
            "DROP TABLE profile",
            "DELETE FROM upkeep",
            "UPDATE upkeep SET cleaned = 'soon'",
            "ALTER TABLE answer RENAME COLUMN body TO content",
            "ALTER TABLE source DROP COLUMN quota",
            "ALTER TABLE answer ADD COLUMN more TEXT NOT NULL DEFAULT 'x'",
            "UPDATE answer SET body = CAST(body AS TEXT) || 'x'",
            "UPDATE answer SET body = NULL, sum = NULL",
            "UPDATE answer SET expires = 'never'",
            "UPDATE answer SET body = '[1, 1e300]'",
            "UPDATE profile SET text = x'ff00ff'",
            "UPDATE profile SET text = CAST(x'ff00ff' AS TEXT)",
            "UPDATE source SET quota = 'many', quota_told = 'now'",
            "UPDATE source SET service = x'ff', account = x'ff'",
            "PRAGMA application_id = 7",
        ]
    )
    return files[0], b"", statement


DAMAGES = (
    *(truncated, truncated_log, single_bytes, single_bytes_of_the_log, header_bytes),
    *(swapped_header_fields, random_pages, zeroed_pages, pages_of_another_cache),
    *(log_of_another_cache, emptied, another_schema),
)


def damaged(path, seed, damage, files):
    """A cache's file with a damage."""
    path.parent.mkdir(exist_ok=True)
    content, log, *statements = damage(Random(seed), files)  # noqa: S311 - no secret
    path.write_bytes(content)
    Path(f"{path}-wal").write_bytes(log)
    for statement in statements:
        with suppress(sqlite3.Error):
            executed(path, statement)


def used(path):
    """Use all that lookups and commands call: nothing is raised, and nothing false is read."""
    cache = Cache(path, clock=lambda: NOW)
    before = known(cache, USED)
    assert all(
        (one.found.combined, one.found.resolved_zip) == (8250, place.zip)
        for place, one in before.items()
    )
    assert cache.quota(SOURCE) in {4711, 17, None}
    assert cache.known(OTHER, USED, detail=False) == {}
    cache.store_quota(SOURCE, 17)
    cache.store(
        SOURCE, [(zip_place(1000 + n), ok(resolved_zip="x")) for n in range(5)], detail=False
    )
    cache.flush()
    assert {one.found.resolved_zip for one in known(cache, [zip_place(1003)]).values()} <= {"x"}
    assert cache.quota(SOURCE) in {17, None}
    return cache


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_is_raised_or_read(tmp_path, good, damage, late, monkeypatch):
    monkeypatch.setattr(cache_store, "_prepare", _unsynced(cache_store._prepare))
    for seed in range(12 if ALL else 4):
        path = tmp_path / str(seed) / "answers.db"
        damaged(path, seed, (lambda _, files: files[:2]) if late else damage, good)
        if late:  # the file is open, and partly read
            assert known(Cache(path, clock=lambda: NOW), CONTENT[:1])
            damaged(path, seed, damage, good)
        notes = []
        for _ in range(2):
            notes += used(path).notes
            fresh(path)
        if notes and "newer release" in notes[0]:  # by its header, which nobody can contradict
            assert not aside(path)
            continue
        assert len(aside(path)) == len(notes) <= 1  # set aside once: from then on all works
        assert works(fresh(path))
        info = cache_info(path, now=NOW)
        assert info.sources or info.notes  # it reads more than a lookup does
        clear_cache(path, now=NOW)
        assert cache_info(path, now=NOW).sources == ()


@posix
def test_what_is_set_aside_is_whole_and_replaces_nothing(path, good):
    content, log, *_ = good
    content = content[: len(content) // 2]
    for _ in range(3):  # in one second
        damaged(path, 0, lambda *_: (content, log), good)
        assert known(fresh(path)) == {}
        assert works(fresh(path))
        fresh(path)
    moved = aside(path)
    assert [one.read_bytes() for one in moved] == [content] * 3
    assert [Path(f"{one}-wal").read_bytes() for one in moved] == [log] * 3
    assert len(known(fresh(path))) == 1


def test_a_folder_and_a_file_without_rights_are_no_reason_to_fail(path):
    path.mkdir(parents=True)
    assert "it is a folder" in used(path).notes[0]
    for work in (cache_info, clear_cache):
        with pytest.raises(ValueError, match="it is a folder"):
            work(path)
    path.rmdir()
    filled(path)
    path.chmod(0)
    used(path)
    assert not aside(path)


def _unsynced(prepare):
    """A damage is of the bytes, not of the disk: without waiting for that, tests are faster."""

    def prepare_unsynced(connection, kind, *, mode):
        prepare(connection, kind, mode=mode)
        connection.execute("PRAGMA synchronous = OFF")

    return prepare_unsynced


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

_MEETING = """
for path in map(Path, map(str.strip, sys.stdin)):
    cache = Cache(path)
    for places in ([zip_place(0)], [zip_place(number) for number in range(2000)]):
        cache.known(SOURCE, places, detail=False)
        print("open", flush=True)
        sys.stdin.readline()
    burst(10_000 + first)
    print(len(cache.notes), flush=True)
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
        [sys.executable, "-c", program, str(path), str(first)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
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
        writer.kill()
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


def test_processes_that_find_the_same_damage_set_it_aside_once(path, tmp_path):
    good = filled(path).path.read_bytes()
    count = 4
    processes = [start(path, _MEETING, 100 * number) for number in range(count)]

    def told(word):
        for process in processes:
            process.stdin.write(f"{word}\n")
        return [process.stdout.readline().strip() for process in processes]

    with ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        for number in range(10):
            path = tmp_path / str(number) / "answers.db"
            path.parent.mkdir()
            path.write_bytes(good)
            assert told(path) == ["open"] * count
            with path.open("r+b") as file:
                for page in range(3, len(good) // 4096):
                    file.seek(page * 4096)
                    file.write(os.urandom(4096))
            # all read the damage, and write as soon as they have a new file
            for process in processes:
                process.stdin.write("read\nwrite\n")
            lines = [[process.stdout.readline() for _ in range(2)] for process in processes]
            assert sum(int(line) for _, line in lines) == 1
            assert len(aside(path)) == 1
            written = [zip_place(10_000 + n) for n in range(100 * count)]
            assert len(known(Cache(path), written)) == len(written)
            fresh(path)


@posix
def test_a_forked_child_and_its_parent_both_go_on(path):
    with start(path, _FORKING) as writer:
        assert writer.communicate(timeout=60)[0] == "0 300 []\n"
