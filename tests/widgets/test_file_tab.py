"""The tab File, driven as a user drives it, over real HTTP: nothing is lost or hidden."""

from __future__ import annotations

import ast
import csv
import gzip
import re
import shlex
import threading
from collections import Counter
from datetime import date
from decimal import Decimal
from html import unescape
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from support.command import svc_tools
from support.faults import HANG, KEY, RESET, echo, echoing
from support.shops import MARKETPLACES
from support.systems import posix

from svc_sdk import Svc
from svc_tools import connect
from svc_tools.frames import enrich_file
from svc_tools.lookup.plan import MANY_LOOKUPS
from svc_tools.show.display import NOTHING
from svc_tools.widgets.file_tab import FileTab
from svc_tools.widgets.session import Session

HEAD = ["order", "zip", "state", "sold", "amount"]


@pytest.fixture
def tab(faults, tmp_path, monkeypatch):
    """The tab, asking the fault server, with a cache and a folder of its own."""
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "answers.db"))
    with Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
        made = FileTab(Session(client, folder=tmp_path / "panel"))
        yield made
        made.stop_button.click()
        made.session.background.settle()
        made._forget()


def rows_of(count):
    return [
        [f"{number:04}", f"{78000 + number}", "TX", "2026-05-01", "10.00"]
        for number in range(count)
    ]


def csv_of(path, rows, head=HEAD):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def cells_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def upload(tab, path):
    """What the browser says when a file was chosen."""
    upload_now(tab, path)
    tab.session.background.settle()


def upload_now(tab, path):
    content = path.read_bytes()
    for said, *pieces in (
        ({"type": "begin", "name": path.name},),
        ({"type": "piece"}, memoryview(content)),
        ({"type": "end", "size": len(content)},),
    ):
        tab.choice.upload._handle_custom_msg({"view": "view-1", **said}, pieces)


def open_path(tab, path):
    tab.choice.path.submit(path=str(path))
    tab.session.background.settle()


def click(tab, button):
    assert not button.disabled
    button.click()
    tab.session.background.settle()


def choose(tab, **columns):
    for role, column in columns.items():
        tab.columns.roles[role].value = ("column", column) if column else ("none", "")


def is_shown(widget):
    return widget.layout.display != "none"


def marked(tab):
    """The field that is marked as the one that an error is about."""
    columns = tab.columns
    fields = {**columns.roles, "date_format": columns.date_format, "tz": columns.tz}
    fields |= {"one_state": columns.one_state, "one_date": columns.one_date}
    (found,) = [name for name, field in fields.items() if "svc-invalid" in field._dom_classes]
    return found


def planned(tab, path, **columns):
    open_path(tab, path)
    choose(tab, **columns)
    click(tab, tab.plan_button)
    return tab


def finished(tab, path, **columns):
    click(planned(tab, path, **columns), tab.run_button)


def test_a_file_is_uploaded_mapped_planned_run_and_taken_away(tab, faults, tmp_path):
    source = csv_of(tmp_path / "orders.csv", [*rows_of(3), *rows_of(3)])
    upload(tab, source)
    assert b"78000" not in str(tab.choice.upload.get_state()).encode()  # saved with a notebook
    assert "0000" in tab.columns.preview.value
    chosen = {role: field.value for role, field in tab.columns.roles.items()}
    assert chosen["zip"] == ("column", "zip")
    assert chosen["as_of"] == ("column", "sold")
    assert chosen["city"] == ("none", "")
    choose(tab, amount="amount")
    click(tab, tab.plan_button)
    assert all(text in tab.plan.text.value for text in ("billable lookups", ">6<", ">3<"))
    assert faults.seen == []  # a plan asks nothing
    click(tab, tab.run_button)
    assert len(faults.seen) == 3
    written = tab.result.written
    assert written.parent == tab.session.folder / "results"
    assert [row["order"] for row in cells_of(written)] == ["0000", "0001", "0002"] * 2
    assert {row["tax"] for row in cells_of(written)} == {"0.83"}
    assert b"".join(tab.result.download.pieces()) == written.read_bytes()
    assert "4.98" in tab.result.money.value
    assert source.read_text(encoding="utf-8").count("\n") == 7  # the source is as it was


def test_a_chosen_file_needs_one_button(tab, faults, tmp_path):
    upload(tab, csv_of(tmp_path / "orders.csv", rows_of(3)))
    assert tab.run_button.description == "Add rates and tax"
    click(tab, tab.run_button)
    assert [row["tax"] for row in cells_of(tab.result.written)] == ["0.83"] * 3
    assert len(faults.seen) == 3


