"""A file appears whole or not at all."""

import pytest

from svc_tools.frames.whole_file import whole_file


def test_the_file_has_its_name_once_it_is_written(tmp_path):
    path = tmp_path / "out.txt"
    with whole_file(path) as draft:
        draft.write_text("whole", encoding="utf-8")
        assert not path.exists()
        assert draft.suffix == ".txt"
    assert path.read_text(encoding="utf-8") == "whole"
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
