"""What comes back: errors by status, odd bodies, exact rates (SPEC 2, 4.1, 7; WIRE)."""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import pickle
import traceback
import tracemalloc
import zlib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.both import injecting
from support.faults import GOOD, answer, echoing

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
from svc_sdk.models import COUNTS, RATE_FIELDS
from svc_sdk.wire import Reply, parse_lookup

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


CODED = {"code": "NO_SUCH_ZIP", "message": "No such ZIP", "support_reference": "ref-1"}
PROBLEM = {"type": "about:blank", "title": "Not found", "detail": "No such ZIP", "status": 404}


@pytest.mark.parametrize(
    "body",
    [
        {"error": CODED},
        {"detail": CODED},
        {"detail": {"error": CODED}},
        CODED,
        {"error_code": "NO_SUCH_ZIP", "message": "No such ZIP", "request_id": "ref-1"},
        {"detail": {"error_code": "NO_SUCH_ZIP", "message": "No such ZIP", "request_id": "ref-1"}},
        {"error": "NO_SUCH_ZIP", "message": "No such ZIP", "support_reference": "ref-1"},
        {"error": {"code": "NO_SUCH_ZIP", "detail": "No such ZIP"}, "support_reference": "ref-1"},
        PROBLEM | {"code": "NO_SUCH_ZIP", "support_reference": "ref-1"},
        {"detail": PROBLEM | {"code": "NO_SUCH_ZIP", "support_reference": "ref-1"}},
        {"errors": [CODED, {"code": "OTHER", "message": "other"}]},
        {"detail": [CODED]},
    ],
    ids=lambda body: json.dumps(body)[:60],
)
def test_code_message_and_reference_are_found_in_every_usual_body(connect, faults, body):
    faults.will(answer(404, json.dumps(body).encode(), x_request_id="other"))
    with pytest.raises(NotFoundError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    error = caught.value
    assert (error.message, error.error_code) == ("No such ZIP", "NO_SUCH_ZIP")
    assert (error.support_reference, error.response_body) == ("ref-1", body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"No such\nZIP ", "No such ZIP"),
        (b'"No such ZIP"', "No such ZIP"),
        (b'{"message": "No such ZIP"}', "No such ZIP"),
        (b'{"title": "Not found"}', "Not found"),
        (b'{"error": "Forbidden", "message": "No such ZIP"}', "No such ZIP"),
        (b"<!doctype html><p>No such ZIP", NO_MESSAGE),
        (b"it is \x1b[31mred", NO_MESSAGE),
    ],
)
def test_a_message_is_plain_text(connect, faults, body, message):
    faults.will(answer(404, body, content_type="text/plain", x_request_id="req-9"))
    with pytest.raises(NotFoundError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    error = caught.value
    assert (error.message, error.error_code, error.support_reference) == (message, None, "req-9")


EVIL = "a\x1b]0;owned\x07\x1b[2J\r\x08\x7f\x9b1m\u202e\u2066\ud800\u2028\r\n\tb\x00"
SHOWN = r"a\x1b]0;owned\x07\x1b[2J\r\x08\x7f\x9b1m\u202e\u2066\ud800\u2028 b\x00"
ITEM = {"loc": ["query", EVIL], "msg": EVIL, "type": "x"}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"code": EVIL, "message": EVIL, "support_reference": EVIL}}),
        (429, {"code": EVIL, "message": EVIL, "request_id": EVIL}),
        (503, {"error": EVIL, "error_code": EVIL, "support_reference": EVIL}),
        (400, {"title": EVIL, "errors": [{"code": EVIL}], "request_id": EVIL}),
    ],
)
def test_what_a_service_says_controls_no_terminal_and_no_log(connect, faults, status, body):
    faults.will(answer(status, json.dumps(body).encode()))
    with pytest.raises(SvcError) as caught:
        connect(faults.base_url, max_retries=0).lookup("TX", zip="78701")
    error = caught.value
    assert (error.message, error.error_code, error.support_reference) == (SHOWN,) * 3
    for text in (str(error), "".join(traceback.format_exception_only(error)).rstrip("\n")):
        assert text.isprintable()
    assert error.response_body == body  # the parsed body, as it came (SPEC 7)


