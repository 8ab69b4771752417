"""How a result is read: percentages, and warnings in sentences."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cards import answer

from svc_tools.codes import percent, sentence, with_percentages


@given(st.integers(-(10**60), 10**60), st.integers(0, 90))
def test_a_percentage_has_every_digit_of_its_rate(digits, places):
    sign = (0 if digits >= 0 else 1, tuple(map(int, str(abs(digits)))), -places)
    shown = percent(Decimal(sign))
    text, unit = shown.split(" ")
    assert unit == "%"
    assert re.fullmatch(r"-?\d+\.\d{2,}", text)
    assert Decimal(text).as_tuple().sign == sign[0]
    whole, _, fraction = text.lstrip("-").partition(".")
    assert int(whole + fraction) * 10**places == abs(digits) * 100 * 10 ** len(fraction)
    assert len(fraction) == 2 or fraction[-1] != "0"


@pytest.mark.parametrize(
    ("rate", "said"),
    [("0.08250", "8.25 %"), ("0.08625", "8.625 %"), ("0", "0.00 %"), ("0.1", "10.00 %")],
)
def test_a_percentage_has_two_decimals_and_no_idle_zeros(rate, said):
    assert percent(Decimal(rate)) == said


@pytest.mark.parametrize(
    ("warning", "said"),
    [
        ("odd", "in words"),
        ("Something else", "Something else"),
        ({"code": "odd"}, "in words (odd)"),
        ({"code": "new_one"}, "new_one"),
        ({"code": "odd", "message": {"no": "text"}}, "in words (odd)"),
        ({"code": "odd", "message": "its own, 0.08250"}, "its own, 8.25 % (odd)"),
        (
            {
                "code": "place_input_mismatch",
                "customer_input_place": "Pflug",
                "resolved_place_name": "Austin",
            },
            "The place given is Pflug, and the rate is that of Austin (place_input_mismatch)",
        ),
    ],
)
def test_a_warning_is_a_sentence_and_keeps_its_code(warning, said):
    (one,) = answer(warnings=[warning]).warnings
    assert sentence(one, {"odd": "in words"}) == said


def test_only_rates_become_percentages():
    text = "0.08250, 1.00000; not 10.08250, 0.082501, 1.0.08250 or 2026.05"
    assert (
        with_percentages(text) == "8.25 %, 100.00 %; not 10.08250, 0.082501, 1.0.08250 or 2026.05"
    )
