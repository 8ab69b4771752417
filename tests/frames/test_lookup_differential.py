"""Every row has the answer to its own cells: against a lookup of each row by itself."""

from __future__ import annotations

import datetime as dt
import json
import zlib
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples
from support.faults import answer, serving
from support.frames import queries_of

from svc_sdk import Svc
from svc_tools.demo.run import orders as demo_orders
from svc_tools.frames.lookup.columns import find_inputs
from svc_tools.frames.lookup.results import lookups_of
from svc_tools.lookup.reviewing import as_of_status, review_reasons
from svc_tools.tables.dates import DateTerms
from svc_tools.tables.places import Cells, PlaceQuery, first_day, on_day, place_query
from svc_tools.tables.text_dtype import text_dtype

CHICAGO = ZoneInfo("America/Chicago")


def by_query(seen):
    """The rate is a function of the query alone: a result in a wrong row shows."""
    url = urlsplit(seen.target)
    query = {"state": url.path[-2:], **dict(parse_qsl(url.query))}
    digest = zlib.crc32(json.dumps(sorted(query.items())).encode())
    rate = {
        "state": query["state"],
        "zip": query.get("zip"),
        "city": query.get("city", "Echo"),
        **dict.fromkeys(("combined_rate", "state_rate"), f"0.{digest % 20_000:05d}"),
        "freight_taxable": bool(digest & 1),
    }
    meta = {"confidence": "high", "resolved_via": "zip5", "warnings": []}
    return answer(body=json.dumps({"rate": rate, "meta": meta}).encode())


@pytest.fixture(scope="module")
def echo():
    with serving() as faults, Svc("k", base_url=faults.base_url, max_retries=0) as client:
        faults.will(by_query)
        yield client


_STATES = ["TX", "Texas", "tx ", "WA", "US-CA", "NJ", "ZZ", "PR", "Ontario", "", None, "n/a"]
_ZIPS = [
    *("78701", "78701-1234", 78701, 78701.0, "07030", 7030, "7030", "98101", "1", "", None),
    "K1A 0B6",
]
_CITIES = ["Austin", "Seattle, WA", "echo", "", None, "San José"]
_ADDRESSES = ["1 Main St, Austin, TX 78701", "1 Elm St", "short", "", None]
_NUMBERS = [30.2672, "30.2672", -97.7431, 0, 0.0, -0.0, None, "x", float("inf")]
_DATES = [
    "2026-05-01",
    dt.date(2026, 5, 1),
    dt.datetime(2026, 5, 1, 23, 30),  # noqa: DTZ001 - as cells are
    dt.datetime(2026, 5, 2, 3, 30, tzinfo=dt.UTC),
    "2026-05-01T23:30:00-07:00",
    pd.Timestamp("2025-12-31"),
    "20260501",
    20260501,
    20260501.0,
    "May 1, 2026",
    "pending",
    None,
    pd.NaT,
]
_ROLES = {
    "state": _STATES,
    "zip": _ZIPS,
    "city": _CITIES,
    "address": _ADDRESSES,
    "lat": _NUMBERS,
    "lng": _NUMBERS,
    "as_of": _DATES,
}


@st.composite
def frames(draw):
    """A messy frame: columns of mixed cells, and an index that says nothing of the rows."""
    roles = ["zip", *(role for role in _ROLES if role != "zip" and draw(st.booleans()))]
    rows = draw(st.integers(0, 8))
    cells = {
        role: draw(st.lists(st.sampled_from(_ROLES[role]), min_size=rows, max_size=rows))
        for role in roles
    }
    index = draw(st.sampled_from([range(rows), [7] * rows, range(rows, 0, -1)]))
    return pd.DataFrame(
        {role: pd.Series(column, dtype=object) for role, column in cells.items()}
    ).set_axis(list(index))


