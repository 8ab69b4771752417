"""A nexus service that does what a test says; plans for it; the Nexus tab as calls."""

from __future__ import annotations

import json
from datetime import date
from urllib.parse import parse_qsl, unquote, urlsplit

from support.faults import ALIVE, answer
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
FIVE = [
    {"state": "CA", "nexus_type": "economic", "registered_at": "2019-04-01"},
    {"state": "DE", "nexus_type": "economic", "registered_at": "2019-05-01", "notes": "<b>old</b>"},
    {"state": "MT", "nexus_type": "economic", "registered_at": "2019-06-01"},
    {"state": "NY", "nexus_type": "economic", "registered_at": "2019-07-01"},
    {"state": "TX", "nexus_type": "physical", "address": "500 W 2nd St, Austin"},
]
LOST = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 500\r\n\r\n{"
"""A response that breaks off in the middle."""


def response(body, status=200, **headers):
    """The bytes of a response with a JSON body."""
    return answer(status, json.dumps(body).encode(), **headers)


def refused(status, code="REFUSED", **headers):
    """The bytes of an error as the service writes it."""
    error = {"code": code, "message": f"it said {status}", "support_reference": f"ref-{status}"}
    return response({"error": error}, status, **headers)


def openapi(*methods, before=""):
    """An OpenAPI document with these methods of the records."""
    address = f"{before}/v1/portability/nexus"
    paths = {address: {one: {} for one in methods}, f"{address}/{{state}}": {"delete": {}}}
    return response({"openapi": "3.1.0", "paths": paths})


SERVICES = {
    "can be undone: ": {},
    "cannot be undone": {"adds": False},
    "is not known": {"describes": False},
}
"""What three services say of an undo, by what they can do and describe."""


class Nexus:
    """The records of an account, as a step of a fault server's script.

    `instead` holds responses to the next removals, `adding` to the next additions: bytes instead
    of doing it, or a function of the normal response, called once it was done. `listing` holds
    responses to the next lists, or is a function called before each. `before` is called with the
    state and type of each removal. The responses to removals of `lost` states are lost, and with
    `away` the service is down from then on. `removals` and `additions` came in; `sent` were done.
    Without `describes` there is no OpenAPI document.
    """

    def __init__(self, faults, records=RECORDS, *, lists=True, adds=True, describes=True):
        self.faults = faults
        self.rows = [dict(one) for one in records]
        self.lists, self.adds = lists, adds
        self.describes = describes
        self.removals, self.additions, self.sent = [], [], []
        self.instead, self.adding, self.listing = [], [], []
        self.before = None
        self.lost, self.away, self.down = set(), False, False
        faults.will(self)

    @property
    def methods(self):
        """The methods of all requests that came in."""
        return {one.method for one in self.faults.seen}

    @property
    def keys(self):
        return [(one["state"], one["nexus_type"]) for one in self.rows]

    @property
    def records(self):
        """The records by state and type."""
        return dict(zip(self.keys, self.rows, strict=True))

    def put(self, state, nexus_type, **fields):
        """Add a record, or replace the one of its state and type."""
        self._drop(state, nexus_type)
        self.rows.append({"state": state, "nexus_type": nexus_type, **fields})
        self.rows.sort(key=lambda one: (one["state"], one["nexus_type"]))

    def __call__(self, seen):
        if self.down or seen.target == "/healthz":
            return LOST if self.down else ALIVE
        if seen.target.endswith("/openapi.json"):
            return openapi("get", *["post"] * self.adds) if self.describes else refused(404)
        if seen.method == "POST":
            return self._add(json.loads(seen.body))
        if seen.method == "DELETE":
            return self._remove(urlsplit(seen.target))
        if callable(self.listing):
            self.listing()
        elif self.listing:
            return self.listing.pop(0)
        body = {"nexus": self.rows, "count": len(self.rows)}
        return response(body) if self.lists else refused(404)

    def _add(self, body):
        if not self.adds:
            return refused(405)
        self.additions.append(body)

        def add():
            self.put(**body)
            self.sent.append(("POST", body["state"], body["nexus_type"]))
            return response(body)

        return self._scripted(self.adding, add)

    def _remove(self, target):
        state = unquote(target.path.rpartition("/")[2])
        kind = dict(parse_qsl(target.query)).get("nexus_type")
        self.removals.append((state, kind))
        if self.before:
            self.before(state, kind)

        def remove():
            deleted = self._drop(state, kind)
            self.sent.append(("DELETE", state, kind))
            if state in self.lost:
                self.down = self.away
                return LOST
            body = {"deleted": deleted, "state": state, "nexus_type": kind}
            return response(body, x_request_id=f"ref-{state}")

        return LOST if self.down else self._scripted(self.instead, remove)

    def _drop(self, state, kind):
        before = len(self.rows)
        self.rows = [
            one
            for one in self.rows
            if one["state"] != state or kind not in (None, one["nexus_type"])
        ]
        return before - len(self.rows)

    @staticmethod
    def _scripted(script, do):
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


def click(tab, button):
    button.click()
    tab.session.background.settle()


def planned(tab):
    """The Nexus tab with its plan made of the service's records."""
    click(tab, tab.register.list_button)
    click(tab, tab.plan.make_button)
    return tab


def row(tab, name):
    """The checkboxes of a record that is shown, such as "TX physical"."""
    return next(one for one in tab.plan.rows.rows if one.row and " ".join(one.row.key) == name)


def tick(tab, *names):
    for name in names:
        row(tab, name).remove.value = True


def previewed(tab, *names):
    tick(planned(tab), *names)
    click(tab, tab.apply.preview_button)
    return tab


def confirm(tab, box, text):
    box.typed.value = text
    click(tab, box.button)


def fill(tab, **values):
    """The fields of the form, as somebody fills them in; then a preview."""
    for name, value in values.items():
        getattr(tab.edit, name).value = value
    click(tab, tab.edit.preview_button)


def edited(tab, name):
    """The tab after a click on the button of a record."""
    click(tab, tab.register.list_button)
    rows = {one.button.description: one for one in tab.edit.rows.rows}
    click(tab, rows[f"Edit {name}"].button)
    return tab


def there(client):
    return [(record.state, record.nexus_type) for record in client.list_nexus().nexus]


def message(section):
    return section.message.html
