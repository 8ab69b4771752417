"""What other systems than this one would do: the system is set, and what it lacks stands in."""

from __future__ import annotations

import ast
import ctypes
import errno
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import zoneinfo
from contextlib import closing
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import platformdirs.macos
import platformdirs.unix
import platformdirs.windows
import pytest
from support.answers import NOW, SOURCE, ok, zip_place
from support.systems import posix, resource

from svc_tools.base import operating_system
from svc_tools.base.atomic import whole_file
from svc_tools.base.loopback import ListenError, listen
from svc_tools.base.operating_system import database_uri, is_closed_pipe, is_on_network, sync, typed
from svc_tools.lookup.cache import Cache
from svc_tools.tables.dates import time_zone

ROOT = Path(__file__).parents[1]
ASKS = re.compile(r"sys\.platform|\bos\.name\b|import fcntl|import msvcrt|platform\.system")
POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
POSIX_SIGNALS = {"SIGALRM", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGUSR2"}
IN_LIBREOFFICE = "svc_tools/excel/calc/addin/pythonpath/svc_calc_server.py"


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "win32")


@pytest.fixture
def macos(monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "darwin")


def test_one_module_asks_for_the_system():
    asking = {
        path.relative_to(ROOT).as_posix()
        for package in ("svc_sdk", "svc_tools")
        for path in (ROOT / package).rglob("*.py")
        if ASKS.search(path.read_text(encoding="utf-8"))
    }
    assert asking == {"svc_tools/base/operating_system.py", IN_LIBREOFFICE}


def run_at_load(tree):
    """What of a module runs while it is loaded: all but the bodies of functions."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield from statement.decorator_list
        if isinstance(statement, ast.ClassDef):
            yield from run_at_load(statement)
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement


def posix_names_at_load(tree):
    """The modules and signals of POSIX alone that a module uses while it is loaded."""
    for node in [node for part in run_at_load(tree) for node in ast.walk(part)]:
        match node:
            case ast.Import(names):
                yield from POSIX_MODULES & {one.name for one in names}
            case ast.ImportFrom(module):
                yield from POSIX_MODULES & {module}
            case ast.Attribute(ast.Name("signal"), name):
                yield from POSIX_SIGNALS & {name}


def test_every_module_loads_on_windows():
    """Pytest ends before its first test where one module of tests does not load."""
    found = {
        path.relative_to(ROOT).as_posix(): names
        for folder in ("svc_sdk", "svc_tools", "tests", "scripts")
        for path in (ROOT / folder).rglob("*.py")
        if (names := [*posix_names_at_load(ast.parse(path.read_text(encoding="utf-8")))])
    }
    assert found == {}


def opened_as_text(tree):
    """The calls that open a file as text: the line of each, and whether it names an encoding."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(attr="read_text" | "write_text" as name), given, options):
                is_named = len(given) > (name == "write_text")
            case ast.Call(
                ast.Attribute(attr="open"), [ast.Constant("r" | "w" | "a" | "x"), *_], options
            ) | ast.Call(ast.Name("open"), [_, ast.Constant("r" | "w" | "a" | "x"), *_], options):
                is_named = False
            case _:
                continue
        yield node.lineno, is_named or any(one.arg == "encoding" for one in options)


def test_no_text_is_in_the_encoding_of_the_system():
    """On Windows that is none that knows every letter."""
    found = [
        f"{path.name}:{line}"
        for package in ("svc_sdk", "svc_tools")
        for path in (ROOT / package).rglob("*.py")
        for line, named in opened_as_text(ast.parse(path.read_text(encoding="utf-8")))
        if not named
    ]
    assert found == []


# Files


def open_files():
    """The paths that this process has open, where the system lists them."""
    links = Path("/proc/self/fd").glob("*")
    return {os.path.realpath(link) for link in links}


@posix
def test_a_file_of_windows_is_written_while_no_handle_of_ours_is_open(windows, tmp_path):
    path = tmp_path / "out.txt"
    for text in ("first", "second"):
        with whole_file(path) as draft:
            assert str(draft) not in open_files()
            draft.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_draft_that_windows_cannot_lock_is_removed_after_a_day(windows, tmp_path):
    of_today, old = (tmp_path / f".out-0000000{number}.txt" for number in (1, 2))
    for draft in (of_today, old):
        draft.touch()
    os.utime(old, (0, 0))
    with whole_file(tmp_path / "out.txt") as draft:
        draft.touch()
    assert (of_today.exists(), old.exists()) == (True, False)


def test_how_many_files_may_be_open_where_the_system_does_not_say(monkeypatch):
    monkeypatch.setattr(operating_system, "NAME", "win32")
    assert operating_system.most_open_files() == 512
    monkeypatch.setattr(operating_system, "NAME", "linux")
    monkeypatch.setitem(sys.modules, "resource", None)  # as on a Python that lacks it
    assert operating_system.most_open_files() == 512


@posix
@pytest.mark.parametrize(("limit", "most"), [(300, 300), (resource.RLIM_INFINITY, 1 << 20)])
def test_how_many_files_may_be_open(monkeypatch, limit, most):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert operating_system.most_open_files() == most


