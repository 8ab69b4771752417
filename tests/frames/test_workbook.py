"""The workbook, read back by another library."""

import csv
import errno
import io
import re
import zipfile
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.datetime import from_excel
from support.examples import examples
from support.frames import enriched, partial, row
from support.tools import convert

from svc_tools.frames import SvcAccessor, enrich_file
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.reports import xlsx
from svc_tools.frames.reports.report import write_report_workbook
from svc_tools.frames.reports.xlsx import Column, open_book, serial
from svc_tools.frames.review.summary import RATE_NOTES
from svc_tools.lookup.columns import ADDED_COLUMNS
from svc_tools.tables.csv_files import FileError


@pytest.fixture
def written(tmp_path):
    """Write a frame and read the workbook back."""

    def write(frame, *, prefix="", **arguments):
        path = tmp_path / "book.xlsx"
        write_report_workbook(Enriched(frame, prefix), path, **arguments)
        return openpyxl.load_workbook(path)

    return write


def table(sheet):
    """A sheet's rows as dicts by header."""
    header, *rows = sheet.iter_rows()
    names = [cell.value for cell in header]
    return [dict(zip(names, cells, strict=True)) for cells in rows]


def words(sheet):
    return [cell.value for cells in sheet.iter_rows() for cell in cells if cell.value is not None]


def test_lines_hold_every_row_and_column_in_order(written):
    frame = enriched(row(), partial(), row(rate=None), order_id=["A1", "A2", "A3"])
    made = written(frame)
    assert made.sheetnames == ["Summary", "Lines", "Failures", "Review", "Sources"]
    lines = table(made["Lines"])
    assert set(lines[0]) == set(frame.columns)
    # the user's columns in their order, then what matters most
    assert list(lines[0])[:10] == [
        *("state", "zip", "amount", "order_id"),
        *("combined_rate", "tax", "lookup_status", "confidence", "at_stake", "warnings"),
    ]
    details = list(lines[0])[10:]
    assert details == [name for name in ADDED_COLUMNS if name in details]
    assert [line["order_id"].value for line in lines] == ["A1", "A2", "A3"]
    assert [line["lookup_status"].value for line in lines] == ["ok", "partial", "unresolved"]


def test_a_frame_with_nothing_to_show_makes_a_workbook_with_its_title(written):
    made = written(enriched(taxed=False), title="=Orders")
    assert made["Summary"]["A1"].value == "=Orders: summary"
    assert [table(made[name]) for name in ("Lines", "Failures", "Review")] == [[], [], []]
    assert "Tax by state, US dollars" not in words(made["Summary"])
    (line,) = table(written(enriched(row(None, None, None, zip=None)))["Lines"])
    for name in ("state", "zip", "amount", "combined_rate", "tax", "effective_date"):
        assert line[name].value is None, name


def test_rates_and_money_are_numbers_with_their_formats(written):
    (line,) = table(written(enriched(row("CA", "19.99", "0.08625")))["Lines"])
    assert line["combined_rate"].value == 0.08625
    assert line["combined_rate"].number_format.startswith("0.000%")
    assert line["amount"].value == 19.99
    assert line["tax"].value == 1.72
    assert line["tax"].number_format.startswith("#,##0.00")


def test_every_sheet_prints_one_page_wide_with_its_header_on_every_page(written):
    made = written(enriched(row(), partial()))
    for name, orientation in (
        ("Summary", "portrait"),
        ("Lines", "landscape"),
        ("Failures", "landscape"),
        ("Review", "landscape"),
    ):
        sheet = made[name]
        assert sheet.page_setup.orientation == orientation
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert (sheet.page_setup.fitToWidth or 1, sheet.page_setup.fitToHeight) == (1, 0)
        repeated = int(sheet.print_title_rows.strip("$").partition(":")[0])
        header = "State" if name == "Summary" else sheet["A1"].value
        assert sheet.cell(repeated, 1).value == header


