"""A server in a process of its own that fails a share of the requests, and counts what it answered.

As a program: `python counting.py PLAN SEED MOST`, where PLAN is JSON such as `{"503": 0.05}`. With
MOST above 0 the faults of a place are its own, whenever it is requested, and at most so many. It
prints its address; each line that it reads is answered with its counts as JSON; it ends with its
input.

Kinds of fault: an HTTP status; `429-after-0` and `429-after-1` (with `Retry-After`); `hang`;
`reset`; `broken` (a 200 with half of its JSON); `garbled` (a 200 with other bytes, or what a
gateway sends); `drip` (byte by byte, for ever); `slow` (late).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import struct
import subprocess
import sys
from collections import Counter

BODY = (
    '{"rate": {"state": "TX", "zip": "%s", "city": "Austin", "county": "Travis",'
    ' "country": "US", "country_rate": "0.00000", "state_rate": "0.06250",'
    ' "county_rate": "0.00000", "city_rate": "0.01000", "combined_district_rate": "0.01000",'
    ' "combined_rate": "0.08250", "freight_taxable": true}, "meta": {"resolved_via": "zip5",'
    ' "confidence": "high", "effective_date": "2020-01-01",'
    ' "effective_date_basis": "publisher_effective_date", "warnings": []}}'
)


@contextlib.contextmanager
def counting(plan: dict[str, float], seed: int = 1, most: int = 0):
    """The address of such a server, and a function that tells its counts."""
    command = [sys.executable, __file__, json.dumps(plan), str(seed), str(most)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:

        def counts():
            process.stdin.write("\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        try:
            yield process.stdout.readline().strip(), counts
        finally:
            process.stdin.close()


class Counts:
    """What every connection shares."""

    def __init__(self, plan, seed, most):
        self.plan, self.seed, self.most = plan, seed, most
        self.random = random.Random(seed)  # noqa: S311 - a script, not a secret
        self.kinds = Counter()
        self.answered = Counter()
        self.asked_again = Counter()
        self.refused = Counter()

    def fault(self, place):
        drawn = self.random.random()
        if self.most:
            refused = self.refused[place]
            own = random.Random(f"{self.seed} {place} {refused}")  # noqa: S311 - as above
            drawn = own.random() if refused < self.most else 1.0
        for kind, share in self.plan.items():
            if drawn < share:
                return kind
            drawn -= share
        return "answer"


class Connection(asyncio.Protocol):
    def __init__(self, counts):
        self.counts = counts
        self.buffer = b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            self.asked(head.split(b" ", 2)[1].decode().partition("zip=")[2][:5])

    def asked(self, place):
        counts = self.counts
        if counts.answered[place]:
            counts.asked_again[place] += 1
        kind = counts.fault(place)
        counts.kinds[kind] += 1
        counts.refused[place] += kind not in {"answer", "slow"}
        body = BODY % place
        loop = asyncio.get_running_loop()
        if kind == "answer":
            counts.answered[place] += 1
            self.send(200, body)
        elif kind == "slow":
            counts.answered[place] += 1
            loop.call_later(0.05, self.send, 200, body)
        elif kind == "broken":
            self.send(200, body[: len(body) // 2])
        elif kind == "garbled":
            self.transport.write(garbled(body, counts.refused[place] + int(place)))
        elif kind == "reset":
            linger = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger
            )
            self.transport.abort()
        elif kind == "drip":
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
            self.drip()
        elif kind != "hang":
            status, _, after = kind.partition("-after-")
            code = "RATE_LIMITED" if status == "429" else "TEMPORARILY_UNAVAILABLE"
            error = {"error": {"code": code, "message": "not now", "support_reference": "ref-1"}}
            self.send(int(status), json.dumps(error), after)

    def send(self, status, body, after=""):
        retry = f"retry-after: {after}\r\n" if after else ""
        head = f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\n{retry}\r\n"
        if not self.transport.is_closing():
            self.transport.write((head + body).encode())

    def drip(self):
        if not self.transport.is_closing():
            self.transport.write(b" ")
            asyncio.get_running_loop().call_later(0.02, self.drip)


GARBLED = (
    ('"TX"', '"TY"'),
    ('"zip": "', '"zip": "9'),
    ('"combined_rate": "0.08250"', '"combined_rate": "0.0825001"'),
    ('"combined_rate": "0.08250"', '"combined_rate": "-0.0825"'),
    ('"combined_rate"', '"combined_rat\u00e9"'),
)
GATEWAY = (
    'HTTP/1.1 404 X\r\ncontent-length: 9\r\n\r\n{"error":',
    "HTTP/1.1 404 X\r\ncontent-length: 900\r\nconnection: close\r\n\r\n<html>",
    "HTTP/1.1 400 X\r\ncontent-length: 6\r\n\r\n<html>",
    "HTTP/1.1 408 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    "HTTP/1.1 302 X\r\ncontent-length: 0\r\nlocation: /login\r\n\r\n",
    "HTTP/1.1 204 X\r\n\r\n",
)


def garbled(body, number):
    """A response that says nothing of the place, another one for each number."""
    number %= len(GARBLED) + len(GATEWAY)
    if number >= len(GARBLED):
        return GATEWAY[number - len(GARBLED)].encode()
    body = body.replace(*GARBLED[number]).encode()
    return b"HTTP/1.1 200 X\r\ncontent-length: %d\r\n\r\n" % len(body) + body


async def serve(plan, seed, most):
    loop = asyncio.get_running_loop()
    counts = Counts(plan, seed, most)
    server = await loop.create_server(lambda: Connection(counts), "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)  # noqa: T201
    while await loop.run_in_executor(None, sys.stdin.readline):
        told = {
            "kinds": counts.kinds,
            "answered": counts.answered,
            "asked_again": counts.asked_again,
            "refused": counts.refused,
        }
        print(json.dumps(told), flush=True)  # noqa: T201 - the other process reads it


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
