"""A service of nexus records that does what a test says; and plans for it."""

from __future__ import annotations

import json
from datetime import date
from urllib.parse import parse_qsl, unquote, urlsplit

from support.faults import answer
from svc_tools import config
from svc_tools.nexus import Register, make_plan, read_register

AS_OF = date(2026, 11, 21)
RECORDS = [
    {"state": "DE", "nexus_type": "economic", "registered_at": "2021-01-01", "notes": "old"},
    {"state": "NH", "nexus_type": "physical", "address": "1 Main St\nConcord", "notes": 'a "b", c'},
    {"state": "TX", "nexus_type": "economic", "registered_at": "2022-05-01"},
    {"state": "TX", "nexus_type": "physical", "address": "500 W 2nd St, Austin"},
    {"state": "WA", "nexus_type": "marketplace"},
]
KEYS = [(one["state"], one["nexus_type"]) for one in RECORDS]
LOST = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 500\r\n\r\n{"
"""An answer that breaks off in the middle."""


def said(body, status=200, **headers):
    """The bytes of an answer with a JSON body."""
    return answer(status, json.dumps(body).encode(), **headers)


def refused(status, code="REFUSED", **headers):
    """The bytes of an error as the service writes it."""
    error = {"code": code, "message": f"it said {status}", "support_reference": f"ref-{status}"}
    return said({"error": error}, status, **headers)


class Nexus:
    """The records of an account, as a step of a fault server's script.

    `instead` holds answers for the next removals, `adding` for the next additions: bytes instead
    of doing it, or a function of the normal answer, which is called once it was done.
    """

    def __init__(self, faults, records=RECORDS, *, lists=True, adds=True):
        self.records = [dict(one) for one in records]
        self.lists, self.adds = lists, adds
        self.removals, self.additions = [], []
        self.instead, self.adding, self.listing = [], [], []
        self.on_removal = lambda: None
        faults.will(self)

    @property
    def keys(self):
        return [(one["state"], one["nexus_type"]) for one in self.records]

    def __call__(self, seen):
        if seen.method == "GET":
            if self.listing:
                return self.listing.pop(0)
            body = {"nexus": self.records, "count": len(self.records)}
            return said(body) if self.lists else refused(404)
        if seen.method == "POST":
            return self._add(json.loads(seen.body))
        return self._remove(urlsplit(seen.target))

    def _add(self, body):
        if not self.adds:
            return refused(405)
        if "state" not in body:
            return said({"detail": [{"loc": ["state"], "msg": "missing", "type": "missing"}]}, 422)
        self.additions.append(body)
        return self._answered(self.adding, lambda: self._added(body))

    def _added(self, body):
        key = (body["state"], body["nexus_type"])
        self.records = [one for one, own in zip(self.records, self.keys, strict=True) if own != key]
        self.records.append(body)
        self.records.sort(key=lambda one: (one["state"], one["nexus_type"]))
        return said(body)

    def _remove(self, target):
        state = unquote(target.path.rpartition("/")[2])
        kind = dict(parse_qsl(target.query)).get("nexus_type")
        self.removals.append((state, kind))
        self.on_removal()
        return self._answered(self.instead, lambda: self._removed(state, kind))

    def _removed(self, state, kind):
        kept = [
            one
            for one, own in zip(self.records, self.keys, strict=True)
            if own[0] != state or kind not in (None, own[1])
        ]
        deleted, self.records = len(self.records) - len(kept), kept
        body = {"deleted": deleted, "state": state, "nexus_type": kind}
        return said(body, x_request_id=f"ref-{state}")

    @staticmethod
    def _answered(script, do):
        step = script.pop(0) if script else None
        if isinstance(step, bytes):
            return step
        done = do()
        return done if step is None else step(done)


def plan_of(client, *ticks, records=RECORDS, **action):
    """A plan for the client's account, with these ticked."""
    who = config.account_of(client)
    register = records if isinstance(records, Register) else read_register(records)
    plan = make_plan(register, as_of=AS_OF, service=who.service, account=who.account)
    return plan.tick(*ticks, **action) if ticks else plan


def statuses(receipt):
    """The status of each state and type."""
    return {item.key: item.status for item in receipt.items}
