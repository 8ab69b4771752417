"""`columns="short"`: few columns, and the same figures as with all of them."""

from __future__ import annotations

import warnings
from decimal import Decimal

import pandas as pd
import pytest

import svc_tools
from svc_tools.demo import orders
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.files.enriching import enrich_file
from svc_tools.frames.review.summary import summarize
from svc_tools.lookup.columns import LOOKUP_COLUMNS, SHORT_COLUMNS, TAX_OPTION_COLUMNS
from svc_tools.tables.text_dtype import text_dtype

TEN = [
    "combined_rate",
    "lookup_status",
    "needs_review",
    "lookup_review_reason",
    "lookup_error",
    "confidence",
    "state_rate",
    "county_rate",
    "city_rate",
    "combined_district_rate",
]
TAXED = [name for name in SHORT_COLUMNS if name not in TAX_OPTION_COLUMNS]
FURTHER = {"lookup_jurisdictions", "sale_amount"}
"""What stands beside them where it was asked for, or where rows are returns by their quantity."""


@pytest.fixture(scope="module")
def sales():
    """Orders of the demo in many states, with what was collected, and a sale above a cap."""
    frame = orders().iloc[::7].reset_index(drop=True)
    capped = frame.iloc[[0]].assign(state="FL", zip="33101", ship_to_city=None)
    capped = capped.astype({"ship_to_city": text_dtype()})
    capped["order_date"] = pd.array(["2026-08-03"], dtype=frame["order_date"].dtype)
    capped["amount"] = pd.array([Decimal("9000.00")], dtype=frame["amount"].dtype)
    frame = pd.concat([frame, capped], ignore_index=True)
    collected = (frame["amount"].astype("float64") * 0.08).round(2)
    return frame.assign(collected=collected)


@pytest.fixture(scope="module")
def both(sales, _own_home):
    """The taxed orders with the short columns, and with all of them."""
    with svc_tools.connect("embedded") as client:
        given = {"client": client, "cache": False, "progress": False, "detail": True}
        few = sales.svc.lookup(columns="short", **given)
        every = sales.svc.lookup(**given)
    return few.svc.tax(progress=False), every.svc.tax(progress=False)


def test_short_adds_the_first_ten_columns_and_a_tax_of_it_few(sales, embedded):
    given = {"client": embedded, "cache": False, "progress": False}
    frame = sales.head(3)
    few = frame.svc.lookup(columns="short", **given)
    assert list(LOOKUP_COLUMNS[:10]) == TEN
    assert list(few.columns) == [*frame.columns, *TEN]
    taxed = few.svc.tax(progress=False)
    assert list(taxed.columns) == [*frame.columns, *TAXED]
    assert list(taxed.columns[len(frame.columns) :][:3]) == [
        "combined_rate",
        "tax",
        "lookup_status",
    ]
    more = frame.svc.lookup(columns=["short", "freight_taxable", "resolved_state"], **given)
    assert list(more.columns) == [*frame.columns, *TEN, "freight_taxable", "resolved_state"]
    shipped = more.svc.tax(shipping="5.00", progress=False)
    assert "tax_low" not in shipped
    assert shipped["taxable_amount"].notna().any()


def test_all_that_follows_gives_the_same_figures(both, tmp_path):
    few, every = both
    assert list(few["tax"].dropna()) == list(every["tax"].dropna())
    assert list(few["tax_review"].dropna()) == list(every["tax_review"].dropna()) != []
    assert few.svc.split().parts == every.svc.split().parts
    listed, expected = few.svc.review(), every.svc.review()
    assert set(listed.rows.index) == set(expected.rows.index)
    assert list(listed.rows["review_reasons"].sort_index()) == list(
        expected.rows["review_reasons"].sort_index()
    )
    assert summarize(Enriched(few)).rests_on == summarize(Enriched(every)).rests_on
    assert summarize(Enriched(few)).money == summarize(Enriched(every)).money
    assert summarize(Enriched(few)).states == summarize(Enriched(every)).states
    few_made, every_made = (one.svc.reconcile("collected") for one in both)
    assert few_made.totals == every_made.totals
    pd.testing.assert_frame_equal(few_made.by_state, every_made.by_state)
    state = every.loc[every["lookup_status"] == "ok", "resolved_state"].iloc[0]
    ours, theirs = (one.svc.filing(state) for one in both)
    assert ours.totals == theirs.totals
    pd.testing.assert_frame_equal(ours.table, theirs.table)
    for name in ("few.html", "few.xlsx"):
        assert few.svc.report(tmp_path / name).stat().st_size > 1000
    drawn = [{text.get_text() for text in one.svc.plot.tax_map().texts} for one in both]
    assert drawn[0] == drawn[1]
    one, other = (frame.svc.freeze(tmp_path / "few.svclock").answers for frame in both)
    assert one == other > 0