def test_dates_are_dates_and_zips_keep_their_zeros(written):
    frame = enriched(
        row(zip="02134", effective_date=date(2026, 7, 1)),
        sold=[pd.Timestamp("2026-05-01")],
        seen=[pd.Timestamp("2026-05-01 13:45:10")],
    )
    (line,) = table(written(frame)["Lines"])
    assert line["zip"].value == "02134"
    assert line["effective_date"].value == datetime(2026, 7, 1)  # noqa: DTZ001 - a sheet has no zone
    assert line["sold"].number_format == "yyyy-mm-dd"
    assert line["seen"].value == datetime(2026, 5, 1, 13, 45, 10)  # noqa: DTZ001 - as above
    assert line["seen"].number_format == "yyyy-mm-dd hh:mm:ss"


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|'/C calc'!A0", "\t=1", "http://a.example"]
)
def test_text_from_the_data_never_becomes_a_formula_or_a_link(written, tmp_path, text):
    made = written(enriched(row(rate=None, lookup_error=text), note=[text]))
    (line,) = table(made["Lines"])
    assert (line["note"].data_type, line["note"].value) == ("s", text)
    assert line["note"].hyperlink is None
    (flag,) = table(made["Failures"])
    assert flag["reason"].value == text
    if not text.startswith("http"):
        assert line["note"].quotePrefix
        assert flag["reason"].quotePrefix
    with zipfile.ZipFile(tmp_path / "book.xlsx") as parts:
        sheets = [name for name in parts.namelist() if name.startswith("xl/worksheets/sheet")]
        formulas = {name: re.findall(rb"<f>(.*?)</f>", parts.read(name)) for name in sheets}
        # ours alone, on the sheet Summary
        assert {name for name, found in formulas.items() if found} == {sheets[0]}
        assert all(one.startswith(b"ROUND(") for one in formulas[sheets[0]])
        assert not any(b"hyperlink" in parts.read(name) for name in sheets)


def test_the_summary_links_the_official_page_of_each_state_once(written):
    rows = [
        row("TX", confidence="low"),
        row("TX", rate=None),
        row("NJ", rate=None),
        row("AL", rate=None),
    ]
    sheet = written(enriched(*rows))["Summary"]
    links = {cell.value: cell.hyperlink.target for line in sheet for cell in line if cell.hyperlink}
    assert links == {
        "The Comptroller's Sales Tax Rate Locator": "https://gis.cpa.texas.gov/search/",
        "The Alabama Department of Revenue's local tax rate lookup by address": (
            "https://www.alabamainteractive.org/ador_taxrate_lookup/welcome.action"
        ),
    }


def test_failures_lists_the_rows_without_a_tax_with_reason_and_line(written):
    frame = enriched(row(), partial(), row(rate=None, lookup_error="no ZIP 00000"), row())
    first, second = table(written(frame)["Failures"])
    reasons = (first["review_reasons"].value, second["review_reasons"].value)
    assert reasons == ("unresolved", "partial")
    assert first["reason"].value == "no ZIP 00000"
    assert first["row_in_lines"].value == 4
    assert first["lookup_status"].value == "unresolved"
    assert second["row_in_lines"].value == 3
    assert second["what_to_do"].value
    assert "lookup_error" not in first