def test_the_items_of_a_422_and_a_request_id_control_nothing(connect, faults):
    faults.will(answer(422, json.dumps({"detail": [ITEM]}).encode(), x_request_id="r\x9b1m"))
    with pytest.raises(ValidationError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert caught.value.message == f"query.{SHOWN}: {SHOWN}"
    assert str(caught.value).isprintable()
    assert caught.value.detail[0].msg == EVIL


def test_a_delay_that_no_clock_can_hold_is_cut(connect, faults):
    faults.will(answer(404, b'{"retry_after_seconds": 1%b}' % (b"0" * 400)))
    with pytest.raises(NotFoundError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert caught.value.retry_after == 1e8


@pytest.mark.parametrize("depth", [90, 150, 400, 100_000])
@pytest.mark.parametrize("status", [200, 404, 422, 503])
def test_what_is_nested_too_deeply_can_be_stored(connect, faults, status, depth):
    nested = b"[" * depth + b"]" * depth
    body = b'{"rate": {"combined_rate": "0.08250"}, "n": 0.5, "detail": [{"loc": ["a"],'
    body += b' "msg": "", "type": "", "input": %b}], "x": {"y": %b}}' % (nested, nested)
    faults.will(answer(status, body))
    client = connect(faults.base_url, max_retries=0)
    if status == 200 and depth < 100_000:
        found = client.lookup("TX", zip="78701")
        assert found.combined_rate_string == "0.08250"
        assert TaxResponse.model_validate_json(found.model_dump_json()) == found
        return
    with pytest.raises(SvcError) as caught:
        client.lookup("TX", zip="78701")
    again = pickle.loads(pickle.dumps(caught.value))
    assert repr(vars(again)) == repr(vars(caught.value))
    assert json.loads(json.dumps(again.response_body)) == again.response_body
    assert [one.model_dump()["loc"] for one in again.detail] in ([("a",)], [])


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


REMOVALS = [
    *((200, {name: 2, "state": "TX"}, 2) for name in ("deleted", *COUNTS)),
    *((200, {name: "2"}, 2) for name in ("deleted", *COUNTS)),
    (202, {"deletedCount": 2}, 2),
    (200, {"deleted": True, "removed": 2}, 2),
    (200, {"deleted": None, "removed": 2, "count": 2}, 2),
    (200, {"deleted": 2, "count": 5}, 2),  # the field of the specification
    (200, {"removed": 2, "count": 5}, None),
    *((200, {"deleted": one}, None) for one in (True, -1, "two", None, [2], {"of": 2}, 2.5)),
    (200, {"deleted": "9" * 5000}, None),
    (200, {"ok": True}, None),
    (202, {"status": "queued"}, None),
    (200, {"error": None}, None),
    (200, None, None),
]


@pytest.mark.parametrize(("status", "body", "deleted"), REMOVALS)
def test_a_removal_is_a_removal_however_it_is_counted(connect, faults, status, body, deleted):
    faults.will(answer(status, json.dumps(body).encode()))
    removal = connect(faults.base_url).remove_nexus("TX", "economic")
    assert (removal.deleted, removal.nexus_type) == (deleted, None)
    sent = {name: value for name, value in (body or {}).items() if name != "deleted"}
    assert {name: removal.model_dump()[name] for name in sent} == sent
    assert len(faults.seen) == 1


@pytest.mark.parametrize("status", [200, 201, 202, 204])
@pytest.mark.parametrize("body", [b"", b"null", b"OK", b"true", b"3", b"[]", b'"removed"'])
def test_a_removal_without_fields_has_no_count(connect, faults, status, body):
    faults.will(answer(status, b"" if status == 204 else body))
    removal = connect(faults.base_url).remove_nexus("TX", "economic")
    assert (removal.deleted, removal.state) == (None, None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"code": "NOT_NOW", "message": "not now"}}, "not now"),
        ({"errors": [{"message": "not now"}], "state": "TX"}, "not now"),
    ],
)
def test_an_error_with_a_status_of_success_is_no_removal(connect, faults, body, message):
    faults.will(answer(200, json.dumps(body).encode()))
    with pytest.raises(ServiceError, match=message) as caught:
        connect(faults.base_url).remove_nexus("TX")
    assert (caught.value.status_code, caught.value.response_body) == (200, body)
    assert caught.value.error_code == ("NOT_NOW" if "error" in body else None)


