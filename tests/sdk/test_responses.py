"""What comes back: errors by status, odd bodies, exact rates (SPEC 2, 4.1, 7; WIRE)."""

from __future__ import annotations

import contextlib
import json
import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import GOOD, answer

import svc_sdk
from svc_sdk import (
    AuthError,
    ForbiddenError,
    NotFoundError,
    PaymentRequiredError,
    RateLimitError,
    ServiceError,
    SvcError,
    TaxResponse,
    TransportError,
    ValidationError,
)
from svc_sdk._responses import Reply, lookup
from svc_sdk.models import RATE_FIELDS

UNPROCESSABLE = {
    "detail": [
        {"loc": ["query", "lat"], "msg": "not a number", "type": "float_parsing", "input": "x"},
        {"loc": ["body", 0], "msg": "missing", "type": "missing", "ctx": {"why": "gone"}},
    ]
}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "MISSING_INPUT", ValidationError),
        (400, "INPUT_CONFLICT", ValidationError),
        (401, "UNAUTHORIZED", AuthError),
        (402, "BILLING_REQUIRED", PaymentRequiredError),
        (403, "TIER_INSUFFICIENT", ForbiddenError),
        (404, "NOT_FOUND", NotFoundError),
        (404, "STATE_NOT_SUPPORTED", NotFoundError),
        (405, "METHOD_NOT_ALLOWED", SvcError),
        (410, "GONE", SvcError),
        (422, "UNPROCESSABLE", ValidationError),
        (429, "RATE_LIMITED", RateLimitError),
        (500, "INTERNAL", ServiceError),
        (502, "UPSTREAM_ERROR", ServiceError),
        (599, "ODD", ServiceError),
    ],
)
def test_the_status_alone_decides_the_class(connect, faults, status, code, kind):
    body = {"error": {"code": code, "message": "It is so.", "support_reference": "ref-1"}}
    raw = answer(200, json.dumps(body).encode(), x_request_id="other")
    faults.will(raw.replace(b"HTTP/1.1 200 OK", f"HTTP/1.1 {status} X".encode()))
    with pytest.raises(SvcError) as caught:
        connect(faults.base_url, max_retries=0).lookup("TX", zip="78701")
    error = caught.value
    assert type(error) is kind
    assert (error.status_code, error.error_code) == (status, code)
    assert error.support_reference == "ref-1"
    assert error.response_body == body
    assert str(error) == f"It is so. (status {status}, {code}, support reference ref-1, 1 attempt)"


def test_a_422_carries_its_items(connect, faults):
    faults.will(answer(422, json.dumps(UNPROCESSABLE).encode(), x_request_id="req-9"))
    with pytest.raises(ValidationError, match=r"query\.lat: not a number; body\.0: missing") as got:
        connect(faults.base_url).lookup("TX", zip="78701")
    first, second = got.value.detail
    assert (first.loc, first.msg, first.type) == (("query", "lat"), "not a number", "float_parsing")
    assert (first.input, first.ctx, second.ctx) == ("x", None, {"why": "gone"})
    assert got.value.support_reference == "req-9"
    assert got.value.response_body == UNPROCESSABLE


NO_MESSAGE = "The service reported an error without a message"


