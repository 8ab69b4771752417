"""Amounts with decimal points and commas: the column decides, then the file, else the user."""

from __future__ import annotations

import random
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from svc_tools.frames.values.decimal_marks import evidence_of, marks_of
from svc_tools.frames.values.money import whole_cents

CENTS = st.integers(-(10**13), 10**13)
FORMS = {  # the mark between the thousands, the decimal mark, and how the column is read
    "US": (",", ".", "point"),
    "plain": ("", ".", "point"),
    "Swiss": ("'", ".", "point"),
    "typographic": ("\u2019", ".", "point"),
    "German": (".", ",", "comma"),
    "plain comma": ("", ",", "comma"),
    "French": ("\u202f", ",", "comma"),
    "Swedish": ("\u00a0", ",", "comma"),
    "thin": ("\u2009", ",", "comma"),
    "blank": (" ", ",", "comma"),
    "apostrophe and comma": ("'", ",", "comma"),
}
AROUND = ["-{}", "({})", "{}-", "-${}", "$-{}", "($ {})", "-{} $", "USD -{}", "-{} usd", "US$ -{}"]


def as_written(cents, form, around="-{}"):
    thousands, decimal, _ = FORMS[form]
    number = f"{Decimal(abs(cents)).scaleb(-2):,}"
    number = number.replace(".", "#").replace(",", thousands).replace("#", decimal)
    if cents < 0:
        return around.format(number)
    return around.translate({ord(sign): "" for sign in "-()"}).format(number)


def read(texts, mark):
    cents, wrong, _ = whole_cents(pd.Series(texts, dtype=object), mark=mark)
    return [None if row in wrong else int(one) for row, one in enumerate(cents)]


def decided(texts, *, semicolons=False):
    marks = marks_of({"Amount": pd.Series(texts, dtype=object)}, semicolons=semicolons)
    return marks.of["Amount"]


@pytest.mark.parametrize("form", FORMS)
@examples(7, of=30)
@given(st.lists(CENTS, min_size=1), st.sampled_from(AROUND))
def test_amounts_of_every_convention_are_read_back_exactly(form, cents, around):
    texts = [as_written(one, form, around) for one in cents]
    mark = FORMS[form][2]
    assert evidence_of(pd.Series(texts)).mark == mark
    assert read(texts, mark) == cents


@pytest.mark.parametrize("form", FORMS)
@examples(7, of=30)
@given(st.lists(st.integers(-(10**11), 10**11), min_size=1))
def test_whole_dollars_of_every_convention_are_read_or_asked_about(form, amounts):
    thousands, decimal, _ = FORMS[form]
    texts = [as_written(100 * one, form).split(decimal)[0] + "-" * (one < 0) for one in amounts]
    texts = [text.removeprefix("-") for text in texts]
    for semicolons in (False, True):
        marks = marks_of({"Amount": pd.Series(texts)}, semicolons=semicolons)
        cents = read(texts, marks.of["Amount"])
        grouped = thousands in {".", ","} and max(map(abs, amounts)) >= 1000
        if not grouped:
            assert not marks.undecided
        for one, found in zip(amounts, cents, strict=True):
            assert found in {100 * one, None}
        if not marks.undecided:
            assert cents == [100 * one for one in amounts]


PROOFS = {
    "point": ["12.50", ".5", "12.5", "1,234.50", "1,000,000", "0.125", "1.2345"],
    "comma": ["12,50", ",5", "12,5", "1.234,56", "1 234,56", "1.000.000", "0,125", "1'234,5"],
}


@pytest.mark.parametrize("around", ["{}", "({})", "{}-", "$ {}", "USD {}", "€ {}", "{} EUR", "-{}"])
@pytest.mark.parametrize(
    ("mark", "proof"), [(m, one) for m, each in PROOFS.items() for one in each]
)
def test_a_cell_proves_the_mark_of_its_column(mark, proof, around):
    assert evidence_of(pd.Series([around.format(proof), "950", None, "n/a"])).mark == mark


