"""Sales files of shops that do not exist, with what is right for each of their orders."""

from __future__ import annotations

from dataclasses import dataclass

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
