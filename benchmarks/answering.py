"""A server that answers lookups from bytes: as little work as a server can do.

    python -m benchmarks.answering [seconds of latency]

It prints its address, and ends with its standard input. Each answer is for the ZIP that was asked
about, about 700 bytes of JSON. `/count` says how many there were.
"""

from __future__ import annotations

import asyncio
import re
import sys

import httptools
import uvloop

_BODY = (
    b'{"rate": {"state": "TX", "zip": "%b", "city": "Austin", "county": "Travis",'
    b' "country": "US", "country_rate": "0.00000", "state_rate": "0.06250",'
    b' "county_rate": "0.00000", "city_rate": "0.01000", "combined_district_rate": "0.01000",'
    b' "combined_rate": "0.08250", "freight_taxable": true}, "meta": {"resolved_via": "zip5",'
    b' "confidence": "high", "effective_date": "2026-01-01", "effective_date_basis":'
    b' "publisher_effective_date", "period": null, "warnings": [{"code":'
    b' "zip_spans_jurisdictions", "message": "The ZIP lies in more than one jurisdiction"}],'
    b' "source": "State Comptroller, sales tax rate files", "edition": "2026-07-01",'
    b' "accepted_places": ["Austin", "West Lake Hills"]}}'
)
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: 0123456789abcdef\r\n"
    b"Content-Length: %d\r\n\r\n"
)
_ZIP = re.compile(rb"zip=([0-9]{5})")


class Answering(asyncio.Protocol):
    latency = 0.0
    answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        found = _ZIP.search(url)
        body = _BODY % (found[1] if found else b"78701")
        if url == b"/count":
            body = b"%d" % Answering.answered
        else:
            Answering.answered += 1
        self.answer = _HEAD % len(body) + body

    def on_message_complete(self) -> None:
        if self.latency:
            asyncio.get_running_loop().call_later(self.latency, self.send, self.answer)
        else:
            self.send(self.answer)

    def send(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answering, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    Answering.latency = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    uvloop.run(serve())