@pytest.mark.parametrize("proof", PROOFS["comma"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_thousand_is_never_a_dollar_where_a_cell_has_a_decimal_comma(proof, place):
    texts = ["1.000", "2.500", "-1.000"]
    texts.insert(place, proof)
    cents = read(texts, evidence_of(pd.Series(texts)).mark)
    del cents[place]
    assert cents == [100_000, 250_000, -100_000]


@pytest.mark.parametrize("other", ["1 234", "1'234", "1\u202f234", "1'234.50", "1 234.50", "12.50"])
def test_a_thousand_is_never_a_dollar_where_other_cells_are_not_written_with_three_decimals(other):
    texts = ["1.000", other]
    mark = decided(texts, semicolons=True)
    assert mark == "both"
    assert read(texts, mark)[0] is None


@pytest.mark.parametrize(
    ("texts", "own", "commas", "semicolons"),
    [
        (["1.000", "2.500", "950"], "either", "either", "comma"),
        (["1.234"], "either", "either", "comma"),
        (["1,234"], "either", "point", "either"),
        (["1,000", "950"], "either", "point", "either"),
        (["1,234", "1,234.50"], "point", "point", "point"),
        (["1,234", "12.50"], "point", "point", "point"),
        (["1.000", "0.125"], "point", "point", "point"),
        (["1.000", "1234.500"], "point", "point", "point"),
        (["1.000", "1.000.000"], "comma", "comma", "comma"),
        (["1,000", "1,000,000"], "point", "point", "point"),
        (["1,000", "0,125"], "comma", "comma", "comma"),
        (["1,000", "12,50"], "both", "both", "both"),
        (["1,000", "1'234.50"], "both", "both", "both"),
        (["1,000", "1'234.50", "1,234.50"], "point", "point", "point"),
        (["1,000", "1.000"], "both", "both", "both"),
        (["1,234", "1.234"], "either", "either", "either"),
        (["1.234,56", "1,234.56"], "both", "both", "both"),
        (["12.50", "12,50"], "both", "both", "both"),
        (["1 234", "950"], "comma", "comma", "comma"),
        (["1'234", "950"], "point", "point", "point"),
        (["950", "1200", "0"], "none", "point", "point"),
        (["€ 1.000", "¥10,000"], "none", "point", "point"),
        (["€ 1.000,00", "1.000"], "comma", "comma", "comma"),
        (["n/a", "", None], "none", "point", "point"),
        (["1,23,456.00"], "point", "point", "point"),
        (["1,00.00", "1.2.3", "12 50"], "none", "point", "point"),
    ],
)
def test_the_mark_of_a_column_by_itself_and_in_a_file(texts, own, commas, semicolons):
    assert evidence_of(pd.Series(texts, dtype=object)).mark == own
    assert decided(texts) == commas
    assert decided(texts, semicolons=True) == semicolons


def test_whole_dollars_of_a_file_with_semicolons_are_thousands():
    texts = ["1.000", "2.500", "950"]
    assert read(texts, decided(texts, semicolons=True)) == [100_000, 250_000, 95_000]
    assert read(texts, decided(texts)) == [None, None, 95_000]
    assert read(["950", "1200"], decided(["950", "1200"], semicolons=True)) == [95_000, 120_000]


def marks_in_file(*columns, **options):
    named = dict(zip("ABC", map(pd.Series, columns), strict=False))
    marks = marks_of(named, **options)
    return [*marks.of.values()], [*marks.undecided]


@pytest.mark.parametrize("semicolons", [False, True])
def test_a_column_without_evidence_is_read_as_the_others_of_its_file(semicolons):
    of = {"semicolons": semicolons}
    assert marks_in_file(["1.000"], ["12,50"], ["950"], **of) == (["comma"] * 3, [])
    assert marks_in_file(["1.000"], ["12.50"], ["950"], **of) == (["point"] * 3, [])
    assert marks_in_file(["1,234"], ["12,50"], **of) == (["comma"] * 2, [])
    assert marks_in_file(["1,234"], ["12.50"], **of) == (["point"] * 2, [])
    two_ways = (["either", "comma", "point"], ["A"])
    assert marks_in_file(["1.000"], ["12,50"], ["12.50"], **of) == two_ways
    assert marks_in_file(["1,000"], ["12,50"], ["12.50"], **of) == two_ways
    assert marks_in_file(["1.000"], ["12,50", "12.50"], **of) == (["either", "both"], ["A"])


def test_columns_that_nothing_decides_are_asked_about_together():
    assert marks_in_file(["1.000"], ["1,000"], semicolons=True) == (["either"] * 2, ["A", "B"])
    assert marks_in_file(["1.000"], ["1,000"]) == (["either", "point"], ["A"])
    columns = {"Price": pd.Series(["1.000", "950"]), "Tax": pd.Series(["2.500"])}
    marks = marks_of(columns)
    question = marks.question()
    assert question is not None
    assert (question.argument, question.columns) == ("decimal", ("Price", "Tax"))
    assert question.values == ("point", "comma")  # noqa: PD011 - not of a frame
    assert question.likely == "comma"  # 950 has no decimals, so 1.000 has none
    assert question.why == "in 'Price', 'Tax' '1.000' could be 1.00 or 1,000.00 dollars"
    long = marks_of({"Price": pd.Series(["1.000", "1200"])}).question()
    assert long is not None
    assert long.likely == "point"
    for answer in ("point", "comma"):
        answered = marks_of(columns, decimal=answer)
        assert (set(answered.of.values()), answered.question()) == ({answer}, None)


def test_an_answer_is_not_read_into_columns_that_prove_another_mark():
    answered = marks_in_file(["1.000"], ["12.50"], ["12,50", "12.50"], decimal="comma")
    assert answered == (["comma", "point", "comma"], [])


def test_how_a_column_is_read_is_said():
    columns = {
        "A": pd.Series(["1.000"]),
        "B": pd.Series(["12,50"]),
        "C": pd.Series(["950"]),
        "D": pd.Series(["12,50", "12.50"]),
    }
    assert marks_of({**columns, "D": columns["C"]}).notes() == [
        "'A' is read with a decimal comma: '1.000' is 1,000.00",
        "'B' is read with a decimal comma: '12,50' is 12.50",
    ]
    assert marks_of({"A": columns["A"], "B": pd.Series(["12.50"])}).notes() == [
        "'A' is read with a decimal point: '1.000' is 1.00"
    ]
    (contradicting,) = marks_of({"D": columns["D"]}).notes()
    assert contradicting == (
        "'D': cells such as '12,50' and '12.50' contradict each other on the decimal mark; those"
        " that could be meant otherwise are not read"
    )
    assert marks_of({"A": pd.Series(["1,234", "12.50"])}).notes() == []


@given(st.lists(CENTS, min_size=1), st.lists(CENTS, min_size=1))
def test_a_column_of_two_conventions_is_refused(american, german):
    texts = [as_written(one, "US") for one in american]
    texts += [as_written(one, "German") for one in german]
    assert evidence_of(pd.Series(texts)).mark == "both"
    assert read(texts, "both") == [*american, *[None] * len(german)]
    _, wrong, _ = whole_cents(pd.Series(texts), mark="both")
    assert all("contradict each other" in reason for reason in wrong.values())


@pytest.mark.parametrize("mark", ["both", "either"])
def test_what_could_be_read_in_two_ways_is_not_read_in_a_column_that_does_not_decide(mark):
    texts = ["1.000", "1,000", "12.505", "1,234", "950", "12.50", "1,234.50", "1,000,000", "0,5"]
    assert read(texts, mark) == [None] * 3 + [123_400, 95_000, 1250, 123_450, 100_000_000, None]
    _, wrong, _ = whole_cents(pd.Series(texts), mark=mark)
    assert wrong[0] == (
        "amount: '1.000' could be 1.00 or 1,000.00; say whether it has a decimal point or a"
        " decimal comma (decimal)"
    )


@pytest.mark.parametrize(
    ("mark", "texts", "reason"),
    [
        ("point", ["12,50", "1.234,56", "1.000.000", "0,125", "1 234", "1,23,456.00", "12$50"], ""),
        ("comma", ["12.50", "1,234.56", "1,000,000", "0.125", "12 50", "1.00,00", "1 234.567"], ""),
        ("point", ["12.505", "0.125"], "not a whole number of cents"),
        ("comma", ["12,505", "1.234,567"], "not a whole number of cents"),
    ],
)
def test_a_cell_that_contradicts_the_mark_has_a_reason_and_no_figure(mark, texts, reason):
    assert read(texts, mark) == [None] * len(texts)
    _, wrong, _ = whole_cents(pd.Series(texts), mark=mark)
    such = "12.50" if mark == "point" else "12,50"
    expected = reason or f"is not a number of dollars such as {such}"
    assert all(expected in one for one in wrong.values())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("€ 12,50", "€"),
        ("12.50 EUR", "EUR"),
        ("eur 1.000", "eur"),
        ("£5", "£"),
        ("(CAD 5.00)", "CAD"),
        ("C$ 5.00", "C$"),
        ("$5.00 CAD", "CAD"),
        ("R$ 5,00", "R$"),
        ("5,00 kr", "kr"),
        ("5,00 zł", "zł"),
        ("CHF 1'234.50", "CHF"),
        ("¥10,000", "¥"),
    ],
)
@pytest.mark.parametrize("mark", ["point", "comma", "both", "either"])
def test_another_currency_in_a_cell_is_no_amount_of_dollars(mark, text, named):
    _, wrong, _ = whole_cents(pd.Series([text]), mark=mark)
    assert wrong == {0: f"amount: in {named}, not in US dollars"}


