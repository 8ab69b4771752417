"""What a plan suggests for one record: each rule by itself, and none against another."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.nexus import NEXUS_TYPES, Registration, Threshold
from svc_tools.nexus.notices import REASONS
from svc_tools.nexus.planning import NO_SALES_TAX, RULES, RecordFacts, StateExposure, suggest
from svc_tools.nexus.state_exposure import BANDS
from svc_tools.tables.states import STATES

DAY = date(2026, 6, 30)
KNOWN = Threshold(
    *("TX", None, None, 500_000, None, "sales", "rolling_12_months", "gross", True, 12, None),
    *("high", "a made-up source", DAY),
)
UNTAXED = Threshold("OR", None, None, None, None, "none", *[None] * 5, "high", "a source", DAY)
DROPPED = replace(KNOWN, transactions_dropped_on=date(2024, 1, 1))
NO_TRAILING = replace(KNOWN, trailing_months=None)
ECONOMIC = Registration("TX", "economic", date(2020, 5, 1), row=1)
MARKETPLACE = replace(ECONOMIC, nexus_type="marketplace")
PLACE = Registration("TX", "physical", date(2020, 5, 1), "1 Main St", row=1)
NO_ADDRESS = replace(PLACE, address=None)
OREGON = Registration("OR", "economic", date(2020, 5, 1), row=1)
BELOW = StateExposure("TX", "below 70", below_all=True, certainty="high", checked_on=DAY)
OVER = replace(BELOW, band="over", below_all=False)
BELOW_NOW = replace(BELOW, below_all=False, below_now=True)
NO_TAX = StateExposure("OR", "no tax", certainty="high", checked_on=DAY)


def facts(record=ECONOMIC, threshold=KNOWN, exposure=None, **others):
    given = {"sales_given": exposure is not None, "exposure": exposure}
    return RecordFacts(record, DAY, threshold, **(given | others))


def suggestion(*given_facts, **others):
    return suggest(facts(*given_facts, **others))


OF_OREGON = {"record": OREGON, "threshold": UNTAXED}
ALL_BELOW = {"exposure": BELOW}
LOW = replace(KNOWN, certainty="low")


@pytest.mark.parametrize(
    ("known", "decision", "reasons"),
    [
        (OF_OREGON, "candidate", "no_sales_tax"),
        (OF_OREGON | {"exposure": NO_TAX}, "candidate", "no_sales_tax"),
        (
            {"record": replace(PLACE, state="NH"), "threshold": UNTAXED},
            "candidate",
            "no_sales_tax",
        ),
        (ALL_BELOW, "candidate", "below_all"),
        ({"record": MARKETPLACE, "exposure": BELOW}, "candidate", "below_all"),
        ({"exposure": replace(BELOW, band="70-90")}, "candidate", "below_all watch"),
        ({"threshold": DROPPED, "exposure": BELOW}, "candidate", "below_all repealed_test"),
        ({"threshold": DROPPED, "exposure": BELOW_NOW}, "candidate", "repealed_test"),
        ({"exposure": OVER}, "keep", "over"),
        ({"threshold": NO_TRAILING, "exposure": OVER}, "keep", "over"),
        ({"exposure": replace(BELOW, below_all=False)}, "keep", "still_trailing"),
        ({}, "keep", "sales_not_given"),
        ({"record": PLACE}, "keep", "physical"),
        ({"record": PLACE, "exposure": BELOW}, "keep", "physical"),
        ({"record": PLACE, "threshold": LOW}, "keep", "physical"),
        ({"record": PLACE, "threshold": None}, "keep", "physical"),
        (OF_OREGON | {"several": True}, "review", "duplicate no_sales_tax"),
        *(
            (OF_OREGON | {"listed": listed}, "review", f"{listed} no_sales_tax")
            for listed in ("differs", "only_mine", "only_service")
        ),
        (OF_OREGON | {"listed": "same"}, "candidate", "no_sales_tax"),
        (
            {"record": OREGON, "threshold": replace(UNTAXED, certainty="low")},
            "review",
            "low_certainty no_sales_tax",
        ),
        ({"record": NO_ADDRESS}, "review", "physical_without_address physical"),
        (
            {"record": replace(NO_ADDRESS, state="MT"), "threshold": UNTAXED},
            "review",
            "physical_without_address no_sales_tax",
        ),
        (
            {"exposure": replace(BELOW, marketplace_only=True)},
            "review",
            "marketplace_only below_all",
        ),
        ({"threshold": None}, "review", "no_threshold sales_not_given"),
        ({"threshold": LOW, "exposure": BELOW}, "review", "low_certainty below_all"),
        ({"exposure": replace(BELOW, certainty="low")}, "review", "low_certainty below_all"),
        *(
            (
                {"threshold": replace(KNOWN, **{fact: None}), "exposure": BELOW},
                "review",
                f"{reason} below_all",
            )
            for fact, reason in (
                ("base", "unknown_base"),
                ("marketplace_counts", "unknown_marketplace"),
                ("trailing_months", "unknown_trailing"),
            )
        ),
        (
            {"exposure": replace(BELOW, below_all=None, period_covered=False)},
            "review",
            "not_covered",
        ),
        ({"sales_given": True}, "review", "no_sales_of_state"),
        ({"exposure": replace(BELOW, band="90-100")}, "review", "near below_all"),
        ({"threshold": DROPPED}, "review", "maybe_repealed sales_not_given"),
        (
            {
                "threshold": replace(DROPPED, base=None),
                "exposure": replace(BELOW, below_all=None),
            },
            "review",
            "unknown_base",
        ),
    ],
)
def test_each_rule(known, decision, reasons):
    assert suggest(facts(**known)) == (decision, tuple(reasons.split()))


def test_alaska_is_no_state_without_a_sales_tax_even_where_a_table_says_so():
    alaska = replace(ECONOMIC, state="AK")
    decision, reasons = suggestion(alaska, replace(UNTAXED, state="AK"))
    assert decision == "review"
    assert "no_sales_tax" not in reasons
    assert "alaska" in reasons
    assert {"DE", "MT", "NH", "OR"} == NO_SALES_TAX


def test_a_state_that_begins_to_tax_is_no_longer_without_a_tax():
    taxed = replace(KNOWN, state="OR")
    assert suggestion(OREGON, taxed) == ("keep", ("sales_not_given",))
    assert suggestion(OREGON, taxed, replace(OVER, state="OR")) == ("keep", ("over",))


@pytest.mark.parametrize(
    ("since", "dropped", "repealed"),
    [
        (date(2023, 12, 31), date(2024, 1, 1), True),
        (date(2024, 1, 1), date(2024, 1, 1), False),  # no test was in force any more
        (None, date(2024, 1, 1), False),  # it cannot be said
        (date(2023, 12, 31), DAY + timedelta(1), False),  # still in force
        (date(2023, 12, 31), None, False),
    ],
)
def test_a_repealed_test_held_only_records_from_its_own_time(since, dropped, repealed):
    record = replace(ECONOMIC, registered_at=since)
    row = replace(KNOWN, transactions_dropped_on=dropped)
    reasons = suggestion(record, row, BELOW_NOW)[1]
    assert ("repealed_test" in reasons) is repealed
    assert ("still_trailing" in reasons) is not repealed
    marketplace = replace(MARKETPLACE, registered_at=since)
    assert "repealed_test" not in suggestion(marketplace, row, BELOW)[1]


@pytest.mark.parametrize(
    ("checked", "stale"),
    [
        (date(2025, 6, 30), False),  # twelve months to the day
        (date(2025, 6, 29), True),
        (date(2027, 1, 1), False),
    ],
)
def test_a_threshold_is_checked_at_least_every_twelve_months(checked, stale):
    row = replace(KNOWN, checked_on=checked)
    assert (suggestion(ECONOMIC, row, BELOW)[0] == "review") is stale
    assert (suggestion(exposure=replace(BELOW, checked_on=checked))[0] == "review") is stale


def test_a_leap_day_is_a_year_old_on_the_first_of_march():
    row = replace(KNOWN, checked_on=date(2024, 2, 29))
    for day, stale in ((date(2025, 2, 28), False), (date(2025, 3, 1), True)):
        found = suggest(RecordFacts(ECONOMIC, day, row, sales_given=True, exposure=BELOW))
        assert ("stale_threshold" in found[1]) is stale


def test_every_reason_has_one_sentence_that_a_file_can_hold():
    assert sorted(rule.code for rule in RULES) == sorted(REASONS)
    assert all(text.endswith(".") and "." not in text[:-1] for text in REASONS.values())


days = st.none() | st.dates(date(2015, 1, 1), date(2027, 12, 31))
records = st.builds(
    Registration,
    st.sampled_from(sorted(STATES)),
    st.sampled_from(NEXUS_TYPES),
    days,
    st.none() | st.just("1 Main St"),
)
thresholds = st.builds(
    replace,
    st.sampled_from([KNOWN, UNTAXED]),
    base=st.sampled_from([None, "gross", "retail"]),
    marketplace_counts=st.sampled_from([None, True, False]),
    trailing_months=st.sampled_from([None, 0, 12]),
    transactions_dropped_on=days,
    certainty=st.sampled_from(["high", "medium", "low"]),
    checked_on=st.dates(date(2023, 1, 1), date(2027, 1, 1)),
)
truths = st.sampled_from([None, True, False])
exposures = st.builds(
    StateExposure,
    st.just("TX"),
    st.sampled_from(BANDS),
    below_all=truths,
    marketplace_only=st.booleans(),
    below_now=truths,
    period_covered=st.booleans(),
    certainty=st.sampled_from([None, "high", "low"]),
    checked_on=st.none() | st.dates(date(2023, 1, 1), date(2027, 1, 1)),
)
situations = st.builds(
    RecordFacts,
    records,
    st.just(DAY),
    st.none() | thresholds,
    st.booleans(),
    st.none() | exposures,
    st.booleans(),
    st.sampled_from(["", "same", "only_mine", "only_service", "differs"]),
)


def a_year_old(day):
    return day is not None and (day.year + 1, day.month, day.day) < (DAY.year, DAY.month, DAY.day)


@given(situations)
def test_nothing_that_requires_review_is_ever_a_candidate(facts):
    decision, reasons = suggest(facts)
    record, row, exposure = facts.record, facts.threshold, facts.exposure
    assert reasons, facts  # every suggestion says why
    assert set(reasons) <= set(REASONS)
    if decision != "candidate":
        return
    untaxed = record.state in {"DE", "MT", "NH", "OR"} and (row is None or row.logic == "none")
    assert not facts.several
    assert facts.listed in {"", "same"}
    assert record.nexus_type != "physical" or record.address
    assert row is not None
    assert row.certainty != "low"
    assert not a_year_old(row.checked_on)
    assert exposure is None or not exposure.marketplace_only
    assert exposure is None or exposure.certainty != "low"
    assert exposure is None or not a_year_old(exposure.checked_on)
    if not untaxed:
        assert record.nexus_type != "physical"  # whatever the sales are
        assert None not in {row.base, row.marketplace_counts, row.trailing_months}
        assert exposure is not None
        assert exposure.below_all is True or (
            exposure.below_now is True and row.transactions_dropped_on
        )
        assert exposure.band not in {"over", "missing", "90-100"}
    if record.state == "AK":
        assert "no_sales_tax" not in reasons
