"""Responses as broken gateways send them: both clients agree, and raise nothing but `SvcError`."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest
from support.faults import GOOD, KEY, answer, serving

from svc_sdk import AsyncSvc, Svc, SvcError

LINE = b"HTTP/1.1 200 OK\r\n"
CLOSE = b"connection: close\r\n\r\n"
RATE = '{"rate": {"combined_rate": "0.08250"%s}, "meta": {%s}}'


def of_status(line):
    return b"HTTP/1.1 %b\r\ncontent-length: %d\r\n%b%b" % (line, len(GOOD), CLOSE, GOOD)


def with_header(header, body=GOOD):
    return LINE + header + b"\r\n" + CLOSE + body


STATUS_LINES = [
    *(b"%d X" % status for status in (0, 99, 100, 101, 103, 199, 204, 205, 206, 226, 299)),
    *(b"%d X" % status for status in (300, 304, 399, 400, 418, 451, 499, 501, 599, 600, 999, 1000)),
    *(b"200", b"200 ", b" 200 OK", b"2OO OK", b"-200 OK", b"200 \xff", b"200 " + b"A" * 70_000),
]
HEADERS = [
    *(b"content-length: " + one for one in (b"-1", b"abc", b"1e3", b"5, 5", b"", b"9" * 30, b"+5")),
    b"content-length: 5\r\ncontent-length: 6",
    b"content-length: 5\r\ntransfer-encoding: chunked",
    b"transfer-encoding: gzip, chunked",
    *(
        b"content-encoding: " + one
        for one in (b"gzip", b"br", b"zstd", b"x" * 5_000, b", ,", b"\xff")
    ),
    *(b"retry-after: " + one for one in (b"1e9", b"nan", b"-1", b"9" * 400, b"\xff", b"1.5.")),
    b"x: " + b"a" * 200_000,
    b"\r\n".join(b"x%d: 1" % number for number in range(20_000)),
    *(b"junk", b"x: a\x00b", b"x: a\r\n b", b"set-cookie: \xff", b"content-type: a; charset=x"),
]
CHUNKS = [
    b"zz\r\nx\r\n0\r\n\r\n",
    b"-5\r\nx",
    b"5\r\nhel",
    b"5\r\nhello\r\n",
    b"F" * 20,
    b"0\r\n\r\n",
]
BODIES = [
    *("null", "1", '"x"', "[]", "{}", '{"rate": null}', '{"rate": []}', '{"rate": {}}', "\0", "["),
    *('"\\ud800"', '{"\\ud800": 1}', GOOD.decode() + "x", "\ufeff" + GOOD.decode()),
    *(f'{{"rate": {{"combined_rate": {one}}}}}' for one in ("{}", "1e400", "9" * 400, "9" * 5_000)),
    *(RATE % (f', "zip": {one}', "") for one in ("78701", "true", "[]", '"\\ud800"')),
    *(RATE % (f', "freight_taxable": {one}', "") for one in ("{}", "1e400", "9" * 400, "[[]]")),
    *(
        RATE % ("", f'"warnings": {one}')
        for one in ("1", "{}", '"\\ud800"', "[[[]], {}, 1.5, null]")
    ),
    RATE
    % ("", '"warnings": [{"code": []}, {"code": ""}, {"code": "x", "resolved_place_name": []}]'),
    RATE % (', "model_extra": 1, "__class__": 2, "copy": 3', ""),
    '{"rate": {"combined_rate": "\u0660.\u0661"}}',
    *(json.dumps({"nexus": nexus}) for nexus in ({}, [1], [{"state": 1, "nexus_type": 2}], "TX")),
    *(json.dumps({"deleted": deleted}) for deleted in ("", "-1", "1.5", 1.5, [], 10**30)),
]
ERRORS = [
    *(
        {"detail": one}
        for one in ([None, 1, "x", []], [{"loc": [{}], "msg": 1}], {"detail": {}}, 7)
    ),
    *({"error": one} for one in ({"error": {"error": {"code": "X"}}}, [{"code": "X"}], None, 7)),
    *({"code": one} for one in (True, 1.5, 10**100, [], {})),
    *({"error": {"retry_after_seconds": one}} for one in (10**400, -1, "7", True)),
    {"detail": [{"loc": ["a"] * 10_000, "msg": "m", "type": "t"}]},
]
ODD = {
    **{f"line {one[:12]!r}": of_status(one) for one in STATUS_LINES},
    **{f"header {one[:30]!r}": with_header(one) for one in HEADERS},
    **{f"chunk {one[:12]!r}": with_header(b"transfer-encoding: chunked", one) for one in CHUNKS},
    **{
        f"{status} {one[:40]!a}": answer(status, one.encode())
        for one in BODIES
        for status in (200, 404)
    },
    **{f"error {str(one)[:40]}": answer(429, json.dumps(one).encode()) for one in ERRORS},
    "no HTTP": b"hello\r\n\r\nconnection: close",
    "two members": answer(body=gzip.compress(GOOD) * 2, content_encoding="gzip"),
    "two responses": answer() + answer(body=b"{}"),
    "informational": b"HTTP/1.1 103 Early\r\n\r\n" * 50 + answer(),
}
CALLS = {
    "lookup": ("TX", {"zip": "78701"}),
    "list_nexus": (None, {}),
    "remove_nexus": ("TX", {"nexus_type": "economic"}),
}


@pytest.fixture(scope="module")
def odd():
    with serving() as state:
        yield state


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("response", ODD.values(), ids=ODD)
def test_both_clients_agree_and_raise_only_their_own_errors(odd, response, call):
    odd.will(response)
    state, options = CALLS[call]
    settings = {"base_url": odd.base_url, "timeout": 5, "max_retries": 0}

    def sync():
        with Svc(KEY, **settings) as client:
            return getattr(client, call)(state, **options)

    async def aio():
        async with AsyncSvc(KEY, **settings) as client:
            return await getattr(client, call)(state, **options)

    assert outcome(sync) == outcome(lambda: asyncio.run(aio()))


def outcome(call):
    """The result of a call, as text that can be compared: no exception of another kind."""
    try:
        result = call()
    except SvcError as error:
        return type(error).__name__, str(error), repr(vars(error))
    return repr(result), repr(result.model_dump())
