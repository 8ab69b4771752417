"""Delivery charges: one rule a state and day, from its table, and what is in doubt about it."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from compile_book import RowError, compile_book
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook import Query, load_book, resolve

SOURCES = Path(__file__).parents[4] / "shared" / "data"
ZIPS = dict(
    one.split()
    for one in (
        *("MI 48226", "IN 46204", "LA 70112", "DC 20001", "FL 33130", "IL 60602", "CO 80202"),
        *("KS 66101", "NJ 07030", "OR 97201"),
    )
)
OPTIONAL, UNSETTLED = "delivery_optional_unknown", "delivery_unsettled"
TAXED = "AR CT DC GA HI IN KY LA MN MS NC ND NE NJ NM NY OH PA RI SC SD TN TX VT WA WI WV"
NOT_TAXED = "AL AZ CA CO FL IA ID IL KS MA MD ME MI MO NV OK UT VA WY"
WITHOUT = "AK DE MT NH OR"
DAYS = st.dates(date(2015, 1, 1), date(2027, 6, 30))


def told(ask, state, day):
    """Whether delivery is taxed, and the warnings about it."""
    body = ask(state, zip=ZIPS[state], as_of=day).full()
    codes = {warning["code"] for warning in body["meta"]["warnings"]}
    return body["rate"]["freight_taxable"], codes & {OPTIONAL, UNSETTLED}


@pytest.mark.parametrize(
    ("state", "day", "taxed", "warnings"),
    [
        ("MI", date(2023, 4, 25), True, set()),
        ("MI", date(2023, 4, 26), False, set()),
        ("KS", date(2023, 6, 30), True, set()),
        ("KS", date(2023, 7, 1), False, set()),
        ("IN", date(2026, 5, 1), True, set()),
        ("LA", date(2024, 12, 31), True, {UNSETTLED}),
        ("LA", date(2025, 1, 1), True, set()),
        ("DC", date(2026, 5, 1), True, {UNSETTLED}),
        ("FL", date(2026, 5, 1), False, {OPTIONAL}),
        ("IL", date(2026, 5, 1), False, {OPTIONAL}),
        ("CO", date(2025, 5, 1), False, {OPTIONAL}),
        ("NJ", date(2026, 5, 1), True, set()),
        ("OR", date(2026, 5, 1), None, set()),
    ],
)
def test_the_rule_of_the_day_counts(ask, state, day, taxed, warnings):
    assert told(ask, state, day) == (taxed, warnings)


@given(DAYS, st.integers(1, 400))
def test_the_warning_goes_by_state_and_day_alone(ask, day, later):
    for state in ("FL", "DC"):
        assert told(ask, state, day) == told(ask, state, day + timedelta(later))
    assert told(ask, "LA", day)[1] == ({UNSETTLED} if day < date(2025, 1, 1) else set())


def test_each_state_with_a_sales_tax_has_one_rule_for_each_day(book):
    today = {state: book.delivery_on(state, date(2026, 11, 1)) for state in book.states}
    found = {
        taxed: " ".join(sorted(one for one in today if (today[one] and today[one].taxed) is taxed))
        for taxed in (True, False, None)
    }
    assert found == {True: TAXED, False: NOT_TAXED, None: WITHOUT}
    for rules in book.delivery.values():
        for earlier, later in pairwise(rules):
            assert later.begin == earlier.end + timedelta(1)
        assert rules[-1].end is None


def test_the_response_says_what_the_rule_rests_on(ask):
    body = ask("MI", zip=ZIPS["MI"], as_of=date(2026, 5, 1)).full()
    rule = body["resolved_place"]["delivery"]
    assert rule["certainty"] == "official page read"
    assert "freight_certainty" not in body["rate"]
    assert rule["begin"] == "2023-04-26"
    assert "Public Acts 20 and 21 of 2023" in rule["law"]
    assert ask("AR", zip="72201").simple()["rate"]["freight_certainty"] == "one source"
    assert ask("OR", zip=ZIPS["OR"]).full()["resolved_place"]["delivery"] is None


def test_every_rule_names_its_source(book):
    for rules in book.delivery.values():
        for rule in rules:
            assert rule.source
            assert rule.checked
            assert rule.certainty != "none" or rule.doubt


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the source files are not beside the project")
def test_the_rules_are_those_of_the_table(book):
    table = SOURCES / "taxability" / "taxability.csv"
    with table.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["category"] == "shipping"]
    assert {row["state"] for row in rows} == book.delivery.keys()
    for row in rows:
        found = [rule for rule in book.delivery[row["state"]] if rule.source == row["source"]]
        (rule,) = found
        assert (rule.treatment, rule.certainty) == (row["treatment"], row["certainty"])
        assert rule.url == row["source_url"]


LAW = "{state},shipping,{treatment},{begin},{end},one source,,a source,,2026-11-23,\n"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("exempt_sometimes", "", "")], "'exempt_sometimes' is no treatment"),
        ([("taxable", "", "2024-12-31")], "no rule of shipping is in force for TX"),
        (
            [("taxable", "", "2024-12-31"), ("follows_goods", "2025-01-02", "")],
            "the rules of shipping of TX do not join",
        ),
        ([("taxable", "soon", "")], "'soon'"),
    ],
)
def test_a_table_that_leaves_a_day_open_is_refused(source_dir, book_dir, rows, said):
    path = source_dir / "taxability.csv"
    lines = [line for line in path.read_text().splitlines(keepends=True) if line[:3] != "TX,"]
    lines += [LAW.format(state="TX", treatment=t, begin=b, end=e) for t, b, e in rows]
    path.write_text("".join(lines))
    with pytest.raises(RowError, match=said):
        compile_book(source_dir, book_dir)


def test_a_dated_rule_counts_from_its_day(source_dir, book_dir):
    path = source_dir / "taxability.csv"
    lines = [line for line in path.read_text().splitlines(keepends=True) if line[:3] != "TX,"]
    lines += [
        LAW.format(state="TX", treatment="follows_goods", begin="", end="2024-12-31"),
        LAW.format(state="TX", treatment="exempt_if_separate", begin="2025-01-01", end=""),
    ]
    path.write_text("".join(lines))
    compile_book(source_dir, book_dir)
    book = load_book(book_dir)
    for day, taxed in ((date(2024, 12, 31), True), (date(2025, 1, 1), False)):
        answer = resolve(book, Query("TX", zip="75001", as_of=day), today=day)
        assert answer.simple()["rate"]["freight_taxable"] is taxed
