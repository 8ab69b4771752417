"""What a person should look at before a tax is used: caps, origins, and the like."""

from __future__ import annotations

import datetime as dt

import pytest
from support.looked_up import dollars, found, looked_up, taxed

from svc_tools.frames.taxes.tax import CAPS, ORIGIN_SOURCED
from svc_tools.places import STATES


def test_amounts_over_a_cap_on_local_tax_are_marked_and_not_changed():
    result = taxed(
        ["5000.00", "5000.01", "-5000.01", "1600.00", "1600.01", "9000.00", "5000.01"],
        resolved_state=["FL", "FL", "FL", "TN", "TN", "NY", "FL"],
        combined_rate=["0.07000"] * 6 + ["0.06000"],
        state_rate="0.06000",
        county_rate=["0.01000"] * 6 + ["0.00000"],
        city_rate="0.00000",
        combined_district_rate="0.00000",
    )
    over = "over_cap"
    assert found(result, "tax_review") == [None, over, over, None, over, None, None]
    assert found(result, "tax")[1] == dollars(["350.00"])[0]


def test_exempt_goods_are_over_no_cap():
    result = taxed(["9000.00"], {"exempt": True}, resolved_state="FL")
    assert found(result, "tax_review") == [None]


def test_sales_within_a_state_that_sources_by_origin_are_marked():
    result = taxed(
        ["10.00"] * 6,
        {"ship_from": "warehouse"},
        resolved_state=["TX", "TX", "NY", "CA", "TX", "NY"],
        warehouse=["Texas", "NY", "NY", "ca", None, None],
    )
    assert found(result, "tax_review") == [
        "origin_sourced",
        None,
        None,
        "origin_sourced",
        "origin_unknown",
        None,
    ]
    assert found(result, "tax") == dollars(["0.83"] * 6)


def test_one_origin_for_all_rows():
    result = taxed(["10.00"] * 2, {"ship_from": "Ohio"}, resolved_state=["OH", "PA"])
    assert found(result, "tax_review") == ["origin_sourced", None]
    with pytest.raises(ValueError, match="ship_from: 'warehouse' is neither a column"):
        taxed(["10.00"], {"ship_from": "warehouse"})


def test_goods_from_abroad_are_not_of_the_state():
    result = taxed(
        ["10.00"] * 2, {"ship_from": "from"}, resolved_state="TX", **{"from": ["Ontario", "Mars"]}
    )
    assert found(result, "tax_review") == [None, "origin_unknown"]


def test_several_marks_stand_in_one_order():
    result = taxed(
        ["9000.00", "ten"],
        {"ship_from": "TN", "partial": "use", "invoice": "order", "channel": "channel"},
        resolved_state="TN",
        lookup_status=["partial", "ok"],
        order=[1, 1],
        channel="fax",
    )
    assert found(result, "tax_review") == [
        "partial_rate; over_cap; origin_sourced; invoice_incomplete; channel_unknown",
        "origin_sourced; channel_unknown",
    ]


def test_the_rules_of_states_say_how_sure_and_how_old_they_are():
    for state, rule in [*ORIGIN_SOURCED.items(), *CAPS.items()]:
        assert state in STATES
        assert rule.note
        assert rule.certainty in {"high", "medium", "low"}
        assert dt.date.fromisoformat(rule.checked) <= dt.date(2026, 11, 21)


def test_rows_to_review_are_told(capsys):
    looked_up(amount=["9000.00"], resolved_state="TN").svc.tax()
    assert "rows to review before the tax is used (tax_review): 1" in capsys.readouterr().err
