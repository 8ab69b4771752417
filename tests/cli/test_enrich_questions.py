"""`svc-tools enrich` asks what a file leaves open, and the line it prints answers all of it.

The rate in Seattle (98101) on 2026-08-14 is 10.55 %, and delivery is taxed there.
"""

from __future__ import annotations

import ast
import csv
import shlex
from pathlib import Path

import pandas as pd
import pytest
from support.command import svc_tools

import svc_tools as toolkit
from svc_tools.tables.roles import ColumnAmbiguous

DATA = Path(__file__).parents[1] / "data"


def each_twice(column):
    return [one for one in column for _ in range(2)]


def each_twice_less(column):
    """The figures of orders of two rows, the second of which has none."""
    return [one for figure in column for one in (figure, "0.00")]


PLACE = {"Ship Zip": "98101", "Sold On": "2026-08-14"}
PRICES = ["40.00", "60.00", "25.00", "90.00", "12.00"]
TAX = ["4.22", "6.33", "2.64", "9.50", "1.27"]
TOTALS = ["44.22", "66.33", "27.64", "99.50", "13.27"]
SHIPPING = ["5.00", "0.00", "8.00", "5.00", "8.00"]
DELIVERED = ["45.00", "60.00", "33.00", "95.00", "20.00"]
FEES = ["1.00", "2.00", "1.50", "3.00", "0.50"]
WITH_FEES = ["45.22", "68.33", "29.14", "102.50", "13.77"]
TWICE = each_twice(TOTALS)


def written(path, **columns):
    """A CSV of these columns; "_" in a name is a blank."""
    rows = max(map(len, columns.values()))
    columns = {name: [value] * rows for name, value in PLACE.items()} | columns
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([name.replace("_", " ") for name in columns])
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(scope="module")
def embedded():
    with toolkit.connect("embedded") as client:
        yield client


def enrich(source, *options):
    return svc_tools(
        *("enrich", source, "-o", source.with_name("out.csv"), "--embedded", "--force"), *options
    )


def line_of(done):
    """The line to copy: the last one, which stands alone and begins with blanks."""
    lines = [one for one in done.stderr.splitlines() if one.startswith("    ")]
    assert len(lines) == 1, done.stderr
    return lines[0].strip()


def taxes(source):
    with source.with_name("out.csv").open(newline="", encoding="utf-8") as file:
        return [row["tax"] for row in csv.DictReader(file)]


ORDERS = [f"A{row // 2}" for row in range(10)]
ASKED = {
    "an order's columns on each of its rows": (
        {"Order": ORDERS, "Subtotal": each_twice(PRICES)},
        "--once Subtotal",
        each_twice_less(["4.22", "6.33", "2.64", "9.50", "1.27"]),
        ("--without once", ["4.22", "4.22", "6.33", "6.33", "2.64", "2.64"]),
    ),
    "a tax outside of the total": (
        {"Goods": PRICES, "Shipping": SHIPPING, "Sales_Tax": ["0.10"] * 5, "Total": DELIVERED},
        "--contains-tax no",
        ["4.75", "6.33", "3.48", "10.02", "2.11"],
        ("--contains-tax yes", ["4.74", "6.32", "3.47", "10.01", "2.10"]),
    ),
    "delivery outside of the total": (
        {"Goods": PRICES, "Sales_Tax": ["0.10", "0.20", "0.30", "0.10", "0.20"]}
        | {"Shipping": SHIPPING, "Total": ["40.10", "60.20", "25.30", "90.10", "12.20"]},
        "--contains-shipping no",
        ["4.75", "6.33", "3.48", "10.02", "2.11"],
        ("--contains-shipping yes", ["4.22", "6.33", "2.64", "9.50", "1.27"]),
    ),
    "a fee inside of the total": (
        {"Goods": PRICES, "Service_Fee": FEES, "Sales_Tax": TAX, "Total": WITH_FEES},
        '--part "Service Fee=untaxed"',
        ["4.22", "6.33", "2.64", "9.50", "1.27"],
        ('--part "Service Fee=goods"', ["4.33", "6.54", "2.80", "9.81", "1.32"]),
    ),
    "two amounts": (
        {"Subtotal": PRICES, "Total": ["50.00", "61.00", "29.00", "97.00", "16.00"]},
        "--tax Subtotal",
        ["4.22", "6.33", "2.64", "9.50", "1.27"],
        ("--tax Total", ["5.28", "6.44", "3.06", "10.23", "1.69"]),
    ),
    "refunds with a positive amount": (
        {"Transaction_Type": ["Sale", "Sale", "Refund"], "Amount": ["100.00", "50.00", "100.00"]},
        "--refunds subtract",
        ["10.55", "5.28", "-10.55"],
        ("--refunds leave", ["10.55", "5.28", "0.00"]),
    ),
    "two numbers of the order": (
        {"Order_Number": ["1", "1", "2", "2"], "Sale_Number": ["7", "8", "8", "9"]}
        | {"Amount": ["10.00", "20.00", "30.00", "40.00"]},
        '--order "Order Number"',
        ["1.06", "2.11", "3.17", "4.22"],
        ("--without order", ["1.06", "2.11", "3.17", "4.22"]),
    ),
    "two currencies": (
        {"Currency": ["USD", "EUR"], "Currency_Code": ["EUR", "USD"], "Amount": ["10.00", "20.00"]},
        "--currency Currency",
        ["1.06", ""],
        ("--without currency", ["1.06", "2.11"]),
    ),
    "a decimal mark": (
        {"Amount": ["1.000", "2.500", "9.500"]},
        "--decimal comma",
        ["105.50", "263.75", "1002.25"],
        ("--decimal point", ["0.11", "0.26", "1.00"]),
    ),
}


