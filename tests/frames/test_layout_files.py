"""Layouts: what a sales file was decided to be is kept, and next month's file is read by it.

The rate in Seattle (98101) on 2026-08-14 is 10.55 %, and delivery is taxed there.
"""

from __future__ import annotations

import tomllib

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.frames import SalesLayout, enrich_file
from svc_tools.frames.orders.saved_layout import LayoutError, _written
from svc_tools.tables.roles import ColumnAmbiguous

GOODS = ["40.00", "60.00", "25.00", "90.00", "12.00"]
FEES = ["1.00", "2.00", "1.50", "3.00", "0.50"]
TAX = ["4.22", "6.33", "2.64", "9.50", "1.27"]
TOTAL = ["45.22", "68.33", "29.14", "102.50", "13.77"]
RIGHT = ["4.22", "6.33", "2.64", "9.50", "1.27"]
FEE = 'Service "=" Gebühr \\ Fee'


def month(rows=5, **others):
    """A month of sales; one row of it proves nothing."""
    columns = {
        "Ship Zip": ["98101"] * 5,
        "Sold On": ["2026-08-14"] * 5,
        "Status": ["Paid"] * 5,
        "Goods": GOODS,
        FEE: FEES,
        "Discount": ["0.00"] * 5,
        "Sales Tax": TAX,
        "Total": TOTAL,
    } | {name.replace("_", " "): values for name, values in others.items()}
    return pd.DataFrame({name: values[:rows] for name, values in columns.items()}, dtype=str)


@pytest.fixture(scope="module")
def looked_up(embedded):
    def look_up(frame, **arguments):
        return frame.svc.lookup(client=embedded, cache=False, progress=False, **arguments)

    return look_up


def taxes(frame):
    return [None if pd.isna(one) else str(one) for one in frame["tax"]]


@pytest.fixture(scope="module")
def layout(looked_up, tmp_path_factory):
    """The layout of a month whose fee was asked about, as a file."""
    taxed = looked_up(month()).svc.tax(parts={FEE: "untaxed"}, progress=False)
    assert taxes(taxed) == RIGHT
    return taxed.svc.layout().save(tmp_path_factory.mktemp("layout") / "shop.toml")


def read_by(layout, frame, looked_up, **arguments):
    return looked_up(frame, layout=layout).svc.tax(layout=layout, progress=False, **arguments)


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("how", ["path", "object"])
def test_the_next_month_is_read_without_a_question(layout, looked_up, rows, how):
    frame = month(rows)
    with pytest.raises(ColumnAmbiguous):
        looked_up(frame).svc.tax(progress=False)

    by = layout if how == "path" else SalesLayout.read(layout)

    assert taxes(read_by(by, frame, looked_up)) == RIGHT[:rows]


def test_a_layout_survives_a_file_and_is_shown_as_it_stands_there(layout):
    read = SalesLayout.read(layout)

    assert str(read) == layout.read_text(encoding="utf-8")
    assert repr(read) == str(read)
    plain = tomllib.loads(str(read))
    assert plain["version"] == 1
    assert plain["lookup"] == {"zip": "Ship Zip", "as_of": "Sold On"}
    assert plain["tax"]["parts"] == {FEE: "untaxed"}
    assert plain["reading"]["sums"]["total"] == {"column": "Total"}
    assert plain["columns"]["zero"] == ["Discount"]
    assert (read.columns[0], read.zero) == ("Ship Zip", ("Discount",))


def test_rows_that_do_not_add_up_have_no_tax_with_a_layout_either(layout, looked_up):
    frame = month(Total=[*TOTAL[:4], "13.78"])

    taxed = read_by(layout, frame, looked_up)

    assert taxes(taxed) == [*RIGHT[:4], None]
    alone = read_by(layout, frame.tail(1).reset_index(drop=True), looked_up)
    assert (taxes(alone), alone["tax_error"].notna().tolist()) == ([None], [True])


def test_a_part_that_is_not_zero_any_more_is_proven_and_named(layout, looked_up, capsys):
    less = [f"{float(total) - 1:.2f}" for total in TOTAL]
    frame = month(Discount=["1.00"] * 5, Total=less)

    taxed = looked_up(frame, layout=layout).svc.tax(layout=layout)

    # 10.55 % of 39.00, 59.00, 24.00, 89.00, 11.00
    assert taxes(taxed) == ["4.11", "6.22", "2.53", "9.39", "1.16"]
    assert "'Discount' was 0.00 throughout when the layout was saved" in capsys.readouterr().err