@pytest.mark.parametrize("given", [["combined_rate"], ["short", "rate_low"]])
def test_without_both_ends_of_the_range_nothing_is_known_to_be_at_stake(
    given, sales, embedded, tmp_path
):
    looked = sales.svc.lookup(columns=given, client=embedded, cache=False, progress=False)
    taxed = looked.svc.tax(progress=False)
    assert taxed["tax"].notna().any()
    for name in ("tax_low", "tax_high", "at_stake"):
        assert taxed[name].isna().all(), name
    page = taxed.svc.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Between the lowest and the highest tax" not in page
    both = looked.assign(rate_low="0.04000", rate_high="0.09000").svc.tax(progress=False)
    assert (both["at_stake"].dropna() > 0).any()


def test_what_needs_a_further_column_names_it(both):
    few, _ = both
    further = r"with columns=\['short', 'freight_taxable', 'warnings'\], or"
    with pytest.raises(ValueError, match=further):
        few.svc.tax(shipping="5.00")
    with pytest.raises(ValueError, match=r"with columns=\['short', 'lookup_as_of'\], or"):
        few.assign(resolved_state=few["state"]).svc.tax(
            nexus=[{"state": "NY", "nexus_type": "physical"}]
        )


def test_it_is_recognized_from_a_file_and_replaced(both, embedded, tmp_path):
    few, _ = both
    path = tmp_path / "few.csv"
    few.head(5).to_csv(path, index=False)
    read = pd.read_csv(path, dtype="str").assign(tax_low="mine")
    assert read.attrs == {}
    given = {"client": embedded, "cache": False, "progress": False, "as_of": "order_date"}
    again = read.svc.lookup(columns="short", **given)
    own = [name for name in few.columns if name not in {*TAXED, *FURTHER}]
    assert [name for name in again.columns if name not in FURTHER] == [*own, "tax_low", *TEN]
    taxed = read.svc.tax(progress=False)
    assert list(taxed["tax"].isna()) == list(few.head(5)["tax"].isna())
    assert list(taxed["tax_low"]) == ["mine"] * 5
    output = tmp_path / "again.csv"
    run = enrich_file(
        path, output, tax={"amount": "amount"}, columns="short", client=embedded, cache=False
    )
    assert output.read_text().splitlines()[0].split(",") == [*own, *TAXED]
    assert any("columns of an earlier run are replaced" in note for note in run.notes)


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_a_file_is_computed_from_all_columns_and_written_with_few(sales, embedded, tmp_path, kind):
    source = tmp_path / "in.csv"
    sales.to_csv(source, index=False)
    options = {"client": embedded, "cache": False, "tax": {"amount": "amount", "shipping": "5.00"}}
    few = enrich_file(source, tmp_path / f"few.{kind}", columns="short", **options)
    every = enrich_file(source, tmp_path / "all.csv", **options)
    assert few.totals.tax == every.totals.tax > 0
    assert few.totals.at_stake == every.totals.at_stake
    read = {"csv": pd.read_csv, "xlsx": pd.read_excel, "parquet": pd.read_parquet}[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = list(read(tmp_path / f"few.{kind}").columns)
    assert [name for name in names if name not in FURTHER] == [*sales.columns, *TAXED]
