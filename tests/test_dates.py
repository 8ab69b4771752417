"""How the dates of a column are read: any form is read back, and nothing is guessed."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dates import COLUMNS, DAY_FIRST, DAYS, MONTH_FIRST, NAMED, read_column
from support.examples import examples

import svc_tools
from svc_tools.lookup.troubles import counted_alike
from svc_tools.tables.dates import (
    FORMATS,
    ZONES,
    DateStyle,
    DateTerms,
    NoDate,
    checked_format,
    decide,
    exact_day,
    iso_day,
    parse,
    read,
    read_one,
    time_zone,
)
from svc_tools.tables.places import Cells, place_query
from svc_tools.tables.roles import DatesAmbiguous

CHICAGO = ZoneInfo("America/Chicago")
TWO_DIGITS = ["{0:%d-%b-%y}", "{0:%b} {0.day}, '{0:%y}"]
SHORT = {"month first": "{0:%m/%d/%y}", "day first": "{0:%d/%m/%y}"}
CLOCKS = ["", " 14:03", " 14:03:11", ", 2:03 PM", " 02:03:11 pm", "T14:03:11", " 14:03:11.250"]
ZONED = [*CLOCKS, " 14:03:11 -0400", "T14:03:11-04:00", " 14:03 PST", " 2:03:11 PM EDT"]


def days(values, *terms, **known):
    """The days of a column of these values; `known` are the fields of its style."""
    of_user = {name: known.pop(name) for name in ("tz", "home") if name in known}
    style = replace(DateTerms(*terms), **of_user).style()
    return read_column(values, replace(style, **known)).days


@given(DAYS, st.sampled_from(NAMED + TWO_DIGITS), st.sampled_from(ZONED))
def test_a_date_in_a_form_of_one_meaning_is_read_back(day, form, clock):
    assert days([form.format(day) + clock]) == [day]


@given(
    st.lists(DAYS, min_size=1, max_size=12),
    st.sampled_from([(MONTH_FIRST, "month first"), (DAY_FIRST, "day first")]),
    st.randoms(use_true_random=False),
)
def test_a_column_is_read_in_its_own_order_or_not_at_all(written, forms, random):
    forms, order = forms
    if random.random() < 0.3:  # two digits of the year
        forms = [SHORT[order]]
    cells = [random.choice(forms).format(day) + random.choice(CLOCKS) for day in written]
    cells += random.sample(["n/a", "pending", "", "13/13/2026"], 2)
    random.shuffle(cells)
    if all(day.day <= 12 for day in written) and any(day.day != day.month for day in written):
        with pytest.raises(DatesAmbiguous) as refused:
            days(cells)
        assert refused.value.kind == "either"
        assert refused.value.shown
        assert all(value in cells for value in refused.value.shown)
    else:
        found = days(cells)
        assert sorted(day for day in found if isinstance(day, date)) == sorted(written)
    told = [day for day in days(cells, order) if isinstance(day, date)]
    assert sorted(told) == sorted(written)
    convention = days(cells, month_first=order == "month first")
    kept = [day for day in convention if isinstance(day, date)]
    assert sorted(kept) == sorted(written)


@given(st.lists(DAYS, min_size=1, max_size=6), st.sampled_from(["", ".5", ".0"]), st.booleans())
def test_day_numbers_of_a_spreadsheet_are_days(written, fraction, as_text):
    numbers = [f"{(day - date(1899, 12, 30)).days}{fraction}" for day in written]
    assert days(numbers if as_text else list(map(float, numbers))) == written


@pytest.mark.parametrize("others", [["10001", "99999"], [1784011310215], ["1"]])
def test_numbers_among_others_are_no_days(others):
    found = days([46143, 46144, *others])
    assert all(isinstance(one, NoDate) for one in found)


def test_cells_that_decide_differently_are_both_shown():
    with pytest.raises(DatesAmbiguous) as refused:
        days(["02/03/2026", "15/01/2026", "01/16/2026"])
    assert (refused.value.kind, refused.value.shown) == ("both", ("15/01/2026", "01/16/2026"))
    first, second = days(["15/01/2026", "01/16/2026"], "month first")
    assert (str(first), second) == (
        "'15/01/2026' is not a date if it is read month first",
        date(2026, 1, 16),
    )


def test_the_cells_decide_before_the_convention_of_an_export():
    found = days(["15/01/2026", "02/01/2026"], month_first=True)
    assert found == [date(2026, 1, 15), date(2026, 1, 2)]


@pytest.mark.parametrize("cell", [datetime(2026, 2, 1), date(2026, 2, 1), 46054])  # noqa: DTZ001
def test_texts_that_a_spreadsheet_could_not_convert_make_its_dates_doubtful(cell):
    with pytest.raises(DatesAmbiguous) as refused:
        days([cell, "13/02/2026"])
    assert refused.value.kind == "exchanged"
    assert days([cell, "13/02/2026"], "day first") == [date(2026, 2, 1), date(2026, 2, 13)]
    assert days([cell, "13/02/2026", "12/02/2026"])[1:] == [date(2026, 2, 13), date(2026, 2, 12)]


def test_two_digits_with_hyphens_may_be_the_year():
    with pytest.raises(DatesAmbiguous) as refused:
        days(["26-02-24", "26-02-25"])
    assert (refused.value.kind, refused.value.shown) == ("year", ("26-02-24",))
    assert days(["26-02-24"], "year first") == [date(2026, 2, 24)]
    assert days(["26-02-24"], "day first") == [date(2024, 2, 26)]
    # a cell that cannot begin with the year decides for all
    assert days(["15-01-26", "15-01-2026"]) == [date(2026, 1, 15)] * 2
    assert days(["01-15-26", "02-03-26"]) == [date(2026, 1, 15), date(2026, 2, 3)]
    assert not isinstance(days(["26-02-24"], undecided=False)[0], date)


def test_one_date_in_either_order_decides_nothing_and_needs_no_decision():
    assert days(["05/05/2026", "6/6/26"]) == [date(2026, 5, 5), date(2026, 6, 6)]


def in_parts(parts, style):
    """What a column is read as in parts, all of which decide where one of them needs it."""
    parsed, found, asked = [parse(part, style.terms) for part in parts], [], []
    for at, part in enumerate(parsed):
        if style.needs_decision(part):
            asked.append(at)
            style = decide(iter(parsed), style)
        found += read(part, style).days
    return style, found, asked


def test_a_column_in_parts_is_decided_on_all_of_it_and_only_if_it_must_be():
    parts = [["2026-05-01"], ["02/03/2026"], ["13/03/2026"], ["04/05/2026"]]
    style, found, asked = in_parts(parts, DateStyle())
    assert found == [date(2026, 5, 1), date(2026, 3, 2), date(2026, 3, 13), date(2026, 5, 4)]
    assert asked == [1]
    later = DateStyle.from_json(style.as_json())
    assert read_column(["02/03/2026"], later).days == [date(2026, 3, 2)]
    assert in_parts([["2026-05-01"], ["May 2, 2026", None, "soon"]], DateStyle())[2] == []


def in_words(days):
    return [None if day is None else str(day) for day in days]


def outcome(parts):
    """What a column gives that is read in these parts: days, the note, and the error if any."""
    style = replace(DateTerms(home=CHICAGO).style("as_of", "sold"), zone=UTC)
    try:
        style, found, _ = in_parts(parts, style)
    except DatesAmbiguous as error:
        return error.kind, error.shown, error.role, error.column
    return in_words(found), style.note, style.settled()


@examples(40, of=300)
@given(COLUMNS, st.data())
def test_any_parts_of_a_column_are_read_as_the_whole_of_it(cells, data):
    cuts = data.draw(st.lists(st.integers(0, len(cells)), max_size=4).map(sorted))
    parts = [cells[start:end] for start, end in pairwise([0, *cuts, len(cells)])]
    whole = outcome([cells])
    assert outcome([[cell] for cell in cells]) == whole
    assert outcome(parts) == whole


def test_a_number_that_is_no_day_counts_once_however_often_it_stands_in_the_parts():
    cells = [*range(46_100, 46_110), 7, 7]
    found, note, _ = outcome([cells[:6], cells[6:11], cells[11:]])
    assert "46100 is 2026-03-19" in note
    assert found[:2] == ["2026-03-19", "2026-03-20"]
    assert found[-1].startswith("'7' is a number")


def test_what_an_earlier_release_stored_is_read_as_it_was():
    zones = {"tz": None, "home": "UTC", "zone": "America/Chicago"}
    stored = {"date_format": None, "order": "day first", "counts_days": True, **zones}
    style = DateStyle.from_json(stored)
    assert read_column(["02/03/2026", 46143], style).days == [date(2026, 3, 2), date(2026, 5, 1)]
    assert style.as_json() == {**stored, "from_1904": False}


@pytest.mark.parametrize("value", [DateTerms(), DateStyle(), read_column([], DateStyle())])
def test_nothing_of_a_decision_is_set_after_it_is_made(value):
    for one in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, one.name, None)


def test_no_module_sets_what_a_style_of_dates_holds():
    names = {one.name for one in fields(DateStyle)}
    source = Path(svc_tools.__file__).parent
    found = [
        f"{path.relative_to(source)}:{node.lineno} sets {node.attr}"
        for path in sorted(source.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
        if node.attr in names and ast.unparse(node.value) != "self"
    ]
    assert not found
    dates = ast.parse((source / "tables" / "dates.py").read_text(encoding="utf-8"))
    assert not any("__setattr__" in ast.unparse(node) for node in ast.walk(dates))


def test_a_part_is_not_read_before_its_column_has_decided():
    for value in ("02/03/2026", "13/03/2026", 46143, "13/13/2026", "7"):
        cells = parse(["2026-05-01", value], DateTerms())
        with pytest.raises(RuntimeError, match="before"):
            read(cells, DateStyle())
        assert len(read(cells, DateStyle().settled()).days) == 2  # by themselves
    plain = parse(["2026-05-01", "May 2, 2026", None, "soon"], DateTerms())
    assert not DateStyle().needs_decision(plain)
    assert read(plain, DateStyle()).days[:3] == [date(2026, 5, 1), date(2026, 5, 2), None]
    assert decide([plain], DateStyle(month_first=True)) == DateStyle(month_first=True).settled()


def test_how_a_column_is_read_is_no_word_of_the_user():
    decided = read_column(["13/03/2026"], DateTerms(tz=CHICAGO).style("date", "sold")).style
    assert (decided.terms, decided.order) == (DateTerms(tz=CHICAGO), "day first")
    assert not isinstance(decided, DateTerms)
    assert not hasattr(decided, "style")


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("2024-03-01T02:30:00Z", date(2024, 2, 29)),
        ("2024-03-01 02:30:00+00:00", date(2024, 2, 29)),
        ("2024-03-01 02:30:00 UTC", date(2024, 2, 29)),
        ("Fri, 01 Mar 2024 02:30:00 GMT", date(2024, 2, 29)),
        (datetime(2024, 3, 1, 5, 59, tzinfo=UTC), date(2024, 2, 29)),
        (datetime(2024, 3, 1, 6, 0, tzinfo=UTC), date(2024, 3, 1)),
        (datetime(2024, 3, 1, 0, 0), date(2024, 3, 1)),  # noqa: DTZ001 - it has no zone
        ("2024-03-01", date(2024, 3, 1)),
        (None, None),
    ],
)
def test_a_time_in_utc_has_the_date_of_the_zone_that_counts(cell, day):
    for terms in (DateTerms(tz=CHICAGO), DateTerms(home=CHICAGO)):
        assert read_one(cell, terms.style()) == day
    assert read_one(cell, DateStyle()) == (day and date(2024, 3, 1))


@given(
    st.datetimes(datetime(2025, 12, 20), datetime(2026, 1, 10)),  # noqa: DTZ001 - of no zone yet
    st.sampled_from([None, *ZONES]),
)
def test_the_times_whose_month_depends_on_the_zone_are_those_of_another_month(moment, home):
    moment = moment.replace(tzinfo=UTC)
    found = read_column([moment], DateTerms(home=time_zone(home) or UTC).style())
    where = [ZoneInfo(home)] if home not in {None, "UTC"} else map(ZoneInfo, ZONES)
    assert bool(found.other_month) == any(
        moment.astimezone(zone).month != moment.month for zone in where
    )
    assert found.utc == [0]


def test_the_times_of_an_export_in_utc_are_in_utc():
    cells = ["2026-05-01 03:00", "2026-05-01", "5/31/26 4:00 AM", "5/1/26"]
    assert days(cells, home=CHICAGO, zone=UTC) == [
        date(2026, 4, 30),
        date(2026, 5, 1),
        date(2026, 5, 30),
        date(2026, 5, 1),
    ]
    # a day number with a fraction is a time, too: 01:00, the day alone, 12:00
    assert days(["46143.041667", "46143", "46143.5"], home=CHICAGO, zone=UTC) == [
        date(2026, 4, 30),
        date(2026, 5, 1),
        date(2026, 5, 1),
    ]


def test_a_time_at_the_end_of_time_is_an_error_of_its_cell():
    with pytest.raises(ValueError, match="out of range"):
        read_one(datetime(1, 1, 1, tzinfo=UTC), DateTerms(tz=CHICAGO).style())


@pytest.mark.parametrize("date_format", [*FORMATS, "%m/%d/%Y", "%d.%m.%y %H:%M", "%j %Y"])
@given(day=DAYS)
def test_a_format_reads_what_it_writes(date_format, day):
    form = {
        "month first": "%m/%d/%y",
        "day first": "%d/%m/%y",
        "year first": "%y/%m/%d",
    }.get(date_format, date_format)
    assert days([day.strftime(form)], date_format) == [day]
    assert days([day, datetime.combine(day, time(3))], date_format) == [day, day]


def test_a_number_without_its_leading_zero_is_read_in_the_format():
    assert days([1112026, "1312026"], "%m%d%Y") == [date(2026, 1, 11), date(2026, 1, 31)]


def test_a_time_may_follow_a_date_in_a_format():
    assert days(["3/4/2026 9:15 PM", "2026-04-03"], "%d/%m/%Y") == [date(2026, 4, 3)] * 2


@pytest.mark.parametrize("date_format", ["%d/%m", "%H:%M", "MM/DD/YYYY", "", "%m/%m/%Y", 5])
def test_a_format_without_a_whole_date_is_refused(date_format):
    with pytest.raises(TypeError if date_format == 5 else ValueError, match="date_format"):
        checked_format(date_format)


def test_the_menus_show_what_their_entries_read():
    for name, example in FORMATS.items():
        assert set(days(example.split(" or "), name)) == {date(2026, 1, 31)}
    assert all(time_zone(zone) is not None for zone in ZONES)


BAD = {
    "as written": ["pending", "soon", "2026-02-30", "05/2026x"],
    "months": ["2026-05", "06/2026", "May 2026"],
    "numbers": [5, 1784011310215, "12"],
    "neither": ["13/13/2026", "31/04/2026 at noon"],
    "format": ["a", "b"],
    "order": ["15/01/2026", "16/01/2026"],
    "range": [datetime(1, 1, 1, tzinfo=UTC), datetime(1, 1, 1, 1, tzinfo=UTC)],
    "undecided": ["01/02/2026", "03/04/2026"],
}


@pytest.mark.parametrize(
    ("role", "cells"),
    [
        ("country", ["Mexico", "Canada"]),
        ("zip", ["K1A 0B6", "M5V 2T6"]),
        ("zip", ["09001", "09002"]),
        ("zip", ["00901", "00902"]),
        ("zip", ["99", "98"]),
        ("lat", ["95", "96"]),
        ("address", ["1 St", "12 St"]),
        ("state", ["ZZ", "QQ"]),
        ("as_of", ["soon", "later"]),
    ],
)
def test_so_are_reasons_about_places(role, cells):
    place = {"address": "1 Main St", "city": "Austin", "lng": -97.0, "as_of": "2026-05-01"}
    if role != "country":
        known = {"lat": {"lng": -97.0}, "as_of": {"zip": "78701"}, "address": {"state": "TX"}}
        place = known.get(role, {})
    found = [place_query(Cells(**{**place, role: cell}), dated=False) for cell in cells]
    assert len({one.reason for one in found}) == 2
    (alike,) = counted_alike((one.status, one.reason, 1) for one in found)
    assert alike[2] == 2


@pytest.mark.parametrize("kind", BAD)
def test_reasons_that_differ_in_the_cell_are_counted_as_one(kind):
    given = {"format": ["%d.%m.%Y"], "order": ["month first"]}.get(kind, [])
    known = {"undecided": False} if kind == "undecided" else {}
    found = days(BAD[kind], *given, tz=CHICAGO, **known)
    reasons = [("invalid", f"as_of: {one}", 1) for one in found]
    (alike,) = counted_alike(reasons)
    assert alike[2] == len(BAD[kind])
    assert repr(str(BAD[kind][0])) in alike[1]


def test_an_iso_day_is_no_other_form():
    assert iso_day(" 2026-05-01 14:03 ") == iso_day("20260501") == date(2026, 5, 1)
    for text in ("05/31/2026", "May 1, 2026", "2026-05-01T00:00Z", "2026-W10-1", "46143"):
        assert iso_day(text) is None
    assert exact_day("2026-05-01") == date(2026, 5, 1)
    for text in ("2026-05-01 14:03", "20260501", " 2026-05-01", "2026-W10-1", "2026-02-30", ""):
        assert exact_day(text) is None


@pytest.mark.parametrize("name", ["Texas", "", "America/Nowhere", "../etc/passwd", -6])
def test_a_zone_that_is_none_is_refused(name):
    assert time_zone(CHICAGO) is CHICAGO
    assert time_zone(None) is None
    with pytest.raises(TypeError if name == -6 else ValueError, match="tz"):
        time_zone(name)


def test_fixed_offsets_are_no_utc():
    west = timezone(timedelta(hours=-5))
    moment = datetime(2026, 5, 1, 1, tzinfo=west)
    assert read_one(moment, DateTerms(home=CHICAGO).style()) == date(2026, 5, 1)


def test_reading_dates_loads_no_pandas():
    code = "import sys, svc_tools.tables.dates; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
