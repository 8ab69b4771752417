"""Messy cells show the same in every host: one table, by plain Python, xlwings, Node and Calc."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal

import pytest
from support.hosts import (
    HOSTS,
    REAL_ERRORS,
    cell,
    in_python,
    through_calc,
    through_office_js,
)

from svc_tools.excel.registry import EXAMPLES, FUNCTIONS
from svc_tools.excel.values import ErrorCell

DAY = "2026-02-01"
DIVIDED, MISSING = ErrorCell("#DIV/0!"), ErrorCell("#N/A")
BAD, NONE = "#INVALID", ""
PASSED_ON = {None: "#PARTIAL", through_office_js: "#N/A", through_calc: "#N/A"}
"""An incomplete rate in a cell that a formula adds up."""
OF_CALC = "Err:504"
"""What Calc shows for any formula over a range with an error in it."""


def zips():
    """A ZIP Code of California in a cell, unless the state is named: what SVC_RATE shows."""
    rate = 0.08625
    for content in (
        *("94105", 94105, " 94105 ", "'94105", "94105\u00a0", "94105.0", "94105-"),
        *("94105-1234", " 94105-1234 ", "94105\u20131234", "94105 1234", "941051234", 941051234),
        Decimal("94105.0000"),  # a cell formatted as currency, as COM hands it over
    ):
        yield content, rate
    for content in (
        *("9410", 9410, 94105.5, -94105, 1e300, "94,105", "9410S", "94105-123", "1234567890"),
        *("n/a", "none", "unknown", "ZIP 94105", "#94105", "\uff19\uff14105"),
        *("SW1A 1AA", True),
    ):
        yield content, BAD
    # a date cell is a number for these two, and the ZIP Code of that number lies in Indiana
    yield date(2026, 2, 1), {None: BAD, through_office_js: "#N/A", through_calc: "#N/A"}
    for content in (None, "", "   "):
        yield content, NONE
    yield "K1A 0B1", "#UNSUPPORTED"
    yield "98101", "#UNRESOLVED"
    yield DIVIDED, "#DIV/0!"
    yield MISSING, "#N/A"
    yield "#WERT!", "#WERT!"  # an error of a German Excel, pasted as text
    yield "#UNRESOLVED No rate.", "#UNRESOLVED"


STATES = [
    *((one, "94105", 0.08625) for one in ("CA", "ca", " Ca ", "California", "US-CA", "Calif.")),
    *((one, "94105", 0.08625) for one in ("CA - California", None, "")),
    *((one, "94105", BAD) for one in ("XX", "Cali", "06", 6, True)),
    *((one, "20001", 0.06) for one in ("DC", "D.C.", "Washington DC")),
    ("MA", 2134, 0.0625),
    (None, 2134, BAD),  # only the state says that a zero is missing
    ("MA", "2134", 0.0625),
    ("MA", 21341234, 0.0625),
    ("NJ", 7030.0, 0.06625),
    (None, "42223", BAD),  # it lies in two states
    ("PR", "00901", "#UNSUPPORTED"),
    (DIVIDED, "94105", "#DIV/0!"),
    ("OR", "97201", 0),
    ("LA", "70601", "#PARTIAL"),
]


def days():
    """A day in a cell, and the day that is looked up."""
    for content in (
        *("2026-02-01", " 2026-02-01 ", "'2026-02-01", "2026/02/01", "2026.2.1", "20260201"),
        *("2026-02-01T23:59:00", "2026-02-01 14:03", "2026-02-01T23:30:00-05:00"),
        *("2026-02-01T10:00:00Z", "Feb 1, 2026", "February 1, 2026", "1 Feb 2026", "1-Feb-26"),
        *("Sun, 1 Feb 2026", 46054, 46054.75, 20260201, date(2026, 2, 1)),
        datetime(2026, 2, 1, 23, 59),  # noqa: DTZ001 - as COM hands it over
    ):
        yield content, "2026-02-01"
    for content in ("02/15/2026", "2/15/26", "15/02/2026", "15.02.2026", "02/15/2026 2:03 PM"):
        yield content, "2026-02-15"
    yield "02/02/2026", "2026-02-02"  # the same in both orders
    for content in (
        *("03/04/2026", "3/4/26", "03.04.2026", "2026-02-30", "02/30/2026", "2026-02", "Feb 2026"),
        *("46054", "tomorrow", "n/a", "", "  ", None, True, 0.5, 100, -46054, 70000, "1899-12-30"),
        *("2150-01-01", "26-02-24"),
    ):
        yield content, BAD
    yield DIVIDED, "#DIV/0!"
    yield "#N/A", "#N/A"


AMOUNTS = [
    *((one, 8.63) for one in (100, "100", " $100.00 ", Decimal("100.0000"))),
    *((4, 0.35), (-4, -0.35), ("(4.00)", -0.35), ("$1,234.50", 106.48), (0.1 + 0.2, 0.03)),
    *((0, 0), ("0.00", 0), ("", NONE)),
    *((one, BAD) for one in (19.995, "19.995", "ten", "12 50", 9e11, -1e300)),
    (DIVIDED, "#DIV/0!"),
    ("#PARTIAL", PASSED_ON),
    (None, {None: NONE, through_calc: 0}),  # Calc hands an empty cell over as 0
    (True, BAD),
]

RATES = "combined_rate, lookup_as_of"
CA = [0.08625, DAY]
TABLES = [
    ([["CA", "94105", DAY], ["WA", 98101, "2024-06-01"]], [CA, [0.1035, "2024-06-01"]]),
    (
        [["Zip Code", "State", "Date"], [94105, "CA", "02/15/2026"], [94105, "CA", "3/4/2026"]],
        [[0.08625, "2026-02-15"], [BAD, NONE]],  # each date by itself
    ),
    (
        [
            ["Order no", "Ship to ZIP", "Ship to State", "Bill to ZIP", "Order date", "Amount"],
            [45001, "94105", "California", "10001", 46054, 46100],
            [None] * 6,
            [45002, "nowhere", "CA", "10001", date(2026, 2, 1), 5],
        ],
        [CA, [NONE] * 2, [BAD, NONE]],
    ),
    ([["PostalCode", "As  of", "order"], ["94105", "Feb 1, 2026", 7]], [CA]),
    ([["Zip", "Date", "Margin"], ["94105", DAY, DIVIDED]], {None: [CA], through_calc: OF_CALC}),
    ([["zip", "Country", "Date"], ["10115", "Germany", DAY]], [["#UNSUPPORTED", NONE]]),
    ([["State", "Place", "Date"], ["WA", "Seattle", "2024-06-01"]], [[0.1035, "2024-06-01"]]),
    ([["Zip", "Date", None, ""], ["94105", 46054, 1, "x"]], [CA]),
    ([["Zip", "Postal code", "Date"], ["94105", "10001", DAY]], BAD),  # two of one role
    ([["Zip", "Order date", "Ship date"], ["94105", DAY, DAY]], BAD),
    ([["Zip", "State", "When"], ["94105", "CA", 46054]], BAD),  # not rates of today
    ([["Zip", "State", "When"], ["94105", "CA", "02/15/2026"]], BAD),
    ([["Zip", "State", "When"], ["94105", "CA", 20260201]], BAD),
    ([["Zip", "State", None], ["94105", "CA", 46054]], BAD),  # a merged heading
    ([["Zip", "State", 2026], ["94105", "CA", 46054]], BAD),
    ([["Zip", "Total", "Total"], ["94105", 5, 46054]], BAD),
    ([["Zip", "Period"], ["94105", "2026-02"]], BAD),
    ([["Zip", "Fecha de venta"], ["94105", "1 de febrero de 2026"]], BAD),
    ([["Zip", "Rechnungsdatum"], ["94105", "1. Februar 2026"]], BAD),
    ([["Zip", "Date", "Date"], ["94105", DAY, DAY]], BAD),
    ([["Ship to ZIP", "State", "Bill to City"], ["94105", "NY", "Albany"]], BAD),
    ([["Order", "Amount", "Date"], ["A1", 5, DAY]], BAD),  # no place
    ([["Region", "Code"], ["CA", "94105"]], BAD),
    ([["State", "Zip", "Date"]], BAD),
    ([["TX"]], BAD),
    ([["CA", "94105", DAY, 5]], BAD),
    ([["State", "#REF!"], ["CA", "94105"]], "#REF!"),
]

CASES = [
    *(("SVC_RATE", "CA", cell(one), DAY, shows) for one, shows in zips()),
    *(("SVC_RATE", cell(state), cell(one), DAY, shows) for state, one, shows in STATES),
    *(
        ("SVC_RATE", "CA", "94105", cell(one), shows)
        if shows.startswith("#")
        else ("SVC_FIELD", "lookup_as_of", "CA", "94105", cell(one), shows)
        for one, shows in days()
    ),
    *(("SVC_TAX", cell(one), "CA", "94105", DAY, shows) for one, shows in AMOUNTS),
    *(("SVC_LOOKUP", rows, RATES, shows) for rows, shows in TABLES),
    ("SVC_TAX", cell(5), "CA", cell(None), DAY, BAD),
    ("SVC_RATE", "LA", "70601", DAY, cell(" Partial"), 0.05),
    ("SVC_RATE", "LA", "70601", DAY, cell(None), "#PARTIAL"),
    ("SVC_RATE", "LA", "70601", DAY, cell("yes"), BAD),
    ("SVC_RATE", "CA", [["94105"], [None], [94105], ["x"], ["#N/A"]], DAY,
     [[0.08625], [NONE], [0.08625], [BAD], ["#N/A"]]),
    ("SVC_RATE", [["CA"], ["WA"]], [[94105], ["98101"]], [[46054], ["2/15/2026"]],
     [[0.08625], [0.1055]]),
    ("SVC_RATE", [["CA"], ["WA"]], [["94105"], ["98101"], ["1"]], DAY, {None: BAD}),
    ("SVC_TAX", [[100, 4], [None, "x"]], "CA", [["94105"], [94105]], DAY,
     [[8.63, 0.35], [NONE, BAD]]),
    ("SVC_TAX", [[0], [4], [0]], "CA", [[None], [94105], ["94105"]], DAY, [[NONE], [0.35], [0]]),
    ("SVC_SUM", [[0.1], [0.2], [None], ["  "]], 0.3),
    ("SVC_SUM", [[1.1], ["2.2"]], BAD),
    ("SVC_SUM", [[1.1], ["#PARTIAL"]], PASSED_ON),
    ("SVC_SUM", [[1.1], [DIVIDED]], {None: "#DIV/0!", through_calc: OF_CALC}),
    ("SVC_RATE_GEO", "CA", cell("34.0537"), cell(-118.2428), DAY, 0.0975),
    ("SVC_RATE_GEO", "CA", cell(134), cell(-118.2428), DAY, BAD),
    ("SVC_RATE_GEO", "CA", cell(34.0537), cell(None), DAY, BAD),
    ("SVC_RATE_PLACE", "WA", cell("Seattle, WA"), "2024-06-01", 0.1035),
    ("SVC_RATE_ADDRESS", "CA", cell(None), cell(None), "94105", DAY, BAD),
    ("SVC_STATUS", "CA", cell("bad"), DAY, "invalid"),
    ("SVC_STATUS", "CA", cell(94105), cell("01/15/1990"), "review"),
    ("SVC_NEXUS_STATUS", cell("XX"), BAD),
    ("SVC_NEXUS_STATUS", cell(None), NONE),
]  # fmt: skip
"""A function, its arguments, and what it shows in plain Python; by host where one cannot know."""


def expected(shows, host):
    """What a host shows: real errors are `#VALUE!` where an argument cannot be used, else #N/A."""
    if isinstance(shows, dict):
        return shows[host] if host in shows else expected(shows[None], host)
    if isinstance(shows, list):
        return [expected(one, host) for one in shows]
    if host is through_calc and shows in {"#DIV/0!", OF_CALC}:
        return shows
    if host is through_calc and isinstance(shows, bool):
        return float(shows)  # the only form that it has
    if host in REAL_ERRORS and isinstance(shows, str) and shows[:1] == "#" and shows != "#PARTIAL":
        return "#VALUE!" if shows == BAD else "#N/A"
    return shows


