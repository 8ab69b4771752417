"""The share of a ZIP's housing at its rate: what it means for a review, and `review_below`."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import echo
from support.frames import found
from support.runners import RUNNERS

from svc_tools.config import ConfigurationError, review_below
from svc_tools.frames import enrich_file
from svc_tools.frames.files.enriched_file import enriched_file
from svc_tools.lookup.options import LookupOptions
from svc_tools.lookup.reviewing import reasons_of
from svc_tools.show.codes import CONFIDENCES
from svc_tools.tables.tabular import open_table

SENT = {
    "78701": ("0.9300", "medium"),
    "78702": ("0.9900", "high"),
    "78703": ("0.4500", "low"),
    "78704": (None, "medium"),
    "78705": ("1.2000", "medium"),
    "78706": ("0.8800", "low"),
    "78707": (0.95, "medium"),
}
"""The share and the confidence that the service sends for each ZIP."""
ROWS = pd.DataFrame(
    {
        "state": "TX",
        "zip": [*SENT],
        "sold": "2026-05-01",
        "amount": pd.array([Decimal("1000.00")] * len(SENT), "object"),
    }
)
SHARES = [*map(Decimal, ("0.9300", "0.9900", "0.4500")), None, None]
SHARES += [Decimal("0.8800"), Decimal("0.9500")]
NOT_KNOWN = {"78704", "78705"}


def of_zip(seen):
    """The response for a ZIP, by `SENT`: a rate of 8.25%, others of 6.25% to 8.25%."""
    code = seen.target.partition("zip=")[2][:5]
    share, confidence = SENT[code]
    spans = {
        "code": "zip_spans_jurisdictions",
        "message": "The ZIP lies in several jurisdictions.",
        "lowest_combined_rate": "0.06250",
        "highest_combined_rate": "0.08250",
    }
    spans |= {} if share is None else {"share": share}
    return echo(seen, confidence=confidence, warnings=[spans])


@pytest.fixture
def service(faults):
    faults.will(of_zip)
    return faults


def flagged(made):
    """The ZIPs of the rows that require review."""
    return {*made["zip"][made["needs_review"].astype(bool)]}


@pytest.mark.parametrize(("share", "review"), [("0.9900", False), ("0.8900", True), (None, True)])
def test_a_share_decides_also_where_the_other_rates_are_not_named(faults, scripted, share, review):
    spans = {"code": "zip_spans_jurisdictions", "message": "Of one a part is not known."}
    spans |= {} if share is None else {"share": share}
    faults.will(lambda seen: echo(seen, confidence="high", warnings=[spans]))
    made = ROWS.head(1).svc.lookup(client=scripted, cache=False, as_of="sold", progress=False)
    assert [*made["needs_review"].astype(bool)] == [review]


@pytest.fixture(params=RUNNERS, ids=lambda runner: runner.__name__.lower())
def runner(request, scripted, tmp_path, monkeypatch):
    return request.param(scripted, tmp_path, monkeypatch)


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("below", "expected"),
    [
        (None, {"78703", "78706"}),
        ("0.98", {"78701", "78703", "78706", "78707"}),
        (0.5, {"78703"}),
        (Decimal("0.45"), set()),
        (0, set()),
    ],
)
def test_a_share_of_review_below_or_more_requires_no_review(runner, below, expected):
    given = {} if below is None else {"review_below": below}
    made = runner(ROWS, cache=False, **given)
    assert found(made, "lookup_share") == SHARES
    assert flagged(made) == expected | NOT_KNOWN
    assert [*made["confidence"]] == [confidence for _, confidence in SENT.values()]
    reasons = dict(zip(made["zip"], found(made, "lookup_review_reason"), strict=True))
    assert {reasons[code] for code in expected | NOT_KNOWN} == {"several_rates"}
    assert {reasons[code] for code in SENT.keys() - expected - NOT_KNOWN} <= {None}


@pytest.mark.usefixtures("service")
def test_the_environment_says_it_for_every_run_and_the_argument_counts_more(scripted, monkeypatch):
    monkeypatch.setenv("SVC_REVIEW_BELOW", "0.98")
    options = {"client": scripted, "cache": False, "progress": False}
    assert flagged(ROWS.svc.lookup(**options)) == {*SENT} - {"78702"}
    assert flagged(ROWS.svc.lookup(review_below=0.5, **options)) == {"78703"} | NOT_KNOWN


@pytest.mark.parametrize(
    "wrong", ["0.99", 1, -0.1, "90%", "nan", "", "0.90001", " . ", "1e-1", "\u0660"]
)
def test_what_is_no_such_share_is_refused_before_anything_is_requested(scripted, faults, wrong):
    with pytest.raises(ValueError, match=r"review_below: .* expected a share from 0 to 0\.98"):
        ROWS.svc.lookup(client=scripted, review_below=wrong)
    with pytest.raises(TypeError, match="review_below: expected a number, not True"):
        ROWS.svc.lookup(client=scripted, review_below=True)
    assert faults.seen == []


def test_a_wrong_value_of_the_environment_names_the_variable(scripted, faults, monkeypatch):
    monkeypatch.setenv("SVC_REVIEW_BELOW", "90")
    with pytest.raises(ConfigurationError, match="SVC_REVIEW_BELOW is '90'; expected a share"):
        ROWS.svc.lookup(client=scripted)
    assert faults.seen == []
    assert LookupOptions(review_below=0.5).review_below == Decimal("0.5000")


@given(st.integers(0, 9800))
def test_a_share_is_the_same_as_number_and_as_text(units):
    share = Decimal(units) / 10_000
    assert review_below(share) == review_below(str(share)) == review_below(float(share)) == share


SPANS = "zip_spans_jurisdictions"
RATES = st.none() | st.integers(0, 20_100)


@given(
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["ok", "partial"]),
            "warnings": st.sets(st.sampled_from([SPANS, "stale_rate", "address_not_matched"])),
            "confidence": st.none() | st.sampled_from([*CONFIDENCES, "sure"]),
            "combined": st.integers(0, 20_100),
            "ends": st.tuples(RATES, RATES),
            "share": st.none() | st.integers(0, 10_000),
        }
    ),
    st.tuples(st.integers(0, 9_800), st.integers(0, 9_800)).map(sorted),
)
def test_a_higher_threshold_never_clears_a_row(facts, thresholds):
    lower, higher = (reasons_of(**facts, below=below, since=None, day=None) for below in thresholds)
    assert not lower or higher
    if facts["share"] is None:
        assert lower == higher


@pytest.mark.usefixtures("service")
def test_another_threshold_costs_no_request_and_a_lock_file_has_the_shares(
    scripted, faults, tmp_path
):
    options = {"client": scripted, "cache": tmp_path / "rates.db", "progress": False}
    options["as_of"] = "sold"
    first = ROWS.svc.lookup(**options)
    asked = len(faults.seen)
    again = ROWS.svc.lookup(review_below="0.98", **options)
    assert len(faults.seen) == asked
    assert found(again, "lookup_share") == found(first, "lookup_share") == SHARES
    assert flagged(again) - flagged(first) == {"78701", "78707"}
    first.svc.freeze(tmp_path / "rates.svclock")
    assert '"share": "0.9300"' in (tmp_path / "rates.svclock").read_text(encoding="utf-8")
    locked = ROWS.svc.lookup(locked=tmp_path / "rates.svclock", as_of="sold", progress=False)
    assert found(locked, "lookup_share") == SHARES
    assert flagged(locked) == flagged(first)


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_a_file_that_is_read_again_has_the_shares_and_the_same_review(scripted, tmp_path, kind):
    source, output = tmp_path / "sales.csv", tmp_path / f"out.{kind}"
    ROWS.to_csv(source, index=False)
    made = enrich_file(
        *(source, output),
        tax={"amount": "amount", "contains_tax": False},
        client=scripted,
        cache=False,
        review_below=0.5,
    )
    with contextlib.closing(open_table(output)) as table:
        read = enriched_file(table, output.name).frame
    assert found(read, "lookup_share") == SHARES
    assert read["lookup_share"].dtype == "decimal128(5, 4)[pyarrow]"
    assert {*read.svc.review().rows["zip"]} == {"78703"} | NOT_KNOWN
    assert made.totals.review.rows == 3


@pytest.mark.usefixtures("service")
def test_the_shares_of_a_csv_with_decimal_commas_are_read(scripted, tmp_path):
    made = ROWS.svc.lookup(client=scripted, cache=False, progress=False, rates="string")
    texts = made.astype({"lookup_share": "object"}).map(
        lambda cell: str(cell).replace(".", ",") if str(cell).startswith("0.") else cell
    )
    texts.to_csv(tmp_path / "out.csv", sep=";", index=False)
    with contextlib.closing(open_table(tmp_path / "out.csv")) as table:
        read = enriched_file(table, "out.csv")
    assert found(read.frame, "lookup_share") == SHARES
    assert read.unread == ()


@pytest.mark.usefixtures("service")
def test_columns_without_the_reasons_are_judged_by_the_threshold_of_their_lookup(scripted):
    options = {"client": scripted, "cache": False, "progress": False}
    made = ROWS.svc.lookup(review_below=0.5, **options)
    few = made.drop(columns=["needs_review", "lookup_review_reason"])
    from svc_tools.frames.added.enriched import Enriched  # noqa: PLC0415 - as below
    from svc_tools.frames.review.codes import review_codes  # noqa: PLC0415 - what the methods share

    judged = review_codes(Enriched(few))
    assert {*ROWS["zip"][judged.where(bool)]} == {"78703"} | NOT_KNOWN
    few.attrs = {}
    judged = review_codes(Enriched(few))
    assert {*ROWS["zip"][judged.where(bool)]} == {"78703", "78706"} | NOT_KNOWN


@pytest.mark.usefixtures("service")
def test_the_dollars_at_stake_are_an_expected_amount_where_the_share_is_known(scripted):
    made = ROWS.svc.lookup(client=scripted, cache=False, progress=False)
    made = made.svc.tax("amount", contains_tax=False, progress=False)
    review = made.svc.review()
    shown = review.rows.set_index("zip")
    # 1,000.00 at 6.25% to 8.25%: 20.00 between the lowest and the highest tax
    assert dict(shown["review_dollars"]) == {
        "78703": Decimal("11.00"),
        "78704": Decimal("20.00"),
        "78705": Decimal("20.00"),
        "78706": Decimal("2.40"),
    }
    assert dict(shown["review_basis"]) == {
        **dict.fromkeys(NOT_KNOWN, "range"),
        **dict.fromkeys(["78703", "78706"], "expected"),
    }
    assert (review.totals.expected_rows, review.totals.expected) == (2, Decimal("13.40"))
    assert review.totals.dollars == Decimal("53.40")
    sentence = (
        "Of these dollars $13.40 is an expected amount for 2 rows: the range of their tax times the"
        " share of the ZIP's housing that has another rate."
    )
    assert sentence in " ".join(str(review).split())
    assert {*made["at_stake"]} == {Decimal("20.00")}
    lazy = pl.from_pandas(made.drop(columns=["lookup_as_of"])).svc.review()
    assert "is an expected amount for 2 rows" in " ".join(str(lazy).split())


@pytest.mark.usefixtures("service")
def test_a_refund_and_a_delivery_in_doubt(scripted):
    rows = ROWS[ROWS["zip"] == "78703"].assign(amount=Decimal("-1000.00"))
    made = rows.svc.lookup(client=scripted, cache=False, progress=False)
    taxed = made.svc.tax("amount", contains_tax=False, progress=False)
    assert [*taxed.svc.review().rows["review_dollars"]] == [Decimal("11.00")]
    unsettled = made.assign(warnings="zip_spans_jurisdictions; delivery_unsettled", shipping="100")
    taxed = unsettled.svc.tax("amount", shipping="shipping", contains_tax=False, progress=False)
    assert [*taxed.svc.review().rows["review_basis"]] == ["range"]


RESTS = (
    "4 rows ($4,000.00 of sales, $330.00 of tax) use a rate that covers less than 98% of the homes"
    " in their ZIP Code."
)


@pytest.mark.usefixtures("service")
def test_the_summary_says_how_much_rests_on_shares_below_98_percent(scripted, tmp_path):
    source, page, book = tmp_path / "sales.csv", tmp_path / "r.html", tmp_path / "r.xlsx"
    ROWS.to_csv(source, index=False)
    tax = {"amount": "amount", "contains_tax": False}
    options = {"tax": tax, "client": scripted, "cache": False}
    made = enrich_file(source, tmp_path / "out.csv", report=page, **options)
    assert RESTS in made.totals.remarks
    assert json.loads(json.dumps(made.totals.as_json()))["on_shares_below_98"] == {
        "rows": 4,
        "sales": "4000.00",
        "tax": "330.00",
    }
    assert made.totals.as_json()["review_expected"] == {"rows": 2, "dollars": "13.40"}
    assert "$13.40 is an expected amount for 2 rows" in str(made)
    text = page.read_text(encoding="utf-8")
    assert RESTS in text
    assert "$13.40 is an expected amount for 2 rows" in text
    frame = pd.read_csv(tmp_path / "out.csv", dtype={"zip": str})
    frame.svc.report(book)
    shown = pd.read_excel(book, sheet_name="Summary", header=None).to_numpy().ravel()
    assert RESTS in shown
    assert any("$13.40 is an expected amount" in str(cell) for cell in shown)


def test_a_share_beside_other_rates_than_those_of_its_zip_does_not_count(scripted, faults):
    def two(seen):
        spans = {"code": "zip_spans_jurisdictions", "share": "0.9900"}
        ends = {"lowest_combined_rate": "0.08000", "highest_combined_rate": "0.08250"}
        other = {"code": "place_input_mismatch", "lowest_combined_rate": "0.06250"}
        return echo(seen, warnings=[spans | ends, other | {"highest_combined_rate": "0.08250"}])

    faults.will(two)
    made = ROWS[:1].svc.lookup(client=scripted, cache=False, progress=False)
    assert found(made, "lookup_share") == [None]
    assert [*made["lookup_review_reason"]] == ["place_input_mismatch; several_rates"]


@pytest.mark.parametrize(
    "share",
    ["", "x", "-0.1", "1.0001", "0.5.0", "0,9", True, -1, 2, None, [], {}, "\u0660", "1_0"],
    ids=repr,
)
def test_what_is_no_share_is_ignored(scripted, faults, share):
    body = {"code": "zip_spans_jurisdictions", "share": share}
    ends = {"lowest_combined_rate": "0.06250", "highest_combined_rate": "0.08250"}
    faults.will(lambda seen: echo(seen, warnings=[body | ends]))
    made = ROWS[:1].svc.lookup(client=scripted, cache=False, progress=False)
    assert found(made, "lookup_share") == [None]
    assert [*made["lookup_review_reason"]] == ["several_rates"]


@pytest.mark.parametrize(
    ("share", "exact"),
    [
        ("1.0000", "1.0000"),
        ("0.97999", "0.9799"),
        (1, "1.0000"),
        (0, "0.0000"),
        (" 0.5 ", "0.5000"),
    ],
)
def test_a_share_has_four_decimals_and_is_never_rounded_up(scripted, faults, share, exact):
    body = {"code": "zip_spans_jurisdictions", "share": share}
    ends = {"lowest_combined_rate": "0.06250", "highest_combined_rate": "0.08250"}
    faults.will(lambda seen: echo(seen, warnings=[body | ends]))
    made = ROWS[:1].svc.lookup(client=scripted, cache=False, progress=False)
    assert [f"{cell}" for cell in made["lookup_share"]] == [exact]


def test_little_confidence_that_a_share_of_90_percent_does_not_explain_is_a_reason(
    scripted, faults
):
    spans = {"code": "zip_spans_jurisdictions", "share": "0.9200"}
    ends = {"lowest_combined_rate": "0.06250", "highest_combined_rate": "0.08250"}
    faults.will(lambda seen: echo(seen, warnings=[spans | ends], confidence="low"))
    options = {"client": scripted, "cache": False, "progress": False}
    for below in (0, 0.9):
        made = ROWS[:1].svc.lookup(review_below=below, **options)
        assert [*made["lookup_review_reason"]] == ["low_confidence"]


@pytest.mark.usefixtures("service")
def test_a_row_of_which_no_tax_is_due_rests_on_no_share(scripted, tmp_path):
    source = tmp_path / "sales.csv"
    ROWS.assign(sold=["2026-05-01", "2026-05-01", "2026-07-01", *["2026-05-01"] * 4]).to_csv(
        source, index=False
    )
    register = [{"state": "TX", "nexus_type": "physical", "registered_since": "2026-06-01"}]
    tax = {"amount": "amount", "contains_tax": False, "nexus": register}
    made = enrich_file(source, tmp_path / "o.csv", tax=tax, client=scripted, cache=False)
    found_ = made.totals.on_shares
    assert (found_.rows, found_.sales, found_.tax) == (1, Decimal("1000.00"), Decimal("82.50"))