@pytest.mark.parametrize("what", ASKED)
def test_the_line_that_is_printed_answers_the_question(tmp_path, what):
    columns, line, right, (other, otherwise) = ASKED[what]
    source = written(tmp_path / "in.csv", **columns)

    asked = enrich(source)
    assert (asked.returncode, line_of(asked)) == (2, line)
    assert not source.with_name("out.csv").exists()
    assert other in " ".join(asked.stderr.split())

    assert enrich(source, *shlex.split(line)).returncode == 0
    assert taxes(source) == right
    assert enrich(source, *shlex.split(other)).returncode == 0
    assert taxes(source)[: len(otherwise)] == otherwise


SEVERAL = {
    "Order": ORDERS,
    "Goods": each_twice(PRICES),
    'Service_="1"_Fee': each_twice(FEES),
    "Sales_Tax": each_twice(TAX),
    "Shipping": each_twice(SHIPPING),
    "Total": each_twice(WITH_FEES),
}
"""Each figure on both rows of an order, a fee in the total, and delivery outside of it."""


def test_one_line_answers_all_questions_whatever_the_columns_are_called(tmp_path):
    source = written(tmp_path / "in.csv", **SEVERAL)

    asked = enrich(source)
    assert asked.returncode == 2
    assert asked.stderr.count("\n- ") == 3
    options = shlex.split(line_of(asked))
    assert options == [
        *("--once", "Goods", "--once", "Sales Tax", "--once", 'Service ="1" Fee'),
        *("--once", "Total", "--once", "Shipping"),
        *("--part", 'Service ="1" Fee=untaxed', "--contains-shipping", "no"),
    ]

    assert enrich(source, *options).returncode == 0
    # 10.55 % of goods and delivery, once for each order
    assert taxes(source) == each_twice_less(["4.75", "6.33", "3.48", "10.02", "2.11"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--contains-tax", "maybe"), "--contains-tax: given 'maybe', expected yes or no"),
        (("--contains-shipping", "1"), "--contains-shipping: given '1', expected yes or no"),
        (("--part", "Tip"), "expected a column, = and one of goods, delivery, discount, untaxed"),
        (("--part", "Tip=free"), "--part: given 'Tip=free'"),
        (("--refunds", "keep"), "expected 'subtract', 'add' or 'leave'"),
        (("--decimal", "dot"), "expected 'point' or 'comma'"),
        (("--once", "Totl"), "there is no column 'Totl'"),
        (("--part", "Tipp=untaxed"), "there is no column 'Tipp'"),
        (("--order", "Nr"), "there is no column 'Nr'"),
        (("--currency", "Coin"), "there is no column 'Coin'"),
        (("--order", "Goods", "--without", "order"), "--order and --without order"),
        (("--zip", "Ship Zip", "--without", "zip"), "--zip and --without zip"),
        (("--no-tax", "--decimal", "comma"), "--decimal is for a tax"),
    ],
)
def test_an_answer_that_is_none_is_refused(tmp_path, options, said):
    source = written(tmp_path / "in.csv", Goods=PRICES)

    done = enrich(source, *options)

    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not source.with_name("out.csv").exists()


