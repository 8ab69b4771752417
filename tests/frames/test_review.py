"""The rows that need a person: all of them, the most dollars first, and what to do."""

from __future__ import annotations

import re
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.taxed import DELAWARE, half, line, looked_up, lost, money, taxed, units

from svc_tools.codes import codes_of
from svc_tools.frames.review import REVIEW_COLUMNS

RANGED = line(
    needs_review=True,
    lookup_review_reason="several_rates",
    rate_low=units(4000),
    rate_high=units(8900),
)
DOUBTED = line(needs_review=True, lookup_review_reason="low_confidence")
ADDRESS = "look it up with the street address"


def reviewed(lines, amounts, **options):
    return taxed(lines, amounts, **options).svc.review()


def test_only_the_rows_that_need_a_person_are_listed_the_most_dollars_first():
    made = reviewed(
        [line(), DOUBTED, RANGED, DOUBTED], ["900", "10", "1000", "-20"], index=list("abcd")
    )
    assert made.rows.index.tolist() == ["c", "d", "b"]
    assert made.rows["review_dollars"].tolist() == [
        Decimal("49.00"),
        Decimal("1.78"),
        Decimal("0.89"),
    ]
    assert made.rows["review_basis"].tolist() == ["range", "tax", "tax"]


def test_the_sentence_says_how_few_rows_carry_most_of_it():
    made = reviewed([DOUBTED] * 4 + [line()], ["1000", "100", "10", "10", "5000"])
    assert made.sentence == (
        "2 rows carry at least 90% of the $99.68 at stake; 4 of 5 rows require review."
    )
    assert str(made).startswith(made.sentence)


@pytest.mark.parametrize(("share", "rows"), [(1, 1), (50, 1), (51, 2), (75, 2), (76, 3), (100, 4)])
def test_the_share_is_carried_by_the_fewest_rows(share, rows):
    made = taxed([DOUBTED] * 4, ["200", "100", "50", "50"]).svc.review(share=share)
    assert made.totals.carrying_rows == rows


def test_a_row_without_a_tax_is_estimated_at_the_highest_rate_of_its_state():
    lines = [RANGED, line("WA", rate_high=units(9900)), lost("failed", state="GA"), lost("failed")]
    made = reviewed(lines, ["1", "1", "100", "200"])
    by_row = made.rows.sort_index()
    assert by_row["review_dollars"].tolist() == [
        Decimal("0.05"),
        Decimal("8.90"),
        Decimal("19.80"),  # of no known state: the highest of all
    ]
    assert by_row["review_basis"].tolist() == ["range", "estimate", "estimate"]
    assert (made.totals.estimated_rows, made.totals.estimated) == (2, Decimal("28.70"))
    assert "$28.75 at stake (of it $28.70 an estimate for 2 rows)" in made.sentence


def test_a_partial_rate_is_at_least_its_known_part():
    made = reviewed([half(), line("TX", DELAWARE)], ["100", "1"])
    assert made.rows["review_dollars"].tolist() == [Decimal("6.25")]


def test_unknown_delivery_is_at_most_the_tax_with_it():
    unknown = line(freight_taxable=None)
    made = reviewed([unknown], ["100"], terms={"shipping": "10.00"})
    assert made.rows["review_dollars"].tolist() == [Decimal("9.79")]
    assert made.rows["review_basis"].tolist() == ["tax_high"]
    assert made.rows["review_reasons"].tolist() == ["freight_taxable_unknown"]


def test_rows_without_a_figure_come_last_and_are_in_no_sum():
    made = reviewed(
        [lost("unsupported"), line(), DOUBTED, lost()],
        ["100", None, "10", None],
        index=list("abcd"),
    )
    assert made.rows.index.tolist()[0] == "c"
    assert made.rows["review_dollars"].isna().tolist() == [False, True, True, True]
    assert made.totals.dollars == Decimal("0.89")
    assert made.totals.unknown_rows == 3
    assert "In no sum: 3 rows without a figure." in str(made)


