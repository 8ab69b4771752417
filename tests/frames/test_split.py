"""Rows by what they can be used for: each in one of four groups, with its dollars."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.frames import half, line, looked_up, lost, money, taxed

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.review.summary import summarize
from svc_tools.show.display import NOTHING

DOUBTED = line(needs_review=True, lookup_review_reason="low_confidence")
KINDS = [line(), DOUBTED, half(), lost(), lost("failed", state="GA"), lost("unsupported")]
NAMES = ["ready", "to_check", "incomplete", "no_rate"]


def figures(made):
    return {part.label: (part.rows, part.sales, part.tax) for part in made.parts}


def test_each_row_is_in_one_of_four_frames_with_its_dollars():
    frame = taxed(
        [line(), DOUBTED, half(), lost(), line(), line()],
        ["100", "10", "300", "5", "-50", None],
        index=list("abcdef"),
    )
    made = frame.svc.split()
    assert {name: list(rows.index) for name, rows in made.items()} == {
        "ready": ["a", "e"],
        "to_check": ["b", "f"],  # the last has a rate, but no amount that can be taxed
        "incomplete": ["c"],
        "no_rate": ["d"],
    }
    assert list(made) == NAMES
    assert made["ready"] is made.ready
    assert figures(made) == {
        "ready": (2, Decimal("50.00"), Decimal("4.45")),
        "to check": (2, Decimal("10.00"), Decimal("0.89")),
        "incomplete": (1, Decimal("300.00"), None),
        "no rate": (1, Decimal("5.00"), None),
    }
    assert made.sentence == "2 of 6 rows are ready to use ($50.00 of sales, $4.45 of tax)."
    pd.testing.assert_frame_equal(made.to_check, frame.loc[["b", "f"]])


@given(
    st.lists(
        st.tuples(st.sampled_from(KINDS), st.none() | st.integers(-(10**6), 10**6)), max_size=12
    ),
    st.booleans(),
    st.sampled_from([None, "use"]),
)
@examples(10, of=40)
def test_the_groups_are_all_rows_once_and_agree_with_review_and_summary(drawn, with_tax, partial):
    amounts = [None if cents is None else Decimal(cents).scaleb(-2) for _, cents in drawn]
    frame = looked_up([kind for kind, _ in drawn], amount=money(amounts))
    if with_tax:
        frame = frame.svc.tax("amount", progress=False, partial=partial)
    made = frame.svc.split()
    every = pd.concat([pd.Series(rows.index) for rows in made.values()])
    assert sorted(every) == list(range(len(drawn)))
    to_review = set(frame.svc.review().rows.index)
    assert set(made.ready.index) == set(frame.index) - to_review
    assert [len(rows) for rows in made.values()] == [part.rows for part in made.parts]
    for rows, part in zip(made.values(), made.parts, strict=True):
        assert sum(rows["amount"].dropna(), Decimal(0)) == (part.sales or 0)
        assert not with_tax or sum(rows["tax"].dropna(), Decimal(0)) == (part.tax or 0)
        assert part.tax is None or with_tax
    summary = summarize(Enriched(frame))
    assert summary.by_use == made.parts
    if with_tax:
        ready, check, incomplete, _ = (part.tax or 0 for part in made.parts)
        assert (ready + check, incomplete) == (summary.money.tax, summary.money.partial_tax)


def test_after_a_lookup_alone_rows_are_counted_and_a_named_column_is_added_up():
    frame = looked_up([line(), DOUBTED, lost()], total=["100.00", "$1,250.50", None])
    made = frame.svc.split()
    assert [(part.rows, part.sales, part.tax) for part in made.parts] == [
        (1, None, None),
        (1, None, None),
        (0, None, None),
        (1, None, None),
    ]
    assert "Sales" not in str(made)
    assert figures(frame.svc.split(amount="total")) == {
        "ready": (1, Decimal("100.00"), None),
        "to check": (1, Decimal("1250.50"), None),
        "incomplete": (0, Decimal("0.00"), None),
        "no rate": (1, None, None),
    }


def test_it_prints_as_four_lines_in_a_terminal_and_in_a_notebook():
    made = taxed([line(), half(), lost()], ["100", "300", "5"], prefix="svc_").svc.split(
        prefix="svc_"
    )
    lines = [row.split()[:3] for row in str(made).splitlines()]
    assert ["ready", "1", "$100.00"] in lines
    assert repr(made) == str(made)
    html = made._repr_html_()
    assert html.count("<tr>") == 5
    assert "$8.90" in html
    assert NOTHING in html  # the tax of what has none


def test_sales_are_without_delivery_and_a_group_without_rows_shows_no_dollars():
    frame = taxed(
        [line(), line(), lost()],
        ["100", "-10", "5"],
        terms={"shipping": "delivery"},
        delivery=money(["9.99", "0", "1"]),
    )
    made = frame.svc.split()
    assert figures(made) == {
        "ready": (2, Decimal("90.00"), Decimal("8.90")),
        "to check": (0, Decimal("0.00"), Decimal("0.00")),
        "incomplete": (0, Decimal("0.00"), Decimal("0.00")),
        "no rate": (1, Decimal("5.00"), None),
    }
    assert summarize(Enriched(frame)).by_use == made.parts
    shown = [row.split() for row in str(made).splitlines()]
    assert ["to", "check", "0", NOTHING, NOTHING] in [row[:5] for row in shown]


def test_what_is_due_is_a_figure_of_its_own():
    frame = taxed(
        [line(), line()],
        ["100", "10"],
        terms={"channel": "channel"},
        channel=["direct", "marketplace"],
    )
    ready = frame.svc.split().parts[0]
    assert (ready.tax, ready.due) == (Decimal("9.79"), Decimal("8.90"))
    assert "Tax due" in str(frame.svc.split())


def test_what_is_missing_is_named_with_what_to_do():
    with pytest.raises(ValueError, match=r"lookup_status.*df\.svc\.lookup\(\)"):
        pd.DataFrame({"zip": ["78701"]}).svc.split()
    with pytest.raises(ValueError, match=r"look up again with \['needs_review'\]"):
        looked_up([line()]).drop(columns="needs_review").svc.split()
    with pytest.raises(ValueError, match="amount='…'"):
        looked_up([line()]).svc.split(amount="sum")
    with pytest.raises(KeyError, match="to_check"):
        looked_up([line()]).svc.split()["check"]
