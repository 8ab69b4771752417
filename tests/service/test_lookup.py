"""`GET /v1/tax/{state}` and `GET /v1/freshness` over HTTP, from the shipped book."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from svc_sdk.models import Freshness, TaxResponse
from svc_tools.service import app
from svc_tools.service.ratebook import load_book

PARTS = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")


@pytest.mark.parametrize(
    ("state", "params", "rate"),
    [
        ("NJ", {"zip": "07030"}, "0.06625"),
        ("nj", {"zip": "07030-1234"}, "0.06625"),
        ("MI", {"address": "1600 Michigan Ave, Detroit, MI 48226"}, "0.06000"),
        ("MI", {"street": "1600 Michigan Ave", "city": "Detroit"}, "0.06000"),
        ("MI", {"street": "1600 Michigan Ave", "city": "Detroit", "zip": "48226"}, "0.06000"),
        ("OR", {"location": "Portland"}, "0.00000"),
        ("MI", {"lat": "42.3314", "lng": "-83.0458"}, "0.06000"),
    ],
)
def test_every_mode_answers(shared, state, params, rate):
    response = shared.client.get(f"/v1/tax/{state}", params=params)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"]
    answer = TaxResponse.model_validate(response.json())
    assert answer.combined_rate_string == rate
    assert answer.rate.state == state.upper()
    assert sum(Decimal(response.json()["rate"][part]) for part in PARTS) == Decimal(rate)


def test_the_simple_body_is_a_part_of_the_full_one(shared):
    simple = shared.client.get("/v1/tax/NJ", params={"zip": "07030"}).json()
    asked = shared.client.get("/v1/tax/NJ", params={"zip": "07030", "mode": "simple"}).json()
    full = shared.client.get("/v1/tax/NJ", params={"zip": "07030", "mode": "full"}).json()
    assert asked == simple
    assert {"candidates", "components", "resolved_place"} <= full.keys() - simple.keys()
    assert {name: full[name] for name in simple} == simple


def test_unknown_parameters_are_ignored(shared):
    plain = shared.client.get("/v1/tax/NJ", params={"zip": "07030"})
    other = shared.client.get("/v1/tax/NJ?zip=07030&utm=1&utm=2&zip5=x")
    assert other.json() == plain.json()


def test_no_date_means_today(run, monkeypatch):
    seen = []

    def resolve(book, query, *, today):
        seen.append((query.as_of, today))
        return rates_resolve(book, query, today=today)

    rates_resolve = app.resolve
    monkeypatch.setattr(app, "resolve", resolve)
    client = run(today=lambda: date(2026, 5, 4)).client
    client.get("/v1/tax/NJ", params={"zip": "07030"})
    client.get("/v1/tax/NJ", params={"zip": "07030", "period": "20241"})
    assert seen == [(None, date(2026, 5, 4)), (date(2024, 1, 1), date(2026, 5, 4))]


def test_the_same_question_is_answered_anew_when_the_day_changes(run, monkeypatch):
    days = []

    def resolve(book, query, *, today):
        days.append(today)
        return rates_resolve(book, query, today=today)

    rates_resolve = app.resolve
    monkeypatch.setattr(app, "resolve", resolve)
    clock = iter([date(2026, 5, 4)] * 3 + [date(2026, 5, 5)] * 2)
    client = run(today=lambda: next(clock)).client
    bodies = [client.get("/v1/tax/NJ?zip=07030").content for _ in range(5)]
    assert days == [date(2026, 5, 4), date(2026, 5, 5)]
    assert bodies[0] == bodies[1] == bodies[2]
    assert bodies[3] == bodies[4]


def test_a_failure_is_not_remembered(run, monkeypatch):
    client = run().client
    monkeypatch.setattr(app, "resolve", lambda *_args, **_options: 1 / 0)
    assert client.get("/v1/tax/NJ?zip=07030").status_code == 500
    monkeypatch.undo()
    assert client.get("/v1/tax/NJ?zip=07030").status_code == 200


def test_the_period_comes_back(shared):
    response = shared.client.get("/v1/tax/NJ", params={"zip": "07030", "period": "20262"})
    assert response.json()["meta"]["period"] == "20262"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/tax/TX", 400, "MISSING_INPUT"),
        ("/v1/tax/TX?zip=78701&location=Austin", 400, "INPUT_CONFLICT"),
        ("/v1/tax/TX?zip=78701&as_of=2026-02-01&period=20261", 400, "INPUT_CONFLICT"),
        ("/v1/tax/TX?zip=787", 400, "INVALID_INPUT"),
        ("/v1/tax/TX?zip=78701&zip=78702", 400, "INVALID_INPUT"),
        ("/v1/tax/TX?zip=78701&zip=78701", 400, "INVALID_INPUT"),
        ("/v1/tax/TX?zip=78701&mode=full&mode=full", 400, "INVALID_INPUT"),
        ("/v1/tax/TX?location=Ca%F1on", 400, "INVALID_INPUT"),
        ("/v1/tax/Texas?zip=78701", 400, "INVALID_INPUT"),
        ("/v1/tax/ZZ?zip=78701", 404, "STATE_NOT_SUPPORTED"),
        ("/v1/tax/AK?zip=99501", 404, "NOT_FOUND"),
    ],
)
def test_a_lookup_that_is_refused_says_why(shared, path, status, code):
    response = shared.client.get(path)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert error["support_reference"] == response.headers["x-request-id"]
    assert error["message"]


def test_raw_bytes_in_the_query_are_refused_not_misread(shared):
    head = (
        "GET /v1/tax/CA?location=Ca\N{LATIN SMALL LETTER N WITH TILDE}on HTTP/1.1\r\n"
        f"Host: localhost\r\nX-API-Key: {shared.key}\r\nConnection: close\r\n\r\n"
    )
    assert shared.raw(head.encode()).startswith(b"HTTP/1.1 400")


def test_freshness_is_the_book_s_own(shared):
    response = shared.client.get("/v1/freshness")
    assert response.status_code == 200
    assert response.json() == load_book().freshness()
    states = Freshness.model_validate(response.json()).states
    assert "NJ" in {state.state for state in states}
