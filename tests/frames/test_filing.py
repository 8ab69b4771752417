"""A state's return: each line's tax in the rows of its jurisdictions, to the cent, none dropped."""

from __future__ import annotations

import dataclasses
import re
from decimal import Decimal
from html import escape

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.frames import (
    ATLANTA,
    SEATTLE,
    half,
    line,
    looked_up,
    lost,
    money,
    parts,
    taxed,
    units,
)

from svc_tools.frames.lookup.results import encode
from svc_tools.frames.review.summary import Resting

MINNEAPOLIS = parts(
    "state 27 Minnesota 6875",
    "county 053 Hennepin County 150",
    "city 43000 Minneapolis 500",
    "district 80004 Hennepin County Transit 500",
    "district 80008 Metro Area Transportation 750",
    "district 80009 Metro Area Housing 250",
)


def rows(table, *names):
    return [tuple(map(str, row)) for row in table[list(names)].itertuples(index=False)]


def test_each_jurisdiction_has_its_taxable_amount_and_its_share_of_the_tax():
    made = taxed([line(), line()], ["100.00", "50.00"]).svc.filing("GA")
    assert rows(made.table, "level", "code", "name", "rate", "rows", "taxable", "tax") == [
        ("state", "13", "Georgia", "0.04000", "2", "150.00", "6.00"),
        ("county", "121", "Fulton County", "0.03000", "2", "150.00", "4.50"),
        ("city", "04000", "Atlanta", "0.01900", "2", "150.00", "2.85"),
    ]
    assert made.totals.tax == Decimal("13.35")
    made.check()


def test_the_cents_of_each_line_are_shared_out_and_not_those_of_the_sum():
    # 8.9% of 1.00 is 9 cents on each line: 4, 3 and 2; the sum alone would give 4.00, 3.00, 1.90
    made = taxed([line()] * 100, ["1.00"] * 100).svc.filing("GA")
    assert made.table["tax"].tolist() == [Decimal("4.00"), Decimal("3.00"), Decimal("2.00")]
    assert made.table["tax_of_total"].tolist() == [
        Decimal("4.00"),
        Decimal("3.00"),
        Decimal("1.90"),
    ]
    assert made.totals.tax == Decimal("9.00")


def test_washington_is_filed_by_location_code_with_the_whole_local_rate():
    shared = parts(
        "state 53 Washington 6500", "city 1726 Seattle 2650", "district - Regional Transit 1400"
    )
    official = parts("state 53 Washington 6500", "district L1726 Seattle 4050")
    elsewhere = parts("state 53 Washington 6500", "county 1700 King County 3800")
    lines = [line("WA", one) for one in (SEATTLE, shared, official, elsewhere)]
    made = taxed(lines, ["100.00"] * 4).svc.filing("washington")
    assert rows(made.table, "level", "code", "rate", "rows", "taxable", "tax") == [
        ("state", "53", "0.06500", "4", "400.00", "26.00"),
        ("location", "1700", "0.03800", "1", "100.00", "3.80"),
        ("location", "1726", "0.04050", "3", "300.00", "12.15"),
    ]


def test_a_cent_that_the_levels_place_elsewhere_is_not_lost():
    # the rate's columns say county what the answer's parts call a district
    components = parts("state 13 Georgia 3000", "district 5 Transit 4000")
    odd = line(components=components, county_rate=units(4000), combined_district_rate=units(0))
    made = taxed([odd], ["0.20"]).svc.filing("GA")
    assert made.table["tax"].tolist() == [Decimal("0.00"), Decimal("0.01")]
    assert not made.by_level
    made.check()


def test_a_code_is_one_row_however_it_is_spelled():
    other = parts("state 13 GEORGIA 4000", "county 121 Fulton 3000", "city 04000 ATLANTA 1900")
    made = taxed([line(), line(components=other)], ["100", "100"]).svc.filing("GA")
    assert made.table["rows"].tolist() == [2, 2, 2]


