"""The table of codes: complete, and shown by the documents; rates and warnings in words."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cards import answer
from support.examples import examples

from scripts.write_code_tables import written
from svc_tools.lookup import STATUSES
from svc_tools.service.ratebook import rating
from svc_tools.show.codes import (
    CODES,
    CONFIDENCES,
    codes_of,
    meaning_of,
    percent,
    sentence,
    with_percentages,
)
from svc_tools.show.official_pages import OFFICIAL_PAGES, linked_parts
from svc_tools.tables.states import STATES

DOCS = Path(__file__).parents[1] / "docs"


def test_every_code_of_a_column_or_a_response_is_in_the_table():
    of_service = set(
        re.findall(r'"code": "(\w+)"', Path(rating.__file__).read_text(encoding="utf-8"))
    )
    assert "zip_spans_jurisdictions" in of_service
    assert of_service <= CODES.keys()
    assert set(STATUSES) == set(codes_of("status"))
    assert CONFIDENCES == ("exact", "high", "medium", "low", "none")  # SPEC 2.1, in this order


@pytest.mark.parametrize("text", ["state: 'x' is not a US state", "address: 3 characters"])
def test_a_sentence_about_a_field_is_no_code_with_details(text):
    assert not meaning_of(text)
    assert meaning_of("no_rate:partial") == CODES["no_rate"].meaning


@pytest.mark.parametrize("row", CODES.values(), ids=CODES)
def test_a_code_has_a_meaning_on_one_line_and_a_sentence_of_what_to_do(row):
    assert row.meaning
    assert not row.meaning.endswith(".")
    assert "\n" not in row.meaning + row.why + row.to_do
    if {"review", "tax_review", "tax_due", "error"} & set(row.kinds):
        assert row.to_do.endswith(".")
    if "review" in row.kinds:
        assert row.why


@pytest.mark.parametrize("page", ["COLUMNS.md", "TAX.md", "RECONCILE.md"])
def test_the_documents_show_the_table(page):
    """After a change: `python -m scripts.write_code_tables`."""
    text = (DOCS / page).read_text(encoding="utf-8")
    assert "<!-- codes: " in text
    assert written(text) == text


def test_the_document_shows_the_official_page_of_every_state_with_a_sales_tax():
    """After a change: `python -m scripts.write_code_tables`."""
    text = (DOCS / "ADDRESSES.md").read_text(encoding="utf-8")
    assert "<!-- official pages -->" in text
    assert written(text) == text
    without = {name for name in STATES.values() if f"\n| {name} |" not in text}
    assert without == {"Delaware", "Montana", "New Hampshire", "Oregon"}


def test_an_official_page_is_named_and_has_an_address_or_none():
    for page in OFFICIAL_PAGES.values():
        assert page.name
        assert not page.url or re.fullmatch(r"https://[a-z0-9.-]+/[^\s\"'<>|]*", page.url)
        assert page.url or not (page.lookup and page.other)  # what the address is of


@given(
    st.lists(st.sampled_from([*(page.text for page in OFFICIAL_PAGES.values()), "<a>", ": x", ""]))
)
@examples(20, of=200)
def test_a_text_loses_nothing_but_the_address_that_its_link_has(texts):
    said = " and ".join(texts)
    parts = [*linked_parts(said)]
    again = "".join(
        f"{words}: {url}" if url and f"{words}: {url}" in said else words for words, url in parts
    )
    assert again == said
    assert {url for _, url in parts} <= {"", *(page.url for page in OFFICIAL_PAGES.values())}


@given(st.integers(-(10**60), 10**60), st.integers(0, 90))
def test_a_percentage_has_every_digit_of_its_rate(digits, places):
    sign = (0 if digits >= 0 else 1, tuple(map(int, str(abs(digits)))), -places)
    shown = percent(Decimal(sign))
    assert shown.endswith("%")
    text = shown.removesuffix("%")
    assert re.fullmatch(r"-?\d+\.\d{2,}", text)
    assert Decimal(text).as_tuple().sign == sign[0]
    whole, _, fraction = text.lstrip("-").partition(".")
    assert int(whole + fraction) * 10**places == abs(digits) * 100 * 10 ** len(fraction)
    assert len(fraction) == 2 or fraction[-1] != "0"


@pytest.mark.parametrize(
    ("rate", "said"),
    [("0.08250", "8.25%"), ("0.08625", "8.625%"), ("0", "0.00%"), ("0.1", "10.00%")],
)
def test_a_percentage_has_two_decimals_and_no_idle_zeros(rate, said):
    assert percent(Decimal(rate)) == said


@pytest.mark.parametrize(
    ("warning", "said"),
    [
        ("zip4", "the ZIP+4"),
        ("Something else", "Something else"),
        ({"code": "zip4"}, "the ZIP+4 (zip4)"),
        ({"code": "new_one"}, "new_one"),
        ({"code": "zip4", "message": {"no": "text"}}, "the ZIP+4 (zip4)"),
        ({"code": "odd", "message": "its own, 0.08250"}, "its own, 8.25% (odd)"),
        (
            {
                "code": "place_input_mismatch",
                "customer_input_place": "Pflug",
                "resolved_place_name": "Austin",
            },
            "The place given is Pflug, and the rate is that of Austin (place_input_mismatch)",
        ),
    ],
)
def test_a_warning_is_a_sentence_and_keeps_its_code(warning, said):
    (one,) = answer(warnings=[warning]).warnings
    assert sentence(one) == said


def test_only_rates_become_percentages():
    text = "0.08250, 1.00000; not 10.08250, 0.082501, 1.0.08250 or 2026.05"
    assert with_percentages(text) == "8.25%, 100.00%; not 10.08250, 0.082501, 1.0.08250 or 2026.05"
