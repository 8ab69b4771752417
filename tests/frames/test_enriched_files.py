"""Enriched files read again as the frames that they were, also after a spreadsheet saved them."""

from __future__ import annotations

import csv
import time
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from svc_tools.frames import enrich_file
from svc_tools.frames.files.enriched_file import enriched_file, write_frame
from svc_tools.frames.files.job import FileJob
from svc_tools.frames.files.rates import Terms
from svc_tools.frames.files.writing import check_output
from svc_tools.frames.lookup.columns import free_labels
from svc_tools.frames.lookup.sources import source_for
from svc_tools.lookup.columns import COLUMNS, DTYPES
from svc_tools.lookup.options import FileOptions
from svc_tools.tables.csv_files import FileError
from svc_tools.tables.exports import recognized
from svc_tools.tables.tabular import open_table

EXPORTS = sorted((Path(__file__).parents[1] / "data" / "exports").iterdir())
KINDS = ["csv", "xlsx", "parquet"]
ROWS = [
    ["order", "state", "zip", "date", "amount", "tax_collected"],
    ["1", "TX", "78701", "2026-08-13", "100.00", "8.25"],
    ["2", "CA", "94105", "2026-08-14", "50.00", "4.31"],
    ["3", "MA", "02138", "2026-08-15", "40.00", "2.00"],
    ["4", "CA", "00000", "2026-08-16", "10.00", "1.00"],
]


def read(path, prefix="", **options):
    table = open_table(path, **options)
    try:
        return enriched_file(table, path.name, prefix)
    finally:
        table.close()


