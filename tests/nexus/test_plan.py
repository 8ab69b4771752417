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


def said(plan):
    return [(row.state, row.nexus_type, row.decision, row.row) for row in plan.rows]


def test_a_row_for_each_record_and_what_could_go_first():
    plan = plan_of()
    assert said(plan) == [
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
    assert oregon.why == ("The state has no general sales tax.",)
    assert "Registered since 2021-03-01." in oregon.evidence
    assert read_thresholds().of("OR", DAY).source.rstrip(".") in oregon.evidence
    assert all(row.why == tuple(REASONS[code] for code in row.reasons) for row in plan.rows)
    assert plan.sentence == (
        "5 records: 2 could be removed, 2 to review, 1 to keep; nothing ticked."
    )


def test_a_plan_is_named_anew_each_time_and_says_whom_it_is_for():
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
    assert plan.missing[0].startswith("California has no record, and your sales are above")
    assert plan.missing[0].endswith("Said by the exposure.")
    frame = plan.frame()
    assert frame["decision"].tolist()[:3] == ["missing", "missing", "candidate"]
    assert frame["state"].tolist()[:2] == ["CA", "WA"]
    assert frame["number"].isna().tolist()[:3] == [True, True, False]
    assert plan.sentence.startswith("2 states lack a record; 5 records")
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


def test_a_record_that_only_a_repealed_test_held_is_found_in_real_sales():
    shipped = read_thresholds()
    known = {"base": "gross", "marketplace_counts": True, "trailing_months": 12}
    table = Thresholds(
        tuple(replace(row, **known) if row.state == "IL" else row for row in shipped.rows)
    )
    days = pd.date_range("2024-01-01", "2026-11-21")
    busy = days < pd.Timestamp("2025-12-31")  # 365 small sales a year while 200 were the test
    cents = pd.Series(1_000, index=days).where(busy, 100).to_numpy()
    sales = {"state": "IL", "day": days, "channel": "direct", "count": busy.astype(int)}
    daily = pd.DataFrame(
        sales | {f"{base}_cents": cents for base in ("gross", "retail", "taxable")}
    )
    measured = exposure(daily, as_of=DAY, thresholds=table)
    old, new = (
        make_plan(
            [{"state": "IL", "nexus_type": "economic", "registered_at": since}],
            exposure=measured,
            thresholds=table,
        ).rows[0]
        for since in ("2023-05-01", "2026-05-01")
    )
    assert (old.decision, old.reasons) == ("candidate", ("repealed_test",))
    assert (new.decision, new.reasons) == ("keep", ("still_trailing",))
    assert "There is no test of transactions any more since 2026-01-01." in old.evidence


def test_a_plan_and_its_exposure_are_of_one_day():
    measured = exposure_of({"state": "IL", "band": "over"})
    with pytest.raises(PlanError, match="measured for 2026-11-21, and the plan is to be for 2026-"):
        plan_of(exposure=measured, as_of=date(2026, 11, 20))
    assert make_plan(REGISTER, exposure=measured).as_of == DAY


def test_an_exposure_that_does_not_say_what_its_sales_cover_covers_nothing():
    measured = exposure_of({"state": "AL", "band": "below 70"}).drop(columns="period_covered")
    (alabama,) = plan_of([{"state": "AL", "nexus_type": "economic"}], exposure=measured).rows
    assert alabama.decision == "review"
    assert "not_covered" in alabama.reasons


def test_an_exposure_that_lost_its_day_needs_one():
    measured = exposure_of({"state": "IL", "band": "over"})
    measured.attrs.clear()  # as a file does
    with pytest.raises(PlanError, match="has lost the day"):
        make_plan(REGISTER, exposure=measured)
    assert plan_of(exposure=measured).as_of == DAY


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"sales": 900_000}, "$900,000 of sales, not $500,000 of sales"),
        ({"transactions": 50, "logic": "and"}, "$500,000 of sales and 50 transactions, not $500"),
    ],
)
def test_sales_below_another_threshold_than_the_plans_say_nothing(others, said):
    own = Thresholds(
        tuple(
            replace(row, **others) if row.state == "TX" else row for row in read_thresholds().rows
        )
    )
    days = pd.date_range("2024-01-01", "2026-11-21")
    sales = {"state": "TX", "day": days, "channel": "direct", "count": 1}
    cents = {f"{base}_cents": 150_000 for base in ("gross", "retail", "taxable")}
    measured = exposure(pd.DataFrame(sales | cents), as_of=DAY, thresholds=own)
    register = [{"state": "TX", "nexus_type": "economic"}]
    with pytest.raises(PlanError) as refused:
        make_plan(register, exposure=measured)
    assert len(refused.value.problems) == 1
    assert f"the sales of TX were measured against {said}" in str(refused.value)
    assert len(make_plan(register, exposure=measured, thresholds=own).rows) == 1