def test_review_lists_the_doubtful_rows_with_what_the_tax_may_be(written):
    ranged = {"rate_low": "0.06000", "rate_high": "0.07000"}
    made = written(enriched(row(), row(confidence="low"), row(**ranged), row(rate=None)))
    lost, sure, ranged = table(made["Review"])
    assert (ranged["tax_low"].value, ranged["tax_high"].value) == (6, 7)
    assert (ranged["review_dollars"].value, ranged["review_basis"].value) == (1, "range")
    assert (sure["review_dollars"].value, sure["review_basis"].value) == (6.63, "tax")
    assert (lost["review_dollars"].value, lost["review_basis"].value) == (7, "estimate")
    assert [one["row_in_lines"].value for one in (lost, sure, ranged)] == [5, 3, 4]
    assert len(table(made["Failures"])) == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["NJ", "TX", "WA"]),
            st.sampled_from(["100.00", "-5.00", "0.01", None]),
            st.sampled_from(["ok", "partial", "low", "range", "lost", "freight"]),
        ),
        max_size=12,
    )
)
@examples(5, of=12)
def test_the_sheet_review_holds_the_rows_of_the_review_in_its_order(tmp_path_factory, drawn):
    kinds = {
        "ok": row,
        "partial": partial,
        "low": lambda *cells: row(*cells, confidence="low"),
        "range": lambda *cells: row(*cells, rate_low="0.01000", rate_high="0.07000"),
        "lost": lambda *cells: row(*cells, rate=None),
        "freight": lambda *cells: row(*cells, warnings="place_input_mismatch"),
    }
    rows = [kinds[kind](state, amount) for state, amount, kind in drawn]
    frame = enriched(*rows, taxed=False) if rows else enriched(row(), taxed=False).iloc[:0]
    taxed = SvcAccessor(frame).tax("amount", shipping=Decimal("5.00"), progress=False)
    path = tmp_path_factory.mktemp("book") / "book.xlsx"
    write_report_workbook(Enriched(taxed), path)
    lines = table(openpyxl.load_workbook(path)["Review"])
    made = SvcAccessor(taxed).review()
    assert [line["row_in_lines"].value - 2 for line in lines] == made.rows.index.tolist()
    assert [line["what_to_do"].value for line in lines] == made.rows["review_to_do"].tolist()
    assert [line["review_group"].value for line in lines] == made.rows["review_group"].tolist()
    assert [line["review_dollars"].value for line in lines] == [
        None if pd.isna(value) else float(value) for value in made.rows["review_dollars"]
    ]


def test_sources_say_where_rates_are_from_and_what_each_word_means(written):
    frame = enriched(row(), row(confidence="low"), row(rate=None), partial())
    said = words(written(frame)["Sources"])
    assert {"embedded service: state table", "2026-11", "embedded service"} <= set(said)
    assert {"Rounding", "to the cent, half a cent away from zero", "column 'amount'"} <= set(said)
    for code in ("ok", "unresolved", "partial", "low", "low_confidence"):
        assert code in said
    for column in frame.columns[3:]:
        assert column in said, column


def test_the_totals_are_added_up_again_from_the_lines(written):
    frame = enriched(row(), row("WA", "-19.99", "0.10000"), partial(), row(amount=None))
    sheet = written(frame)["Summary"]
    rows = {cells[0].value: [cell.value for cell in cells[2:5]] for cells in sheet.iter_rows()}
    assert rows["Sales"][0] == "=ROUND(SUM('Lines'!C2:C5),2)"
    assert rows["Sales"][1] == 180.01
    assert rows["Tax, partial rates included"][0] == "=ROUND(SUM('Lines'!E2:E5),2)"
    assert rows["Tax, partial rates included"][1] == 4.63


def test_lines_go_on_on_further_sheets(written, monkeypatch):
    monkeypatch.setattr(xlsx, "MOST_ROWS", 2)
    frame = enriched(row(), row(), row(rate=None), row(), row(rate=None), order_id=list("abcde"))
    made = written(frame)
    assert made.sheetnames == [
        *("Summary", "Lines", "Lines 2", "Lines 3", "Failures", "Review", "Sources")
    ]
    sheets = [made[name] for name in ("Lines", "Lines 2", "Lines 3")]
    assert [line["order_id"].value for sheet in sheets for line in table(sheet)] == list("abcde")
    for flag in table(made["Failures"]):
        sheet = sheets[flag["lines_sheet"].value - 1]
        assert sheet.cell(flag["row_in_lines"].value, 4).value == flag["order_id"].value
    tied = [cell.value for cells in made["Summary"].iter_rows() for cell in cells]
    assert "=ROUND(SUM('Lines'!F2:F3,'Lines 2'!F2:F3,'Lines 3'!F2:F2),2)" in tied


