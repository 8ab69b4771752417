"""What a status means, and what is said of a code: in one row each, and nowhere else."""

from __future__ import annotations

import ast
import copy
import pickle
from datetime import date
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from support.answers import OUTCOMES, found
from support.frames import enriched, partial, row

from svc_tools.codes import CODES, REVIEWED, codes_of
from svc_tools.frames.review import reviewed
from svc_tools.lookup import Outcome
from svc_tools.lookup.reviewing import review_reasons
from svc_tools.statuses import STATUSES, Status, StatusText

ROOT = Path(__file__).parents[1]
FLAGS = (
    *("usable", "partial", "known", "attempted", "again", "review", "abroad", "of_input"),
    *("rated", "missing", "settled", "failed", "left"),
)
MEANINGS = {
    "ok": {"usable", "known", "attempted", "rated", "settled"},
    "partial": {"partial", "known", "attempted", "review", "rated", "settled"},
    "unresolved": {"known", "attempted", "review", "missing", "settled"},
    "invalid": {"of_input", "attempted", "review", "missing", "settled"},
    "unsupported": {"abroad", "attempted", "review", "missing", "settled"},
    "failed": {"attempted", "again", "review", "missing", "failed"},
    "not_attempted": {"again", "review", "missing", "left"},
}
ELSEWHERE = {
    "codes.py": "their texts",
    "statuses.py": "what they mean",
    "cli/excel.py": "marks of a check of the setup",
    "excel/company.py": "marks of a check of the setup",
    "excel/setup.py": "marks of a check of the setup",
    "excel/functions.py": "a value of an argument",
    "exports/shops.py": "a word of a shop",
    "frames/charting/rate_chart.py": "kinds of dots",
    "frames/charting/tile_map.py": "kinds of tiles",
    "frames/taxes/taxed_rows.py": "the name of an argument of the tax",
    "nexus/receipt.py": "statuses of requests",
    "places/place.py": "the type of a refusal, whose word is that of a status",
    "service/database.py": "SQLite's own word",
    "service/ratebook/accuracy.py": "the name of a column",
    "service/ratebook/rating.py": "the service's own word",
    "service/schemas.py": "the service's own word",
}
"""Where a word that is also a status is compared or stands in a list, and what it is there."""
PICKLED = (
    b"\x80\x04\x95F\x00\x00\x00\x00\x00\x00\x00\x8c\x19svc_tools.lookup.outcomes\x94\x8c\x07Outcome"
    b"\x94\x93\x94)\x81\x94]\x94(\x8c\x07partial\x94\x8c\x03why\x94NNNN\x89eb."
)
"""An outcome as the release before the statuses had properties pickled it."""


@pytest.mark.parametrize("status", Status)
def test_a_status_says_all_of_itself(status):
    text = str(status)
    assert {flag for flag in FLAGS if getattr(status, flag)} == MEANINGS[text]
    assert "status" in CODES[text].kinds
    assert ("review" in CODES[text].kinds) == status.review
    assert f"| `{text}` |" in (ROOT / "docs" / "COLUMNS.md").read_text(encoding="utf-8")


def test_the_statuses_are_those_of_the_table():
    assert (*MEANINGS,) == STATUSES == (*map(str, Status),)
    assert {*STATUSES} == {*codes_of("status")}
    assert get_args(StatusText) == STATUSES


def compared(node):
    """What is compared, counted or listed in a node."""
    match node:
        case ast.Compare():
            found_in = [node.left, *node.comparators]
        case ast.Set() | ast.List() | ast.Tuple():
            found_in = node.elts
        case ast.Dict():
            found_in = node.keys
        case ast.Subscript():
            found_in = [node.slice]
        case ast.Attribute(attr="__eq__" | "__ne__" | "__contains__") | ast.MatchValue():
            found_in = [node.value]
        case ast.Call(func=ast.Attribute(attr="eq" | "ne" | "isin" | "status_rows")):
            found_in = node.args
        case _:
            found_in = []
    return found_in


def is_status(node):
    """Whether a node is a text that is a status, or a status by its name."""
    if isinstance(node, ast.Constant):
        return node.value in STATUSES
    named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return named and node.value.id == "Status" and node.attr in Status.__members__


