"""What a return says of itself: whose codes these are, and what is not certain in it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from support.taxed import SEATTLE, line, lost, parts, taxed, units

from svc_tools.frames.analysis.filing import is_official


def rows(table, *names):
    return [tuple(map(str, row)) for row in table[list(names)].itertuples(index=False)]


def test_a_name_made_into_a_code_is_not_called_official():
    local = parts("state 48 Texas 6250", "city austin Austin 1000", "district austin-mta MTA 1000")
    made = taxed([line("TX", local)], ["100"]).svc.filing("TX")
    assert rows(made.table, "code", "official") == [
        ("48", "True"),
        ("austin", "False"),
        ("austin-mta", "False"),
    ]
    assert "Not official: 2 codes made of a name" in str(made)


@pytest.mark.parametrize(
    ("code", "official"),
    [
        ("L1726", True),
        ("1726", True),
        ("053", True),
        ("county-003", False),  # the district taxes of a county, under a name
        ("route-66", False),
        ("", False),
        (None, False),
    ],
)
def test_only_a_number_is_official(code, official):
    assert is_official(code) is official


def test_numbers_of_the_census_are_not_taken_for_those_of_a_form():
    census = "the state's form may ask for numbers of its own"
    assert census in " ".join(str(taxed([line()], ["100"]).svc.filing("GA")).split())
    of_washington = taxed([line("WA", SEATTLE)], ["100"]).svc.filing("WA")
    assert census not in " ".join(str(of_washington).split())


def test_lines_that_need_a_person_are_filed_and_said():
    doubted = line(needs_review=True, lookup_review_reason="several_rates", rate_high=units(9000))
    over_cap = line("FL", parts("state 12 Florida 6000", "county 086 Miami-Dade County 1000"))
    made = taxed([line(), doubted], ["100.00", "50.00"]).svc.filing("GA")
    assert (made.totals.rows, made.totals.review_rows) == (2, 1)
    assert made.totals.review_tax == Decimal("4.45")
    assert "To be looked at before it is filed: 1 row with $4.45 of tax" in str(made)
    florida = taxed([over_cap], ["6000.00"]).svc.filing("FL")
    assert (florida.totals.review_rows, florida.totals.review_tax) == (1, Decimal("420.00"))
    sure = taxed([line()], ["100.00"]).svc.filing("GA")
    assert sure.totals.review_rows == 0
    assert "looked at" not in str(sure)


def test_a_return_without_a_line_does_not_boast_that_it_ties():
    made = taxed([lost(state="GA")], ["100.00"]).svc.filing("GA")
    assert "0 rows to file" in str(made)
    assert "ties to the lines" not in str(made)
    assert "Left out: 1 row of the state ($100.00 of sales)" in str(made)
