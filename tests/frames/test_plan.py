"""`df.svc.plan` and its counts: everything is counted, nothing is requested or started."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import KEY, answer
from support.frames import queries_of

import svc_tools  # noqa: F401 - registers df.svc
from svc_sdk import Svc
from svc_tools.frames.lookup import queries
from svc_tools.frames.lookup.columns import Inputs
from svc_tools.frames.lookup.enrich import survey_plan
from svc_tools.frames.lookup.queries import combined_codes
from svc_tools.frames.lookup.sources import ServiceSource
from svc_tools.frames.lookup.survey import Survey
from svc_tools.frames.options import LookupOptions
from svc_tools.tables.dates import DateTerms, read_one
from svc_tools.tables.places import (
    GRAINS,
    NO_DATE,
    Cells,
    Place,
    PlaceQuery,
    Refusal,
    first_day,
    on_day,
    on_days,
    place_query,
)

ORDERS = pd.DataFrame(
    {
        "state": ["TX", "tx", "Texas", "TX", "TX", "ZZ", "PR", "TX"],
        "zip": ["78701", "78701", "78701", "78702", "78701", "1", "00901", "78701"],
        "order_date": [
            *("2024-01-05", "2024-01-05", "2024-01-20", "2024-01-05", "2024-02-01", "2024-01-05"),
            *("2024-01-05", None),
        ],
    }
)


def refused(plan, status):
    return sum(one.rows for one in plan.refused if one.status == status)


def test_everything_is_counted_and_nothing_is_asked(scripted, faults, tmp_path):
    plan = ORDERS.svc.plan(client=scripted, cache=tmp_path / "a.db", price="0.004")
    assert faults.seen == []
    assert (plan.rows, plan.places, plan.cached, plan.to_ask) == (8, 4, 0, 4)
    assert plan.grains == {"day": 4, "month": 3, "quarter": 2}
    assert plan.cost == Decimal("0.016")
    assert (refused(plan, "invalid"), refused(plan, "unsupported")) == (2, 1)
    assert any("no date" in one.reason for one in plan.refused)
    assert "zip from column 'zip'" in " ".join(plan.notes)


@pytest.mark.parametrize("grain", ["day", "month", "quarter"])
def test_the_lookup_then_sends_as_many_requests_as_the_plan_said(scripted, faults, tmp_path, grain):
    arguments = {"client": scripted, "cache": tmp_path / "a.db", "as_of_grain": grain}
    plan = ORDERS.svc.plan(**arguments)
    assert plan.to_ask == plan.grains[grain]
    ORDERS.svc.lookup(**arguments, progress=False)
    assert len(faults.seen) == plan.to_ask
    after = ORDERS.svc.plan(**arguments)
    assert (after.cached, after.to_ask) == (plan.places, 0)
    assert after.grains[grain] == 0


def test_a_dry_run_is_the_plan(scripted, faults):
    dry = ORDERS.svc.lookup(client=scripted, cache=False, dry_run=True, prefix="x_")
    assert dry == ORDERS.svc.plan(client=scripted, cache=False)
    assert faults.seen == []


def test_a_dry_run_refuses_what_the_lookup_would_refuse(scripted):
    with pytest.raises(ValueError, match="confidence"):
        ORDERS.assign(confidence=1).svc.lookup(client=scripted, dry_run=True)
    with pytest.raises(ValueError, match="locked"):
        ORDERS.svc.lookup(locked="a.svclock", dry_run=True)
    with pytest.raises(ValueError, match="price"):
        ORDERS.svc.plan(client=scripted, price="cheap")


def test_the_lookups_that_are_left_are_those_that_the_service_said_last(scripted, faults, tmp_path):
    arguments = {"client": scripted, "cache": tmp_path / "a.db"}
    orders = ORDERS.loc[[0, 2, 4]]
    assert orders.svc.plan(**arguments).quota_remaining is None
    faults.will(*(answer(X_Quota_Remaining=str(left)) for left in (4, 3, 2)))
    orders.svc.lookup(**arguments, concurrency=1, progress=False)
    plan = orders.assign(zip=["78701", "78702", "78703"]).svc.plan(**arguments)
    assert (plan.to_ask, plan.quota_remaining, plan.fits_quota) == (2, 2, True)
    plan = orders.assign(zip=["78702", "78703", "78704"]).svc.plan(**arguments)
    assert (plan.to_ask, plan.fits_quota) == (3, False)


def test_no_service_is_started_for_a_plan(tmp_path):
    code = (
        "import sys, pandas as pd, svc_tools;"
        " frame = pd.DataFrame({'state': ['TX'], 'zip': ['78701']});"
        " plan = frame.svc.plan(cache=sys.argv[1]);"
        " assert 'svc_tools.service.serving' not in sys.modules;"
        " found = plan.places, plan.cached, plan.to_ask, plan.service, plan.computed;"
        " assert found == (1, 0, 0, 'embedded service', True), plan"
    )
    path = tmp_path / "a.db"
    subprocess.run([sys.executable, "-W", "error", "-c", code, path], check=True)
    assert not path.exists()


@pytest.mark.parametrize("grain", ["day", "month", "quarter"])
def test_the_embedded_service_computes_every_day_and_caches_nothing(embedded, tmp_path, grain):
    arguments = {"cache": tmp_path / "a.db", "as_of_grain": grain}
    orders = pd.concat([ORDERS] * 2, ignore_index=True)
    for one in ({}, {"client": embedded}, {"price": "0.004"}):
        plan = orders.svc.plan(**arguments, **one)
        assert (plan.rows, plan.places, plan.grain) == (16, 4, "day")
        assert (plan.cached, plan.to_ask, plan.computed) == (0, 0, True)
        assert plan.grains == {"day": 0, "month": 0, "quarter": 0}
        assert (plan.cost or 0, plan.quota_remaining) == (0, None)
        assert (refused(plan, "invalid"), refused(plan, "unsupported")) == (4, 2)
        assert not any("first day" in note for note in plan.notes)
        orders.svc.lookup(**arguments, client=embedded, progress=False)  # the same afterwards
    assert list(tmp_path.iterdir()) == []


CHICAGO = ZoneInfo("America/Chicago")
CODES = st.lists(st.tuples(*[st.integers(-1, 5)] * 3), max_size=60)


def as_they_appear(rows):
    seen = {}
    codes = [seen.setdefault(row, len(seen)) for row in rows]
    return codes, [rows.index(row) for row in seen]


@pytest.mark.parametrize("small", [1, 4_194_304], ids=["by hash", "by table"])
@given(rows=CODES)
def test_combinations_are_numbered_as_they_appear(small, rows):
    columns = [np.array([row[i] for row in rows], np.intp) for i in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "_SMALL_SPAN", small)
        patch.setattr(queries, "_DENSE_SPAN", small)
        codes, first = combined_codes(columns, len(rows))
    assert (codes.tolist(), first.tolist()) == as_they_appear(rows)


PLACES = st.builds(
    Place,
    state=st.sampled_from(["TX", "WA"]),
    mode=st.just("address"),
    address=st.sampled_from(["1 Main Street", "2 Main Street"]),
    city=st.none() | st.just("Austin"),
    zip=st.none() | st.just("78701"),
    lat=st.none() | st.just(0.0),
)


@given(st.lists(st.tuples(PLACES, st.none() | st.dates()), max_size=20))
def test_places_made_at_once_are_those_made_one_by_one(pairs):
    made = on_days([one for one, _ in pairs], [day for _, day in pairs])
    single = [on_day(PlaceQuery(one), day).place for one, day in pairs]
    assert made == single
    assert [hash(one) for one in made] == [hash(one) for one in single]
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert set(again) == set(single)


MOMENTS = st.lists(
    st.none() | st.datetimes(datetime(2024, 10, 25), datetime(2024, 11, 10)),  # noqa: DTZ001 - local
    min_size=1,
    max_size=8,
)
FORMS = {
    "datetime64[ns]": "datetime64[ns, UTC]",
    "datetime64[s]": "datetime64[s, UTC]",
    "timestamp[us][pyarrow]": "timestamp[us, tz=UTC][pyarrow]",
}


@given(
    moments=MOMENTS,
    form=st.sampled_from(sorted(FORMS)),
    grain=st.sampled_from(GRAINS),
    tz=st.sampled_from([None, CHICAGO]),
)
def test_moments_ask_about_their_own_day(moments, form, grain, tz):
    column = pd.Series(moments, dtype="datetime64[us]")
    if tz is not None:
        column, form = column.dt.tz_localize("UTC"), FORMS[form]
    frame = pd.DataFrame({"zip": "78701", "sold": column.astype(form)})
    style = DateTerms(tz=tz).style()
    inputs = Inputs({"zip": "zip", "as_of": "sold"}, {"state": "TX"}, (), style)
    cells = [None if pd.isna(value) else value for value in frame["sold"]]
    for (one, day), value in zip(queries_of(frame, inputs, grain), cells, strict=True):
        expected = place_query(Cells("TX", "78701", as_of=value), dated=True, style=style)
        if expected is NO_DATE:
            assert (one, day) == (NO_DATE, None)
        else:
            assert day == expected.place.as_of == read_one(value, style)
            assert one == on_day(
                place_query(Cells("TX", "78701"), dated=False), first_day(day, grain)
            )


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_days_at_the_ends_of_time_are_no_others(unit):
    ends = {"s": ["0001-01-01", "9999-12-31"], "ns": ["1677-09-22", "2262-04-11"]}[unit]
    frame = pd.DataFrame({"zip": "78701", "sold": np.array(ends, f"datetime64[{unit}]")})
    asked = queries_of(frame, Inputs({"zip": "zip", "as_of": "sold"}, {"state": "TX"}, ()))
    assert [(str(one.place.as_of), str(day)) for one, day in asked] == [(end, end) for end in ends]


DATES = st.none() | st.dates(date(2025, 1, 1), date(2025, 12, 31)).map(str) | st.just("soon")
ROWS = st.lists(
    st.tuples(st.sampled_from(["78701", "78701-0000", "78702", "00501", "x"]), DATES),
    min_size=1,
    max_size=30,
)


@given(ROWS)
def test_the_plan_counts_the_questions_of_each_grain(rows):
    frame = pd.DataFrame(rows, columns=["zip", "sold"])
    read = {
        grain: [place_query(Cells("TX", place, as_of=day), dated=True) for place, day in rows]
        for grain in GRAINS
    }
    expected = {
        grain: len(
            {
                on_day(one, first_day(one.place.as_of, grain)).place
                for one in questions
                if isinstance(one, PlaceQuery)
            }
        )
        for grain, questions in read.items()
    }
    survey = Survey.of(frame, Inputs({"zip": "zip", "as_of": "sold"}, {"state": "TX"}, ()))
    known = _Asked()
    with Svc(KEY, base_url="http://127.0.0.1:9") as client:  # no request is sent
        plan = survey_plan(survey, ServiceSource(client, known, LookupOptions()))
    assert dict(plan.grains) == expected
    assert (plan.quota_remaining, plan.computed) == (7, False)
    assert [len(places) for places in known.places] == [expected[grain] for grain in GRAINS]
    refused = sum(isinstance(one, Refusal) for one in read["day"])
    assert sum(one.rows for one in plan.refused) == refused


class _Asked:
    """A cache that knows nothing, and remembers what it was asked."""

    def __init__(self):
        self.notes = []
        self.places = []

    def known(self, source, places, *, detail):  # noqa: ARG002 - the protocol's
        self.places.append(set(places))
        return {}

    def store(self, *outcomes, detail):
        raise AssertionError(outcomes, detail)

    def forget(self, source, places):
        raise AssertionError(source, places)

    def quota(self, source):
        return 7 if source.service == "http://127.0.0.1:9" else None

    def store_quota(self, *told):
        raise AssertionError(told)
