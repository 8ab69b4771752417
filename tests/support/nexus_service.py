"""A service of nexus records on the fault server: what it keeps, what it lacks, what it breaks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from support.faults import Faults, answer

BROKEN = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{"
"""An answer that ends in its middle."""


@dataclass
class NexusService:
    """Answers as a service with records does.

    Attributes:
        records: the records by state and type.
        lists: whether it lists; 405 otherwise.
        adds: whether it adds; 405 otherwise.
        listing: called before it lists.
        before: called with (state, type) before a removal is carried out.
        lost: the states whose removal is carried out and whose answer is lost.
        away: whether it is down from the first lost answer on.
        down: while true, every answer breaks off.
        sent: the removals and additions that it carried out, in order.
    """

    faults: Faults
    records: dict = field(default_factory=dict)
    lists: bool = True
    adds: bool = True
    listing: object = None
    before: object = None
    lost: set = field(default_factory=set)
    away: bool = False
    down: bool = False
    sent: list = field(default_factory=list)

    def __post_init__(self):
        self.faults.will(self._ask)

    def put(self, state, nexus_type, **fields):
        record = {"state": state, "nexus_type": nexus_type}
        record |= dict.fromkeys(("registered_at", "address", "notes")) | fields
        self.records[state, nexus_type] = record

    def _ask(self, seen):
        return BROKEN if self.down else self._answer(seen)

    def _answer(self, seen):
        target = urlsplit(seen.target)
        if seen.method == "GET":
            if self.listing is not None:
                self.listing()
            records = list(self.records.values())
            return _json({"nexus": records, "count": len(records)}) if self.lists else _lacks()
        if seen.method == "POST":
            return self._add(json.loads(seen.body)) if self.adds else _lacks()
        state = target.path.rpartition("/")[2]
        nexus_type = dict(parse_qsl(target.query)).get("nexus_type")
        if self.before is not None:
            self.before(state, nexus_type)
            if self.down:
                return BROKEN
        gone = [key for key in self.records if key[0] == state and nexus_type in {None, key[1]}]
        for key in gone:
            del self.records[key]
        self.sent.append(("DELETE", state, nexus_type))
        if state in self.lost:
            self.down = self.away
            return BROKEN
        return _json({"deleted": len(gone), "state": state, "nexus_type": nexus_type})

    def _add(self, record):
        if "state" not in record:
            detail = [{"loc": ["body", "state"], "msg": "Field required", "type": "missing"}]
            return _json({"detail": detail}, status=422)
        self.put(**record)
        self.sent.append(("POST", record["state"], record["nexus_type"]))
        return _json(self.records[record["state"], record["nexus_type"]])


def _json(body, status=200):
    return answer(status, json.dumps(body).encode(), x_request_id="req-1")


def _lacks():
    error = {"code": "NOT_FOUND", "message": "no such method", "support_reference": "req-1"}
    return _json({"error": error}, status=405)
