"""The tax on delivery where the seller decides, or where it is not settled."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cards import text_of
from support.command import svc_tools
from support.examples import examples
from support.faults import echo
from support.frames import dollars, found, rated, tax_of
from support.runners import by_rows
from support.spreadsheets import desk_of, shown

from svc_tools.config import ConfigurationError
from svc_tools.frames import enrich_file
from svc_tools.service.ratebook import load_book
from svc_tools.show.codes import meaning_of, what_to_do
from svc_tools.show.display import card
from svc_tools.widgets.file_input import ColumnsForm

OPTIONAL, UNSETTLED = "delivery_optional_unknown", "delivery_unsettled"
DOUBTS = [
    ("FL", "33130", "2026-05-01", OPTIONAL),
    ("IL", "60602", "2026-05-01", OPTIONAL),
    ("CO", "80202", "2025-05-01", OPTIONAL),
    ("DC", "20001", "2026-05-01", UNSETTLED),
    ("LA", "70601", "2024-05-01", UNSETTLED),
]
"""A place and a day of each note of doubt in the table of delivery."""


def orders(rows, delivery="10.00"):
    frame = pd.DataFrame([row[:3] for row in rows], columns=["state", "zip", "sold"])
    return frame.assign(amount="100.00", shipping=delivery)


@pytest.fixture
def looked_up(embedded):
    def look_up(*rows, delivery="10.00"):
        frame = orders(rows, delivery)
        return frame.svc.lookup(client=embedded, as_of="sold", cache=False, progress=False)

    return look_up


def tax(frame, **terms):
    return frame.svc.tax("amount", shipping="shipping", progress=False, **terms)


def test_unanswered_nothing_stops_and_the_row_has_its_range_and_its_reason(looked_up):
    taxed = tax(looked_up(*DOUBTS[:2]))
    (rate, _) = taxed["combined_rate"]
    assert found(taxed, "tax_review") == [OPTIONAL] * 2
    assert taxed["tax_error"].isna().all()
    assert found(taxed, "tax_low") == found(taxed, "tax")
    with_it = (rate * 110).quantize(Decimal("0.01"), "ROUND_HALF_UP")
    assert found(taxed, "tax_high")[0] == with_it
    assert found(taxed, "at_stake")[0] == with_it - found(taxed, "tax")[0] > 0


@pytest.mark.parametrize(("answer", "taxable"), [("optional", "100.00"), ("only", "110.00")])
def test_the_answer_decides_in_the_states_where_it_counts(looked_up, answer, taxable):
    frame = looked_up(*DOUBTS[:3], ("CA", "94105", "2026-05-01"), ("NJ", "07030", "2026-05-01"))
    taxed = tax(frame, delivery=answer)
    assert found(taxed, "taxable_amount") == dollars([taxable] * 3 + ["100.00", "110.00"])
    assert taxed["tax_review"].isna().all()
    assert (taxed["tax_low"] == taxed["tax"]).all()
    assert (taxed["tax_high"] == taxed["tax"]).all()
    assert taxed.attrs["svc"]["terms"][""]["delivery"] == answer


def test_what_is_not_settled_stays_in_doubt_whatever_the_seller_says(looked_up):
    for answer in (None, "optional", "only"):
        taxed = tax(looked_up(DOUBTS[3]), delivery=answer)
        assert found(taxed, "tax_review") == [UNSETTLED]
        assert found(taxed, "taxable_amount") == dollars(["110.00"])
        assert found(taxed, "tax_low")[0] < found(taxed, "tax")[0] == found(taxed, "tax_high")[0]


def test_rows_without_delivery_or_of_another_day_are_not_in_doubt(looked_up):
    frame = looked_up(*DOUBTS[:4], ("LA", "70601", "2025-01-01"), delivery="0.00")
    assert tax(frame)["tax_review"].isna().all()
    frame = looked_up(("MI", "48226", "2023-04-25"), ("MI", "48226", "2023-04-26"))
    taxed = tax(frame)
    assert found(taxed, "taxable_amount") == dollars(["110.00", "100.00"])
    assert taxed["tax_review"].isna().all()


def test_the_review_has_one_line_a_state(looked_up):
    zips = ["33130", "32801", "33602", "32202"]
    frame = looked_up(*(("FL", zip5, "2026-05-01") for zip5 in zips), DOUBTS[3])
    made = tax(frame).svc.review()
    expected = [("DC", UNSETTLED, 1), ("FL", OPTIONAL, 4)]
    for lines in (made.groups, made.by_state):
        found_ = zip(lines["state"], lines["reason"], lines["rows"], strict=True)
        assert sorted(found_) == expected
    assert sorted(made.rows["zip"]) == sorted([*zips, "20001"])
    assert tax(frame, delivery="only").svc.review().rows["zip"].tolist() == ["20001"]


def test_where_the_delivery_is_all_that_was_sold_its_tax_is_at_stake_whatever_else_is_in_doubt(
    looked_up,
):
    frame = looked_up(DOUBTS[0]).assign(amount="0.00", needs_review=True)
    rows = tax(frame.assign(lookup_review_reason="stale_rate")).svc.review().rows
    assert (rows["review_basis"].tolist(), found(rows, "review_dollars")) == (
        ["range"],
        dollars(["0.70"]),
    )


def test_a_report_says_what_the_range_is_that_of(looked_up, tmp_path):
    def said(frame):
        page = tmp_path / "r.html"
        tax(frame).svc.report(page)
        return " ".join(re.sub(r"<[^>]*>", " ", page.read_text(encoding="utf-8")).split())

    frame = looked_up(DOUBTS[0], DOUBTS[3], ("NJ", "07030", "2026-05-01"))
    one = said(frame)
    assert "In 2 rows it is in doubt whether delivery is taxed: their tax comes to $13.00" in one
    assert "fits several rates" not in one
    frame["rate_low"] = frame["combined_rate"].where(frame.index == 2)
    frame["rate_high"] = (frame["combined_rate"] + Decimal("0.01000")).where(frame.index == 2)
    assert (
        "In 3 rows the place fits several rates (rows: 1), or it is in doubt whether delivery is"
        " taxed (rows: 2): their tax comes to"
    ) in said(frame)


def test_a_service_that_sends_no_warning_is_taken_at_its_word(faults, scripted):
    faults.will(lambda seen: echo(seen, rate={"freight_taxable": False}))
    frame = orders([("FL", "33130", "2026-05-01")])
    result = frame.svc.lookup(client=scripted, as_of="sold", progress=False)
    for answer in (None, "only"):
        taxed = tax(result, delivery=answer)
        assert found(taxed, "taxable_amount") == dollars(["100.00"])
        assert taxed["tax_review"].isna().all()


@given(
    st.lists(
        st.tuples(
            st.integers(-50_000, 50_000),
            st.integers(-5_000, 5_000),
            st.sampled_from([True, False]),
            st.sampled_from([None, OPTIONAL, f"source_conflict; {UNSETTLED}", "stale_rate"]),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([None, "optional", "only"]),
)
@examples(15, of=60)
def test_the_tax_lies_in_its_range_and_the_range_is_without_and_with_the_delivery(rows, answer):
    cents = [[Decimal(row[place]).scaleb(-2) for row in rows] for place in (0, 1)]
    frame = rated(
        amount=cents[0],
        delivery=cents[1],
        freight_taxable=[row[2] for row in rows],
        warnings=pd.Series([row[3] for row in rows], dtype="str"),
        rate_low=[None] * len(rows),
        rate_high=[None] * len(rows),
    )
    taxed = frame.svc.tax("amount", shipping="delivery", delivery=answer, progress=False)
    for row, (goods, delivery, taxable, warnings) in enumerate(rows):
        one = {name: found(taxed, name)[row] for name in ("tax", "tax_low", "tax_high")}
        optional = OPTIONAL in (warnings or "")
        counts = (answer == "only") if optional and answer else taxable
        assert found(taxed, "taxable_amount")[row] * 100 == goods + (delivery if counts else 0)
        doubtful = bool(delivery) and ((optional and not answer) or UNSETTLED in (warnings or ""))
        if not doubtful:
            assert one["tax_low"] == one["tax"] == one["tax_high"]
        else:
            exact = [Decimal(of) * Decimal("0.0825") for of in (goods, goods + delivery)]
            ends = [one.quantize(Decimal(1), "ROUND_HALF_UP").scaleb(-2) for one in exact]
            assert {*ends} == {one["tax_low"], one["tax_high"]}
            assert one["tax"] in ends
        assert (found(taxed, "tax_review")[row] is not None) is doubtful


@pytest.mark.parametrize("given_", ["yes", "", True, "Only"])
def test_another_answer_is_refused(given_):
    with pytest.raises(ValueError, match=r"delivery: .*'optional' or 'only'"):
        tax_of(["1.00"], {"delivery": given_})


def test_the_variable_answers_for_every_run(looked_up, monkeypatch):
    frame = looked_up(DOUBTS[0])
    monkeypatch.setenv("SVC_DELIVERY", "Only ")
    assert found(tax(frame), "taxable_amount") == dollars(["110.00"])
    assert found(tax(frame, delivery="optional"), "taxable_amount") == dollars(["100.00"])
    menu = ColumnsForm(lambda: None, lambda: None).delivery
    assert (menu.value, [value for _, value in menu.options]) == ("only", ["optional", "only"])
    monkeypatch.setenv("SVC_DELIVERY", "pickup")
    with pytest.raises(ConfigurationError, match="SVC_DELIVERY is 'pickup'; expected optional"):
        tax(frame)


def test_without_the_warnings_it_is_said_that_nothing_shows_a_doubt(looked_up, capsys):
    frame = looked_up(DOUBTS[0]).drop(columns="warnings")
    capsys.readouterr()
    taxed = frame.svc.tax("amount", shipping="shipping")
    assert "no column 'warnings'" in capsys.readouterr().err
    assert taxed["tax_review"].isna().all()
    assert frame.svc.tax("amount") is not None
    assert "no column 'warnings'" not in capsys.readouterr().err


@pytest.fixture
def path(tmp_path):
    orders(DOUBTS[:4]).to_csv(tmp_path / "orders.csv", index=False)
    return tmp_path / "orders.csv"


@pytest.mark.parametrize("answer", [None, "optional", "only"])
def test_every_runner_has_the_figures_of_the_frame(by_frame, elsewhere, answer):
    terms = {"amount": "amount", "shipping": "shipping", "delivery": answer}
    expected, got = (run(orders(DOUBTS[:4]), tax=terms) for run in (by_frame, elsewhere))
    assert by_rows(got) == by_rows(expected)


def test_the_layout_keeps_the_answer(embedded, path):
    kept, out = path.with_name("shop.toml"), path.with_name("out.parquet")
    run = {"client": embedded, "cache": False, "force": True}
    enrich_file(path, out, tax={"delivery": "only"}, save_layout=kept, **run)
    enrich_file(path, out, tax={}, layout=kept, **run)
    assert found(pd.read_parquet(out), "taxable_amount") == dollars(["110.00"] * 4)
    enrich_file(path, out, tax={"delivery": "optional"}, layout=kept, **run)
    assert found(pd.read_parquet(out), "taxable_amount")[:3] == dollars(["100.00"] * 3)


def test_the_command_takes_the_answer_and_says_what_is_open(path):
    out = path.with_name("out.csv")
    command = ("enrich", str(path), "-o", str(out), "--embedded", "--force")
    done = svc_tools(*command, "--delivery", "only", "--json")
    assert done.returncode == 0, done.stderr
    taxed = pd.read_csv(out, dtype="str")
    assert taxed["taxable_amount"].tolist() == ["110.00"] * 4
    open_ = svc_tools(*command)
    assert open_.returncode == 0, open_.stderr
    said = " ".join(open_.stdout.split())
    assert what_to_do(OPTIONAL) in said
    wrong = svc_tools(*command, "--delivery", "pickup")
    assert wrong.returncode == 2
    assert "delivery: 'pickup'" in wrong.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize("doubt", DOUBTS, ids=lambda one: one[0])
def test_every_note_of_doubt_reaches_frame_command_panel_sheet_and_report(
    embedded, looked_up, tmp_path, doubt
):
    state, zip5, day, code = doubt
    frame = looked_up((state, zip5, day))
    assert code in frame["warnings"].iloc[0].split("; ")
    result = embedded.lookup(state, zip=zip5, as_of=day)
    (message,) = [one.model_extra["message"] for one in result.warnings if one.code == code]
    told = svc_tools("lookup", state, "--zip", zip5, "--as-of", day, "--embedded")
    assert message in " ".join(told.stdout.split())
    assert message in " ".join(text_of(card(result)).split())
    assert meaning_of(code) in shown(desk_of(embedded), "SVC_WARNINGS", state, zip5, day).lower()
    taxed = tax(frame, partial="use")
    assert code in found(taxed, "tax_review")[0]
    assert code in taxed.svc.review().rows["review_reasons"].iloc[0]
    taxed.svc.report(tmp_path / "report.xlsx")
    book = openpyxl.load_workbook(tmp_path / "report.xlsx")
    cells = {str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row}
    assert any(code in cell for cell in cells)


def test_where_more_is_in_doubt_than_the_delivery_the_whole_tax_is_at_stake(looked_up):
    late, sure = ("CO", "80202", "2026-05-01"), ("FL", "33130", "2026-05-01")
    rows = tax(looked_up(late, sure)).svc.review().rows.sort_index()
    assert rows["review_reasons"].tolist() == [f"as_of_after_edition; {OPTIONAL}", OPTIONAL]
    assert rows["review_basis"].tolist() == ["tax", "range"]
    assert found(rows, "review_dollars") == [found(rows, "tax")[0], found(rows, "at_stake")[1]]


def test_the_places_above_are_those_of_every_doubt_in_the_table():
    rules = [rule for rules in load_book().delivery.values() for rule in rules]
    open_ = {(one.state, OPTIONAL) for one in rules if one.treatment == "exempt_if_optional"}
    open_ |= {(one.state, UNSETTLED) for one in rules if one.doubt}
    assert {(state, code) for state, _, _, code in DOUBTS} == open_
