"""What a status means, and what is said of a code: in one row each, and nowhere else."""

from __future__ import annotations

import ast
import copy
import pickle
import sqlite3
from contextlib import closing
from datetime import date
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from support.answers import NOW, OUTCOMES, PAST, SOURCE, found, ok, zip_place
from support.frames import enriched, partial, row

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.review.codes import DECIDING_COLUMNS, review_codes
from svc_tools.frames.review.review import reviewed
from svc_tools.frames.taxes.taxed_rows import goods_of
from svc_tools.lookup import Outcome
from svc_tools.lookup.cache import Cache
from svc_tools.lookup.cache_store import text_checksum
from svc_tools.lookup.reviewing import reasons_on, remarks, review_reasons, status_word
from svc_tools.show.codes import CODES, REVIEWED, codes_of, what_to_do
from svc_tools.tables.statuses import STATUSES, Status, StatusText

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    # marks of a check of the setup
    ("cli/excel.py", "Dict: ok"),
    ("excel/company.py", "Tuple: ok"),
    ("excel/setup.py", "Tuple: ok"),
    # values and names of arguments
    ("excel/functions.py", "Tuple: partial"),
    # words of a shop
    ("tables/exports/shops.py", "Tuple: failed"),
    # kinds of dots and tiles
    ("frames/charting/rate_chart.py", "Tuple: partial"),
    ("frames/charting/rate_chart.py", "_CERTAINTY[dot.certainty] != 'partial'"),
    ("frames/charting/tile_map.py", "Dict: partial"),
    ("frames/charting/tile_map.py", "Set: partial"),
    ("frames/charting/tile_map.py", "self.kind == 'partial'"),
    # statuses of requests
    ("nexus/receipt.py", "Dict: not_attempted"),
    ("nexus/receipt.py", "Set: not_attempted"),
    ("nexus/receipt.py", "item.status == 'not_attempted'"),
    # the type of a refusal
    ("tables/places.py", "Tuple: invalid unsupported"),
    # SQLite's word, the service's own words, and the name of a column
    ("service/database.py", "found != 'ok'"),
    ("service/database.py", "found == 'ok'"),
    ("service/ratebook/rating.py", "'partial' in missing"),
    ("service/schemas.py", "Literal['ok']"),
    ("service/ratebook/accuracy.py", "List: partial"),
}
"""Where a word that is also a status is compared or stands in a list: the file, and how."""
ONE_CODE = {
    # a sentence with a fact of the row
    ("excel/results.py", "code == 'low_confidence'"),
    ("excel/results.py", "code == 'several_rates'"),
    ("lookup/reviewing.py", "code == 'several_rates'"),
    ("lookup/reviewing.py", "'address_not_matched' in found.warnings"),
    ("frames/review/codes.py", "code == 'place_input_mismatch'"),
    ("frames/review/codes.py", "code != 'no_tax'"),
    ("frames/taxes/taxed_rows.py", "'freight_taxable_unknown' in review"),
    # where the tax finds the reason
    ("frames/taxes/tax.py", "Dict: freight_taxable_unknown over_cap partial_rate"),
    ("frames/taxes/tax.py", "Dict: origin_sourced origin_unknown"),
    ("frames/taxes/tax.py", "marks['channel_unknown']"),
    ("frames/taxes/tax.py", "reviewed['amounts_do_not_add_up']"),
    ("frames/taxes/tax.py", "reviewed['invoice_incomplete']"),
    ("frames/taxes/tax.py", "reviewed['marketplace_record_only']"),
}
"""Where a code is compared or stands in a list: the file, and how."""
PICKLED = (
    b"\x80\x04\x95F\x00\x00\x00\x00\x00\x00\x00\x8c\x19svc_tools.lookup.outcomes\x94\x8c\x07Outcome"
    b"\x94\x93\x94)\x81\x94]\x94(\x8c\x07partial\x94\x8c\x03why\x94NNNN\x89eb."
)
"""An outcome as the release before the statuses had properties pickled it."""


@pytest.mark.parametrize("status", Status)
def test_what_a_status_means_and_what_is_said_of_it_agree(status):
    assert "status" in CODES[status.text].kinds
    assert ("review" in CODES[status.text].kinds) == status.review
    assert (what_to_do(status.text) == "Run the lookup again.") == status.again
    assert f"| `{status.text}` |" in (ROOT / "docs" / "COLUMNS.md").read_text(encoding="utf-8")