def test_lines_without_codes_stand_in_rows_of_their_own_with_the_reason():
    lines = [
        line(),
        line(lookup_jurisdictions=None),
        line(lookup_jurisdictions="?"),
        line(lookup_jurisdictions=encode(ATLANTA[:2])),
        line(lookup_jurisdictions=encode([*ATLANTA[:2], *parts("city 9 A 950", "city 9 A 950")])),
    ]
    made = taxed(lines, ["100"] * 5).svc.filing("GA")
    uncoded = made.table[made.table["level"] == "no code"]
    assert uncoded["code"].isna().all()
    assert uncoded["rate"].isna().all()
    assert sorted(uncoded["name"]) == [
        "the jurisdictions' rates do not add up to the rate",
        "the result names a jurisdiction twice",
        "the result names no jurisdictions",
        "the result's jurisdictions cannot be read",
    ]
    assert (made.totals.no_code_rows, made.totals.no_code_tax) == (4, Decimal("35.60"))
    assert "Of no known jurisdiction: 4 rows with $35.60" in str(made)
    made.check()


def test_a_state_without_a_tax_of_its_own_still_has_its_row():
    juneau = parts("city juneau Juneau 5000")
    made = taxed([line("AK", juneau)], ["100"]).svc.filing("AK")
    assert rows(made.table, "level", "rate", "tax") == [
        ("state", "0.00000", "0.00"),
        ("city", "0.05000", "5.00"),
    ]


def test_lines_without_a_tax_are_left_out_and_listed_with_their_sales():
    lines = [line(), lost("failed", state="GA"), half("GA", ("state 13 Georgia 4000",)), line()]
    made = taxed(lines, ["100.00", "20.00", "3.00", None], index=[9, 9, 9, 9])
    made = made.svc.filing("GA")
    assert made.lines.index.tolist() == [9]
    assert made.left_out.index.tolist() == [9, 9, 9]
    assert made.left_out["reason"].tolist() == [
        "no_rate:failed",
        "no_rate:partial",
        "no_tax:amount",
    ]
    assert made.left_out["detail"].tolist()[0] == "no such place"
    assert made.totals.left_out_sales == Decimal("23.00")
    counted = made.left_out_by_reason
    assert counted["rows"].tolist() == [1, 1, 1]
    assert dict(zip(counted["reason"], counted["sales"].dropna(), strict=False)) == {
        "no_rate:failed": Decimal("20.00"),
        "no_rate:partial": Decimal("3.00"),
    }
    assert "Left out: 3 rows of the state ($23.00 of sales)." in str(made)


def test_partial_lines_that_were_asked_for_are_filed_and_counted():
    texas = [half()]
    made = taxed(texas, ["100"], terms={"partial": "use"}).svc.filing("TX")
    assert (made.totals.rows, made.totals.partial_rows) == (1, 1)
    assert "lower bound" in str(made)


def test_only_what_is_due_is_filed():
    lines = [line(), line(), line("WA", SEATTLE)]
    frame = taxed(
        lines,
        ["100"] * 3,
        terms={"nexus": [{"state": "GA", "nexus_type": "physical"}], "channel": "channel"},
        channel=["direct", "marketplace", "direct"],
    )
    georgia, washington = frame.svc.filing("GA"), frame.svc.filing("WA")
    assert georgia.totals.tax == Decimal("8.90")
    assert georgia.left_out["reason"].tolist() == ["not_due:marketplace_facilitated"]
    assert washington.left_out["tax"].tolist() == [Decimal("10.55")]
    assert len(washington.table) == 0
    for made in (georgia, washington):
        made.check()


def test_by_month_each_month_has_its_rows():
    days = [pd.Timestamp(day).date() for day in ("2026-01-31", "2026-02-01", "2026-02-28")]
    made = taxed([line()] * 3, ["100"] * 3, sold=days).svc.filing("GA", period="month", date="sold")
    assert made.table.columns[0] == "period"
    assert rows(made.table[made.table["level"] == "state"], "period", "rows", "tax") == [
        ("2026-01", "1", "4.00"),
        ("2026-02", "2", "8.00"),
    ]
    undated = taxed([line()], ["100"], sold=[None]).svc.filing("GA", period="year", date="sold")
    assert undated.table["period"].isna().all()
    undated.check()


def test_a_tax_that_somebody_wrote_is_filed_under_no_code():
    frame = taxed([line()] * 3, ["100"] * 3)
    frame["tax"] = money(["8.90", "9.90", "999999999999.99"])
    made = frame.svc.filing("GA")
    assert made.totals.no_code_rows == 2
    assert made.table["name"].tolist()[-1] == "the tax is not the taxable amount times the rate"
    assert sum(made.table["tax"]) == made.totals.tax == Decimal("1000000000018.79")
    made.check()


