"""The local server over HTTP: who gets a response, which, and the JSON of calls."""

from __future__ import annotations

import asyncio
import json
import socket
import threading

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from starlette.responses import Response
from support.faults import KEY, answer
from support.keyrings import use_keyring
from support.spreadsheets import local_server

from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import Call
from svc_tools.excel.officejs import app as app_module
from svc_tools.excel.officejs.app import MOST_CALLS, BadRequestError, read_calls, results_json
from svc_tools.excel.officejs.guard import ACTIONS, LARGEST_BODY, Guard, judge, origin_of
from svc_tools.excel.officejs.pages import metadata
from svc_tools.excel.values import (
    OMITTED,
    BadValueError,
    CellError,
    ErrorCell,
    NotAvailableError,
    NumberOf1904,
    day_in,
)
from svc_tools.loopback import LocalGuard

RATE = {"calls": [{"f": "SVC_RATE", "a": ["TX", "78701", "2026-05-01"]}]}


@pytest.fixture
def server(scripted):
    with local_server(Desk(scripted, cache=False)) as running:
        yield running


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.origin, trust_env=False) as made:
        yield made


def message(response):
    return response.json()["error"]["message"]


def test_whoever_has_the_token_gets_rates(client, server):
    got = client.post("/excel/batch", json=RATE, headers=server.headers)
    assert got.status_code == 200
    assert got.json() == {"results": [{"v": 0.0825}]}


def test_nobody_else_does_and_nothing_is_asked(client, server, faults):
    for headers in ({}, {"authorization": "Bearer guessed"}):
        got = client.post(f"/excel/batch?token={server.token}", json=RATE, headers=headers)
        assert got.status_code == 401
        assert "manifest" in message(got)
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
        got = client.post("/excel/batch", json=RATE, headers=server.headers | headers)
        assert got.status_code == 403
    assert faults.seen == []


def test_every_answer_is_for_this_moment_and_this_page(client, server):
    answers = [
        client.get("/excel/"),
        client.get("/excel/functions.js"),
        client.get(f"/excel/functions.js?token={server.token}"),
        client.get(f"/excel/nothing?token={server.token}"),
        client.post("/excel/batch", json=RATE, headers=server.headers),
        client.post("/excel/batch", content=b"{", headers=server.headers),
    ]
    assert [one.status_code for one in answers] == [200, 401, 200, 404, 200, 400]
    for one in answers:
        assert one.headers["cache-control"] == "no-store"
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors" in one.headers["content-security-policy"]
        assert "access-control-allow-origin" not in one.headers
        assert "server" not in one.headers or "uvicorn" in one.headers["server"]


def test_only_the_names_of_the_functions_are_for_pages_elsewhere(client, server):
    elsewhere = {"origin": "https://excel.officeapps.live.com"}
    preflight = client.options("/excel/functions.json", headers=elsewhere)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-private-network"] == "true"
    got = client.get(f"/excel/functions.json?token={server.token}", headers=elsewhere)
    assert got.json() == metadata()
    assert got.headers["access-control-allow-origin"] == "*"
    for path in ("functions.js", "manifest.xml", "taskpane.html"):
        refused = client.get(f"/excel/{path}?token={server.token}", headers=elsewhere)
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers


def test_excel_on_the_web_may_frame_the_pane_and_nobody_else(client, server):
    in_office = client.get(f"/excel/taskpane.html?token={server.token}&office=1")
    policy = in_office.headers["content-security-policy"]
    assert "https://*.officeapps.live.com" in policy
    assert "https://appsforoffice.microsoft.com" in policy
    assert "functions.js?token=" in in_office.text
    alone = client.get(f"/excel/taskpane.html?token={server.token}")
    assert "https://" not in alone.headers["content-security-policy"]
    assert "https://" not in alone.text.replace("https://rates.example", "")


def test_files_are_served_by_name_and_the_folder_above_is_not(client, server):
    for name in ("taskpane.css", "taskpane.js", "taskpane_freeze.js"):
        got = client.get(f"/excel/{name}?token={server.token}")
        assert got.status_code == 200, name
        assert got.text
    for path in ("../app.py", "..%2fapp.py", "%2e%2e/gate.py", "taskpane.html~", "docs"):
        got = client.get(f"/excel/{path}", params={"token": server.token})
        assert got.status_code == 404, path
    assert client.get("/openapi.json", headers=server.headers).status_code == 404