def test_many_lookups_of_an_account_are_a_plan_first(tab, faults, tmp_path):
    open_path(tab, csv_of(tmp_path / "orders.csv", rows_of(MANY_LOOKUPS + 1)))
    click(tab, tab.run_button)
    assert is_shown(tab.plan.view)
    assert f">{MANY_LOOKUPS + 1:,}<" in tab.plan.text.value
    assert faults.seen == []
    click(tab, tab.run_button)
    assert len(faults.seen) == MANY_LOOKUPS + 1


BESIDE = ("shipping", "exempt", "invoice")
OPTIONS = ["order", "zip", "st", "sold", "amount", "freight", "is_exempt", "inv"]
LINES = [
    ["1", "78701", "TX", "05/31/2026", "10.00", "2.00", "no", "A"],
    ["2", "78701", "TX", "05/31/2026", "10.00", "0", "no", "A"],
    ["3", "78702", "TX", "06/01/2026", "20.00", "4.00", "yes", "B"],
]


def with_every_option(tab, source):
    """The file with an option of every kind chosen."""
    open_path(tab, source)
    chosen = {role: tab.columns.roles[role].value for role in ("amount", *BESIDE)}
    assert chosen == {
        role: ("column", name) for role, name in zip(chosen, OPTIONS[4:], strict=True)
    }
    choose(tab, state="st")
    tab.columns.date_format.value = "month first"
    tab.columns.tz.value = "America/Chicago"
    tab.columns.prefix.value = "svc_"
    tab.columns.roles["city"].value = ("none", "")


def test_the_share_of_housing_that_is_enough_is_a_field(tab, faults, tmp_path):
    spans = {"code": "zip_spans_jurisdictions", "message": "several", "share": "0.9300"}
    ends = {"lowest_combined_rate": "0.06250", "highest_combined_rate": "0.08250"}
    faults.will(echoing(warnings=[spans | ends], confidence="medium"))
    open_path(tab, csv_of(tmp_path / "orders.csv", LINES, OPTIONS))
    tab.columns.date_format.value = "month first"
    tab.columns.further["review_below"].value = "0.98"
    click(tab, tab.run_button)
    rows = cells_of(tab.result.written)
    assert {row["lookup_review_reason"] for row in rows} == {"several_rates"}
    assert {row["lookup_share"] for row in rows} == {"0.9300"}
    assert "review_below=" in tab.code.code


def test_shipping_exempt_and_invoice_are_chosen_beside_the_amount(tab, faults, tmp_path):
    with_every_option(tab, csv_of(tmp_path / "orders.csv", LINES, OPTIONS))
    click(tab, tab.run_button)
    assert {request.target.partition("as_of=")[2][:10] for request in faults.seen} == {
        "2026-05-31",
        "2026-06-01",
    }
    rows = cells_of(tab.result.written)
    # 8.25% of 12.00 and 10.00, which are one invoice and round to 1.82, not 0.99 + 0.83
    assert sum(Decimal(row["svc_tax"]) for row in rows[:2]) == Decimal("1.82")
    assert rows[2]["svc_tax"] == "0.00"
    tab.columns.roles["amount"].value = ("none", "")
    assert not any(is_shown(tab.columns.fields[role]) for role in BESIDE)


SHOPIFY = (
    *("Name", "Financial Status", "Currency", "Subtotal", "Shipping", "Taxes", "Total"),
    *("Created at", "Lineitem quantity", "Lineitem name", "Billing Zip", "Billing Province"),
    *("Shipping City", "Shipping Zip", "Shipping Province", "Shipping Country"),
)
SOLD = [
    *[["#1", "paid", "USD", "100.00", "5.00", "8.66", "113.66", "2026-05-01", "1", "Tea"]],
    *[["#1", "", "", "", "", "", "", "", "2", "Cup", "", "", "", "", "", ""]],
]
SOLD[0] += ["10001", "NY", "Austin", "'78701", "TX", "US"]
AMAZON = {
    "amazon-order-id": "111-1",
    "purchase-date": "2026-05-01",
    "item-price": "20.00",
    "gift-wrap-price": "2.00",
    "item-promotion-discount": "-4.00",
    "shipping-price": "3.00",
    "ship-city": "Austin",
    "ship-state": "TX",
    "ship-postal-code": "78701",
    "ship-country": "US",
}


EXPORTS = Path(__file__).parents[1] / "data" / "exports"
MOMENT = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z")


