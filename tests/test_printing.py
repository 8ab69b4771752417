"""Tables on a terminal: at any width nothing is cut, and no word that fits is broken."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from svc_tools.display import number, print_table, prose

HEADS = ("Code", number("Rows"), prose("What to do"), prose("Warnings"))
CODES = "address_not_matched, zip_spans_jurisdictions, as_of_after_edition"
WORDS = st.lists(st.text("abcdefgh_", min_size=1, max_size=30), max_size=8).map(" ".join)


def printed(rows, width, heads=HEADS, **options):
    file = io.StringIO()
    print_table(Console(file=file, width=width), heads, rows, **options)
    return file.getvalue()


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


@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=4), st.integers(20, 99))
def test_nothing_is_ever_cut(rows, width):
    text = "".join(printed(rows, width).split())
    for sign in "abcdefgh":
        wanted = sum(cell.count(sign) for row in rows for cell in row)
        assert text.count(sign) >= wanted


def test_a_table_without_rows_has_its_heads():
    assert printed([], 80).split()[:4] == ["Code", "Rows", "What", "to"]