def test_the_page_with_instructions_is_open_and_holds_no_secret(client, server):
    page = client.get("/excel/").text
    assert server.token not in page
    for said in ("openssl req", "mkcert", "Trusted Add-in Catalogs", "/wef", "=SVC.RATE(state"):
        assert said in page


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"calls": [1]}', b"\xff"])
def test_what_is_no_batch_is_refused_in_words(client, server, body):
    got = client.post("/excel/batch", content=body, headers=server.headers)
    assert got.status_code == 400
    assert got.json()["error"]["code"] == "INVALID_INPUT"
    assert "calls" in message(got)


def test_a_body_without_end_is_refused_before_it_is_read(client, server):
    told = client.build_request(
        "POST",
        "/excel/batch",
        content=iter([b"x"]),
        headers=server.headers | {"content-length": str(LARGEST_BODY + 1)},
    )
    told.headers.pop("transfer-encoding", None)
    host, _, port = server.origin.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        lines = [f"{name}: {value}" for name, value in told.headers.items()]
        head = "\r\n".join(["POST /excel/batch HTTP/1.1", *lines, "", ""])
        connection.sendall(head.encode())
        received = connection.makefile("rb").read()
    assert received.startswith(b"HTTP/1.1 413")
    assert b"smaller range" in received


def test_nor_is_one_that_does_not_say_its_length(client, server):
    piece = b"x" * (1024 * 1024)
    try:
        got = client.post(
            "/excel/batch",
            content=(piece for _ in range(LARGEST_BODY // len(piece) + 2)),
            headers=server.headers,
        )
    except httpx.WriteError:
        return  # it closed the connection while this still wrote
    assert got.status_code == 413


def test_neither_the_key_nor_the_words_of_an_exception_reach_a_cell(
    client, server, faults, monkeypatch
):
    faults.will(answer(401, json.dumps({"error": {"message": f"key {KEY} is unknown"}}).encode()))
    got = client.post("/excel/batch", json=RATE, headers=server.headers)
    assert got.json()["results"][0]["e"] == "na"
    assert KEY not in got.text

    def broken(*_):
        raise RuntimeError(f"secret words {KEY}")

    monkeypatch.setattr(app_module, "evaluate", broken)
    got = client.post("/excel/batch", json=RATE, headers=server.headers)
    assert got.status_code == 500
    assert "secret words" not in got.text
    assert message(got)


def test_the_pane_is_answered_and_a_key_that_is_none_is_refused(client, server, monkeypatch):
    use_keyring(monkeypatch)
    status = client.get("/excel/status", headers=server.headers)
    assert status.status_code == 200
    assert "problem" in status.json()
    assert client.post("/excel/refresh", headers=server.headers).json()["requested"] == 0
    address = b'"address": "https://rates.example"'
    for body in (b'{"address": "x"}', b'{%s, "key": null}' % address, b"[]", b"[" * 100_000):
        got = client.post("/excel/key", content=body, headers=server.headers)
        assert got.status_code == 400
    got = client.put("/excel/key", json={}, headers=server.headers)
    assert got.status_code == 405


def test_other_cells_are_answered_while_one_waits(client, server, faults):
    """A lookup that takes long holds up nobody else."""
    go_on = threading.Event()

    def held(_):
        go_on.wait(20)
        return answer()

    faults.will(held)
    slow = []
    thread = threading.Thread(
        target=lambda: slow.append(
            httpx.post(f"{server.origin}/excel/batch", json=RATE, headers=server.headers)
        )
    )
    thread.start()
    assert faults.asked.wait(20)
    quick = {"calls": [{"f": "SVC_SUM", "a": [[[1, 2]]]}]}
    assert client.post("/excel/batch", json=quick, headers=server.headers).json() == {
        "results": [{"v": 3.0}]
    }
    go_on.set()
    thread.join()
    assert slow[0].json() == {"results": [{"v": 0.0825}]}


def test_the_token_goes_no_further_than_the_gate():
    """Whatever traces requests inside the app sees no token."""
    inside = []

    async def app(scope, receive, send):
        inside.append(scope)
        await Response()(scope, receive, send)

    gate = LocalGuard(1, token=SecretStr("the-token"))
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/excel/taskpane.html",
        "query_string": b"token=the-token&office=1",
        "headers": [(b"host", b"localhost:1"), (b"authorization", b"Bearer the-token")],
    }
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(app, gate)(scope, None, send))
    assert sent[0]["status"] == 200
    assert "the-token" not in str(inside)
    assert inside[0]["query_string"] == b"office=1"


