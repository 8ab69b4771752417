"""The rows that need a person: all of them, the most dollars first, and what to do."""

from __future__ import annotations

import re
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.frames import (
    enriched,
    half,
    line,
    looked_up,
    lost,
    money,
    partial,
    row,
    taxed,
    units,
)

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.review.review import REVIEW_COLUMNS, ReviewCounts, reviewed
from svc_tools.frames.taxes.taxed_rows import goods_of, goods_of_tax
from svc_tools.show.codes import CODES, codes_of, lookup_page, what_to_do
from svc_tools.tables.text_dtype import text_dtype

RANGED = line(
    needs_review=True,
    lookup_review_reason="several_rates",
    rate_low=units(4000),
    rate_high=units(8900),
)
DOUBTED = line(needs_review=True, lookup_review_reason="low_confidence")
ADDRESS = "look it up with the street address"


def review_of(lines, amounts, **options):
    return taxed(lines, amounts, **options).svc.review()


def test_only_the_rows_that_need_a_person_are_listed_the_most_dollars_first():
    made = review_of(
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
    made = review_of([DOUBTED] * 4 + [line()], ["1000", "100", "10", "10", "5000"])
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
    made = review_of(lines, ["1", "1", "100", "200"])
    by_row = made.rows.sort_index()
    assert by_row["review_dollars"].tolist() == [
        Decimal("0.05"),
        Decimal("8.90"),
        Decimal("19.80"),  # of no known state: the highest of all
    ]
    assert by_row["review_basis"].tolist() == ["range", "estimate", "estimate"]
    assert (made.totals.estimated_rows, made.totals.estimated) == (2, Decimal("28.70"))
    assert "$28.75 at stake (of it $28.70 an estimate for 2 rows)" in made.sentence


@pytest.mark.parametrize(("lines", "rows"), [([half(), lost(state="TX")], "1 row"), ([lost()], "")])
def test_an_estimate_at_a_partial_rate_is_the_least_and_not_the_most(lines, rows):
    made = review_of([line(), *lines], ["1"] + ["100"] * len(lines))
    assert set(made.rows["review_basis"]) == {"estimate"}
    for shown in (" ".join(str(made).split()), made._repr_html_()):
        assert (f"The rate of {rows} of them is partial" in shown) == bool(rows)
        assert "likely" not in shown  # that the tax is less


def test_unknown_delivery_is_at_most_the_tax_with_it():
    unknown = line(freight_taxable=None)
    made = review_of([unknown], ["100"], terms={"shipping": "10.00"})
    assert made.rows["review_dollars"].tolist() == [Decimal("9.79")]
    assert made.rows["review_basis"].tolist() == ["tax_high"]
    assert made.rows["review_reasons"].tolist() == ["freight_taxable_unknown"]


def test_reasons_of_rate_and_tax_stand_together_with_what_to_do():
    made = review_of(
        [RANGED, lost("failed"), line()], ["10000", "1", None], terms={"ship_from": "GA"}
    )
    by_row = made.rows.sort_index()
    assert by_row["review_reasons"].tolist() == ["several_rates", "failed", "no_tax"]
    assert ADDRESS in by_row["review_to_do"].tolist()[0]
    assert by_row["review_to_do"].tolist()[1] == "Run the lookup again."
    capped = line("FL", needs_review=False)
    over = review_of([capped], ["6000"]).rows
    assert over["review_reasons"].tolist() == ["over_cap"]


def test_rows_of_one_place_and_reason_are_one_group():
    other = dict(RANGED, resolved_zip="30305")
    made = review_of([RANGED, other, RANGED, DOUBTED, RANGED], ["10", "1000", "20", "1", "30"])
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
    frame.attrs["svc"]["lookups"][""]["inputs"] = {"columns": columns}
    assert sorted(frame.svc.review().rows["review_place"]) == [
        "1 Main St, Atlanta, GA 30303",
        "Decatur, GA 30303",
        "Nowhere",
    ]
    frame.attrs["svc"]["lookups"][""]["inputs"] = "odd"
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
    made = review_of([line(), line()], ["1", "2"])
    assert made.sentence == "None of 2 rows requires review."
    assert (len(made.rows), len(made.groups), len(made.by_state)) == (0, 0, 0)
    assert review_of([], []).sentence == "None of 0 rows requires review."


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
    made = review_of([evil], ["100"], index=["<b>"])
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
@examples(10, of=40)
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


BEFORE, AFTER = "as_of_before_history", "as_of_after_edition"


def positioned(frame, prefix=""):
    rows = Enriched(frame, prefix)
    return reviewed(rows, goods_of(rows))


def listed(frame, prefix=""):
    """(position, first code, why, what to do, failed) of each row of the review, in order."""
    made = positioned(frame, prefix)
    names = ("review_reasons", "review_why", "review_to_do")
    columns = [made.review.rows[prefix + name].tolist() for name in names]
    return [
        (position, reasons.split("; ")[0], why, to_do, failed)
        for position, reasons, why, to_do, failed in zip(
            made.positions.tolist(), *columns, made.failed.tolist(), strict=True
        )
    ]


def positions(frame):
    return [one[0] for one in listed(frame)]


def test_whole_confident_rows_need_nobody():
    frame = enriched(
        row(),
        row(confidence="medium"),
        row(confidence="exact"),
        row(warnings="address_not_matched"),
        row(confidence="medium", warnings="zip_spans_jurisdictions"),
    )
    assert listed(frame) == []


@pytest.mark.parametrize(
    ("cells", "kind", "reason"),
    [
        (row(rate=None, lookup_error="no such ZIP"), "unresolved", "no such ZIP"),
        (row(rate=None, lookup_status="failed", lookup_error="timeout"), "failed", "timeout"),
        (row(rate=None, lookup_status="invalid", lookup_error=None), "invalid", "no reason given"),
        (row(rate=None, lookup_status="odd", lookup_error="?!"), "odd", "?!"),
        (row(rate=None, lookup_status=None), "not_attempted", "no such place"),
        (partial(), "partial", "lacks its local or district part"),
        (row(confidence="low"), "low_confidence", "little confidence"),
        (row(confidence=None), "confidence_unknown", "no confidence"),
        (row(rate="0.20001"), "rate_too_high", "above 20%"),
        (row(warnings="place_input_mismatch"), "place_input_mismatch", "city given"),
        (row(warnings="source_conflict"), "source_conflict", "sources disagree"),
        (row(confidence="low", warnings=BEFORE), BEFORE, "before the oldest"),
        (row(confidence="medium", warnings=AFTER), AFTER, "after what"),
        (row(rate_low="0.06", rate_high="0.07"), "several_rates", "their rates differ"),
        (row(amount=None), "no_tax", "amount: missing"),
    ],
)
def test_a_row_that_needs_a_person_says_why_and_what_to_do(cells, kind, reason):
    ((position, code, why, to_do, _),) = listed(enriched(row(), cells))
    assert (position, code) == (1, kind)
    assert reason in why
    assert to_do.endswith(".")


def test_a_frame_of_few_columns_is_judged_by_what_it_has():
    frame = enriched(
        row(),
        row(confidence="low", warnings="place_input_mismatch"),
        row(confidence="sure"),
        row(rate="0.20001"),
    )
    few = frame.drop(columns=["needs_review", "lookup_review_reason"])
    assert listed(few) == listed(frame)
    assert positions(few.drop(columns=["warnings"])) == [3, 1, 2]
    assert positions(few.drop(columns=["warnings", "confidence"])) == [3]


def test_rows_group_by_state_and_reason_with_their_exact_dollars():
    dated = {"confidence": "low", "warnings": BEFORE}
    frame = enriched(
        row("NJ", "100.00", "0.06625", **dated),
        row("NJ", "0.10", "0.06625", **dated),
        partial("TX", "7.00"),
        row("TX", amount=None, rate=None, zip=None),
        row("TX", "0.00", "0.08250", confidence="low"),
        row(),
    )
    made = positioned(frame).review
    groups = [(one.state, one.reason, one.rows, one.dollars) for one in made.state_reasons]
    assert groups == [
        ("NJ", BEFORE, 2, Decimal("6.64")),
        ("TX", "partial", 1, Decimal("0.58")),
        ("TX", "unresolved", 1, None),
        ("TX", "low_confidence", 1, Decimal("0.00")),
    ]
    table = made.by_state
    assert list(table.columns) == [
        *("state", "reason", "rows", "dollars", "meaning", "to_do", "where")
    ]
    assert table["where"].tolist()[:2] == [
        "the New Jersey Division of Taxation's page of rates",
        f"{lookup_page('TX')}: https://gis.cpa.texas.gov/search/",
    ]
    assert table["rows"].sum() == made.totals.rows


def in_parts(frame, size):
    counts = ReviewCounts(ranked=True)
    for start in range(0, len(frame), size):
        part = Enriched(frame.iloc[start : start + size])
        counts.add(part, goods_of_tax(part))
    return counts


def test_estimates_are_those_of_the_whole_frame_however_it_is_parted():
    # the highest rate of LA stands last, AL has none of its own, and every row is rounded alone
    rows = [
        *(partial("LA", f"{number}.{number % 100:02}", "0.05000") for number in range(90, 131)),
        partial("LA", "3333333.33", "0.05000"),
        row("AL", "1234.56", rate=None),
        row("AL", "-0.07", rate=None),
        partial("TX", None),
        row("NJ", "10.00", confidence="low"),
        row("LA", "1.00", "0.11450"),
    ]
    frame = enriched(*rows)
    whole = positioned(frame).review
    first = whole.state_reasons[0]
    assert (first.state, first.reason, first.rows) == ("LA", "partial", 42)
    assert first.dollars == whole.rows.loc[range(42), "review_dollars"].sum()
    estimated = (whole.totals.estimated_rows, whole.totals.estimated)
    for size in (1, 3, 7, len(rows)):
        counts = in_parts(frame, size)
        assert counts.groups() == whole.state_reasons
        assert counts.estimated == estimated
        ranked = counts.ranked()
        assert ranked.numbers.tolist() == whole.rows.index.tolist()
        assert ranked.dollars.total() == whole.totals.dollars
        of_reason = whole.rows[whole.rows["review_reasons"] == "partial"]
        assert counts.ranked("partial").numbers.tolist() == of_reason.index.tolist()


def test_an_estimate_is_never_below_the_least_tax_of_its_row():
    frame = enriched(partial("LA", "10.01", "0.05000"), partial("LA", "20.00", "0.05000"), row())
    frame["tax_low"] = pd.array(
        [Decimal("0.51"), Decimal("1.00"), Decimal("6.63")], dtype=frame["tax_low"].dtype
    )
    whole = positioned(frame).review
    assert whole.state_reasons[0].dollars == Decimal("1.51")
    for size in (1, 3):
        assert in_parts(frame, size).groups() == whole.state_reasons


def test_a_frame_read_back_as_text_gives_the_same_review(tmp_path):
    frame = enriched(row(), row(confidence="low"), partial("LA", "50.00"), row(amount=None))
    path = tmp_path / "enriched.csv"
    frame.to_csv(path, index=False)
    back = pd.read_csv(path, dtype="str").svc.review()
    there = frame.svc.review()
    assert back.state_reasons == there.state_reasons
    assert back.sentence == there.sentence


def test_a_flag_that_is_no_flag_is_refused_by_the_name_of_its_column():
    frame = enriched(row(), prefix="p_")
    frame["p_needs_review"] = pd.array(["perhaps"], dtype=text_dtype())
    with pytest.raises(ValueError, match=r"p_needs_review: expected True or False.*'perhaps'"):
        listed(frame, "p_")


def test_the_other_prefix_of_a_lookup_is_named():
    frame = enriched(row(), prefix="svc_")
    with pytest.raises(ValueError, match="begin with 'svc_': use prefix='svc_'"):
        frame.svc.review()
    with pytest.raises(ValueError, match="have no prefix: leave prefix= out"):
        enriched(row()).svc.review(prefix="p_")


def test_an_address_that_was_given_is_looked_up_with_the_state():
    rates = {"rate_low": "0.06000", "rate_high": "0.07000"}
    given = row("TX", **rates, warnings="address_not_matched", zip="75001")
    made = positioned(enriched(given)).review
    (group,) = made.state_reasons
    page = lookup_page("TX")
    assert group.advice == (
        f"Find out in which of them the address lies: look the street address up at {page}, or have"
        ' the embedded service locate it with geocode="census" (docs/GEOCODING.md).'
    )
    assert made.rows["review_to_do"].tolist() == [group.advice]
    assert made.groups["to_do"].tolist() == [group.advice]
    assert made.groups["where"].tolist() == [f"{page}: https://gis.cpa.texas.gov/search/"]
    both = enriched(given, row("TX", **rates))
    made = positioned(both).review
    (group,) = made.state_reasons
    assert f"where that was given already, look it up at {page}, or have" in group.advice
    assert in_parts(both, 1).groups() == made.state_reasons


def test_the_official_pages_are_listed_with_their_addresses_once():
    rows = [row("TX", confidence="low"), row("TX", rate=None), row("WI", confidence="low")]
    made = positioned(enriched(*rows)).review
    text = " ".join(str(made).split())
    assert text.count("https://gis.cpa.texas.gov/search/") == 1
    assert "Where to look up single addresses TX: the Comptroller's" in text
    assert "Sales Tax Rate Lookup, or its page of rates: https://www.revenue.wi.gov/Pages/" in text
    shown = made._repr_html_()
    link = '<a href="https://gis.cpa.texas.gov/search/" target="_blank" rel="noopener noreferrer">'
    assert f"{link}the Comptroller&#39;s Sales Tax Rate Locator</a>" in shown
    assert "</a>: https" not in shown
    assert 'Revenue&#39;s Sales Tax Rate Lookup, or <a href="https://www.revenue.wi.gov/' in shown


def test_a_state_without_a_sales_tax_has_no_official_page():
    made = positioned(enriched(row("OR", rate=None), row("TX", rate=None))).review
    where = dict(zip(made.by_state["state"], made.by_state["where"], strict=True))
    assert pd.isna(where["OR"])
    assert where["TX"].endswith("https://gis.cpa.texas.gov/search/")
    assert "OR:" not in str(made)


def test_a_partial_row_that_was_taxed_on_request_is_to_review_not_failed():
    (without,) = listed(enriched(partial()))
    (used,) = listed(enriched(partial(), use_partial=True))
    assert (without[1], without[-1], used[1], used[-1]) == ("partial", True, "partial", False)


def test_the_rates_of_alaska_are_those_of_its_boroughs_and_cities():
    made = positioned(enriched(row("AK", rate=None))).review
    assert "borough" in made.state_reasons[0].advice
    for code in CODES:
        assert "the state" not in what_to_do(code, "AK").replace("the state's", "")


def test_a_missing_tax_is_more_urgent_than_a_doubtful_date():
    frame = enriched(row(amount=None, confidence="low", warnings="as_of_before_history"))
    (group,) = positioned(frame).review.state_reasons
    assert group.reason == "no_tax"