def test_reasons_of_rate_and_tax_stand_together_with_what_to_do():
    made = reviewed(
        [RANGED, lost("failed"), line()],
        ["10000", "1", None],
        terms={"ship_from": "GA"},
    )
    by_row = made.rows.sort_index()
    assert by_row["review_reasons"].tolist() == ["several_rates", "failed", "no_tax"]
    assert ADDRESS in by_row["review_to_do"].tolist()[0]
    assert by_row["review_to_do"].tolist()[1] == "Run the lookup again."
    capped = line("FL", needs_review=False)
    over = reviewed([capped], ["6000"]).rows
    assert over["review_reasons"].tolist() == ["over_cap"]


def test_a_sale_whose_channel_is_not_known_needs_a_person():
    made = reviewed([line()], ["100"], terms={"channel": "channel"}, channel=["kiosk"])
    assert made.rows["review_reasons"].tolist() == ["channel_unknown"]
    settled = reviewed([line()], ["100"], terms={"channel": "channel"}, channel=["marketplace"])
    assert len(settled.rows) == 0


def test_rows_of_one_place_and_reason_are_one_group():
    other = dict(RANGED, resolved_zip="30305")
    made = reviewed([RANGED, other, RANGED, DOUBTED, RANGED], ["10", "1000", "20", "1", "30"])
    assert made.groups["place"].tolist() == [
        "Atlanta, GA 30305",
        "Atlanta, GA 30303",
        "Atlanta, GA 30303",
    ]
    assert made.groups["rows"].tolist() == [1, 3, 1]
    assert made.groups["dollars"].tolist() == [Decimal("49.00"), Decimal("2.94"), Decimal("0.09")]
    assert made.groups.index.tolist() == [1, 2, 3]
    assert made.rows["review_group"].tolist() == [1, 2, 2, 2, 3]


def test_the_place_is_named_as_it_was_asked_for():
    frame = taxed(
        [RANGED, DOUBTED, lost()],
        ["1", "2", "3"],
        street=["1 Main St", None, None],
        town=["Atlanta", "Decatur", "Nowhere"],
        lat=[None, None, None],
    )
    columns = {"address": "street", "city": "town", "lat": "lat", "lng": "gone"}
    frame.attrs["svc_lookup"]["inputs"] = {"columns": columns}
    assert sorted(frame.svc.review().rows["review_place"]) == [
        "1 Main St, Atlanta, GA 30303",
        "Decatur, GA 30303",
        "Nowhere",
    ]
    frame.attrs["svc_lookup"]["inputs"] = "odd"
    assert frame.svc.review().rows["review_place"].dropna().tolist() == ["Atlanta, GA 30303"] * 2


def test_without_a_tax_the_sales_count_and_without_an_amount_the_rows():
    frame = looked_up([line(), DOUBTED, RANGED, RANGED], sum=["5", "7", "1", "2"])
    by_sales = frame.svc.review(amount="sum")
    assert by_sales.rows["review_dollars"].tolist() == [Decimal(7), Decimal(2), Decimal(1)]
    assert by_sales.sentence.startswith("2 rows carry at least 90% of the $10.00 of sales;")
    by_rows = frame.svc.review()
    assert by_rows.rows.index.tolist() == [2, 3, 1]
    assert by_rows.groups["rows"].tolist() == [2, 1]
    assert by_rows.sentence == "3 of 4 rows require review; no dollars are known to be at stake."


def test_a_mark_whose_reason_was_not_looked_up_is_a_reason_by_itself():
    frame = taxed([DOUBTED, line()], ["1", "2"]).drop(columns="lookup_review_reason")
    assert frame.svc.review().rows["review_reasons"].tolist() == ["needs_review"]


def test_nobody_is_needed():
    made = reviewed([line(), line()], ["1", "2"])
    assert made.sentence == "None of 2 rows requires review."
    assert (len(made.rows), len(made.groups), len(made.by_state)) == (0, 0, 0)
    assert reviewed([], []).sentence == "None of 0 rows requires review."


def test_a_group_by_place_names_its_state_and_its_most_urgent_reason():
    both = line(needs_review=True, lookup_review_reason="several_rates; low_confidence")
    made = reviewed([both, DOUBTED], ["100", "10"])
    assert made.groups["state"].tolist() == ["GA", "GA"]
    assert made.groups["reason"].tolist() == ["several_rates", "low_confidence"]
    assert made.by_state["reason"].tolist() == ["several_rates", "low_confidence"]
    assert made.by_state["dollars"].tolist() == [Decimal("8.90"), Decimal("0.89")]
    for name in ("meaning", "to_do", "where"):
        assert all(made.by_state[name])