def flat(shows):
    """Rows of one row or one cell as that."""
    while isinstance(shows, list) and len(shows) == 1:
        shows = shows[0]
    return [flat(one) for one in shows] if isinstance(shows, list) else shows


@pytest.mark.parametrize("host", HOSTS)
def test_messy_cells_show_the_same_in_every_host(desk, request, host):
    assert len(CASES) >= 125
    shows = [expected(case[-1], host) for case in CASES]
    found = host(desk, request, [case[:-1] for case in CASES], shows)
    wrong = [
        f"{case} shows {one}"
        for case, one, wanted in zip(CASES, found, shows, strict=True)
        if flat(one) != flat(wanted)
    ]
    assert not wrong, "\n".join(wrong)


ODD = [True, False, 0, date(2026, 2, 1), DIVIDED, MISSING, None, "", "FALSE"]
WHOLE = {
    **EXAMPLES,
    "SVC_ASOF": ("CA", "94105", DAY),
    "SVC_SOURCE": ("CA", "94105", DAY),
    "SVC_NEXUS": ("TX",),
    "SVC_NEXUS_STATUS": ("TX", "economic"),
}
LAST = {"accept": "partial", "rounding": "half_up"}
OF_A_RUN = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:]+Z| Support reference req_\w+\.|req_\w+|http://[\d.]+:\d+"
    r"|embedded service"
)
"""The time and reference of a lookup, and the server that made it: Calc has one of its own."""


