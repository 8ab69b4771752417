"""Rates and taxes leave a cell as the numbers that they are: no digit is lost in a float."""

from __future__ import annotations

import random
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_UP, Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import echo, echoing
from support.spreadsheets import desk_of, shown

from svc_tools.excel.results import rate_cell
from svc_tools.excel.values import OMITTED, BadValueError, amount_in_cents
from svc_tools.frames.values.money import whole_cents

DAY = "2026-02-01"
CENT = Decimal("0.01")
MODES = {
    "half_up": ROUND_HALF_UP,
    "half_even": ROUND_HALF_EVEN,
    "up": ROUND_UP,
    "down": ROUND_DOWN,
}


def test_every_rate_from_0_to_2_comes_back_from_its_float():
    for units in range(200_001):
        cell = rate_cell(units)
        exact = Decimal(units).scaleb(-5)
        assert cell == float(exact)
        assert Decimal(repr(cell)) == exact
        assert Decimal(f"{cell:.15g}") == exact  # what a spreadsheet shows and saves


@pytest.fixture
def any_rate(faults, scripted):
    """A desk whose rate is the ZIP Code's last four digits, in 10^-5, times seven and three."""

    def rate_of(seen):
        zip_code = int(seen.target.partition("zip=")[2][:5])
        units = rate_units(zip_code)
        return echo(seen, rate={"combined_rate": f"0.{units:05d}"}, warnings=[])

    faults.will(rate_of)
    return desk_of(scripted)


def rate_units(zip_code):
    return (zip_code - 75000) * 73 % 20_000


def amounts(count):
    """Amounts in cents: small and large, refunds, and many that make exact halves of a cent."""
    drawn = random.Random(20260501)  # noqa: S311 - the same each time, not a secret
    for number in range(count):
        size = 10 ** (number % 11 + 1)
        cents = drawn.randrange(-size, size)
        yield cents * 500 if number % 3 else cents


def test_tax_is_that_of_decimals_on_100_000_cases(any_rate):
    zips = list(range(75001, 75200))
    rates = {one: Decimal(rate_units(one)).scaleb(-5) for one in zips}
    ties = 0
    for number, (mode, rounding) in enumerate(MODES.items()):
        cents = list(amounts(25_000))
        of = [zips[(row + number) % len(zips)] for row in range(len(cents))]
        column = [[one / 100] for one in cents]
        asked = [[float(one)] for one in of]
        result = shown(any_rate, "SVC_TAX", column, "TX", asked, DAY, mode)
        for one, zip_code, (cell,) in zip(cents, of, result, strict=True):
            product = Decimal(one).scaleb(-2) * rates[zip_code]
            exact = product.quantize(CENT, rounding)
            assert isinstance(cell, float)
            assert Decimal(f"{cell:.15g}") == exact, (one, rates[zip_code], mode)
            ties += abs(product) % CENT == Decimal("0.005")
    assert ties > 1000, ties


@pytest.mark.parametrize(
    ("amount", "rounding", "tax"),
    [
        (4.0, OMITTED, 0.35),  # round(4.00 * 0.08625, 2) is 0.34: what a sheet would show
        (-4.0, OMITTED, -0.35),
        (4.0, "half_even", 0.34),
        (4.0, "Down", 0.34),
        (4.0, None, 0.35),
    ],
)
def test_tax_at_8_625_percent(amount, rounding, tax, faults, scripted_desk):
    faults.will(echoing(rate={"combined_rate": "0.08625"}))
    assert shown(scripted_desk, "SVC_TAX", amount, "TX", "75001", DAY, rounding) == tax


@pytest.mark.parametrize(
    ("amount", "tax"),
    [
        (-0.0, 0.0),
        (3 * 19.99, 4.95),  # 59.97 and a little: 15 digits are meant
        (100.1 - 100, 0.01),  # 0.0999999999999943
        (0.1 + 0.2 - 0.3, 0.0),  # 5.6E-17
        (899_999_999_999.99, 74_250_000_000.0),
    ],
)
def test_an_amount_is_read_as_it_is_meant(amount, tax, scripted_desk):
    cell = shown(scripted_desk, "SVC_TAX", amount, "TX", "75001", DAY)
    assert cell == tax
    assert str(cell) != "-0.0"


