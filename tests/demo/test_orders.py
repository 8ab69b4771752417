"""The demo's order lines: real places, as messy as exports are, and the same every time."""

import runpy
from decimal import Decimal
from pathlib import Path

import pytest

from svc_tools.demo import orders
from svc_tools.tables.states import STATES, normal_zip, state_code

GENERATOR = Path(__file__).parents[2] / "benchmarks" / "make_orders.py"


@pytest.fixture(scope="module")
def lines():
    return orders()


def test_there_are_about_2400_lines_of_orders_with_several_lines_each(lines):
    assert 2300 <= len(lines) <= 2500
    assert lines["order_id"].nunique() < len(lines) / 2
    one_order = lines.groupby("order_id")[["order_date", "ship_to_address", "zip"]].nunique()
    assert (one_order <= 1).all(axis=None)


def test_zips_keep_their_zeros_and_amounts_are_exact(lines):
    assert lines["zip"].str.startswith("0").any()
    assert str(lines["amount"].dtype) == "decimal128(18, 2)[pyarrow]"
    known = lines.dropna(subset=["amount"])
    exact = [
        Decimal(int(quantity)) * price
        for quantity, price in zip(known["quantity"], known["unit_price"], strict=True)
    ]
    assert known["amount"].tolist() == exact
    assert (known["amount"] < Decimal(0)).any()


def test_every_state_ships_and_dates_run_from_2022_to_2026(lines):
    codes = {state_code(text) for text in lines["state"].dropna()}
    assert codes >= set(STATES)
    assert lines["order_date"].is_monotonic_increasing or lines["order_date"].isna().sum() == 1
    assert set(lines["order_date"].dropna().dt.year) == {2022, 2023, 2024, 2025, 2026}


@pytest.mark.parametrize(
    ("column", "pattern"),
    [
        ("state", r"^[a-z]{2}$"),
        ("state", r"^[A-Z][a-z]+"),
        ("state", r"\s$"),
        ("state", r"^PR$"),
        ("state", r"^AE$"),
        ("state", r"^ON$"),
        ("zip", r"^\d{5}\.0$"),
        ("zip", r"^\d{4}$"),
        ("zip", r"^ \d{5} $"),
        ("zip", r"^\d{5}-\d{4}$"),
        ("zip", r"^\d{9}$"),
        ("zip", r"^00000$"),
        ("ship_to_city", r"^NYC$"),
        ("ship_to_city", r"^St "),
        ("ship_to_city", r"^Saint "),
        ("order_id", r"^R"),
    ],
)
def test_the_lines_are_messy_in_the_ways_of_exports(lines, column, pattern):
    assert lines[column].str.contains(pattern).any()


def test_there_is_an_empty_row_and_rows_without_a_state(lines):
    assert lines.isna().all(axis=1).sum() == 1
    assert lines["state"].isna().sum() > 10


def test_places_repeat(lines):
    places = lines[["state", "zip", "ship_to_city", "ship_to_address", "order_date"]]
    assert len(places.drop_duplicates()) < len(lines) / 2


def test_nearly_all_zips_are_zips_of_their_states(lines):
    def fits(zip_code, state):
        code = state_code(state)
        try:
            return isinstance(code, str) and isinstance(normal_zip(zip_code, code), str)
        except ValueError:
            return False

    told = lines.dropna(subset=["state", "zip"])
    fitting = [fits(*cells) for cells in zip(told["zip"], told["state"], strict=True)]
    assert sum(fitting) / len(told) > 0.98


def test_no_column_names_a_person(lines):
    assert list(lines.columns) == [
        *("order_id", "order_date", "sku", "description", "ship_to_address", "ship_to_city"),
        *("state", "zip", "quantity", "unit_price", "amount"),
    ]


@pytest.mark.skipif(not GENERATOR.exists(), reason="the generator is not part of the packages")
def test_the_generator_makes_the_same_lines_for_the_same_seed():
    maker = runpy.run_path(str(GENERATOR))
    first = maker["make_orders"](7)
    assert first == maker["make_orders"](7)
    assert first != maker["make_orders"](8)
    header, *_ = first.splitlines()
    assert header.split(",") == list(maker["COLUMNS"])