@pytest.mark.parametrize(
    "body", [b"<p>OK</p>", b'["cut', b'{"deleted": 1', b"\xff\xfe", b"x" * 400]
)
def test_a_page_or_a_body_that_is_cut_off_is_no_removal(connect, faults, body):
    faults.will(answer(200, body))
    with pytest.raises(ServiceError, match="JSON"):
        connect(faults.base_url).remove_nexus("TX")


def test_a_list_of_records_is_iterated_and_counted(connect, faults):
    body = {"nexus": [{"state": code, "nexus_type": "physical"} for code in ("NJ", "TX")]}
    body |= {"count": 7, "page": 1}
    faults.will(answer(200, json.dumps(body).encode()))
    listed = connect(faults.base_url).list_nexus()
    assert [record.state for record in listed] == ["NJ", "TX"]
    assert (len(listed), listed.count) == (2, 7)
    assert listed.model_dump(exclude_unset=True) == body
    assert listed == type(listed).model_validate_json(listed.model_dump_json())
    assert listed == listed.model_copy()


@pytest.mark.parametrize("value", [{"name": "x"}, ["x"], [], {}, True, [1.5]])
@pytest.mark.parametrize("mode", ["simple", "full"])
def test_a_text_that_cannot_be_read_does_not_cost_the_rate(connect, faults, value, mode):
    rate, meta = dict.fromkeys(("city", "county", "zip"), value), {"confidence": value}
    meta |= dict.fromkeys(("resolved_via", "effective_date", "period"), value)
    faults.will(echoing(rate=rate, **meta))
    result = connect(faults.base_url).lookup("TX", zip="78701", mode=mode)
    assert (result.combined_rate_string, result.rate.state) == ("0.08250", "TX")
    for part, sent in ((result.rate, rate), (result.meta, meta)):
        assert [getattr(part, name) for name in sent] == [None] * len(sent)
        assert set(part.unreadable_fields) == set(sent)
        assert sent.items() <= part.model_dump().items()
    assert result.confidence is None
    assert result.model_dump()["rate"]["city"] == value
    assert json.loads(result.model_dump_json())["meta"]["period"] == value


def test_what_can_be_read_is_not_unreadable(connect, faults):
    faults.will(echoing(rate={"zip": 78701, "city": None, "county": 5}, warnings=None))
    result = connect(faults.base_url).lookup("TX", zip="78701")
    assert (result.rate.zip, result.rate.city, result.rate.county) == ("78701", None, "5")
    assert result.rate.unreadable_fields == result.meta.unreadable_fields == ()


@pytest.mark.parametrize("value", [{"a": 1}, ["a"], True])
def test_a_record_stays_in_the_list_whose_notes_cannot_be_read(connect, faults, value):
    record = {"state": "TX", "nexus_type": "physical", "address": "1 Main St", "notes": value}
    faults.will(answer(body=json.dumps({"nexus": [record]}).encode()))
    (listed,) = connect(faults.base_url).list_nexus()
    assert (listed.address, listed.notes, listed.unreadable_fields) == (
        "1 Main St",
        None,
        ("notes",),
    )
    assert listed.model_dump()["notes"] == value


MISMATCH = "place_input_mismatch"