@pytest.mark.parametrize("name", sorted(path.name for path in EXPORTS.iterdir()))
def test_a_sample_of_each_shop_gets_its_tax_by_one_button(tmp_path, monkeypatch, name):
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "answers.db"))
    embedded = connect("embedded")
    tab = FileTab(Session(embedded, folder=tmp_path / "panel"))
    upload(tab, EXPORTS / name)
    assert "Recognized by its columns as" in tab.columns.export.value
    assert tab.run_button.description == "Add rates and tax"
    click(tab, tab.run_button)
    assert "svc-trouble" not in tab.message.html, tab.message.html
    expected = enrich_file(EXPORTS / name, tmp_path / "expected.csv", tax={}, client=embedded)
    assert expected.totals.rows - expected.totals.taxed < 10
    ours, theirs = (MOMENT.sub(b"", one.written.read_bytes()) for one in (tab.result, expected))
    assert ours == theirs  # each run has a moment of its own
    click(tab, tab.plan_button)
    assert "Computed here" in tab.plan.text.value
    assert "billable" not in tab.plan.text.value
    assert not (tmp_path / "answers.db").exists()
    remarks = expected.totals.remarks
    assert bool(remarks) == (name in MARKETPLACES)
    assert all(unescape(tab.result.split.value).count(text) == 1 for text in remarks)
    assert tab.result._review.layout.display == ("none" if remarks else "")
    notes = unescape(tab.result.notes.value)
    assert notes.count("<p>") == len(expected.notes) - 1  # all but the columns, which fields show
    assert ("the place is that of 'Card Address State'" in notes) == (name == "stripe.csv")
    assert not OF_CODE.search(notes.replace("<p>", " "))
    tab._forget()


def ran_by_command(tab):
    """The taxes that the command gives which the tab shows for its result."""
    words = shlex.split(tab.code.command)[1:]
    words[words.index("-o") + 1] = str(tab.result.written.with_name("by-command.csv"))
    assert svc_tools(*words, "--force", SVC_API_KEY=KEY).returncode == 0
    return [row["tax"] for row in cells_of(tab.result.written.with_name("by-command.csv"))]


def test_amounts_of_several_columns_are_one_choice(tab, tmp_path):
    source = csv_of(tmp_path / "amazon.csv", [[*AMAZON.values()]], [*AMAZON])
    open_path(tab, source)
    assert "Amazon orders" in tab.columns.export.value
    first, _ = tab.columns.roles["amount"].options[0]
    assert first == "item-price + gift-wrap-price - item-promotion-discount"
    assert tab.columns.roles["shipping"].value == ("column", "shipping-price")
    click(tab, tab.run_button)
    # 8.25% of 20.00 + 2.00 - 4.00 + 3.00
    assert ran_by_command(tab) == [row["tax"] for row in cells_of(tab.result.written)] == ["1.73"]
    choose(tab, shipping=None)
    click(tab, tab.run_button)
    assert ran_by_command(tab) == [row["tax"] for row in cells_of(tab.result.written)] == ["1.49"]
    choose(tab, amount=None)
    click(tab, tab.run_button)
    assert "tax" not in cells_of(tab.result.written)[0]
    assert "--no-tax" in tab.code.command
    open_path(tab, csv_of(tmp_path / "orders.csv", rows_of(1)))
    assert tab.columns.export.value == ""


def test_two_columns_of_amounts_are_a_question(tab, tmp_path):
    open_path(
        tab,
        csv_of(tmp_path / "orders.csv", [["78701", "1", "2"]], ["zip", "subtotal", "net_amount"]),
    )
    assert "before tax?" in tab.columns.question.value
    click(tab, tab.run_button)
    assert marked(tab) == "amount"
    assert tab.result.written is None
    choose(tab, amount="net_amount")
    click(tab, tab.run_button)
    assert cells_of(tab.result.written)[0]["tax"] == "0.17"


def test_exempt_lines_marked_0_and_1_are_a_question_in_words_of_the_page(tab, tmp_path):
    rows = [[*line[:6], mark, line[7]] for line, mark in zip(LINES, "010", strict=True)]
    with_every_option(tab, csv_of(tmp_path / "orders.csv", rows, OPTIONS))
    click(tab, tab.run_button)
    words = re.sub(r"<[^>]*>", " ", tab.message.html)
    assert "yes and no, or dollars" in words
    assert not OF_CODE.search(words)
    assert "df[" not in words
    assert marked(tab) == "exempt"
    assert tab.result.written is None


