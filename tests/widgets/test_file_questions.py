"""What the columns of a file leave open, asked in menus of the panel: nothing is taken silently."""

from __future__ import annotations

import csv
from decimal import Decimal
from html import unescape

import pytest
from support.faults import KEY

from svc_sdk import Svc
from svc_tools.frames import enrich_file
from svc_tools.tables.questions import OPEN, Question
from svc_tools.widgets.file_tab import FileTab
from svc_tools.widgets.nexus_exposure import ExposureSection
from svc_tools.widgets.nexus_section import Cleanup
from svc_tools.widgets.question_menus import (
    NotChosenError,
    QuestionMenus,
    answer_in_words,
    title_of,
)
from svc_tools.widgets.session import Session

HEAD = ("Order", "Zip", "State", "Order Date")
TAXED = (*HEAD, "Order Amount", "Sales Tax")
NO_RATE_FITS = [("100.00", "7.00"), ("50.00", "3.33"), ("88.00", "4.00")]
CONTAINED = [("108.25", "8.25"), ("54.13", "4.13"), ("95.26", "7.26")]  # at 8.25 %


@pytest.fixture(params=["cached", "no cache"])
def tab(request, faults, tmp_path, monkeypatch):
    """The tab File, on a service that knows one rate, 8.25 %."""
    cache = str(tmp_path / "answers.db") if request.param == "cached" else "off"
    monkeypatch.setenv("SVC_CACHE", cache)
    with Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
        made = FileTab(Session(client, folder=tmp_path / "panel"))
        yield made
        made.session.background.settle()
        made._forget()


def rows_of(amounts, *more):
    return [
        [f"{number}", f"{78701 + number}", "TX", "2026-05-01", *cells, *more]
        for number, cells in enumerate(amounts)
    ]


def opened(tab, path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    tab.choice.path.submit(path=str(path))
    tab.session.background.settle()
    return path


def run(tab):
    tab.run_button.click()
    tab.session.background.settle()


def menus(tab):
    """The menus that are shown, by their labels."""
    shown = tab.columns.questions
    boxes = shown._boxes.children if shown.view.layout.display != "none" else ()
    found = (getattr(box, "children", [None])[0] for box in boxes)
    return {menu.description: menu for menu in found if menu is not None}


def taxes_in(path):
    with path.open(newline="", encoding="utf-8") as file:
        return [row["tax"] for row in csv.DictReader(file)]


def taxes(tab):
    return taxes_in(tab.result.written)


def helps(tab):
    notes = (box.children[1].value for box in tab.columns.questions._boxes.children)
    return [unescape(one) for one in notes]


REFUNDS = "What are the refunds that have a positive amount?"
IN_AMOUNT = "Is the tax in 'Order Amount'?"


ANSWERS = {
    "Take them off the sales": ("subtract", "-8.25"),
    "They are sales": ("add", "8.25"),
    "Leave them out (0.00)": ("leave", "0.00"),
}


@pytest.mark.parametrize("words", ANSWERS)
def test_what_the_first_look_leaves_open_is_taken_as_answered(tab, faults, tmp_path, words):
    answer, tax = ANSWERS[words]
    rows = rows_of([("100.00", "Sale"), ("100.00", "Refund")])
    source = opened(tab, tmp_path / "sales.csv", (*HEAD, "Amount", "Type"), rows)
    menu = menus(tab)[REFUNDS]
    assert "1 question about the columns is open" in tab.message.html
    assert menu.value == OPEN
    assert "likeliest: “Take them off the sales”" in helps(tab)[0]
    run(tab)
    assert (faults.seen, tab.result.written) == ([], None)  # nothing is taken silently
    assert "svc-invalid" in menu._dom_classes
    menu.value = dict(menu.options)[words]
    assert "svc-invalid" not in menu._dom_classes
    run(tab)
    assert taxes(tab) == ["8.25", tax]
    assert f"--refunds {answer}" in tab.code.command
    expected, of_tax = tmp_path / "expected.csv", {"refunds": answer}
    enrich_file(source, expected, tax=of_tax, client=tab.session.client)
    assert taxes_in(expected) == taxes(tab)


def test_all_that_is_open_is_asked_in_one_place_the_columns_too(tab, faults, tmp_path):
    head = ("Order", "Ship Zip", "State", "Order Date", "zip", "Subtotal", "Order Amount", "Type")
    rows = [
        ["1", "78701", "TX", "2026-05-01", "78702", "100.00", "90.00", "Sale"],
        ["2", "78701", "TX", "2026-05-01", "78702", "30.00", "25.00", "Refund"],
    ]
    opened(tab, tmp_path / "sales.csv", head, rows)
    assert [*menus(tab)] == ["ZIP Code", "Amount", REFUNDS]
    assert "3 questions" in tab.columns.questions._title.value
    kinds = [menu.value for menu in menus(tab).values()]
    assert kinds == [("choose", ""), ("choose", ""), OPEN]
    tab.columns.roles["zip"].value = ("column", "Ship Zip")
    menus(tab)[REFUNDS].value = "subtract"
    run(tab)
    assert faults.seen == []
    tab.columns.roles["amount"].value = ("column", "Order Amount")
    run(tab)
    assert taxes(tab) == ["7.43", "-2.06"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(True, ["7.67", "3.85", "6.93"]), (False, ["8.25", "4.13", "7.26"])],
)
def test_what_the_rates_do_not_decide_is_asked_after_the_lookup_and_none_is_repeated(
    tab, faults, tmp_path, answer, expected
):
    opened(tab, tmp_path / "sales.csv", TAXED, rows_of(NO_RATE_FITS))
    assert not menus(tab)  # the rates may show it
    run(tab)
    assert len(faults.seen) == 3
    assert tab.result.written is None
    assert not (tmp_path / "sales-rates.csv").exists()
    assert "Every place is looked up" in tab.message.html
    assert menus(tab)[IN_AMOUNT].value == OPEN
    assert tab.run_button.description == "Go on"
    run(tab)
    assert tab.result.written is None
    menus(tab)[IN_AMOUNT].value = answer
    run(tab)
    assert len(faults.seen) == 3
    assert taxes(tab) == expected
    assert f"--contains-tax {'yes' if answer else 'no'}" in tab.code.command
    assert f"'contains_tax': {answer}" in tab.code.code
    assert ("the tax, which is taken off" in tab.columns.decided.value) == answer