@pytest.mark.parametrize(("system", "tries"), [("win32", 3), ("linux", 1)])
def test_a_file_that_a_scanner_holds_for_a_moment_is_replaced_on_windows(
    monkeypatch, tmp_path, system, tries
):
    left, real = [tries - 1], os.replace

    def held(source, target):
        if left[0]:
            left[0] -= 1
            raise PermissionError(errno.EACCES, "held", str(target))
        real(source, target)

    monkeypatch.setattr(operating_system, "NAME", system)
    monkeypatch.setattr(operating_system, "_PAUSE", 0)
    monkeypatch.setattr(os, "replace", held)
    with whole_file(tmp_path / "out.txt") as draft:
        draft.write_text("whole", encoding="utf-8")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "whole"


@pytest.mark.parametrize("system", ["win32", "linux", "darwin"])
def test_a_file_that_stays_open_elsewhere_is_an_error_and_unchanged(monkeypatch, tmp_path, system):
    def held(_source, target):
        raise PermissionError(errno.EACCES, "held", str(target))

    path = tmp_path / "out.txt"
    path.write_text("before", encoding="utf-8")
    monkeypatch.setattr(operating_system, "NAME", system)
    monkeypatch.setattr(operating_system, "_PAUSE", 0)
    monkeypatch.setattr(os, "replace", held)
    with pytest.raises(PermissionError), whole_file(path) as draft:
        draft.write_text("after", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_macos_is_asked_to_write_through_the_cache_of_the_drive(macos, monkeypatch, tmp_path):
    import fcntl  # noqa: PLC0415 - Windows has none

    asked = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda _handle, what: asked.append(what))
    with (tmp_path / "journal").open("wb") as file:
        sync(file.fileno())
    assert asked == [51]


def no_database(path):
    path.write_bytes(b"SQLite format 3\0" + b"broken" * 1000)


def a_text_that_is_no_utf_8(path):
    """What fails while rows are read, when a cursor is open."""
    cache = Cache(path, clock=lambda: NOW)
    cache.store(SOURCE, [(zip_place(1), ok())], detail=False)
    cache.flush()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE profile SET text = CAST(x'ff00ff' AS TEXT)")


@posix
@pytest.mark.parametrize("damage", [no_database, a_text_that_is_no_utf_8])
def test_a_damaged_cache_is_closed_before_windows_moves_it(windows, monkeypatch, tmp_path, damage):
    path = tmp_path / "results.db"
    damage(path)
    real = Path.rename

    def rename(self, target):
        assert str(self) not in open_files()
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    cache = Cache(path, clock=lambda: NOW)
    cache.known(SOURCE, [zip_place(1)], detail=False)
    cache.store(SOURCE, [(zip_place(1), ok())], detail=False)
    assert [*cache.known(SOURCE, [zip_place(1)], detail=False)] == [zip_place(1)]
    assert len([*tmp_path.glob("results.damaged-*.db")]) == 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# Disks

LINUX = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:50 / /home rw shared:2 - nfs4 server:/home rw
31 30 8:2 / /home/me/local\\040disk rw - xfs /dev/sdb1 rw
"""
MACOS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse)
//me@server/books on /Volumes/books (smbfs, nodev, nosuid, mounted by me)
/dev/disk4s1 on /Volumes/books/usb (apfs, local, nodev)
"""


@posix
@pytest.mark.parametrize(
    ("system", "mounts", "path", "there"),
    [
        ("linux", LINUX, "/var/answers.db", False),
        ("linux", LINUX, "/home/me/answers.db", True),
        ("linux", LINUX, "/home/me/local disk/answers.db", False),
        ("linux", LINUX, "/homeless/answers.db", False),
        ("linux", "", "/home/me/answers.db", False),
        ("darwin", MACOS, "/Users/me/answers.db", False),
        ("darwin", MACOS, "/Volumes/books/answers.db", True),
        ("darwin", MACOS, "/Volumes/books/usb/answers.db", False),
        ("win32", "", r"\\server\share\answers.db", True),
        ("win32", "", r"Z:\answers.db", True),
        ("win32", "", r"C:\Users\me\answers.db", False),
    ],
)
def test_a_disk_of_another_machine_is_known_by_its_mount(monkeypatch, system, mounts, path, there):
    kinds = SimpleNamespace(GetDriveTypeW={"Z:\\": 4, "C:\\": 3}.__getitem__)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kinds), raising=False)
    monkeypatch.setattr(operating_system, "NAME", system)
    assert is_on_network(Path(path), mounts) is there


def test_sqlite_opens_a_path_as_uri_on_each_system(tmp_path):
    share = PureWindowsPath(r"\\server\share\my rates\answers.db")
    assert database_uri(share) == "file:////server/share/my%20rates/answers.db"
    assert database_uri(PureWindowsPath(r"C:\me\a.db")) == "file:///C:/me/a.db"
    path = tmp_path / ("50% of #1.db" if sys.platform == "win32" else "50% of #1?.db")
    with closing(sqlite3.connect(database_uri(path), uri=True)) as connection:
        connection.execute("CREATE TABLE t (c)")
    assert path.exists()


