"""Columns that the user names: read as named, unless the file proves that a dollar counts twice.

The rate in Seattle (98101) on 2026-08-14 is 10.55 %, and delivery is taxed there.
"""

from __future__ import annotations

import pandas as pd
import pytest

from svc_tools.tables.roles import ColumnAmbiguous


@pytest.fixture
def taxes(embedded):
    def of(columns: str, rows: str, **named) -> list[str]:
        frame = pd.DataFrame([one.split(",") for one in rows.split(";")], dtype=str)
        frame.columns = pd.Index(columns.split(","))
        frame = frame.assign(State="WA", Zip="98101").assign(**{"Order Date": "2026-08-14"})
        rated = frame.svc.lookup(client=embedded, cache=False, progress=False)
        return [str(one) for one in rated.svc.tax(**named)["tax"]]

    return of


PARTS = "Subtotal,Shipping,Total"
THREE = "100,8,108;50,8,58;20,8,28"


class TestDelivery:
    def test_a_total_with_the_delivery_in_it_is_refused_beside_that_delivery(self, taxes) -> None:
        with pytest.raises(ColumnAmbiguous, match="would count it twice") as refused:
            taxes(PARTS, THREE, amount="Total", shipping="Shipping")

        assert [one.argument for one in refused.value.questions] == ["contains_shipping"]
        assert refused.value.questions[0].likely is True

    @pytest.mark.parametrize(
        ("inside", "right"),
        [(True, ["11.39", "6.12", "2.95"]), (False, ["12.24", "6.96", "3.80"])],
    )
    def test_the_answer_is_taken(self, taxes, inside, right) -> None:
        named = {"amount": "Total", "shipping": "Shipping", "contains_shipping": inside}

        assert taxes(PARTS, THREE, **named) == right

    def test_goods_beside_their_delivery_are_not_asked_about(self, taxes) -> None:
        found = taxes(PARTS, THREE, amount="Subtotal", shipping="Shipping")

        assert found == ["11.39", "6.12", "2.95"]


class TestLevel:
    TWICE = "1,100;1,100;2,50;2,50;3,20;3,20"

    def test_a_named_amount_counts_on_each_row_and_that_is_said(self, taxes, capsys) -> None:
        found = taxes("Order ID,Order Total", self.TWICE, amount="Order Total")

        assert found == ["10.55", "10.55", "5.28", "5.28", "2.11", "2.11"]
        assert "once=['Order Total'] counts it once for each order" in capsys.readouterr().err

    def test_it_counts_once_where_the_user_says_so(self, taxes) -> None:
        named = {"amount": "Order Total", "once": ["Order Total"]}

        found = taxes("Order ID,Order Total", self.TWICE, **named)

        assert found == ["10.55", "0.00", "5.28", "0.00", "2.11", "0.00"]

    def test_it_counts_once_where_the_lines_prove_it(self, taxes) -> None:
        rows = "1,60,100;1,40,100;2,30,50;2,20,50;3,15,20;3,5,20"

        found = taxes("Order ID,Item Amount,Order Total", rows, amount="Order Total")

        assert found == ["10.55", "0.00", "5.28", "0.00", "2.11", "0.00"]