def test_what_the_rates_show_is_not_asked_and_said(tab, tmp_path):
    opened(tab, tmp_path / "sales.csv", TAXED, rows_of(CONTAINED))
    assert "rates of the places check this" in tab.columns.decided.value
    run(tab)
    assert not menus(tab)
    assert taxes(tab) == ["8.25", "4.13", "7.26"]  # of 100.00, 50.00 and 88.00
    assert "taken off" in tab.columns.decided.value
    assert "'Order Amount' - 'Sales Tax'" in unescape(tab.result.notes.value)


def test_another_place_after_a_late_question_is_looked_up(tab, faults, tmp_path):
    rows = rows_of(NO_RATE_FITS, "90001")
    opened(tab, tmp_path / "sales.csv", (*TAXED, "Other"), rows)
    run(tab)
    menus(tab)[IN_AMOUNT].value = False
    tab.columns.roles["zip"].value = ("column", "Other")
    tab.columns.roles["state"].value = ("none", "")
    before = len(faults.seen)
    run(tab)
    assert ["zip=90001" in one.target for one in faults.seen[before:]] == [True]
    assert taxes(tab) == ["8.25", "4.13", "7.26"]


def test_an_answer_about_one_amount_is_not_taken_for_another(tab, tmp_path):
    rows = rows_of([(*cells, "10.00") for cells in NO_RATE_FITS])
    opened(tab, tmp_path / "sales.csv", (*TAXED, "Points"), rows)
    run(tab)
    menus(tab)[IN_AMOUNT].value = True
    tab.columns.roles["amount"].value = ("column", "Points")
    assert not menus(tab)
    run(tab)
    assert "contains_tax" not in tab.code.code
    assert taxes(tab) == ["0.83"] * 3
    tab.columns.roles["amount"].value = ("column", "Order Amount")
    assert menus(tab)[IN_AMOUNT].value is True


def test_without_a_tax_nothing_about_amounts_is_asked(tab, tmp_path):
    rows = rows_of([("100.00", "Sale"), ("100.00", "Refund")])
    opened(tab, tmp_path / "sales.csv", (*HEAD, "Amount", "Type"), rows)
    assert tab.run_button.description == "Add rates and tax"
    tab.columns.roles["amount"].value = ("none", "")
    assert not menus(tab)
    run(tab)
    assert "tax" not in tab.result.written.read_text(encoding="utf-8").splitlines()[0].split(",")


def test_an_amount_of_a_whole_order_counts_once_where_that_is_the_answer(tab, tmp_path):
    rows = [[f"{n // 2}", "78701", "TX", "2026-05-01", "100.00"] for n in range(6)]
    opened(tab, tmp_path / "sales.csv", (*HEAD, "Order Amount"), rows)
    (menu,) = menus(tab).values()
    assert "of the whole order, or of each line?" in menu.description
    menu.value = dict(menu.options)["Of the whole order: count once"]
    run(tab)
    assert sum(map(Decimal, taxes(tab))) == Decimal("24.75")
    assert "--once 'Order Amount'" in tab.code.command
    menu.value = False
    run(tab)
    assert sum(map(Decimal, taxes(tab))) == Decimal("49.50")
    assert "--without once" in tab.code.command


