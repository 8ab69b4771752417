"""The report as a page for the browser, and which file a path means."""

import csv
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples, spread
from support.frames import enriched, partial, row
from support.shops import COLUMNS, columns_of

from svc_tools.frames import SvcAccessor, enrich_file
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.reports import page as report_page
from svc_tools.frames.review.summary import RATE_NOTES, summarize
from svc_tools.tables.text_dtype import text_dtype

VOID = {"meta", "br"}
MIXED = (
    row("NJ", "100.00", "0.06625"),
    row("WA", "-1000.00", "0.10250", confidence="low"),
    row("OR", "80.00", "0.00000", rate_low="0.00000", rate_high="0.01000"),
    partial("TX", "300.00"),
    row("AK", "40.00", None, lookup_error="no ZIP 99999"),
)


class Page(HTMLParser):
    """A page taken apart: its elements, their attributes and the text in them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.rows, self.faults = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data

    def row(self, name):
        return next(cells for cells in self.rows if cells and cells[0] == name)

    @property
    def said(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture
def page(tmp_path):
    """Write a frame's page and take it apart."""

    def write(frame, **arguments):
        path = SvcAccessor(frame).report(tmp_path / "report.html", **arguments)
        return Page(path.read_text(encoding="utf-8"))

    return write


def test_the_page_is_whole_and_says_every_part(page):
    made = page(enriched(*MIXED))
    assert (made.open, made.faults) == ([], [])
    for said in (
        "Sales-tax rates",
        "5 rows, 5 distinct places and dates, rates from: embedded service",
        "-$95.87 Tax computed",
        "$0.80 Between the lowest and the highest tax",
        "no ZIP 99999",
        "Check state, ZIP Code and city",
        "Source",
        "to the cent, half a cent away from zero",
        "the tax at the destination, US dollars",
        *RATE_NOTES,
    ):
        assert said in made.said, said


def test_the_head_of_the_page_says_what_rests_on_rates_in_doubt(page, tmp_path):
    frame = enriched(*MIXED, row("CA", "50.00", "0.08000", warnings="as_of_after_edition"))
    sentence = summarize(Enriched(frame)).rests_on.sentence
    assert "$4.00 of the -$91.87 tax" in sentence
    assert "(1 row, $50.00 of sales)" in sentence
    assert "1 row ($300.00 of sales) has an incomplete rate" in sentence
    said = page(frame).said
    assert said.index(sentence) < said.index("6 rows, 6 distinct places and dates")
    path = SvcAccessor(frame).report(tmp_path / "report.xlsx")
    assert openpyxl.load_workbook(path)["Summary"]["A2"].value == sentence


def test_tax_by_state_adds_up_to_the_total(page):
    made = page(enriched(*MIXED))
    assert made.row("NJ")[:4] == ["NJ", "1", "100.00", "6.63"]
    assert made.row("WA")[3] == "-102.50"
    assert made.row("OR")[3:6] == ["0.00", "", "0.80"]
    assert made.row("TX")[2:4] == ["", ""]
    assert made.row("Total")[:4] == ["Total", "5", "-820.00", "-95.87"]
    assert made.row("Total")[6:] == ["1", "300.00", "1", "40.00"]


def test_nothing_is_fetched_and_nothing_runs(page):
    made = page(enriched(row(lookup_error="http://a.example/x.js")))
    assert not {"script", "iframe", "img", "link", "object", "embed", "form"} & set(made.tags)
    assert not [key for key, _ in made.attributes if key.startswith("on") or key == "src"]
    assert all(value.startswith("#") for key, value in made.attributes if key == "href")
    style = made.text[made.text.index(next(text for text in made.text if ":root" in text))]
    assert "url(" not in style
    assert "@import" not in style
    policy = [value for key, value in made.attributes if key == "content"]
    assert any("default-src 'none'" in value for value in policy)


def test_the_official_pages_of_states_are_links_and_no_address_of_the_data_is(page):
    name = "the Comptroller's Sales Tax Rate Locator"
    said = f'{name}: https://a.example/" onclick="x"'
    made = page(enriched(row("TX", confidence="low"), row("TX", rate=None, lookup_error=said)))
    links = [value for key, value in made.attributes if key == "href" and not value.startswith("#")]
    assert set(links) == {"https://gis.cpa.texas.gov/search/"}
    assert made.attributes.count(("rel", "noopener noreferrer")) == len(links)
    assert not [key for key, _ in made.attributes if key == "onclick"]
    assert said.removeprefix(name) in made.said
    assert f"{name}: https://gis" not in made.said


