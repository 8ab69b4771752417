"""Plans: what they include, what can be set for one key, which request needs what."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service import keys
from svc_tools.service.admission import is_lookup, required_features
from svc_tools.service.errors import StartError
from svc_tools.service.keys import (
    FEATURES,
    NO_LIMIT,
    PLANS,
    Overrides,
    Rate,
    feature_text,
    signed_features,
    terms_of,
)

TODAY = date(2026, 11, 21)


def test_the_table_of_plans_in_the_documentation_is_the_one_that_counts():
    rows = {}
    for line in keys.__doc__.splitlines():
        name, *rest = line.replace("1 000", "1000").replace("100 000", "100000").split()[:7] or [""]
        if name in PLANS:
            rows[name] = rest
    assert rows.keys() == PLANS.keys()
    for name, plan in PLANS.items():
        speed = [str(plan.rate.per_minute), str(plan.rate.burst)] if plan.rate else ["-", "-"]
        quota = "-" if plan.monthly_quota is None else str(plan.monthly_quota)
        features = ["yes" if feature in plan.features else "-" for feature in FEATURES]
        assert rows[name] == [*speed, quota, *features]


def test_a_plan_without_overrides_is_the_plan():
    for plan in PLANS.values():
        terms = terms_of(plan.name, Overrides())
        assert (terms.rate, terms.monthly_quota, terms.features) == (
            *(plan.rate, plan.monthly_quota, plan.features),
        )
        assert terms.unlimited == (plan.name == "unlimited")


@pytest.mark.parametrize(
    ("plan", "overrides", "rate", "quota"),
    [
        ("free", Overrides(rate_per_minute=6), Rate(6, 1), 1_000),
        ("free", Overrides(rate_per_minute=600), Rate(600, 100), 1_000),
        ("free", Overrides(burst=5), Rate(60, 5), 1_000),
        ("free", Overrides(rate_per_minute=NO_LIMIT), None, 1_000),
        ("free", Overrides(monthly_quota=NO_LIMIT), Rate(60, 20), None),
        ("free", Overrides(monthly_quota=0), Rate(60, 20), 0),
        ("unlimited", Overrides(rate_per_minute=30, burst=2), Rate(30, 2), None),
        ("unlimited", Overrides(monthly_quota=50), None, 50),
    ],
)
def test_what_is_set_for_a_key_wins_over_its_plan(plan, overrides, rate, quota):
    overrides.check(plan)
    terms = terms_of(plan, overrides)
    assert (terms.rate, terms.monthly_quota) == (rate, quota)
    assert not terms.unlimited


@pytest.mark.parametrize(
    ("plan", "text", "features"),
    [
        ("free", "+full", {"full"}),
        ("unlimited", "-history", {"full", "nexus"}),
        ("unlimited", "-history,-full,-nexus", set()),
        ("standard", "-full,+nexus", {"history", "nexus"}),
    ],
)
def test_features_are_added_to_a_plan_and_taken_from_it(plan, text, features):
    terms = terms_of(plan, Overrides(features=text))
    assert terms.features == features
    assert not terms.unlimited


@given(st.dictionaries(st.sampled_from(FEATURES), st.booleans()))
def test_signed_features_survive_their_text(signed):
    assert signed_features(feature_text(signed)) == signed


@pytest.mark.parametrize(
    ("plan", "overrides", "said"),
    [
        ("gold", Overrides(), "'gold' does not exist; there are free, standard, unlimited"),
        ("free", Overrides(rate_per_minute=0), "rate per minute is 0; expected 1 to"),
        ("free", Overrides(burst=0), "burst is 0"),
        ("free", Overrides(burst=NO_LIMIT), "lift the rate per minute instead"),
        ("free", Overrides(monthly_quota=-2), "monthly quota is -2; expected 0 to"),
        ("free", Overrides(monthly_quota=10**13), "monthly quota"),
        ("unlimited", Overrides(burst=3), "give the rate per minute too"),
        ("free", Overrides(features="+magic"), "'magic' does not exist; there are history"),
    ],
)
def test_what_cannot_be_kept_to_is_refused(plan, overrides, said):
    with pytest.raises(StartError, match=said):
        overrides.check(plan)


def test_a_plan_of_another_release_counts_as_the_smallest():
    terms = terms_of("platinum", Overrides())
    assert (terms.plan, terms.rate, terms.features) == ("platinum", PLANS["free"].rate, frozenset())


@pytest.mark.parametrize(
    ("path", "query", "needed"),
    [
        ("/v1/tax/TX", "zip=78701", set()),
        ("/v1/tax/TX", "zip=78701&as_of=2026-11-20", {"history"}),
        ("/v1/tax/TX", "zip=78701&as_of=2026%2D11%2D20", {"history"}),
        ("/v1/tax/TX", "zip=78701&as_of=2026-11-21", set()),
        ("/v1/tax/TX", "zip=78701&as_of=2027-01-01", set()),
        ("/v1/tax/TX", "zip=78701&as_of=yesterday", set()),
        ("/v1/tax/TX", "zip=78701&period=20263", {"history"}),
        ("/v1/tax/TX", "zip=78701&period=20264", {"history"}),
        ("/v1/tax/TX", "zip=78701&period=20271", set()),
        ("/v1/tax/TX", "zip=78701&period=20265", set()),
        ("/v1/tax/TX", "zip=78701&mode=full", {"full"}),
        ("/v1/tax/TX", "zip=78701&mode=simple", set()),
        ("/v1/tax/TX", "mode=full&as_of=2020-01-01", {"full", "history"}),
        ("/v1/tax/TX", "as_of=2027-01-01&as_of=2020-01-01", {"history"}),
        ("/v1/tax/TX", "location=%FF%00&as_of", set()),
        ("/v1/portability/nexus", "", {"nexus"}),
        ("/v1/portability/nexus/TX", "nexus_type=economic", {"nexus"}),
        ("/v1/freshness", "mode=full", set()),
    ],
)
def test_what_a_request_needs(path, query, needed):
    assert required_features(path, query.encode(), TODAY) == needed


@pytest.mark.parametrize(
    ("path", "counted"),
    [
        ("/v1/tax/TX", True),
        ("/v1/tax/nowhere", True),
        ("/v1/tax/", False),
        ("/v1/tax/TX/", False),
        ("/v1/tax/TX/78701", False),
        ("/v1/taxes/TX", False),
        ("/v1/freshness", False),
        ("/v1/portability/nexus", False),
    ],
)
def test_an_address_that_is_no_lookup_costs_none(path, counted):
    assert is_lookup(path) is counted


@given(st.binary(max_size=80))
def test_any_query_string_is_judged(query):
    assert required_features("/v1/tax/TX", query, TODAY) <= set(FEATURES)


def test_the_first_day_of_a_quarter_is_not_history_on_that_day():
    assert required_features("/v1/tax/TX", b"period=20264", date(2026, 10, 1)) == set()
    assert required_features("/v1/tax/TX", b"period=20264", date(2026, 10, 2)) == {"history"}