def test_more_lines_than_a_block_holds_are_all_there(written, monkeypatch):
    monkeypatch.setattr(xlsx, "_BLOCK", 3)
    monkeypatch.setattr(xlsx, "_REMEMBERED", 2)
    frame = enriched(*(row(amount=f"{number}.00") for number in range(8)))
    lines = table(written(frame)["Lines"])
    assert [line["amount"].value for line in lines] == list(range(8))
    assert [line["tax"].value for line in lines] == [float(tax) for tax in frame["tax"]]


def test_the_summary_says_counts_totals_sources_and_limits(written):
    frame = enriched(row(), row("OR", "50.00", "0.00000"), partial(), row(rate=None), asked=3)
    sheet = written(frame)["Summary"]
    said = words(sheet)
    assert {"Rows", "Distinct places and dates", "embedded service", "no such place"} <= set(said)
    for note in RATE_NOTES:
        assert f"\u2022 {note}" in said
    by_name = {cells[0].value: [cell.value for cell in cells[1:]] for cells in sheet.iter_rows()}
    assert by_name["Distinct places and dates"][0] == 3
    uses = ("ready", "to check", "incomplete", "no rate")
    assert [by_name[use][0] for use in uses] == [2, 0, 1, 1]
    assert by_name["Tax computed"][0] == 6.63
    assert by_name["Sales with no tax"][0] == 200
    assert by_name["ok"][0] == 2
    assert by_name["NJ"] == [2, 100, 6.63, None, None, 1, 100]
    assert by_name["OR"] == [1, 50, 0, None, None, None, None]
    assert by_name["TX"] == [1, None, None, 1, 100, None, None]
    assert by_name["Total"] == [4, 150, 6.63, 1, 100, 1, 100]


def test_an_index_that_says_something_is_kept(written):
    frame = enriched(row(), row(rate=None))
    frame.index = pd.Index(["A1", "A2"], name="order")
    made = written(frame)
    assert [line["order"].value for line in table(made["Lines"])] == ["A1", "A2"]
    assert [line["order"].value for line in table(made["Failures"])] == ["A2"]


def test_more_columns_than_a_sheet_holds_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx, "MOST_COLUMNS", 20)
    with pytest.raises(ValueError, match=r"20 columns.*leave columns out"):
        write_report_workbook(Enriched(enriched(row(), row())), tmp_path / "book.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.nan, None),
        (pd.NaT, None),
        (Decimal("NaN"), None),
        (np.False_, False),
        (Decimal("12345678901234567.89"), "12345678901234567.89"),
        (float("inf"), "inf"),
        (date(2026, 1, 2), datetime(2026, 1, 2)),  # noqa: DTZ001 - a sheet has no zone
        (date(1899, 1, 2), "1899-01-02"),
        (pd.Timestamp("2026-01-02T03:04Z"), "2026-01-02T03:04:00+00:00"),
        (["a"], "['a']"),
        ("x" * 40_000, "x" * 32_755 + " … (was cut)"),
    ],
    ids=lambda one: str(one)[:20],
)
def test_a_value_that_a_sheet_cannot_hold_is_text_and_nothing_is_nothing(written, value, stored):
    frame = enriched(row(), row())
    frame["note"] = pd.Series([value, "x"], dtype=object)
    assert table(written(frame)["Lines"])[0]["note"].value == stored


@examples(10, of=40)
@given(st.lists(st.decimals("-1e8", "1e8", places=5), min_size=1, max_size=20))
def test_decimals_have_their_own_digits_in_the_file(numbers):
    file = io.BytesIO()
    with open_book(file, title="numbers") as made:
        made.table("Numbers", [Column("number", pd.Series(numbers), "plain")], len(numbers))
    sheet = openpyxl.load_workbook(file)["Numbers"]
    assert [Decimal(str(cell.value)) for cell in sheet["A"][1:]] == numbers


