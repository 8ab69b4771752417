"""The shipped thresholds against what they were compiled from, and a user's own rows over them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.nexus import Threshold, Thresholds, ThresholdsError, read_thresholds
from svc_tools.nexus.thresholds import THRESHOLD_COLUMNS
from svc_tools.tables.states import STATES

TODAY = date(2026, 11, 21)
ROLLING, PREVIOUS = "MN MO MS TN TX VT", "AL FL MI NM RI"
TABLE = [
    # states, sales, transactions, logic, certainty: the table that the rows were compiled from
    ("CA TX", 500_000, None, "sales", "high"),
    ("NY", 500_000, 100, "and", "high"),
    ("AL", 250_000, None, "sales", "high"),
    ("MS", 250_000, None, "sales", "medium"),
    ("CT", 100_000, 200, "and", "high"),
    ("AZ CO FL IA ID IN KS LA MA ME NC ND SC SD UT WA WI WY AK", 100_000, None, "sales", "medium"),
    ("MO NM OK PA TN", 100_000, None, "sales", "medium"),
    ("IL", 100_000, None, "sales", "high"),
    ("KY", 100_000, None, "sales", "medium"),
    ("MD MI MN NE NV NJ RI VT", 100_000, 200, "or", "medium"),
    ("AR DC GA HI OH VA WV", 100_000, None, "unknown", "low"),
    ("DE MT NH OR", None, None, "none", "high"),
]
# the beginnings of the days: some are known to the month or the year only
DROPPED = """
CO=2019-04    CA=2019-04    IA=2019-07    ND=2019       WA=2019       WI=2021-02
SD=2023-07-01 LA=2023-08-01 IN=2024-01-01 NC=2024-07-01 WY=2024-07-01 AK=2025-01-01
UT=2025-07-01 IL=2026-01-01 KY=2026-08-01
"""
DROPPED = dict(pair.split("=") for pair in DROPPED.split())
# state: which sales count, whether a marketplace's do, months the duty lasts; as pages say it
PAGES = """
CO retail no 12;  DC retail yes 12; GA retail no -;   ID gross yes 12;  IL retail no 12
KS gross yes -;   MA gross no -;    ME gross no -;    MI gross yes 12;  MO taxable yes 15
MS gross no -;    NJ gross yes 12;  NM taxable no -;  NV retail yes -;  OH retail yes -
PA gross yes 15;  RI gross yes -;   TN retail yes -;  VA retail no -;   WI gross yes 12
"""
DISAGREED = """
AL retail - -;    AR - no -;        AZ - no 12;       CT - yes -;       LA - no -
ND taxable - 12;  NY gross - -;     SC gross - -;     VT - yes -;       WV - yes -
"""
ALL_KNOWN = "CO IA ID IL MI MO NJ PA TX WA WI"


def states_of(text):
    """The facts of each state in such a table."""
    rows = [row.split() for row in text.replace("\n", ";").split(";") if row.strip()]
    truth = {"yes": True, "no": False, "-": None}
    return {
        state: (
            None if base == "-" else base,
            truth[counts],
            None if months == "-" else int(months),
        )
        for state, base, counts, months in rows
    }


def facts(row):
    return row.base, row.marketplace_counts, row.trailing_months


def test_each_state_has_the_threshold_that_was_compiled():
    shipped = read_thresholds()
    expected = {
        state: (sales, transactions, logic, certainty)
        for states, sales, transactions, logic, certainty in TABLE
        for state in states.split()
    }
    assert expected.keys() == STATES.keys()
    found = {state: shipped.of(state, TODAY) for state in STATES}
    assert {
        state: (row.sales, row.transactions, row.logic, row.certainty)
        for state, row in found.items()
    } == expected


def test_each_state_measures_over_its_own_time():
    periods = dict.fromkeys(STATES, "current_or_previous_year")
    periods |= dict.fromkeys(ROLLING.split(), "rolling_12_months")
    periods |= dict.fromkeys(PREVIOUS.split(), "previous_year")
    periods |= {"NY": "four_quarters", "IL": "four_quarters", "CT": "twelve_months_to_september"}
    periods |= dict.fromkeys(["DE", "MT", "NH", "OR"])
    assert {row.state: row.period for row in read_thresholds().rows} == periods


def test_a_test_that_was_dropped_has_a_row_before_and_one_after():
    shipped = read_thresholds()
    dropped = {row.state: row.transactions_dropped_on for row in shipped.rows}
    assert {state for state, day in dropped.items() if day} == DROPPED.keys()
    for state, begins in DROPPED.items():
        day = dropped[state]
        assert str(day).startswith(begins)
        before = shipped.of(state, day.fromordinal(day.toordinal() - 1))
        after = shipped.of(state, day)
        assert (before.transactions, before.logic) == (200, "or")
        assert (after.transactions, after.logic) == (None, "sales")
        assert before.effective_to < day == after.effective_from
        if len(begins) < 10 and state not in {"CA", "CO", "IA", "WA", "WI"}:
            assert "its first one stands here" in after.notes


def test_every_row_has_a_source_and_a_date():
    for row in read_thresholds().rows:
        assert row.source.startswith("public summaries, not checked against a state page")
        assert row.checked_on == TODAY
        # what is filled in has a page that says it
        assert row.base is None or "base" in row.source
        assert row.marketplace_counts is None or "marketplaces" in row.source
        assert row.trailing_months is None or "end of the duty" in row.source
        assert row.logic != "unknown" or (row.certainty == "low" and "disagree" in row.notes)
    assert "local code" in read_thresholds().of("AK", TODAY).notes


def test_what_pages_say_of_a_state_is_in_its_row_and_nothing_else():
    shipped = read_thresholds()
    for state, expected in states_of(PAGES + DISAGREED).items():
        assert facts(shipped.of(state, TODAY)) == expected, state
    for state in states_of(DISAGREED):
        assert "Sources disagree on" in shipped.of(state, TODAY).notes
    before = shipped.of("LA", date(2023, 7, 31))  # sales for resale counted then, for certain
    assert (before.base, before.marketplace_counts) == ("gross", False)
    assert shipped.of("CO", date(2019, 4, 13)).trailing_months is None  # the rule is of a later day
    assert shipped.of("WI", date(2021, 2, 19)).trailing_months is None
    # sales alone can make a candidate only where every fact is known
    today = [row for row in shipped.rows if row.covers(TODAY) and row.certainty != "low"]
    known = {row.state for row in today if None not in facts(row)}
    assert known == set(ALL_KNOWN.split())


def csv_of(tmp_path, *rows, columns=THRESHOLD_COLUMNS, delimiter=","):
    path = tmp_path / "own.csv"
    lines = [delimiter.join(columns), *(delimiter.join(row) for row in rows)]
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")
    return path


def row(state="TX", begin="", **cells):
    usual = {
        "state": state,
        "effective_from": begin,
        "sales": "400000",
        "logic": "sales",
        "period": "previous_year",
        "certainty": "high",
        "source": "own reading",
        "checked_on": "2026-10-01",
    }
    return [(usual | cells).get(name, "") for name in THRESHOLD_COLUMNS]


def test_own_rows_override_the_shipped_ones(tmp_path):
    own = read_thresholds(
        csv_of(
            tmp_path,
            row("Texas", marketplace_counts="No", base="Taxable", trailing_months="6"),
            [""] * len(THRESHOLD_COLUMNS),
            row("UT", sales='"$250,000"'),
            row("WY", "2026-12-01", sales="90000"),
        )
    )
    texas = own.of("TX", TODAY)
    assert (texas.sales, texas.base, texas.marketplace_counts) == (400_000, "taxable", False)
    assert texas.trailing_months == 6
    # without a first day it is the state's only row, though two are shipped
    assert [(one.sales, one.effective_to) for one in own.rows if one.state == "UT"] == [
        (250_000, None)
    ]
    # a later row ends the one before it
    assert own.of("WY", date(2026, 11, 30)).sales == 100_000
    assert own.of("WY", date(2026, 12, 1)).sales == 90_000
    assert own.of("NY", TODAY) == read_thresholds().of("NY", TODAY)


def test_the_shipped_table_goes_out_to_a_file_and_comes_back(tmp_path):
    path = tmp_path / "thresholds.csv"
    frame = read_thresholds().frame()
    frame.to_csv(path, index=False)
    assert read_thresholds(path) == read_thresholds()
    assert list(frame.columns) == list(THRESHOLD_COLUMNS)
    frame = frame.set_index("state")
    assert str(frame["sales"].dtype) == "Int64"
    assert frame.loc["AR", "transactions"] is frame.loc["OR", "sales"]  # both are missing
    own = read_thresholds(csv_of(tmp_path, row("TX"), delimiter=";"))
    assert own.of("TX", TODAY).sales == 400_000


def test_every_problem_of_a_file_is_listed_with_its_line(tmp_path):
    path = csv_of(
        tmp_path,
        row("Puerto Rico"),
        row("TX", sales="many", certainty="sure"),
        row("NY", checked_on="10/01/2026", source=""),
        row("NJ", logic="or"),
        row("CA", transactions="100"),
        row("OR", sales="", logic="none"),
        row("WA", "2026-05-01", effective_to="2026-04-01"),
        row("VT", marketplace_counts="maybe", trailing_months="1.5"),
        row("FL", sales="0"),
        row("MI"),
        row("michigan"),
    )
    with pytest.raises(ThresholdsError) as refused:
        read_thresholds(path)
    assert [problem.split(" ")[1:3] for problem in refused.value.problems] == [
        ["2:", "state:"],
        ["3:", "sales:"],
        ["3:", "certainty:"],
        ["4:", "source:"],
        ["4:", "checked_on:"],
        ["5:", "transactions:"],
        ["6:", "transactions:"],
        ["7:", "period:"],
        ["8:", "effective_to"],
        ["9:", "marketplace_counts:"],
        ["9:", "trailing_months:"],
        ["10:", "sales:"],
        ["12:", "MI"],
    ]
    assert "and 3 more problems" in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (
            [row("TX", effective_to="2026-06-30"), row("TX", "2026-06-01", sales="1")],
            "TX: one row lasts to 2026-06-30",
        ),
        ([[*row("TX", sales="500,000"), "x"]], "line 2: it has more cells than the header"),
    ],
)
def test_rows_that_reach_into_others_are_refused(tmp_path, rows, problem):
    with pytest.raises(ThresholdsError, match=problem):
        read_thresholds(csv_of(tmp_path, *rows))


def test_columns_that_are_missing_or_not_known_are_named(tmp_path):
    columns = [*THRESHOLD_COLUMNS[1:], "threshold", "notes"]
    with pytest.raises(ThresholdsError) as refused:
        read_thresholds(csv_of(tmp_path, columns=columns))
    named = [problem.rpartition(" ")[2] for problem in refused.value.problems[:3]]
    assert named == ["'state'", "'threshold'", "'notes'"]
    with pytest.raises(FileNotFoundError):
        read_thresholds(tmp_path / "none.csv")


@given(st.sampled_from(sorted(STATES)), st.dates(date(2000, 1, 1), date(2100, 1, 1)))
def test_each_day_has_exactly_one_row_of_a_state(state, day):
    assert sum(row.state == state and row.covers(day) for row in read_thresholds().rows) == 1


def test_they_are_shown_as_a_table():
    assert "2026-11-21" in str(read_thresholds())
    page = read_thresholds()._repr_html_()
    assert page.count("<tr") == len(read_thresholds().rows) + 1
    odd = Thresholds((Threshold("TX", *(None,) * 4, "none", *(None,) * 5, "high", "<b>", TODAY),))
    assert "<b>" not in odd._repr_html_()
