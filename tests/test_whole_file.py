"""A file appears whole or not at all."""

from __future__ import annotations

import os
import stat
from datetime import date
from pathlib import Path

import pandas as pd
import pytest
from support.command import svc_tools
from support.systems import posix

from svc_sdk import Svc
from svc_tools import connect, nexus
from svc_tools.base.atomic import whole_file
from svc_tools.excel import settings
from svc_tools.frames import enrich_file
from svc_tools.nexus.journal import Journal
from svc_tools.tables.csv_files import FileError


@posix
def test_the_file_has_its_name_once_it_is_written_and_stays_private(tmp_path):
    path = tmp_path / "out.txt"
    with whole_file(path) as draft:
        draft.write_text("whole", encoding="utf-8")
        assert not path.exists()
        assert draft.suffix == ".txt"
    path.chmod(0o600)
    with whole_file(path) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600
        draft.write_text("new", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")
    half = "half \ud800"  # no file can hold half a surrogate pair
    with pytest.raises(UnicodeEncodeError), whole_file(path) as draft:
        draft.write_text(half, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"out\.txt.*nowhere.*create it"),
        whole_file(tmp_path / "nowhere" / "out.txt"),
    ):
        pass


def refused(*_):
    raise PermissionError(13, "Access is denied", ".out-0123abcd.txt")


@pytest.mark.parametrize(
    ("step", "expected"), [("open", "another folder"), ("replace", "open in another program")]
)
def test_a_file_that_cannot_be_written_is_named_with_what_to_do(
    tmp_path, monkeypatch, step, expected
):
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(os, step, refused)  # as Windows does where it is open in Excel
        with pytest.raises(PermissionError) as raised, whole_file(path):
            pass
    assert str(raised.value).startswith("cannot write ")
    assert "out.txt" in str(raised.value)
    assert expected in str(raised.value)
    assert ".out-" not in str(raised.value)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text(encoding="utf-8") == "old"