@pytest.mark.parametrize("option", [("--once", "Total"), ("--contains-tax", "yes")])
def test_what_a_recognized_export_says_itself_takes_no_answer(tmp_path, option):
    source = DATA / "exports" / "shopify.csv"

    done = svc_tools("enrich", source, "-o", tmp_path / "out.csv", "--embedded", *option)

    assert done.returncode == 2
    assert "the columns are those of Shopify orders" in " ".join(done.stderr.split())


def test_without_a_tax_nothing_is_asked_about_amounts(tmp_path):
    source = written(tmp_path / "in.csv", **SEVERAL)

    assert enrich(source, "--no-tax").returncode == 0


def test_the_line_of_python_answers_too(tmp_path, embedded):
    source = written(tmp_path / "in.csv", **SEVERAL)
    rated = pd.read_csv(source, dtype=str).svc.lookup(client=embedded, cache=False, progress=False)

    with pytest.raises(ColumnAmbiguous) as asked:
        rated.svc.tax()
    line = asked.value.advice  # … tax(once=['Goods', …], parts={…}, …)
    call = ast.parse(line[line.index("tax(") :], mode="eval").body
    given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}

    assert set(given) == {"once", "parts", "contains_shipping"}
    taxed = rated.svc.tax(progress=False, **given)
    assert [*map(str, taxed["tax"])][:4] == ["4.75", "0.00", "6.33", "0.00"]


def test_a_named_amount_of_the_order_is_not_counted_on_each_of_its_rows_unsaid(tmp_path):
    source = written(tmp_path / "in.csv", Order=ORDERS, Total=TWICE)

    named = enrich(source, "--tax", "Total")
    assert named.returncode == 0  # a column that is named is not asked about
    assert "'Total' is the same on all rows of an order" in " ".join(named.stderr.split())
    assert taxes(source)[:2] == ["4.67", "4.67"]
    assert enrich(source, "--tax", "Total", "--once", "Total").returncode == 0
    assert taxes(source)[:2] == ["4.67", "0.00"]  # 10.55 % of 44.22


def test_a_layout_answers_next_month(tmp_path):
    source, kept = written(tmp_path / "in.csv", **SEVERAL), tmp_path / "shop.toml"
    line = shlex.split(line_of(enrich(source)))
    assert enrich(source, *line, "--save-layout", kept).returncode == 0
    this_month = taxes(source)

    assert enrich(source, "--layout", kept).returncode == 0
    assert taxes(source) == this_month
    assert enrich(source, "--layout", kept, "--contains-shipping", "yes").returncode == 0
    assert taxes(source)[:4] == ["4.22", "0.00", "6.33", "0.00"]  # an option overrides the layout

    written(source, **{name: cells[:2] for name, cells in SEVERAL.items()})
    assert enrich(source, "--layout", kept).returncode == 0
    assert taxes(source) == ["4.75", "0.00"]
    written(source, **{name: cells for name, cells in SEVERAL.items() if name != "Total"})
    refused = enrich(source, "--layout", kept)
    assert refused.returncode == 2
    assert "not in the file: 'Total'" in " ".join(refused.stderr.split())


