"""A city whose rate can be read two ways: its own rate file leaves it so, a record settles it."""

from __future__ import annotations

import pytest
from support.boundary_books import DAY, asking_in, codes
from support.boundary_files import line

RATES = """\
13,45,13,0.04,0.04,0,0,20110101,29991231
13,00,121,0.03,0.03,0.03,0.03,20110101,29991231
13,01,25720,0.0175,0.0175,0.0175,0.0175,20221001,29991231
13,63,00060,0.0075,0.0075,0.0075,0.0075,20170401,29991231
"""
IN_EAST_POINT = {"county": "121", "place": "25720"}


def record(**parts):
    return line("4", zips="30344", state="13", **IN_EAST_POINT, **parts)


@pytest.fixture
def ask(tmp_path):
    lines = (
        record(plus4="0001-4999"),
        record(plus4="5000-9999", specials=["00060"]),
    )
    return asking_in(tmp_path, *lines, rates=RATES, state="GA")


@pytest.mark.parametrize(("plus4", "rate"), [("1234", 8_750), ("5678", 9_500)])
def test_a_boundary_record_says_which_reading_is_right(ask, plus4, rate):
    answer = ask(zip=f"30344-{plus4}")
    assert (answer.chosen.combined, answer.confidence) == (rate, "exact")
    assert "source_conflict" not in codes(answer)


def test_without_a_record_both_readings_are_told(ask):
    answer = ask(DAY, location="East Point")
    assert (answer.chosen.combined, answer.confidence) == (8_750, "low")
    (told,) = [note for note in answer.advisories if note["code"] == "source_conflict"]
    assert told["other_rate"] == "0.02500"
