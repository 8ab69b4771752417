"""An HTTP server that answers as a script says: statuses, hangs, resets, half bodies."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import socketserver
import ssl
import struct
import subprocess
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

KEY = "test-key-0123456789abcdef"

GOOD = (
    b'{"rate": {"state": "TX", "zip": "78701", "city": "Austin", "county": "Travis",'
    b' "country": "US", "country_rate": "0.00000", "state_rate": "0.06250",'
    b' "county_rate": "0.00000", "city_rate": "0.01000", "combined_district_rate": "0.01000",'
    b' "combined_rate": "0.08250", "freight_taxable": true}, "meta": {"resolved_via": "zip5",'
    b' "confidence": "high", "effective_date": null, "effective_date_basis": "edition_only",'
    b' "period": null, "warnings": []}}'
)


def answer(status: int = 200, body: bytes = GOOD, **headers: str) -> bytes:
    """The bytes of one HTTP answer; header names with underscores for dashes."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    named = {"content_type": "application/json", "content_length": str(len(body))} | headers
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


LISTED = answer(body=b'{"nexus": [], "count": 0}')
"""The response to a list of nexus records, with which a key is checked."""


ALIVE = answer(body=b'{"status": "ok"}')
"""The response to a health check."""


def echo(seen: Seen, *, rate=None, **meta) -> bytes:
    """The good answer, for the state and the ZIP that were asked about, with changes."""
    target = urlsplit(seen.target)
    body = json.loads(GOOD)
    body["rate"]["state"] = unquote(target.path.rpartition("/")[2]).upper()
    body["rate"]["zip"] = dict(parse_qsl(target.query)).get("zip", "78701")[:5]
    body["rate"] |= rate or {}
    body["meta"] |= meta
    return answer(body=json.dumps(body).encode())


def echoing(*, rate=None, **meta):
    """`echo` with changes, as a step of a script."""
    return lambda seen: echo(seen, rate=rate, **meta)


def dripping(begin: bytes, dripped: list[bytes], most: int = 300):
    """A step that goes on byte by byte after `begin`, for 15 s or until the client closes."""

    def step(_seen):
        yield begin
        for _ in range(most):
            yield b"x"
            dripped.append(b"x")
            PAUSE.wait(0.05)

    return step


PAUSE = threading.Event()
"""Never set: it is waited for."""
HANG = object()
"""Never answer; the connection ends with the server."""
RESET = object()
"""Answer with a TCP reset."""


@dataclass
class Seen:
    """A request as the server saw it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Faults:
    """What the server answers, in order (the last one for ever), and what it was asked.

    With `health`, the health check is answered by it, and by no step of the script.
    """

    base_url: str = ""
    health: bytes | None = None
    script: list[object] = field(default_factory=lambda: [echo])
    seen: list[Seen] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)

    def will(self, *script: object) -> None:
        self.script[:] = script

    def step(self, seen: Seen) -> object:
        if self.health is not None and seen.target == "/healthz":
            return self.health
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


def certified(folder):
    """A TLS context for `serving` with a certificate of its own for 127.0.0.1, and its file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is missing: apt-get install --no-install-recommends openssl")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    command += (
        f" -keyout {key} -out {certificate} -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(command.split(), check=True, capture_output=True, timeout=60)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    return tls, certificate


@contextlib.contextmanager
def serving(tls=None):
    """A fault server on a free loopback port, for the length of the block; over TLS if given."""
    state = Faults()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            with contextlib.suppress(ConnectionError):
                while self.one():
                    pass

        def one(self):
            first = self.rfile.readline().decode().split()
            if not first:
                return False
            headers = {}
            while (line := self.rfile.readline().decode().strip()) != "":
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            body = self.rfile.read(int(headers.get("content-length", "0")))
            seen = Seen(first[0], first[1], headers, body)
            state.seen.append(seen)
            state.asked.set()
            step = state.step(seen)
            if step is HANG:
                state.over.wait(60)
                return False
            if step is RESET:
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                os.close(self.connection.detach())  # at once, without a polite end before it
                return False
            sent = step(seen) if callable(step) else step
            for part in (sent,) if isinstance(sent, bytes) else sent:
                self.wfile.write(part)
            return not isinstance(sent, bytes) or b"connection: close" not in sent.lower()

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        request_queue_size = 512  # else a burst of connections waits for the system to try again
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.base_url = f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_address[1]}"
        try:
            yield state
        finally:
            state.over.set()
            server.shutdown()
            thread.join()