def test_a_read_only_file_is_named_and_left(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")
    path.chmod(stat.S_IREAD)
    try:
        with pytest.raises(PermissionError, match=r"out\.txt: it is read-only"), whole_file(path):
            pass
        assert list(tmp_path.iterdir()) == [path]
        assert path.read_text(encoding="utf-8") == "old"
    finally:
        path.chmod(stat.S_IREAD | stat.S_IWRITE)  # for Windows, which removes no read-only file


@posix
def test_what_a_killed_process_left_is_swept_and_what_another_writes_is_not(tmp_path):
    path = tmp_path / "out.txt"
    with whole_file(path) as draft:
        left = draft.with_name(".out-0123abcd.txt")
        left.write_text("of a killed run", encoding="utf-8")
        notes = tmp_path / ".out-notes.txt"
        notes.write_text("of somebody else", encoding="utf-8")
        for one in (draft, left, notes):
            os.utime(one, (0, 0))
        with whole_file(path) as second:
            second.write_text("second", encoding="utf-8")
        assert (draft.exists(), left.exists(), notes.exists()) == (True, False, True)
        draft.write_text("first", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "first"


RATED = pd.DataFrame({"state": ["CA"], "zip": ["94105"], "order_date": ["2026-02-01"]})
RECORDS = [{"state": "OR", "nexus_type": "economic", "registered_at": date(2021, 3, 4)}]


def enriched(client, path, **arguments):
    source = path.with_name("in.csv")
    RATED.to_csv(source, index=False)
    output = arguments.setdefault("output", path)
    enrich_file(source, client=client, force=True, progress=False, cache=False, **arguments)
    assert output.stat().st_size


def looked_up(client):
    return RATED.svc.lookup(client=client, cache=False, progress=False)


def cached(client, path):
    """Results of the embedded service are not cached: it is one over HTTP here."""
    with Svc(client._service.api_key, base_url=client.base_url) as over_http:
        RATED.svc.lookup(client=over_http, cache=path, progress=False)


WRITERS = {
    "out.csv": enriched,
    "out.xlsx": enriched,
    "out.parquet": enriched,
    "report.html": lambda client, path: enriched(
        client, path, output=path.with_name("out.csv"), report=path
    ),
    "report.xlsx": lambda client, path: enriched(
        client, path, output=path.with_name("out.csv"), report=path
    ),
    "layout.toml": lambda client, path: enriched(
        client, path, output=path.with_name("out.csv"), save_layout=path
    ),
    "saved.toml": lambda client, path: looked_up(client).svc.layout().save(path),
    "frame.html": lambda client, path: looked_up(client).svc.report(path),
    "frame.xlsx": lambda client, path: looked_up(client).svc.report(path),
    "rates.svclock": lambda client, path: looked_up(client).svc.freeze(path),
    "register.csv": lambda _, path: nexus.read_register(pd.DataFrame(RECORDS)).write(path),
    "plan.csv": lambda _, path: nexus.make_plan(RECORDS, service="s", account="a").write(path),
    "settings.json": lambda _, path: settings.write_private(path, "{}"),
    "rates.db": cached,
    "keys.db": lambda _, path: svc_tools("keys", "create", "--db", path),
    "journal.jsonl": lambda _, path: Journal(path).close(),
}
"""How each kind of file is written, through the door that a user has."""


@posix
@pytest.mark.parametrize("there", [True, False], ids=["of a file", "of none yet"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_link_stays_one_and_the_file_that_it_leads_to_is_written(tmp_path, name, there):
    (tmp_path / "elsewhere").mkdir()
    link, target = tmp_path / name, tmp_path / "elsewhere" / f"of-a-team{Path(name).suffix}"
    link.symlink_to(Path("elsewhere") / target.name)
    if there and not name.endswith((".db", ".jsonl")):  # those are continued, not replaced
        target.write_text("old", encoding="utf-8")
        target.chmod(0o640)
    with connect("embedded") as client:
        WRITERS[name](client, link)
    assert link.is_symlink()
    assert link.resolve() == target
    assert target.exists()
    assert target.read_bytes() != b"old"
    if target.suffix == ".csv":
        assert stat.S_IMODE(target.stat().st_mode) == (0o640 if there else 0o666 & ~umask())
    assert [path for path in target.parent.iterdir() if path.name.startswith(".")] == []


def umask():
    now = os.umask(0)
    os.umask(now)
    return now


@posix
def test_a_chain_of_links_is_followed_and_a_failure_leaves_what_it_leads_to(tmp_path):
    target = tmp_path / "target.txt"
    target.write_text("old", encoding="utf-8")
    (tmp_path / "second").symlink_to(target)
    link = tmp_path / "first.txt"
    link.symlink_to("second")
    with pytest.raises(ZeroDivisionError), whole_file(link) as draft:
        draft.write_text(str(1 // 0), encoding="utf-8")
    assert target.read_text(encoding="utf-8") == "old"
    with whole_file(link) as draft:
        draft.write_text("new", encoding="utf-8")
    assert target.read_text(encoding="utf-8") == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"target.txt", "second", "first.txt"}


@posix
@pytest.mark.parametrize("kind", ["circle", "pipe", "folder", "nowhere"])
def test_what_no_file_can_be_written_to_is_refused_and_stays(tmp_path, kind):
    path = tmp_path / "out.csv"
    if kind == "circle":
        path.symlink_to("other.csv")
        (tmp_path / "other.csv").symlink_to("out.csv")
    elif kind == "nowhere":
        path.symlink_to(tmp_path / "nowhere" / "rows.csv")
    else:
        target = tmp_path / "target"
        os.mkfifo(target) if kind == "pipe" else target.mkdir()
        path.symlink_to(target)
    before = {one.name: one.lstat().st_mode for one in tmp_path.iterdir()}
    with pytest.raises(OSError, match="cannot write"), whole_file(path):
        pass
    assert {one.name: one.lstat().st_mode for one in tmp_path.iterdir()} == before
    with connect("embedded") as client, pytest.raises(FileError) as refused:
        enriched(client, path)
    assert refused.value.code == "place"
    page = path.with_suffix(".html")
    page.symlink_to("out.csv")
    with connect("embedded") as client, pytest.raises(FileError) as refused:
        enriched(client, path, output=tmp_path / "rows.csv", report=page)
    assert refused.value.code == "place"
    assert not (tmp_path / "rows.csv").exists()