def test_what_a_status_means_is_asked_of_it_everywhere():
    """Where this fails: ask `Status.of(text).usable`, or `outcome.means.usable`, in its place."""
    found_in = {}
    for file in sorted((ROOT / "svc_tools").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        lines = [one.lineno for one in ast.walk(tree) if any(map(is_status, compared(one)))]
        if lines:
            found_in[file.relative_to(ROOT / "svc_tools").as_posix()] = sorted(lines)
    new = {name: lines for name, lines in found_in.items() if name not in ELSEWHERE}
    assert not new, f"a status is compared in {new}"
    assert ELSEWHERE.keys() == found_in.keys(), "an exception that is none any more"


def test_what_is_said_of_a_code_stands_in_its_row():
    """Where this fails: give `Code` an attribute, and make the set of it in `codes`."""
    kinds = ("review", "warning", "tax_review", "tax_due")
    said = {code for kind in kinds for code in codes_of(kind)}
    sets = []
    for file in sorted((ROOT / "svc_tools").rglob("*.py")):
        if "service" in file.parts or file.name == "codes.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Set):
                codes = [getattr(one, "value", None) in said for one in node.elts]
                sets += [(file.name, node.lineno)] if sum(codes) > 1 else []
    assert not sets


@given(OUTCOMES)
def test_an_outcome_has_the_text_and_says_what_it_means(outcome):
    for one in (outcome, copy.deepcopy(outcome), pickle.loads(pickle.dumps(outcome))):
        assert type(one.status) is str
        assert one.means is Status(outcome.status)
        assert one.means.rated == (one.status in {"ok", "partial"})


@pytest.mark.parametrize("status", STATUSES)
def test_an_outcome_is_pickled_and_shown_as_before(status):
    stored = pickle.dumps(Outcome(status, "why"), 4)
    assert (
        stored[11:]
        == PICKLED.replace(b"\x07partial", b"%c%b" % (len(status), status.encode()))[11:]
    )
    assert pickle.loads(stored).means is Status(status)
    assert repr(Outcome(status)).startswith(f"Outcome(status={status!r}, ")


@pytest.mark.parametrize("text", ["", "OK", "ok ", "answered", "None"])
def test_a_text_that_is_no_status_has_no_rate_and_is_reviewed(text):
    flags = {"attempted", "review", "missing", "settled"}
    assert {flag for flag in FLAGS if getattr(Status.of(text), flag)} == flags
    assert pickle.loads(pickle.dumps(Outcome(text))) == Outcome(text)
    assert text not in STATUSES


def test_a_frame_of_another_release_with_an_unknown_status_is_to_review():
    frame = enriched(row(), row(lookup_status="answered"))
    listed = frame.svc.review().rows
    assert listed["review_reasons"].tolist() == ["answered"]
    assert frame.svc.split().no_rate.index.tolist() == [1]


DAY = date(2026, 5, 1)
DECIDED = {
    "rate_too_high": {"combined": 20_001, "state": 20_001, "city": 0, "districts": 0},
    "several_rates": {"low": 8250, "high": 8500},
    "zip_spans_jurisdictions": {"warnings": ("zip_spans_jurisdictions",)},
    "effective_after_sale": {"effective_date": "2026-05-02"},
    "confidence_unknown": {"confidence": "sure"},
    "low_confidence": {"confidence": "low"},
}
"""Reasons that the figures, the date or the confidence of a rate decide, and how."""


@pytest.mark.parametrize("code", [one for one in codes_of("review") if one not in STATUSES])
def test_each_reason_to_review_comes_about(code):
    """A new one: `review=True` in its row, or a rule in `lookup.reviewing` and facts here."""
    by_warning = {"warnings": (code,)} if code in REVIEWED else {}
    facts = DECIDED.get(code, by_warning)
    assert facts, f"nothing leads to {code}"
    outcome = Outcome("ok", None, found(**facts))
    assert code in review_reasons(outcome, outcome.found.warnings, DAY, state_from_zip=True)


def test_the_rule_of_what_requires_review_exists_once():
    texts = {
        file.relative_to(ROOT / "svc_tools").as_posix(): file.read_text(encoding="utf-8")
        for file in (ROOT / "svc_tools").rglob("*.py")
    }
    rules = {name for name, text in texts.items() if '"confidence_unknown"' in text}
    assert rules == {"codes.py", "lookup/reviewing.py"}


@pytest.mark.parametrize("code", sorted(REVIEWED))
@pytest.mark.parametrize("confidence", ["high", "low", "odd"])
@pytest.mark.parametrize("make", [row, partial])
def test_one_row_and_a_column_are_judged_alike(code, confidence, make):
    warned = "; ".join(filter(None, (make()["warnings"], code)))
    cells = make() | {"confidence": confidence, "warnings": warned}
    few = enriched(cells, taxed=False).drop(columns=["needs_review", "lookup_review_reason"])
    listed = reviewed(few, amount=None, prefix="").review.rows
    result = found(confidence=confidence, warnings=tuple(warned.split("; ")))
    outcome = Outcome(cells["lookup_status"], None, result)
    expected = review_reasons(outcome, result.warnings, DAY, state_from_zip=True)
    assert listed["review_reasons"].tolist() == ["; ".join(expected)]