@pytest.mark.parametrize(
    ("body", "message", "kept"),
    [
        (b"<h1>Bad gateway</h1>", NO_MESSAGE, "<h1>Bad gateway</h1>"),
        (b"", NO_MESSAGE, None),
        (b'{"detail": "Not Found"}', "Not Found", {"detail": "Not Found"}),
        (b'{"error": "gone"}', "gone", {"error": "gone"}),
        (b'{"message": "gone"}', "gone", {"message": "gone"}),
        (b'{"error": {"code": 7, "message": ["x"]}}', NO_MESSAGE, None),
        (b'["a list"]', NO_MESSAGE, ["a list"]),
        (b'{"detail": [{"loc": 1}]}', NO_MESSAGE, None),
        (b"\xff\xfe\x00", NO_MESSAGE, None),
        (b"[" * 100_000, NO_MESSAGE, None),
        (b'{"a":' * 500 + b"1" + b"}" * 500, NO_MESSAGE, None),
    ],
)
def test_any_body_makes_a_readable_error(connect, faults, body, message, kept):
    faults.will(answer(404, body))
    with pytest.raises(NotFoundError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert caught.value.message == message
    if kept is not None:
        assert caught.value.response_body == kept


def test_one_odd_item_of_a_422_does_not_cost_the_others(connect, faults):
    items = [{"loc": ["a"], "msg": "bad", "type": "x"}, {"msg": "no place"}] * 3_000
    faults.will(answer(422, json.dumps({"detail": items}).encode()))
    with pytest.raises(ValidationError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert len(caught.value.detail) == 3_000
    assert len(str(caught.value)) < 2_100


def test_a_long_text_is_cut(connect, faults):
    faults.will(answer(404, b"no " * 100_000))
    with pytest.raises(NotFoundError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert len(caught.value.response_body) == 2001
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_an_error_and_is_not_followed(connect, faults, status):
    faults.will(answer(status, b"", location=f"{faults.base_url}/elsewhere"))
    with pytest.raises(SvcError, match="redirect") as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert type(caught.value) is SvcError
    assert (caught.value.status_code, len(faults.seen)) == (status, 1)


NO_RATES = ('"high"', '""', '"8.25%"', '"1_0"', '"NaN"', "true", "[0.1]", "1e999999", "1e-999999")
NO_RATES += ("1e9999999999999999999", "1e-99999999999999999999")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>welcome</html>", "not JSON"),
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"rate": {"combined_rate": NaN}}', "not JSON"),
        (b"null", "shape"),
        (b"[]", "shape"),
        (b'{"meta": {}}', "rate"),
        (b'{"rate": "0.08250"}', "rate"),
        *(
            (f'{{"rate": {{"combined_rate": {one}}}}}'.encode(), "combined_rate")
            for one in NO_RATES
        ),
        (b'{"rate": {}, "meta": {"warnings": [{"message": "no code"}]}}', "warnings"),
    ],
)
def test_a_200_of_the_wrong_shape_says_so_and_keeps_the_body(connect, faults, body, problem):
    faults.will(answer(200, body, x_request_id="req-7"))
    with pytest.raises(ServiceError, match=problem) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert (caught.value.status_code, caught.value.attempts) == (200, 1)
    assert caught.value.support_reference == "req-7"
    try:
        kept = json.loads(body)
    except (ValueError, RecursionError):
        kept = (body.decode()[:2000] + "…" * (len(body) > 2000)) or None
    assert repr(caught.value.response_body) == repr(kept)  # NaN is not itself


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("health", b'{"alive": true}'),
        ("freshness", b'{"states": {}}'),
        ("list_nexus", b'{"nexus": [{"state": "TX"}]}'),
        ("list_nexus", b"{}"),
    ],
)
def test_every_answer_is_checked(connect, faults, call, body):
    faults.will(answer(200, body))
    with pytest.raises(ServiceError, match="shape"):
        getattr(connect(faults.base_url), call)()


@pytest.mark.parametrize("deleted", ["", '"deleted": true,', '"deleted": -1,', '"deleted": "2",'])
def test_a_removal_without_a_count_is_no_success(connect, faults, deleted):
    faults.will(answer(200, f'{{{deleted} "state": "TX"}}'.encode()))
    with pytest.raises(ServiceError, match="deleted"):
        connect(faults.base_url).remove_nexus("TX", nexus_type="economic")


def parsed(body):
    return lookup(Reply(200, {}, body), 1)


def with_rate(digits):
    return parsed(b'{"rate": {"combined_rate": ' + digits.encode() + b"}}")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "0.00000"),
        ("0.0825", "0.08250"),
        ("0.08625", "0.08625"),
        ("8.25e-2", "0.08250"),
        ("1E-5", "0.00001"),
        ("1", "1.00000"),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        ("0.086250", "0.086250"),
        ("-0.01", "-0.01000"),
        ("0.0912345678", "0.0912345678"),
    ],
)
def test_a_number_keeps_its_own_digits(number, text):
    answered = with_rate(number)
    assert answered.combined_rate_string == text
    assert answered.combined_rate_decimal == Decimal(number)
    assert answered.combined_rate == float(number)
    assert TaxResponse.model_validate_json(answered.model_dump_json()) == answered