@examples(12, of=50)
@given(
    st.lists(
        st.one_of(st.text(), st.integers(-(10**17), 10**17), st.booleans(), st.none()),
        min_size=1,
        max_size=12,
    )
)
def test_whatever_a_cell_holds_comes_back_as_it_was(values):
    file = io.BytesIO()
    column = Column("=1+1", pd.Series(values, dtype=object), "plain")
    with open_book(file, title="=1") as made:
        made.table("Values", [column], len(values))
    sheet = openpyxl.load_workbook(file)["Values"]
    assert (sheet["A1"].value, sheet["A1"].data_type) == ("=1+1", "s")
    cells = [sheet.cell(number, 1) for number in range(2, len(values) + 2)]
    for given_, cell in zip(values, cells, strict=True):
        if given_ is None or given_ == "":
            assert cell.value is None
        elif isinstance(given_, bool):
            assert cell.value is given_
        elif isinstance(given_, int):
            assert str(given_) == str(cell.value)
        else:
            assert cell.data_type == "s"
            # an XML reader takes every kind of line end for a line feed
            assert _unescaped(str(cell.value)) == _fits(given_)


@pytest.mark.parametrize(
    "text",
    ["<f>1</f>", "a & b", "&lt;", "_x0041_", " blanks ", "\r=1", "\n=1", "\uff1d1", "]]>", "\x07"],
)
def test_text_that_looks_like_the_files_own_words_stays_text(written, text):
    (line,) = table(written(enriched(row(), note=[text]))["Lines"])
    assert line["note"].data_type == "s"
    assert _unescaped(line["note"].value) == text
    assert line["note"].quotePrefix == text.startswith(("\r", "\n", "\uff1d"))


def _unescaped(text):
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)


def _fits(text):
    return text.encode("utf-8", "replace").decode("utf-8")


@given(st.datetimes(datetime(1900, 1, 1), datetime(9999, 12, 31)))  # noqa: DTZ001 - as above
def test_moments_are_the_numbers_that_a_sheet_counts_by(moment):
    days = Decimal(serial(moment))
    told = from_excel(float(days))
    near = told if isinstance(told, datetime) else datetime.combine(date(1900, 1, 1), told)
    if moment >= datetime(1900, 3, 1):  # noqa: DTZ001 - as above
        assert abs(near - moment) <= timedelta(milliseconds=1)


TAX = "Tax, partial rates included"
# comma, quote, UTF-8, values rather than what is shown, and every sheet
CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"


def number(cell):
    """The number in a cell; per cents are numbers too."""
    return Decimal(cell.removesuffix("%")) / (100 if cell.endswith("%") else 1)


@pytest.fixture
def as_csv(tmp_path):
    """Open workbooks in LibreOffice; reads a sheet of one back, cells as their values."""
    output = tmp_path / "csv"

    def read_back(*workbooks):
        convert(output, CSV, *workbooks)
        return sheet_of

    def sheet_of(workbook, name, read=csv.DictReader):
        path = output / f"{workbook.stem}-{name}.csv"
        with path.open(newline="", encoding="utf-8") as file:
            return list(read(file))

    return read_back


@pytest.mark.timeout(300)  # LibreOffice starts
def test_the_lines_of_the_sheet_are_the_rows_of_the_frame(embedded, as_csv, tmp_path):
    frame = pd.DataFrame(
        {
            "note": ['=HYPERLINK("http://127.0.0.1/","x")', "+1+1", "@SUM(1)", "plain"],
            "state": ["CA", "MA", "LA", "OR"],
            "zip": ["94105", "2134", "70601", "97201"],
            "order_date": pd.to_datetime(["2026-02-01"] * 4),
            "amount": ["4.00", "-19.99", "250.00", "10.00"],
        }
    )
    taxed = frame.svc.lookup(client=embedded, progress=False).svc.tax(progress=False)
    write_report_workbook(Enriched(taxed), tmp_path / "orders.xlsx")
    exported = frame.assign(order_date="05/31/2026", order="0012345678901234567")
    exported.to_csv(tmp_path / "orders.csv", index=False)
    amounts = {"amount": "amount"}
    enrich_file(tmp_path / "orders.csv", tmp_path / "file.xlsx", tax=amounts, client=embedded)
    workbooks = tmp_path / "orders.xlsx", tmp_path / "file.xlsx"
    rows, of_file = map(as_csv(*workbooks), workbooks, ("Lines", "Lines"))
    assert [row["amount"] for row in of_file] == ["4", "-19.99", "250", "10"]
    assert [row["zip"] for row in of_file] == list(frame["zip"])
    assert [row["resolved_zip"] for row in of_file][1:2] == ["02134"]
    assert {(row["order_date"], row["order"]) for row in of_file} == {
        ("05/31/2026", "0012345678901234567")
    }
    assert [row["note"] for row in rows] == list(frame["note"])
    assert [row["zip"] for row in rows] == list(frame["zip"])
    assert [row["lookup_status"] for row in rows] == list(taxed["lookup_status"])
    assert [number(row["combined_rate"]) for row in rows] == list(taxed["combined_rate"])
    # a missing tax is an empty cell, a tax of nothing is a zero
    assert [row["tax"] and number(row["tax"]) for row in rows] == [
        Decimal("0.35"),
        Decimal("-1.25"),
        "",
        Decimal(0),
    ]