def test_a_table_that_was_changed_does_not_tie():
    made = taxed([line()] * 2, ["100", "50"]).svc.filing("GA")
    changed = made.table.assign(tax=money(["6.01", "4.50", "2.85"]))
    with pytest.raises(ValueError, match=r"tax: 13\.36 in the table, 13\.35 in the lines"):
        dataclasses.replace(made, table=changed).check()
    assert "does NOT tie" in str(dataclasses.replace(made, table=changed))
    fewer = dataclasses.replace(made, table=made.table.iloc[1:])
    with pytest.raises(ValueError, match="rows: 0 in the table, 2 in the lines"):
        fewer.check()


def test_it_reads_well_and_nothing_of_the_data_is_markup():
    evil = [*ATLANTA[:2], *parts("city <b>04000</b> <script>\x1b[31m 1900")]
    made = taxed(
        [line(components=evil), lost("failed", state="GA", lookup_error="<i>")], ["1", "2"]
    )
    made = made.svc.filing("GA")
    html, text = made._repr_html_(), str(made)
    assert "<script>" not in html
    assert "<i>" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html + text
    assert text.startswith("Georgia: sales tax by jurisdiction code")
    assert "It ties to the lines to the cent" in text
    assert repr(made) == "<Filing of GA: 1 row, tax $0.09>"


@pytest.mark.parametrize(
    ("state", "options", "kind", "said"),
    [
        ("TX", {}, ValueError, "no row in TX; its rows by state: GA 1"),
        ("XX", {}, ValueError, "'XX' is not one of the 50 states and DC"),
        ("PR", {}, ValueError, "not one of the 50 states and DC"),
        (["GA"], {}, TypeError, "expected one state"),
        ("GA", {"period": "week"}, ValueError, "expected 'month', 'quarter' or 'year'"),
        ("GA", {"date": "amount"}, ValueError, "period="),
        ("GA", {"amount": "sum"}, ValueError, "amount='…'"),
    ],
)
def test_what_is_not_understood_is_said(state, options, kind, said):
    frame = taxed([line()], ["100"])
    with pytest.raises(kind, match=re.escape(said)):
        frame.svc.filing(state, **options)


def test_a_frame_without_detail_or_tax_is_told_what_to_do():
    with pytest.raises(ValueError, match=r"lookup\(detail=True\)"):
        taxed([line()], ["100"], detail=False).svc.filing("GA")
    with pytest.raises(ValueError, match=r"df\.svc\.tax\("):
        looked_up([line()]).svc.filing("GA")
    with pytest.raises(ValueError, match=r"df\.svc\.lookup\("):
        pd.DataFrame({"a": [1]}).svc.filing("GA")


def test_a_return_from_the_first_lookup_to_the_last_cent(embedded):
    orders = pd.DataFrame(
        {
            "state": ["WA", "WA", "GA", "WA"],
            "zip": ["98133", "98133", "30303", "99999"],
            "order_date": ["2026-05-17"] * 4,
            "amount": ["19.99", "-19.99", "100.00", "5.00"],
        }
    )
    looked = orders.svc.lookup(client=embedded, detail=True, progress=False)
    frame = looked.svc.tax("amount", progress=False)
    made = frame.svc.filing("WA")
    made.check()
    assert rows(made.table, "level", "code", "rows", "taxable", "tax") == [
        ("state", "53", "2", "0.00", "0.00"),
        ("location", "1726", "2", "0.00", "0.00"),
    ]
    assert made.left_out["reason"].tolist() == ["no_rate:unresolved"]
    collected = frame.assign(tax_collected=frame["tax"]).svc.reconcile()
    assert (collected.totals.within_rows, collected.totals.no_expectation_rows) == (3, 1)
    assert "Seattle, WA 98133" in set(frame.svc.review().groups["place"])


SHAPES = [
    ATLANTA,
    MINNEAPOLIS,
    parts("state 13 Georgia 4000"),
    parts("state 13 Georgia 1333", "state - More 1", "county 1 C 1333", "district 2 D 1333"),
    parts("county 5 Five 333", "county 6 Six 333", "other 7 Seven 334"),
]