NASTY = st.one_of(
    st.text(),
    st.sampled_from(
        ["<script>alert(1)</script>", '"><img src=x onerror=y>', "</td></table>", "&lt;b&gt;", "\0"]
    ),
)


@examples(5, of=20)
@given(text=NASTY, name=NASTY, title=NASTY)
def test_no_text_from_the_data_becomes_markup(tmp_path_factory, text, name, title):
    folder = tmp_path_factory.mktemp("page")
    cells = {"lookup_error": text, "lookup_source": text, "lookup_edition": text}
    plain = enriched(row(rate=None, lookup_error="x"), row(), note=["x", "x"])
    nasty = enriched(row(rate=None, **cells), row(**cells), note=[text, text])
    nasty = nasty.rename(columns={"note": f"{name} "})
    nasty.attrs["svc"]["lookups"][""] |= {"service": text, "notes": [text]}
    nasty.attrs["svc"]["terms"][""]["exempt"] = text
    plain.attrs["svc"]["lookups"][""] |= {"notes": ["x"]}
    kinds = []
    for number, (frame, said) in enumerate(((plain, "x"), (nasty, title or "x"))):
        path = SvcAccessor(frame).report(folder / f"{number}.html", title=said)
        made = Page(path.read_text(encoding="utf-8"))
        assert (made.open, made.faults) == ([], [])
        kinds.append((set(made.tags), {key for key, _ in made.attributes}))
    assert kinds[0] == kinds[1]


def test_lines_beyond_the_limit_are_counted_not_dropped_silently(page, monkeypatch):
    monkeypatch.setattr(report_page, "MOST_LINES", 2)
    monkeypatch.setattr(report_page, "MOST_FLAGGED", 1)
    frame = enriched(row(), row(), row(rate=None), row(rate=None), order_id=list("abcd"))
    said = page(frame).said
    assert "The first 2 of 4 lines; a report as .xlsx has them all." in said
    assert "The first 1 of 2 rows, the most dollars first" in said
    assert "All 4 lines." not in said
    monkeypatch.undo()
    assert "All 4 lines." in page(frame).said


def test_rows_to_review_stand_with_their_dollars(page):
    made = page(enriched(*MIXED))
    groups = {tuple(cells[:2]): cells[2:4] for cells in made.rows if len(cells) == 7}
    assert groups["OR", "several_rates"] == ["1", "0.80"]
    assert groups["WA", "low_confidence"] == ["1", "102.50"]


def test_what_can_be_used_has_its_words_and_dollars(page, tmp_path):
    frame = enriched(*MIXED)
    made = page(frame)
    assert made.row("Use") == ["Use", "Rows", "Sales", "Tax", "Meaning"]
    assert made.row("ready")[1:4] == ["1", "$100.00", "$6.63"]
    assert made.row("to check")[1:4] == ["2", "-$920.00", "-$102.50"]
    assert made.row("incomplete")[1:3] == ["1", "$300.00"]
    assert made.row("no rate")[1:3] == ["1", "$40.00"]
    book = openpyxl.load_workbook(SvcAccessor(frame).report(tmp_path / "report.xlsx"))
    cells = {line[0]: line[1:4] for line in book["Summary"].iter_rows(values_only=True)}
    assert cells["Use"] == ("Rows", "Sales", "Tax")
    assert cells["ready"] == (1, 100, 6.63)
    assert cells["to check"] == (2, -920, -102.5)
    assert cells["incomplete"] == (1, 300, None)
    assert cells["no rate"] == (1, 40, None)
    book = openpyxl.load_workbook(SvcAccessor(enriched(row())).report(tmp_path / "one.xlsx"))
    cells = {line[0]: line[1:4] for line in book["Summary"].iter_rows(values_only=True)}
    assert cells["incomplete"] == (0, None, None)
    bare = page(frame.drop(columns=["tax", "tax_low", "tax_high", "at_stake"]))
    assert "Tax" not in bare.row("Use")


