"""What the amounts of a sales file contain: proven by its own sums, by the rates, or asked."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.examples import examples
from support.order_figures import OrderFigures, residuals
from support.sales_files import dollars, sales_file

from svc_tools.frames.orders.by_rates import weigh_by_rates
from svc_tools.frames.orders.doubts import question_of_doubt, sums_in_words
from svc_tools.frames.orders.figures import OrderAmounts, money_table
from svc_tools.frames.orders.kinds import kind_of, may_be_money
from svc_tools.frames.orders.levels import levels
from svc_tools.frames.orders.sums import Answers, Term
from svc_tools.frames.orders.witness import settle, weigh
from svc_tools.tables.roles import Question

if TYPE_CHECKING:
    from svc_tools.frames.orders.witness import Verdict

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
SEATTLE = 10550
SEEDS = st.integers(0, 2**32 - 1)


def file(**columns) -> pd.DataFrame:
    """A file of texts; lists of whole numbers are cents, and "_" in a name is a blank."""
    return pd.DataFrame(
        {
            name.replace("_", " "): [
                one if isinstance(one, str) else dollars([one])[0] for one in values
            ]
            for name, values in columns.items()
        },
        dtype=str,
    )


def orders_of(frame: pd.DataFrame, column: str = "Order") -> np.ndarray | None:
    if column not in frame:
        return None
    codes = pd.factorize(frame[column].replace("", None))[0]
    return codes if codes.max() + 1 < (codes >= 0).sum() else None


def read(frame: pd.DataFrame, answers: Answers | None = None, **more) -> Verdict:
    labels = [label for label in frame.columns if label != "Order"]
    return weigh(money_table(frame, labels, **more), orders_of(frame), answers)


def with_rates(verdict: Verdict, rate: int = SEATTLE, freight: int = 1) -> Verdict:
    rows = verdict.file.table.rows
    return settle(verdict, np.full(rows, rate), np.full(rows, freight))


def asked(verdict: Verdict) -> list[str]:
    """What is asked; no sums stand while something is."""
    assert (verdict.sums is None) == bool(verdict.doubts)
    return [one.reason for one in verdict.doubts]


def figures(verdict: Verdict, frame: pd.DataFrame) -> OrderAmounts:
    """What each order comes to."""
    labels = [label for label in frame.columns if label != "Order"]
    orders = orders_of(frame)
    added = OrderFigures(verdict.sums)
    added.add(money_table(frame, labels), np.arange(len(frame)) if orders is None else orders)
    return added.rows()


PRICES = [1999, 4550, 12025, 8899, 23050]
TAX = [211, 480, 1269, 939, 2432]  # 10.55 %
SHIPPING = [500, 0, 800, 500, 800]
DISCOUNT = [0, 455, 0, 889, 0]


def plus(*columns) -> list[int]:
    return [sum(row) for row in zip(*columns, strict=True)]


def less(one, other) -> list[int]:
    return [a - b for a, b in zip(one, other, strict=True)]


class TestKinds:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("Sales Tax", "tax"),
            ("salesTax", "tax"),
            ("salestax", "tax"),
            ("tax_amt", "tax"),
            ("Tax 1 Value", "tax"),
            ("Taxes On Fee", "fee"),
            ("Marketplace Withheld Tax", "fee"),
            ("Card Processing Fees", "fee"),
            ("Merchant Discount", "fee"),
            ("Shipping Discount", "delivery_discount"),
            ("ship-promotion-discount", "delivery_discount"),
            ("Shipping Fee After Discount", "delivery"),
            ("SKU Subtotal After Discount", "amount"),
            ("Payment platform discount", "discount"),
            ("Order Total (ex tax)", "amount"),
            ("Amount Before Tax", "amount"),
            ("Taxable Sales", "amount"),
            ("Amount (USD)", "amount"),
            ("Amount ($)", "amount"),
            ("_order_total", "amount"),
            ("lineItem_price", "price"),
            ("Item Total Price", "amount"),
            ("Retail Delivery Fee", "fee"),
            ("Delivery Fee", "delivery"),
            ("Gift Card Sales", "gift_cards_sold"),
            ("Gift Card", "payment"),
            ("Store Credit Redeemed", "payment"),
            ("Balance", "payment"),
            ("Amount Paid", "amount"),
            ("Amount Refunded", "refund"),
            ("Gift Wrap", "wrap"),
            ("Tip", "tip"),
            ("Quantity (- Refund)", "quantity"),
            ("Wert", "unknown"),
            *((name, "tax") for name in ("Steuer", "MwSt.", "USt", "IVA", "TVA", "Mehrwertsteuer")),
            *((name, "tax") for name in ("Impuestos", "Taxe", "Imposta", "Imposto", "Importe IVA")),
            *((name, "delivery") for name in ("Versand", "Versandkosten", "Envío", "Livraison")),
            *((name, "delivery") for name in ("Gastos de envío", "Frais de port", "Spedizione")),
            *((name, "delivery") for name in ("Frete", "Versandgebühr")),
            *((name, "discount") for name in ("Rabatt", "Descuento", "Remise", "Sconto")),
            *((name, "discount") for name in ("Desconto", "Mengenrabatt")),
            *((name, "tip") for name in ("Trinkgeld", "Propina", "Pourboire")),
            *((name, "fee") for name in ("Gebühr", "Comisión", "Frais")),
            *((name, "amount") for name in ("Betrag", "Importe", "Montant HT", "Importo", "Valor")),
            *((name, "amount") for name in ("Netto", "Brutto", "Gesamt", "Zwischensumme", "Summe")),
            *(
                (name, "amount")
                for name in ("Betrag inkl. MwSt.", "Total TTC", "Total IVA incluido")
            ),
            *((name, "price") for name in ("Preis", "Einzelpreis", "Precio", "Prix unitaire")),
            *((name, "quantity") for name in ("Menge", "Cantidad", "Quantité")),
        ],
    )
    def test_a_name_says_the_kind(self, name, kind) -> None:
        assert kind_of(name) == ("payment" if name == "Amount Paid" else kind)

    @pytest.mark.parametrize(
        "name",
        [
            *("Order ID", "Tax ID", "Zip", "Shipping Zip", "Phone", "Order Date", "Paid at"),
            *("Tax Rate", "Tax %", "Exchange Rate", "Weight", "Cost of Goods", "Margin", "Item #"),
            *("Coupon Code", "Tax 1 Name", "Last Name (Shipping)", "Shipping Address2"),
            *(
                "Liefer-PLZ",
                "Versandart Nr.",
                "Código postal de envío",
                "Partita IVA",
                "Steuersatz",
            ),
            *("Shipping Method", "Card Last4", "Quantity", "Discount Percent", "Tax State"),
        ],
    )
    def test_a_name_that_is_not_money(self, name) -> None:
        assert not may_be_money(name)

    @pytest.mark.parametrize("name", ["Shipping Rate", "State Tax", "Total", "Wert", "Discount"])
    def test_a_name_that_may_be_money(self, name) -> None:
        assert may_be_money(name)


class TestMoneyTable:
    @pytest.mark.parametrize(
        "dtype",
        [
            "str",
            "object",
            "category",
            "float64",
            "string[pyarrow]",
            pd.ArrowDtype(pa.decimal128(18, 2)),
            "decimal",
        ],
    )
    def test_any_dtype_gives_the_same_cents(self, dtype) -> None:
        column = pd.Series(["19.99", "-4.50", "120.25"], dtype=str)
        if dtype == "float64":
            column = column.astype(float)
        elif dtype == "decimal":
            column = pd.Series([Decimal(one) for one in column], dtype=object)
        elif isinstance(dtype, pd.ArrowDtype):
            column = pd.Series([Decimal(one) for one in column]).astype(dtype)
        else:
            column = column.astype(dtype)

        table = money_table(pd.DataFrame({"Amount": column}), ["Amount"])

        assert table.columns["Amount"].cents.tolist() == [1999, -450, 12025]

    def test_blank_cells_are_missing_and_other_texts_are_wrong(self) -> None:
        cells = ["1.50", "", "--", None, "n/a", "free", *["2.00"] * 9]
        one = money_table(pd.DataFrame({"Amount": cells}), ["Amount"]).columns["Amount"]

        assert one.filled.tolist() == [True, *[False] * 5, *[True] * 9]
        assert one.wrong is not None
        assert np.flatnonzero(one.wrong).tolist() == [5]

    def test_columns_of_other_texts_and_of_nothing_are_named(self) -> None:
        frame = pd.DataFrame({"Amount": ["1.00"], "Fee": ["0.00"], "Tax": ["x"], "Note": ["y"]})

        table = money_table(pd.concat([frame, frame.assign(Tax="1.00")]), list(frame.columns))

        assert table.zero == ("Fee",)
        assert table.unread == ("Tax",)
        assert [*table.columns] == ["Amount"]

    def test_price_times_quantity_is_rounded_to_the_cent(self) -> None:
        frame = pd.DataFrame({"Price": ["0.3333", "1.25", "-0.005"], "Qty": ["3", "1.5", "1"]})

        table = money_table(frame, ["Price", "Qty"])

        assert table.of(Term("Price", times="Qty")).cents.tolist() == [100, 188, -1]


class TestSums:
    """Each rule: a file that would be decided wrong without it."""

    def test_a_total_proves_what_its_parts_are(self) -> None:
        total = less(plus(PRICES, SHIPPING, TAX), DISCOUNT)
        frame = file(
            Subtotal=PRICES, Discount=DISCOUNT, Shipping=SHIPPING, Sales_Tax=TAX, Total=total
        )

        verdict = read(frame)

        assert sums_in_words(verdict.sums) == (
            "'Total' = 'Subtotal' - 'Discount' + 'Shipping' + 'Sales Tax'"
        )
        assert verdict.sums.witness == "sum"
        assert figures(verdict, frame).goods.tolist() == less(PRICES, DISCOUNT)

    def test_signs_of_refunds_and_of_discounts_are_read_as_they_are_written(self) -> None:
        sign = [1, 1, -1, 1, 1]
        columns = [PRICES, [-one for one in DISCOUNT], SHIPPING, TAX]
        price, discount, shipping, tax = (
            [a * b for a, b in zip(one, sign, strict=True)] for one in columns
        )
        frame = file(
            Price=price,
            Discount=discount,
            Shipping=shipping,
            Tax=tax,
            Total=plus(price, discount, shipping, tax),
        )

        assert figures(read(frame), frame).goods.tolist() == plus(price, discount)

    def test_a_discount_that_the_sum_does_without_is_in_the_subtotal(self) -> None:
        verdict = read(file(Subtotal=PRICES, Discount=DISCOUNT, Tax=TAX, Total=plus(PRICES, TAX)))

        assert sums_in_words(verdict.sums) == "'Total' = 'Subtotal' + 'Tax'"
        assert ("Discount", "the discount is in 'Subtotal' already") in verdict.unused

    def test_a_total_that_does_without_the_tax_is_a_question(self) -> None:
        frame = file(Subtotal=PRICES, Shipping=SHIPPING, Tax=TAX, Total=plus(PRICES, SHIPPING))

        assert asked(read(frame)) == ["tax_outside"]
        inside = read(frame, Answers(contains_tax=True))
        assert figures(inside, frame).goods.tolist() == less(PRICES, TAX)
        assert inside.sums.witness == "given"
        outside = read(frame, Answers(contains_tax=False))
        assert figures(outside, frame).goods.tolist() == PRICES
        assert figures(outside, frame).tax.tolist() == TAX
        assert not outside.to_check.any()

    def test_a_total_that_does_without_the_delivery_is_a_question(self) -> None:
        frame = file(Subtotal=PRICES, Shipping=SHIPPING, Tax=TAX, Total=plus(PRICES, TAX))

        assert asked(read(frame)) == ["delivery_outside"]
        inside = read(frame, Answers(contains_shipping=True))
        assert figures(inside, frame).goods.tolist() == less(PRICES, SHIPPING)

    def test_a_second_tax_outside_of_the_total_is_a_question(self) -> None:
        other = [100, 200, 300, 400, 501]
        frame = file(Subtotal=PRICES, Tax=TAX, City_Tax=other, Total=plus(PRICES, TAX))

        assert asked(read(frame)) == ["second_part"]
        assert read(frame, Answers(parts={"City Tax": "none"})).sums.tax == (Term("Tax"),)

    def test_what_the_seller_pays_for_delivery_is_named_and_not_asked_about(self) -> None:
        frame = file(Subtotal=PRICES, Shipping=SHIPPING, Tax=TAX, Shipping_Cost=[410, 5, 7, 8, 9])
        frame["Total"] = dollars(plus(PRICES, SHIPPING, TAX))

        verdict = read(frame)

        assert figures(verdict, frame).delivery.tolist() == SHIPPING
        assert "the seller pays it" in dict(verdict.unused)["Shipping Cost"]
        assert asked(read(frame[:1])) == ["few_rows"]

    def test_many_questions_of_one_kind_are_one(self) -> None:
        rng = np.random.default_rng(1)
        more = {f"Total {number}": dollars(rng.integers(1, 9000, 5)) for number in range(30)}
        frame = file(Subtotal=PRICES, Tax=TAX, Total=plus(PRICES, TAX)).assign(**more)

        doubts = read(frame).doubts

        assert [one.reason for one in doubts] == ["unexplained"]
        assert question_of_doubt(doubts[0]).why.endswith("'Total 7' and 22 more are made of")
        answered = read(frame, Answers(parts=doubts[0].likely))
        assert figures(answered, frame).goods.tolist() == PRICES

    @pytest.mark.parametrize("names", ["{}_tax_excl {}_tax_incl", "{} {}_wt", "{}_HT {}_TTC"])
    def test_of_amounts_with_and_without_tax_those_without_count(self, names) -> None:
        tax = [round(one * 0.1055) for one in plus(PRICES, SHIPPING)]
        of_delivery = [round(one * 0.1055) for one in SHIPPING]
        columns = {
            "total_products": (PRICES, plus(PRICES, less(tax, of_delivery))),
            "total_shipping": (SHIPPING, plus(SHIPPING, of_delivery)),
            "total_paid": (plus(PRICES, SHIPPING), plus(PRICES, SHIPPING, tax)),
        }
        frame = pd.DataFrame(
            {
                name.format(label): dollars(cents)
                for label, both in columns.items()
                for name, cents in zip(names.split(), both, strict=True)
            }
        )

        verdict = read(frame)

        assert figures(verdict, frame).goods.tolist() == PRICES
        assert figures(verdict, frame).delivery.tolist() == SHIPPING

    def test_taxes_that_make_up_the_tax_are_no_question(self) -> None:
        state = [one // 3 for one in TAX]
        frame = file(
            Subtotal=PRICES,
            State_Tax=state,
            Local_Tax=less(TAX, state),
            Taxes=TAX,
            Total=plus(PRICES, TAX),
        )

        assert figures(read(frame), frame).tax.tolist() == TAX

    def test_delivery_before_and_after_its_discount_is_one(self) -> None:
        frame = file(
            Subtotal=PRICES,
            Original_Shipping=[900, 400, 900, 900, 950],
            Shipping_Discount=less([900, 400, 900, 900, 950], SHIPPING),
            Shipping_Fee=SHIPPING,
            Tax=TAX,
            Total=plus(PRICES, SHIPPING, TAX),
        )

        assert figures(read(frame), frame).delivery.tolist() == SHIPPING

    def test_a_row_that_does_not_add_up_is_to_check_with_its_order(self) -> None:
        prices, tax = PRICES * 4, TAX * 4
        total = plus(prices, tax)
        total[3] += 100
        frame = file(
            Order=[f"A{row // 2}" for row in range(20)], Price=prices, Tax=tax, Total=total
        )

        verdict = read(frame)

        assert sums_in_words(verdict.sums) == "'Total' = 'Price' + 'Tax'"
        assert np.flatnonzero(verdict.to_check).tolist() == [2, 3]

    def test_a_cell_that_is_no_amount_is_to_check(self) -> None:
        frame = file(Price=PRICES * 4, Tax=TAX * 4, Total=plus(PRICES, TAX) * 4)
        frame.loc[7, "Tax"] = "see note"

        assert np.flatnonzero(read(frame).to_check).tolist() == [7]

    def test_a_tenth_may_not_add_up_and_no_more(self) -> None:
        total = np.array(plus(PRICES, TAX) * 4)
        for wrong, decided in ((2, True), (3, False)):
            off = total.copy()
            off[:wrong] += 100
            frame = file(Price=PRICES * 4, Tax=TAX * 4, Total=off.tolist())
            assert (read(frame).sums is not None) == decided

    def test_fewer_than_three_distinct_rows_prove_nothing(self) -> None:
        frame = file(Goods=PRICES[:2] * 5, Tax=TAX[:2] * 5, Amount=plus(PRICES, TAX)[:2] * 5)

        assert asked(read(frame)) == ["few_rows"]
        assert question_of_doubt(read(frame).doubts[0]).why == (
            "only 2 distinct rows show that 'Amount' = 'Goods' + 'Tax'"
        )
        assert with_rates(read(frame)).sums.witness == "rates"
        assert with_rates(read(frame), 6000).sums is None
        assert read(frame, Answers(contains_tax=False)).sums.witness == "given"

    def test_a_part_that_one_row_proves_is_to_check_there(self) -> None:
        tip = [0, 0, 0, 0, 300]
        verdict = read(file(Subtotal=PRICES, Tax=TAX, Tip=tip, Total=plus(PRICES, TAX, tip)))

        assert np.flatnonzero(verdict.to_check).tolist() == [4]

    def test_two_sums_with_other_figures_are_a_question(self) -> None:
        # both are called tax or delivery: either is taken for the other's part
        net, list_price = PRICES, plus(PRICES, DISCOUNT, [100] * 5)
        credit = plus(DISCOUNT, [100] * 5)
        frame = file(Net=net, List_Value=list_price, Discount=credit, Tax=TAX, Total=plus(net, TAX))

        verdict = read(frame)

        assert figures(verdict, frame).goods.tolist() == PRICES  # both give the same figures
        other = file(
            Net=net,
            Value=plus(net, [50] * 5),
            Surcharge=[-50] * 5,
            Tax=TAX,
            Total=plus(net, TAX),
        )
        assert asked(read(other)) == ["rivals"]

    def test_two_equal_columns_prove_nothing(self) -> None:
        frame = file(Amount=PRICES, Converted_Amount=PRICES, Tax=TAX)

        assert asked(with_rates(read(frame), 7000)) == ["tax_beside"]

    def test_amounts_less_a_fee_prove_nothing(self) -> None:
        fee = [one // 33 for one in PRICES]
        frame = file(Gross=PRICES, Fee=fee, Net=less(PRICES, fee))

        assert asked(read(frame)) == ["several_amounts"]

    def test_an_amount_that_is_itself_a_sum_is_no_goods(self) -> None:
        fee = [one // 33 for one in PRICES]
        total = plus(PRICES, TAX)
        frame = file(Net_Sales=PRICES, Tax=TAX, Total=total, Fees=fee, Net=less(total, fee))

        assert figures(read(frame), frame).goods.tolist() == PRICES

    def test_an_amount_with_tips_in_it_is_no_goods(self) -> None:
        tip, fee = [300, 0, 200, 500, 0], [one // 33 for one in PRICES]
        total = plus(PRICES, tip)
        frame = file(
            Net_Sales=PRICES, Tax=[0] * 5, Tip=tip, Total=total, Fees=fee, Net=less(total, fee)
        )

        assert figures(read(frame), frame).goods.tolist() == PRICES

    def test_a_discount_that_no_row_adds_up_with_is_no_part(self) -> None:
        coupon = [0] * 19 + [500]
        total = less(plus(PRICES, TAX) * 4, [one * 2 for one in coupon])
        frame = file(Subtotal=PRICES * 4, Tax=TAX * 4, Discount=coupon, Total=total)

        assert asked(read(frame))

    def test_the_last_total_counts(self) -> None:
        discount = [100, 455, 100, 889, 0]
        amount = plus(PRICES, PRICES)
        frame = file(
            Price=PRICES,
            Qty=["2"] * 5,
            Amount=amount,
            Discount=discount,
            Total=less(amount, discount),
        )

        assert figures(read(frame), frame).goods.tolist() == less(amount, discount)

    def test_a_fee_inside_of_the_total_is_a_question(self) -> None:
        fee = [150, 0, 150, 150, 300]
        frame = file(Subtotal=PRICES, Tax=TAX, Setup_Fee=fee, Total=plus(PRICES, TAX, fee))

        assert asked(read(frame)) == ["odd_part"]
        goods = read(frame, Answers(parts={"Setup Fee": "goods"}))
        assert figures(goods, frame).goods.tolist() == plus(PRICES, fee)
        untaxed = read(frame, Answers(parts={"Setup Fee": "untaxed"}))
        assert figures(untaxed, frame).goods.tolist() == PRICES
        delivery = read(frame, Answers(parts={"Setup Fee": "delivery"}))
        assert figures(delivery, frame).delivery.tolist() == fee

    def test_a_column_without_a_known_word_inside_of_the_total_is_a_question(self) -> None:
        extra = [155, 0, 150, 150, 310]
        frame = file(Subtotal=PRICES, Tax=TAX, Engraving=extra, Total=plus(PRICES, TAX, extra))

        assert asked(read(frame)) == ["odd_part"]

    def test_a_refund_in_the_total_does_not_lower_the_goods(self) -> None:
        refund = [0, 1000, 0, 2000, 0]
        total = less(plus(PRICES, TAX), refund)
        frame = file(Subtotal=PRICES, Tax=TAX, Refunded=refund, Total=total)

        assert figures(read(frame), frame).goods.tolist() == PRICES

    def test_a_refund_that_stands_only_as_a_sum_is_noted(self) -> None:
        frame = file(Subtotal=PRICES, Tax=TAX, Refund=[0, 99, 0, 0, 0], Total=plus(PRICES, TAX))

        assert read(frame).refunds == ("Refund",)

    def test_payments_are_never_parts(self) -> None:
        card = [500, 0, 0, 100, 0]
        frame = file(Subtotal=PRICES, Tax=TAX, Gift_Card=card, Due=less(plus(PRICES, TAX), card))

        assert read(frame).sums is None

    def test_an_amount_that_is_nearly_a_sum_is_a_question(self) -> None:
        coupon = [0, 0, 300, 0, 0]
        frame = file(
            Subtotal=PRICES * 4,
            Tax=TAX * 4,
            Subtotal_inc_tax=plus(PRICES, TAX) * 4,
            Total=less(plus(PRICES, TAX), coupon) * 4,
        )

        assert asked(read(frame)) == ["near"]

    def test_a_total_that_is_less_in_one_row_and_more_in_others_is_a_question(self) -> None:
        total = plus(PRICES * 2, [0, 200, 0, 0, -800, 0, 0, 0, 200, 200])
        frame = file(Subtotal=PRICES * 2, Price=PRICES * 2, Qty=["1"] * 10, Total=total)

        assert asked(read(frame)) == ["near"]

    def test_an_amount_that_no_sum_explains_is_a_question(self) -> None:
        hidden = [100, 200, 310, 120, 90]
        frame = file(
            Price=PRICES, Qty=["1"] * 5, Amount=PRICES, Total=less(PRICES, hidden), Tax=["0"] * 5
        )

        assert asked(read(frame)) == ["unexplained"]
        assert read(frame, Answers(parts={"Total": "none"})).sums is not None

    def test_a_discount_next_to_price_times_quantity_is_a_question(self) -> None:
        frame = file(Price=PRICES, Qty=["2"] * 5, Discount=DISCOUNT, Amount=plus(PRICES, PRICES))

        assert asked(read(frame)) == ["discount_beside"]
        taken = read(frame, Answers(parts={"Discount": "discount"}))
        assert figures(taken, frame).goods.tolist() == less(plus(PRICES, PRICES), DISCOUNT)

    def test_price_times_quantity_less_its_discount_is_a_proof(self) -> None:
        discount = [0, 455, 100, 889, 0]
        amount = less(plus(PRICES, PRICES), discount)
        frame = file(Price=PRICES, Qty=["2"] * 5, Discount=discount, Amount=amount)

        verdict = read(frame)

        assert figures(verdict, frame).goods.tolist() == amount

    def test_price_times_quantity_comes_before_a_bare_price(self) -> None:
        frame = file(Price=PRICES, Qty=["1"] * 5, Tax=TAX, Total=plus(PRICES, TAX))

        assert read(frame).sums.goods == (Term("Price", times="Qty"),)

    def test_of_columns_with_the_same_figures_the_fuller_one_is_kept(self) -> None:
        thin = [*dollars(TAX[:4]), ""]
        frame = file(Subtotal=PRICES, Tax_1=thin, Taxes=TAX, Total=plus(PRICES, TAX))

        assert read(frame).sums.tax == (Term("Taxes"),)

    def test_of_amounts_with_the_same_figures_the_fuller_one_is_kept(self) -> None:
        thin = [*dollars(PRICES), ""]
        verdict = read(file(Value=thin, Amount=[*PRICES, 0]))

        assert verdict.sums.goods == (Term("Amount"),)
        assert ("Value", "the same figures as 'Amount'") in verdict.unused

    def test_zero_columns_take_no_part(self) -> None:
        frame = file(Subtotal=PRICES, Tax=TAX, Shipping=[0] * 5, Total=plus(PRICES, TAX))

        assert ("Shipping", "0.00 throughout") in read(frame).unused

    def test_many_columns_end_in_a_question_and_in_time(self) -> None:
        rng = np.random.default_rng(1)
        many = {f"Fee_{number}": rng.integers(1, 500, 50).tolist() for number in range(20)}
        prices = rng.integers(100, 9000, 50).tolist()
        tax = [one // 10 for one in prices]

        verdict = read(file(Price=prices, Tax=tax, Total=plus(prices, tax), **many))

        assert asked(verdict)


class TestByName:
    def test_one_amount_with_nothing_next_to_it_is_taken_by_its_name(self) -> None:
        for name in ("Amount", "Total", "Order Amount"):
            verdict = read(pd.DataFrame({name: dollars(PRICES), "Fee": ["0"] * 5}))
            assert verdict.sums.witness == "name"
            assert verdict.sums.goods == (Term(name),)

    def test_an_amount_of_no_known_name_is_a_question(self) -> None:
        assert asked(read(file(Wert=PRICES))) == ["no_known_name"]

    def test_payments_with_fees_are_a_question(self) -> None:
        assert asked(read(file(Amount=PRICES, Fee=[100] * 5))) == ["payments"]

    def test_several_amounts_are_a_question(self) -> None:
        assert asked(read(file(Amount=PRICES, Value=TAX))) == ["several_amounts"]

    def test_what_the_rates_do_not_decide_is_taken_by_a_plain_name(self) -> None:
        odd = [33] * 5
        plain = with_rates(read(file(Amount=PRICES, Tax=odd)))
        assert plain.sums.witness == "name"
        assert plain.sums.goods == (Term("Amount"),)
        for name in ("Order_Amount", "Net_Amount", "Total", "Gross", "Invoice_Amount"):
            often = with_rates(read(file(**{name: PRICES}, Tax=odd)))
            assert asked(often) == ["tax_beside"]

    def test_answers_take_off_tax_and_delivery(self) -> None:
        frame = file(Total=PRICES, Shipping=SHIPPING, Tax=TAX)

        assert asked(read(frame)) == ["tax_beside", "delivery_beside"]
        both = read(frame, Answers(contains_tax=True, contains_shipping=True))
        assert figures(both, frame).goods.tolist() == less(less(PRICES, TAX), SHIPPING)
        tax = read(frame, Answers(contains_tax=True, contains_shipping=False))
        assert figures(tax, frame).goods.tolist() == less(PRICES, TAX)
        assert figures(tax, frame).delivery.tolist() == SHIPPING

    def test_every_question_can_be_put(self) -> None:
        frame = file(Total=PRICES, Shipping=SHIPPING, Tax=TAX, Discount=DISCOUNT, Gift_Wrap=TAX)

        for doubt in read(frame).doubts:
            put = question_of_doubt(doubt)
            assert isinstance(put, Question)
            assert put.why
            assert not put.why.endswith(".")
            assert put.likely in [*put.values]  # noqa: PD011 - no series


class TestRates:
    def test_a_tip_in_an_amount_is_taken_off_by_the_rates_or_asked_about(self) -> None:
        tips = [0, 300, 0, 500, 250]
        frame = file(Order_Total=plus(PRICES, TAX, tips), Sales_Tax=TAX, Tip=tips)

        verdict = with_rates(read(frame))

        assert figures(verdict, frame).goods.tolist() == PRICES
        assert asked(read(frame)) == ["tax_beside", "tip_beside"]
        outside = file(Amount=PRICES, Sales_Tax=TAX, Tip=tips)
        assert figures(with_rates(read(outside)), outside).goods.tolist() == PRICES

    def test_the_rates_say_that_the_amount_contains_the_tax(self) -> None:
        frame = file(Order_Amount=plus(PRICES, TAX), Tax=TAX)

        verdict = with_rates(read(frame))

        assert verdict.sums.witness == "rates"
        assert figures(verdict, frame).goods.tolist() == PRICES

    def test_the_rates_say_that_the_amount_is_before_tax(self) -> None:
        frame = file(Order_Amount=PRICES, Tax=TAX)

        assert figures(with_rates(read(frame)), frame).goods.tolist() == PRICES

    @pytest.mark.parametrize(
        ("amount", "tax"),
        [("Amount", "Steuer"), ("Total", "IVA"), ("Betrag", "MwSt."), ("Montant", "TVA")],
    )
    def test_words_of_other_languages_say_what_stands_beside_an_amount(self, amount, tax) -> None:
        frame = file(**{amount: plus(PRICES, TAX), tax: TAX})

        assert figures(with_rates(read(frame)), frame).goods.tolist() == PRICES

    def test_rows_of_both_kinds_are_a_question_with_both_counts(self) -> None:
        amount = [*plus(PRICES, TAX)[:3], *PRICES[3:]] * 2
        verdict = with_rates(read(file(Amount=amount, Tax=TAX * 2)))

        assert asked(verdict) == ["mixed_rates"]
        assert question_of_doubt(verdict.doubts[0]).why == (
            "by the rates, 6 rows of 'Amount' contain 'Tax' and 4 do not"
        )

    def test_rates_that_fit_fewer_than_half_of_the_rows_decide_nothing(self) -> None:
        frame = file(Order_Amount=PRICES * 2, Tax=[*TAX[:4], *[1] * 6])

        assert asked(with_rates(read(frame))) == ["tax_beside"]

    def test_one_taxed_row_is_enough_where_it_fits_one_reading_alone(self) -> None:
        assert with_rates(read(file(Order_Amount=[11055], Tax=[1055]))).sums.witness == "rates"
        assert asked(with_rates(read(file(Order_Amount=[50], Tax=[5])))) == ["tax_beside"]

    @pytest.mark.parametrize(("freight", "of"), [(1, 10800), (0, 10000)])
    def test_delivery_is_tried_by_the_rule_of_the_state(self, freight, of) -> None:
        tax = of * SEATTLE // 100_000
        frame = file(Order_Total=[10000 + 800 + tax], Shipping=[800], Tax=[tax])

        verdict = with_rates(read(frame), SEATTLE, freight)

        assert figures(verdict, frame).goods.tolist() == [10000]

    def test_a_discount_is_tried_in_and_out(self) -> None:
        tax = [round(one * 0.1055) for one in less(PRICES, DISCOUNT)]
        frame = file(Amount=PRICES, Discount=DISCOUNT, Tax=tax)

        verdict = with_rates(read(frame))

        assert figures(verdict, frame).goods.tolist() == less(PRICES, DISCOUNT)

    @pytest.mark.parametrize("name", ["Tip", "Donation", "Service Fee", "Insurance"])
    def test_what_is_not_taxed_is_tried_in_and_out(self, name) -> None:
        part = [300, 0, 200, 500, 100]
        inside = file(Amount=plus(PRICES, part), Tax=TAX, **{name: part})
        both = file(Order_Total=plus(PRICES, part, TAX), Tax=TAX, **{name: part})
        outside = file(Amount=PRICES, Tax=TAX, **{name: part})

        for frame in (inside, both, outside):
            assert figures(with_rates(read(frame)), frame).goods.tolist() == PRICES
            assert "tip_beside" in asked(with_rates(read(frame), 7000))
        taken = read(inside, Answers(contains_tax=False, parts={name: "untaxed"}))
        assert figures(taken, inside).goods.tolist() == PRICES
        left = read(outside, Answers(contains_tax=False, parts={name: "none"}))
        assert figures(left, outside).goods.tolist() == PRICES

    def test_a_fee_that_a_processor_keeps_is_no_part_of_what_buyers_pay(self) -> None:
        frame = file(Amount=PRICES, Tax=TAX, Processing_Fee=[300, 0, 200, 500, 100])

        assert [one.reason for one in read(frame).doubts] == ["tax_beside"]

    def test_a_discount_is_not_proposed_to_be_taken_off_a_total(self) -> None:
        doubts = read(file(Total=PRICES, Tax=TAX, Tip=[0, 0, 9, 9, 9], Discount=DISCOUNT)).doubts

        assert [one.likely for one in doubts] == [True, {"Discount": "none"}, {"Tip": "untaxed"}]

    def test_rows_without_a_rate_decide_nothing(self) -> None:
        verdict = read(file(Order_Amount=PRICES, Tax=TAX))

        assert settle(verdict, np.zeros(5, np.int64), np.zeros(5, np.int8)).sums is None

    def test_counts_are_of_taxed_rows(self) -> None:
        none = np.zeros(3, np.int64)
        goods, tax = np.array([10000, 5000, 700]), np.array([1055, 0, 74])
        found = weigh_by_rates(
            [
                OrderAmounts(goods, none, tax, none, none.astype(bool)),
                OrderAmounts(goods - tax, none, tax, none, none.astype(bool)),
            ],
            np.full(3, SEATTLE),
            np.ones(3, np.int8),
        )

        assert (found.best, found.mixed, found.taxed) == (0, False, 2)
        assert found.fitting == (2, 0)


def lined(prices, **of_order) -> pd.DataFrame:
    """A file with two lines for each order and what is given for each order on both."""
    columns = {name: [one for one in values for _ in range(2)] for name, values in of_order.items()}
    return file(Order=[f"A{row // 2}" for row in range(len(prices))], Item=prices, **columns)


LINES = [1000, 999, 2500, 2050, 6000, 6025, 4000, 4899, 20000, 3050]


class TestLevels:
    def test_totals_on_every_row_count_once_where_lines_prove_it(self) -> None:
        frame = lined(LINES, Order_Subtotal=PRICES, Tax=TAX, Order_Total=plus(PRICES, TAX))
        frame = frame.rename(columns={"Item": "Item Amount"})

        verdict = read(frame)

        assert figures(verdict, frame).goods.tolist() == PRICES
        assert figures(verdict, frame).tax.tolist() == TAX
        assert not verdict.to_check.any()

    def test_totals_on_every_row_without_lines_are_a_question(self) -> None:
        frame = lined(LINES, Subtotal=PRICES, Tax=TAX, Total=plus(PRICES, TAX)).drop(columns="Item")

        verdict = read(frame)

        assert asked(verdict) == ["level"]
        assert set(verdict.doubts[0].likely) == {"Subtotal", "Tax", "Total"}
        once = read(frame, Answers(once=("Subtotal", "Tax", "Total")))
        assert figures(once, frame).goods.tolist() == PRICES
        lines = read(frame, Answers(once=False))
        assert int(residuals(lines.file.table, lines.sums).goods.sum()) == 2 * sum(PRICES)

    def test_totals_on_the_first_row_alone_are_the_orders(self) -> None:
        frame = lined(LINES, Subtotal=PRICES, Tax=TAX, Total=plus(PRICES, TAX))
        frame.loc[1::2, ["Subtotal", "Tax", "Total"]] = ""

        verdict = read(frame)

        assert figures(verdict, frame).goods.tolist() == PRICES
        assert verdict.levels["Total"] == "order"

    def test_what_the_rates_decide_is_not_asked_beside_a_level(self) -> None:
        frame = lined(LINES, Tax=TAX).rename(columns={"Item": "Item Total"})
        tax = [round(one * 0.1055) for one in plus(LINES[::2], LINES[1::2])]
        frame["Tax"] = dollars([one for one in tax for _ in range(2)])

        assert asked(with_rates(read(frame))) == ["level"]
        once = with_rates(read(frame, Answers(once=("Tax",))))
        assert int(figures(once, frame).goods.sum()) == sum(LINES)

    def test_lines_of_one_price_are_lines_where_price_times_quantity_says_so(self) -> None:
        prices = [one for one in PRICES for _ in range(2)]
        frame = lined(prices, Tax=TAX).assign(Qty="1")
        frame["Line Total"] = dollars(plus(prices, [one for one in TAX for _ in range(2)]))
        frame = frame.rename(columns={"Item": "Price"})

        table = money_table(frame, list(frame.columns))
        found = levels(table, orders_of(frame), ["Line Total"])

        assert found == {"Line Total": "unclear"}  # its tax is in it
        amount = frame.assign(**{"Line Total": frame["Price"]})
        table = money_table(amount, list(amount.columns))
        assert levels(table, orders_of(amount), ["Line Total"]) == {"Line Total": "line"}

    def test_one_amount_equal_on_all_rows_is_a_question(self) -> None:
        frame = lined([one for one in PRICES for _ in range(2)])

        assert asked(read(frame.rename(columns={"Item": "Amount"}))) == ["level"]

    @pytest.mark.parametrize(("order", "cents"), [("A9", -4000), ("A0", -500), ("A0", 700)])
    def test_a_refund_or_an_odd_row_does_not_make_a_total_the_lines(self, order, cents) -> None:
        frame = lined([one for one in PRICES for _ in range(2)])
        frame = frame.rename(columns={"Item": "Order Total"})
        frame.loc[len(frame)] = [order, *dollars([cents])]

        assert asked(read(frame)) == ["level"]
        once = read(frame, Answers(once=("Order Total",)))
        assert once.to_check.any() == (order == "A0")  # its rows do not say what it comes to

    def test_refunds_in_rows_of_their_own_are_counted_beside_their_sale(self) -> None:
        frame = file(Order=["A0", "A1", "A2", "A0"], Amount=[1999, 4550, 12025, -500])

        assert figures(read(frame), frame).goods.tolist() == [1499, 4550, 12025]

    def test_tax_of_the_order_next_to_amounts_of_the_line_is_a_question(self) -> None:
        frame = lined(LINES, Tax=TAX).rename(columns={"Item": "Amount"})

        assert asked(read(frame)) == ["level", "tax_beside"]

    def test_two_lines_do_not_prove_a_level(self) -> None:
        frame = lined(LINES[:4], Order_Total=PRICES[:2]).rename(columns={"Item": "Item Amount"})

        found = levels(money_table(frame, list(frame.columns)[1:]), orders_of(frame))

        assert found == {"Item Amount": "line", "Order Total": "unclear"}

    @pytest.mark.parametrize("shuffled", [False, True])
    def test_a_first_row_that_is_the_sum_of_the_others_is_a_question(self, shuffled) -> None:
        rows = [
            one
            for row in range(0, 10, 2)
            for one in (sum(LINES[row : row + 2]), *LINES[row : row + 2])
        ]
        frame = file(Order=[f"A{row // 3}" for row in range(15)], Sold_For=rows)
        frame = frame.sample(frac=1, random_state=1) if shuffled else frame

        assert asked(read(frame)) == ["heads"]
        once = read(frame, Answers(once=("Sold For",)))
        assert sorted(figures(once, frame).goods.tolist()) == sorted(PRICES)

    def test_line_totals_are_read_line_by_line(self) -> None:
        tax = [one // 10 for one in LINES]
        frame = lined(LINES).assign(Tax=dollars(tax), Total=dollars(plus(LINES, tax)))

        verdict = read(frame.rename(columns={"Item": "Net"}))

        assert not verdict.sums.by_order
        assert verdict.levels["Total"] == "line"


class TestInnocentFiles:
    def test_a_total_that_is_the_goods(self) -> None:
        frame = file(Subtotal=PRICES, Total=PRICES, Tax=[0] * 5)

        assert figures(read(frame), frame).goods.tolist() == PRICES

    def test_whole_dollars(self) -> None:
        goods = [1000, 2500, 12000, 8000, 23000]
        tax = [100, 200, 1200, 800, 2300]
        frame = file(Subtotal=goods, Tax=tax, Total=plus(goods, tax))

        assert figures(read(frame), frame).goods.tolist() == goods

    def test_a_subscription_of_one_price(self) -> None:
        frame = file(Amount=[2900] * 3)

        assert read(frame).sums.goods == (Term("Amount"),)


def orders_given(sales) -> np.ndarray | None:
    return None if len(sales.goods) == len(sales.frame) else sales.orders


def weighed(sales, frame=None) -> Verdict:
    frame = sales.frame if frame is None else frame
    verdict = weigh(money_table(frame, [*frame.columns][1:]), orders_given(sales))
    return settle(verdict, sales.rates, sales.freight)


class TestShops:
    """Files of shops of which the right figures are known."""

    @examples(30, of=120)
    @given(SEEDS)
    @example(69)
    @example(31_869)
    def test_what_is_decided_is_right(self, seed) -> None:
        sales = sales_file(seed)
        verdict = weighed(sales)
        if verdict.sums is None or verdict.sums.witness == "name":
            return
        added = OrderFigures(verdict.sums)
        added.add(verdict.file.table, sales.orders)
        found = added.rows()
        use = np.bincount(sales.orders[verdict.to_check], minlength=len(sales.goods)) == 0

        assert found.goods[use].tolist() == sales.goods[use].tolist(), sales.choices
        if verdict.sums.delivery:
            assert found.delivery[use].tolist() == sales.delivery[use].tolist(), sales.choices
        if verdict.sums.tax:
            assert found.tax[use].tolist() == sales.tax[use].tolist(), sales.choices

    @examples(6, of=25)
    @given(SEEDS)
    def test_an_ordinary_file_is_decided(self, seed) -> None:
        plain = {"discount": "column", "tax": "added", "delivery": "added", "tip": "none"}
        plain |= {"fee": "none", "refund": "none", "total": True, "whole": False}
        sales = sales_file(seed, **plain, lines="one", pieces="none")

        verdict = weighed(sales)

        if np.count_nonzero(sales.tax) > 4:
            assert verdict.sums is not None
            assert verdict.sums.witness == "sum"

    @examples(25, of=100)
    @given(SEEDS)
    @example(121640)
    @example(411)
    def test_round_dollars_with_a_hidden_part_are_never_decided(self, seed) -> None:
        rng = np.random.default_rng(seed)
        size, step = int(rng.integers(1, 11)), int(rng.choice([100, 500, 1000]))

        def some(low, high, share=1.0):
            return rng.integers(low, high, size) * step * (rng.random(size) < share)

        sub, tax, shipping, discount = some(5, 40), some(1, 4), some(0, 3), some(0, 3, 0.5)
        hidden = rng.integers(1, 10, size) * step * rng.choice([1, -1])
        total = sub + tax + shipping - discount + hidden
        further = {
            "Shipping": shipping,
            "Discount": discount,
            "Fee": some(0, 3),
            "Gift Card": tax,
            "Net": total - some(1, 3),
            "Refund": some(0, 4, 0.2),
            "Tip": some(0, 3, 0.3),
        }
        columns = {"Subtotal": sub, "Tax": tax, "Total": total} | {
            name: cents for name, cents in further.items() if rng.random() < 0.5
        }

        assert read(pd.DataFrame({name: dollars(each) for name, each in columns.items()})).doubts


class TestInvariance:
    """What must not change the reading."""

    @examples(7, of=30)
    @given(SEEDS)
    def test_shuffled_rows_and_further_columns(self, seed) -> None:
        sales = sales_file(seed)
        mixed = np.random.default_rng(seed).permutation(len(sales.frame))
        other = sales.frame.assign(Order_Date="2026-08-14", Zip="98101", Customer_ID="7", Empty="")
        table = money_table(other.iloc[mixed].reset_index(drop=True), [*other.columns][1:])
        orders = orders_given(sales)
        before = weigh(money_table(sales.frame, [*sales.frame.columns][1:]), orders)

        after = weigh(table, None if orders is None else orders[mixed])

        assert after.sums == before.sums
        assert after.doubts == before.doubts
        assert np.array_equal(after.to_check, before.to_check[mixed])

    @examples(6, of=25)
    @given(SEEDS, st.sampled_from(["float", "decimal", "category", "arrow", "object"]))
    def test_other_dtypes(self, seed, kind) -> None:
        sales = sales_file(seed)
        frame = sales.frame.copy()
        for label in [*frame.columns][1:]:
            frame[label] = as_dtype(frame[label], kind)

        before, after = weighed(sales), weighed(sales, frame)

        assert after.sums == before.sums
        assert after.doubts == before.doubts
        assert np.array_equal(after.to_check, before.to_check)

    @examples(3, of=6)
    @given(SEEDS, st.integers(1, 40))
    def test_chunks_give_the_figures_of_the_whole(self, seed, size) -> None:
        sales = sales_file(seed, tax="added", total=True, lines="repeated", pieces="some")
        labels = [*sales.frame.columns][1:]
        verdict = weigh(money_table(sales.frame, labels), orders_given(sales))
        sums = verdict.likeliest
        if sums is None:
            return
        whole, apart = OrderFigures(sums), OrderFigures(sums)
        whole.add(money_table(sales.frame, labels), sales.orders)
        for start in range(0, len(sales.frame), size):
            rows = slice(start, start + size)
            named = verdict.file.table.columns
            chunk = money_table(sales.frame.iloc[rows], labels, named=named)
            apart.add(chunk, sales.orders[rows])

        for one, other in zip(
            (whole.rows().goods, whole.rows().tax, whole.rows().rest, whole.rows().wrong),
            (apart.rows().goods, apart.rows().tax, apart.rows().rest, apart.rows().wrong),
            strict=True,
        ):
            assert one.tolist() == other.tolist()

    def test_adding_up_lines_gives_the_orders(self) -> None:
        frame = lined(LINES, Subtotal=PRICES, Tax=TAX, Total=plus(PRICES, TAX))
        frame = frame.rename(columns={"Item": "Item Amount"}).sample(frac=1, random_state=3)

        found = figures(read(frame), frame)

        assert sorted(found.goods.tolist()) == sorted(PRICES)
        assert int(found.tax.sum()) == sum(TAX)


def as_dtype(column, kind) -> pd.Series:
    if kind in {"category", "object"}:
        return column.astype(kind)
    numbers = [None if one == "" else Decimal(one) for one in column]
    if kind == "float":
        return pd.Series([np.nan if one is None else float(one) for one in numbers], dtype=float)
    decimals = pd.Series(numbers, dtype=object)
    return decimals.astype(pd.ArrowDtype(pa.decimal128(18, 2))) if kind == "arrow" else decimals


CASES = {
    "one Squarespace order with a discount": (
        (
            "Order ID,Subtotal,Shipping,Taxes,Amount Refunded,Total,Discount Code,Discount Amount,"
            "Lineitem quantity,Lineitem price\n81,100,8,9.28,0,97.28,SAVE20,20,1,60"
        ),
        (8000, 800, 928),
    ),
    "a Squarespace order of two rows": (
        (
            "Order ID,Subtotal,Shipping,Taxes,Total,Discount Amount,Lineitem quantity,"
            "Lineitem price\n"
            "81,100,8,11.39,119.39,0,1,60\n81,,,,,,1,40"
        ),
        (10000, 800, 1139),
    ),
    "TikTok with one row for each SKU": (
        (
            "Order ID,Quantity,SKU Subtotal Before Discount,SKU Subtotal After Discount,"
            "Shipping Fee After Discount,Taxes,Order Amount,Order Refund Amount\n"
            "1,1,60,60,0,10.55,110.55,0\n1,1,40,40,0,10.55,110.55,0"
        ),
        (10000, 0, 1055),
    ),
    "Easy Digital Downloads": ("ID,Amount ($),Tax ($)\n77,110.55,10.55", (10000, 0, 1055)),
    "an invoice amount": (
        "Invoice,Goods,Sales Tax,Invoice Amount\nI1,100.00,10.55,110.55",
        (10000, 0, 1055),
    ),
    "a discount, one row": (
        "Order ID,Subtotal,Discount,Shipping,Sales Tax,Total\n81,100.00,20.00,8.00,9.28,97.28",
        (8000, 800, 928),
    ),
}


def texts(written) -> pd.DataFrame:
    rows = [*csv.reader(written.splitlines())]
    return pd.DataFrame(rows[1:], columns=rows[0], dtype=str).fillna("")


class TestCases:
    """Small files that people have: one order each, which its rate confirms."""

    @pytest.mark.parametrize("name", CASES)
    def test_one_order_is_read_rightly_with_its_rate_and_else_asked(self, name) -> None:
        written, (goods, delivery, tax) = CASES[name]
        frame = texts(written)
        frame = frame.rename(columns={frame.columns[0]: "Order"})

        assert read(frame).sums is None
        verdict = with_rates(read(frame))

        assert verdict.sums is not None
        assert not verdict.to_check.any()
        found = figures(verdict, frame)
        assert found.goods.tolist() == [goods]
        assert found.delivery.tolist() == [delivery]
        assert found.tax.tolist() == [tax]

    def test_totals_on_both_rows_of_one_order_are_asked(self) -> None:
        row = "900,20.00,100.00,8.00,0.00,97.28,9.28"
        frame = texts(
            "Order,Cart Discount Amount,Order Subtotal Amount,Order Shipping Amount,Order Refund"
            f" Amount,Order Total Amount,Order Total Tax Amount,Item Cost\n{row},60.00\n{row},40.00"
        )

        verdict = with_rates(read(frame))

        assert asked(verdict) == ["level"]
        answered = with_rates(read(frame, Answers(once=verdict.doubts[0].likely)))
        assert figures(answered, frame).tax.tolist() == [928]

    def test_the_first_row_of_ebay_is_asked(self) -> None:
        frame = texts("Order,Quantity,Sold For\n11-1,2,$60.00\n11-1,,$40.00\n11-1,,$20.00")

        assert asked(read(frame)) == ["heads"]


def export(name) -> tuple[pd.DataFrame, np.ndarray | None]:
    """A sample export as a file of which nothing is known, with its orders."""
    path = EXPORTS / name
    rows = [
        *csv.reader(
            path.read_text("utf-8-sig").splitlines(), delimiter="\t" if name[-4:] == ".txt" else ","
        )
    ]
    head = next(place for place, row in enumerate(rows) if len([one for one in row if one]) > 5)
    whole = [row for row in rows[head + 1 :] if sum(map(bool, row)) > 4]
    frame = pd.DataFrame(whole, columns=rows[head], dtype=str)
    number = next(
        (label for label in ("Name", "Order", "Order Number", "amazon-order-id", "Num")
         if label in frame), None)  # fmt: skip
    return frame, None if number is None else orders_of(frame, number)


class TestExports:
    """The sample exports, read as files of which nothing is known."""

    @pytest.mark.parametrize(
        ("name", "sums"),
        [
            ("shopify.csv", "'Total' = 'Subtotal' + 'Shipping' + 'Taxes'"),
            (
                "square.csv",
                "'Order Total' = 'Order Subtotal' + 'Order Shipping Price' + 'Order Tax Total'",
            ),
            (
                "woocommerce.csv",
                (
                    "'Order Total Amount' = 'Order Subtotal Amount' - 'Cart Discount Amount'"
                    " + 'Order Shipping Amount' + 'Order Total Tax Amount'"
                ),
            ),
            (
                "etsy.csv",
                "'Order Total' = 'Order Value' - 'Discount Amount' + 'Shipping' + 'Sales Tax'",
            ),
            ("quickbooks.csv", "'Amount' = 'Sales price' x 'Quantity'"),
        ],
    )
    def test_its_sums_are_proven(self, name, sums) -> None:
        frame, orders = export(name)

        verdict = weigh(money_table(frame, list(frame.columns)), orders)

        assert sums_in_words(verdict.sums) == sums
        assert verdict.sums.witness == "sum"
        assert not verdict.to_check.any()

    @pytest.mark.parametrize(
        ("name", "reasons"),
        [
            ("stripe.csv", {"payments"}),
            ("bigcommerce.csv", {"near"}),
            (
                "amazon.txt",
                {"tax_beside", "delivery_beside", "discount_beside", "wrap_beside"},
            ),
        ],
    )
    def test_what_its_sums_do_not_prove_is_asked(self, name, reasons) -> None:
        frame, orders = export(name)

        verdict = weigh(money_table(frame, list(frame.columns)), orders)

        assert set(asked(verdict)) == reasons

    @pytest.mark.parametrize(
        ("name", "tax", "collected"),
        [
            ("woocommerce.csv", "Order Total Tax Amount", 536217),
            ("square.csv", "Order Tax Total", 553893),
        ],
    )
    def test_the_tax_of_an_order_counts_once(self, name, tax, collected) -> None:
        frame, orders = export(name)
        table = money_table(frame, list(frame.columns))
        verdict = weigh(table, orders)
        added = OrderFigures(verdict.sums)

        added.add(table, orders)

        assert [one.label for one in verdict.sums.tax] == [tax]
        assert int(added.rows().tax.sum()) == collected