def test_a_part_that_is_not_zero_any_more_is_asked_about_where_nothing_proves_it(
    looked_up, tmp_path
):
    plain = month().drop(columns=[FEE, "Total", "Sales Tax"])
    path = looked_up(plain).svc.tax(progress=False).svc.layout().save(tmp_path / "plain.toml")
    changed = plain.assign(Discount=["1.00", "0.00", "0.00", "0.00", "0.00"])

    with pytest.raises(ColumnAmbiguous) as asked:
        read_by(path, changed, looked_up)

    assert asked.value.questions[0].why.startswith("'Discount' was 0.00 throughout when the")
    assert asked.value.questions[0].argument == "parts"
    taxed = read_by(path, changed, looked_up, parts={"Discount": "discount"})
    assert taxes(taxed) == ["4.11", *RIGHT[1:]]
    taxed = read_by(path, changed, looked_up, parts={"Discount": "none"})
    assert taxes(taxed) == RIGHT


@pytest.mark.parametrize(
    ("gone", "named"),
    [("Ship Zip", "'Ship Zip'"), ("Total", "'Total'"), ("Status", "'Status'")],
)
def test_a_column_that_is_missing_is_named(layout, looked_up, gone, named):
    frame = month().rename(columns={gone: "Other"}).assign(zip="98101", date="2026-08-14")

    with pytest.raises(LayoutError, match=f"not in the file: {named}"):
        read_by(layout, frame, looked_up)


def test_columns_that_are_new_are_named_and_not_used(layout, looked_up, capsys):
    new = {
        "Tip": ["5.00"] * 5,
        "Order_Type": ["Sale"] * 5,
        "Currency": ["EUR"] * 5,
        "Ship_Country": ["DE"] * 5,
        "Remark": ["thanks"] * 5,
    }
    frame = month(**new).drop(columns="Discount")

    taxed = looked_up(frame, layout=layout).svc.tax(layout=layout)

    assert taxes(taxed) == RIGHT
    said = capsys.readouterr().err
    for label, what in (
        *(("Tip", "money"), ("Order Type", "a status")),
        *(("Currency", "a currency"), ("Ship Country", "a country")),
    ):
        assert f"'{label}' ({what}) is new since the layout was saved, and is not used" in said
    assert "Remark" not in said
    assert "'Discount' of the layout is not in the file" in said


def test_refunds_that_were_not_there_are_asked_about_all_the_same(looked_up, tmp_path):
    frame = month().rename(columns={"Status": "Type"}).assign(Type="Sale")
    first = looked_up(frame).svc.tax(parts={FEE: "untaxed"}, progress=False)
    path = first.svc.layout().save(tmp_path / "shop.toml")
    later = frame.assign(Type=["Sale"] * 4 + ["Refund"])

    with pytest.raises(ColumnAmbiguous) as asked:
        read_by(path, later, looked_up)
    assert [one.argument for one in asked.value.questions] == ["refunds"]

    taxed = read_by(path, later, looked_up, refunds="subtract")
    assert taxes(taxed) == [*RIGHT[:4], "-1.27"]
    again = taxed.svc.layout()  # it keeps what was answered
    assert taxes(read_by(again, later, looked_up)) == [*RIGHT[:4], "-1.27"]


def test_an_argument_overrides_the_layout(layout, looked_up):
    frame = month(Other_Zip=["10001"] * 5)

    moved = looked_up(frame, layout=layout, zip="Other Zip")
    assert {*map(str, moved["resolved_state"])} == {"NY"}

    rated = looked_up(frame, layout=layout)
    taxed = rated.svc.tax("Total", layout=layout, contains_tax=False, progress=False)
    assert taxes(taxed) == ["4.77", "7.21", "3.07", "10.81", "1.45"]  # 10.55 % of the totals


def test_what_is_exempt_stays_exempt(looked_up, tmp_path):
    frame = month(Free=["yes", "no", "no", "no", "no"])
    first = looked_up(frame).svc.tax(parts={FEE: "untaxed"}, exempt="Free", progress=False)
    path = first.svc.layout().save(tmp_path / "shop.toml")

    assert taxes(read_by(path, frame, looked_up)) == ["0.00", *RIGHT[1:]]
    with pytest.raises(LayoutError, match="'Free'"):
        read_by(path, frame.drop(columns="Free"), looked_up)