@st.composite
def frames(draw):
    kinds = st.one_of(
        st.sampled_from(SHAPES).map(lambda shape: line(components=shape)),
        st.sampled_from(SHAPES).map(lambda shape: line(components=shape, city_rate=None)),
        st.just(line(lookup_jurisdictions=None)),
        st.just(half("GA", ("state 13 Georgia 4000",))),
        st.just(lost("failed", state="GA")),
        st.just(line("WA", SEATTLE)),
    )
    amounts = st.none() | st.integers(-(10**6), 10**6).map(lambda value: Decimal(value).scaleb(-2))
    drawn = draw(st.lists(st.tuples(kinds, amounts, st.integers(0, 2)), max_size=12))
    drawn.append((line(), Decimal("1.00"), 0))
    frame = looked_up(
        [kind for kind, *_ in drawn],
        amount=money([amount for _, amount, _ in drawn]),
        invoice=[invoice for *_, invoice in drawn],
    )
    return frame.svc.tax(
        "amount",
        invoice=draw(st.sampled_from([None, "invoice"])),
        rounding=draw(st.sampled_from(["half_up", "half_even", "up", "down"])),
        partial=draw(st.sampled_from([None, "use"])),
        progress=False,
    )


@given(frames())
@examples(7, of=30)
def test_the_return_ties_to_its_lines_whatever_they_are(frame):
    made = frame.svc.filing("GA")
    made.check()
    assert all(tie.holds for tie in made.ties)
    here = frame[frame["resolved_state"] == "GA"]
    assert len(made.lines) + len(made.left_out) == len(here)
    assert made.totals.tax == sum(here["tax"].dropna(), Decimal(0))
    once = made.table["level"].isin(["state", "no code"])
    taxable = here["taxable_amount"].dropna()
    assert sum(made.table["taxable"][once], Decimal(0)) == sum(taxable, Decimal(0))
    assert made.table["rows"][once].sum() == len(taxable)


@given(
    st.sampled_from(SHAPES),
    st.integers(-(10**9), 10**9),
    st.sampled_from(["half_up", "half_even", "up", "down"]),
)
@examples(7, of=30)
def test_each_share_is_the_product_less_or_more_than_a_cent(shape, cents, rounding):
    frame = taxed(
        [line(components=shape)], [Decimal(cents).scaleb(-2)], terms={"rounding": rounding}
    )
    made = frame.svc.filing("GA")
    made.check()
    for taxable, rate, tax in made.table[["taxable", "rate", "tax"]].itertuples(index=False):
        assert abs(taxable * rate - tax) <= Decimal("0.01")
        assert (tax >= 0) == (cents >= 0) or tax == 0


def test_a_name_made_into_a_code_is_not_called_official():
    local = parts("state 48 Texas 6250", "city austin Austin 1000", "district austin-mta MTA 1000")
    made = taxed([line("TX", local)], ["100"]).svc.filing("TX")
    assert rows(made.table, "code", "official") == [
        ("48", "True"),
        ("austin", "False"),
        ("austin-mta", "False"),
    ]
    assert "Not official: 2 codes made of a name" in str(made)


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


def test_the_first_line_says_what_of_the_tax_filed_rests_on_rates_in_doubt():
    texas = parts("state 48 Texas 6250")
    lines = [
        line("TX", texas),
        line("TX", texas, warnings="as_of_after_edition"),
        half(),
        line("GA", warnings="as_of_after_edition"),
    ]
    made = taxed(lines, ["100.00", "20.00", "8.00", "999.00"]).svc.filing("TX")
    assert made.rests_on.other_date == Resting(1, Decimal("20.00"), Decimal("1.25"))
    assert made.rests_on.untaxed == Resting(1, Decimal("8.00"), None)
    headline = str(made).splitlines()[1]
    assert "$1.25 of the $7.50 tax rests on the rate of another date" in headline
    assert "(1 row, $20.00 of sales)" in headline
    assert "1 row ($8.00 of sales) has an incomplete rate and no tax." in headline
    assert escape(made.rests_on.sentence) in made._repr_html_().replace("&#39;", "&#x27;")
    assert "2 rows at another date" in repr(made)
    used = taxed(lines, ["100.00", "20.00", "8.00", "9.00"], terms={"partial": "use"})
    assert used.svc.filing("TX").rests_on.incomplete == Resting(1, Decimal("8.00"), Decimal("0.50"))


def test_a_sale_on_which_nothing_is_due_rests_on_no_rate():
    lines = [line(), half(), line("GA", warnings="stale_rate")]
    terms = {"channel": "channel"}
    channel = ["direct", "marketplace", "marketplace"]
    frame = taxed(lines, ["100", "100", "100"], terms=terms, channel=channel)
    frame["resolved_state"] = "GA"
    made = frame.svc.filing("GA")
    assert made.rests_on.nothing
    assert made.rests_on.sentence in str(made).splitlines()[1]