@pytest.mark.parametrize("by", ["python", "command"])
def test_the_code_that_is_shown_does_the_same(tab, tmp_path, scripted, monkeypatch, by):
    source = csv_of(tmp_path / "some orders.csv", LINES, OPTIONS)
    with_every_option(tab, source)
    click(tab, tab.run_button)
    by_panel = tab.result.written.read_bytes()
    tab.result.written.unlink()
    shown = tab.code.code if by == "python" else tab.code.command
    assert KEY not in shown
    if by == "python":
        ast.parse(shown)
        monkeypatch.setattr("svc_tools.connect", lambda **_: scripted)
        exec(shown, {})  # noqa: S102 - it is what a person would run
    else:
        program, *words = shlex.split(shown)
        assert program == "svc-tools"
        assert svc_tools(*words, SVC_API_KEY=KEY).returncode == 0
    assert (tmp_path / "some orders-rates.csv").read_bytes() == by_panel


def test_an_excel_workbook_is_made_of_the_same_answers(tab, faults, tmp_path):
    finished(tab, csv_of(tmp_path / "orders.csv", rows_of(3)), amount="amount")
    click(tab, tab.result.make_workbook)
    assert len(faults.seen) == 3
    assert tab.result.workbook.name == "orders-rates.xlsx"
    book = openpyxl.load_workbook(tmp_path / "orders-rates.xlsx")
    head, first, *_ = book.active.iter_rows(values_only=True)
    row = dict(zip(head, first, strict=True))
    assert (row["zip"], row["combined_rate"], row["tax"]) == ("78000", 0.0825, 0.83)


@pytest.mark.parametrize(
    ("head", "unclear"),
    [
        ("zip,ship_state,bill_zip", {"zip", "state"}),
        ("ship_zip,zip,ship_state,bill_zip,order_date,shipped_date", {"zip", "as_of"}),
    ],
)
def test_columns_that_could_be_meant_must_be_chosen(tab, faults, tmp_path, head, unclear):
    names = head.split(",")
    cells = {"ship_zip": "78701", "ship_state": "TX", "zip": "78701", "order_date": "2026-05-01"}
    row = [cells.get(name, "90001") for name in names]
    open_path(tab, csv_of(tmp_path / "orders.csv", [row], names))
    chosen = {role: field.value[0] for role, field in tab.columns.roles.items()}
    assert {role for role, kind in chosen.items() if kind == "choose"} == unclear
    assert "where was it shipped to" in tab.columns.question.value
    click(tab, tab.plan_button)
    assert "choose one" in tab.message.html
    assert marked(tab) in unclear
    assert not is_shown(tab.plan.view)
    choose(tab, zip=next(name for name in names if "zip" in name), state="ship_state")
    if "as_of" in unclear:
        choose(tab, as_of="order_date")
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    (request,) = faults.seen
    assert "zip=78701" in request.target
    assert ("2026-05-01" in request.target) == ("as_of" in unclear)


def test_a_doubtful_country_is_asked_and_may_be_left_out(tab, faults, tmp_path):
    names = ["state", "zip", "Country/Region"]
    open_path(tab, csv_of(tmp_path / "orders.csv", [["TX", "78701", "China"]], names))
    assert tab.columns.roles["country"].value[0] == "choose"
    assert "which column is the country" in tab.columns.question.value
    click(tab, tab.plan_button)
    assert marked(tab) == "country"
    tab.columns.roles["country"].value = ("none", "")
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    (request,) = faults.seen
    assert "zip=78701" in request.target


def test_a_column_that_is_not_to_be_used_is_not_found_by_its_name(tab, faults, tmp_path):
    source = csv_of(tmp_path / "orders.csv", [["90001", "Austin", "TX"]], ["zip", "city", "state"])
    open_path(tab, source)
    tab.columns.roles["zip"].value = ("none", "")
    tab.columns.roles["city"].value = ("none", "")
    choose(tab, location="city")
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    (request,) = faults.seen
    assert "90001" not in request.target
    assert "Austin" in request.target


def test_dates_written_another_way_are_said_and_then_read(tab, faults, tmp_path):
    rows = [[*row[:3], "05/06/2026", row[4]] for row in rows_of(2)]
    planned(tab, csv_of(tmp_path / "orders.csv", rows), as_of="sold")
    assert not is_shown(tab.plan.view)
    assert tab.result.written is None
    shown = tab.message.html
    assert all(part in shown for part in ("month first or day first", "05/06/2026"))
    assert "“Date format”" in shown
    assert marked(tab) == "date_format"
    tab.columns.date_format.value = "month first"
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    assert {row["lookup_status"] for row in cells_of(tab.result.written)} == {"ok"}
    assert all("2026-05-06" in request.target for request in faults.seen)