def test_rates_and_money_are_shown_with_all_their_digits(page):
    made = page(enriched(row("CA", "1234567.89", "0.08625")))
    (line,) = [cells for cells in made.rows if cells[:2] == ["2", "CA"]]
    assert "8.62500%" in line
    assert "1,234,567.89" in line


def test_the_terms_of_the_tax_are_those_it_was_computed_by(page):
    frame = enriched(row(), taxed=False)
    frame["order_id"] = ["A1"]
    taxed = SvcAccessor(frame).tax(
        "amount", rounding="half_even", invoice="order_id", progress=False
    )
    said = page(taxed).said
    assert "half a cent to the even cent" in said
    assert "once an invoice (column 'order_id')" in said
    assert "Tax is rounded line by line" not in said


def test_the_amounts_are_those_that_the_tax_was_computed_from(page, tmp_path):
    frame = enriched(row(), taxed=False).rename(columns={"amount": "total"})
    taxed = SvcAccessor(frame).tax("total", progress=False)
    assert "$100.00 Sales" in page(taxed).said
    taxed.attrs.clear()
    with pytest.raises(ValueError, match="amount="):
        SvcAccessor(taxed).report(tmp_path / "report.html")
    assert "$100.00 Sales" in page(taxed, amount="total").said


def test_what_is_due_and_why_not_is_said(page):
    frame = enriched(row(), row("WA", "10.00", "0.10000"), taxed=False)
    taxed = SvcAccessor(frame).tax(
        "amount", nexus=[{"state": "NJ", "nexus_type": "physical"}], progress=False
    )
    made = page(taxed)
    assert "$6.63 Tax that the seller owes" in made.said
    assert made.row("due")[:3] == ["due", "1", "6.63"]
    assert made.row("no_nexus")[:3] == ["no_nexus", "1", "1.00"]
    assert "Whether you must collect at all" not in made.said


def test_an_empty_frame_and_a_prefix_have_their_reports(page):
    assert "0 rows" in page(enriched()).said
    made = page(enriched(row(), prefix="p_"), prefix="p_")
    assert "$6.63 Tax computed" in made.said
    assert "p_combined_rate" in made.said


@pytest.mark.parametrize("name", ["report.xlsx", "report.XLSX", "report.html", "report.htm"])
def test_the_suffix_decides_what_is_written(tmp_path, name):
    path = SvcAccessor(enriched(row())).report(str(tmp_path / name), title="Orders")
    assert path == tmp_path / name
    if name.lower().endswith("xlsx"):
        assert openpyxl.load_workbook(path)["Summary"]["A1"].value == "Orders: summary"
    else:
        assert "<h1>Orders</h1>" in path.read_text(encoding="utf-8")


def test_what_cannot_be_a_report_is_refused_and_leaves_nothing(tmp_path):
    frame = SvcAccessor(enriched(row()))
    with pytest.raises(ValueError, match=r"'report\.pdf' ends in '\.pdf'.*\.xlsx.*\.html"):
        frame.report(tmp_path / "report.pdf")
    with pytest.raises(ValueError, match="has no suffix"):
        frame.report(tmp_path / "report")
    with pytest.raises(FileNotFoundError, match="create it"):
        frame.report(tmp_path / "no" / "report.html")
    with pytest.raises(ValueError, match=r"df\.svc\.lookup\(\)"):
        SvcAccessor(pd.DataFrame({"zip": ["78701"]})).report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_page_needs_neither_of_the_libraries_for_charts_and_workbooks(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['xlsxwriter'] = None;"
        " from support.frames import enriched, row; from svc_tools.frames import SvcAccessor;"
        f" SvcAccessor(enriched(row())).report({str(tmp_path / 'report.html')!r})"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "HOME": str(tmp_path)},
    )


def test_dollars_at_stake_of_refunds_are_said_without_their_sign(page):
    ranged = {"rate_low": "0.06000", "rate_high": "0.07000"}
    said = page(enriched(row(**ranged), row(amount="-300.00", **ranged))).said
    assert "comes to -$12.00 at the lowest of them and to -$14.00 at the highest" in said
    assert "at the highest, a difference of $4.00, refunds without their sign." in said
    said = page(enriched(row(**ranged))).said
    assert "$6.00 at the lowest of them and to $7.00 at the highest, a difference of $1.00." in said