@pytest.mark.parametrize(
    ("sent", "code", "field"),
    [
        ([{"message": "careful"}], "uncoded_warning", {"message": "careful"}),
        ([{"code": None, "value": 1}], "uncoded_warning", {"value": 1}),
        ([{"code": {"a": 1}}], "uncoded_warning", {"value": {"a": 1}}),
        ([{"code": 7, "message": "careful"}], "7", {"message": "careful"}),
        ([{"code": " ", "days": 9}], "uncoded_warning", {"days": 9}),
        ([{"code": "place_input_mismatch", "resolved_place_name": ["x"]}], MISMATCH, {}),
        ([7], "uncoded_warning", {"value": 7}),
        ([None], "uncoded_warning", {"value": None}),
        ([["careful"]], "uncoded_warning", {"value": ["careful"]}),
        ([True], "uncoded_warning", {"value": True}),
        ({"code": "stale_rate", "days": 9}, "stale_rate", {"days": 9}),
    ],
)
def test_an_odd_advisory_does_not_cost_the_rate(connect, faults, sent, code, field):
    faults.will(echoing(warnings=sent))
    answered = connect(faults.base_url).lookup("TX", zip="78701")
    assert answered.combined_rate_string == "0.08250"
    (advisory,) = answered.warnings
    assert (advisory.code, advisory.model_extra) == (code, field)
    assert TaxResponse.model_validate_json(answered.model_dump_json()) == answered


@pytest.mark.parametrize(("sent", "warnings"), [("careful", ["careful"]), (None, []), ([], [])])
def test_warnings_may_be_one_text_or_none(connect, faults, sent, warnings):
    faults.will(echoing(warnings=sent))
    assert connect(faults.base_url).lookup("TX", zip="78701").warnings == warnings


@pytest.mark.parametrize(
    ("sent", "taxable"),
    [
        *((word, True) for word in (True, "true", "TRUE", " yes", "Y", "1", 1, 1.0)),
        *((word, False) for word in (False, "false", "no", "N", "0", 0)),
        (None, None),
        ("sometimes", "sometimes"),
        ("", ""),
        (2, "2"),
        (["true"], "['true']"),
    ],
)
def test_whether_freight_is_taxable_is_read_by_its_meaning(connect, faults, sent, taxable):
    faults.will(echoing(rate={"freight_taxable": sent}))
    read = connect(faults.base_url).lookup("TX", zip="78701").rate.freight_taxable
    assert (type(read), read) == (type(taxable), taxable)


BOMB = zlib.compress(bytes(200 * 1024**2), 9)


def packed(window):
    stream = zlib.compressobj(wbits=window)
    return stream.compress(GOOD) + stream.flush()