def test_a_question_that_a_layout_leaves_is_answered_by_its_line(tmp_path):
    source, kept = tmp_path / "in.csv", tmp_path / "shop.toml"
    written(source, Goods=PRICES, Discount=["0.00"] * 5)
    assert enrich(source, "--save-layout", kept).returncode == 0

    written(source, Goods=PRICES, Discount=["1.00", "0.00", "0.00", "0.00", "2.00"])
    asked = enrich(source, "--layout", kept)
    assert (asked.returncode, line_of(asked)) == (2, "--part Discount=discount")
    assert "'Discount' was 0.00 throughout when" in " ".join(asked.stderr.split())
    assert enrich(source, "--layout", kept, "--part", "Discount=discount").returncode == 0
    assert taxes(source) == ["4.11", "6.33", "2.64", "9.50", "1.06"]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("there.toml", (), "there.toml is there already"),
        ("shop.txt", (), "expected a name that ends in .toml"),
        ("none/shop.toml", (), "none"),
    ],
)
def test_where_a_layout_cannot_be_kept_nothing_is_looked_up(tmp_path, name, options, said):
    source = written(tmp_path / "in.csv", Goods=PRICES)
    (tmp_path / "there.toml").write_text("mine", encoding="utf-8")

    done = svc_tools(
        *("enrich", source, "-o", tmp_path / "out.csv", "--embedded", "--save-layout"),
        *(tmp_path / name, *options),
    )

    assert done.returncode == 2
    assert said in "".join(done.stderr.split("\n"))
    assert (tmp_path / "there.toml").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "out.csv").exists()


def test_a_file_that_is_no_layout_is_refused(tmp_path):
    source = written(tmp_path / "in.csv", Goods=PRICES)
    (tmp_path / "bad.toml").write_text("version = 9\n", encoding="utf-8")

    newer = enrich(source, "--layout", tmp_path / "bad.toml")
    missing = enrich(source, "--layout", tmp_path / "none.toml")

    assert (newer.returncode, missing.returncode) == (2, 2)
    assert "a layout of version 9, which a newer release wrote" in " ".join(newer.stderr.split())
    assert "No such file" in " ".join(missing.stderr.split())


@pytest.mark.parametrize("own", [{"tax": TAX}, {"lookup_status": ["ok"] * 5, "tax": TAX}])
def test_columns_that_have_our_names_are_kept_by_the_line_that_is_printed(tmp_path, own):
    source = written(tmp_path / "in.csv", Goods=PRICES)
    header, *rows = source.read_text(encoding="utf-8").splitlines()
    cells = [",".join(row) for row in zip(*own.values(), strict=True)]
    lines = [f"{header},{','.join(own)}", *map(",".join, zip(rows, cells, strict=True))]
    source.write_text("\n".join(lines), encoding="utf-8")

    refused = enrich(source)
    assert (refused.returncode, line_of(refused)) == (2, "--prefix svc_")

    assert enrich(source, *shlex.split(line_of(refused))).returncode == 0
    with source.with_name("out.csv").open(newline="", encoding="utf-8") as file:
        out = [*csv.DictReader(file)]
    assert [row["tax"] for row in out] == TAX
    assert [row["svc_tax"] for row in out] == ["4.22", "6.33", "2.64", "9.50", "1.27"]


def test_where_a_prefix_is_taken_another_one_is_named(tmp_path):
    source = written(tmp_path / "in.csv", Goods=PRICES, tax=TAX)
    text = source.read_text(encoding="utf-8").splitlines()
    lines = [f"{text[0]},svc_tax", *(f"{line},1.00" for line in text[1:])]
    source.write_text("\n".join(lines), encoding="utf-8")

    assert line_of(enrich(source)) == "--prefix svc2_"


def test_which_amount_and_whether_it_is_the_orders_are_asked_at_once(tmp_path):
    totals = each_twice(["50.00", "61.00", "29.00", "97.00", "16.00"])
    source = written(tmp_path / "in.csv", Order=ORDERS, Subtotal=each_twice(PRICES), Total=totals)

    line = line_of(enrich(source))

    assert line == "--once Subtotal --once Total --tax Subtotal"
    assert enrich(source, *shlex.split(line)).returncode == 0
    assert taxes(source) == each_twice_less(["4.22", "6.33", "2.64", "9.50", "1.27"])