@pytest.mark.parametrize(
    "columns", [["lookup_status", "tax"], ["lookup_status", "tax", "warnings"]]
)
def test_a_frame_that_lost_columns_of_ours_has_its_report_too(page, columns):
    frame = enriched(row(), partial(), row(rate=None))[["amount", "state", *columns]]
    assert page(frame).row("partial")[1] == "1"


def test_the_review_is_that_of_the_frame(page):
    frame = enriched(*MIXED)
    assert SvcAccessor(frame).review().sentence in page(frame).said


@pytest.fixture(params=[".html", ".xlsx"])
def report(request, tmp_path):
    """Write a frame's report of either kind, and return all texts in it, cell by cell."""

    def write(frame, **arguments):
        path = SvcAccessor(frame).report(tmp_path / f"report{request.param}", **arguments)
        if request.param == ".html":
            return Page(path.read_text(encoding="utf-8")).text
        book = openpyxl.load_workbook(path)
        rows = (row for sheet in book for row in sheet.iter_rows(values_only=True))
        return [str(cell) for row in rows for cell in row if cell is not None]

    return write


@pytest.mark.parametrize("shop", spread(COLUMNS, 6))
def test_the_personal_columns_of_a_shop_s_export_stay_out_of_its_report(report, shop):
    names, personal = columns_of(shop)
    cells = {name: [f"cell {place} of a row"] for place, name in enumerate(names)}
    frame = pd.concat([pd.DataFrame(cells), enriched(row(rate=None))], axis=1)
    texts = report(frame)
    shown = [name for name in names if cells[name][0] in texts]
    assert shown == [name for name in names if name not in personal]
    (line,) = [text for text in texts if text.startswith("Columns left out as personal:")]
    assert all(name in line for name in personal)
    assert "columns=[…]" in line
    assert "--report-columns" in line


def test_the_number_of_an_order_is_no_name_and_a_name_elsewhere_is_one(report):
    own = {"name": ["Ann Customer"], "company": ["Ann & Sons"]}
    texts = report(enriched(row(), **own))
    assert "Ann Customer" not in texts
    assert "Ann & Sons" in texts


@pytest.mark.parametrize(
    "label",
    ["shipping_address_first_name", "Billing Address Company", "fname", "Customer Description"],
)
def test_names_of_persons_stay_out_also_as_other_tools_head_them(report, label):
    texts = report(enriched(row(), **{label: ["Ann Customer"]}))
    assert "Ann Customer" not in texts


def test_columns_that_are_named_are_shown_in_that_order_and_no_others(page, tmp_path):
    frame = enriched(row(), email=["a@b.example"], order_id=["A1"], note=["x"], phone=["555"])
    columns = ["email", "tax", "order_id"]
    path = SvcAccessor(frame).report(tmp_path / "report.xlsx", columns=columns)
    lines = openpyxl.load_workbook(path)["Lines"]
    heads = [cell.value for cell in lines[1]]
    # the added columns follow; the one that was named stands among the user's
    assert heads[:6] == ["email", "tax", "order_id", "combined_rate", "lookup_status", "confidence"]
    assert not {"note", "phone", "state", "amount"} & {*heads}
    assert lines["A2"].value == "a@b.example"
    made = page(frame, columns=columns)
    assert "Columns left out, as requested: state, zip, amount, note, phone." in made.said
    assert "555" not in made.said
    said = page(frame.set_index("phone"), columns=("order_id",)).said
    assert "555" not in said
    assert "555" in page(frame.set_index("phone"), columns=["phone"]).said
    assert "555" not in page(frame.set_index("phone")).said
    assert "left out" not in page(frame[frame.columns.difference(["email", "phone"])]).said


def test_columns_without_any_value_take_no_room_on_the_page_unless_they_are_named(page):
    frame = enriched(row(), row(), blank=[None, ""], half=[None, "x"])
    made = page(frame)
    heads = next(cells for cells in made.rows if cells[:2] == ["Row", "state"])
    assert "half" in heads
    assert "blank" not in heads
    assert "1 column of yours without any value: not shown here." in made.said
    assert "blank" in next(one for one in page(frame, columns=["blank"]).rows if one[0] == "Row")


