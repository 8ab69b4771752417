"""Stub."""

from __future__ import annotations
import time
from datetime import UTC, date, datetime
from svc_sdk import SvcError
from svc_tools.config import EmbeddedSvc, EmbeddedAsyncSvc
from svc_tools.lookup.outcomes import STOPPED, failed, of_response
from dataclasses import replace

INTERRUPTED = "interrupted"
_memo = {}


def is_computed(client):
    return isinstance(client, EmbeddedSvc | EmbeddedAsyncSvc) and client.is_here


class Watch:
    def __init__(self, deadline, stop):
        self._d, self._stop = deadline, stop
        self._end = None if deadline is None else time.monotonic() + deadline

    def stopped(self):
        if self._stop is not None and self._stop.is_set():
            return STOPPED
        if self._end is not None and time.monotonic() > self._end:
            return f"the deadline of {self._d:g} s was reached"


class Computed:
    def __init__(self, client, *, detail):
        self.client, self.detail = client, detail
        self.at = datetime.now(UTC)
        self.today = date.today()

    def __enter__(self):
        return self

    def __exit__(self, *e):
        pass

    def spans(self, place, days):
        key = (place, days and days[0], self.detail)
        out = []
        for d in days or [0]:
            p = replace(place, as_of=date.fromordinal(d)) if d else place
            a = p.arguments()
            try:
                o = of_response(
                    p, self.client.lookup(p.state, **a, mode="full" if self.detail else "simple")
                )
            except SvcError as e:
                o = replace(failed(e), support_reference=None)
            out.append(o)
        return list(range(len(out))), out
