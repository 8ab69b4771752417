"""`df.svc` of polars: every figure is that of pandas, and the user's columns are as they were."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from support.examples import examples

import svc_tools
from svc_tools.frames import LookupFailedError, SvcAccessor, TaxFailedError
from svc_tools.lookup.columns import TAX_COLUMNS
from svc_tools.nexus import read_register
from svc_tools.tables.roles import ColumnError

CELLS = {
    "zip": st.sampled_from(["94105", "7030", "98101", "70601", "see notes", "00901", "", None]),
    "state": st.sampled_from(["CA", "New Jersey", "WA", "la", "PR", None]),
    "sold": st.sampled_from([dt.date(2026, 2, 1), dt.date(2026, 1, 31), None]),
    "amount": st.sampled_from([10.0, 20.25, -12.5, 0.07, 1.005, 0.0, None]),
}
USABLE = ("94105", "CA", dt.date(2026, 2, 1), 10.0)
ROWS = st.lists(st.tuples(*CELLS.values()), max_size=12).map(lambda rows: [*rows, USABLE])
OF_A_REQUEST = {"looked_up_at", "support_reference"}
"""Columns that differ from one request to the next."""
FORMS = {
    "zip": (pl.String, pl.Categorical),
    "state": (pl.String, pl.Categorical, pl.Enum(["CA", "New Jersey", "WA", "la", "PR"])),
    "sold": (pl.Date, pl.String, pl.Datetime("ms")),
    "amount": (pl.Float64, pl.Decimal(12, 3), pl.String),
}


def shown(column):
    """The values of a column of pandas or polars, `None` where missing."""
    values = column.to_list()
    return [
        None if value is None or value is pd.NA or value is pd.NaT or value != value else value  # noqa: PLR0124 - only NaN differs
        for value in values
    ]


def same(polars_frame, pandas_frame, names):
    for name in names:
        assert shown(polars_frame[name]) == shown(pandas_frame[name]), name


@pytest.fixture
def orders():
    return pl.DataFrame(
        {
            "order": ["A1", "A2", "A3"],
            "zip": ["94105", "07030", "see notes"],
            "state": ["CA", "NJ", "CA"],
            "sold": ["2026-02-01"] * 3,
            "amount": ["$1,234.50", "10.00", "5"],
        }
    )


@pytest.fixture
def rated(orders, embedded):
    return orders.svc.lookup(client=embedded, cache=False, progress=False)


@examples(5, of=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, forms=st.fixed_dictionaries({k: st.sampled_from(v) for k, v in FORMS.items()}))
def test_every_result_is_that_of_pandas_converted(embedded, rows, forms):
    own = (
        dict(zip(CELLS, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(CELLS, ())
    )
    kinds = {"zip": pl.String, "state": pl.String, "sold": pl.Date, "amount": pl.Float64}
    plain = pl.DataFrame({name: list(own[name]) for name in CELLS}, schema=kinds)
    plain = plain.with_row_index("number")
    frame = plain.with_columns(pl.col(name).cast(kind) for name, kind in forms.items())
    options = {"client": embedded, "cache": False, "progress": False}
    in_pandas = frame.to_pandas(types_mapper=pd.ArrowDtype)
    for name in ("zip", "state"):
        in_pandas[name] = frame[name].cast(pl.String).to_pandas()
    made = frame.svc.lookup(**options)
    expected = in_pandas.svc.lookup(**options)
    assert made.columns == expected.columns.tolist()
    assert_frame_equal(made[frame.columns], frame)  # types, categories and order too
    added = {*expected}.difference(frame.columns)
    same(made, expected, added - OF_A_REQUEST)
    taxed, in_pandas = made.svc.tax(progress=False), expected.svc.tax(progress=False)
    assert taxed.columns == in_pandas.columns.tolist()
    assert_frame_equal(taxed[made.columns], made)
    same(taxed, in_pandas, TAX_COLUMNS)
    review, listed = taxed.svc.review(), in_pandas.svc.review()
    assert review.sentence == listed.sentence
    assert review.totals == listed.totals
    assert review.rows["number"].to_list() == listed.rows.index.tolist()
    same(review.rows, listed.rows, [name for name in listed.rows if name.startswith("review_")])
    same(review.groups, listed.groups, listed.groups.columns)
    same(review.by_state, listed.by_state, listed.by_state.columns)
    assert str(review) == str(listed)


def test_the_export_of_a_shop_needs_no_argument_either(embedded):
    path = Path(__file__).parents[1] / "data" / "exports" / "shopify.csv"
    given = {"client": embedded, "cache": False, "progress": False}
    made = pl.read_csv(path, infer_schema_length=None).svc.lookup(**given).svc.tax(progress=False)
    expected = pd.read_csv(path).svc.lookup(**given).svc.tax(progress=False)
    assert made.columns == list(expected.columns)
    same(made, expected, ["sale_amount", "sale_shipping", "tax", "tax_error"])
    assert made["tax"].sum() > 0


def test_rates_and_money_are_exact_and_each_column_has_its_type(rated):
    taxed = rated.svc.tax(progress=False)
    assert taxed["tax"].to_list() == [Decimal("106.48"), Decimal("0.66"), None]
    kinds = taxed.schema
    assert kinds["combined_rate"] == pl.Decimal(7, 5)
    assert kinds["tax"] == pl.Decimal(18, 2)
    assert kinds["confidence"] == pl.Categorical
    assert kinds["lookup_as_of"] == pl.Date
    assert kinds["looked_up_at"] == pl.Datetime("us", "UTC")
    assert kinds["needs_review"] == pl.Boolean
    assert taxed["combined_rate"].null_count() == 1
    floats = taxed.drop("lookup_status").svc  # what is not a lookup any more is refused
    with pytest.raises(ValueError, match="lookup_status"):
        floats.review()


def test_columns_that_arrow_and_pandas_do_not_have_stay_as_they_are(orders, embedded):
    odd = orders.with_columns(
        pl.Series("lists", [[1], None, []], dtype=pl.List(pl.Int8)),
        pl.Series("nothing", [None] * 3, dtype=pl.Null),
        pl.Series("record", [{"a": 1}, None, {"a": None}]),
        pl.Series("nan", [float("nan"), None, 1.0]),
        pl.Series("kind", ["x", None, "y"], dtype=pl.Enum(["y", "x"])),
        pl.Series("long", [1, None, -(2**70)], dtype=pl.Int128),
    )
    made = odd.svc.lookup(client=embedded, cache=False, progress=False).svc.tax(progress=False)
    assert_frame_equal(made[odd.columns], odd)
    with_objects = orders.with_columns(pl.Series("o", [object()] * 3, dtype=pl.Object))
    with pytest.raises(TypeError, match=r"column 'o' is of type Object.*pl\.col\('o'\)"):
        with_objects.svc.lookup(client=embedded)


def test_a_frame_without_rows_has_the_columns_too(orders, embedded):
    none = orders.clear().svc.lookup(client=embedded, progress=False).svc.tax(progress=False)
    assert none.height == 0
    assert none.schema["tax"] == pl.Decimal(18, 2)
    assert none.svc.review().rows.height == 0


def test_a_second_lookup_replaces_the_first(rated, embedded):
    again = rated.svc.lookup(client=embedded, cache=False, progress=False)
    assert again.columns == rated.columns
    assert_frame_equal(again.drop(OF_A_REQUEST), rated.drop(OF_A_REQUEST))


def test_what_the_lookup_and_the_tax_noted_is_there_for_the_methods_of_pandas(rated):
    taxed = rated.rename({"amount": "total"}).svc.tax("total", progress=False)
    with pytest.raises(AttributeError, match=r"df\.svc\.to_pandas\(\)\.svc\.filing"):
        taxed.svc.filing("CA")
    with pytest.raises(AttributeError, match="has no 'filings'"):
        _ = taxed.svc.filings
    frame = taxed.svc.to_pandas()
    assert isinstance(frame.svc, SvcAccessor)
    assert frame.svc.review().totals.estimated == Decimal("0.43")  # it knows the amounts
    assert taxed.svc.review().totals.estimated == Decimal("0.43")
    derived = taxed.filter(pl.col("zip") == "see notes").svc
    assert derived.review().totals.estimated is None  # a frame made in polars does not
    assert derived.review(amount="total").totals.rows == 1


def test_failures_have_the_result_as_a_polars_frame(orders, rated, embedded):
    with pytest.raises(LookupFailedError) as failed:
        orders.svc.lookup(client=embedded, cache=False, progress=False, errors="raise")
    assert_frame_equal(failed.value.frame.drop(OF_A_REQUEST), rated.drop(OF_A_REQUEST))
    with pytest.raises(TaxFailedError) as untaxed:
        rated.svc.tax(progress=False, errors="raise")
    assert_frame_equal(untaxed.value.frame, rated.svc.tax(progress=False))


def test_errors_of_arguments_are_in_terms_of_polars(orders, embedded):
    rated = orders.svc.lookup(client=embedded, cache=False, progress=False)
    flags = rated.with_columns(pl.lit(1).alias("free"))
    with pytest.raises(ColumnError, match=r"pl\.col\('free'\)\.cast\(pl\.Boolean\)"):
        flags.svc.tax(exempt="free")
    assert flags.with_columns(pl.col("free").cast(pl.Boolean)).svc.tax(
        exempt="free", progress=False
    )["tax"].to_list() == [0, 0, None]
    with pytest.raises(TypeError, match=r"zip: expected the name of a column.* not a polars Expr"):
        orders.svc.lookup(client=embedded, zip=pl.col("zip"))
    with pytest.raises(TypeError, match=r"amount: .* not a polars Series"):
        orders.svc.tax(orders["amount"])
    with pytest.raises(TypeError, match=r"lf\.collect\(\)\.svc\.lookup"):
        _ = orders.lazy().svc
    with pytest.raises(ValueError, match=r"no column 'price'"):
        rated.svc.tax("price")


def test_a_plan_sends_no_request(orders, scripted, faults):
    plans = [orders.svc.plan(client=scripted), orders.svc.lookup(client=scripted, dry_run=True)]
    assert {(plan.rows, plan.places) for plan in plans} == {(3, 2)}
    assert faults.seen == []


def test_registrations_may_be_a_polars_frame_or_an_arrow_table(rated):
    register = pl.DataFrame({"state": ["CA"], "nexus_type": ["economic"]})
    due = rated.svc.tax(nexus=register, progress=False)["tax_due"].to_list()
    assert due == [Decimal("106.48"), None, None]
    assert read_register(register.to_arrow()) == read_register(register)


@pytest.mark.parametrize(
    ("frame", "way"),
    [
        (pa.table({"zip": ["94105"]}), r"pyarrow\.Table; .*to_pandas\(types_mapper="),
        ([{"zip": "94105"}], r"list; .*pandas\.DataFrame"),
        (pl.LazyFrame({"zip": ["94105"]}), r"polars\.LazyFrame; .*collect"),
        (pl.DataFrame({"zip": ["94105"]}), r"polars\.DataFrame; df\.svc"),
        (pd.Series(["94105"]), "pandas.Series$"),
        (5, "int$"),
    ],
)
def test_what_is_no_frame_of_pandas_is_refused_with_the_way_to_one(frame, way):
    with pytest.raises(TypeError, match=way):
        svc_tools.svc(frame)


@pytest.mark.parametrize(
    ("library", "way"),
    [
        *(("pyspark.sql.dataframe", r"\.toPandas\(\)"), ("duckdb", r"\.df\(\)")),
        *(("modin.pandas.dataframe", r"\.modin\.to_pandas\(\)"), ("cudf", r"\.to_pandas\(\)")),
        ("dask.dataframe", r"ddf\.svc"),
    ],
)
def test_frames_of_further_libraries_are_told_by_their_class(library, way):
    kind = type("DataFrame", (), {"__module__": library})
    with pytest.raises(TypeError, match=way):
        svc_tools.svc(kind())
    with pytest.raises(TypeError, match=way):
        read_register(kind())


@pytest.mark.parametrize("first", ["svc_tools", "polars"])
def test_polars_has_the_accessor_whatever_was_imported_first_and_loads_no_pandas(first):
    second = {"svc_tools": "polars", "polars": "svc_tools"}[first]
    code = (
        f"import sys, {first}, {second}\n"
        "assert 'pandas' not in sys.modules\n"
        "frame = polars.DataFrame({'zip': ['94105']})\n"
        "print(type(frame.svc).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "PolarsSvcAccessor"
