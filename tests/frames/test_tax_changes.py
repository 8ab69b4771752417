"""A taxed frame that was changed since: stale taxes are refused or told, and never tie silently."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pandas as pd
import pytest
from support.frames import line, money, taxed, units

from svc_tools.frames import TaxFailedError

ASKED = {
    "reconcile": lambda frame: frame.svc.reconcile("collected"),
    "filing": lambda frame: frame.svc.filing("GA"),
    "review": lambda frame: frame.svc.review(),
}
every_question = pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)


def sold(terms=None, amounts=("10.00", "20.00", "30.00"), **columns):
    columns.setdefault("collected", money(["0.89"] * len(amounts)))
    return taxed([line()] * len(amounts), list(amounts), terms=terms, **columns)


@every_question
def test_an_amount_that_was_changed_since_is_refused_with_both_figures(ask):
    frame = sold()
    frame.loc[1, "amount"] = Decimal("25.00")
    with pytest.raises(
        ValueError,
        match=r"the tax of 1 of 3 rows .* index 1: sale 20\.00, taxable 20\.00 then; sale 25\.00,"
        r" taxable 25\.00 now\); compute the tax again",
    ):
        ask(frame)
    ask(frame.svc.tax(progress=False))


@every_question
@pytest.mark.parametrize("column", ["delivery", "resale"])
def test_so_is_a_delivery_or_an_exemption(ask, column):
    frame = sold(
        {"shipping": "delivery", "exempt": "resale"},
        delivery=money(["1.00"] * 3),
        resale=[False, True, False],
    )
    ask(frame)
    frame[column] = money(["2.00"] * 3) if column == "delivery" else [True, True, False]
    with pytest.raises(ValueError, match="compute the tax again"):
        ask(frame)


@every_question
def test_an_amount_that_was_lost_since_is_refused(ask):
    frame = sold()
    frame["amount"] = [None, "20.00", "30.00"]
    with pytest.raises(ValueError, match="not readable now"):
        ask(frame)


@every_question
@pytest.mark.parametrize("column", ["combined_rate", "tax"])
def test_a_rate_or_a_tax_that_was_changed_since_is_told(ask, column):
    frame = sold()
    assert "changed since" not in str(ask(frame))
    frame.loc[0, column] = units(9900) if column == "combined_rate" else Decimal("0.95")
    made = ask(frame)
    assert made.notes[0].endswith("because one of the three was changed since: 1.")
    assert "changed since: 1." in " ".join(str(made).split())


@every_question
def test_an_invoice_that_lost_a_line_is_told(ask):
    frame = sold({"invoice": "order"}, amounts=["0.95"] * 4, order=["A", "A", "A", "B"])
    cut = frame.iloc[[0, 3]]  # three lines are 0.25365, 0.25: this one has 0.09; alone 0.08455
    assert [str(tax) for tax in cut["tax"]] == ["0.09", "0.08"]
    (note,) = ask(cut).notes
    assert note.startswith("Invoices that are not whole any more")
    assert note.endswith("rounded once: 1.")


@every_question
def test_whole_invoices_and_rows_that_were_only_left_out_are_no_change(ask):
    frame = sold({"invoice": "order"}, amounts=["0.95"] * 4, order=["A", "A", "A", "B"])
    assert ask(frame.iloc[:3]).notes == ()
    assert ask(sold().iloc[[2, 0]]).notes == ()


@every_question
def test_what_cannot_be_compared_is_not_refused(ask):
    renamed = sold().rename(columns={"amount": "net"})
    assert ask(renamed).notes == ()
    lost = sold(amounts=["10.00", "20.00", "30.00"])
    lost.attrs.clear()  # as a CSV file brings it back: `amount` is not what was taxed
    lost["amount"] = ["1.00", "2.00", "3.00"]
    assert ask(lost).notes == ()


@every_question
def test_terms_of_every_kind_are_understood_again(ask, tmp_path):
    frame = sold(
        {"shipping": Decimal("4.99"), "exempt": 1.5, "rounding": "up", "invoice": "order"},
        order=["A", None, "A"],
    )
    assert ask(frame).notes == ()
    frame["exempt"] = ["2.00"] * 3  # a column that the terms do not name
    frame.to_parquet(tmp_path / "taxed.parquet")
    back = pd.read_parquet(tmp_path / "taxed.parquet")
    assert ask(back).notes == ()
    back["amount"] = ["10.00", "20.00", "31.00"]
    with pytest.raises(ValueError, match="the tax of 1 of 3 rows"):
        ask(back)


def test_a_place_that_was_changed_since_its_lookup_is_told(embedded):
    frame = pd.DataFrame({"state": ["WA", "WA"], "zip": ["98101", "98004"], "amount": [10.0, 20.0]})
    found = frame.svc.lookup(client=embedded, detail=True, progress=False).svc.tax(progress=False)
    assert found.svc.filing("WA").notes == ()
    found.loc[0, "zip"] = "99201"
    (note,) = found.svc.filing("WA").notes
    assert note.endswith("so look them up again: 1.")


@pytest.mark.parametrize("name", ["collected", "difference", "over_rows"])
def test_a_column_to_group_by_that_is_named_like_a_sum_is_refused(name):
    frame = sold().assign(**{name: ["a", "b", "c"], "paid": money(["0.89"] * 3)})
    with pytest.raises(ValueError, match=f"by: '{name}' is the name of a sum"):
        frame.svc.reconcile("paid", by=name)


def test_a_tax_from_the_rate_of_another_place_is_warned_of(embedded):
    frame = pd.DataFrame({"state": ["WA", "WA"], "zip": ["98101", "98004"], "amount": [10.0, 20.0]})
    found = frame.svc.lookup(client=embedded, progress=False)
    found.loc[0, "zip"] = "99201"
    with pytest.warns(UserWarning, match=r"^1 of 2 rows have another place, date or rate"):
        found.svc.tax(progress=False)


SHOP = {
    "Name": ["#1", "#1", "#2", "#2"],
    "Email": ["a", None, "b", None],
    "Financial Status": ["paid", None, "paid", None],
    "Subtotal": ["10.00", None, "20.00", None],
    "Shipping": ["0.00", None, "0.00", None],
    "Taxes": ["0.00", None, "0.00", None],
    "Total": ["10.00", None, "20.00", None],
    "Created at": ["2026-05-01 10:00:00 -0400", None, "2026-05-02 10:00:00 -0400", None],
    "Lineitem quantity": [1, 1, 1, 1],
    "Lineitem name": ["a", "b", "c", "d"],
    "Lineitem price": ["5.00", "5.00", "10.00", "10.00"],
    "Shipping Zip": ["90210", None, "10001", None],
    "Shipping Province": ["CA", None, "NY", None],
    "Shipping Country": ["US", None, "US", None],
}


def test_a_line_that_was_given_to_another_order_has_another_place(embedded):
    found = pd.DataFrame(SHOP).svc.lookup(client=embedded, progress=False)
    assert found["resolved_zip"].tolist() == ["90210", "90210", "10001", "10001"]
    found.loc[1, "Name"] = "#2"
    with pytest.warns(UserWarning, match=r"^1 of 4 rows have another place, date or rate"):
        taxed = found.svc.tax(progress=False)
    (note,) = taxed.svc.review().notes
    assert note.endswith("so look them up again: 1.")


def test_a_second_column_of_the_name_of_a_place_is_no_change(embedded):
    frame = pd.DataFrame({"zip": ["98101", "98004"], "amount": ["10.00", "20.00"]})
    found = frame.svc.lookup(client=embedded, as_of="2026-05-01", progress=False)
    taxed = found.svc.tax(progress=False)
    taxed.insert(0, "zip", ["1", "2"], allow_duplicates=True)
    assert taxed.svc.review().notes == ()


def test_an_exception_for_missing_taxes_survives_the_way_between_processes():
    frame = sold().assign(amount=["10.00", "ten", "1.00"])
    with pytest.raises(TaxFailedError) as raised:
        frame.svc.tax(progress=False, errors="raise")
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value)
    assert again.frame["tax"].isna().tolist() == [False, True, False]
