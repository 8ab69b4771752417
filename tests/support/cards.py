"""Answers as a service may give them, and the words of their cards."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from support.faults import GOOD
from svc_sdk import TaxResponse

PLAIN = set("div p span strong table caption thead tbody tr th td ul li".split())  # noqa: SIM905
"""Tags that an untrusted notebook keeps."""


def answer(rate=None, **meta):
    """The usual answer with other figures."""
    body = json.loads(GOOD)
    body["rate"] |= rate or {}
    body["meta"] |= meta
    return TaxResponse.model_validate(body)


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