@pytest.mark.parametrize("text", ["0.0825", "0.082500", "0.08250", "1", "-0.01000"])
def test_a_string_stays_verbatim(text):
    answered = with_rate(json.dumps(text))
    assert answered.combined_rate_string == text
    assert answered.combined_rate_decimal == Decimal(text)
    assert answered.combined_rate == float(text)


def test_missing_stays_missing():
    for body in (b'{"rate": {}}', b'{"rate": {"combined_rate": null}, "meta": null}'):
        answered = parsed(body)
        assert answered.combined_rate is None
        assert answered.combined_rate_string is None
        assert answered.combined_rate_decimal is None
        for name in RATE_FIELDS:
            assert getattr(answered.rate, f"{name}_as_float")() is None
            assert answered.rate.as_decimal(name) is None
        assert (answered.confidence, answered.warnings) == (None, [])


def test_only_rates_keep_digits_elsewhere_numbers_are_numbers():
    answered = parsed(b'{"rate": {"combined_rate": 0.1}, "place": {"lat": 30.25, "n": [1.5]}}')
    assert answered.model_dump()["place"] == {"lat": 30.25, "n": [1.5]}
    assert json.loads(answered.model_dump_json())["place"]["lat"] == 30.25


@given(st.integers(0, 99_999_999))
def test_any_five_decimal_rate_survives_the_wire(units):
    text = svc_sdk.units_to_rate(units)
    answered = with_rate(json.dumps(text))
    assert answered.combined_rate_string == text
    assert svc_sdk.rate_to_units(answered.combined_rate_string) == units
    assert with_rate(text).combined_rate_string == text  # as a JSON number too


@given(st.binary(max_size=200))
def test_any_bytes_make_an_answer_or_a_service_error(body):
    with contextlib.suppress(ServiceError):
        assert isinstance(parsed(body), TaxResponse)


@given(
    st.integers(300, 599),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "detail", "code", "message", "loc", "msg", "type"]), inner
            )
        ),
        max_leaves=12,
    ),
)
def test_any_json_error_body_makes_an_svc_error(status, body):
    raw = json.dumps(body).encode()
    with pytest.raises(SvcError) as caught:
        lookup(Reply(status, {}, raw), 2)
    assert caught.value.status_code == status
    assert isinstance(str(caught.value), str)


def test_errors_pickle_with_all_they_carry(connect, faults):
    faults.will(answer(422, json.dumps(UNPROCESSABLE).encode(), x_request_id="req-9"))
    with pytest.raises(ValidationError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is ValidationError
    assert vars(again) == vars(caught.value)
    assert str(again) == str(caught.value)
    for kind in (SvcError, RateLimitError, TransportError):
        one = pickle.loads(pickle.dumps(kind("it is so", retry_after=2.5, attempts=3)))
        assert (type(one), one.retry_after, one.attempts) == (kind, 2.5, 3)


def test_the_whole_response_is_there(connect, faults):
    faults.will(answer(200, GOOD))
    answered = connect(faults.base_url).lookup("TX", zip="78701")
    assert answered.rate.city == "Austin"
    assert answered.rate.freight_taxable is True
    assert answered.meta.effective_date_basis == "edition_only"
    assert answered.confidence == "high"
    parts = ("country", "state", "county", "city", "combined_district", "combined")
    floats = [getattr(answered.rate, f"{part}_rate_as_float")() for part in parts]
    assert floats == [0.0, 0.0625, 0.0, 0.01, 0.01, 0.0825]
    assert answered.rate.as_decimal("city_rate") == Decimal("0.01000")
    assert answered.rate.combined_rate_decimal == Decimal("0.08250")
    with pytest.raises(ValueError, match="freight_taxable"):
        answered.rate.as_decimal("freight_taxable")
