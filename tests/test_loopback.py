"""Local servers: which requests their guard accepts, and the sockets they listen on."""

from __future__ import annotations

import ipaddress
import socket

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from support.systems import posix

from svc_tools.base.loopback import (
    ListenError,
    LocalGuard,
    base_address,
    is_loopback,
    listen,
    listen_on_localhost,
    serve_in_thread,
)

ANY_PORT = LocalGuard()
OWN_PORT = LocalGuard(8643, "https", SecretStr("the-token"))
LOCAL = ["127.0.0.1", "127.8.9.1:1", "localhost", "LOCALHOST:8642", "[::1]", "[::1]:8642"]
ELSEWHERE = [
    "evil.example",
    "localhost.evil.example",
    "10.0.0.1:8642",
    "[2001:db8::1]",
    "0.0.0.0",  # noqa: S104 - a name to refuse, nothing listens there
    "::1",
    "",
    "localhost:",
    "localhost:x",
    "localhost.:8643",
    "user@127.0.0.1",
    "127.0.0.1, evil.example",
    "2130706433",
    "127.1",
    "[localhost]",
    "[127.0.0.1]",
]


@pytest.mark.parametrize("host", LOCAL)
def test_a_host_of_this_machine(host):
    assert ANY_PORT.refuses([host]) is None
    assert ANY_PORT.refuses([host], ["http://localhost:1", "https://127.0.0.1"]) is None


@pytest.mark.parametrize("host", ELSEWHERE)
def test_a_host_elsewhere(host):
    assert ANY_PORT.refuses([host]) == OWN_PORT.refuses([host]) == "host"
    assert ANY_PORT.refuses(["localhost"], [f"https://{host}"]) == "origin"


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
def test_no_host_or_two(hosts):
    assert ANY_PORT.refuses(hosts) == "host"


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://", "file://", "127.0.0.1", "http://localhost/path", "ftp://localhost"],
)
def test_an_origin_that_is_no_local_page(origin):
    assert ANY_PORT.refuses(["localhost"], [origin]) == "origin"
    assert OWN_PORT.refuses(["localhost:8643"], [origin]) == "origin"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_a_server_with_a_port_accepts_its_own_address_only(name):
    own = f"{name}:8643"
    assert OWN_PORT.refuses([own.upper()], [f"https://{own}"]) is None
    assert OWN_PORT.refuses([own], [f"http://{own}"]) == "origin"
    assert OWN_PORT.refuses([own], [f"https://{name}:8644"]) == "origin"
    assert OWN_PORT.refuses([f"{name}:8644"]) == OWN_PORT.refuses([name]) == "host"
    assert LocalGuard(443, "https").refuses([name], [f"https://{name}"]) is None
    assert LocalGuard(80).refuses([name]) is None


@pytest.mark.parametrize("given", ["", "the-toke", "the-token1", "\u00fc", "\udcff"])
def test_another_token(given):
    assert OWN_PORT.accepts_token("the-token")
    assert not OWN_PORT.accepts_token(given)
    assert not ANY_PORT.accepts_token(given)
    assert "the-token" not in repr(OWN_PORT)


@given(st.ip_addresses())
def test_an_address_is_local_when_it_is_loopback(address):
    assert is_loopback(str(address)) == ipaddress.ip_address(str(address)).is_loopback


@given(st.text(max_size=30))
def test_any_text_is_judged(text):
    assert ANY_PORT.refuses([text], [text]) in {None, "host", "origin"}
    assert OWN_PORT.refuses(["localhost:8643"], [text]) in {None, "origin"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_the_address_of_a_socket(host):
    try:
        listener = listen(host, 0)
    except ListenError:
        pytest.skip(f"this machine has no {host}")
    with listener:
        name, port = listener.getsockname()[:2]
        assert is_loopback(name)
        shown = "[::1]" if host == "::1" else "127.0.0.1"
        assert base_address(listener) == f"http://{shown}:{port}"
        with pytest.raises(ListenError) as refused:
            listen(host, port)
        assert refused.value.code == "port_in_use"


@posix
@posix
def test_no_part_of_a_response_waits_for_the_part_before():
    """Whoever accepts the connections: asyncio forgets it for a socket it got by its number."""
    with listen("127.0.0.1", 0) as listener:
        for family in (socket.AF_INET, socket.AF_UNIX):
            with (
                socket.create_connection(listener.getsockname()),
                socket.fromfd(listener.fileno(), family, socket.SOCK_STREAM) as inherited,
                inherited.accept()[0] as accepted,
            ):
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("host", "port", "code"),
    [
        ("no such host", 0, "host_unknown"),
        ("192.0.2.1", 0, "not_possible"),
        ("127.0.0.1", 65_536, "port_out_of_range"),
        ("127.0.0.1", -1, "port_out_of_range"),
    ],
)
def test_an_address_that_cannot_be_listened_on(host, port, code):
    with pytest.raises(ListenError) as refused:
        listen(host, port)
    assert refused.value.code == code


def test_both_addresses_of_localhost_are_taken_or_none():
    try:
        other = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with other, pytest.raises(ListenError) as refused:
        listen_on_localhost(other.getsockname()[1])
    assert refused.value.code == "port_in_use"
    first, second = listen_on_localhost(0)
    with first, second:
        port = first.getsockname()[1]
        assert first.getsockname()[:2] == ("127.0.0.1", port)
        assert second.getsockname()[:2] == ("::1", port)


async def app(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_an_app_in_a_thread_serves_until_it_is_closed():
    server = serve_in_thread(app)
    assert server.running
    assert httpx.get(server.base_url, trust_env=False).status_code == 204
    server.close()
    server.close()
    assert not server.running
    listen("127.0.0.1", httpx.URL(server.base_url).port).close()
