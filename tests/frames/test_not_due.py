"""What is not due is never a row to review: in every output it is one line, with its sales."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import svc_tools
from support.examples import examples
from support.faults import echo, echoing
from support.frames import enriched as enriched_rows
from support.frames import half, line, lost, row, tax_of, taxed, units

from svc_tools.frames import enrich_file
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.files.result import FileTotals
from svc_tools.frames.review.summary import summarize
from svc_tools.frames.taxes.not_due import NotDue
from svc_tools.show.codes import NOT_DUE, codes_of

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
GA = [{"state": "GA", "nexus_type": "economic", "registered_at": "2026-01-01"}]
LINES = [
    line(),
    line(needs_review=True, lookup_review_reason="several_rates", rate_high=units(9900)),
    line(needs_review=True, lookup_review_reason="place_input_mismatch"),
    half(needs_review=True, lookup_review_reason="partial"),
    *(lost(status, state="GA") for status in ("unresolved", "failed", "not_attempted", "invalid")),
    lost("unsupported"),
    line(combined_rate=units(25_000), needs_review=True, lookup_review_reason="rate_too_high"),
    line(freight_taxable=None),
    line(confidence=None, needs_review=True, lookup_review_reason="confidence_unknown"),
]
AMOUNTS = ["100.00"] * len(LINES)


def due_of(channels, lines=LINES, amounts=AMOUNTS, **terms):
    terms = {"channel": "channel", "shipping": "1.00", "ship_from": "GA"} | terms
    return taxed(lines, amounts, terms=terms, channel=channels)


def test_a_sale_of_a_marketplace_is_never_to_review_whatever_its_rate_is():
    frame = due_of(["marketplace"] * len(LINES), amounts=[None, *AMOUNTS[1:]])
    made = frame.svc.review()
    assert (made.rows.empty, len(made.groups), made.by_state.empty) == (True, 0, True)
    assert made.totals.dollars is None
    assert made.sentence == f"None of {len(LINES)} rows requires review."
    told = (
        f"{len(LINES)} rows ($1,100.00 of sales): no tax is due from you (marketplace sales), so"
        " they require no review."
    )
    assert made.not_due_sentence == told
    for shown in (str(made), str(frame.svc.split())):
        assert " ".join(shown.split()).count(told) == 1
    assert told in made._repr_html_()
    assert made.not_due == (NotDue("marketplace_facilitated", len(LINES), Decimal("1100.00")),)
    assert frame["tax_review"].isna().all()


def test_a_row_that_is_not_due_keeps_its_status_and_is_in_the_group_of_its_rate():
    frame = due_of(["marketplace"] * len(LINES))
    assert frame["lookup_status"].tolist() == [one["lookup_status"] for one in LINES]
    split = frame.svc.split()
    sizes = {name: len(rows) for name, rows in split.items()}
    assert sizes == {"ready": 6, "to_check": 0, "incomplete": 1, "no_rate": 5}


def test_a_sale_of_the_seller_or_of_an_unknown_channel_still_is_to_review():
    direct = due_of(["direct"] * len(LINES)).svc.review()
    assert sorted(direct.rows.index) == [*range(1, len(LINES))]
    assert direct.not_due_sentence == ""
    unknown = due_of(["fax"] * len(LINES)).svc.review()
    assert len(unknown.rows) == len(LINES)
    assert all("channel_unknown" in reasons for reasons in unknown.rows["review_reasons"])


def test_each_known_reason_is_named_with_its_rows_and_one_that_is_not_known_is_to_review():
    lines = [
        line("GA", needs_review=True, lookup_review_reason="several_rates"),
        *[line("WA", needs_review=True, lookup_review_reason="several_rates")] * 2,
        line("GA", needs_review=True, lookup_review_reason="several_rates"),
        lost("failed"),
    ]
    channels = ["direct", "direct", "direct", "marketplace", "direct"]
    frame = due_of(channels, lines, ["10.00"] * 5, nexus=GA, ship_from=None)
    assert frame["tax_due_reason"].tolist()[1:] == [
        *["no_nexus"] * 2,
        "marketplace_facilitated",
        "state_unknown",
    ]
    made = frame.svc.review()
    assert sorted(made.rows.index) == [0, 4]
    assert made.not_due_sentence == (
        "3 rows ($30.00 of sales): no tax is due from you (sales in states where you are not"
        " registered: 2, marketplace sales: 1), so they require no review."
    )
    before = [{**GA[0], "registered_at": "2030-01-01"}]
    early = due_of(channels[:1], lines[:1], ["10.00"], nexus=before, ship_from=None).svc.review()
    assert early.rows.empty
    assert "(sales before you were registered), so it requires no review." in early.not_due_sentence


def test_every_reason_why_no_tax_is_due_is_known_and_the_others_are_to_review():
    unknown = {"registered_in_period", "state_unknown", "date_unknown", "channel_unknown", "no_tax"}
    assert {*codes_of("tax_due")} == {*NOT_DUE} | unknown
    frame = taxed([line()] * 2, ["1.00"] * 2, terms={"channel": "marketplace"})
    for code in unknown - {"no_tax"}:
        frame["tax_due_reason"] = code
        assert len(frame.svc.review().rows) == 2, code


def test_a_frame_with_some_of_the_columns_of_its_tax_and_a_figure_put_into_a_cell():
    frame = due_of(["marketplace"] * len(LINES))
    part = frame.drop(columns=["taxable_amount", "exempt_amount", "tax_due"])
    assert part.svc.split().to_check.empty
    frame["tax_due"] = frame["tax"].where(frame.index == 1)
    assert frame.svc.review().rows.index.tolist() == [1]


def test_what_an_export_marks_as_not_taxable_is_no_line_of_a_state_where_no_tax_is_due():
    own = {"sale_amount": "100.00", "sale_taxable": "0.00"}
    frame = taxed([line()], ["100.00"], terms={"channel": "channel"}, channel=["direct"])
    for name, text in own.items():
        frame[name] = pd.array([Decimal(text)], dtype=frame["tax"].dtype)
        frame.attrs["svc"]["columns"][""][name] = str(frame["tax"].dtype)
    assert len(frame.svc.review().state_reasons) == 1
    frame["tax_due_reason"] = "marketplace_facilitated"
    frame["tax_due"] = frame["tax_due"].where([False])
    assert frame.svc.review().state_reasons == ()


_ROWS = st.tuples(st.integers(0, len(LINES) - 1), st.booleans())


@examples(6, of=25)
@given(st.lists(_ROWS, min_size=1, max_size=12), st.data())
def test_the_rows_of_a_file_in_parts_are_those_of_the_frame(drawn, data):
    lines, market = [LINES[at] for at, _ in drawn], [yes for _, yes in drawn]
    channels = ["marketplace" if yes else "direct" for yes in market]
    frame = due_of(channels, lines, ["10.00"] * len(lines))
    made = frame.svc.review()
    assert not {at for at, yes in enumerate(market) if yes} & {*made.rows.index}
    at = data.draw(st.integers(0, len(lines)))
    totals = FileTotals(lambda status: status.usable)
    for part in (frame.iloc[:at], frame.iloc[at:]):
        totals.add(Enriched(part))
    assert (totals.not_due, totals.review.rows) == (made.not_due, len(made.rows))
    assert totals.review.groups() == made.state_reasons
    assert sum(one.rows for one in made.not_due) == sum(market)


@pytest.mark.parametrize("name", ["etsy.csv", "tiktok.csv", "ebay.csv"])
def test_the_export_of_a_marketplace_has_no_row_to_review_with_a_tax_or_without(
    name, embedded, tmp_path
):
    options = {"client": embedded, "cache": False}
    for tax in ({}, None):
        run = enrich_file(EXPORTS / name, tmp_path / "o.csv", tax=tax, force=True, **options)
        rows = run.totals.rows
        assert (run.totals.review.rows, run.totals.by_use[1].rows) == (0, 0)
        assert [one[:2] for one in run.totals.not_due] == [("marketplace_facilitated", rows)]
        if name == "ebay.csv":  # rows of commas stand around the names of its columns
            continue
        frame = pd.read_csv(EXPORTS / name, dtype=str).svc.lookup(progress=False, **options)
        frame = frame if tax is None else frame.svc.tax(progress=False)
        made = frame.svc.review()
        assert made.rows.empty
        assert made.not_due[0].rows == rows
        if tax is not None:
            assert run.totals.not_due == made.not_due
        again = pd.read_csv(tmp_path / "o.csv", dtype=str)  # without what the frame remembers
        assert again.svc.review().rows.empty


def test_the_export_of_a_marketplace_says_by_its_channels_which_sales_are_not_due(embedded):
    frame = pd.read_csv(EXPORTS / "amazon.txt", dtype=str, sep="\t")
    looked = frame.svc.lookup(client=embedded, cache=False, progress=False)
    direct = looked["sales-channel"] != "Amazon.com"
    looked.loc[looked.index[:1], ["needs_review", "sales-channel"]] = [True, "Non-Amazon US"]
    with_tax, without = (one.svc.review() for one in (looked.svc.tax(progress=False), looked))
    rows = int((~direct).sum()) - 1
    for made in (with_tax, without):
        assert [one[:2] for one in made.not_due] == [("marketplace_facilitated", rows)]
        assert [*made.rows.index] == [0]


@pytest.mark.parametrize("options", [{}, {"dtype": "str"}, {"dtype": "str", "na_filter": False}])
def test_a_csv_that_is_read_back_has_the_same_rows_not_due(options, tmp_path):
    frame = due_of(["marketplace", "direct"] * (len(LINES) // 2))
    frame.to_csv(tmp_path / "o.csv", index=False)
    again = pd.read_csv(tmp_path / "o.csv", **options)
    made, expected = again.svc.review(), frame.svc.review()
    assert made.not_due == expected.not_due
    assert sorted(made.rows["review_reasons"]) == sorted(expected.rows["review_reasons"])
    assert again.svc.split().parts == frame.svc.split().parts


def test_the_sales_of_a_seller_beside_those_of_a_marketplace_stay_to_review(embedded, tmp_path):
    rows = [
        ("direct", "CA", "94541"),
        ("marketplace", "CA", "94541"),
        ("marketplace", "LA", "70601"),
        ("marketplace", "CA", "00000"),
        ("", "CA", "94541"),
    ]
    path = tmp_path / "orders.csv"
    head = "channel,state,zip,date,amount"
    lines = [f"{one},{state},{zip5},2026-08-15,10.00" for one, state, zip5 in rows]
    path.write_text("\n".join([head, *lines]))
    options = {"tax": {"amount": "amount", "channel": "channel"}, "client": embedded}
    report = tmp_path / "r.xlsx"
    run = enrich_file(path, tmp_path / "o.csv", report=report, cache=False, **options)
    told = "3 rows ($30.00 of sales): no tax is due from you (marketplace sales), so they require"
    assert run.totals.review.rows == 2
    assert run.totals.by_use[1].rows == 2
    assert " ".join(str(run).split()).count(told) == 1
    plain = json.loads(json.dumps(run.as_json()))
    not_due = {"reason": "marketplace_facilitated", "rows": 3, "sales": "30.00"}
    assert (plain["needs_review"], plain["not_due"]) == (2, [not_due])
    texts = [cell.value for line in openpyxl.load_workbook(report)["Summary"] for cell in line]
    assert sum(told in str(text) for text in texts) == 1
    page = tmp_path / "r.html"
    pd.read_csv(tmp_path / "o.csv", dtype=str).svc.report(page)
    assert told in page.read_text(encoding="utf-8")


def test_a_command_that_is_strict_takes_what_is_not_due_as_done(tmp_path):
    path, output = tmp_path / "orders.csv", tmp_path / "out.csv"
    rows = ["marketplace,LA,70601,2026-08-15,10.00", "direct,NJ,07030,2026-08-15,10.00"]
    for lines, code in ((rows, 0), ([rows[0].replace("marketplace", "direct"), rows[1]], 1)):
        path.write_text("\n".join(["channel,state,zip,date,amount", *lines]))
        given = ("--tax", "amount", "--channel", "channel", "--strict", "--force", "--embedded")
        done = svc_tools("enrich", path, "-o", output, *given)
        assert done.returncode == code, done.stderr
        said = " ".join(done.stdout.split())
        assert ("1 row ($10.00 of sales): no tax is due from you" in said) == (code == 0)
        assert ("Rows to review by state" in said) == (code == 1)


def test_what_is_not_due_rests_on_no_rate_and_is_no_row_without_a_tax():
    frame = tax_of(
        ["10.00"] * 2,
        {"channel": "channel"},
        channel=["marketplace", "direct"],
        lookup_status=["partial", "partial"],
        needs_review=[True, True],
    )
    assert summarize(Enriched(frame)).rests_on.untaxed.rows == 1


UNKNOWN = "The service sent warnings that are not known here: new_rule (2 rows), other (1 row)"


def test_a_warning_that_is_not_known_requires_no_review_and_is_named_with_its_rows():
    frame = enriched_rows(
        row(warnings="new_rule; address_not_matched"),
        row(warnings="other; new_rule"),
        row(warnings="uncoded_warning"),
    )
    for made in (frame, frame.drop(columns="lookup_review_reason")):
        assert made.svc.review().rows.index.tolist() == [2]
    summary = summarize(Enriched(frame))
    assert summary.unknown_warnings == f"{UNKNOWN}; they alone require no review."
    known = enriched_rows(row(warnings="uncoded_warning; stale_rate; parts_do_not_add_up"), row())
    assert summarize(Enriched(known)).unknown_warnings == ""


def test_unknown_warnings_are_one_line_of_the_lookup_the_command_and_the_report(
    scripted, faults, tmp_path, capsys
):
    warned = ["new_rule", {"code": "other", "message": "x"}, "stale_rate"]
    faults.will(echoing(warnings=warned[:2]), echoing(warnings=warned[:1]), echo)
    frame = pd.DataFrame({"state": "TX", "zip": ["78701", "78702", "78703"], "amount": 1.0})
    terms = {"client": scripted, "as_of": "2026-05-01", "concurrency": 1}
    made = frame.svc.lookup(cache=tmp_path / "cache.db", **terms)
    assert UNKNOWN in " ".join(capsys.readouterr().err.split())
    assert not made["needs_review"].any()
    source, page = tmp_path / "orders.csv", tmp_path / "report.html"
    frame.assign(date="2026-05-01").to_csv(source, index=False)
    run = enrich_file(
        source, tmp_path / "o.csv", client=scripted, cache=tmp_path / "cache.db", report=page
    )
    assert run.totals.review.rows == 0
    assert " ".join(str(run).split()).count(UNKNOWN) == 1
    assert run.as_json()["unknown_warnings"] == [
        {"code": "new_rule", "rows": 2},
        {"code": "other", "rows": 1},
    ]
    assert UNKNOWN in page.read_text(encoding="utf-8")


def test_of_very_many_unknown_warnings_the_most_frequent_are_named():
    frame = enriched_rows(*(row(warnings=f"code_{number}; often") for number in range(30)))
    said = summarize(Enriched(frame)).unknown_warnings
    assert "here: often (30 rows), code_0 (1 row)," in said
    assert "and 21 more; they" in said