def test_a_caller_who_leaves_is_no_failure_to_report(scripted, caplog):
    gate = LocalGuard(8643, token=SecretStr("t"))
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/excel/batch",
        "query_string": b"",
        "headers": [(b"host", b"localhost:8643"), (b"authorization", b"Bearer t")],
    }

    async def receive():
        return {"type": "http.disconnect"}

    async def send(_):
        """Nobody hears it."""

    asyncio.run(app_module.make_app(Desk(scripted, cache=False), gate)(scope, receive, send))
    assert not caplog.records


TOKEN = "the-token"
GUARD = LocalGuard(8643, "https", SecretStr(TOKEN))
BEARER = f"Bearer {TOKEN}"


def judged(method="GET", path="/excel/functions.js", token="", **headers):
    headers = {"host": "localhost:8643"} | headers
    return judge(
        GUARD,
        {
            "method": method,
            "path": path,
            "query_string": f"office=1&token={token}".encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        },
    )


@pytest.mark.parametrize("path", sorted(ACTIONS))
def test_what_computes_or_changes_takes_the_token_in_its_header_alone(path):
    for method in ("GET", "POST", "DELETE"):
        assert judged(method, path, authorization=BEARER) is None
        assert judged(method, path, authorization=f"bearer  {TOKEN}") is None
        assert judged(method, path, token=TOKEN) == "UNKNOWN_TOKEN"
        assert judged(method, path) == "UNKNOWN_TOKEN"


@pytest.mark.parametrize(
    "path", ["/excel/functions.js", "/excel/manifest.xml", "/excel/taskpane.html", "/other"]
)
def test_files_take_it_in_their_address_too_for_excel_sends_no_header(path):
    assert judged(path=path, token=TOKEN) is None
    assert judged(path=path, authorization=BEARER) is None
    assert judged(path=path) == "UNKNOWN_TOKEN"
    assert judged("POST", path, token=TOKEN) == "UNKNOWN_TOKEN"


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Bearer the-toke", "Bearer the-token1", f"Basic {TOKEN}", TOKEN],
)
def test_no_other_token_is_taken(authorization):
    assert judged("POST", "/excel/batch", authorization=authorization) == "UNKNOWN_TOKEN"


def test_a_wrong_token_is_refused_wherever_it_is():
    assert judged(token="ü") == judged(token="%FF") == "UNKNOWN_TOKEN"
    assert judged(token=TOKEN, authorization="Bearer wrong") == "UNKNOWN_TOKEN"


def test_the_page_with_instructions_and_the_pictures_are_open():
    assert judged(path="/excel/") is judged(path="/excel/icon-32.png") is None
    assert judged("POST", "/excel/") == judged(path="/excel/icon-32.js") == "UNKNOWN_TOKEN"


@pytest.mark.parametrize("host", ["", "evil.example:8643", "localhost", "127.0.0.1:8644"])
def test_another_name_than_the_servers_own_is_foreign_whatever_it_brings(host):
    assert judged(host=host, authorization=BEARER) == "FOREIGN"
    assert judged(path="/excel/", host=host) == "FOREIGN"


@pytest.mark.parametrize("host", ["localhost:8643", "127.0.0.1:8643", "[::1]:8643"])
def test_pages_of_other_servers_are_foreign_even_with_the_token(host):
    own = f"https://{host}"
    assert judged("POST", host=host, authorization=BEARER, origin=own) is None
    for origin in ("null", "https://evil.example", "http://localhost:8643", ""):
        assert judged("POST", host=host, authorization=BEARER, origin=origin) == "FOREIGN"
        assert judged(token=TOKEN, host=host, origin=origin) == "FOREIGN"


def test_excel_on_the_web_reads_the_names_of_the_functions_from_its_own_page():
    asked = {"path": "/excel/functions.json", "origin": "https://excel.officeapps.live.com"}
    assert judged(token=TOKEN, **asked) is None
    assert judged(**asked) == "UNKNOWN_TOKEN"
    assert judged("POST", token=TOKEN, **asked) == "FOREIGN"
    assert judged("OPTIONS", **asked) is None
    assert judged("OPTIONS", host="evil.example", **asked) == "FOREIGN"


