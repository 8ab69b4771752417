"""Lookups and the age of the data: parameters, responses, and the command that prints coverage."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from support.command import svc_tools
from support.examples import examples

from svc_tools.service import rates
from svc_tools.service.params import LookupParams, field_schemas, read_lookup
from svc_tools.service.problems import Problem
from svc_tools.service.ratebook import Query

PARAMETERS = field_schemas(LookupParams)
ADDRESS = "500 W 2nd St, Austin, TX 78701"


def refused(state: str = "TX", **given_parameters: str) -> Problem:
    with pytest.raises(Problem) as caught:
        read_lookup(state, given_parameters)
    assert caught.value.status_code == 400
    return caught.value


@pytest.mark.parametrize(
    ("given_parameters", "query"),
    [
        ({"address": ADDRESS}, Query("TX", address=ADDRESS)),
        ({"street": "1 Main St", "city": "Austin"}, Query("TX", street="1 Main St", city="Austin")),
        (
            {"street": "1 Main St", "city": "Austin", "zip": "78701"},
            Query("TX", street="1 Main St", city="Austin", zip="78701"),
        ),
        ({"zip": "78701-1234"}, Query("TX", zip="78701-1234")),
        ({"location": "  San\N{NO-BREAK SPACE} Antonio\t"}, Query("TX", location="San Antonio")),
        ({"lat": "30.25", "lng": "-97.75"}, Query("TX", lat=30.25, lng=-97.75)),
        ({"lat": "1e-05", "lng": "-0"}, Query("TX", lat=0.00001, lng=0.0)),
        (
            {"zip": "78701", "as_of": "2024-02-29"},
            Query("TX", zip="78701", as_of=date(2024, 2, 29)),
        ),
        (
            {"zip": "78701", "period": "20263"},
            Query("TX", zip="78701", as_of=date(2026, 7, 1), period="20263"),
        ),
        (
            {"zip": "78701", "period": "20261", "as_of": "2026-01-01"},
            Query("TX", zip="78701", as_of=date(2026, 1, 1), period="20261"),
        ),
    ],
)
def test_one_mode_makes_one_query(given_parameters, query):
    lookup = read_lookup("TX", given_parameters)
    assert lookup.query == query
    assert not lookup.full


def test_state_in_any_case_and_the_verbose_body():
    lookup = read_lookup("tx", {"zip": "78701", "mode": "full"})
    assert lookup.query.state == "TX"
    assert lookup.full
    assert not read_lookup("Tx", {"zip": "78701", "mode": "simple"}).full


@pytest.mark.parametrize(
    ("names", "code", "named"),
    [
        ("", "MISSING_INPUT", "zip"),
        ("as_of", "MISSING_INPUT", "zip"),
        ("mode", "MISSING_INPUT", "zip"),
        ("street zip", "MISSING_INPUT", "city: missing"),
        ("city zip", "MISSING_INPUT", "street: missing"),
        ("lat", "MISSING_INPUT", "lng: missing"),
        ("lng", "MISSING_INPUT", "lat: missing"),
        ("address zip", "INPUT_CONFLICT", "address zip"),
        ("address street city", "INPUT_CONFLICT", "address street city"),
        ("zip location", "INPUT_CONFLICT", "zip location"),
        ("location lat lng", "INPUT_CONFLICT", "location lat lng"),
        ("address city lat lng location street zip", "INPUT_CONFLICT", "address city lat zip"),
    ],
)
def test_no_place_half_a_place_and_more_than_one(names, code, named):
    values = {
        "address": ADDRESS,
        "street": "1 Main St",
        "city": "Austin",
        "zip": "78701",
        "location": "Austin",
        "lat": "30.25",
        "lng": "-97.75",
        "as_of": "2026-01-01",
        "mode": "full",
    }
    problem = refused(**{name: values[name] for name in names.split()})
    assert problem.code == code
    parts = [named] if ":" in named else named.split()
    assert all(part in problem.detail for part in parts)


MALFORMED = {
    "zip": ["", "7870", "787011", "78701-", "78701-12", "787011234", " 78701", "78701.0", "7870a",
            "\uff17\uff18\uff17\uff10\uff11"],
    "address": ["1 Main St", "x" * 201, "  short      "],
    "location": ["   ", "x" * 65, "Aus\x00tin"],
    "as_of": ["", "2026-02-30", "20260701", "2026-W27-3", "0000-01-01"],
    "period": ["", "20260", "2026Q3", "00001"],
    "mode": ["FULL"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in MALFORMED.items() for value in values]
)
def test_a_malformed_value_is_named_with_what_was_given_and_what_is_expected(name, value):
    place = {} if name in {"zip", "address", "location"} else {"zip": "78701"}
    problem = refused(**place, **{name: value})
    assert problem.code == "INVALID_INPUT"
    assert problem.detail.startswith(f"{name}: given {value[:80]!r}"[:80])
    assert problem.detail.endswith(f"expected {PARAMETERS[name]['description']}")
    assert problem.extra["parameter"] == name


@pytest.mark.parametrize(
    "value", ["nan", "NaN", "inf", "-inf", "1e999", "", "abc", "1_0", "0x1", "٣"]
)
@pytest.mark.parametrize("name", ["lat", "lng"])
def test_a_coordinate_is_a_finite_decimal_number(name, value):
    problem = refused(**{"lat": "30", "lng": "-97", name: value})
    assert problem.code == "INVALID_INPUT"
    assert problem.extra["parameter"] == name


@pytest.mark.parametrize(
    ("lat", "lng", "wrong"),
    [("90.0001", "0", "lat"), ("-91", "0", "lat"), ("0", "180.5", "lng"), ("0", "-181", "lng")],
)
def test_a_coordinate_lies_on_earth(lat, lng, wrong):
    assert refused(lat=lat, lng=lng).extra["parameter"] == wrong


@pytest.mark.parametrize(
    ("lat", "hinted"), [("-97.75", True), ("-122.33", True), ("181", False), ("north", False)]
)
def test_a_latitude_that_is_a_longitude_is_reported_to_be_one(lat, hinted):
    assert ("exchanged" in refused(lat=lat, lng="30.25").detail) is hinted


@pytest.mark.parametrize(
    "state", ["", "T", "TEX", "T1", "Texas", "T ", "ÄÖ", "\N{LATIN SMALL LETTER LONG S}K"]
)
def test_a_state_is_two_letters(state):
    problem = refused(state, zip="78701")
    assert problem.code == "INVALID_INPUT"
    assert problem.extra["parameter"] == "state"


@given(st.dates(min_value=date(1, 1, 1)))
def test_a_period_is_the_first_day_of_its_quarter(day):
    period = f"{day.year:04}{(day.month + 2) // 3}"
    start = read_lookup("TX", {"zip": "78701", "period": period}).query.as_of
    assert start <= day
    assert start.day == 1
    assert start.month in {1, 4, 7, 10}
    assert day - start < timedelta(days=92)


@examples(20, of=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(
        [("TX", {"zip": "78701"}), ("WA", {"zip": "98101"}), ("WI", {"location": "Milwaukee"})]
    ),
    st.dates(),
    st.booleans(),
)
@example(("TX", {"zip": "78701"}), date.min, False)  # noqa: FBT003 - of hypothesis
@example(("WA", {"zip": "98101"}), date.min, True)  # noqa: FBT003
@example(("WI", {"location": "Milwaukee"}), date.max, False)  # noqa: FBT003
@example(("WI", {"location": "Milwaukee"}), date(9999, 10, 1), True)  # noqa: FBT003
def test_every_date_and_every_quarter_has_a_rate_and_says_how_good_it_is(
    shared, place, day, quarter
):
    state, params = place
    when = f"{day.year:04}{(day.month + 2) // 3}" if quarter else day.isoformat()
    params = params | {"period" if quarter else "as_of": when, "mode": "full"}
    response = shared.client.get(f"/v1/tax/{state}", params=params)
    assert response.status_code == 200
    codes = {one["code"] for one in response.json()["meta"]["warnings"]}
    if day.year < 1900:
        assert "as_of_before_history" in codes
    if day.year > 2100:
        assert "as_of_after_edition" in codes


@given(
    st.floats(min_value=-90, max_value=90, allow_nan=False),
    st.floats(min_value=-180, max_value=180, allow_nan=False),
)
def test_coordinates_are_read_as_a_client_writes_them(lat, lng):
    query = read_lookup("TX", {"lat": repr(lat), "lng": repr(lng)}).query
    assert (query.lat, query.lng) == (lat, lng)


@given(
    st.text(max_size=12),
    st.dictionaries(
        st.sampled_from(sorted(PARAMETERS.keys() - {"state"})), st.text(max_size=220), max_size=4
    ),
)
def test_whatever_comes_is_a_query_or_a_400(state, given_parameters):
    try:
        outcome = read_lookup(state, given_parameters).query.state
    except Problem as problem:
        outcome = problem.code
    assert outcome in {state.upper(), "MISSING_INPUT", "INPUT_CONFLICT", "INVALID_INPUT"}


def test_unknown_parameters_are_ignored(shared):
    plain = shared.client.get("/v1/tax/NJ", params={"zip": "07030"})
    other = shared.client.get("/v1/tax/NJ?zip=07030&utm=1&utm=2&zip5=x")
    assert other.json() == plain.json()


def test_the_same_question_is_answered_again_when_the_day_changes(run, monkeypatch):
    days = []

    def resolve(book, query, *, today):
        days.append(today)
        return rates_resolve(book, query, today=today)

    rates_resolve = rates.resolve
    monkeypatch.setattr(rates, "resolve", resolve)
    clock = iter([date(2026, 5, 4)] * 3 + [date(2026, 5, 5)] * 2)
    client = run(today=lambda: next(clock)).client
    bodies = [client.get("/v1/tax/NJ?zip=07030").content for _ in range(5)]
    assert days == [date(2026, 5, 4), date(2026, 5, 5)]
    assert bodies[0] == bodies[1] == bodies[2]
    assert bodies[3] == bodies[4]


def test_a_failure_is_not_remembered(run, monkeypatch):
    client = run().client
    monkeypatch.setattr(rates, "resolve", lambda *_args, **_options: 1 / 0)
    assert client.get("/v1/tax/NJ?zip=07030").status_code == 500
    monkeypatch.undo()
    assert client.get("/v1/tax/NJ?zip=07030").status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/tax/TX?zip=78701&zip=78701", 400, "INVALID_INPUT"),
        ("/v1/tax/TX?zip=78701&mode=full&mode=full", 400, "INVALID_INPUT"),
        ("/v1/tax/TX?location=Ca%F1on", 400, "INVALID_INPUT"),
        ("/v1/tax/AK?zip=99723", 404, "NOT_FOUND"),
    ],
)
def test_a_lookup_that_is_refused_has_a_code(shared, path, status, code):
    response = shared.client.get(path)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


def test_raw_bytes_in_the_query_are_refused_not_misread(shared):
    head = (
        "GET /v1/tax/CA?location=Ca\N{LATIN SMALL LETTER N WITH TILDE}on HTTP/1.1\r\n"
        f"Host: localhost\r\nX-API-Key: {shared.key}\r\nConnection: close\r\n\r\n"
    )
    assert shared.raw(head.encode()).startswith(b"HTTP/1.1 400")


@pytest.fixture(scope="module")
def told():
    done = svc_tools("book", "coverage")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_command_and_the_service_say_the_same(service):
    done = svc_tools("book", "coverage", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == service.client.get("/v1/freshness").json()


def test_every_state_has_its_line(told, service):
    rows = {line.split()[0]: line.split() for line in told.splitlines() if line}
    for state in service.client.get("/v1/freshness").json()["states"]:
        assert rows[state["state"]][1:6] == [
            state["tier"],
            state["confidence"],
            state["oldest_row"] or "always",
            state["history_from"] or "always",
            state["covered_until"],
        ]


@pytest.mark.parametrize("columns", ["80", "100"])
def test_it_fits_the_terminal(columns):
    lines = svc_tools("book", "coverage", COLUMNS=columns).stdout.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert all(line == line.rstrip() for line in lines)
