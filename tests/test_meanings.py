"""Every code that a column can hold has one meaning, which reports can print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from svc_tools.frames.lookup_columns import CONFIDENCES
from svc_tools.frames.meanings import WHAT_TO_DO, meaning_of
from svc_tools.frames.taxes.reasons import TAX_DUE_REASONS, TAX_REVIEW
from svc_tools.lookup import STATUSES
from svc_tools.lookup.review import MEANINGS, REVIEW_REASONS
from svc_tools.service.ratebook import rating

OF_SERVICE = set(re.findall(r'"code": "(\w+)"', Path(rating.__file__).read_text()))
OF_COLUMNS = {
    *MEANINGS,
    *STATUSES,
    *CONFIDENCES,
    *OF_SERVICE,
    *REVIEW_REASONS,
    *TAX_REVIEW,
    *TAX_DUE_REASONS,
}
OF_REVIEWS = {"no_tax", "needs_review"}


def test_every_warning_of_the_service_has_a_meaning():
    assert "zip_spans_jurisdictions" in OF_SERVICE
    assert set(MEANINGS) >= OF_SERVICE


@pytest.mark.parametrize("code", sorted(OF_COLUMNS | OF_REVIEWS))
def test_a_code_has_one_meaning(code):
    said = {meaning_of(code), MEANINGS.get(code, meaning_of(code))}
    if code == "zip_spans_jurisdictions":  # as a reason to review it says more than as a warning
        said.discard(MEANINGS[code])
    assert len(said) == 1
    assert all(said)
    assert "\n" not in said.pop()


def test_what_to_do_is_said_of_codes_that_there_are():
    assert set(WHAT_TO_DO) <= OF_COLUMNS | OF_REVIEWS