def test_the_token_is_in_no_text_of_the_guard():
    assert TOKEN not in repr(GUARD)
    assert origin_of(GUARD) == "https://localhost:8643"


def read(*calls):
    return read_calls(json.dumps({"calls": calls}).encode())


def told(*results):
    return json.loads(results_json(results))["results"]


def test_what_is_left_out_an_empty_cell_and_an_error_value_are_three_things():
    (call,) = read({"f": "SVC_RATE", "a": [None, "", {"error": "#DIV/0!"}]})
    assert call == Call("SVC_RATE", (OMITTED, "", ErrorCell("#DIV/0!"), OMITTED))


def test_a_call_of_a_workbook_that_counts_from_1904_has_numbers_that_are_no_days():
    given = ["CA", [[94105, True]], 44592.5]
    (call,) = read({"f": "SVC_RATE", "a": given, "from_1904": True})
    assert call.arguments[:3] == ("CA", [[94105, True]], 44592.5)
    ((zip_code, truth),), day = call.arguments[1:3]
    assert isinstance(zip_code, NumberOf1904)
    assert truth is True
    with pytest.raises(BadValueError, match="counts dates from 1904"):
        day_in(day)


def test_ranges_are_rows_and_null_in_them_is_an_empty_cell():
    (call,) = read({"f": "SVC_SUM", "a": [[[1, 2.5], [None, True], ["x", {"error": "#N/A"}]]]})
    assert call.arguments == ([[1, 2.5], [None, True], ["x", ErrorCell("#N/A")]],)


def test_a_function_of_another_release_and_too_many_arguments_are_errors_of_their_cells():
    found = read({"f": "SVC_FUTURE", "a": []}, {"f": "SVC_FIELDS", "a": [1]}, {"f": "SVC_FIELDS"})
    assert isinstance(found[0], NotAvailableError)
    assert "SVC_FUTURE" in found[0].message
    assert isinstance(found[1], BadValueError)
    assert found[2] == Call("SVC_FIELDS", ())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"calls": {}}',
        b'{"calls": [1]}',
        b'{"calls": [{"f": 1, "a": []}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": {}}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [NaN]}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [Infinity]}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [1' + b"0" * 5000 + b"]}]}",
        b'{"calls": ' + b"[" * 100_000,
        b'\xff\xfe{"calls": []}',
        json.dumps({"calls": [0] * (MOST_CALLS + 1)}).encode(),
    ],
)
def test_what_is_no_batch_is_refused_with_what_is_expected(body):
    with pytest.raises(BadRequestError, match=r"\w+ .*\w"):
        read_calls(body)


@pytest.mark.parametrize("odd", [[1, 2], [[[1]]], {"error": 1}, 10**400, {"v": 1}])
def test_one_odd_cell_is_the_matter_of_its_formula_alone(odd):
    first, second = read({"f": "SVC_SUM", "a": [odd]}, {"f": "SVC_SUM", "a": [[[1]]]})
    assert isinstance(first, BadValueError)
    assert first.message.endswith(".")
    assert second == Call("SVC_SUM", ([[1]],))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["calls", "f", "a", "error", "x"]), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_any_other_json_is_read_or_refused_and_nothing_else(body):
    for asked in (body, {"calls": [{"f": "SVC_RATE", "a": body}]}):
        try:
            found = read_calls(json.dumps(asked).encode())
        except BadRequestError:
            continue
        assert all(isinstance(one, Call | CellError) for one in found)


def test_results_keep_their_kinds_and_an_empty_cell_never_becomes_a_zero():
    rows = [[0.0825, None], ["x", NotAvailableError("not found", "UNRESOLVED")]]
    assert told(0.0825, None, "#PARTIAL", rows, [[True]]) == [
        {"v": 0.0825},
        {"v": ""},
        {"v": "#PARTIAL"},
        {"v": [[0.0825, ""], ["x", {"e": "na", "m": "not found"}]]},
        {"v": [[True]]},
    ]


def test_errors_are_two_kinds_with_their_sentences():
    assert told(NotAvailableError("gone", "FAILED"), BadValueError("bad")) == [
        {"e": "na", "m": "gone"},
        {"e": "value", "m": "bad"},
    ]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_through_to_the_last_digit(number):
    assert told(number) == [{"v": number}]
    (call,) = read({"f": "SVC_SUM", "a": [number]})
    assert call.arguments == (number,)
