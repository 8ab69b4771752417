"""Who may ask the page's server for something."""

from __future__ import annotations

import pytest

from svc_tools.page.gate import Asked, Gate

GATE = Gate(port=4321)
TOKEN = GATE.token.get_secret_value()
LAUNCH = GATE.launch.get_secret_value()
TICKET = GATE.ticket.get_secret_value()
OWN = "http://127.0.0.1:4321"


def judged(method="GET", path="/", host="127.0.0.1:4321", **more):
    return GATE.judge(Asked(method=method, path=path, host=host, **more))


def test_the_token_is_let_in_once_and_the_cookie_from_then_on():
    assert judged(token=TOKEN) == "welcome"
    assert judged(token=LAUNCH) == "launched"
    assert judged(cookie=TICKET) == "allowed"
    assert judged(cookie=TICKET, host="LocalHost:4321") == "allowed"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"token": "guessed"},
        {"cookie": "guessed"},
        {"cookie": TOKEN},
        {"token": TICKET},
        {"token": TOKEN[:-1]},
        {"token": "ü"},
        {"cookie": TICKET, "token": "guessed"},
        {"token": TOKEN, "path": "/api/kernels/x"},
        {"token": TOKEN, "method": "POST", "origin": OWN},
        {"token": TOKEN, "upgrade": True, "origin": OWN},
    ],
)
def test_whoever_has_neither_is_unknown(more):
    assert judged(**more) == "unknown"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:4321",
        "127.0.0.1",
        "127.0.0.1:80",
        "",
        "127.0.0.1:4321.evil.example",
        "127.0.0.1.:4321",
        "localhost.:4321",
        "[::1]:4321",
        "0.0.0.0:4321",
        "2130706433:4321",
        "127.0.0.1:4321,evil.example",
    ],
)
def test_another_name_than_the_servers_own_is_foreign_whatever_it_brings(host):
    assert judged(host=host, token=TOKEN) == "foreign"
    assert judged(host=host, cookie=TICKET) == "foreign"


@pytest.mark.parametrize(
    "more",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:4321"},
        {"origin": "http://localhost:4321"},
        {"upgrade": True},
        {"method": "POST"},
        {"method": "DELETE"},
        {"site": "cross-site"},
        {"site": "same-site"},
        {"site": "cross-site", "destination": "iframe"},
        {"site": "cross-site", "destination": "document", "method": "POST", "origin": OWN},
    ],
)
def test_what_another_page_sends_is_foreign_even_with_the_cookie(more):
    assert judged(cookie=TICKET, **more) == "foreign"


@pytest.mark.parametrize(
    "more",
    [
        {"origin": OWN, "method": "POST"},
        {"origin": OWN, "upgrade": True},
        {"site": "same-origin"},
        {"site": "none"},
        {"site": "cross-site", "destination": "document"},
    ],
)
def test_the_page_itself_and_a_persons_click_are_let_in(more):
    assert judged(cookie=TICKET, **more) == "allowed"


def test_no_secret_stands_in_what_is_printed_of_a_gate():
    assert not any(secret in repr(GATE) + str(GATE) for secret in (TOKEN, LAUNCH, TICKET))
    assert len({TOKEN, LAUNCH, TICKET}) == 3
    other = Gate(port=4321)
    assert other.token != GATE.token
    assert other.place != GATE.place
