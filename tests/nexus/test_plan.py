"""The plan of a register: what is in it, what the user ticks, and what would be sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pandas as pd
import pytest

from svc_tools.nexus import (
    PlanError,
    Thresholds,
    exposure,
    make_plan,
    read_register,
    read_thresholds,
)
from svc_tools.nexus.notices import REASONS

DAY = date(2026, 11, 21)
REGISTER = [
    {"state": "TX", "nexus_type": "physical", "address": "1 Main St"},
    {"state": "OR", "nexus_type": "economic", "registered_at": "2021-03-01"},
    {"state": "IL", "nexus_type": "economic", "notes": "first"},
    {"state": "IL", "nexus_type": "economic", "notes": "second"},
    {"state": "DE", "nexus_type": "marketplace"},
]


def plan_of(register=REGISTER, **options):
    return make_plan(register, **({"as_of": DAY} | options))


def exposure_of(*rows, as_of=DAY):
    frame = pd.DataFrame(
        [
            {
                "below_all": None,
                "marketplace_only": False,
                "used": Decimal(0),
                "period_covered": True,
                "certainty": "high",
                "checked_on": DAY,
                "why": "Said by the exposure.",
            }
            | row
            for row in rows
        ]
    )
    frame.attrs["svc_exposure"] = {"as_of": as_of.isoformat()}
    return frame


def shown(plan):
    return [(row.state, row.nexus_type, row.decision, row.row) for row in plan.rows]


def test_a_row_for_each_record_and_what_could_go_first():
    plan = plan_of()
    assert shown(plan) == [
        ("DE", "marketplace", "candidate", 5),
        ("OR", "economic", "candidate", 2),
        ("IL", "economic", "review", 3),
        ("IL", "economic", "review", 4),
        ("TX", "physical", "keep", 1),
    ]
    assert [row.number for row in plan.rows] == [1, 2, 3, 4, 5]
    assert plan.ticked == ()  # nothing is ticked in advance
    assert plan.removals == ()
    oregon = plan.rows[1]
    assert oregon.reasons == ("no_sales_tax",)
    assert "2021-03-01" in oregon.evidence
    assert read_thresholds().of("OR", DAY).source.rstrip(".") in oregon.evidence
    assert all(row.why == tuple(REASONS[code] for code in row.reasons) for row in plan.rows)


def test_each_plan_has_its_own_name_and_states_whom_it_is_for():
    one, other = (plan_of(service="https://tax.test", account="0123") for _ in range(2))
    assert one.plan_id != other.plan_id
    assert (one.service, one.account, one.as_of) == ("https://tax.test", "0123", DAY)
    assert abs(datetime.now(UTC) - one.made_at).total_seconds() < 60
    assert one.tick(1).plan_id == one.plan_id


def test_states_above_their_threshold_without_a_record_come_first():
    measured = exposure_of(
        {"state": "CA", "band": "missing"},
        {"state": "WA", "band": "over"},  # measured without this register
        {"state": "TX", "band": "missing"},  # has a record, whatever the exposure knew of
    )
    plan = plan_of(exposure=measured)
    assert [one.state for one in plan.missing_states] == ["CA", "WA"]
    assert plan.missing[0].endswith("Said by the exposure.")
    frame = plan.frame()
    assert frame["decision"].tolist()[:3] == ["missing", "missing", "candidate"]
    assert frame["state"].tolist()[:2] == ["CA", "WA"]
    assert frame["number"].isna().tolist()[:3] == [True, True, False]
    text = str(plan)
    assert text.index("California") < text.index("Plan plan-")


def test_the_sales_of_a_state_and_what_they_rest_on_are_the_evidence():
    measured = exposure_of(
        {"state": "IL", "band": "over", "below_all": False},
        {"state": "TX", "band": "below 70", "below_all": True},
    )
    rows = plan_of([REGISTER[2], REGISTER[0]], exposure=measured).rows
    illinois, texas = rows if rows[0].state == "IL" else rows[::-1]
    assert "Said by the exposure." in illinois.evidence
    assert "over" in illinois.reasons
    assert "Said by the exposure." not in texas.evidence  # sales are no evidence for a place
    assert texas.decision == "keep"


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("2023-05-01", ("candidate", ("repealed_test",))),
        ("2026-05-01", ("keep", ("still_trailing",))),
    ],
)
def test_a_record_that_only_a_repealed_test_held_is_found_in_real_sales(since, expected):
    table = thresholds_with("IL", base="gross", marketplace_counts=True, trailing_months=12)
    # 365 small sales a year while 200 were the test
    busy = pd.Series(pd.date_range("2024-01-01", "2026-11-21") < pd.Timestamp("2025-12-31"))
    sales = days_of("IL", busy.map({True: 100, False: 1_000}).to_numpy(), count=busy.astype(int))
    register = [{"state": "IL", "nexus_type": "economic", "registered_at": since}]
    measured = exposure(sales, as_of=DAY, thresholds=table)
    (row,) = make_plan(register, exposure=measured, thresholds=table).rows
    assert (row.decision, row.reasons) == expected
    assert "2026-01-01" in row.evidence


def test_a_plan_and_its_exposure_are_of_one_day():
    measured = exposure_of({"state": "IL", "band": "over"})
    with pytest.raises(PlanError, match=r"2026-11-21.* 2026-11-20"):
        plan_of(exposure=measured, as_of=date(2026, 11, 20))
    assert make_plan(REGISTER, exposure=measured).as_of == DAY
    measured.attrs.clear()  # as a file does
    with pytest.raises(PlanError):
        make_plan(REGISTER, exposure=measured)
    assert plan_of(exposure=measured).as_of == DAY


def test_an_exposure_that_does_not_say_what_its_sales_cover_covers_nothing():
    measured = exposure_of({"state": "AL", "band": "below 70"}).drop(columns="period_covered")
    (alabama,) = plan_of([{"state": "AL", "nexus_type": "economic"}], exposure=measured).rows
    assert alabama.decision == "review"
    assert "not_covered" in alabama.reasons


def days_of(state, cents, *, count=1):
    """Sales of each day of nearly three years."""
    days = pd.date_range("2024-01-01", "2026-11-21")
    sales = {"state": state, "day": days, "channel": "direct", "count": count}
    return pd.DataFrame(sales | {f"{base}_cents": cents for base in ("gross", "retail", "taxable")})


def thresholds_with(state, **changes):
    rows = read_thresholds().rows
    return Thresholds(tuple(replace(row, **changes) if row.state == state else row for row in rows))


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"sales": 900_000}, r"\$900,000 of sales, not \$500,000 of sales"),
        (
            {"transactions": 50, "logic": "and"},
            r"\$500,000 of sales and 50 transactions, not \$500",
        ),
    ],
)
def test_sales_below_another_threshold_than_the_plans_mean_nothing(others, problem):
    own = thresholds_with("TX", **others)
    measured = exposure(days_of("TX", 150_000), as_of=DAY, thresholds=own)
    register = [{"state": "TX", "nexus_type": "economic"}]
    with pytest.raises(PlanError, match=problem) as refused:
        make_plan(register, exposure=measured)
    assert len(refused.value.problems) == 1
    assert len(make_plan(register, exposure=measured, thresholds=own).rows) == 1


def test_what_an_own_register_leaves_blank_is_filled_from_the_service():
    listed = read_register(
        [
            {"state": "OR", "nexus_type": "economic", "registered_at": "2021-03-01", "notes": "n"},
            {"state": "TX", "nexus_type": "physical", "address": "1 Main St"},
        ]
    )
    own = [
        {"state": "OR", "nexus_type": "economic"},
        {"state": "TX", "nexus_type": "physical", "notes": "mine"},
    ]
    oregon, texas = plan_of(own, listed=listed).rows
    assert (oregon.decision, oregon.notes) == ("candidate", "n")
    assert oregon.registered_at == date(2021, 3, 1)
    assert (texas.address, texas.reasons[0]) == ("1 Main St", "differs")  # and has a place
    assert "physical_without_address" not in texas.reasons
    assert "notes is mine" in texas.evidence


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (pd.DataFrame({"state": ["TX"]}), "no column band, below_all"),
        (
            exposure_of({"state": "IL", "band": "over"}, {"state": "IL", "band": "over"}),
            "several rows for IL",
        ),
        # as a file of texts holds it: "False" is not true
        (
            exposure_of({"state": "IL", "band": "over", "below_all": "False"}),
            "'False' in below_all",
        ),
    ],
)
def test_what_is_no_exposure_is_refused(frame, problem):
    with pytest.raises(PlanError, match=problem):
        plan_of(exposure=frame)


def test_a_register_that_the_service_sees_otherwise():
    listed = read_register(
        [
            {"state": "TX", "nexus_type": "physical", "address": "1  Main St"},  # blanks only
            {"state": "OR", "nexus_type": "economic", "registered_at": "2021-03-02"},
            {"state": "IL", "nexus_type": "economic", "notes": "second"},
            {"state": "NV", "nexus_type": "economic"},
        ]
    )
    plan = plan_of(listed=listed)
    rows = {(row.state, row.notes): row for row in plan.rows}
    assert {key: row.reasons[0] for key, row in rows.items() if key[0] != "TX"} == {
        ("OR", None): "differs",
        ("IL", "first"): "only_mine",
        ("IL", "second"): "duplicate",
        ("DE", None): "only_mine",
        ("NV", None): "only_service",
    }
    assert rows["IL", "first"].reasons[1] == "duplicate"
    evidence = rows["OR", None].evidence
    assert "2021-03-01 in your register and 2021-03-02 on the service" in evidence
    # a removal takes what the service has
    expected = {row.state: row.expected for row in plan.rows}
    assert expected == {"TX": 1, "OR": 1, "IL": 1, "NV": 1, "DE": 0}
    assert rows["NV", None].row == 0
    assert {row.state for row in plan.rows if row.decision != "review"} == {"TX"}


def test_a_record_that_the_service_has_twice_is_distinguished_from_the_users():
    twice = {"state": "IL", "nexus_type": "economic", "notes": "a"}
    own = [{"state": "IL", "nexus_type": "economic", "notes": "b"}, twice]
    plan = plan_of(own, listed=read_register([twice, twice]))
    found = [(row.row, row.notes, row.reasons[0], row.expected) for row in plan.rows]
    assert found == [(1, "b", "differs", 2), (2, "a", "duplicate", 2)]
    plan = plan_of([twice], listed=read_register([twice, twice]))
    assert [(row.row, row.reasons[0]) for row in plan.rows] == [
        (0, "only_service"),
        (1, "duplicate"),
    ]
    (removal,) = plan.tick(("IL", "economic")).removals
    assert removal.expected == 2


def test_ticks_and_what_they_would_send():
    plan = plan_of().tick(1, ("IL", "economic"))
    assert [row.number for row in plan.ticked] == [1, 3, 4]
    delaware, illinois = plan.removals
    assert (delaware.state, delaware.nexus_type, delaware.expected) == ("DE", "marketplace", 1)
    assert [row.notes for row in illinois.rows] == ["first", "second"]
    assert (illinois.expected, illinois.keep) == (2, None)
    assert plan.untick(3, 4).removals == (delaware,)
    assert plan.untick().ticked == ()


@pytest.mark.parametrize(
    ("key", "action", "problem"),
    [
        (3, "remove", r"IL economic: a removal takes every record .*rows 3, 4"),
        (("IL", "economic"), "replace", "several rows are marked 'replace'"),
        (2, "replace", "row 2 is marked 'replace', which is for a state and type"),
    ],
)
def test_a_removal_that_would_take_the_good_record_along_is_refused(key, action, problem):
    plan = plan_of().tick(key, action=action)
    with pytest.raises(PlanError, match=problem):
        plan.checked()
    with pytest.raises(PlanError):
        plan.removals  # noqa: B018 - reading it checks


def test_of_several_records_the_one_to_replace_stays():
    for plan in (plan_of().tick(3), plan_of()):  # what is not marked goes with the removal
        (removal,) = plan.tick(4, action="replace").removals
        assert (removal.state, removal.keep.notes) == ("IL", "second")


@pytest.mark.parametrize("key", [0, 6, ("TX", "economic"), "TX", None])
def test_a_row_that_is_not_there_cannot_be_ticked(key):
    with pytest.raises(PlanError):
        plan_of().tick(key)
    with pytest.raises(PlanError, match="'delete'"):
        plan_of().tick(1, action="delete")


def test_an_empty_register_has_an_empty_plan():
    plan = plan_of([])
    assert (plan.rows, plan.removals) == ((), ())
    assert plan.frame().empty
    assert plan.frame().dtypes.equals(plan_of().frame().dtypes)
    assert "0 records" in plan._repr_html_()


def test_what_comes_from_data_is_text_and_nothing_else():
    sly = "<script>alert(1)</script>\x1b[2J"
    plan = plan_of([{"state": "TX", "nexus_type": "physical", "address": sly, "notes": sly}])
    listed = read_register([{"state": "TX", "nexus_type": "physical", "notes": sly}])
    differing = plan_of([{"state": "TX", "nexus_type": "physical", "notes": "x"}], listed=listed)
    for one in (plan, differing):
        assert "<script" not in one._repr_html_()
        assert "\x1b" not in str(one) + one._repr_html_()
    assert "&lt;script&gt;" in differing._repr_html_()