def write(path, rows, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def figures(frame, collected, prefix=""):
    """What is known of an enriched frame without the terms of its tax, as text."""
    review = frame.svc.review(prefix=prefix)
    made = {
        "review": review.by_state[["state", "reason", "rows"]].to_csv(index=False),
        "split": [
            [one.name, one.rows, one.sales, one.tax] for one in frame.svc.split(prefix=prefix).parts
        ],
    }
    if not review.totals.estimated_rows:  # an estimate needs the terms
        made["dollars"] = review.totals.dollars
    if collected is not None:
        compared = frame.svc.reconcile(collected, prefix=prefix)
        made["totals"] = asdict(compared.totals)
        made["by state"] = compared.by_state.to_csv(index=False)
        made["by reason"] = compared.by_reason.to_csv(index=False)
    return made


@pytest.fixture(scope="module")
def orders(tmp_path_factory, embedded):
    """A plain file, and the same enriched as a CSV, a workbook and a Parquet file."""
    folder = tmp_path_factory.mktemp("orders")
    source = write(folder / "orders.csv", ROWS)
    made = {}
    for kind in KINDS:
        made[kind] = folder / f"rated.{kind}"
        enrich_file(source, made[kind], tax={"amount": "amount"}, client=embedded, cache=False)
    return made | {"plain": source}


def cells(orders):
    with orders["csv"].open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def saved(orders, path, changed, delimiter=","):
    """The enriched CSV as another program saves it: each cell of each row changed."""
    rows = [
        {name: changed(name, cell) if cell else cell for name, cell in row.items()}
        for row in cells(orders)
    ]
    return write(path, [list(rows[0]), *(list(row.values()) for row in rows)], delimiter)


@pytest.mark.parametrize("source", EXPORTS, ids=lambda one: one.name)
def test_a_file_of_each_kind_has_the_figures_of_its_rows(source, tmp_path, embedded):
    found = {}
    for kind in KINDS:
        path = tmp_path / f"out.{kind}"
        enrich_file(source, path, tax={}, client=embedded, cache=False)
        rows = read(path)
        labels = free_labels(rows.frame)
        collected = recognized(labels).found(labels).get("collected")
        assert (rows.prefix, rows.unread, rows.remembers) == ("", (), kind == "parquet")
        found[kind] = figures(rows.frame, collected)
    whole = found["parquet"]
    whole_frame = pd.read_parquet(tmp_path / "out.parquet")
    assert figures(whole_frame, collected) == whole
    assert [found[kind] for kind in ("csv", "xlsx")] == [whole, whole]


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_our_columns_have_the_types_of_the_table_and_those_of_the_user_their_own(orders, kind):
    frame = read(orders[kind]).frame
    types = {one.name: DTYPES[one.form] for one in COLUMNS}
    for name in frame.columns.difference(ROWS[0]):
        assert str(frame[name].dtype).replace("[day]", "").startswith(types[name][:9]), name
    texts = {name: pa.types.is_string(frame[name].dtype.pyarrow_dtype) for name in ROWS[0][:4]}
    assert texts == dict.fromkeys(texts, True)
    assert frame["combined_rate"].tolist()[:2] == [Decimal("0.08250"), Decimal("0.08625")]
    assert frame["tax"].tolist()[0] == Decimal("8.25")
    assert pd.isna(frame["tax"].iloc[3])
    assert list(frame.index) == [2, 3, 4, 5]


def test_a_frame_that_was_written_with_pandas_is_read_too(orders, tmp_path):
    frame = pd.read_parquet(orders["parquet"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    of_frame = figures(frame, "tax_collected")
    for name in ("a.csv", "a.parquet"):
        assert figures(read(tmp_path / name).frame, "tax_collected") == of_frame


def test_the_job_of_a_file_gives_its_rows_as_a_frame(orders, embedded):
    started = time.monotonic()
    terms = Terms.of("enrich", {}, {"amount": "amount"})
    with FileJob(orders["plain"], None, terms, FileOptions()) as job:
        job.survey()
        job.resolve(source_for(embedded, None, job.terms.lookup))
        frame, run = job.frame(started)
        with pytest.raises(RuntimeError):
            _ = job.output
    written = pd.read_parquet(orders["parquet"])
    assert list(frame.columns) == list(written.columns)
    assert figures(frame, "tax_collected") == figures(written, "tax_collected")
    assert (run.written, run.output, run.totals.rows) == (None, None, 4)
    assert run.totals.tax == frame["tax"].sum()
    assert frame.svc.review().notes == ()


@pytest.mark.parametrize("rows", [0, 4])
def test_a_file_without_rows_has_all_columns(orders, tmp_path, embedded, rows):
    source = write(tmp_path / "in.csv", ROWS[: rows + 1])
    with FileJob(source, None, Terms.of("enrich", {}, {"amount": "amount"}), FileOptions()) as job:
        job.survey()
        job.resolve(source_for(embedded, None, job.terms.lookup))
        frame, _ = job.frame(time.monotonic())
    assert len(frame) == rows
    assert list(frame.columns) == list(pd.read_parquet(orders["parquet"]).columns)
    assert frame.svc.review().totals.frame_rows == rows


def american(name, cell):
    """A cell as a spreadsheet saves it in a CSV."""
    if name in {"lookup_as_of", "effective_date"}:
        year, month, day = cell.split("-")
        return f"{int(month)}/{int(day)}/{year}"
    if name == "looked_up_at":
        return "8/28/2026 5:58"
    if cell in {"True", "False"}:
        return cell.upper()
    number = name.endswith(("rate", "_low", "_high", "tax", "_amount", "zip"))
    return f"{float(cell):g}" if number and name not in ROWS[0] else cell


def german(name, cell):
    number = name.endswith(("rate", "_low", "_high", "tax", "_amount", "_stake"))
    if name in {"lookup_as_of", "effective_date"}:
        return ".".join(reversed(cell.split("-")))
    return american(name, cell).replace(".", ",") if number and name not in ROWS[0] else cell


@pytest.mark.parametrize(("how", "delimiter"), [(american, ","), (german, ";")])
def test_a_file_that_a_spreadsheet_saved_has_the_figures_that_it_had(
    orders, tmp_path, how, delimiter
):
    before = read(orders["csv"])
    rows = read(saved(orders, tmp_path / "saved.csv", how, delimiter))
    assert rows.unread == ()
    assert figures(rows.frame, "tax_collected") == figures(before.frame, "tax_collected")
    same = ["combined_rate", "city_rate", "tax", "at_stake", "needs_review", "resolved_zip"]
    for name in [*same, "lookup_as_of"]:
        assert rows.frame[name].equals(before.frame[name]), name
    assert rows.frame["resolved_zip"].iloc[2] == "02138"


@pytest.mark.parametrize("factor", ["%", ""])
def test_a_rate_that_became_a_percentage_is_refused_and_never_another_rate(
    orders, tmp_path, factor
):
    def percent(name, cell):
        return f"{float(cell) * 100:g}{factor}" if name.endswith("_rate") else cell

    path = saved(orders, tmp_path / "saved.csv", percent)
    with pytest.raises(FileError) as caught:
        read(path)
    assert caught.value.code == "rates"


def test_a_column_with_a_cell_that_was_edited_stays_text_and_is_named(orders, tmp_path):
    edits = {"combined_rate": "0.08625", "tax": "8.25", "lookup_as_of": "2026-08-14"}

    def edited(name, cell):
        return "see note" if cell == edits.get(name) else cell

    rows = read(saved(orders, tmp_path / "saved.csv", edited))
    named = {one.label: (one.rows, one.row, one.cell) for one in rows.unread}
    assert named == {
        "combined_rate": (1, 3, "see note"),
        "tax": (1, 2, "see note"),
        "lookup_as_of": (1, 3, "see note"),
    }
    assert rows.frame["tax"].tolist()[:2] == ["see note", cells(orders)[1]["tax"]]
    compared = rows.frame.svc.reconcile()
    assert compared.totals.no_expectation_rows == 2  # the fourth has no tax at all
    assert compared.lines["difference_reason"].tolist()[1] == "agrees"


@pytest.mark.parametrize("cell", ["see note", "8.25%"])
def test_cells_of_another_lookup_are_not_those_of_the_one_that_is_read(
    orders, tmp_path, cell, embedded
):
    twice = tmp_path / "twice.csv"
    enrich_file(orders["csv"], twice, prefix="b_", client=embedded, cache=False)
    with twice.open(encoding="utf-8") as file:
        head, first, *rest = csv.reader(file)
    first[head.index("b_combined_rate")] = cell
    write(twice, [head, first, *rest])
    rows = read(twice)
    assert (rows.prefix, rows.others, rows.unread) == ("", ("b_",), ())


def test_a_rate_that_cannot_be_read_proves_no_rate_of_zero(orders, tmp_path):
    def edited(name, cell):
        return {"0.08250": "?"}.get(cell, cell) if name == "combined_rate" else cell

    path = saved(orders, tmp_path / "saved.csv", edited)
    frame = read(path).frame
    frame["tax_collected"] = ["8.00", "4.31", "2.00", "1.00"]
    assert frame.svc.reconcile().lines["difference_reason"].iloc[0] == "rate_differs"


def test_a_flag_that_is_neither_true_nor_false_is_refused_where_it_counts(orders, tmp_path):
    def edited(_, cell):
        return {"True": "WAHR", "False": "FALSCH"}.get(cell, cell)

    rows = read(saved(orders, tmp_path / "saved.csv", edited))
    assert "needs_review" in {one.label for one in rows.unread}
    with pytest.raises(ValueError, match="needs_review"):
        rows.frame.svc.review()


def test_dates_with_two_meanings_stay_text_until_it_is_said_which(orders, tmp_path):
    def early(name, cell):
        return f"8/{int(cell[-2:]) - 9}/2026" if name == "lookup_as_of" else cell

    frame = read(saved(orders, tmp_path / "saved.csv", early)).frame
    assert frame["lookup_as_of"].tolist()[0] == "8/4/2026"
    compared = frame.svc.reconcile(period="month", date_format="day first")
    assert compared.by_group["month"].tolist()[0] == "2026-04"


def test_the_apostrophe_before_texts_that_a_spreadsheet_would_run_is_taken_off(orders, tmp_path):
    def risky(name, cell):
        return "'=1+1" if name == "resolved_city" else cell

    rows = read(saved(orders, tmp_path / "saved.csv", risky))
    assert rows.frame["resolved_city"].iloc[0] == "=1+1"
    write_frame(rows.frame, tmp_path / "again.csv", "csv")
    assert cells({"csv": tmp_path / "again.csv"})[0]["resolved_city"] == "'=1+1"


def test_a_column_of_the_user_s_with_a_name_of_ours_is_the_user_s(orders, tmp_path):
    source = write(
        tmp_path / "in.csv", [[*ROWS[0], "lookup_status"], *([*row, "="] for row in ROWS[1:])]
    )
    assert read(source) is None
    assert read(orders["plain"]) is None


@pytest.fixture(scope="module")
def twice(orders, embedded, tmp_path_factory):
    """Enriched under two prefixes; the second without a tax."""
    folder = tmp_path_factory.mktemp("twice")
    for number, (source, prefix, tax) in enumerate(
        [(orders["plain"], "a_", {"amount": "amount"}), (folder / "0.csv", "b_", None)]
    ):
        output = folder / f"{number}.csv"
        enrich_file(source, output, prefix=prefix, tax=tax, client=embedded, cache=False)
    return folder


def test_the_only_lookup_of_a_file_is_read_whatever_its_prefix(twice):
    rows = read(twice / "0.csv")
    assert (rows.prefix, rows.others, rows.taxed) == ("a_", (), True)


def test_of_several_lookups_the_one_that_is_named_is_read(twice):
    rows = read(twice / "1.csv", "b_")
    assert (rows.prefix, rows.others, rows.taxed) == ("b_", ("a_",), False)
    for prefix in ("", "c_"):
        with pytest.raises(FileError) as caught:
            read(twice / "1.csv", prefix)
        assert caught.value.code == "prefix"


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_written_whole_and_read_again(orders, tmp_path, kind):
    rows, path = read(orders["parquet"]), tmp_path / f"rows.{kind}"
    lines = rows.frame.svc.reconcile().lines
    check_output(path, orders["parquet"], force=False)
    made = [name for name in lines.columns if name not in rows.frame.columns]
    assert write_frame(lines, path, kind, made=made) == []
    again = read(path)
    assert figures(again.frame, "tax_collected") == figures(rows.frame, "tax_collected")
    assert again.remembers == (kind == "parquet")


def test_texts_of_money_are_numbers_in_a_sheet_and_zip_codes_are_not(orders, tmp_path):
    rows, path = read(orders["csv"]), tmp_path / "rows.xlsx"
    write_frame(rows.frame, path, "xlsx", numbers=["tax_collected"])
    head, first, *_ = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    of_row = dict(zip(head, first, strict=True))
    assert (of_row["amount"], of_row["tax_collected"], of_row["zip"]) == (100, 8.25, "78701")