def test_a_stop_keeps_what_was_found_and_going_on_requests_only_the_rest(tab, faults, tmp_path):
    planned(tab, csv_of(tmp_path / "orders.csv", rows_of(400)))
    ended = threading.Event()

    def stop(seen):
        tab.stop_button.click()
        return echo(seen)

    # the others hang: however busy the machine is, the run ends before they are done
    faults.will(*[echo] * 20, stop, lambda seen: ended.wait(60) and echo(seen))
    click(tab, tab.run_button)
    ended.set()
    assert tab.result.written.name == "orders-rates-incomplete.csv"
    statuses = Counter(row["lookup_status"] for row in cells_of(tab.result.written))
    found = statuses["ok"]
    assert 20 <= found <= 21
    assert statuses == {"ok": found, "not_attempted": 400 - found}
    assert "It was stopped" in tab.message.html
    assert tab.result.download.label == "Download CSV, incomplete"
    assert f"{400 - found:,} rows are still to be looked up" in tab.message.html
    assert tab.run_button.description == "Go on"
    before = len(faults.seen)
    click(tab, tab.run_button)
    assert len(faults.seen) - before == 400 - found
    assert tab.result.written.name == "orders-rates.csv"
    assert {row["lookup_status"] for row in cells_of(tab.result.written)} == {"ok"}


def test_a_service_that_hangs_leaves_the_page_responsive(tab, faults, tmp_path):
    planned(tab, csv_of(tmp_path / "orders.csv", rows_of(40)))
    faults.will(HANG)
    tab.run_button.click()  # comes back at once
    assert tab.choice.upload.disabled
    tab.run_button.click()  # once more: it runs already
    tab.plan_button.click()
    assert "svc-busy" in tab.progress.view._dom_classes
    assert faults.asked.wait(30)
    tab.stop_button.click()
    tab.session.background.settle(9)
    assert not tab.choice.upload.disabled
    assert "svc-busy" not in tab.progress.view._dom_classes
    assert "It was stopped" in tab.message.html


def test_a_service_that_goes_down_in_the_middle_loses_nothing(tab, faults, tmp_path):
    planned(tab, csv_of(tmp_path / "orders.csv", rows_of(400)))
    faults.will(*[echo] * 30, RESET)
    click(tab, tab.run_button)
    known = sum(row["lookup_status"] == "ok" for row in cells_of(tab.result.written))
    assert known == 30
    assert "The run ended early" in tab.message.html
    assert "Go on" in tab.message.html
    faults.will(echo)
    before = len(faults.seen)
    click(tab, tab.run_button)
    assert len(faults.seen) - before == 370
    assert "Every row has a whole rate" in tab.message.html


def cells_of_table(text):
    """The rows of a table of the page, as texts."""
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in cells]


def test_rows_that_need_review_are_shown_by_pages_and_by_reason(tab, faults, tmp_path):
    bad = [[f"b{n}", "78701", "TX", "soon", "1"] for n in range(60)]
    good = rows_of(60)
    mixed = [row for pair in zip(good, bad, strict=True) for row in pair]
    faults.will(echoing(warnings=[{"code": "districts_not_covered"}]), echo)
    finished(tab, csv_of(tmp_path / "orders.csv", mixed), amount=None)
    shown = tab.result.review.value
    assert shown.count("<tr>") == 26  # a page of 25, never all of them
    assert "Date of sale: " in shown  # the field, by its name on the page
    assert "Correct the row" in tab.result.reasons.value  # what to do stands once, not per row
    assert all(code not in tab.result.reasons.value for code in ("invalid", "partial"))
    assert [name for name, _ in tab.result.reason.options] == [
        "All rows to review (61 rows, $70.00)",
        "The row names no usable place or date (60 rows, $60.00)",
        "The rate lacks its local or district part (1 row, $10.00)",
    ]
    for _ in range(2):
        click(tab, tab.result.after)
    assert tab.result.after.disabled
    assert tab.result.review.value.count("<tr>") == 61 - 50 + 1
    (invalid,) = (code for _, code in tab.result.reason.options if code == "invalid")
    tab.result.reason.value = invalid
    tab.session.background.settle()
    assert ">3<" in tab.result.review.value  # row 3 of the file, the names being row 1
    assert "partial" not in tab.result.review.value
    tab.result.reason.value = "partial"
    tab.session.background.settle()
    assert tab.result.review.value.count("<tr>") == 2
    assert "A city or district rate may come on top." in tab.result.review.value  # no bare code
    assert tab.result.after.disabled


