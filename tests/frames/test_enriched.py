"""What is known of enriched rows is read once: columns of rates, terms of the tax, the stamp."""

import copy
import io
import sys
import warnings
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from svc_tools.frames import SvcAccessor
from svc_tools.frames.added import rates
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.added.stamp import KEY
from svc_tools.frames.options import TaxOptions
from svc_tools.frames.reports.report import write_report_workbook
from svc_tools.frames.review.summary import summarize
from svc_tools.lookup.columns import OF_EVERY_TAX

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
SUFFIXES = (".xlsx", ".html")
STREET = "12 Elm Street"
ORDERS = {
    "address": [STREET, STREET, None],
    "state": ["TX", "PR", "WA"],
    "zip": ["78701", "00901", "98101"],
    "date": ["2026-02-03"] * 3,
    "amount": ["100.00", "80.00", "40.00"],
}


@pytest.fixture(scope="module")
def taxed(embedded):
    """Three rows after a lookup and a tax; one has no rate, and its error quotes an address."""
    orders = pd.DataFrame(ORDERS)
    looked = SvcAccessor(orders).lookup(client=embedded, progress=False)
    looked["lookup_error"] = looked["lookup_error"].str.cat([f" '{STREET}'"] * 3)
    return SvcAccessor(looked).tax("amount", shipping=False, progress=False)


@pytest.fixture
def counted(monkeypatch):
    """Counts how often rates and terms are read, and stamps are copied."""
    counts = Counter()

    def counting(found, name_of):
        def call(*args, **options):
            counts[name_of(*args)] += 1
            return found(*args, **options)

        return call

    def copied(attributes, *args, deepcopy=copy.deepcopy):
        made = deepcopy(attributes, *args)
        if isinstance(attributes, dict) and KEY in attributes:
            counts["copies asked for"] += 1
            counts["copies"] += made[KEY] is not attributes[KEY]
        return made

    for module in [one for name, one in sys.modules.items() if name.startswith("svc_tools.")]:
        if vars(module).get("rates_of") is rates.rates_of and module is not rates:
            by_column = counting(rates.rates_of, lambda _, name: ("rates", name))
            monkeypatch.setattr(module, "rates_of", by_column)
    of_terms = counting(TaxOptions.__init__, lambda _: "terms")
    monkeypatch.setattr(TaxOptions, "__init__", of_terms)
    monkeypatch.setattr(pd.core.generic, "deepcopy", copied)
    return counts