@pytest.mark.parametrize("injected", [False, True])
@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(GOOD, mtime=0)),
        ("X-GZIP", gzip.compress(GOOD, mtime=0)),
        ("deflate", packed(zlib.MAX_WBITS)),
        ("deflate", packed(-zlib.MAX_WBITS)),
        ("identity", GOOD),
    ],
)
def test_a_packed_body_is_read_though_none_was_requested(connect, faults, encoding, body, injected):
    faults.will(answer(200, body, content_encoding=encoding))
    with injecting(connect, injected) as options:
        answered = connect(faults.base_url, **options).lookup("TX", zip="78701")
    assert answered.combined_rate_string == "0.08250"
    assert faults.seen[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("injected", [False, True])
@pytest.mark.parametrize(
    ("encoding", "body", "why"),
    [
        ("deflate", BOMB, "16 MB"),
        ("deflate", BOMB[2:], "16 MB"),
        ("identity", b" " * (17 * 1024**2), "16 MB"),
        ("br", b"\x0b\x02\x80{}\x03", "br"),
        ("gzip, gzip", gzip.compress(gzip.compress(GOOD, mtime=0), mtime=0), "gzip, gzip"),
        ("gzip", gzip.compress(GOOD, mtime=0)[:-20], "cut off"),
        ("gzip", GOOD, "header"),
        ("deflate", GOOD, "invalid"),
    ],
    ids=["bomb", "raw bomb", "large", "brotli", "twice", "half", "no gzip", "no deflate"],
)
def test_a_body_is_read_within_a_limit(connect, faults, encoding, body, why, injected):  # noqa: PLR0917
    tracemalloc.start()
    faults.will(answer(200, body, content_encoding=encoding))
    with injecting(connect, injected) as options:
        client = connect(faults.base_url, **options)
        with pytest.raises(TransportError, match=why):
            client.lookup("TX", zip="78701")
        faults.will(answer(401, body, content_encoding=encoding))
        with pytest.raises(AuthError):  # the status counts, whatever the body
            client.lookup("TX", zip="78701")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 1024**2


def parsed(body):
    return parse_lookup(Reply(200, {}, body), 1)


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
        parse_lookup(Reply(status, {}, raw), 2)
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


ODD = {"rate": {"combined_rate": 0.0825, "zip": 78701, "freight_taxable": "Y", "levy": 1.5}}
ODD["meta"] = {"confidence": 5, "warnings": ["a", {"code": 7}, 1.5, None, {"code": [1]}, {"b": 2}]}
ODD["candidates"] = [{"combined_rate": 0.1, "code": 10**30}]
UNREADABLE = {
    "rate": {"combined_rate": "0.08250", "city": {"name": "Austin"}, "county": ["Travis"]}
}
UNREADABLE["meta"] = {"confidence": [1.5], "resolved_via": {"b": None}, "period": True}
STORED = [
    ("lookup", 200, json.loads(GOOD)),
    ("lookup", 200, ODD),
    ("lookup", 200, UNREADABLE),
    ("lookup", 200, b'{"rate": {"combined_rate": "0.1"}, "a": 1e400, "b": 1e99999999999999999999}'),
    ("health", 200, {"status": "ok", "load": {"one": 0.5}}),
    ("freshness", 200, {"states": [{"state": "TX", "edition": 2026, "source": ["a"]}]}),
    ("list_nexus", 200, {"nexus": [{"state": "TX", "nexus_type": "physical", "notes": {"a": 1}}]}),
    ("add_nexus", 200, {"state": "TX", "nexus_type": "physical", "registered_at": 20240101}),
    ("remove_nexus", 204, b""),
    ("remove_nexus", 202, {"status": "queued"}),
    *(("remove_nexus", 200, {name: 2, "state": ["TX"]}) for name in ("deleted", *COUNTS)),
    *(("remove_nexus", 200, {"deleted": one}) for one in (True, "two", [2])),
]
ARGUMENTS = {
    "lookup": (("TX",), {"zip": "78701"}),
    "add_nexus": (("TX",), {}),
    "remove_nexus": (("TX",), {}),
}
COPIES = {
    "dump": lambda one: type(one).model_validate(one.model_dump()),
    "set fields": lambda one: type(one).model_validate(one.model_dump(exclude_unset=True)),
    "JSON": lambda one: type(one).model_validate_json(one.model_dump_json()),
    "JSON text": lambda one: type(one).model_validate(
        json.loads(json.dumps(one.model_dump(mode="json")))
    ),
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "model_copy": lambda one: one.model_copy(deep=True),
}


@pytest.mark.parametrize(("call", "status", "body"), STORED)
def test_every_result_equals_itself_after_it_was_stored(connect, faults, call, status, body):
    faults.will(answer(status, body if isinstance(body, bytes) else json.dumps(body).encode()))
    args, kwargs = ARGUMENTS.get(call, ((), {}))
    result = getattr(connect(faults.base_url), call)(*args, **kwargs)
    for name, copied in COPIES.items():
        other = copied(result)
        assert other == result, name
        assert other.model_dump() == result.model_dump(), name
        assert other.unreadable_fields == result.unreadable_fields, name
    if not isinstance(body, bytes):
        assert result.model_dump(exclude_unset=True).keys() >= body.keys()