@pytest.mark.parametrize("taxed", [True, False])
def test_rows_to_review_come_by_dollars_as_from_pandas(tab, faults, tmp_path, taxed):
    amounts = ["3.00", "250.00", "", "0.00", "99.99", "1200.50", "7.00"]
    rows = [
        [f"o{n}", f"{78700 + n}", "TX" if n % 3 else "CA", "2026-05-01", amount]
        for n, amount in enumerate(amounts)
    ]
    some = [["fine", "79999", "TX", "2026-05-01", "5000.00"], ["not", "79998", "TX", "soon", "80"]]
    noted = echoing(warnings=[{"code": "districts_not_covered"}])
    faults.will(lambda seen: (echo if "79999" in seen.target else noted)(seen))
    source = csv_of(tmp_path / "orders.csv", [*rows, *some])
    finished(tab, source, amount="amount" if taxed else None)
    frame = pd.read_csv(tab.result.written, dtype=str)
    review = frame.svc.review(amount="amount")
    split = frame.svc.split(amount="amount")
    rows_of_parts = [[part.label, str(part.rows)] for part in split.parts]
    uses = cells_of_table(tab.result.split.value)
    assert [row[:2] for row in uses[1:]] == rows_of_parts
    assert uses[1][2] == "$5,000.00"
    assert [head in uses[0] for head in ("Sales", "Tax")] == [True, taxed]
    assert split.sentence in unescape(tab.result.split.value)
    shown = cells_of_table(tab.result.review.value)
    assert shown[0][:3] == ["Dollars", "Row", "order"]
    assert [row[2] for row in shown[1:]] == review.rows["order"].tolist()
    known = [None if one == NOTHING else Decimal(re.sub(r"[$,]", "", one)) for one, *_ in shown[1:]]
    assert known == [None if pd.isna(one) else one for one in review.rows["review_dollars"]]
    groups = cells_of_table(tab.result.reasons.value)[1:]
    assert [row[0] for row in groups] == [one.state or NOTHING for one in review.state_reasons]