def test_dates_are_read_as_they_were_decided(looked_up, tmp_path):
    path = tmp_path / "shop.toml"
    frame = month(Sold_On=["14/08/2026"] * 5)
    looked_up(frame).svc.layout().save(path)

    later = looked_up(month(Sold_On=["05/08/2026"] * 5), layout=path)

    assert {*map(str, later["lookup_as_of"])} == {"2026-08-05"}


def test_an_export_is_read_by_its_table_and_by_what_was_named(looked_up, tmp_path):
    frame = pd.read_csv("tests/data/exports/square.csv", dtype="str").head(20)
    first = looked_up(frame).svc.tax(progress=False)
    path = first.svc.layout().save(tmp_path / "square.toml")

    assert tomllib.loads(path.read_text(encoding="utf-8"))["export"].startswith("Square")
    assert taxes(read_by(path, frame, looked_up)) == taxes(first)
    with pytest.raises(LayoutError, match="no known export"):
        read_by(path, month(), looked_up)


def test_a_file_is_read_by_a_layout_that_a_file_left(embedded, tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    month().to_csv(source, index=False)
    kept = tmp_path / "kept.toml"
    options = {"client": embedded, "cache": False, "force": True}
    enrich_file(source, out, tax={"parts": {FEE: "untaxed"}}, save_layout=kept, **options)

    month(1).to_csv(source, index=False)
    enrich_file(source, out, tax={}, layout=kept, **options)

    assert pd.read_csv(out, dtype=str)["tax"].tolist() == RIGHT[:1]


def test_a_part_that_only_later_rows_have_is_seen(embedded, tmp_path, monkeypatch):
    monkeypatch.setattr("svc_tools.frames.files.job.DECIDING_ROWS", 5)
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 5)
    less = [f"{float(total) - 1:.2f}" for total in TOTAL]
    late = month(Discount=["1.00"] * 5, Total=less)
    pd.concat([month(), late], ignore_index=True).to_parquet(tmp_path / "in.parquet")
    run = {"client": embedded, "cache": False, "force": True}
    out = tmp_path / "out.parquet"

    enrich_file(tmp_path / "in.parquet", out, tax={"parts": {FEE: "untaxed"}}, **run)

    assert taxes(pd.read_parquet(out)) == [*RIGHT, "4.11", "6.22", "2.53", "9.39", "1.16"]

    # the registrations are read once, however often it is decided what the columns mean
    records = ({"state": one, "nexus_type": "physical"} for one in ("WA", "TX"))
    terms = {"parts": {FEE: "untaxed"}, "nexus": records}

    enrich_file(tmp_path / "in.parquet", out, tax=terms, **run)

    found = pd.read_parquet(out)
    here = found["resolved_state"].isin(["WA", "TX"])
    assert here.any()
    assert found["tax_due"].notna().equals(here & found["tax"].notna())


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("version = 1", "version = 2", "version 2, which a newer release wrote"),
        ("version = 1", 'version = "1"', "version: expected 1"),
        ("version = 1", "", "version: expected 1, not None"),
        ('zip = "Ship Zip"', "zip = 7", "lookup.zip"),
        ('zip = "Ship Zip"', 'zipp = "Ship Zip"', "lookup.zipp"),
        ('column = "Goods"', 'colum = "Goods"', "reading.sums.goods.0"),
        ('decided_by = "', 'decided_by = "chance', "reading.sums.decided_by"),
        ("[lookup]", "[lookup", "no layout"),
    ],
)
def test_a_layout_that_is_damaged_is_refused_with_the_key(layout, tmp_path, before, after, named):
    text = layout.read_text(encoding="utf-8")
    assert before in text
    damaged = tmp_path / "shop.toml"
    damaged.write_text(text.replace(before, after, 1), encoding="utf-8")

    with pytest.raises(LayoutError, match=r"^shop\.toml") as refused:
        SalesLayout.read(damaged)
    assert named in str(refused.value)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.one_of(TEXTS, st.booleans(), st.integers(-(2**62), 2**62)),
    lambda one: st.one_of(st.lists(one), st.dictionaries(TEXTS, one)),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, PLAIN))
def test_what_is_written_is_read_again(plain):
    assert tomllib.loads(_written(plain)) == plain


def test_columns_without_names_of_text_cannot_be_kept(looked_up):
    frame = month().assign(x="1").rename(columns={"x": 7})

    with pytest.raises(LayoutError, match="7 is no text"):
        looked_up(frame).svc.layout()


def test_a_frame_that_does_not_know_its_lookup_has_no_layout():
    with pytest.raises(LayoutError, match=r"df\.svc\.lookup"):
        month().svc.layout()