@pytest.mark.parametrize(
    ("amount", "shows"),
    [
        *((one, "#INVALID amount: ") for one in (1.005, 0.001, 0.00001, "1.005", "ten", "12 50")),
        *((one, "#INVALID amount: ") for one in (True, 900_000_000_000.0, "900000000000", -1e300)),
        (float("inf"), "#NUM! amount: "),
        ("#REF!", "#REF! amount: "),
        ("#PARTIAL", "#PARTIAL amount: "),
    ],
)
def test_what_is_no_amount_is_refused_before_a_request(amount, shows, faults, scripted_desk):
    cell = shown(scripted_desk, "SVC_TAX", amount, "TX", "75001", DAY)
    assert cell.startswith(shows)
    assert ("ROUND(" in cell) == (amount in {1.005, 0.001, 0.00001} and amount is not True)
    assert faults.seen == []


def test_an_amount_without_a_zip_is_an_error_and_a_zip_without_an_amount_is_empty(
    faults, scripted_desk
):
    for amount, zip_code in ((100.0, None), (0.01, "")):
        cell = shown(scripted_desk, "SVC_TAX", amount, "TX", zip_code, DAY)
        assert cell.startswith("#INVALID zip: ")
    assert shown(scripted_desk, "SVC_TAX", None, "TX", "75001", DAY) is None
    # desktop Excel hands the empty cells of a row over as 0
    assert shown(scripted_desk, "SVC_TAX", 0.0, "", "", "") is None
    assert faults.seen == []


@given(st.floats(-1e6, 1e6) | st.integers(-(10**9), 10**9).map(lambda cents: cents / 100))
def test_an_amount_in_a_cell_is_the_amount_that_it_is_in_a_frame(amount):
    (cents,), wrong, _ = whole_cents(pd.Series([amount]))
    if wrong:
        with pytest.raises(BadValueError, match="has a fraction of a cent"):
            amount_in_cents(amount)
    else:
        assert amount_in_cents(amount) == cents


@pytest.mark.parametrize("rounding", ["nearest", 2.0, True, "half-up"])
def test_an_unknown_rounding_is_refused(rounding, scripted_desk):
    cell = shown(scripted_desk, "SVC_TAX", 1.0, "TX", "75001", DAY, rounding)
    assert cell.startswith("#INVALID rounding: ")


@pytest.mark.parametrize(
    ("cells", "total"),
    [
        ([[0.1], [0.2]], 0.3),
        ([[0.1] * 10] * 10, 10.0),
        ([[19.99, None], ["", "  "]], 19.99),
        ([[None]], 0.0),
        (5, 5.0),
        ([[-0.0]], 0.0),
        ([[1e11, 0.01, -1e11]], 0.01),
    ],
)
def test_a_sum_is_exact_and_empty_cells_are_nothing(cells, total, desk):
    cell = shown(desk, "SVC_SUM", cells)
    assert cell == total
    assert str(cell) != "-0.0"


@pytest.mark.parametrize(
    ("cells", "shows"),
    [
        ([[1.0, 2.0], [3.0, "#N/A gone"]], "#N/A row 2, column 2"),
        ([[1.0], ["#PARTIAL"]], "#PARTIAL row 2, column 1"),
        ([["4.00"], [1.0]], "#INVALID row 1, column 1"),
        ([[1.0, True]], "#INVALID row 1, column 2"),
        ([[9e11]], "#INVALID row 1, column 1"),
        ([[8e11], [8e11]], "#INVALID the sum"),
        (OMITTED, "#INVALID range is left out"),
    ],
)
def test_a_sum_refuses_what_it_cannot_add_and_names_the_cell(cells, shows, desk):
    assert shown(desk, "SVC_SUM", cells).startswith(shows)
