"""Rows, sales and tax by state and month: of a frame, and of a file whatever its chunks."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.faults import echoing
from support.frames import found, half, line, looked_up, lost, money, taxed

from svc_tools.frames import SvcAccessor, enrich_file
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.analysis.breakdowns import BREAKDOWNS, ByMonth
from svc_tools.frames.review.summary import summarize
from svc_tools.frames.taxes.taxed_rows import goods_of_tax
from svc_tools.lookup.options import FileOptions, option_rows
from svc_tools.tables.roles import ColumnMissing

COLUMNS = [
    *("state", "month", "rows", "rows_with_tax", "sales", "taxable", "exempt", "tax", "tax_due"),
    *("rows_to_review", "rows_without_tax"),
]
DOUBTED = {"needs_review": True, "lookup_review_reason": "low_confidence"}
MAY, JUNE = date(2026, 5, 17), date(2026, 6, 1)


def lines_of(table):
    """The rows of a table as tuples, dollars as text."""
    cells = [found(table, name) for name in table]
    return [
        tuple(str(one) if isinstance(one, Decimal) else one for one in row)
        for row in zip(*cells, strict=True)
    ]


def test_each_row_is_in_the_line_of_its_state_and_month():
    frame = taxed(
        [
            line(),
            line(lookup_as_of=JUNE),
            line(**DOUBTED),
            half(),
            lost(),
            lost(state="GA", lookup_as_of=None),
            line(),
        ],
        ["100", "10", "30", "300", "5", "7", "-50"],
        terms={"nexus": [{"state": "GA", "nexus_type": "physical"}]},
    )
    table = frame.svc.by_month()
    assert list(table.columns) == COLUMNS
    may = ("GA", "2026-05", 3, 3, "80.00", "80.00", "0.00", "7.12", "7.12", 1, 0)
    june = ("GA", "2026-06", 1, 1, "10.00", "10.00", "0.00", "0.89", "0.89", 0, 0)
    no_day = ("GA", None, 1, 0, "7.00", None, None, None, None, 1, 1)
    texas = ("TX", "2026-05", 1, 0, "300.00", None, None, None, None, 0, 1)
    nowhere = (None, "2026-05", 1, 0, "5.00", None, None, None, None, 1, 1)
    assert lines_of(table) == [may, june, no_day, texas, nowhere]
    assert table.attrs == {"svc_by_month": {"notes": []}}
    assert "svc" in frame.attrs


KINDS = [line(), line("TX"), line(**DOUBTED), half(), lost(), lost("failed", state="GA")]
DAYS = [MAY, JUNE, None]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.sampled_from(DAYS),
            st.none() | st.integers(-(10**6), 10**6),
        ),
        max_size=12,
    ),
    st.booleans(),
    st.data(),
)
@examples(10, of=40)
def test_the_lines_add_up_to_the_totals_and_those_of_parts_are_those_of_the_frame(
    drawn, with_tax, data
):
    lines = [kind | {"lookup_as_of": day} for kind, day, _ in drawn]
    amounts = [None if cents is None else Decimal(cents).scaleb(-2) for *_, cents in drawn]
    make = taxed if with_tax else lambda lines, amounts: looked_up(lines, amount=money(amounts))
    frame = make(lines, amounts)
    table, whole = frame.svc.by_month(), summarize(Enriched(frame))
    assert table["rows"].sum() == len(frame)
    assert table["rows_to_review"].sum() == whole.review.totals.rows
    assert (table["rows_with_tax"] + table["rows_without_tax"] == table["rows"]).all()
    assert sum(table["sales"].dropna(), Decimal(0)) == sum(
        (one for one in amounts if one is not None), Decimal(0)
    )
    if with_tax:
        assert sum(table["tax"].dropna(), Decimal(0)) == whole.money.tax
        assert table["rows_with_tax"].sum() == frame["tax"].notna().sum()
    else:
        assert table["tax"].isna().all()
    made, at = ByMonth(), data.draw(st.integers(0, len(frame)))
    for part in (frame.iloc[:at], frame.iloc[at:]):
        rows = Enriched(part)
        made.add(rows, goods_of_tax(rows))
    pd.testing.assert_frame_equal(made.table(), table)


def test_another_column_of_dates_and_of_amounts_may_be_named():
    sold = ["01/31/2026", "02/01/2026", None]
    frame = taxed([line()] * 3, ["10.00"] * 3, sold=sold, listed=money(["1.00", "2.00", "4.00"]))
    table = frame.svc.by_month(date="sold", date_format="%m/%d/%Y", amount="listed", order=False)
    assert found(table, "month") == ["2026-01", "2026-02", None]
    assert found(table, "sales") == [Decimal("1.00"), Decimal("2.00"), Decimal("4.00")]
    assert found(table, "tax") == [Decimal("0.89")] * 3
    with pytest.raises(ValueError, match="shipped"):
        frame.svc.by_month(date="shipped")


def test_the_amount_of_an_order_counts_once(embedded):
    frame = pd.DataFrame(
        {
            "order number": ["A", "A", "B"],
            "state": "TX",
            "zip": "78701",
            "sold": ["2026-05-01", "2026-05-01", "2026-06-01"],
            "Order Total": ["30.00", "30.00", "5.00"],
        }
    )
    options = {"client": embedded, "progress": False, "cache": False}
    made = frame.svc.lookup(as_of="sold", **options)
    table = made.svc.by_month(amount="Order Total", once=["Order Total"], order="order number")
    assert found(table, "sales") == [Decimal("30.00"), Decimal("5.00")]
    assert found(table, "rows") == [2, 1]


def test_a_frame_that_was_not_looked_up_is_refused():
    with pytest.raises(ValueError, match="lookup_status"):
        pd.DataFrame({"zip": ["78701"], "amount": ["1.00"]}).svc.by_month()
    few = looked_up([line()], prefix="p_").drop(columns="p_lookup_as_of")
    with pytest.raises(ValueError, match="p_lookup_as_of"):
        few.svc.by_month(prefix="p_")


def test_months_of_a_lookup_by_quarter_are_those_of_the_sales(scripted, faults):
    faults.will(echoing())
    frame = pd.DataFrame({"zip": "78701", "state": "TX", "sold": ["2026-05-31", "2026-06-01"]})
    options = {"client": scripted, "cache": False, "progress": False}
    made = frame.svc.lookup(as_of_grain="quarter", **options)
    table = made.svc.by_month()
    assert found(table, "month") == ["2026-05", "2026-06"]
    assert "'sold'" in table.attrs["svc_by_month"]["notes"][0]
    with pytest.raises(ColumnMissing):
        made.drop(columns="sold").svc.by_month()


def csv_of(path, rows):
    text = "\n".join(",".join(one) for one in [("zip", "state", "sold", "amount"), *rows])
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


ROWS = [
    ("70601", "LA", "2026-05-01", "10.00"),
    ("75001", "TX", "2026-05-02", "20.00"),
    ("75001", "TX", "2026-06-30", "-3.00"),
    ("", "", "2026-06-30", "1.00"),
    ("75001", "TX", "soon", "4.00"),
]


@pytest.mark.parametrize("size", [128, 1 << 20])
@pytest.mark.parametrize("tax", [{"amount": "amount"}, None])
def test_a_file_has_the_table_of_its_whole_frame(embedded, tmp_path, monkeypatch, size, tax):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", size)
    source, output = csv_of(tmp_path / "in.csv", ROWS * 20), tmp_path / "out.parquet"
    run = enrich_file(source, output, tax=tax, client=embedded, by_month=True)
    frame = pd.read_parquet(output)
    table = frame.svc.by_month(amount="amount")
    pd.testing.assert_frame_equal(run.totals.breakdowns["by_month"].table(), table)
    told = run.as_json()["by_month"]
    assert [(one["state"], one["month"], one["rows"]) for one in told] == [
        *(("LA", "2026-05", 20), ("TX", "2026-05", 20), ("TX", "2026-06", 20)),
        *(("TX", None, 20), (None, None, 20)),  # the last was not looked up on any day
    ]
    assert [one["sales"] for one in told] == ["200.00", "400.00", "-60.00", "80.00", "20.00"]
    assert told[1]["tax"] == (None if tax is None else "33.00")
    assert "By state and month" in str(run)
    assert ("No tax" in str(run)) == (tax is not None)
    plain = enrich_file(source, tmp_path / "plain.csv", tax=tax, client=embedded)
    assert "by_month" not in plain.as_json()
    assert "By state and month" not in str(plain)


def test_a_file_by_quarter_has_the_months_of_its_own_dates(scripted, faults, tmp_path, monkeypatch):
    """How its dates are read is decided by all of them, not by those of a chunk."""
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 128)
    faults.will(*([echoing()] * 4))
    days = ["05/06/2026"] * 40 + ["31/05/2026"] * 40
    source = csv_of(tmp_path / "in.csv", [("75001", "TX", day, "1.00") for day in days])
    run = enrich_file(
        *(source, tmp_path / "out.csv"),
        client=scripted,
        cache=False,
        as_of_grain="quarter",
        by_month=True,
    )
    told = run.as_json()["by_month"]
    assert [(one["month"], one["rows"]) for one in told] == [("2026-05", 40), ("2026-06", 40)]
    assert any("'sold'" in note for note in run.notes)


def test_columns_that_lack_the_date_are_refused_before_any_request(scripted, faults, tmp_path):
    source = csv_of(tmp_path / "in.csv", ROWS)
    options = {"client": scripted, "cache": False, "by_month": True}
    with pytest.raises(ValueError, match=r"by_month.*lookup_as_of"):
        enrich_file(source, tmp_path / "out.csv", columns="short", **options)
    assert faults.seen == []
    faults.will(*([echoing()] * 4))
    run = enrich_file(
        source, tmp_path / "out.csv", columns=["combined_rate", "lookup_as_of"], **options
    )
    assert sum(one["rows"] for one in run.as_json()["by_month"]) == len(ROWS)


def test_a_narrow_table_has_the_columns_that_fit_and_names_the_others():
    frame = taxed([line(), line("TX")], ["12345.67", "100.00"])
    rows, made = Enriched(frame), ByMonth()
    made.add(rows, goods_of_tax(rows))
    heads = {width: [one.head for one in made.shown(width).columns] for width in (None, 80, 50, 9)}
    every = ["State", "Month", "Rows", "Sales", "Tax", "To review", "No tax"]
    assert heads[None] == heads[80] == every
    assert heads[50] == [*every[:2], "Sales", "Tax", "To review"]
    assert heads[9] == ["State", "Month", "Sales"]
    assert made.shown().more is None
    assert "no tax, rows;" in made.shown(50).more


def test_every_breakdown_is_an_option_of_a_file_and_a_method_of_a_frame():
    rows = option_rows(FileOptions)
    assert [name for name in rows if "breakdown" in rows[name].says] == [*BREAKDOWNS]
    assert all(callable(getattr(SvcAccessor, name)) for name in BREAKDOWNS)
    assert FileOptions().breakdowns == ()
    assert FileOptions(by_month=True).breakdowns == ("by_month",)
