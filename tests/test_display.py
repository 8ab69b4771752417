"""The card of a lookup: exact, escaped, alarming where a part is missing; and in IPython."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from support.cards import DOUBTFUL, FREIGHT, UNREADABLE, answer, text_of

from svc_sdk import TaxResponse, units_to_rate
from svc_tools._register import _card
from svc_tools.show.codes import codes_in, meaning_of
from svc_tools.show.display import (
    Note,
    Table,
    card,
    number,
    print_table,
    prose,
    rate_headline,
    show,
    table_html,
)

PARTIAL = {"code": "districts_not_covered", "message": "not 0.00125 but more"}


def test_the_card_says_what_the_answer_says():
    shown = card(answer(source="The list", edition="2026-10"), day="on 2026-05-01")
    said = text_of(shown)
    assert 'white-space:nowrap">on 2026-05-01<' in shown  # not in two lines on a narrow page
    assert "Austin, Travis, TX 78701" in said
    assert "8.25% combined rate, on 2026-05-01" in said
    for part in ("State 6.25%", "County 0.00%", "City 1.00%", "Districts 1.00%"):
        assert part in said
    assert "high one published rate fits the place" in said
    assert "not published (the publisher gives an edition, and no date for the rate)" in said
    assert "The list" in said
    assert "2026-10" in said
    assert "The service has no warnings." in said


@pytest.mark.parametrize("case", DOUBTFUL.values(), ids=DOUBTFUL)
def test_the_card_of_a_notebook_says_what_may_be_wrong(case):
    rate, meta, status, why = case
    if rate.get("combined_rate") in {"NaN", "8.25%"}:
        return  # the client refuses these
    result = answer(rate, **meta)
    said = text_of(_card(result))
    assert ("No rate" in said) is (result.combined_rate_string[0] in "-8" or status == "unresolved")
    for code in codes_in(why or ""):
        meaning = "the response cannot be used" if code == "failed" else meaning_of(code)
        assert meaning.lower() in said.lower() or status == "unresolved"
    assert why or "The service has no warnings." in said


@pytest.mark.parametrize(("rate", "meta", "named"), UNREADABLE)
def test_a_card_names_the_fields_that_cannot_be_read(rate, meta, named):
    result = answer(rate, **meta)
    for said in (text_of(_card(result)), text_of(card(result))):
        assert "8.25%" in said
        assert f"{named} cannot be read" in said
        assert "(unreadable_field)" in said


def test_the_card_of_a_country_that_cannot_be_read_has_no_rate():
    said = text_of(_card(answer({"country": {"code": "CA"}})))
    assert "No rate" in said
    assert "%" not in said


def test_the_card_of_a_rate_of_another_country_has_no_rate():
    said = text_of(_card(answer({"country": "CA"})))
    assert "No rate" in said
    assert "Canada (CA)" in said
    assert "%" not in said


@pytest.mark.parametrize(("given_word", "taxable"), FREIGHT.values())
def test_the_card_never_guesses_whether_delivery_is_taxable(given_word, taxable):
    said = text_of(card(answer({"freight_taxable": given_word})))
    words = {True: "taxable", False: "not taxable", None: "not known whether taxable"}
    assert said.partition("Delivery charges ")[2].startswith(words[taxable])


def test_a_warning_that_cannot_be_read_is_shown_as_it_came():
    shown = text_of(card(answer(warnings=[{"text": "<b>careful"}, 7, ["x"]])))
    for part in ("<b>careful", "cannot be read: 7", "['x']"):
        assert part in shown


def test_an_untrusted_notebook_shows_the_card():
    html = card(answer())
    assert "<script" not in html
    assert "var(" not in html  # such notebooks keep plain values only


def test_a_partial_answer_suggests_no_whole_rate():
    one = answer({"combined_district_rate": "0.00000"}, warnings=[PARTIAL])
    said = text_of(card(one))
    assert rate_headline(one) == "At least 8.25%"
    assert "PARTIAL: a part of the rate is not known." in said
    assert "known so far: not the whole rate" in said
    assert "Districts not known" in said
    assert "Known so far 8.25%" in said
    assert "combined rate" not in said
    assert "Not 0.125% but more (districts_not_covered)" in said


@pytest.mark.parametrize("one", [answer({"combined_rate": None}), answer(confidence="none")])
def test_no_rate_is_no_rate_and_no_figure_stands_for_it(one):
    said = text_of(card(one))
    assert rate_headline(one) == "No rate"
    assert "Combined no rate" in said
    assert "8.25%" not in said


def test_everything_from_the_service_is_escaped():
    bad = "<script>alert('x')</script>\""
    one = answer(
        {"city": bad, "county": bad, "zip": bad, "state": bad},
        confidence=bad,
        resolved_via=bad,
        effective_date=bad,
        effective_date_basis=bad,
        warnings=[bad, {"code": bad, "message": bad}, {"code": bad}],
        source=bad,
        edition=bad,
    )
    html = card(one, day=bad, facts=[(bad, bad)], warnings=[bad])
    assert "script" not in re.findall(r"<\s*/?\s*(\w+)", html)
    assert "alert('x')</script>" not in html
    text_of(html)


@given(
    st.lists(st.integers(0, 24_999), min_size=4, max_size=4),
    st.booleans(),
)
def test_the_figures_are_exact_and_the_bar_is_no_wider_than_its_place(units, partial):
    names = ("state_rate", "county_rate", "city_rate", "combined_district_rate")
    rates = dict(zip(names, map(units_to_rate, units), strict=True))
    rates["combined_rate"] = units_to_rate(sum(units))
    one = answer(rates, warnings=[PARTIAL] if partial else [])
    html = card(one)
    shown = Decimal(re.search(r"(\d+\.\d+)%", rate_headline(one))[1])
    assert shown == Decimal(sum(units)) / 1000
    widths = [Decimal(width) for width in re.findall(r"width:(\d+\.\d+)%;background", html)]
    assert sum(widths) <= (Decimal("75.05") if partial else Decimal("100.05"))
    assert len(widths) == sum(1 for one in units if one)


def test_a_bare_answer_is_a_card_that_claims_nothing():
    one = TaxResponse.model_validate({"rate": {"combined_rate": "0.08250"}})
    said = text_of(card(one))
    assert "8.25% combined rate" in said
    assert said.count("not known") == 5  # the four parts, and delivery
    assert "Confidence not stated" in said
    assert "Decided by not stated" in said
    assert "In force since not published" in said


def test_a_zero_rate_is_a_rate_and_has_no_bar():
    names = ("state_rate", "county_rate", "city_rate", "combined_district_rate", "combined_rate")
    html = card(answer(dict.fromkeys(names, "0.00000")))
    assert "0.00% combined rate" in text_of(html)
    assert "svc-bar" not in html


def test_a_national_rate_is_a_part_where_there_is_one():
    assert "Country 5.00%" in text_of(card(answer({"country_rate": "0.05000"})))
    assert "Country" not in text_of(card(answer()))


@pytest.mark.parametrize(
    ("given", "said"), [(True, "taxable"), (False, "not taxable"), ("maybe", "not known whether")]
)
def test_delivery_is_said_as_the_service_says_it(given, said):
    assert f"Delivery charges {said}" in text_of(card(answer({"freight_taxable": given})))


def test_a_zero_that_is_not_covered_is_no_part_and_another_figure_is_one():
    only_state = {"code": "local_rates_not_covered"}
    zero = {"county_rate": "0.00000", "city_rate": "0.00000", "combined_district_rate": "0.00000"}
    said = text_of(card(answer(zero, warnings=[only_state])))
    assert said.count("not known") >= 4
    assert "State 6.25%" in said
    kept = text_of(card(answer({**zero, "city_rate": "0.01000"}, warnings=[only_state])))
    assert "City 1.00%" in kept


CELLS = """
from IPython.core.interactiveshell import InteractiveShell
{before}
shell = InteractiveShell.instance()
shell.run_cell("{first}")
shell.run_cell("import sys; sys.path.insert(0, {tests!r}); from support.cards import answer")
{check}
shell.run_cell("hostile = answer({{'city': '<img src=x onerror=alert(1)>'}})")
html, _ = shell.display_formatter.format(shell.user_ns["hostile"])
print(html["text/html"])
"""


@pytest.mark.parametrize(
    ("before", "first", "check"),
    [
        ("", "import svc_tools", "assert 'svc_tools.show.display' not in sys.modules"),
        ("import svc_tools", "%load_ext svc_tools", ""),
    ],
)
def test_a_cell_shows_a_result_as_a_card(before, first, check):
    script = CELLS.format(before=before, first=first, check=check, tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", "import sys\n" + script],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "8.25% combined rate" in text_of(done.stdout)
    assert "&lt;img src=x onerror=alert(1)&gt;" in done.stdout
    assert not hasattr(TaxResponse, "_repr_html_")


HEADS = ("Code", number("Rows"), prose("What to do"), prose("Warnings"))
CODES = "address_not_matched, zip_spans_jurisdictions, as_of_after_edition"
WORDS = st.lists(st.text("abcdefgh_", min_size=1, max_size=30), max_size=8).map(" ".join)


def printed(rows, width, heads=HEADS, **options):
    file = io.StringIO()
    print_table(Console(file=file, width=width), heads, rows, **options)
    return file.getvalue()


@pytest.mark.parametrize("width", [50, 80, 200])
def test_a_web_address_that_does_not_fit_has_a_line_of_its_own(width):
    address = "https://www.revenue.example.gov/Pages/FAQS/pcs-taxrates.aspx?of=single-addresses"
    text = f"WI: the Department of Revenue's Sales Tax Rate Lookup, or its page of rates: {address}"
    file = io.StringIO()
    show(Console(file=file, width=width), Note("Where", [text]))
    lines = [line.strip() for line in file.getvalue().splitlines()]
    assert lines[1:] == [text] if width > len(text) else lines[-1] == address
    assert " ".join(lines[1:]) == text


@pytest.mark.parametrize("width", [40, 60, 79, 80, 81, 120])
def test_codes_stay_whole(width):
    text = printed([("place_input_mismatch", "1,234", "Check the place.", CODES)], width)
    words = text.split()
    assert "place_input_mismatch" in words
    assert set(CODES.split()) <= set(words)


@pytest.mark.parametrize("width", [80, 100])
def test_a_table_is_as_wide_as_the_terminal_where_it_fits(width):
    advice = "Check the place against the order, and then look it up again with the address."
    lines = printed([("invalid", "1", advice, CODES)] * 2, width).splitlines()
    assert max(map(len, lines)) <= width


RECORDS = [
    ("TX", "marketplace", "2021-03-01", "500 West Second Street, Austin, TX 78701", "old office"),
    ("CA", "economic", "2019-04-01", "\N{EN DASH}", "added with the others by the former agency"),
]


@pytest.mark.parametrize("width", [100, 80, 60, 50, 40, 30])
def test_a_table_fits_the_terminal_and_shows_every_word(width):
    heads = ("State", "Type", "Registered at", prose("Address"), prose("Notes"))
    text = printed(RECORDS, width, heads, indent=2)
    assert max(map(len, text.splitlines())) <= width
    assert {word for row in RECORDS for cell in row for word in cell.split()} <= set(text.split())


def test_a_head_is_wrapped_before_rows_become_blocks():
    heads = ("State", "Type", "Registered at", prose("Address"), prose("Notes"))
    lines = printed([("TX", "marketplace", "2021-03-01", "1 Main St", "a")], 50, heads).splitlines()
    assert max(map(len, lines)) <= 50
    assert lines[-1].split() == ["TX", "marketplace", "2021-03-01", "1", "Main", "St", "a"]


def test_columns_stand_closer_where_that_keeps_each_row_on_one_line():
    heads = ("State", "Month", number("Sales"), number("Tax"), number("To review"))
    row = ("CA", "2026-02", "$1,120,000.00", "$120,010.35", "10")
    assert "CA      2026-02   $1,120,000.00" in printed([row], 80, heads)
    lines = printed([row], 53, heads).splitlines()
    assert lines[-1].split() == [*row]
    assert max(map(len, lines)) <= 53


@pytest.mark.parametrize("width", [40, 50, 80])
def test_a_word_is_whole_in_a_block_too(width):
    rows = [("TX", "zip_spans_jurisdictions", "1", "by the ZIP Code, not by the address")]
    text = printed(rows, width, ("State", "Code", "Registered at", "Meaning"), indent=2)
    assert {word for cell in rows[0] for word in cell.split()} <= set(text.split())


def test_where_columns_do_not_fit_each_row_is_a_block_with_its_heads():
    lines = printed(RECORDS, 40, ("State", "Type", "Registered at", "Address", "Notes"))
    blocks = lines.split("\n\n")
    assert len(blocks) == 2
    assert "Registered at   2021-03-01" in blocks[0]
    assert "Registered at   2019-04-01" in blocks[1]


@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=4), st.integers(20, 99))
def test_nothing_is_ever_cut(rows, width):
    text = "".join(printed(rows, width).split())
    for sign in "abcdefgh":
        wanted = sum(cell.count(sign) for row in rows for cell in row)
        assert text.count(sign) >= wanted


def test_a_table_without_rows_has_its_heads():
    assert printed([], 80).split()[:4] == ["Code", "Rows", "What", "to"]


def test_the_panel_s_table_links_an_official_page_and_escapes_all_else():
    page = "<b>Where: the Comptroller's Sales Tax Rate Locator.</b> http://a.example"
    shown = table_html(Table(("What to do",), [[page]]))
    assert (
        '&lt;b&gt;Where: <a href="https://gis.cpa.texas.gov/search/" target="_blank"'
        ' rel="noopener noreferrer">the Comptroller&#39;s Sales Tax Rate Locator</a>.&lt;/b&gt;'
        " http://a.example</td>"
    ) in shown
