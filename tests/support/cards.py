"""Answers as a service may give them, and the words of their cards."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from support.faults import GOOD, echo
from svc_sdk import TaxResponse

PLAIN = set("div p span strong table caption thead tbody tr th td ul li".split())  # noqa: SIM905
"""Tags that an untrusted notebook keeps."""


def answer(rate=None, **meta):
    """The usual answer with other figures."""
    body = json.loads(GOOD)
    body["rate"] |= rate or {}
    body["meta"] |= meta
    return TaxResponse.model_validate(body)


DOUBTFUL = {
    "10001": ({}, {"confidence": None}, "ok", "confidence_unknown"),
    "10002": ({}, {"confidence": " "}, "ok", "confidence_unknown"),
    "10003": ({}, {"confidence": "certain"}, "ok", "confidence_unknown"),
    "10004": ({}, {"confidence": 0.9}, "ok", "confidence_unknown"),
    "10005": ({"combined_rate": "0.82500"}, {}, "ok", "rate_too_high; parts_do_not_add_up"),
    "10006": ({"combined_rate": "0.20001", "city_rate": "0.12751"}, {}, "ok", "rate_too_high"),
    "10007": ({"combined_rate": "0.20000", "city_rate": "0.12750"}, {}, "ok", None),
    "10008": ({"country_rate": None, "city_rate": "0.02000"}, {}, "ok", "parts_do_not_add_up"),
    "10009": ({"county_rate": None, "city_rate": "0.03000"}, {}, "ok", "parts_do_not_add_up"),
    "10010": ({"county_rate": None, "city_rate": None}, {}, "ok", None),
    "10011": ({}, {"confidence": "HIGH "}, "ok", None),
    "10018": ({}, {"warnings": [{"code": "Source_Conflict "}]}, "ok", "source_conflict"),
    "10019": ({}, {"warnings": ["STALE_RATE", "as it likes"]}, "ok", "stale_rate"),
    "10020": ({}, {"warnings": [{"text": "careful"}]}, "ok", "uncoded_warning"),
    "10021": ({}, {"warnings": [7, "as it likes"]}, "ok", "uncoded_warning"),
    "10022": ({}, {"warnings": [{"code": "stale_rate", "x": [{}]}]}, "ok", "stale_rate"),
    "10023": ({}, {"confidence": {"level": "high"}}, "ok", "confidence_unknown"),
    "10024": ({}, {"confidence": ["high"], "period": {}}, "ok", "confidence_unknown"),
    "10012": ({}, {"confidence": "None"}, "unresolved", "unresolved"),
    "10013": ({"combined_rate": "-0.08250"}, {}, "failed", "failed"),
    "10014": ({"city_rate": "-0.01000"}, {}, "failed", "failed"),
    "10015": ({"combined_rate": "8.25000"}, {}, "failed", "failed"),
    "10016": ({"combined_rate": "NaN"}, {}, "failed", "failed"),
    "10017": ({"combined_rate": "8.25%"}, {}, "failed", "failed"),
}
"""Results that look right and are not, or may not be, by the ZIP that they are given for: what is
changed of the usual one, the status, and why the row requires review."""


UNREADABLE = [
    ({"city": {"name": "Austin"}}, {}, "city"),
    ({"county": ["Travis"], "city": True}, {}, "city and county"),
    ({}, {"resolved_via": {"by": ["zip5"]}}, "resolved_via"),
    ({}, {"period": {"year": 2026}}, "period"),
    ({}, {"effective_date": [2026, 1, 1], "effective_date_basis": {}}, "effective_date_basis"),
    ({"city": []}, {"period": {}, "resolved_via": [1.5]}, "city, resolved_via and period"),
]
"""What a service may send in place of text, beside a rate that is right, and a word of the note."""


FREIGHT = {
    "10101": (True, True),
    "10102": ("false", False),
    "10103": ("No", False),
    "10104": (0, False),
    "10105": ("TRUE", True),
    "10106": ("perhaps", None),
    "10107": (2, None),
    "10108": ({}, None),
    "10109": (None, None),
    "10110": ("", None),
}
"""What a service may say of delivery, by ZIP, and whether it is taxable."""


def doubtful(seen):
    """A step of a script: the result of `DOUBTFUL` for the ZIP that is looked up."""
    rate, meta, *_ = DOUBTFUL[seen.target.partition("zip=")[2][:5]]
    return echo(seen, rate=rate, **meta)


def of_freight(seen):
    """A step of a script: the usual result, and what `FREIGHT` says of its ZIP."""
    return echo(seen, rate={"freight_taxable": FREIGHT[seen.target.partition("zip=")[2][:5]][0]})


class Words(HTMLParser):
    """The text of HTML, which must be well formed."""

    def __init__(self):
        super().__init__()
        self.open, self.words, self.tags = [], [], set()

    def handle_starttag(self, tag, _attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def text_of(html):
    """The words of HTML that is well formed and of plain tags."""
    reader = Words()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert reader.tags <= PLAIN
    return re.sub(r"\s+", " ", " ".join(reader.words))