def by_itself(client, cells, grain, *, dated):
    """What one row gets that is looked up alone."""
    one = place_query(Cells(**cells), dated=dated, style=DateTerms(tz=CHICAGO).style())
    if not isinstance(one, PlaceQuery):
        return one.status, None, one.reason
    arguments = one.place.arguments()
    if one.place.as_of is not None:
        arguments["as_of"] = first_day(one.place.as_of, grain)
    answer = client.lookup(one.place.state, **arguments)
    return "ok", answer.combined_rate_string, None


def same(client, frame, result, grain, prefix=""):
    columns = [role for role in frame.columns if role in _ROLES]
    shown = result[[f"{prefix}lookup_status", f"{prefix}combined_rate", f"{prefix}lookup_error"]]
    for cells, told in zip(
        frame[columns].itertuples(index=False), shown.itertuples(index=False), strict=True
    ):
        row = dict(zip(columns, cells, strict=True))
        expected = by_itself(client, row, grain, dated="as_of" in columns)
        status, rate, error = (None if pd.isna(value) else value for value in told)
        assert (status, None if rate is None else f"{rate:.5f}", error) == expected, row


_FOR = examples(12, of=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_FOR
@pytest.mark.filterwarnings("ignore:No row can be used")
@given(
    frame=frames(),
    grain=st.sampled_from(["day", "month", "quarter"]),
    prefix=st.sampled_from(["", "x_"]),
)
def test_every_row_has_the_answer_that_it_would_get_alone(echo, frame, grain, prefix):
    given_columns = {role: role if role in frame else False for role in _ROLES}
    result = frame.svc.lookup(
        client=echo, progress=False, tz=CHICAGO, as_of_grain=grain, prefix=prefix, **given_columns
    )
    assert result.index.equals(frame.index)
    same(echo, frame, result, grain, prefix)


_FORMS = {
    "str": lambda values: pd.array(values, text_dtype()),
    "object": lambda values: np.array(values, object),
    "arrow": lambda values: pd.array(values, pd.ArrowDtype(pa.string())),
    "view": lambda values: pd.array(values, pd.ArrowDtype(pa.large_string())),
    "dictionary": lambda values: pd.array(
        values, pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    ),
    "category": pd.Categorical,
    "unused": lambda values: pd.Categorical(values, categories=["zz", *dict.fromkeys(values), "a"]),
}


@pytest.mark.parametrize("form", _FORMS)
def test_every_form_of_many_rows_filtered_and_sorted(echo, form):
    chosen = np.random.default_rng(20_261_121).integers(0, 12, (12_000, 2))
    states = np.array(["TX", "WA", "CA"], object)[chosen[:, 0] % 3]
    zips = np.array([f"{78701 + one}" for one in range(12)], object)[chosen[:, 1]]
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(chosen[:, 0] // 3, unit="D")
    frame = pd.DataFrame({"state": _FORMS[form](states), "zip": _FORMS[form](zips), "as_of": days})
    frame = frame[chosen[:, 1] != 3].sort_values(["zip", "as_of"]).iloc[5:-5]
    result = frame.svc.lookup(client=echo, progress=False)
    assert result.index.equals(frame.index)
    distinct = frame.astype({"state": text_dtype(), "zip": text_dtype()}).drop_duplicates()
    alone = {
        tuple(row): by_itself(echo, dict(zip(frame.columns, row, strict=True)), "day", dated=True)
        for row in distinct.itertuples(index=False)
    }
    expected = [
        alone[tuple(row)][1]
        for row in frame.astype({"state": text_dtype(), "zip": text_dtype()}).itertuples(
            index=False
        )
    ]
    assert [f"{rate:.5f}" for rate in result["combined_rate"]] == expected


_MOMENTS = [
    pd.NaT,
    *pd.to_datetime(
        [
            "1677-09-21 00:12:44",
            "1900-01-01",
            "1969-12-31 23:59:59.999999",
            "1970-01-01",
            "2024-02-29 12:00",
            "2026-03-08 05:59:59",  # the hour before midnight in Chicago, and the hour of it
            "2026-03-08 06:00",
            "2026-11-01 04:59:59.999",
            "2026-11-01 05:00",
            "2026-11-01 06:30",
            "2262-04-11 00:00",
        ],
        format="ISO8601",
    ),
]
_DATED = {
    "datetime64[ns]": "datetime64[ns]",
    "datetime64[us]": "datetime64[us]",
    "datetime64[s]": "datetime64[s]",
    "utc": "datetime64[ns, UTC]",
    "tokyo": "datetime64[us, Asia/Tokyo]",
    "arrow": pd.ArrowDtype(pa.timestamp("us")),
    "arrow[ns]": pd.ArrowDtype(pa.timestamp("ns")),
    "arrow utc": pd.ArrowDtype(pa.timestamp("us", "UTC")),
    "arrow tokyo": pd.ArrowDtype(pa.timestamp("us", "Asia/Tokyo")),
    "date32": pd.ArrowDtype(pa.date32()),
    "object": object,
    "category": "category",
    "period": "period[D]",
}


@pytest.mark.parametrize("form", _DATED)
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
def test_every_form_of_a_date_is_the_day_that_its_cell_names(form, many):
    chosen = np.random.default_rng(5).integers(0, len(_MOMENTS), 11_000 if many else 40)
    dates = pd.Series([_MOMENTS[one] for one in chosen], dtype="datetime64[us]")
    if form == "date32":
        dates = dates.dt.floor("D")
    frame = pd.DataFrame({"state": "TX", "zip": "78701", "as_of": _cast(dates, _DATED[form])})
    frame = frame.iloc[3:].sample(frac=0.9, random_state=1)
    got = [one for one, _ in queries_of(frame, find_inputs(frame, {}, DateTerms(tz=CHICAGO)))]
    assert [one.place.as_of if isinstance(one, PlaceQuery) else one.reason for one in got] == [
        one.place.as_of if isinstance(one, PlaceQuery) else one.reason
        for one in (
            place_query(
                Cells(state="TX", zip="78701", as_of=cell),
                dated=True,
                style=DateTerms(tz=CHICAGO).style(),
            )
            for cell in frame["as_of"].tolist()
        )
    ]


def _cast(dates, dtype):
    if dtype == "period[D]":
        return dates.dt.to_period("D")
    arrow = getattr(dtype, "pyarrow_dtype", None)
    if getattr(arrow, "tz", None) or (isinstance(dtype, str) and ", " in dtype):
        dates = dates.dt.tz_localize("UTC")
    return dates.astype(dtype)


@pytest.mark.parametrize("grain", ["day", "quarter"])
@pytest.mark.parametrize("client", ["embedded", "served"])
def test_what_is_said_of_every_row_is_what_the_rules_say_of_its_answer(request, client, grain):
    frame = (
        demo_orders()
        .iloc[::4]
        .svc.lookup(client=request.getfixturevalue(client), progress=False, as_of_grain=grain)
    )
    (lookup,) = lookups_of(frame)
    outcomes, roles = lookup.results.by_place(), lookup.inputs.columns
    assert len(outcomes) > 50
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        cells = Cells(**{role: row[label] for role, label in roles.items()})
        one = place_query(cells, dated=True)
        proved = None
        if isinstance(one, PlaceQuery):
            own = one.place.as_of
            asked_day = own if client == "embedded" else first_day(own, grain)
            outcome = outcomes[on_day(one, asked_day).place]
            status = outcome.status
            codes = (row["warnings"] or "").split("; ")
            reasons = review_reasons(outcome, codes, own)
            proved = as_of_status(outcome.found, asked_day, own, outcome.looked_up_at)
        else:
            status, reasons = one.status, (one.status,)
        told = (row["lookup_status"], row["as_of_status"], row["lookup_review_reason"])
        assert told == (status, proved, "; ".join(reasons) or None)
        assert row["needs_review"] == bool(reasons)
