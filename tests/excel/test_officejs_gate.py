"""Who may ask the local server for something."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from svc_tools.excel.officejs.gate import ACTIONS, Gate, GateRequest

TOKEN = "the-token"
GATE = Gate(8643, SecretStr(TOKEN), "https")
BEARER = f"Bearer {TOKEN}"
OWN = "https://localhost:8643"


def judged(method="GET", path="/excel/functions.js", host="localhost:8643", **more):
    return GATE.judge(GateRequest(method=method, path=path, host=host, **more))


@pytest.mark.parametrize("path", sorted(ACTIONS))
def test_what_computes_or_changes_takes_the_token_in_its_header_alone(path):
    for method in ("GET", "POST", "DELETE"):
        assert judged(method, path, authorization=BEARER) == "allowed"
        assert judged(method, path, authorization=f"bearer  {TOKEN}") == "allowed"
        assert judged(method, path, token=TOKEN) == "unknown"
        assert judged(method, path) == "unknown"


@pytest.mark.parametrize(
    "path", ["/excel/functions.js", "/excel/manifest.xml", "/excel/taskpane.html", "/other"]
)
def test_files_take_it_in_their_address_too_for_excel_sends_no_header(path):
    assert judged(path=path, token=TOKEN) == "allowed"
    assert judged(path=path, authorization=BEARER) == "allowed"
    assert judged(path=path) == "unknown"
    assert judged("POST", path, token=TOKEN) == "unknown"


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Bearer the-toke", "Bearer the-token1", f"Basic {TOKEN}", TOKEN],
)
def test_no_other_token_is_taken(authorization):
    assert judged("POST", "/excel/batch", authorization=authorization) == "unknown"
    assert judged(token="ü") == "unknown"
    assert judged(token="\udcff") == "unknown"


def test_a_wrong_header_is_not_saved_by_a_right_address():
    assert judged(token=TOKEN, authorization="Bearer wrong") == "unknown"


def test_the_page_with_instructions_and_the_pictures_are_open():
    assert judged(path="/excel/") == "allowed"
    assert judged(path="/excel/icon-32.png") == "allowed"
    assert judged("POST", "/excel/") == "unknown"
    assert judged(path="/excel/icon-32.js") == "unknown"


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8643",
        "localhost",
        "localhost:80",
        "localhost:8643.evil.example",
        "localhost.:8643",
        "127.0.0.1:8644",
        "0.0.0.0:8643",
        "2130706433:8643",
    ],
)
def test_another_name_than_the_servers_own_is_foreign_whatever_it_brings(host):
    assert judged(host=host, authorization=BEARER) == "foreign"
    assert judged(path="/excel/", host=host) == "foreign"


@pytest.mark.parametrize(
    "host", ["localhost:8643", "LOCALHOST:8643", "127.0.0.1:8643", "[::1]:8643"]
)
def test_the_names_of_this_machine_are_its_own(host):
    assert judged(host=host, authorization=BEARER, origin=f"https://{host}") == "allowed"


@pytest.mark.parametrize(
    "origin",
    ["null", "https://evil.example", "http://localhost:8643", "https://localhost:8644", ""],
)
def test_pages_of_other_servers_are_foreign_even_with_the_token(origin):
    assert judged("POST", "/excel/batch", authorization=BEARER, origin=origin) == "foreign"
    assert judged(token=TOKEN, origin=origin) == "foreign"


def test_programs_say_no_origin():
    assert judged("POST", "/excel/batch", authorization=BEARER) == "allowed"
    assert judged("POST", "/excel/batch", authorization=BEARER, origin=OWN) == "allowed"


def test_excel_on_the_web_reads_the_names_of_the_functions_from_its_own_page():
    asked = {"path": "/excel/functions.json", "origin": "https://excel.officeapps.live.com"}
    assert judged(token=TOKEN, **asked) == "allowed"
    assert judged(**asked) == "unknown"
    assert judged("POST", token=TOKEN, **asked) == "foreign"
    assert judged("OPTIONS", **asked) == "allowed"
    assert judged("OPTIONS", host="evil.example", **asked) == "foreign"


def test_the_token_is_in_no_text_of_the_gate():
    assert TOKEN not in repr(GATE)
    assert GATE.origin == OWN


def test_a_port_that_no_browser_names_is_ours_too():
    gate = Gate(443, SecretStr(TOKEN), "https")
    for host in ("localhost", "localhost:443"):
        asked = GateRequest("POST", "/excel/batch", host, f"https://{host}", BEARER)
        assert gate.judge(asked) == "allowed"
    assert judged(host="localhost", authorization=BEARER) == "foreign"
