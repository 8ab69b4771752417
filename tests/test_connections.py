"""Local servers: connections that send nothing, or too slowly, end and leave room for others."""

from __future__ import annotations

import contextlib
import socket
import ssl
import stat
import subprocess
import sys
import threading
from itertools import count

import httpx
import pytest
from support.serving import KEY, program
from support.systems import posix
from support.tools import openssl
from support.waiting import until

from svc_tools.base import connections
from svc_tools.base.loopback import listen, make_server

GET = b"GET /v1/freshness HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n"
CHUNKED = POST.replace(b"Content-Length: 10", b"Transfer-Encoding: chunked") + b"5\r\n1"
LARGE = 30_000_000
ENDS = 30.0
"""Seconds after which a test fails because the server has not ended a connection."""
LOOPS = ["asyncio", "auto"]


class App:
    """Reads a request, and responds `/large` with more than any buffer holds."""

    def __init__(self):
        self.left = threading.Event()

    async def __call__(self, scope, receive, send):
        body = b"the response"
        if scope["path"] == "/large":
            body = bytes(LARGE)
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                if not message.get("more_body"):
                    break
            length = (b"content-length", b"%d" % len(body))
            await send({"type": "http.response.start", "status": 200, "headers": [length]})
            for begin in range(0, len(body), 65_536):
                piece = body[begin : begin + 65_536]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self.left.set()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    command = [openssl(), "req", *made, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return {"ssl_certfile": cert, "ssl_keyfile": key}


def stop(server, thread):
    server.should_exit = True
    thread.join(ENDS)


@pytest.fixture
def serve():
    """Serves an app in a thread, until the test ends; the address of the server."""
    with contextlib.ExitStack() as stack:

        def started(app, **options):
            listener = listen("127.0.0.1", 0)
            ready = threading.Event()
            server = make_server(app, ready.set, **options)
            thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
            stack.callback(stop, server, thread)
            address = listener.getsockname()
            thread.start()
            assert ready.wait(ENDS)
            return address

        yield started


def trusting(certificate):
    found = ssl.create_default_context(cafile=certificate["ssl_certfile"])
    found.check_hostname = False
    return found


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)


def connected(address, sent=b""):
    made = socket.create_connection(address, timeout=ENDS)
    made.sendall(sent)
    return made


def rest(connection):
    """What comes until the server ends the connection."""
    received = b""
    with connection, contextlib.suppress(ConnectionError):
        while piece := connection.recv(65_536):
            received += piece
    return received


def read_response(connection):
    received = b""
    while not received.endswith(b"the response"):
        piece = connection.recv(65_536)
        assert piece
        received += piece


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(GET[:5], id="the first line"),
        pytest.param(GET[:-2], id="headers"),
        pytest.param(POST, id="no body"),
        pytest.param(POST + b"12345", id="half a body"),
        pytest.param(CHUNKED, id="a chunk"),
    ],
)
def test_a_request_that_does_not_arrive_is_ended(serve, soon, sent, loop):
    received = rest(connected(serve(App(), loop=loop), sent))
    assert received.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_that_sends_nothing_is_ended(serve, soon, loop):
    assert rest(connected(serve(App(), loop=loop))) == b""


@pytest.mark.parametrize("sent", [GET[:-2] + b"X: ", POST.replace(b"10", b"5000")])
def test_a_byte_now_and_then_does_not_prolong_it(serve, soon, sent):
    with connected(serve(App()), sent) as connection:
        connection.settimeout(0.05)
        for _ in range(int(ENDS / 0.05)):
            with contextlib.suppress(TimeoutError):
                try:
                    connection.send(b"x")
                    received = connection.recv(1_000)
                except ConnectionError:
                    received = b""
                break
        else:
            raise AssertionError("the server still waits")
    assert received.startswith(b"HTTP/1.1 408 ") or not received


