"""What was collected against the tax: one class for every row, exact sums, proved reasons."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from html import escape

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.frames import DELAWARE, SEATTLE, half, line, looked_up, lost, parts, taxed, units

from svc_tools.frames.analysis.comparison import CLASSES
from svc_tools.frames.analysis.reconcile import LINE_COLUMNS
from svc_tools.frames.review.summary import Resting
from svc_tools.show.codes import codes_of
from svc_tools.tables.text_dtype import text_dtype

FOUR = parts("state 1 S 4000", "county 2 C 3000", "city 3 T 1900", "district 4 D 500")
SUMMED = (
    "rows",
    *(f"{name}_rows" for name in CLASSES),
    *("expected", "collected", "difference", "over", "under", "within"),
    *("collected_not_due", "collected_without_expectation", "expected_without_collected"),
)


def reconciled(lines, amounts, collected, *, terms=None, columns=None, **options):
    terms = {"contains_tax": False, **(terms or {})}  # one row of it may look as if it did
    frame = taxed(lines, amounts, terms=terms, tax_collected=collected, **(columns or {}))
    return frame.svc.reconcile(**options)


def one(amount, collected, *, of=None, terms=None, columns=None, **options):
    """The class and the reason of one row."""
    made = reconciled(
        [of or line(components=FOUR)],
        [amount],
        [collected],
        terms=terms,
        columns=columns,
        **options,
    )
    return made.lines["difference_class"].iloc[0], made.lines["difference_reason"].iloc[0]


def dollars(column):
    """The sum of a column; missing where nothing is there."""
    there = [value for value in column.tolist() if not pd.isna(value)]
    return sum(there, Decimal("0.00")) if there else None


def test_every_row_is_in_one_class_and_the_totals_say_how_many():
    totals = reconciled(
        [line(), line(), line(), lost(), half(), line()],
        ["100", "100", "100", "100", "100", "100"],
        ["8.90", "9.90", "7.90", "1.00", None, None],
    ).totals
    counts = [getattr(totals, f"{name}_rows") for name in CLASSES]
    assert dict(zip(CLASSES, counts, strict=True)) == {
        "over": 1,
        "under": 1,
        "within": 1,
        "not_due": 0,
        "no_expectation": 2,
        "no_collected": 1,
    }
    assert (totals.expected, totals.collected) == (Decimal("26.70"), Decimal("26.70"))
    assert (totals.difference, totals.over, totals.under) == (
        Decimal("0.00"),
        Decimal("1.00"),
        Decimal("1.00"),
    )
    assert totals.collected_without_expectation == Decimal("1.00")
    assert totals.expected_without_collected == Decimal("8.90")


def test_a_refund_that_was_refunded_agrees_and_one_booked_as_a_sale_does_not():
    assert one("-100", "-9.40") == ("within", "agrees")
    assert one("-100", "9.40") == ("over", "sign_differs")
    assert one("-100", "-9.90") == ("under", "rate_differs")


@pytest.mark.parametrize(
    ("tolerance", "kind"),
    [("0", "over"), ("0.04", "over"), ("0.05", "within"), (Decimal(1), "within"), (0.05, "within")],
)
def test_the_tolerance_is_of_one_row_and_exact(tolerance, kind):
    assert one("100", "9.45", tolerance=tolerance)[0] == kind
    mirrored = {"over": "under", "within": "within"}[kind]
    assert one("-100", "-9.45", tolerance=tolerance)[0] == mirrored


@pytest.mark.parametrize(
    ("collected", "reason"),
    [
        ("0.00", "collected_nothing"),
        ("4.00", "at_state_rate_only"),
        ("6.40", "without_county"),
        ("7.50", "without_city"),
        ("8.90", "without_districts"),
        ("4.50", "without_county_city"),
        ("5.90", "without_county_districts"),
        ("7.00", "without_city_districts"),
        ("8.59", "tax_included"),
        ("9.99", "rate_differs"),
    ],
)
def test_the_reason_is_what_the_figures_prove(collected, reason):
    assert one("100", collected) == ("over" if collected == "9.99" else "under", reason)


def test_a_line_rounded_the_other_way_is_told_from_another_rate():
    assert one("1.07", "0.11", tolerance="0") == ("over", "rounding")  # 0.10058
    assert one("1.07", "0.12", tolerance="0") == ("over", "rate_differs")


def test_the_lowest_and_the_highest_rate_are_recognised_and_what_lies_between():
    ranged = line(components=FOUR, rate_low=units(8000), rate_high=units(10000))
    assert one("100", "8.00", of=ranged) == ("under", "at_rate_low")
    assert one("100", "10.00", of=ranged) == ("over", "at_rate_high")
    assert one("100", "9.77", of=ranged) == ("over", "within_range")
    assert one("100", "10.01", of=ranged) == ("over", "rate_differs")


def test_tax_on_exempt_sales_is_named():
    exempt = {"terms": {"exempt": "exempt"}}
    assert one("100", "9.40", columns={"exempt": [True]}, **exempt) == (
        "over",
        "collected_on_exempt",
    )
    assert one("100", "9.40", columns={"exempt": ["40.00"]}, **exempt) == ("over", "on_exempt_too")


def test_delivery_taxed_or_not_is_named():
    terms = {"shipping": "shipping"}
    columns = {"shipping": ["10.00"]}
    assert one("100", "9.40", terms=terms, columns=columns) == ("under", "without_shipping")
    untaxed = line(components=FOUR, freight_taxable=False)
    assert one("100", "10.34", of=untaxed, terms=terms, columns=columns) == (
        "over",
        "on_shipping_too",
    )
    # delivery is taxed here: twice it is no delivery that should not be taxed
    assert one("100", "11.28", terms=terms, columns=columns) == ("over", "rate_differs")
    everywhere = one("100", "9.40", terms={"shipping": "10.00"})
    assert everywhere == ("under", "without_shipping")


def test_what_is_not_due_is_no_expectation_of_zero():
    lines = [line("GA"), line("WA", SEATTLE), line("WA", SEATTLE), lost(state="WA")]
    made = reconciled(
        lines,
        ["100", "100", "100", "5"],
        ["8.90", "10.55", "0.00", "1.00"],
        terms={"nexus": [{"state": "GA", "nexus_type": "physical"}]},
    )
    assert made.expected == "tax_due"
    assert made.lines["difference_class"].tolist()[:3] == ["within", "not_due", "not_due"]
    assert made.lines["difference_reason"].tolist()[1:3] == ["not_due:no_nexus", "nothing_due"]
    assert made.lines["expected_tax"].isna().tolist() == [False, True, True, True]
    assert made.totals.collected_not_due >= Decimal("10.55")
    assert made.totals.expected == Decimal("8.90")
    assert made.worst["tax_collected"].tolist()[0] == "10.55"


def test_missing_and_unreadable_are_two_things_and_neither_is_zero():
    made = reconciled([line()] * 4, ["100"] * 4, [None, "eight", "8.905", "8.90"])
    assert made.lines["difference_reason"].tolist() == [
        "collected_missing",
        "collected_unreadable",
        "collected_unreadable",
        "agrees",
    ]
    assert made.totals.collected == Decimal("8.90")
    assert made.totals.no_collected_rows == 3


def test_floats_are_read_as_the_cents_they_stand_for():
    frame = taxed([line()] * 2, ["0.30", "100"], tax_collected=[0.1 + 0.2, 8.9])
    made = frame.svc.reconcile(tolerance="1")
    assert made.lines["collected_tax"].tolist() == [Decimal("0.30"), Decimal("8.90")]
    assert made.snapped == 1
    assert "nearest to: 1" in str(made)


def test_the_worst_rows_come_first_with_their_labels():
    made = reconciled(
        [line()] * 5,
        ["100"] * 5,
        ["9.00", "0.00", "8.90", "20.00", "8.00"],
        columns={"index": list("abcde")},
        worst=3,
    )
    assert made.worst.index.tolist() == ["d", "b", "e"]
    assert made.worst["tax_difference"].tolist() == [
        Decimal("11.10"),
        Decimal("-8.90"),
        Decimal("-0.90"),
    ]


def test_a_duplicated_index_and_the_frame_stay_as_they_are():
    frame = taxed([line()] * 3, ["100"] * 3, index=[7, 7, 7], tax_collected=["1", "2", "3"])
    before = frame.copy(deep=True)
    made = frame.svc.reconcile()
    pd.testing.assert_frame_equal(frame, before)
    assert made.lines.index.tolist() == [7, 7, 7]
    assert made.lines["collected_tax"].tolist() == [Decimal(1), Decimal(2), Decimal(3)]
    assert made.worst["tax_collected"].tolist() == ["1", "2", "3"]


def test_a_second_reconciliation_replaces_the_first_ones_columns():
    first = reconciled([line()], ["100"], ["1.00"]).lines
    again = first.assign(tax_collected="8.90").svc.reconcile().lines
    assert list(again.columns) == list(first.columns)
    assert again["difference_reason"].tolist() == ["agrees"]


def test_sums_by_the_users_own_columns_and_by_period():
    days = [pd.Timestamp(day).date() for day in ("2026-01-31", "2026-02-01", "2026-02-28")]
    made = reconciled(
        [line()] * 3,
        ["100"] * 3,
        ["8.90", "9.90", "0.00"],
        columns={"shop": ["a", "b", None], "sold": days},
        by=["shop"],
        period="month",
        date="sold",
    )
    table = made.by_group
    assert table["month"].tolist() == ["2026-01", "2026-02", "2026-02"]
    assert table["shop"].isna().tolist() == [False, False, True]
    assert table["difference"].tolist() == [Decimal("0.00"), Decimal("1.00"), Decimal("-8.90")]
    by_default = reconciled([line()], ["100"], ["8.90"], period="quarter").by_group
    assert by_default["quarter"].tolist() == ["2026Q2"]
    assert reconciled([line()], ["1"], ["1"]).by_group is None


_SHOPS = ["b", None, "a", None]


@pytest.mark.parametrize(
    ("shops", "groups"),
    [
        (pd.array(_SHOPS, text_dtype()), ["a", "b", None]),
        (pd.array(_SHOPS, object), ["a", "b", None]),
        (pd.Categorical(_SHOPS), ["a", "b", None]),
        (
            pd.array(
                pa.array(_SHOPS).dictionary_encode(),
                pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())),
            ),
            ["a", "b", None],
        ),
        (pd.array([7, None, 5, None], "Int64"), [5, 7, None]),
        (pd.array([None] * 4, object), [None]),
        (pd.array([None] * 4, pd.ArrowDtype(pa.null())), [None]),
    ],
    ids=["text", "object", "category", "dictionary", "integer", "missing", "null"],
)
def test_rows_without_a_group_are_a_group(shops, groups):
    table = reconciled(
        [line()] * 4, ["100"] * 4, ["8.90"] * 4, columns={"shop": shops}, by="shop"
    ).by_group
    assert [None if pd.isna(one) else one for one in table["shop"]] == groups
    assert table["rows"].sum() == 4
    assert table["rows"].iloc[-1] == (2 if len(groups) > 1 else 4)


def test_a_prefix_is_before_all_of_our_columns():
    frame = taxed([line()], ["100"], prefix="svc_", tax_collected=["0.00"])
    made = frame.svc.reconcile(prefix="svc_")
    assert made.lines["svc_difference_reason"].tolist() == ["collected_nothing"]
    assert "-$8.90" in str(made)


def test_it_reads_well_and_nothing_of_the_data_is_markup_or_a_control_sequence():
    evil = "<script>alert(1)</script>\x1b[31m"
    made = reconciled(
        [line()], ["100"], ["0.00"], columns={evil: ["<b>"], "index": [evil]}, by=evil
    )
    html, text = made._repr_html_(), str(made)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html + text
    assert "Expected $8.90, collected $0.00: -$8.90 difference" in text
    assert "collected_nothing" in text
    assert repr(made) == "<Reconciliation of 'tax_collected': 1 row: 1 under>"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"collected": "tax_colected"}, "df.svc.reconcile"),
        ({"collected": "tax"}, "is the tax that was computed"),
        ({"tolerance": "-0.01"}, "0 dollars or more"),
        ({"tolerance": "0.005"}, "tolerance: 0.005 is not a whole number of cents"),
        ({"worst": -1}, "0 or more"),
        ({"by": "shop"}, "name columns of the frame"),
        ({"period": "week"}, "expected 'month', 'quarter' or 'year'"),
        ({"date": "amount"}, "period="),
        ({"period": "month", "date": "sold"}, "date='…'"),
    ],
)
def test_what_is_not_understood_is_said(options, said):
    frame = taxed([line()], ["100"], tax_collected=["1"])
    with pytest.raises(ValueError, match=re.escape(said)):
        frame.svc.reconcile(**options)


def test_a_column_of_ones_own_with_a_name_of_ours_is_kept():
    frame = taxed([line()], ["100"], tax_collected=["1"], implied_rate=["mine"])
    with pytest.raises(ValueError, match="'implied_rate', which a reconciliation adds"):
        frame.svc.reconcile()


KINDS = [
    line(),
    line("WA", SEATTLE),
    line("DE", DELAWARE),
    line(components=FOUR, rate_low=units(4000), rate_high=units(9900)),
    half(),
    lost(),
    lost("failed", state="WA"),
]
cents = st.integers(-(10**6), 10**6).map(lambda value: str(Decimal(value).scaleb(-2)))


@st.composite
def frames(draw):
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(KINDS),
                st.none() | cents | st.just("x"),
                st.none() | cents | st.sampled_from(["0.00", "?"]),
                st.sampled_from(["match", "given"]),
            ),
            max_size=12,
        )
    )
    nexus = draw(st.sampled_from([None, [{"state": "GA", "nexus_type": "physical"}]]))
    frame = looked_up(
        [kind for kind, *_ in rows],
        amount=pd.array([amount for _, amount, *_ in rows], dtype=text_dtype()),
        shop=pd.array([kind["lookup_status"] for kind, *_ in rows], dtype=text_dtype()),
    ).svc.tax("amount", nexus=nexus, progress=False)
    due = frame["tax_due" if nexus else "tax"].tolist()
    frame["tax_collected"] = pd.array(
        [
            str(tax) if how == "match" and not pd.isna(tax) else given
            for tax, (*_, given, how) in zip(due, rows, strict=True)
        ],
        dtype=text_dtype(),
    )
    return frame


@given(frames(), st.sampled_from(["0", "0.01", "5.00"]))
@examples(10, of=40)
def test_the_tables_add_up_to_the_totals_and_the_lines_to_both(frame, tolerance):
    made = frame.svc.reconcile(tolerance=tolerance, by="shop", period="month")
    totals, lines = made.totals, made.lines
    for table in (made.by_state, made.by_group):
        for name in SUMMED:
            if name.endswith("rows"):
                assert table[name].sum() == getattr(totals, name)
            else:
                assert dollars(table[name]) == getattr(totals, name)
    assert made.by_reason["rows"].sum() == totals.rows == len(frame)
    assert dollars(made.by_reason["difference"]) == totals.difference
    for name in ("expected", "collected"):
        assert dollars(made.by_reason[name]) == dollars(lines[f"{name}_tax"])
    compared = lines[lines["difference_class"].isin(["over", "under", "within"])]
    assert dollars(compared["expected_tax"]) == totals.expected
    assert (
        dollars(compared["tax_difference"]) == totals.difference == dollars(lines["tax_difference"])
    )
    if totals.over_rows + totals.under_rows + totals.within_rows:
        assert totals.difference == totals.collected - totals.expected
        assert totals.difference == totals.over - totals.under + totals.within


@given(frames(), st.sampled_from(["0", "0.01", "5.00"]))
@examples(10, of=40)
def test_the_class_of_each_row_is_that_of_its_figures(frame, tolerance):
    lines = frame.svc.reconcile(tolerance=tolerance).lines
    due = lines["tax_due"] if "tax_due" in lines else lines["tax"]
    figures = (due, *(lines[name] for name in LINE_COLUMNS[1:5]))
    for expected, collected, _, kind, reason in zip(*figures, strict=True):
        assert reason.partition(":")[0] in codes_of("compared")
        if pd.isna(expected):
            assert kind in {"no_expectation", "not_due", "no_collected"}
        elif pd.isna(collected):
            assert kind == "no_collected"
        else:
            difference = collected - expected
            limit = Decimal(tolerance)
            wanted = "over" if difference > limit else "under" if difference < -limit else "within"
            assert kind == wanted
            assert (reason == "agrees") == (difference == 0)


@given(
    st.lists(
        st.tuples(
            st.integers(-(10**7), 10**7),
            st.sampled_from([0, 4000, 5900, 6400, 7000, 7500, 8900, 9400, 9900, 10550]),
            st.integers(-1, 1),
            st.sampled_from(KINDS[:4]),
        ),
        min_size=1,
        max_size=40,
    )
)
@examples(10, of=40)
def test_a_reason_is_never_claimed_without_its_arithmetic(rows):
    amounts = [Decimal(row[0]).scaleb(-2) for row in rows]
    collected = [Decimal(cents * rate // 10**5 + more).scaleb(-2) for cents, rate, more, _ in rows]
    kinds = [kind for *_, kind in rows]
    made = reconciled(kinds, amounts, list(map(str, collected)), tolerance="0").lines
    for (_, line_), sale, taken in zip(made.iterrows(), amounts, collected, strict=True):
        rates = {
            "at_state_rate_only": line_["state_rate"],
            "without_county": line_["combined_rate"] - line_["county_rate"],
            "without_city": line_["combined_rate"] - line_["city_rate"],
            "at_rate_low": line_["rate_low"],
            "at_rate_high": line_["rate_high"],
            "rounding": line_["combined_rate"],
        }
        rate = rates.get(line_["difference_reason"])
        if rate is not None:
            exact = Fraction(sale) * Fraction(rate)
            assert abs(Fraction(taken) - exact) < Fraction(1, 100)
        if not pd.isna(line_["implied_rate"]):
            implied = Fraction(taken) / Fraction(sale)
            assert abs(Fraction(line_["implied_rate"]) - implied) <= Fraction(5, 10**6)


def test_the_first_line_says_what_of_the_expected_tax_rests_on_rates_in_doubt():
    lines = [line(), line(warnings="stale_rate"), line(warnings="stale_rate"), half(), half()]
    made = reconciled(lines, ["100", "10", "20", "7", "5"], ["8.90", "1", None, "1", "1"])
    # the third row has nothing to compare its tax with, which rests on that rate all the same
    sums = made.totals
    assert made.rests_on.tax == sums.expected + sums.expected_without_collected == Decimal("11.57")
    assert made.rests_on.other_date == Resting(2, Decimal("30.00"), Decimal("2.67"))
    assert made.rests_on.untaxed == Resting(2, Decimal("12.00"), None)
    headline = str(made).splitlines()[1]
    assert "$2.67 of the $11.57 tax rests on the rate of another date" in headline
    assert made.rests_on.sentence in headline
    assert escape(made.rests_on.sentence) in made._repr_html_().replace("&#39;", "&#x27;")
    assert "4 rows at another date" in repr(made)


def test_with_registrations_only_what_is_due_rests_on_its_rate():
    lines = [line(), line("TX", parts("state 48 Texas 6250"), warnings="stale_rate"), half()]
    nexus = [{"state": "GA", "nexus_type": "physical"}]
    made = reconciled(lines, ["100", "10", "7"], ["8.90", "1", "1"], terms={"nexus": nexus})
    assert made.rests_on.nothing
    assert made.rests_on.tax == Decimal("8.90")