def test_dollars_are_named_in_several_ways():
    texts = ["USD 12.50", "12.50 USD", "US$12.50", "$12.50 USD", "12.50 US$", "usd 12.50", "12.50$"]
    assert read(texts, "point") == [1250] * len(texts)
    assert read(["12,50 $US", "1 250,00 $", "USD 12,50"], "comma") == [1250, 125_000, 1250]
    assert read(["$12.50$", "USD", "12.50 dollars", "12.50 CR", "XUSD 1"], "point") == [None] * 5


MONEY_TEXTS = {
    "$1,234.50": 123_450,
    "(12.50)": -1250,
    "($12.50)": -1250,
    "$(12.50)": -1250,
    "-$12.50": -1250,
    "$-12.50": -1250,
    "12.50-": -1250,
    "\u00a012.50 ": 1250,
    "1,234": 123_400,
    ".5": 50,
    "USD 12.50": None,
    "12,50": None,
    "1.234,56": None,
    "\u221212.50": None,
    "12.50 CR": None,
    "12.505": None,
    "1 234.50": None,
}


def test_one_column_of_many_kinds_of_texts():
    texts = pd.Series([*MONEY_TEXTS])
    assert read(texts, evidence_of(texts).mark) == [*MONEY_TEXTS.values()]


COLUMNS = [
    ["1.000", "12,50", "950"],
    ["1.000", "2.500", "950"],
    ["1.000", "12.50", "1,234.50"],
    ["1,234", "1,234.50", "(1,000)"],
    ["1'234,50", "€ 5", "1.000"],
]
KINDS = ["object", "str", "string[python]", "string[pyarrow]", "large_string[pyarrow]", "category"]