def test_the_statuses_are_those_of_the_table():
    assert {*STATUSES} == {*codes_of("status")}
    assert get_args(StatusText) == STATUSES
    assert [one.text for one in Status if one.rated] == ["ok", "partial"]
    assert all(Status.of(text).text == text for text in STATUSES)


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
        case ast.Call(func=ast.Attribute(attr="eq" | "ne" | "isin")):
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


def where_compared(is_meant, *, least=1, left_out=()):
    """Where what is meant is compared or listed, with how; in a list of at least so many."""
    places = set()
    for file in sorted((ROOT / "svc_tools").rglob("*.py")):
        name = file.relative_to(ROOT / "svc_tools").as_posix()
        if name.startswith(left_out):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            meant = [one for one in compared(node) if is_meant(one)]
            listed = isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict)
            if len(meant) >= (least if listed else 1):
                words = " ".join(sorted({ast.unparse(one).strip("'") for one in meant}))
                how = f"{type(node).__name__}: {words}" if listed else ast.unparse(node)
                places.add((name, how))
    return places


def test_what_a_status_means_is_asked_of_it_everywhere():
    """Where this fails: ask `Status.of(text).usable`; another word is an ELSEWHERE."""
    assert where_compared(is_status, left_out=("show/codes.py", "tables/statuses.py")) == ELSEWHERE


def test_what_is_said_of_a_code_stands_in_its_row():
    """Where this fails: give `Code` an attribute, and make the set of it in `codes`."""
    kinds = ("review", "warning", "tax_review", "tax_due")
    said = {code for kind in kinds for code in codes_of(kind)} - {*STATUSES}

    def is_code(node):
        return isinstance(node, ast.Constant) and node.value in said

    assert where_compared(is_code, least=2, left_out=("show/codes.py", "service/")) == ONE_CODE


@given(OUTCOMES)
def test_an_outcome_has_the_text_and_says_what_it_means(outcome):
    for one in (outcome, copy.deepcopy(outcome), pickle.loads(pickle.dumps(outcome))):
        assert type(one.status) is str
        assert one.means in Status
        assert one.means.text == one.status
        assert one.means.rated == (one.status in {"ok", "partial"})


@pytest.mark.parametrize("status", STATUSES)
def test_an_outcome_is_pickled_and_shown_as_before(status):
    stored = pickle.dumps(Outcome(status, "why"), 4)
    assert (
        stored[11:]
        == PICKLED.replace(b"\x07partial", b"%c%b" % (len(status), status.encode()))[11:]
    )
    assert pickle.loads(stored).means is Status[status.upper()]
    assert repr(Outcome(status)).startswith(f"Outcome(status={status!r}, ")


def test_a_status_is_copied_and_pickled_as_itself():
    for one in Status:
        assert copy.deepcopy(one) is one
        assert {pickle.loads(pickle.dumps(one, protocol)) for protocol in range(6)} == {one}


@pytest.mark.parametrize("text", ["", "OK", "ok ", "dated", "None", "d\xe9j\xe0"])
def test_a_text_that_is_no_status_has_no_rate_and_is_reviewed(text):
    means = Status.of(text)
    assert (means.text, means.review, means.missing, means.settled) == (text, True, True, True)
    assert not any((means.usable, means.partial, means.failed, means.left, means.not_found))
    assert not means.taxed(partial_used=True)
    assert repr(text) in repr(means)
    assert pickle.loads(pickle.dumps(Outcome(text))) == Outcome(text)
    assert text not in STATUSES


@pytest.mark.parametrize("text", ["dated", "OK"])
def test_an_unknown_status_with_a_rate_is_reviewed_under_its_name(text):
    outcome = Outcome(text, None, found())
    assert review_reasons(outcome, ()) == reasons_on(outcome) == (text,)
    assert status_word(outcome, (text,)) == text
    warned = review_reasons(outcome, ("zip_not_used",), state_from_zip=True)
    assert {*warned} == {text, "zip_not_used"}


@pytest.mark.parametrize("status", ["ok", "partial"])
def test_a_status_that_promises_a_rate_and_has_none_is_reviewed(status):
    assert review_reasons(Outcome(status, None, None), ()) == (status,)