@pytest.mark.timeout(300)  # LibreOffice starts
def test_the_totals_that_the_sheet_adds_up_itself_are_those_of_the_frame(as_csv, tmp_path):
    rows = [
        row("WA", f"{number * 997 % 10_000}.{number % 100:02}", "0.10250") for number in range(700)
    ]
    frame = enriched(*rows, row("WA", "-100000.01", "0.10250"), row(rate=None), partial())
    path = tmp_path / "totals.xlsx"
    write_report_workbook(Enriched(frame), path)
    _forget_values(path)
    lines = as_csv(path)(path, "Summary", csv.reader)
    tied = {line[0]: line[2:5] for line in lines if line and line[0] in {"Sales", TAX}}
    for name, column in (("Sales", "amount"), (TAX, "tax")):
        total = sum(frame[column].dropna(), Decimal(0))
        found, said, difference = (number(cell.replace(",", "")) for cell in tied[name])
        assert (found, said, difference) == (total, total, 0)


_write = zipfile._ZipWriteFile.write


def _on_a_full_disk(part, data):
    if isinstance(part._fileobj, io.BytesIO):
        return _write(part, data)
    raise OSError(errno.ENOSPC, "No space left on device")


def _interrupted(*_):
    raise KeyboardInterrupt


EARLY_ENDS = {
    "while it is put together": ("xlsxwriter.packager.Packager._create_package", _interrupted),
    "while rows are written": ("svc_tools.frames.reports.xlsx._TableXml.xml", _interrupted),
    "on a full disk": ("zipfile._ZipWriteFile.write", _on_a_full_disk),
}


@pytest.mark.parametrize("end", EARLY_ENDS)
def test_a_run_that_ends_early_leaves_no_open_workbook(
    archives, monkeypatch, scripted, tmp_path, end
):
    path, source = tmp_path / "new.xlsx", tmp_path / "orders.csv"
    source.write_text("state,zip,order\nTX,78701,A1\n")
    monkeypatch.setattr(*EARLY_ENDS[end])
    for run in (
        lambda: SvcAccessor(enriched(row())).report(path),
        lambda: enrich_file(source, path, client=scripted, cache=False),
    ):
        already = archives.begun
        with pytest.raises((OSError, FileError, KeyboardInterrupt)) as ended:
            run()
        # while the error, which a notebook keeps, holds all that the run made
        assert ended.value.__traceback__ is not None
        assert archives.begun > already
        assert archives.still_open() == []
        assert not path.exists()


def _forget_values(path):
    """Take the values out of the formulas' cells, so that they must be computed anew."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    emptied = re.sub(rb"(</f>)<v>[^<]*</v>", rb"\1", parts[sheet])
    assert emptied != parts[sheet]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, part in (parts | {sheet: emptied}).items():
            book.writestr(name, part)


def test_a_look_that_the_sheets_lack_is_an_error_and_a_format_of_numbers_is_none():
    looks = {"title": {"bold": True}}
    with pytest.raises(KeyError, match="hedline"):
        xlsx.Book(io.BytesIO(), looks).format("hedline")
    assert xlsx.Book(io.BytesIO()).format("0.000%").num_format == "0.000%"