def test_what_ones_own_register_leaves_blank_is_filled_from_the_service():
    listed = read_register(
        [
            {"state": "OR", "nexus_type": "economic", "registered_at": "2021-03-01", "notes": "n"},
            {"state": "TX", "nexus_type": "physical", "address": "1 Main St"},
        ]
    )
    own = [
        {"state": "OR", "nexus_type": "economic"},
        {"state": "TX", "nexus_type": "physical", "notes": "ours"},
    ]
    oregon, texas = plan_of(own, listed=listed).rows
    assert (oregon.decision, oregon.registered_at, oregon.notes) == (
        "candidate",
        date(2021, 3, 1),
        "n",
    )
    assert (texas.address, texas.reasons[0]) == ("1 Main St", "differs")  # and has a place
    assert "physical_without_address" not in texas.reasons
    assert texas.evidence.startswith("Differences: notes is ours in your register and empty on")


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
    assert rows["TX", None].decision == "keep"
    oregon = rows["OR", None]
    assert oregon.reasons[0] == "differs"
    assert oregon.evidence.startswith(
        "Differences: registered_at is 2021-03-01 in your register and 2021-03-02 on the service."
    )
    assert rows["IL", "first"].reasons[:2] == ("only_mine", "duplicate")
    assert rows["IL", "second"].reasons[0] == "duplicate"
    assert rows["DE", None].reasons[0] == "only_mine"
    assert rows["DE", None].expected == 0
    assert rows["IL", "second"].expected == 1  # a removal takes what the service has
    nevada = rows["NV", None]
    assert (nevada.reasons[0], nevada.row, nevada.expected) == ("only_service", 0, 1)
    assert {row.decision for row in plan.rows if row.state != "TX"} == {"review"}


def test_a_record_that_the_service_has_twice_is_told_apart_from_ones_own():
    twice = {"state": "IL", "nexus_type": "economic", "notes": "a"}
    own = [{"state": "IL", "nexus_type": "economic", "notes": "b"}, twice]
    plan = plan_of(own, listed=read_register([twice, twice]))
    told = [(row.row, row.notes, row.reasons[0], row.expected) for row in plan.rows]
    assert told == [(1, "b", "differs", 2), (2, "a", "duplicate", 2)]
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


def test_a_removal_that_would_take_the_good_record_along_is_refused():
    plan = plan_of()
    with pytest.raises(PlanError, match=r"IL economic: a removal takes every record .*rows 3, 4"):
        plan.tick(3).checked()
    with pytest.raises(PlanError, match="takes every record"):
        plan.tick(3).removals  # noqa: B018 - reading it checks
    kept = plan.tick(3).tick(4, action="replace")
    assert [(one.state, one.keep.notes) for one in kept.removals] == [("IL", "second")]
    alone = plan.tick(4, action="replace")  # what is not marked goes with the removal
    assert alone.removals[0].keep.notes == "second"
    with pytest.raises(PlanError, match="several rows are marked 'replace'"):
        plan.tick(("IL", "economic"), action="replace").checked()
    with pytest.raises(PlanError, match="row 2 is marked 'replace', which is for a state and type"):
        plan.tick(2, action="replace").checked()


@pytest.mark.parametrize("key", [0, 6, ("TX", "economic"), "TX", None])
def test_a_row_that_is_not_there_cannot_be_ticked(key):
    with pytest.raises(PlanError, match="there is no row"):
        plan_of().tick(key)
    with pytest.raises(PlanError, match="'delete'"):
        plan_of().tick(1, action="delete")


def test_an_empty_register_has_a_plan_that_says_so():
    plan = plan_of([])
    assert (plan.rows, plan.removals) == ((), ())
    assert plan.sentence.startswith("0 records")
    assert plan.frame().empty
    assert plan.frame().dtypes.equals(plan_of().frame().dtypes)
    assert "0 records" in plan._repr_html_()


def test_what_comes_from_data_is_text_and_nothing_else():
    sly = "<script>alert(1)</script>"
    plan = plan_of([{"state": "TX", "nexus_type": "physical", "address": sly, "notes": sly}])
    listed = read_register([{"state": "TX", "nexus_type": "physical", "notes": sly + "\x1b[2J"}])
    differing = plan_of([{"state": "TX", "nexus_type": "physical", "notes": "x"}], listed=listed)
    for one in (plan, differing):
        assert "<script" not in one._repr_html_()
        assert "\x1b" not in str(one) + one._repr_html_()
    assert "&lt;script&gt;" in differing._repr_html_()
    assert 'scope="col"' in plan._repr_html_()
