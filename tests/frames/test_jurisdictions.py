"""The parts of a rate as a cell of text: what goes in comes out."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.frames.answers import decode, encode
from svc_tools.lookup.outcomes import Component

WASHINGTON = Component("state", "Washington", "53", 6500)
SEATTLE = Component("city", "Seattle", "1726", 4050)

any_component = st.builds(
    Component,
    level=st.text(),
    name=st.text(),
    code=st.none() | st.text(),
    units=st.integers(0, 99_999),
)


@given(st.lists(any_component, min_size=1))
def test_what_is_written_is_read_back(components):
    assert decode(encode(components)) == tuple(components)


@given(st.lists(any_component, min_size=1))
def test_a_cell_fits_a_text_column_and_a_parquet_file(components):
    text = encode([*components, Component("city", "half a character: \ud83d", None, 0)])
    assert pa.array([text], pa.string()).to_pylist() == [text]
    assert pd.array([text], dtype="str")[0] == text


def test_a_cell_reads_as_the_answer_would():
    assert json.loads(encode([WASHINGTON, SEATTLE])) == [
        {"level": "state", "code": "53", "name": "Washington", "rate": "0.06500"},
        {"level": "city", "code": "1726", "name": "Seattle", "rate": "0.04050"},
    ]


def test_names_stay_readable():
    assert "Doña Ana County" in encode([Component("county", "Doña Ana County", "013", 4875)])


def test_an_answer_without_parts_has_no_cell():
    assert encode(()) is None
    assert decode(None) == decode("") == decode(" ") == ()


@pytest.mark.parametrize("units", [-1, 100_000])
def test_a_rate_that_is_no_fraction_is_refused(units):
    with pytest.raises(ValueError, match="not a fraction from 0 to 1"):
        encode([Component("state", "Nowhere", None, units)])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Seattle", "cannot be read"),
        ('{"level": "state"}', "it is no list"),
        ('["state"]', "is no object"),
        ('[{"level": "state", "code": "53", "rate": "0.06500"}]', "it lacks 'name'"),
        ('[{"level": "state", "code": 53, "name": "W", "rate": "0.06500"}]', "code is a text"),
        ('[{"level": "state", "code": "53", "name": "W", "rate": 0.065}]', "are texts"),
        ('[{"level": "state", "code": "53", "name": "W", "rate": "0.065001"}]', "0.065001"),
        ('[{"level": "state", "code": "53", "name": "W", "rate": "1.00000"}]', "not a fraction"),
        ("[" * 100_000, "cannot be read"),
    ],
    ids=["no-json", "no-list", "no-object", "no-name", "code", "float", "digits", "one", "deep"],
)
def test_another_text_is_refused_with_what_is_expected(text, why):
    with pytest.raises(ValueError, match=r"df.svc.lookup\(detail=True\)") as refused:
        decode(text)
    assert why in str(refused.value)
    assert len(str(refused.value)) < 400
