"""Columns of dates as people and programs write them."""

from __future__ import annotations

from datetime import date, datetime, time

from hypothesis import strategies as st

from svc_tools.tables.dates import decide, parse, read

DAYS = st.dates(date(1982, 3, 1), date(2060, 12, 31))
NAMED = [
    "{0:%Y-%m-%d}",
    "{0:%Y%m%d}",
    "{0:%Y/%m/%d}",
    "{0.year}/{0.month}/{0.day}",
    "{0:%Y.%m.%d}",
    "{0:%b %d, %Y}",
    "{0:%B} {0.day}, {0.year}",
    "{0:%a}, {0:%b}. {0.day}, {0.year}",
    "{0.day} {0:%b} {0.year}",
    "{0:%d-%b-%Y}",
    "{0:%d%b%Y}",
    "{0:%A}, {0:%d} {0:%B} {0.year}",
]
"""Forms that have one meaning each."""
MONTH_FIRST = ["{0:%m/%d/%Y}", "{0.month}/{0.day}/{0.year}", "{0:%m-%d-%Y}", "{0:%m.%d.%Y}"]
DAY_FIRST = ["{0:%d/%m/%Y}", "{0.day}/{0.month}/{0.year}", "{0:%d-%m-%Y}", "{0:%d.%m.%Y}"]


def read_column(values, style):
    """What a whole column of these values is read as."""
    cells = parse(values, style.terms)
    return read(cells, decide([cells], style))


def mixed(day):
    """Cells for a day: of one meaning, of either order, a number, or none at all."""
    forms = [*NAMED[:6], *MONTH_FIRST[:2], *DAY_FIRST[:2], "{0:%y-%m-%d}", "{0:%Y-%m-%d} 03:00"]
    number = (day - date(1899, 12, 30)).days
    others = [day, datetime.combine(day, time(1)), number, float(number), str(number), None, ""]
    return st.sampled_from([*(form.format(day) for form in forms), *others, "soon", "7", 7, 123])


ONE_ORDER = st.sampled_from([MONTH_FIRST, DAY_FIRST, ["{0:%y-%m-%d}"]]).flatmap(
    lambda forms: st.lists(DAYS.map(forms[0].format), min_size=1, max_size=9)
)
NUMBERS = st.lists(st.integers(45_000, 45_400).map(str), max_size=40, unique=True)
COLUMNS = st.lists(DAYS.flatmap(mixed), max_size=9).flatmap(
    lambda some: st.tuples(ONE_ORDER | NUMBERS, st.booleans()).flatmap(
        lambda one: st.permutations([*some, *one[0]] if one[1] else some)
    )
)