def test_columns_that_are_not_there_are_refused(tmp_path):
    accessor = SvcAccessor(enriched(row()))
    with pytest.raises(ValueError, match=r"no column 'order_id'.*columns="):
        accessor.report(tmp_path / "report.html", columns=["order_id"])
    with pytest.raises(TypeError, match=r"expected a list .* not 'zip'"):
        accessor.report(tmp_path / "report.html", columns="zip")
    assert list(tmp_path.iterdir()) == []


def test_an_address_is_quoted_nowhere_unless_its_column_is_shown(report, embedded):
    """Neither as the place of a row to review nor in the reason of a row that failed."""
    streets = ["1 Hidden Way", "9" * 240]  # the second one is too long
    orders = pd.DataFrame(
        {"street_line": streets, "city": "Austin", "state": "TX", "zip": "78735", "amount": 5}
    )
    rated = orders.svc.lookup(
        address="street_line", client=embedded, cache=False, as_of="2026-02-01", progress=False
    )
    taxed = rated.svc.tax("amount", progress=False)
    assert taxed.svc.review().totals.rows == 2

    def quoted(texts):
        return [text for text in texts if "Hidden Way" in text or "99999999" in text]

    texts = report(taxed)
    assert not quoted(texts)
    assert any("given (not shown)" in text for text in texts)
    assert any("Columns left out as personal: street_line." in text for text in texts)
    assert quoted(report(taxed, columns=["street_line"]))
    one = orders.drop(columns="street_line").svc.lookup(
        address="1 Hidden Way", client=embedded, cache=False, as_of="2026-02-01", progress=False
    )
    texts = report(one)
    assert not quoted(texts)
    assert any("one address for all rows" in text for text in texts)


def test_what_prints_and_shows_a_comparison_or_a_return_has_no_columns_of_the_user(embedded):
    frame = enriched(row("NJ"), email=["a@b.example"], tax_collected=["1.00"])
    made = SvcAccessor(frame).reconcile()
    for text in (str(made), repr(made), made._repr_html_()):
        assert "a@b.example" not in text


def test_amounts_that_are_text_become_numbers_and_zips_keep_their_zeros(tmp_path, page):
    """Also those that a spreadsheet sums: the totals tie to the lines."""
    amounts = ["$1,234.50", "19.99", "(15.00)", None]
    frame = enriched(*(row() for _ in amounts), taxed=False)
    frame["amount"] = pd.array(amounts, dtype=text_dtype())
    frame["delivery"] = pd.array(["5.00", "0", None, "n/a"], dtype=text_dtype())
    frame["freight_taxable"] = pd.array([True] * 4, dtype="boolean")
    taxed = SvcAccessor(frame).tax("amount", shipping="delivery", progress=False)
    path = SvcAccessor(taxed).report(tmp_path / "report.xlsx")
    book = openpyxl.load_workbook(path)
    lines = book["Lines"]
    head = {cell.value: cell.column_letter for cell in lines[1]}
    cells = [lines[f"{head['amount']}{at}"] for at in range(2, 6)]
    assert [cell.value for cell in cells] == [1234.5, 19.99, -15, None]
    assert {cell.number_format for cell in cells[:3]} == {"#,##0.00_);[Red]-#,##0.00_)"}
    delivery = [lines[f"{head['delivery']}{at}"].value for at in range(2, 6)]
    assert delivery == [5, 0, None, "n/a"]  # what is no amount stays as it is
    zips = [lines[f"{head['zip']}{at}"] for at in range(2, 6)]
    assert [(cell.value, cell.data_type) for cell in zips] == [("07030", "s")] * 4
    tied = [cells for cells in book["Summary"].iter_rows(values_only=True) if cells[0] == "Sales"]
    assert any("SUM('Lines'!" in str(cells[2]) for cells in tied)
    (line,) = [cells for cells in page(taxed).rows if cells[:2] == ["2", "NJ"]]
    assert line[3] == "1,234.50"