def test_the_cache_of_a_newer_release_with_an_unknown_status_is_read_and_shown(tmp_path):
    place, today, newer = zip_place(78701), tmp_path / "today.db", tmp_path / "newer.db"
    Cache(today, clock=lambda: NOW).store(SOURCE, [(place, ok())], detail=False)
    with closing(sqlite3.connect(today)) as connection, connection:
        ((number, profile),) = connection.execute("SELECT id, text FROM profile").fetchall()
        text = profile.replace('"ok"', '"dated"', 1)
        row = (text, text_checksum(number, text), number)
        connection.execute("UPDATE profile SET text = ?, sum = ? WHERE id = ?", row)
        connection.commit()
        connection.execute("VACUUM INTO ?", (str(newer),))
    (outcome,) = Cache(newer, clock=lambda: NOW).known(SOURCE, [place], detail=False).values()
    assert (outcome.status, outcome.found.combined) == ("dated", 8250)
    assert reasons_on(outcome, PAST) == ("dated",)
    assert "dated" in outcome._repr_html_()
    (remark,) = remarks(outcome, (), PAST)
    assert what_to_do("dated") in remark


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
    assert rules == {"show/codes.py", "lookup/reviewing.py"}


def judged_alike(rows, results):
    """Check that columns without those in which the lookup notes its reasons say the same."""
    few = enriched(*rows, taxed=False).drop(columns=["needs_review", "lookup_review_reason"])
    reasons = [
        "; ".join(
            review_reasons(
                Outcome(cells["lookup_status"], None, one), one.warnings, DAY, state_from_zip=True
            )
        )
        for cells, one in zip(rows, results, strict=True)
    ]
    expected = {at: reason for at, reason in enumerate(reasons) if reason}
    as_text = few.astype(str).replace({"<NA>": None, "NaT": None, "nan": None})
    for frame in (few, few.astype(object), as_text):
        rows = Enriched(frame)
        listed = reviewed(rows, goods_of(rows)).review.rows
        assert dict(sorted(listed["review_reasons"].items())) == expected


def test_one_row_and_a_column_are_judged_alike():
    rows, results = [], []
    for make, confidence, code in product([row, partial], ["high", "low", "odd"], sorted(REVIEWED)):
        warned = "; ".join(filter(None, (make()["warnings"], code)))
        rows.append(make() | {"confidence": confidence, "warnings": warned})
        results.append(found(confidence=confidence, warnings=tuple(warned.split("; "))))
    judged_alike(rows, results)


SPANS = "zip_spans_jurisdictions"
RANGES = [(None, None), (8250, 8250), (8250, 8500)]
SHARES = [(None, "high"), (9900, "high"), (9300, "medium"), (4500, "low"), (9300, "low")]
LAWS = [
    (None, None),
    ("2026-05-01", "publisher_effective_date"),
    ("2026-05-02", "publisher_effective_date"),
    ("2026-05-02", "edition_only"),
]


def test_figures_and_dates_of_one_row_and_of_columns_are_judged_alike():
    rows, results = [], []
    warnings = [(), (SPANS,), (SPANS, "zip_not_used")]
    for warned, rate, (low, high), law, (share, sure) in product(
        warnings, [8250, 20_000, 20_001], RANGES, LAWS, SHARES
    ):
        dates = {"effective_date": law[0], "effective_date_basis": law[1]}
        of_share = {"share": share, "confidence": sure}
        result = found(combined=rate, warnings=warned, low=low, high=high, **of_share, **dates)
        ends = {"rate_low": in_dollars(low), "rate_high": in_dollars(high)}
        cells = row("TX", rate=in_dollars(rate), warnings="; ".join(warned) or None)
        cells |= {"confidence": sure, "lookup_share": None if share is None else share / 10_000}
        rows.append(cells | dates | ends | {"lookup_as_of": str(DAY)})
        results.append(result)
    judged_alike(rows, results)


def in_dollars(units):
    """The tax of one dollar as text, which is the rate."""
    return None if units is None else str(Decimal(units) / 100_000)


def test_what_decides_of_a_file_is_all_that_is_read_of_it():
    frame = enriched(*map(with_facts, sorted(REVIEWED)), partial(), row(rate=None))
    few = frame[[name for name in frame.columns if name in DECIDING_COLUMNS]]
    expected, found_in_few = (review_codes(Enriched(one)) for one in (frame, few))
    assert found_in_few.values == expected.values
    assert found_in_few.codes.tolist() == expected.codes.tolist()


def with_facts(code):
    return row(warnings=code, amount=None if code == "zip_not_used" else "100.00")


def test_a_report_of_a_lookup_of_few_columns_names_what_its_figures_put_in_doubt(tmp_path):
    law = dict(zip(("effective_date", "effective_date_basis"), LAWS[2], strict=True))
    frame = enriched(
        row(rate_low="0.06625", rate_high="0.07"), row(lookup_as_of=str(DAY), **law), row()
    )
    few = frame.drop(columns=["needs_review", "lookup_review_reason"])
    few.svc.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert {one for one in codes_of("review") if one in text} >= {
        "several_rates",
        "effective_after_sale",
    }
