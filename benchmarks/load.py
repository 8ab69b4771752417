"""Requests over plain sockets: the least that a client can cost."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KEY = "benchmark-key-0123456789abcdef"
CONNECTIONS = 16
_LENGTH = re.compile(rb"content-length: (\d+)\r\n", re.IGNORECASE)


class Used(NamedTuple):
    """What a server process has used so far: CPU seconds, and the bytes that it holds now."""

    cpu: float
    memory: int


class Served:
    """A server process that runs, and connections to it."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address
        url = urlsplit(address)
        self.connections = [
            socket.create_connection((url.hostname or "", url.port or 0), timeout=30)
            for _ in range(CONNECTIONS)
        ]

    def close(self) -> None:
        for connection in self.connections:
            connection.close()

    def used(self) -> Used:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("used "):
                _, seconds, size = line.split()
                return Used(float(seconds), int(size))
        raise RuntimeError("the server process has ended")

    def ask(self, requests: Sequence[bytes]) -> float:
        """Send the requests, as many in flight as there are connections; the seconds it took."""
        start = time.perf_counter()
        for first in range(0, len(requests), CONNECTIONS):
            batch = list(zip(self.connections, requests[first : first + CONNECTIONS], strict=False))
            for connection, request in batch:
                connection.sendall(request)
            for connection, _ in batch:
                read_answer(connection)
        return time.perf_counter() - start

    def cpu_of(self, requests: Sequence[bytes]) -> float:
        """CPU microseconds of the server for each request."""
        before = self.used()
        self.ask(requests)
        return (self.used().cpu - before.cpu) / len(requests) * 1e6


def read_answer(connection: socket.socket) -> None:
    data = connection.recv(65536)
    head, found, body = data.partition(b"\r\n\r\n")
    while not found:
        more = connection.recv(65536)
        assert more, "the server closed the connection"
        data += more
        head, found, body = data.partition(b"\r\n\r\n")
    assert data.startswith(b"HTTP/1.1 200"), data[:300]
    length = _LENGTH.search(head + b"\r\n")
    assert length is not None
    missing = int(length[1]) - len(body)
    while missing > 0:
        missing -= len(connection.recv(missing))


def lookup(state: str, zip5: str) -> bytes:
    head = (
        f"GET /v1/tax/{state}?zip={zip5} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: benchmark\r\n"
        f"Accept: application/json\r\nAccept-Encoding: gzip, deflate\r\nX-API-Key: {KEY}\r\n\r\n"
    )
    return head.encode()


@contextlib.contextmanager
def serving(*command: str) -> Iterator[Served]:
    """A server process for the length of the block; `command` goes to the interpreter.

    Its home is a fresh one: nothing that the user has imported is in its book.
    """
    with (
        tempfile.TemporaryDirectory() as home,
        subprocess.Popen(  # noqa: S603 - our own programs
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | dict.fromkeys(("HOME", "XDG_DATA_HOME", "LOCALAPPDATA"), home),
        ) as process,
    ):
        try:
            assert process.stdout is not None
            found = None
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    break
            assert found is not None, "the server did not start"
            served = Served(process, found[0])
            yield served
            served.close()
        finally:
            process.terminate()
