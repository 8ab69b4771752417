"""The columns of a lookup: values, types, jurisdictions."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_sdk.rates import units_to_rate
from svc_tools.config import Source
from svc_tools.frames.lookup.columns import Inputs
from svc_tools.frames.lookup.joining import ResultColumns
from svc_tools.frames.lookup.results import decode, encode
from svc_tools.frames.lookup.sources import Results, ServiceName
from svc_tools.frames.lookup.survey import Survey
from svc_tools.lookup import Found, Outcome, refused
from svc_tools.lookup.columns import FACTS, LOOKUP_COLUMNS
from svc_tools.lookup.outcomes import Component
from svc_tools.lookup.reviewing import as_of_status, review_reasons
from svc_tools.tables.places import Cells, PlaceQuery, first_day, on_day, place_query, same_place
from svc_tools.tables.text_dtype import text_dtype

TODAY = date(2026, 6, 1)
WHO = ServiceName("the service", "2026Q2")
WARNINGS = (
    "zip_spans_jurisdictions",
    "place_input_mismatch",
    "as_of_after_edition",
    "seasonal_rates",
    "something_new",
)
UNITS = st.none() | st.integers(0, 99_999)
TEXT = st.none() | st.sampled_from(
    ["TX", "WA", "Austin", "Aus\N{LATIN SMALL LETTER U WITH DIAERESIS}tin", "78701", "a" * 20]
)
FOUND = st.builds(
    Found,
    combined=st.integers(0, 99_999),
    state=UNITS,
    county=UNITS,
    city=UNITS,
    districts=UNITS,
    freight_taxable=st.none() | st.booleans(),
    confidence=st.sampled_from(["exact", "high", "low", None]),
    warnings=st.lists(st.sampled_from(WARNINGS), max_size=3).map(tuple),
    resolved_via=TEXT,
    effective_date=st.sampled_from(["2026-01-01", "2026-05-01", "2026-07-01", "soon", None]),
    effective_date_basis=st.sampled_from(["publisher_effective_date", "edition_only", None]),
    resolved_state=TEXT,
    resolved_zip=TEXT,
    resolved_city=TEXT,
    resolved_county=TEXT,
    source=TEXT,
    edition=TEXT,
    accepted_places=st.lists(st.sampled_from(["Austin", "Waco"]), max_size=2).map(tuple),
    low=st.none() | st.integers(4_000, 4_002),
    high=st.integers(4_000, 4_002),
)
MOMENT = st.none() | st.integers(0, 96).map(
    lambda hours: datetime(2026, 4, 29, 0, 30, tzinfo=UTC) + timedelta(hours=hours)
)
OUTCOME = st.builds(
    Outcome, status=st.sampled_from(["ok", "partial"]), error=TEXT, found=FOUND, looked_up_at=MOMENT
) | st.builds(
    Outcome,
    status=st.sampled_from(["failed", "unresolved", "not_attempted"]),
    error=TEXT,
    support_reference=TEXT,
    looked_up_at=MOMENT,
)
ROW = st.tuples(
    st.sampled_from(["78701", "78702", "98101", "nonsense"]),
    st.sampled_from(["Austin", "Waco", None]),
    st.sampled_from(["2026-04-30", "2026-05-01", "2026-05-02", "2026-12-31", None]),
)


@pytest.mark.parametrize("grain", ["day", "month"])
@given(rows=st.lists(ROW, max_size=25), data=st.data())
def test_every_cell_is_what_the_rules_say_of_its_own_answer(grain, rows, data):
    frame = pd.DataFrame(rows, columns=["zip", "city", "sold"])
    columns = {"zip": "zip", "city": "city"}
    dated = data.draw(st.booleans(), "dated")
    if dated:
        columns["as_of"] = "sold"
    survey = Survey.of(frame, Inputs(columns, {"state": "TX"}, ()))
    results = made_up(survey, lambda: data.draw(OUTCOME), grain)
    made = ResultColumns(results).rows(survey.codes[0])
    assert tuple(made) == LOOKUP_COLUMNS
    table = pd.DataFrame({name: pd.Series(column) for name, column in made.items()})
    outcomes = results.by_place()
    for index, (zip_code, city, sold) in enumerate(rows):
        cells = Cells("TX", zip_code, city=city, as_of=sold if dated else None)
        one = place_query(cells, dated=dated)
        own = one.place.as_of if isinstance(one, PlaceQuery) else None
        expected = by_the_rules(on_day(one, first_day(own, grain)) if own else one, own, outcomes)
        told = {name: plain(table[name].iloc[index]) for name in LOOKUP_COLUMNS}
        assert told == expected


def made_up(survey, outcome, grain="day"):
    """Results of a service over HTTP: `outcome()` for each place and day."""
    wanted = survey.queries.wanted(grain)
    outcomes = [outcome() for _ in range(len(wanted))]
    numbers = np.arange(len(wanted))
    of = (WHO, Source("https://tax.example", ""), grain, survey.queries, wanted)
    return Results(*of, outcomes, numbers, today=TODAY)


def plain(cell):
    if cell is None or cell is pd.NA or cell is pd.NaT or cell != cell:  # noqa: PLR0124 - NaN
        return None
    if isinstance(cell, pd.Timestamp):
        return cell.to_pydatetime()
    return cell.item() if isinstance(cell, np.generic) else cell


def by_the_rules(one, own, outcomes):
    asks = isinstance(one, PlaceQuery)
    outcome = outcomes[one.place] if asks else refused(one)
    found = outcome.found
    day = (one.place.as_of or TODAY) if asks else None
    own = own or day
    warnings = list(found.warnings) if found else []
    if found and one.named_city and found.resolved_city:
        names = (found.resolved_city, *found.accepted_places)
        if not any(same_place(one.named_city, name) for name in names):
            warnings.append("place_input_mismatch")
    warnings = tuple(dict.fromkeys(warnings))
    reasons = review_reasons(outcome, warnings, own)

    def rate(units):
        return None if units is None else Decimal(units_to_rate(units))

    def of(name):
        return getattr(found, name) if found else None

    since = of("effective_date")
    later = {one.name: of(one.fact) for one in FACTS if one.name in LOOKUP_COLUMNS}
    return later | {
        "combined_rate": rate(of("combined")),
        "state_rate": rate(of("state")),
        "county_rate": rate(of("county")),
        "city_rate": rate(of("city")),
        "combined_district_rate": rate(of("districts")),
        "rate_low": rate(of("low")),
        "rate_high": rate(of("high")),
        "freight_taxable": of("freight_taxable"),
        "confidence": of("confidence"),
        "warnings": "; ".join(warnings) or None,
        "resolved_via": of("resolved_via"),
        "effective_date": date.fromisoformat(since) if since and since != "soon" else None,
        "effective_date_basis": of("effective_date_basis"),
        **{name: of(name) for name in LOOKUP_COLUMNS if name.startswith("resolved_")},
        "lookup_as_of": day,
        "as_of_status": as_of_status(found, day, own, outcome.looked_up_at),
        "needs_review": bool(reasons),
        "lookup_review_reason": "; ".join(reasons) or None,
        "lookup_status": outcome.status,
        "lookup_error": outcome.error,
        "support_reference": outcome.support_reference,
        "lookup_source": f"the service: {found.source}"
        if found and found.source
        else "the service",
        "lookup_edition": of("edition") or "2026Q2",
        "looked_up_at": outcome.looked_up_at,
    }


def test_columns_of_yes_and_no_can_be_written_to():
    frame = pd.DataFrame({"zip": ["78701", "78702"]})
    survey = Survey.of(frame, Inputs({"zip": "zip"}, {"state": "TX"}, ()))
    results = made_up(survey, lambda: Outcome("failed", "why"))
    table = pd.DataFrame(ResultColumns(results, "float").rows(survey.codes[0]))
    table.loc[0, ["needs_review", "freight_taxable"]] = [False, True]
    table.loc[0, "combined_rate"] = 0.5
    assert table["needs_review"].tolist() == [False, True]
    assert table["freight_taxable"].tolist() == [True, pd.NA]


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
    assert pd.array([text], dtype=text_dtype())[0] == text


def test_a_cell_reads_as_the_answer_would():
    assert json.loads(encode([WASHINGTON, SEATTLE])) == [
        {"level": "state", "code": "53", "name": "Washington", "rate": "0.06500"},
        {"level": "city", "code": "1726", "name": "Seattle", "rate": "0.04050"},
    ]


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