def test_a_next_request_that_only_begins_is_ended(serve, soon):
    """Idle connections are kept longer, but not those of which a part has come."""
    connection = connected(serve(App()), GET)
    read_response(connection)
    connection.sendall(GET[:9])
    assert rest(connection).startswith(b"HTTP/1.1 408 ")


def test_an_idle_connection_is_kept_for_a_while_and_then_ended(serve, soon):
    kept = connected(serve(App()), GET)
    short = connected(serve(App(), timeout_keep_alive=0.2), GET)
    for connection in (kept, short):
        read_response(connection)
    assert rest(short) == b""
    kept.sendall(GET.replace(b"Host", b"Connection: close\r\nHost"))
    assert b"the response" in rest(kept)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_response_that_is_not_read_is_ended(serve, soon, loop):
    app = App()
    unread = connected(serve(app, loop=loop), GET.replace(b"/v1/freshness", b"/large"))
    assert app.left.wait(ENDS)
    assert len(rest(unread)) < LARGE


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("sent", [b"", b"\x16\x03", b"GET / HTTP/1.1\r\n\r\n"])
def test_an_encryption_that_does_not_come_about_is_ended(serve, soon, certificate, sent, loop):
    assert b"HTTP" not in rest(connected(serve(App(), **certificate, loop=loop), sent))


@pytest.mark.parametrize("loop", LOOPS)
def test_encrypted_requests_have_the_same_limits(serve, soon, certificate, loop):
    address = serve(App(), **certificate, loop=loop)
    tls = trusting(certificate)
    whole = tls.wrap_socket(connected(address))
    whole.sendall(GET.replace(b"Host", b"Connection: close\r\nHost"))
    assert b"the response" in rest(whole)
    half = tls.wrap_socket(connected(address))
    half.sendall(GET[:9])
    with contextlib.suppress(ssl.SSLError):
        assert rest(half).startswith(b"HTTP/1.1 408 ")


@contextlib.contextmanager
def crowd(address, number):
    """Connections that a program opens and leaves: silent, with half a request, or idle."""
    kinds = (b"", GET[:9], POST, GET)
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(address)) for _ in range(number)]
        for connection, place in zip(opened, count()):
            with contextlib.suppress(ConnectionError):
                connection.sendall(kinds[place % len(kinds)])
        yield opened


def are_open(opened):
    """How many connections the server has not ended."""
    found = 0
    for connection in opened:
        connection.settimeout(0)
        try:
            while connection.recv(65_536):
                pass
        except BlockingIOError:
            found += 1
        except ConnectionError:
            pass
    return found


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("loop", LOOPS)
def test_connections_that_wait_take_no_more_than_half_of_the_open_files(
    serve, certificate, monkeypatch, encrypted, loop
):
    monkeypatch.setattr(connections, "most_open_files", lambda: 40)
    address = serve(App(), loop=loop, **(certificate if encrypted else {}))
    scheme = "https" if encrypted else "http"
    with crowd(address, 100) as opened:
        tls = trusting(certificate)
        for _ in range(3):
            got = httpx.get(f"{scheme}://127.0.0.1:{address[1]}", verify=tls, trust_env=False)
            assert got.text == "the response"
        until(lambda: are_open(opened) <= 20)


@posix
@pytest.mark.parametrize("workers", [1, 2])
def test_the_service_looks_up_while_another_program_leaves_connections_open(tmp_path, workers):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nulimit -n 256\nexec "{sys.executable}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    options = ("--db", tmp_path / "service.db", "--workers", workers)
    with program(*options, key=KEY, flags=(), python=str(python)) as served:
        host, port = served.url.removeprefix("http://").split(":")
        with crowd((host, int(port)), 700) as opened:
            for _ in range(8):
                got = httpx.get(
                    f"{served.url}/v1/tax/NJ?zip=07030",
                    headers={"X-API-Key": KEY},
                    trust_env=False,
                    timeout=20,
                )
                assert got.json()["rate"]["combined_rate"] == "0.06625"
            until(lambda: are_open(opened) <= 128 * workers)