def test_a_column_of_yes_and_no_is_no_column_of_dollars(tmp_path):
    frame = enriched(row(), row(), taxed=False)
    frame["free"] = ["yes", "no"]
    taxed = SvcAccessor(frame).tax("amount", exempt="free", progress=False)
    path = SvcAccessor(taxed).report(tmp_path / "report.xlsx")
    lines = openpyxl.load_workbook(path)["Lines"]
    cell = next(cell for cell in lines[2] if cell.value == "yes")
    assert cell.number_format == "General"


SAMPLES = Path(__file__).parents[1] / "data" / "exports"


@pytest.mark.parametrize(
    "sample", spread(sorted(SAMPLES.iterdir()), 5, start=2), ids=lambda path: path.stem
)
def test_no_person_of_a_sample_export_is_in_its_report(sample, embedded, tmp_path):
    """Neither in its lines nor anywhere else, while everything else is there as it was."""
    output, path = tmp_path / "out.csv", tmp_path / "report.xlsx"
    enrich_file(sample, output, client=embedded, cache=False, report=path)
    with output.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    _, personal = columns_of(sample.stem)
    private = {row[name] for row in rows for name in personal if len(row.get(name, "")) > 4}
    public = {row[name] for row in rows for name in row if name not in personal}
    book = openpyxl.load_workbook(path)
    every = (line for sheet in book for line in sheet.iter_rows(values_only=True))
    cells = {str(cell) for line in every for cell in line if cell is not None}
    assert not (private - public) & cells
    heads = [cell.value for cell in book["Lines"][1]]
    assert not {*heads} & {*personal}
    own = [name for name in rows[0] if name in columns_of(sample.stem)[0]]
    assert [name for name in heads if name in own] == [name for name in own if name not in personal]
    assert book["Lines"].max_row == len(rows) + 1


def test_zips_that_were_read_as_numbers_have_their_zeros_in_a_report(embedded, tmp_path):
    orders = pd.DataFrame({"zip": [7030, 94105, None], "state": ["NJ", "CA", "CA"], "qty": [1] * 3})
    rated = orders.svc.lookup(client=embedded, cache=False, as_of="2026-02-01", progress=False)
    path = rated.svc.report(tmp_path / "report.xlsx")
    lines = openpyxl.load_workbook(path)["Lines"]
    assert [cell.value for cell in lines["A"]] == ["zip", "07030", "94105", None]


def test_the_amounts_of_an_export_are_numbers_and_printed(embedded, tmp_path):
    orders = pd.read_csv(SAMPLES / "shopify.csv", dtype="str")
    rated = orders.svc.lookup(client=embedded, cache=False, progress=False)
    path = rated.svc.tax(progress=False).svc.report(tmp_path / "report.xlsx")
    lines = openpyxl.load_workbook(path)["Lines"]
    heads = [cell.value for cell in lines[1]]
    assert heads.index("sale_amount") < heads.index("warnings")  # the last one that is printed
    for name in ("Subtotal", "Shipping", "Taxes", "Total", "sale_amount", "tax"):
        cells = [row[heads.index(name)] for row in lines.iter_rows(min_row=2, values_only=True)]
        assert {type(cell) for cell in cells if cell is not None} <= {int, float}, name
    assert "#" in lines["A2"].value


@pytest.mark.parametrize("dtype", [None, "str"])
def test_the_amounts_of_an_export_are_money_after_a_file_too(embedded, tmp_path, dtype):
    orders = pd.read_csv(SAMPLES / "shopify.csv", dtype="str")
    rated = orders.svc.lookup(client=embedded, cache=False, progress=False).svc.tax(progress=False)
    rated.to_csv(tmp_path / "orders.csv", index=False)
    again = pd.read_csv(tmp_path / "orders.csv", dtype=dtype)
    lines = openpyxl.load_workbook(again.svc.report(tmp_path / "report.xlsx"))["Lines"]
    heads = [cell.value for cell in lines[1]]
    for name in ("sale_amount", "sale_shipping", "sale_taxable", "tax"):
        cells = [row[heads.index(name)] for row in lines.iter_rows(min_row=2)]
        known = [(cell.value, cell.number_format) for cell in cells if cell.value is not None]
        assert known, name
        assert {type(value) for value, _ in known} <= {int, float}, name
        assert {form for _, form in known} == {"#,##0.00_);[Red]-#,##0.00_)"}, name
