"""Sales files of shops that do not exist, with what is right for each of their orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

CHOICES = {
    "lines": ("one", "repeated", "first", "with lines"),
    "discount": ("none", "column", "in subtotal", "hidden", "negative", "by line"),
    "tax": ("added", "contained", "outside", "zero", "none", "two", "parts"),
    "delivery": ("added", "none", "hidden", "free", "contained", "outside"),
    "tip": ("none", "column", "hidden"),
    "fee": ("none", "net", "hidden", "processor"),
    "refund": ("none", "column", "in total", "rows"),
    "pieces": ("none", "some", "one"),
    "whole": (False, False, True),
    "total": (True, True, True, False),
}


@dataclass(frozen=True)
class SalesFile:
    """A file of texts, the order of each row, and the cents of each order."""

    frame: pd.DataFrame
    orders: np.ndarray
    goods: np.ndarray
    delivery: np.ndarray
    tax: np.ndarray
    rates: np.ndarray
    freight: np.ndarray
    choices: dict


def dollars(cents) -> list[str]:
    """Cents as a file writes them."""
    return [f"{'-' * (one < 0)}{abs(one) // 100}.{abs(one) % 100:02d}" for one in map(int, cents)]


def sales_file(seed: int, **choices) -> SalesFile:
    """A file drawn from the choices, as many of which as are named are fixed."""
    rng = np.random.default_rng(seed)
    drawn = {name: each[rng.integers(len(each))] for name, each in CHOICES.items()} | choices
    contained = "contained" in {drawn["tax"], drawn["delivery"]}
    if not drawn["total"] and (drawn["discount"] == "hidden" or contained):
        drawn["discount"] = "none"  # nothing in such a file knows of a discount
    return _file(rng, drawn, int(rng.choice([1, 2, 3, 5, 10, 30, 60])))


def _file(rng, chosen, size) -> SalesFile:
    unit = 100 if chosen["whole"] else 1
    count = np.ones(size, int) if chosen["lines"] == "one" else rng.integers(1, 4, size)
    orders = np.repeat(np.arange(size), count)
    rows = len(orders)
    pieces = np.ones(rows, int) if chosen["pieces"] == "one" else rng.integers(1, 4, rows)
    price = rng.integers(200 // unit, 20_000 // unit, rows) * unit
    line = pieces * price
    by_line = np.where(rng.random(rows) < 0.4, line // 10 // unit * unit, 0)
    gross = np.bincount(orders, line).astype(int)
    discount = np.where(rng.random(size) < 0.4, gross // 10 // unit * unit, 0)
    if chosen["discount"] == "by line":
        discount = np.bincount(orders, by_line).astype(int)
    goods = gross - discount * (chosen["discount"] != "none")
    delivery = rng.choice([0, 500, 800], size) * (chosen["delivery"] not in {"none", "free"})
    rates = rng.choice([0, 8875, 10550, 6000], size, p=[0.2, 0.3, 0.3, 0.2])
    freight = int(rng.integers(2))
    tax = ((goods + delivery * freight) * rates + 50_000) // 100_000 // unit * unit
    tax *= chosen["tax"] not in {"zero", "none"}
    money = {"gross": gross, "goods": goods, "delivery": delivery, "tax": tax, "discount": discount}
    per_order = _columns(rng, chosen, money, unit)
    sign = np.ones(size, int)
    if chosen["refund"] == "rows":
        sign = np.where(rng.random(size) < 0.15, -1, 1)
    frame = {"Order": [f"A{order}" for order in orders]}
    first = np.r_[True, orders[1:] != orders[:-1]] | (chosen["lines"] != "first")
    for name, cents in per_order.items():
        texts = dollars((cents * sign)[orders])
        frame[name] = [text if shown else "" for text, shown in zip(texts, first, strict=True)]
    if chosen["pieces"] != "none":
        frame |= {"Quantity": (pieces * sign[orders]).astype(str), "Price": dollars(price)}
    elif chosen["lines"] == "with lines":
        frame["Item Amount"] = dollars(line * sign[orders])
    if chosen["discount"] == "by line":
        frame["Line Discount"] = dollars(by_line * sign[orders])
    return SalesFile(
        pd.DataFrame(frame, dtype=str),
        orders,
        goods * sign,
        delivery * sign,
        tax * sign,
        rates[orders],
        np.full(rows, freight),
        chosen,
    )


def _columns(rng, chosen, money, unit) -> dict[str, np.ndarray]:
    """The columns of the order."""
    gross, goods, delivery = money["gross"], money["goods"], money["delivery"]
    tax, discount, size = money["tax"], money["discount"], len(money["goods"])
    tip = np.where(rng.random(size) < 0.3, 200, 0) * (chosen["tip"] != "none")
    fee = np.where(rng.random(size) < 0.9, goods // 33 // unit * unit, 0)
    refund = np.where(rng.random(size) < 0.1, goods // 2 // unit * unit, 0)
    inside = tax * (chosen["tax"] == "contained") + delivery * (chosen["delivery"] == "contained")
    total = goods + inside + tip + tax * (chosen["tax"] in {"added", "two", "parts"})
    total = total + delivery * (chosen["delivery"] in {"added", "hidden"})
    total = total + fee * (chosen["fee"] == "hidden") - refund * (chosen["refund"] == "in total")
    third = tax // 3
    columns = {"Subtotal": (goods if chosen["discount"] == "in subtotal" else gross) + inside}
    may_be = {
        "Discount": (chosen["discount"] in {"column", "in subtotal"}, discount),
        "Discounts": (chosen["discount"] == "negative", -discount),
        "Shipping": (chosen["delivery"] not in {"none", "hidden"}, delivery),
        "Sales Tax": (chosen["tax"] in {"added", "contained", "outside", "zero"}, tax),
        "State Tax": (chosen["tax"] in {"two", "parts"}, third),
        "Local Tax": (chosen["tax"] in {"two", "parts"}, tax - third),
        "Total Tax": (chosen["tax"] == "parts", tax),
        "Tip": (chosen["tip"] == "column", tip),
        "Processing Fee": (chosen["fee"] in {"net", "processor"}, fee),
        "Net": (chosen["fee"] == "net", total - fee),
        "Refunded": (chosen["refund"] in {"column", "in total"}, refund),
        "Gift Card": (rng.random() < 0.3, np.where(rng.random(size) < 0.2, total, 0)),
        "Total": (chosen["total"], total),
    }
    return columns | {name: cents for name, (there, cents) in may_be.items() if there}


class Place(NamedTuple):
    """A place of the rate book, with its rate in units of 10^-5 on every day of the tests."""

    state: str
    zip: str
    rate: int
    delivery_taxed: bool


PLACES = (
    Place("WA", "98101", 10550, delivery_taxed=True),
    Place("MA", "02134", 6250, delivery_taxed=False),
    Place("TX", "78701", 8250, delivery_taxed=True),
    Place("OR", "97201", 0, delivery_taxed=True),
)
SHOP_CHOICES = {
    "rows": ("one", "repeated", "first"),
    "pieces": (False, True),
    "subtotal": ("before discount", "after discount", "none"),
    "discount": (False, True),
    "delivery": (False, True),
    "tip": (False, True),
    "total": (True, True, False),
    "collected": (True, True, False),
    "status": (False, True),
    "currency": (False, True),
    "refunds": (False, True),
}


@dataclass(frozen=True)
class Shop:
    """A file of a shop in texts, and the truth of each of its orders in cents.

    `frame` has the number of the order as its first column. An order without a sale has 0 as its
    goods and its delivery; of one in another currency they are not known: -1 in `rate`.
    """

    frame: pd.DataFrame
    orders: np.ndarray
    goods: np.ndarray
    delivery: np.ndarray
    rate: np.ndarray
    delivery_taxed: np.ndarray
    chosen: dict


def shop(seed: int, size: int | None = None, **choices) -> Shop:
    """A file of a shop drawn from the choices, as many of which as are named are fixed."""
    rng = np.random.default_rng(seed)
    drawn = {name: each[rng.integers(len(each))] for name, each in SHOP_CHOICES.items()}
    drawn |= choices
    size = int(rng.choice([12, 20, 40])) if size is None else size
    count = np.ones(size, int) if drawn["rows"] == "one" else rng.integers(1, 5, size)
    orders = np.repeat(np.arange(size), count)
    rows = len(orders)
    pieces, price = rng.integers(1, 4, rows), rng.integers(250, 20_000, rows)
    gross = np.bincount(orders, pieces * price).astype(int)
    discount = np.where(rng.random(size) < 0.5, gross // 9, 0) * drawn["discount"]
    delivery = rng.choice([0, 500, 795, 1250], size) * drawn["delivery"]
    tip = np.where(rng.random(size) < 0.4, rng.integers(100, 900, size), 0) * drawn["tip"]
    places = rng.integers(len(PLACES), size=size)
    rate = np.array([one.rate for one in PLACES])[places]
    delivery_taxed = np.array([one.delivery_taxed for one in PLACES])[places]
    goods = gross - discount
    tax = ((goods + delivery * delivery_taxed) * rate + 50_000) // 100_000
    sign = np.where((rng.random(size) < 0.15) & drawn["refunds"], -1, 1)
    canceled = (rng.random(size) < 0.2) & drawn["status"]
    euros = (rng.random(size) < 0.2) & drawn["currency"]
    of_order = {
        "Subtotal": (
            drawn["subtotal"] != "none",
            gross if drawn["subtotal"] == "before discount" else goods,
        ),
        "Discount": (drawn["discount"], discount),
        "Shipping": (drawn["delivery"], delivery),
        "Sales Tax": (drawn["collected"], tax),
        "Tip": (drawn["tip"], tip),
        "Order Total": (drawn["total"], goods + delivery + tax * drawn["collected"] + tip),
    }
    first = np.r_[True, orders[1:] != orders[:-1]] | (drawn["rows"] != "first")
    texts: dict[str, list[str]] = {
        "Order ID": [f"A{1000 + order}" for order in orders.tolist()],
        "Order Date": [f"2026-08-{1 + order % 3:02d}" for order in orders.tolist()],
        "Ship State": [PLACES[places[order]].state for order in orders.tolist()],
        "Ship Zip": [PLACES[places[order]].zip for order in orders.tolist()],
    }
    if drawn["status"]:
        words = np.where(canceled, "Canceled", "Completed")
        texts["Order Status"] = words[orders].tolist()
    if drawn["currency"]:
        texts["Currency"] = np.where(euros, "EUR", "USD")[orders].tolist()
    if drawn["pieces"]:
        texts["Quantity"] = (pieces * sign[orders]).astype(str).tolist()
        texts["Unit Price"] = dollars(price)
    for name, (there, cents) in of_order.items():
        if there:
            each = dollars((cents * sign)[orders])
            texts[name] = [one if shown else "" for one, shown in zip(each, first, strict=True)]
    sold = sign * ~canceled
    rate = np.where(euros & ~canceled, -1, rate)
    return Shop(
        pd.DataFrame(texts, dtype=str),
        *(orders, goods * sold, delivery * sold, rate, delivery_taxed, drawn),
    )
