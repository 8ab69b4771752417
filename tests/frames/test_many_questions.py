"""Many rows and many dates: what is counted, numbered and made in bulk is what one by one gives."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.config import Source
from svc_tools.frames import queries
from svc_tools.frames.columns import Inputs
from svc_tools.frames.enrich import plan_of
from svc_tools.frames.options import LookupOptions
from svc_tools.frames.queries import ask, combined, factorized, numbered
from svc_tools.places import (
    GRAINS,
    NO_DATE,
    Cells,
    Place,
    Question,
    Refusal,
    day_of,
    first_day,
    on_day,
    on_days,
    question,
)

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
        codes, first = combined(columns, len(rows))
    assert (codes.tolist(), first.tolist()) == as_they_appear(rows)


def test_numbers_go_on_from_block_to_block():
    keys = np.random.default_rng(5).permutation(200_000).astype(np.int32) // 2
    codes, first = numbered(keys, 100_000)
    again, uniques = pd.factorize(keys)
    assert (codes == again).all()
    assert (keys[first] == uniques).all()
    assert (np.diff(first) > 0).all()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 6])
def test_short_texts_are_told_apart_as_texts_are(width):
    values = np.random.default_rng(width).integers(0, min(10**width, 5_000), 20_000)
    texts = [f"{value:0{width}d}" for value in values.tolist()]
    codes, known = factorized(pd.Series(texts, dtype="str"), "zip")
    assert [known[code] for code in codes.tolist()] == texts
    assert len(set(known)) == len(known)


PLACES = st.builds(
    Place,
    state=st.sampled_from(["TX", "WA"]),
    mode=st.just("address"),
    address=st.sampled_from(["1 Main Street", "2 Main Street"]),
    city=st.none() | st.just("Austin"),
    zip=st.none() | st.just("78701"),
    lat=st.none() | st.just(0.0),
)
QUESTIONS = st.builds(Question, PLACES, st.booleans(), st.booleans(), st.none() | st.just("Austin"))


@given(st.lists(st.tuples(QUESTIONS, st.dates()), max_size=20))
def test_questions_made_at_once_are_those_made_one_by_one(pairs):
    made = on_days([one for one, _ in pairs], [day for _, day in pairs])
    single = [on_day(one, day) for one, day in pairs]
    assert made == single
    assert [hash(one.place) for one in made] == [hash(one.place) for one in single]
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
    asked = ask(frame, Inputs({"zip": "zip", "as_of": "sold"}, {"state": "TX"}, (), tz, grain))
    cells = [None if pd.isna(value) else value for value in frame["sold"]]
    for code, value in zip(asked.codes.tolist(), cells, strict=True):
        expected = question(Cells("TX", "78701", as_of=value), dated=True, tz=tz)
        one, day = asked.questions[code], asked.days[code]
        if expected is NO_DATE:
            assert (one, day) == (NO_DATE, None)
        else:
            assert day == expected.place.as_of == day_of(value, tz)
            assert one == on_day(question(Cells("TX", "78701"), dated=False), first_day(day, grain))


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_days_at_the_ends_of_time_are_no_others(unit):
    ends = {"s": ["0001-01-01", "9999-12-31"], "ns": ["1677-09-22", "2262-04-11"]}[unit]
    frame = pd.DataFrame({"zip": "78701", "sold": np.array(ends, f"datetime64[{unit}]")})
    asked = ask(frame, Inputs({"zip": "zip", "as_of": "sold"}, {"state": "TX"}, ()))
    assert [str(one.place.as_of) for one in asked.questions] == ends


def test_orders_of_one_day_are_one_question_whatever_their_hour():
    hours = [datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=8 * n) for n in range(10_000)]
    frame = pd.DataFrame({"zip": "78701", "sold": pd.Series(hours).dt.tz_localize(None)})
    asked = ask(frame, Inputs({"zip": "zip", "as_of": "sold"}, {"state": "TX"}, ()))
    assert (len(asked.questions), asked.rows.tolist()) == (1, [10_000])


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
        grain: [question(Cells("TX", place, as_of=day), dated=True) for place, day in rows]
        for grain in GRAINS
    }
    expected = {
        grain: len(
            {
                on_day(one, first_day(one.place.as_of, grain)).place
                for one in questions
                if isinstance(one, Question)
            }
        )
        for grain, questions in read.items()
    }
    asked = ask(frame, Inputs({"zip": "zip", "as_of": "sold"}, {"state": "TX"}, ()))
    known = _Asked()
    plan = plan_of(asked, service="x", source=Source("x", ""), cache=known, options=LookupOptions())
    assert dict(plan.grains) == expected
    assert [len(places) for places in known.places] == [expected[grain] for grain in GRAINS]
    refused = sum(isinstance(one, Refusal) for one in read["day"])
    assert plan.refused_rows("invalid") + plan.refused_rows("unsupported") == refused


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

    def quota(self, source):
        return 7 if source is None else None

    def store_quota(self, *told):
        raise AssertionError(told)