def in_kinds(texts):
    for kind in KINDS:
        yield pd.Series([*texts, None], dtype=kind)
    coded = pa.array([*texts, None]).dictionary_encode()
    yield pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([coded])))
    parts = pa.chunked_array([pa.array(texts[:1]), pa.array([*texts[1:], None])])
    yield pd.Series(pd.arrays.ArrowExtensionArray(parts))
    yield pd.Series([*texts, None, "unused"], dtype="category").iloc[:-1]


@pytest.mark.parametrize("texts", COLUMNS)
def test_the_kind_of_the_column_does_not_matter(texts):
    mark = decided(texts, semicolons=True)
    expected = [*read(texts, mark), None]
    for column in in_kinds(texts):
        assert evidence_of(column) == evidence_of(pd.Series(texts))
        cents, wrong, _ = whole_cents(column, mark=mark)
        assert [None if row in wrong else one for row, one in enumerate(cents)] == expected


def test_unused_categories_and_numbers_show_nothing():
    column = pd.Series(["1.000", "12,50"], dtype="category")
    assert evidence_of(column.iloc[:1]).mark == "either"
    for numbers in ([1.0, 2.5], [1, 2], [Decimal("1.000"), 2]):
        assert evidence_of(pd.Series(numbers)).mark == "none"
        assert whole_cents(pd.Series(numbers), mark="comma")[1] == {}
    mixed = pd.Series([Decimal("1.000"), "1.000", 2.5, "12,50"], dtype=object)
    assert evidence_of(mixed).mark == "comma"
    assert whole_cents(mixed, mark="comma")[0].tolist() == [100, 100_000, 250, 1250]


OPEN = ["1.000", "1,000", "1.234", "1,234", "(1.000)", "$1,234", "€ 1.000"]
OTHERS = ["950", "1200", "n/a", "", "1 234", "1'234", "1 234.50", "1,234.500"]
CELLS = st.sampled_from([*PROOFS["point"], *PROOFS["comma"], *OPEN, *OTHERS])


@given(st.lists(CELLS, min_size=1, max_size=6), st.randoms(use_true_random=False), st.booleans())
def test_shuffled_rows_and_parts_of_a_column_decide_the_same(texts, chance, semicolons):
    mark = decided(texts, semicolons=semicolons)
    by_text = dict(zip(texts, read(texts, mark), strict=True))
    shuffled = random.Random(chance.random()).sample(texts, len(texts))  # noqa: S311
    assert decided(shuffled, semicolons=semicolons) == mark
    assert read(shuffled, mark) == [by_text[one] for one in shuffled]
    at = chance.randrange(len(texts) + 1)
    parts = [pd.Series(part, dtype=object) for part in (texts[:at], texts[at:])]
    evidence = evidence_of(parts[0]) | evidence_of(parts[1])
    assert marks_of({"Amount": evidence}, semicolons=semicolons).of["Amount"] == mark
    assert [one for part in parts for one in read(part, mark)] == read(texts, mark)


@given(st.lists(CELLS, min_size=1, max_size=5), st.booleans())
def test_no_column_reads_one_mark_as_thousands_and_as_decimals(texts, semicolons):
    cents = read(texts, decided(texts, semicolons=semicolons))
    found = dict(zip(texts, cents, strict=True))
    as_decimals = {"1.000": 100, "(1.000)": -100}
    for text, dollar in as_decimals.items():
        if found.get(text) == dollar:
            assert {"0.125", "1,234.500"} & {*texts}
            assert not {*PROOFS["comma"]} & {*texts}
    if found.get("1,000") == 100:
        assert "0,125" in texts
        assert not {*PROOFS["point"]} & {*texts}