# Sockets


@posix
def test_a_port_of_windows_is_for_one_program(windows, monkeypatch):
    # an option that this system has, and that changes nothing here
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)
    with listen("127.0.0.1", 0) as first:
        assert first.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert not first.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        with pytest.raises(ListenError) as raised:
            listen("127.0.0.1", first.getsockname()[1])
    assert raised.value.code == "port_in_use"


@pytest.mark.parametrize(("system", "code"), [("win32", "port_in_use"), ("linux", "not_possible")])
def test_a_port_that_windows_does_not_permit_is_in_use(monkeypatch, system, code):
    class Refused(socket.socket):
        def bind(self, _address):
            raise PermissionError(errno.EACCES, "not permitted")

        def setsockopt(self, *_):
            pass

    monkeypatch.setattr(operating_system, "NAME", system)
    monkeypatch.setattr(socket, "socket", Refused)
    with pytest.raises(ListenError) as raised:
        listen("127.0.0.1", 8642)
    assert raised.value.code == code


# Signals, commands, terminals, time zones


def test_ctrl_break_ends_a_command_of_windows(windows, monkeypatch):
    monkeypatch.setattr(signal, "SIGBREAK", 21, raising=False)
    assert operating_system.end_signals() == [signal.SIGTERM, 21]


@pytest.mark.parametrize(
    ("system", "error", "closed"),
    [
        ("linux", BrokenPipeError(errno.EPIPE, "x"), True),
        ("linux", OSError(errno.EINVAL, "x"), False),
        ("win32", OSError(errno.EINVAL, "x"), True),
        ("win32", OSError(errno.ENOSPC, "x"), False),
    ],
)
def test_a_reader_that_is_gone_is_known_on_each_system(monkeypatch, system, error, closed):
    monkeypatch.setattr(operating_system, "NAME", system)
    assert is_closed_pipe(error) is closed


@pytest.mark.parametrize(
    ("system", "line"),
    [("linux", "svc-tools enrich 'my orders.csv'"), ("win32", 'svc-tools enrich "my orders.csv"')],
)
def test_a_command_is_shown_as_it_is_typed(monkeypatch, system, line):
    monkeypatch.setattr(operating_system, "NAME", system)
    assert typed(["svc-tools", "enrich", "my orders.csv"]) == line


def test_what_an_output_cannot_encode_is_a_question_mark_and_files_are_utf_8(tmp_path):
    orders = "state,Łódź,order_date,amount\nCA,94105,2026-02-01,10.00\n"
    (tmp_path / "orders.csv").write_text(orders, encoding="utf-8")
    command = ("enrich", "orders.csv", "--zip", "Łódź", "--tax", "amount", "--embedded")
    printed, piped = (
        subprocess.run(
            [sys.executable, "-m", "svc_tools", *command, "-o", output],
            capture_output=True,
            check=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONIOENCODING": "cp1252"},
        ).stdout
        for output in ("out.csv", "-")
    )
    assert "?ód?" in printed.decode("cp1252")
    for written in ((tmp_path / "out.csv").read_bytes(), piped):
        assert written.decode("utf-8-sig").startswith("state,Łódź,")


def test_a_python_without_time_zones_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("tzdata.")]:
        monkeypatch.delitem(sys.modules, name)  # another test has found a zone there
    monkeypatch.setitem(sys.modules, "tzdata", None)
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    try:
        with pytest.raises(ValueError, match="pip install tzdata"):
            time_zone("America/Boise")
    finally:
        zoneinfo.reset_tzpath()


OF_PLATFORMDIRS = {
    "linux": platformdirs.unix.Unix,
    "darwin": platformdirs.macos.MacOS,
    "win32": platformdirs.windows.Windows,
}


@pytest.mark.parametrize("own", [None, "elsewhere", "relative/path", ""])
@pytest.mark.parametrize("kind", ["data", "config", "cache"])
@pytest.mark.parametrize("system", OF_PLATFORMDIRS)
def test_the_folders_of_the_user_are_those_of_platformdirs(
    monkeypatch, tmp_path, system, kind, own
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "AppData" / "Local"))
    # what Windows itself would say, it says in this variable, too
    of_windows = platformdirs.windows
    monkeypatch.setattr(of_windows, "get_win_folder", of_windows.get_win_folder_from_env_vars)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)
        if own is not None:
            monkeypatch.setenv(name, str(tmp_path / own) if own == "elsewhere" else own)
    dirs = OF_PLATFORMDIRS[system]("svc-tools", appauthor=False)
    expected = getattr(dirs, f"user_{kind}_dir")
    monkeypatch.setattr(operating_system, "NAME", system)
    assert operating_system.user_folder(kind) == Path(expected)


def test_on_windows_without_its_variable_the_folders_are_within_the_home(monkeypatch, tmp_path):
    monkeypatch.delenv("LOCALAPPDATA")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(operating_system, "NAME", "win32")
    assert operating_system.user_folder("data") == tmp_path / "AppData" / "Local" / "svc-tools"