def with_each(odd):
    """A call for each argument of each function, with a cell of this content in its place."""
    for one in FUNCTIONS:
        given = [str(it) if isinstance(it, date) else it for it in WHOLE[one.name]]
        given += [LAST[it.name] for it in one.parameters[len(given) :]]
        for at in range(len(given)):
            if not callable(odd):
                yield one.name, *given[:at], cell(odd), *given[at + 1 :]
            else:
                yield one.name, *given[:at], cell(odd(at, one.zeros)), *given[at + 1 :]


def as_passed(host, odd):
    """What a host passes to a function in place of such a cell, by the argument."""
    if isinstance(odd, date) and host in REAL_ERRORS:
        return 46054  # for them a date cell is a number
    if odd == 0 and odd is not False and host in REAL_ERRORS:
        return lambda at, zeros: 0 if at in zeros else None  # and a 0 may be an empty cell
    if odd is None and host is through_calc:
        return lambda at, zeros: 0 if at in zeros else None
    return odd


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("host", HOSTS[1:])
def test_an_odd_cell_as_any_argument_shows_the_same_in_every_host(desk, request, host, odd):
    calls = [*with_each(odd)]
    assert len(calls) > 50
    plain = in_python(desk, request, [*with_each(as_passed(host, odd))], None)
    shows = [expected(one, host) for one in plain]
    found = host(desk, request, calls, shows)
    wrong = [
        f"{call} shows {one}, expected {wanted}"
        for call, one, wanted in zip(calls, found, shows, strict=True)
        if OF_A_RUN.sub("", repr(flat(one))) != OF_A_RUN.sub("", repr(flat(wanted)))
    ]
    assert not wrong, "\n".join(wrong)