@posix
def test_nothing_of_a_file_becomes_markup(tab, tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    source = csv_of(
        tmp_path / "<b>evil.csv", [[evil, "78701", "TX", "soon", "1"]], [evil, *HEAD[1:]]
    )
    finished(tab, source, address=evil)
    texts = [tab.columns.preview, tab.columns.question, tab.plan.text, tab.result.review]
    texts += [tab.result.summary, tab.result.statuses, tab.code.view]
    for text in [*(widget.value for widget in texts), tab.message.html]:
        assert "<img" not in text
        assert "<b>" not in text


def test_no_file_of_the_user_is_ever_replaced(tab, tmp_path):
    source = csv_of(tmp_path / "orders.csv", rows_of(2))
    (tmp_path / "orders-rates.csv").write_text("mine\n")
    open_path(tab, source)
    assert tab.target.value == str(tmp_path / "orders-rates-2.csv")
    for taken in ("orders-rates.csv", "orders.csv"):
        tab.target.value = str(tmp_path / taken)
        click(tab, tab.plan_button)
        assert "svc-trouble" in tab.message.html
        assert not is_shown(tab.plan.view)
    tab.target.value = str(tmp_path / "mine.csv")
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    first = tab.result.written
    click(tab, tab.run_button)  # once more: beside the first one
    assert (first.name, tab.result.written.name) == ("mine.csv", "mine-2.csv")
    assert first.exists()
    assert (tmp_path / "orders-rates.csv").read_text() == "mine\n"


def test_another_sheet_of_a_workbook_is_offered_and_read(tab, tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("Orders & more")
    sheet.append(["zip", "state"])
    sheet.append(["02134", "MA"])
    book.save(tmp_path / "orders.xlsx")
    upload(tab, tmp_path / "orders.xlsx")
    assert tab.choice.options.opened
    assert "“How the file is read”" in tab.message.html
    assert "--sheet" not in tab.message.html
    assert tab.choice.sheet.options == ("Sheet", "Orders & more")
    tab.choice.sheet.value = "Orders & more"
    click(tab, tab.choice.again)
    assert tab.columns.roles["zip"].value == ("column", "zip")
    assert "02134" in tab.columns.preview.value
    assert tab.choice.sheet.value == "Orders & more"
    click(tab, tab.plan_button)
    assert "sheet='Orders & more'" in tab.code.code
    click(tab, tab.run_button)
    assert cells_of(tab.result.written)[0]["zip"] == "02134"


def test_one_state_and_one_date_for_all_rows(tab, faults, tmp_path):
    source = csv_of(tmp_path / "zips.csv", [["78701"], ["78702"]], ["zip"])
    open_path(tab, source)
    tab.columns.roles["state"].value = ("one", "")
    tab.columns.roles["as_of"].value = ("one", "")
    click(tab, tab.plan_button)
    assert "give a state" in tab.message.html
    assert marked(tab) == "one_state"
    tab.columns.one_state.value = "TX"
    tab.columns.one_date.value = date(2026, 5, 31)
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    assert len(faults.seen) == 2
    assert all("2026-05-31" in request.target for request in faults.seen)


def test_without_a_service_nothing_is_read_or_asked(tmp_path):
    tab = FileTab(Session(folder=tmp_path))
    open_path(tab, csv_of(tmp_path / "orders.csv", rows_of(1)))
    click(tab, tab.plan_button)
    assert "No service is connected" in tab.message.html


def test_a_file_that_arrives_while_another_runs_does_not_disturb_it(tab, faults, tmp_path):
    planned(tab, csv_of(tmp_path / "orders.csv", rows_of(5)))
    other = csv_of(tmp_path / "other.csv", rows_of(1))
    faults.will(lambda seen: upload_now(tab, other) or echo(seen), echo)
    click(tab, tab.run_button)
    assert len(cells_of(tab.result.written)) == 5
    assert tab.choice.current.name == "orders.csv"


def test_another_service_needs_another_plan(tab, faults, tmp_path):
    planned(tab, csv_of(tmp_path / "orders.csv", rows_of(1)))
    assert is_shown(tab.plan.view)
    with Svc("another-key-0123456789", base_url=faults.base_url) as other:
        tab.session.client = other  # before the tab hears of it
        click(tab, tab.run_button)
        assert faults.seen == []
        assert not is_shown(tab.plan.view)
        click(tab, tab.plan_button)
        assert is_shown(tab.plan.view)
        tab.session.use(other)
    assert not is_shown(tab.plan.view)


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_a_result_of_any_kind_shows_its_rows_to_review(tab, tmp_path, kind):
    rows = [*rows_of(2), ["0009", "78701", "TX", "soon", "1"]]
    open_path(tab, csv_of(tmp_path / "orders.csv", rows))
    tab.target.value = str(tmp_path / f"result.{kind}")
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    assert tab.result.written == tmp_path / f"result.{kind}"
    assert "0009" in tab.result.review.value, tab.result.message.html


def test_a_saved_notebook_holds_nothing_of_the_file_but_the_rows_that_are_shown(tab, tmp_path):
    rows = [[f"secret-order-{n}", "78701", "TX", "2026-05-01", "1"] for n in range(50)]
    upload(tab, csv_of(tmp_path / "orders.csv", rows))
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    saved = "".join(str(widget.get_state()) for widget in widgets_below(tab.view))
    assert "secret-order-4" in saved  # of the preview
    assert "secret-order-5" not in saved
    assert KEY not in saved


def widgets_below(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from widgets_below(child)


def test_a_cell_of_any_length_is_cut_on_the_page_and_kept_in_the_file(tab, tmp_path):
    long = "x" * 100_000
    rows = [[long, "78701", "TX", "soon", "1"], *rows_of(1)]
    finished(tab, csv_of(tmp_path / "orders.csv", rows))
    assert len(tab.columns.preview.value) < 3_000
    assert len(tab.result.review.value) < 3_000
    assert cells_of(tab.result.written)[0]["order"] == long


def test_columns_named_like_ours_pass_through_beside_ours_with_a_prefix(tab, faults, tmp_path):
    head = ["zip", "state", "needs_review", "combined_rate"]
    source = csv_of(tmp_path / "orders.csv", [["78701", "TX", "no", "mine"]], head)
    faults.will(echoing(warnings=[{"code": "districts_not_covered"}]))
    planned(tab, source)
    assert "choose a prefix, such as svc_" in tab.message.html
    tab.columns.prefix.value = "svc_"
    click(tab, tab.plan_button)
    click(tab, tab.run_button)
    (row,) = cells_of(tab.result.written)
    assert (row["needs_review"], row["combined_rate"]) == ("no", "mine")
    assert (row["svc_needs_review"], row["svc_combined_rate"]) == ("True", "0.08250")
    assert "78701" in tab.result.review.value  # by our own mark, not by the user's
    assert 'prefix="svc_"' in tab.code.code.replace("'", '"')


def test_a_result_stays_on_the_page_when_something_is_changed(tab, tmp_path):
    finished(tab, csv_of(tmp_path / "orders.csv", rows_of(3)))
    content = tab.result.written.read_bytes()
    choose(tab, amount=None)
    assert "The result below is of before." in tab.message.html
    assert is_shown(tab.result.view)
    assert b"".join(tab.result.download.pieces()) == content
    assert not is_shown(tab.result.make_workbook)  # there is no plan to make it by


def test_a_file_that_could_not_be_opened_shows_how_it_may_be_read(tab, tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text("zip,x;state\n78701,x;TX\n")
    open_path(tab, path)
    assert "Choose it under “How the file is read”" in tab.message.html
    assert tab.choice.options.opened
    tab.choice.delimiter.value = ";"
    click(tab, tab.choice.again)
    assert tab.columns.roles["state"].value == ("column", "state")


def test_rows_left_out_of_the_tax_are_counted_beside_it(tab, faults, tmp_path):
    faults.will(echo, echoing(warnings=[{"code": "districts_not_covered"}]), echo)
    rows = [*rows_of(2), ["9", "78009", "ZZ", "2026-05-01", "10.00"]]
    finished(tab, csv_of(tmp_path / "orders.csv", rows), amount="amount")
    assert ">Rows with a tax</td><td" in tab.result.money.value
    assert re.search(r"they have no whole rate</td><td[^>]*>2</td>", tab.result.money.value)


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("orders.2026.csv", "orders.2026-rates.csv"),
        ("orders.csv.gz", "orders-rates.csv"),
        (f"{'x' * 240}.csv", f"{'x' * 100}-rates.csv"),
    ],
)
def test_a_result_is_named_like_its_source(tab, tmp_path, name, result):
    opened = gzip.open if name.endswith(".gz") else open
    with opened(tmp_path / name, "wt") as file:
        file.write("zip\n78701\n")
    open_path(tab, tmp_path / name)
    assert tab.target.value == str(tmp_path / result)


OF_CODE = re.compile(r"--\w|\b[a-z_]+=|\bpd\.|\bthe frame\b|Traceback")
"""What only those understand who write commands or Python."""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.csv", None),
        ("empty.csv", b""),
        ("old.xls", b"\xd0\xcf\x11\xe0 old"),
        ("rows.xlsx", b"no workbook"),
        ("photo.png", b"\x89PNG"),
        ("zeros.csv", "order,zip\n1,78701\n".encode("utf-16-le")),
        ("marks.csv", b"a,b;c\n1,2;3\n"),
        ("ragged.csv", b"zip,state\n1,2,3\n"),
        ("bytes.csv", b"order,zip\n\x81,78701\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_sentence_without_code(tab, tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    open_path(tab, tmp_path / name)
    assert "svc-trouble" in tab.message.html
    assert name in tab.message.html
    words = re.sub(r"<[^>]*>", " ", tab.message.html)
    assert not OF_CODE.search(words)
    assert not is_shown(tab._mapping)
    assert not tab.choice.path.busy  # another one can be chosen


def test_whether_buyers_can_avoid_delivery_is_answered_in_a_menu(tab, faults, tmp_path):
    open_ = {"code": "delivery_optional_unknown", "message": "It depends."}
    faults.will(echoing(rate={"freight_taxable": False}, warnings=[open_]))
    rows = [[*row, "10.00"] for row in rows_of(2)]
    path = csv_of(tmp_path / "orders.csv", rows, [*HEAD, "shipping"])
    open_path(tab, path)
    menu = tab.columns.delivery
    assert is_shown(tab.columns._delivery)
    choose(tab, shipping="")
    assert not is_shown(tab.columns._delivery)
    choose(tab, shipping="shipping")
    for answer, tax, review in (
        ("", "0.83", "delivery_optional_unknown"),
        ("optional", "0.83", ""),
        ("only", "1.65", ""),
    ):
        menu.value = answer
        click(tab, tab.plan_button)
        click(tab, tab.run_button)
        cells = cells_of(tab.result.written)
        assert {row["tax"] for row in cells} == {tax}
        assert {row["tax_review"] for row in cells} == {review}
        assert ("--delivery only" in tab.code.command) is (answer == "only")
    open_path(tab, path)  # the answer is the seller's, not the file's
    assert menu.value == "only"
