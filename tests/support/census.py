"""The batch geocoder of the Census Bureau, as its documentation describes it, on loopback.

It is a step for the server of `faults`: it reads the form, and responds with a line for each
address, the last one first. What it was sent is in `sent`.
"""

from __future__ import annotations

import csv
import io
from email import message_from_bytes
from email.policy import HTTP

from support.faults import answer

PATH = "/geocoder/locations/addressbatch"
FRONTENAC = (37.4517, -94.6882)
"""In the middle of Frontenac, Kansas, which is in the ZIP 66762 of Pittsburg, too."""


def form_of(seen):
    """The fields of a form, and the lines of its file."""
    head = f"content-type: {seen.headers['content-type']}\r\n\r\n".encode()
    fields = {}
    for part in message_from_bytes(head + seen.body, policy=HTTP).iter_parts():
        name = part.get_param("name", header="content-disposition")
        fields[name] = part.get_payload(decode=True).decode()
    return fields, [*csv.reader(io.StringIO(fields.pop("addressFile")))]


def line(*cells):
    """A line as the geocoder writes it: every cell in quotes."""
    return ",".join('"' + str(cell).replace('"', '""') + '"' for cell in cells)


def matched(row, lat, lng, kind="Exact", *, zip_code=None, city=None, state=None):
    """The line of a match; what is given differs from the address."""
    number, street, own_city, own_state, own_zip = row
    there = f"{street.upper()}, {city or own_city}, {state or own_state}, {zip_code or own_zip}"
    sent = f"{street}, {own_city}, {own_state}, {own_zip}"
    return line(number, sent, "Match", kind, there, f"{lng},{lat}", 76225813, "L")


def unmatched(row, outcome="No_Match"):
    """The line of a tie, or of no match."""
    return line(row[0], ", ".join(row[1:]), outcome)


class Census:
    """The step: what a function says of each row, or an exact match in Frontenac.

    Attributes:
        sent: the rows of each request.
        fields: its other fields.
    """

    def __init__(self, says=None):
        self.says = says or (lambda row: matched(row, *FRONTENAC))
        self.sent, self.fields = [], []

    def __call__(self, seen):
        assert (seen.method, seen.target) == ("POST", PATH)
        fields, rows = form_of(seen)
        self.sent.append(rows)
        self.fields.append(fields)
        lines = [said for row in reversed(rows) if (said := self.says(row)) is not None]
        return page("\n".join(lines) + "\n")

    @property
    def addresses(self):
        """Every address that was sent, without its number."""
        return [tuple(row[1:]) for rows in self.sent for row in rows]


def page(text, status=200, kind="text/csv;charset=utf-8"):
    """A response with a text."""
    return answer(status, text.encode(), content_type=kind)