def test_what_was_decided_is_shown_and_what_is_not_used_is_a_line_that_opens(tab, tmp_path):
    head = (*HEAD, "Subtotal", "Discount", "Sales Tax", "Total", "Store Credit", "Item Status")
    cells = [("100.00", "20.00", "6.60", "86.60"), ("50.00", "0.00", "4.13", "54.13")]
    cells += [("30.00", "5.00", "2.06", "27.06"), ("71.00", "1.00", "5.78", "75.78")]
    opened(tab, tmp_path / "sales.csv", head, rows_of(cells, "3.00", "shipped"))
    assert not menus(tab)
    assert tab.columns.roles["amount"].options[0] == ("Subtotal - Discount", ("sum", ""))
    said = unescape(tab.columns.decided.value)
    assert "they add up to 'Total'" in said
    assert said.count("<details") == 1
    assert said.count("<li>") == 2
    run(tab)
    notes = unescape(tab.result.notes.value)
    assert "2 columns of amounts or statuses not used" in notes
    assert notes.count("'Store Credit' was not used") == 1
    assert "'Store Credit'" in notes.partition("<details")[2]
    assert taxes(tab) == ["6.60", "4.13", "2.06", "5.78"]


def test_an_exempt_column_that_is_not_to_be_used_is_left_out_of_the_command(tab, tmp_path):
    rows = rows_of([("100.00", "yes"), ("100.00", "no")])
    opened(tab, tmp_path / "sales.csv", (*HEAD, "Amount", "Exempt"), rows)
    tab.columns.roles["exempt"].value = ("none", "")
    run(tab)
    assert taxes(tab) == ["8.25", "8.25"]
    assert "--without" not in tab.code.command


def test_names_in_questions_never_become_markup(tab, tmp_path):
    rows = rows_of([("100.00", "Sale"), ("100.00", "Refund")])
    opened(tab, tmp_path / "sales.csv", (*HEAD, "Amount", "<b>Type"), rows)
    assert menus(tab)
    run(tab)
    shown = [box.children[1].value for box in tab.columns.questions._boxes.children]
    assert not any("<b>" in one for one in (*shown, tab.message.html, tab.columns.decided.value))


def asked(argument, columns, values, likely=None):
    return Question(argument, columns, values, likely, "it is open", argument)


def test_answers_to_one_argument_are_joined_and_an_open_one_is_named():
    form = QuestionMenus(lambda: None)
    form.ask(
        [
            asked("parts", ("Gift Box",), ({"Gift Box": "goods"}, {"Gift Box": "none"})),
            asked("parts", ("Fee",), ({"Fee": "untaxed"}, {"Fee": "none"})),
            asked("currency", ("Cur", "Paid in"), ("Cur", "Paid in", False)),
        ]
    )
    first, second, third = form.menus
    first.value, third.value = {"Gift Box": "goods"}, False
    with pytest.raises(NotChosenError, match="'Fee'"):
        form.answers()
    assert form.answers(but={"parts"}) == {"currency": False}
    second.value = {"Fee": "untaxed"}
    assert form.answers() == {"parts": {"Gift Box": "goods", "Fee": "untaxed"}, "currency": False}
    form.ask([asked("parts", ("Fee",), ({"Fee": "untaxed"}, {"Fee": "none"}))])
    assert form.is_open  # what is asked again was not answered by what was chosen
    assert len(form.menus) == 3


@pytest.mark.parametrize(
    ("question", "title"),
    [
        (asked("contains_tax", ("Amount", "VAT"), (True, False)), "Is the tax in 'Amount'?"),
        (asked("contains_shipping", ("Sum", "Post"), (True, False)), "Is the delivery in 'Sum'?"),
        (asked("decimal", ("Amount",), ("point", "comma")), "Which mark stands before the cents?"),
        (asked("order", ("A", "B"), ("A", "B", False)), "Which column is the number of the order?"),
        (asked("parts", ("Tip",), ({"Tip": "untaxed"}, {"Tip": "none"})), "What is 'Tip'?"),
    ],
)
def test_every_answer_has_words_of_its_own_and_none_of_python(question, title):
    assert title_of(question) == title
    words = [answer_in_words(question, value) for value in question.values]
    assert len({*words}) == len(words)
    assert not any(one in {"True", "False", "point", "comma"} or "{" in one for one in words)


def test_the_sales_of_the_nexus_tab_ask_with_the_same_menus(tmp_path):
    section = ExposureSection(Session(folder=tmp_path / "panel"), Cleanup())
    sales, other = tmp_path / "sales.csv", tmp_path / "other.csv"
    sales.write_text("state,date,subtotal,net_amount\nWA,2026-05-01,300000.00,250.00\n")
    other.write_text("state,date,amount\nWA,2026-05-01,40.00\n")

    def compute(path):
        section.file.submit(path=str(path))
        section.session.background.settle()

    compute(sales)
    (menu,) = section.questions.menus
    assert menu.value == OPEN
    assert section.cleanup.exposure is None
    compute(sales)
    assert section.cleanup.exposure is None
    assert "svc-invalid" in menu._dom_classes
    menu.value = "net_amount"
    compute(sales)
    found = section.cleanup.exposure.set_index("state")["sales"]
    assert str(found["WA"]) == "250.00"
    assert "amount='net_amount'" in section.code.code
    compute(other)  # another file: its own columns
    assert section.questions.menus == ()
    assert str(section.cleanup.exposure.set_index("state")["sales"]["WA"]) == "40.00"
