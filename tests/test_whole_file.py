"""A file appears whole or not at all."""

import os
import stat

import pytest
from support.systems import posix

from svc_tools.atomic import whole_file


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