def test_the_frame_and_its_index_stay_as_they_are_and_a_second_review_replaces_the_first():
    frame = taxed([DOUBTED] * 2, ["1", "2"], index=[7, 7])
    before = frame.copy(deep=True)
    first = frame.svc.review()
    pd.testing.assert_frame_equal(frame, before)
    assert first.rows.index.tolist() == [7, 7]
    again = first.rows.svc.review().rows
    assert list(again.columns) == list(first.rows.columns)
    assert list(again.columns[-len(REVIEW_COLUMNS) :]) == list(REVIEW_COLUMNS)


def test_a_prefix_is_before_all_of_our_columns():
    made = taxed([DOUBTED], ["100"], prefix="svc_").svc.review(prefix="svc_")
    assert made.rows["svc_review_dollars"].tolist() == [Decimal("8.90")]
    assert "$8.90" in str(made)


def test_it_reads_well_and_nothing_of_the_data_is_markup():
    evil = dict(DOUBTED, resolved_city="<script>\x1b[31m")
    made = reviewed([evil], ["100"], index=["<b>"])
    html, text = made._repr_html_(), str(made)
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html + text
    assert repr(made) == f"<Review: {made.sentence}>"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"share": 0}, "a percentage from 1 to 100"),
        ({"share": 101}, "a percentage from 1 to 100"),
        ({"share": True}, "a percentage from 1 to 100"),
        ({"amount": "sum"}, "amount='…'"),
        ({"prefix": "svc_"}, "leave prefix= out"),
    ],
)
def test_what_is_not_understood_is_said(options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        taxed([DOUBTED], ["100"]).svc.review(**options)


KINDS = [line(), DOUBTED, RANGED, half(), lost(), lost("failed", state="GA"), lost("unsupported")]


@given(
    st.lists(
        st.tuples(st.sampled_from(KINDS), st.none() | st.integers(-(10**6), 10**6)), max_size=12
    ),
    st.integers(1, 100),
)
@settings(max_examples=40)
def test_every_row_that_needs_a_person_is_listed_once_and_the_sums_tie(drawn, share):
    kinds = [kind for kind, _ in drawn]
    amounts = [None if cents is None else Decimal(cents).scaleb(-2) for _, cents in drawn]
    frame = looked_up(kinds, amount=money(amounts)).svc.tax("amount", progress=False)
    made = frame.svc.review(share=share)
    wanted = frame.index[frame["needs_review"] | frame["tax"].isna()]
    assert sorted(made.rows.index) == sorted(wanted)
    known = made.rows["review_dollars"].dropna().tolist()
    assert known == sorted(known, reverse=True)
    assert sum(known, Decimal(0)) == (made.totals.dollars or Decimal(0))
    assert sum(made.groups["dollars"].dropna(), Decimal(0)) == sum(known, Decimal(0))
    assert made.groups["rows"].sum() == len(made.rows) == made.totals.rows
    assert made.by_state["rows"].sum() == made.totals.rows
    assert sum(made.by_state["dollars"].dropna(), Decimal(0)) == sum(known, Decimal(0))
    assert set(made.rows["review_basis"].dropna()) <= set(codes_of("stake"))
    carrying = made.totals.carrying_rows
    total = sum(known, Decimal(0))
    assert sum(known[:carrying], Decimal(0)) * 100 >= share * total
    if carrying:
        assert sum(known[: carrying - 1], Decimal(0)) * 100 < share * total


def test_nothing_is_at_stake_in_a_wholly_exempt_sale_without_a_rate():
    lines = [line(), lost("failed", state="GA"), lost("failed", state="GA"), lost("failed", "GA")]
    made = taxed(
        lines,
        ["10.00", "900.00", "100.00", "50.00"],
        terms={"exempt": "resale", "shipping": "delivery"},
        resale=pd.array([False, True, False, None], dtype="boolean"),
        delivery=money(["0.00", "0.00", "10.00", "0.00"]),
    ).svc.review()
    assert made.rows.index.tolist() == [2, 3, 1]
    assert [str(one) for one in made.rows["review_dollars"]] == ["9.79", "4.45", "0.00"]