def test_what_a_file_remembers_is_copied_once(taxed, counted, tmp_path):
    taxed.to_parquet(tmp_path / "rows.parquet")
    back = pd.read_parquet(tmp_path / "rows.parquet")
    for made in (back.svc.review, lambda: back.svc.report(tmp_path / "report.html")):
        counted.clear()
        made()
        assert counted["copies"] <= 1 < counted["copies asked for"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_report_reads_each_column_of_rates_and_the_terms_once(taxed, counted, tmp_path, suffix):
    SvcAccessor(taxed).report(tmp_path / f"report{suffix}")
    of_rates = {key[1]: times for key, times in counted.items() if key[0] == "rates"}
    assert {"combined_rate", "rate_low", "rate_high"} <= of_rates.keys()
    assert {*of_rates.values()} == {1}
    assert counted["terms"] == 1


def test_what_a_summary_has_read_is_not_read_again_for_a_report(taxed, counted, tmp_path):
    rows = Enriched(taxed)
    summary = summarize(rows)
    write_report_workbook(rows, tmp_path / "report.xlsx", summary=summary)
    assert {times for key, times in counted.items() if key[0] == "rates"} == {1}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_report_copies_nothing_of_what_the_frame_remembers(taxed, counted, tmp_path, suffix):
    SvcAccessor(taxed).report(tmp_path / f"report{suffix}")
    assert counted["copies asked for"]
    assert not counted["copies"]


def test_an_address_that_is_left_out_is_not_quoted_though_it_is_read_already(taxed, tmp_path):
    text = SvcAccessor(taxed).report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "(not shown)" in text
    assert STREET not in text
    assert taxed["lookup_error"].str.contains(STREET).any()


@pytest.mark.parametrize("tax", [{}, {"amount": "Subtotal"}])
def test_a_frame_and_its_file_remember_the_same(embedded, tmp_path, tax):
    orders = pd.read_csv(EXPORTS / "shopify.csv", dtype=str)
    looked = SvcAccessor(orders).lookup(client=embedded, progress=False)
    taxed = SvcAccessor(looked).tax(**tax, progress=False)
    taxed.to_parquet(tmp_path / "taxed.parquet")
    again = pd.read_parquet(tmp_path / "taxed.parquet")
    assert again.attrs[KEY] == taxed.attrs[KEY]
    both = pd.concat([taxed, again])  # pandas keeps what is equal
    assert SvcAccessor(both).layout() == SvcAccessor(taxed).layout()


def test_a_column_of_the_users_with_the_name_of_a_tax_is_no_tax(embedded):
    frame = pd.DataFrame({"zip": ["78701", "10001"], "amount": [10.0, 20.0], "tax": ["n/a", "x"]})
    looked = frame.svc.lookup(client=embedded, progress=False)
    review, split = looked.svc.review(), looked.svc.split()
    assert review.totals.of_sales or not review.totals.rows
    assert [part.tax for part in split.parts] == [None] * 4
    with pytest.raises(ValueError, match="'tax'"):
        looked.svc.reconcile(collected="tax")
    back = pd.read_csv(io.StringIO(looked.to_csv(index=False)), dtype=str)
    assert [part.rows for part in back.svc.split().parts] == [part.rows for part in split.parts]


def test_a_place_that_is_changed_in_its_memory_is_still_noticed_by_the_tax(embedded):
    frame = pd.DataFrame({"zip": [78701, 10001, 94105], "amount": [10.0, 20.0, 30.0]})
    looked = frame.svc.lookup(client=embedded, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        looked.svc.tax(progress=False)
    looked["zip"].array[0] = 90210
    with pytest.warns(UserWarning, match="1 of 3 rows have another place"):
        looked.svc.tax(progress=False)


def test_a_part_of_an_order_without_its_first_row_is_taxed(embedded):
    orders = shop("shopify")
    looked = orders.svc.lookup(client=embedded, progress=False, cache=False)
    without_heads = looked[looked["Name"].duplicated()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        taxed = without_heads.svc.tax()
    assert len(taxed) == len(without_heads)
    assert set(taxed["tax"].dropna()) == {
        Decimal("0.00")
    }  # amounts of an order are in its first row


@pytest.mark.parametrize(
    ("name", "label"), [("shopify", "Name"), ("woocommerce_meta", "_billing_postcode")]
)
def test_a_place_that_another_column_gives_is_noticed_where_that_is_changed(embedded, name, label):
    looked = shop(name).svc.lookup(client=embedded, progress=False, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        looked.svc.tax()
    looked[label] = looked[label].iloc[::-1].to_numpy()
    with pytest.warns(UserWarning, match="rows have another place"):
        looked.svc.tax()


@pytest.mark.parametrize("first", [["tax"], ["tax_due"], [*sorted(OF_EVERY_TAX), "tax_due"]])
def test_columns_of_a_tax_that_were_moved_in_a_file_are_still_those_of_the_tax(embedded, first):
    orders = pd.DataFrame({**ORDERS, "channel": ["amazon", "web", "web"], "collected": "1.00"})
    looked = orders.svc.lookup(client=embedded, progress=False)
    taxed = looked.svc.tax("amount", shipping=False, channel="channel", progress=False)
    rest = [label for label in taxed if label not in first]
    moved, plain = (
        pd.read_csv(io.StringIO(frame.to_csv(index=False)), dtype=str)
        for frame in (taxed[[*first, *rest]], taxed)
    )
    assert moved.svc.split().parts == plain.svc.split().parts
    expected = [one.svc.reconcile("collected").totals.expected for one in (moved, plain)]
    assert expected[0] == expected[1]


def shop(name):
    return pd.read_csv(EXPORTS / f"{name}.csv", dtype=str, keep_default_na=False)
