"""Rows of another currency than US dollars have no tax, in any file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from svc_tools.frames.orders.currencies import (
    CurrencyColumns,
    CurrencyCounts,
    currency_of,
    find_currency,
    heading_currency,
    rows_abroad,
)
from svc_tools.frames.orders.iso_4217 import CURRENCIES


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (("USD", "usd", "US$", "$", "USD ($)", "$ USD", "840", "840.0", "US Dollar"), "USD"),
        (
            ("US dollars", "U.S. Dollars", "United States Dollar", "USD - US Dollar", "dollar"),
            "USD",
        ),
        (("EUR", "eur", "€", "Euro", "Euros", "978", "EUR €", "Euro (EUR)"), "EUR"),
        (("CAD", "C$", "CA$", "CAD $", "Canadian Dollar", "canadian dollars", "124"), "CAD"),
        (("GBP", "£", "Pound Sterling", "British Pounds"), "GBP"),
        (("JPY", "¥", "Japanese Yen", "yen", "392"), "JPY"),
        (("AUD", "A$", "036", "36"), "AUD"),
        (("MX$", "Mexican Peso"), "MXN"),
        (("M", "Default", "US", "United States", "", "USDX", "999", "12.50", "USD EUR"), None),
    ],
)
def test_codes_names_symbols_and_numbers_are_currencies(texts, code):
    assert {text: currency_of(text) for text in texts} == dict.fromkeys(texts, code)


def test_every_currency_is_known_by_code_name_and_number():
    by_code = {one.code: one for one in CURRENCIES}
    for one in CURRENCIES:
        assert currency_of(one.code) == one.code
        assert by_code[currency_of(one.name)].name == one.name  # an old code has the same name
        assert by_code[currency_of(one.number)].number == one.number
    assert len(by_code) == len(CURRENCIES)


@pytest.mark.parametrize(
    ("label", "code"),
    [
        ("Amount (EUR)", "EUR"),
        ("Total CAD", "CAD"),
        ("EUR Total", "EUR"),
        ("Amount USD", "USD"),
        ("amount_eur", "EUR"),
        ("AmountUSD", "USD"),
        ("Amount ($)", "USD"),
        ("Price €", "EUR"),
        ("Gross [GBP]", "GBP"),
        ("Total in C$", "CAD"),
        ("Total ALL", None),
        ("Amount (ALL)", None),
        ("Total TRY", None),
        ("TOP Amount", None),
        ("Amount", None),
        ("Net (1)", None),
        ("Amount (840)", None),
        ("Total (incl. tax)", None),
        ("CAD", None),
        (7, None),
    ],
)
def test_the_heading_of_a_column_of_money_may_name_a_currency(label, code):
    assert heading_currency(label) == code


def read(frame, amounts=()):
    found = find_currency(frame)
    return found, rows_abroad(frame, found, amounts)


@pytest.mark.parametrize("name", ["Currency", "currency_code", "Ccy", "X", "Paid in", "Market"])
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["USD", "EUR", "JPY"], ["EUR", "JPY"]),
        (["US Dollar", "Euro", "Japanese Yen"], ["Euro", "Japanese Yen"]),
        (["$", "€", "¥"], ["€", "¥"]),
        (["840", "978", "392"], ["EUR", "JPY"]),
        ([840, 978, 392], ["EUR", "JPY"]),
        ([840.0, 978.0, 392.0], ["EUR", "JPY"]),
    ],
)
def test_rows_in_another_currency_are_found_under_any_name(name, values, shown):
    frame = pd.DataFrame({"Amount": [100, 100, 10_000], name: values})
    found, foreign = read(frame)
    assert (found.used, found.question) == (name, None)
    assert foreign.rows.tolist() == [False, True, True]
    assert foreign.wrong == {
        1: f"amount: in {shown[0]}, not in US dollars",
        2: f"amount: in {shown[1]}, not in US dollars",
    }
    (line,) = foreign.counts.sentences()
    said = f"2 rows in another currency than US dollars by {name!r} ({shown[0]!r}, {shown[1]!r})"
    assert line == f"{said}: no tax"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Size", ["ALL", "TOP", "S", "M"]),
        ("Category", ["ALL", "TOP"]),
        ("Rep", ["BOB", "RON", "PEN"]),
        ("Price level", ["$", "$$", "$$$"]),
        ("Symbol", ["$", "$"]),
        ("Discount type", ["$", "%"]),
        ("Unit", ["Pound", "Pound"]),
        ("Quantity", [36, 840]),
        ("Amount", [840.0, 978.0]),
        ("Amount", ["840", "978"]),
        ("Country", ["840", "124"]),
        ("Ship country number", [840, 978]),
        ("Terms", ["NET", "COD"]),
        ("State", ["OH", "WA"]),
        ("Currency rate", [1.0, 0.9]),
        ("Currency", ["1", "2"]),
        ("Currency", [None, None]),
        ("Product", [f"P{row}" for row in range(100)]),
    ],
)
def test_innocent_columns_leave_the_rows_in_dollars(name, values):
    found, foreign = read(pd.DataFrame({name: values}))
    assert found.question is None
    assert not foreign.rows.any()
    assert foreign.counts.sentences() == []


def test_an_unknown_text_in_a_column_of_currencies_is_no_us_dollar():
    _, foreign = read(pd.DataFrame({"Currency": ["USD", "BTC", "Reward points"]}))
    assert foreign.wrong == {
        1: "amount: in BTC, not in US dollars",
        2: "amount: in Reward points, not in US dollars",
    }
    _, foreign = read(pd.DataFrame({"Currency": ["BTC"]}))
    assert foreign.rows.tolist() == [True]


def test_a_column_whose_values_are_no_currencies_is_named():
    found, _ = read(pd.DataFrame({"Currency": ["Default", "Default"]}))
    assert found.sentences() == ["'Currency' was not used: none of its values is a known currency"]


def test_currencies_without_dollars_under_another_name_are_a_question():
    found = find_currency(pd.DataFrame({"Market": ["EUR", "CAD"]}))
    question = found.question
    assert question.role == question.argument == "currency"
    assert (question.columns, question.likely) == (("Market",), "Market")
    assert question.values == ("Market", False)  # noqa: PD011 - no frame
    assert find_currency(pd.DataFrame({"Currency": ["EUR", "CAD"]})).question is None
    alike = pd.DataFrame({"Market": ["EUR", "CAD"], "Site": ["EUR", "CAD"]})
    assert find_currency(alike).question.columns == ("Market",)


def test_a_few_cells_far_down_are_found():
    values = [None] * 5_001 + ["EUR", "USD"]  # in none of the rows that a sample has
    found, foreign = read(pd.DataFrame({"Paid in": values}))
    assert found.used == "Paid in"
    assert np.flatnonzero(foreign.rows).tolist() == [5_001]


def test_an_empty_cell_has_the_currency_of_its_order_or_else_is_in_dollars():
    frame = pd.DataFrame({"Currency": ["EUR", None, "USD", None, None]})
    found = find_currency(frame)
    foreign = rows_abroad(frame, found, orders=lambda: np.array([0, 0, 1, 1, -1]))
    assert foreign.rows.tolist() == [True, True, False, False, False]
    assert foreign.counts.sentences()[1] == "1 row without a value in 'Currency': US dollars"
    only = rows_abroad(frame, found, counts_in=np.array([True, False, True, False, False]))
    assert only.counts == CurrencyCounts({("Currency", "EUR"): 1}, {"Currency": 0})


@pytest.mark.parametrize(
    ("amounts", "rows"),
    [
        (["Amount (EUR)"], [True, True]),
        (["Total CAD", "Amount"], [True, True]),
        (["Amount (USD)"], [False, False]),  # what was paid in is another thing
        (["Amount ($)"], [False, True]),  # many currencies have this sign
        (["Customer amount ($)"], [False, True]),
        (["Amount"], [False, True]),
        ([], [False, True]),
    ],
)
def test_the_heading_of_the_amount_counts_before_the_column(amounts, rows):
    frame = pd.DataFrame({"Currency": ["USD", "EUR"]})
    foreign = rows_abroad(frame, find_currency(frame), amounts)
    assert foreign.rows.tolist() == rows


def test_a_foreign_heading_needs_no_column():
    foreign = rows_abroad(pd.DataFrame({"Amount (EUR)": [1]}), CurrencyColumns(), ["Amount (EUR)"])
    assert foreign.wrong == {0: "amount: in EUR, not in US dollars"}
    assert foreign.counts.sentences() == [
        "1 row in another currency than US dollars by 'Amount (EUR)' ('EUR'): no tax"
    ]


@pytest.mark.parametrize(
    ("names", "amount", "used"),
    [
        (("Currency", "Settlement Currency"), None, "Currency"),
        (("Payout Currency", "Order Currency"), None, "Order Currency"),
        (("Presentment Currency", "Settlement Currency"), None, "Presentment Currency"),
        (("Presentment Currency", "Currency"), None, "Currency"),
        (("Currency", "Converted Currency"), "Converted Amount", "Converted Currency"),
        (("Currency", "Converted Currency"), "Amount", "Currency"),
    ],
)
def test_of_two_currencies_that_differ_the_name_says_which_counts(names, amount, used):
    frame = pd.DataFrame(dict(zip(names, (["USD", "EUR"], ["EUR", "USD"]), strict=True)))
    found = find_currency(frame, amount)
    other = next(name for name in names if name != used)
    assert (found.used, found.question) == (used, None)
    assert found.sentences() == [f"{other!r} was not used: the currency is that of {used!r}"]


def test_two_that_differ_under_like_names_are_a_question():
    frame = pd.DataFrame({"Currency 1": ["USD", "EUR"], "Currency 2": ["USD", "USD"]})
    question = find_currency(frame).question
    assert question.columns == ("Currency 1", "Currency 2")
    assert question.values == ("Currency 1", "Currency 2", False)  # noqa: PD011 - no frame
    assert find_currency(frame, given="Currency 2") == CurrencyColumns("Currency 2")
    assert find_currency(frame, given=False) == CurrencyColumns()
    alike = pd.DataFrame({"Currency 1": ["USD", "EUR"], "Currency 2": ["US Dollar", "€"]})
    assert find_currency(alike).question is None


def test_an_empty_column_of_currencies_does_not_hide_another_one():
    frame = pd.DataFrame({"Currency": [None, None], "Paid in": ["USD", "EUR"]})
    assert find_currency(frame).used == "Paid in"


def test_cells_that_hold_lists_are_passed_over():
    frame = pd.DataFrame({"Lines": [["USD"], ["EUR"]], "Currency": ["USD", "EUR"]})
    assert find_currency(frame).used == "Currency"


def test_slices_give_the_counts_of_the_whole():
    frame = pd.DataFrame({"Currency": ["USD", "EUR", None, "EUR", "JPY"]})
    found = find_currency(frame)
    counts = CurrencyCounts()
    for at in range(len(frame)):
        counts.add(rows_abroad(frame.iloc[[at]], found).counts)
    assert counts == rows_abroad(frame, found).counts


@pytest.mark.parametrize("dtype", ["object", "category", "string"])
def test_the_type_of_the_column_does_not_matter(dtype):
    _, foreign = read(pd.DataFrame({"Currency": pd.Series(["USD", "EUR", None], dtype=dtype)}))
    assert foreign.rows.tolist() == [False, True, False]
