"""Comparing a book with expected rates: what is read, what is refused, how it is counted."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook import Query, resolve
from svc_tools.service.ratebook.accuracy import compare
from svc_tools.service.ratebook.expectations import (
    Expected,
    Unreadable,
    read_expectations,
    read_file,
)

TODAY = date(2026, 8, 1)
DAY = date(2026, 5, 1)


def read(*lines):
    return list(read_expectations([f"{line}\n" for line in lines], "rates.csv"))


def units(text, head="rate"):
    (row,) = read(f"state,zip,{head}", f"NJ,07030,{text}")
    return row.units if isinstance(row, Expected) else row.reason


def test_a_row_is_read_whatever_its_columns_are_called():
    expected = Expected(2, "NJ", "Hoboken", "07030", 6_625, DAY)
    for header in (
        "state,city,zip,rate,as_of",
        "State,City,ZIP Code,Combined Rate,Date",
        "ST,place,zip5,expected,as-of",
        "state_code,City Name,postal code,total_rate,as_of",
    ):
        assert read(header, "nj,Hoboken,07030,0.06625,2026-05-01") == [expected]
    assert read("zip;rate (%);state", "7030;6.625;NJ") == [
        Expected(2, "NJ", "", "07030", 6_625, None)
    ]
    assert read("state\tcity\trate\tnotes", "NJ\tHoboken\t6.625%\tx") == [
        Expected(2, "NJ", "Hoboken", "", 6_625, None)
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("8.25", 8_250),
        ("8.25%", 8_250),
        ("0.0825", 8_250),
        (".0825", 8_250),
        ("8", 8_000),
        ("10.375 %", 10_375),
        ("0.10375", 10_375),
        ("0", 0),
        ("0.000", 0),
    ],
)
def test_a_rate_is_a_percentage_or_a_fraction(text, found):
    assert units(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.3", "neither a fraction such as 0.0825 nor a percentage"),
        ("0.001", "neither"),
        ("25", "neither"),
        ("25%", "which no place has"),
        ("8.2501234", "more than five decimals"),
        ("-8.25", "expected a rate"),
        ("high", "expected a rate"),
        ("nan", "expected a rate"),
        ("1e999", "neither"),
        ("", "expected a rate"),
    ],
)
def test_what_could_be_either_or_neither_is_refused(text, said):
    assert said in units(text)


def test_a_file_keeps_to_one_kind():
    first, second, third = read("state,zip,rate", "NJ,07030,6.625", "NJ,07030,0.07", "NJ,07030,7%")
    assert (first.units, third.units) == (6_625, 7_000)
    assert second.line == 3
    assert "line 2 says that rates here are written as a percentage" in second.reason
    assert "reads as a fraction" in units("0.07", head="rate_pct")
    assert units("6.625", head="Expected rate %") == 6_625


@given(st.integers(500, 20_000))
def test_every_possible_rate_is_read_exactly_in_both_ways(value):
    as_percent, as_fraction = Decimal(value).scaleb(-3), Decimal(value).scaleb(-5)
    assert (
        units(f"{as_percent:f}") == units(f"{as_fraction:f}") == units(f"{as_percent:f}%") == value
    )


@given(st.lists(st.text(max_size=12), max_size=5))
def test_any_row_is_read_or_refused_with_its_line(cells):
    for row in read("state,city,zip,rate,as_of", '"NJ","x","07030",7,', ",".join(cells)):
        assert isinstance(row, Expected | Unreadable)
        assert row.line >= 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("NJ,Hoboken,07030", "3 columns, the header has 4"),
        (",Hoboken,07030,7", "state: empty"),
        ("NJ,,,7", "neither a city nor a ZIP"),
        ("NJ,,0703O,7", "zip: given '0703O'"),
    ],
)
def test_an_unreadable_row_says_why(line, said):
    (row,) = read("state,city,zip,rate", line)
    assert isinstance(row, Unreadable)
    assert (row.line, said in row.reason) == (2, True), row.reason


def test_an_impossible_date_is_refused():
    (row,) = read("state,zip,rate,as_of", "NJ,07030,7,2026-02-30")
    assert "2026-02-30" in row.reason


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("state,zip", "no column for rate"),
        ("zip,rate", "no column for state"),
        ("state,rate", "no column for zip or city"),
        ("", "no column for state, rate, zip or city"),
        ("state,zip,rate,total rate", "both 'rate' and 'total rate' could be the rate"),
    ],
)
def test_an_unusable_header_is_refused(header, said):
    with pytest.raises(ValueError, match=r"rates\.csv") as caught:
        read(header, "NJ,07030,7")
    assert said in str(caught.value)


def test_a_file_is_read_as_it_goes(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_bytes(b"\xef\xbb\xbfstate,zip,rate\r\n" + b"NJ,07030,6.625\r\n" * 5_000)
    counted = []
    rows = read_file(path, counted.append)
    assert next(rows).units == 6_625
    assert counted == []
    assert sum(1 for _ in rows) == 4_999
    assert sum(counted) == path.stat().st_size


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_bytes(b"state,city,rate\nNJ,Hoboken,7\nNJ,Mont\xe9,7\n")
    with pytest.raises(ValueError, match=r"rates\.csv, line 3: not UTF-8"):
        list(read_file(path, print))


def test_a_line_that_is_not_csv_is_refused_alone():
    odd = "x" * 200_000
    broken, whole = read("state,city,rate", f"NJ,{odd},7", "NJ,Hoboken,7")
    assert (broken.line, "not CSV" in broken.reason) == (2, True)
    assert (whole.line, whole.city) == (3, "Hoboken")


def row(line, state, city, zip5, rate, day=None):  # noqa: PLR0917 - the columns of a row
    return Expected(line, state, city, zip5, rate, day)


def test_answers_are_counted_by_state_and_by_confidence(book):
    report = compare(
        book,
        [
            row(2, "NJ", "", "07030", 6_625),
            row(3, "NEW JERSEY", "Trenton", "", 6_625),
            row(4, "NJ", "", "07030", 7_000),
            row(5, "UT", "", "84101", 8_450),
            row(6, "NJ", "", "00000", 6_625),
            row(7, "WI", "Milwaukee", "53202", 7_900, DAY),
            Unreadable(8, "so"),
        ],
        day=TODAY,
    )
    assert report.total.as_dict() == {
        "rows": 6,
        "right": 3,
        "wrong": 1,
        "partial": 1,
        "no_answer": 1,
        "in_range": 0,
    }
    assert {state: tally.rows for state, tally in report.by_state.items()} == {
        "NJ": 4,
        "UT": 1,
        "WI": 1,
    }
    assert report.by_confidence["high"].wrong == report.wrong_though_sure == 1
    assert report.by_confidence["low"].partial == 1
    assert report.by_confidence["none"].no_answer == 1
    assert [(one.line, one.expected, one.found) for one in report.worst] == [(4, 7_000, 6_625)]
    assert (report.unread, report.unreadable) == (1, [Unreadable(8, "so")])
    assert "00000" in report.missing["NJ"].such_as


def test_a_row_is_asked_for_on_its_day(book):
    before, after = date(2023, 12, 31), date(2024, 1, 1)
    report = compare(
        book,
        [
            row(2, "WI", "Milwaukee", "", 5_500, before),
            row(3, "WI", "Milwaukee", "", 7_900, after),
            row(4, "WI", "Milwaukee", "", 5_500),
        ],
        day=before,
    )
    assert report.total.right == 3


def test_the_furthest_differences_are_kept_the_worst_first(book):
    rows = [row(line, "NJ", "", "07030", 6_625 + line) for line in range(1, 31)]
    worst = compare(book, rows, day=TODAY).worst
    assert [one.line for one in worst] == list(range(30, 20, -1))
    rows = [row(line, "NJ", "", "07030", 7_000) for line in range(1, 31)]
    assert [one.line for one in compare(book, rows, day=TODAY).worst] == list(range(1, 11))


def test_a_rate_that_a_part_is_missing_from_counts_as_right_where_it_is(book):
    report = compare(book, [row(2, "UT", "", "84101", 6_100)], day=TODAY)
    assert (report.total.right, report.total.partial) == (1, 0)


def test_a_wrong_answer_is_in_range_where_it_names_rates_around_the_one_expected(book):
    rates = [4_900, 5_000, 5_500, 5_900, 7_900, 8_000]
    rows = [row(line, "WI", "", "53202", rate, DAY) for line, rate in enumerate(rates)]
    report = compare(book, rows, day=TODAY)
    assert (report.total.right, report.total.wrong) == (1, 5)
    ((lowest, highest),) = book_range(book)
    within = [rate for rate in rates if lowest <= rate <= highest and rate != 7_900]
    assert report.total.in_range == len(within) > 0


def book_range(book):
    """The lowest and highest rate that the answer for the ZIP of the test names."""
    answer = resolve(book, Query("WI", zip="53202", as_of=DAY), today=TODAY)
    for warning in answer.simple()["meta"]["warnings"]:
        if warning["code"] == "zip_spans_jurisdictions":
            ends = (warning["lowest_combined_rate"], warning["highest_combined_rate"])
            yield tuple(int(end.replace(".", "")) for end in ends)
