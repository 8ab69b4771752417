"""`svc-tools reconcile`: what was collected against the tax, of files enriched or not."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from support.command import svc_tools
from support.enriched import KINDS, ROWS, enriched_files, write, written_rows
from support.faults import KEY, serving

from svc_tools import svc
from svc_tools.frames.analysis.reconcile import LINE_COLUMNS

SHOPIFY = Path(__file__).parents[1] / "data" / "exports" / "shopify.csv"


@pytest.fixture(scope="module")
def files(_own_home, tmp_path_factory):
    return enriched_files(tmp_path_factory.mktemp("files"))


def told(*arguments, **environment):
    done = svc_tools("reconcile", *arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def figures(summary):
    names = ("sentence", "notes", "totals", "by_state", "by_reason", "worst")
    return {name: summary[name] for name in names}


@pytest.mark.parametrize("kind", KINDS)
def test_an_enriched_file_is_compared_as_it_is_and_nothing_is_requested(files, kind):
    with serving() as faults:
        summary = told(files[kind], SVC_API_KEY=KEY, SVC_BASE_URL=faults.base_url)
        assert faults.seen == []
    compared = svc(pd.read_parquet(files["parquet"])).reconcile()
    assert summary["already_enriched"]
    assert summary["collected"] == "tax_collected"
    assert summary["totals"]["difference"] == str(compared.totals.difference)
    assert [one["reason"] for one in summary["by_reason"]] == compared.by_reason["reason"].tolist()
    assert summary["worst"][0]["row"] == 4
    assert figures(summary) == figures(told(files["plain"], "--embedded"))


def test_the_column_of_a_recognized_export_is_used(tmp_path):
    summary = told(SHOPIFY, "--embedded", folder=tmp_path)
    assert summary["collected"] == "Taxes"
    output = tmp_path / "out.csv"
    svc_tools("enrich", SHOPIFY, "-o", output, "--embedded", "--quiet")
    again = told(output)
    assert (again["collected"], again["totals"]) == ("Taxes", summary["totals"])


def test_any_column_may_be_named_and_one_that_is_missing_is_refused(files, tmp_path):
    source = write(tmp_path / "in.csv", [[*ROWS[0][:5], "Booked"], *ROWS[1:]])
    output = tmp_path / "out.parquet"
    assert svc_tools("enrich", source, "-o", output, "--embedded", "--quiet").returncode == 0
    assert told(output, "--collected", "Booked")["totals"] == told(files["csv"])["totals"]
    with serving() as faults:
        account = {"SVC_API_KEY": KEY, "SVC_BASE_URL": faults.base_url}
        for path in (source, output):
            for options in ([], ["--collected", "Paid"]):
                done = svc_tools("reconcile", path, *options, **account)
                assert (done.returncode, done.stdout) == (2, "")
                assert "--collected" in done.stderr
                assert "Booked" in done.stderr
        assert faults.seen == []


@pytest.mark.parametrize(
    "options",
    [["--by", "shelf"], ["--period", "month", "--date", "day"], ["--tolerance", "-1"]],
    ids=lambda options: options[-2],
)
def test_what_cannot_be_compared_by_is_refused_before_a_request(files, options):
    with serving() as faults:
        account = {"SVC_API_KEY": KEY, "SVC_BASE_URL": faults.base_url}
        for kind in ("plain", "csv"):
            done = svc_tools("reconcile", files[kind], *options, **account)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"{options[-2]}: " in done.stderr
        assert faults.seen == []
    added = told(files["plain"], "--embedded", "--by", "resolved_zip", "--prefix", "")
    assert {one["resolved_zip"] for one in added["by_group"]} >= {"78701", "94105"}


def test_the_computed_tax_is_not_what_was_collected(files):
    done = svc_tools("reconcile", files["csv"], "--collected", "tax")
    assert (done.returncode, "--collected" in done.stderr) == (2, True)


def test_a_file_without_a_tax_gets_one_from_its_rates_and_nothing_is_looked_up_again(files):
    with serving() as faults:
        account = {"SVC_API_KEY": KEY, "SVC_BASE_URL": faults.base_url}
        summary = told(files["looked up"], **account)
        assert faults.seen == []
    assert figures(summary) == figures(told(files["csv"]))
    assert len(summary["lines"]) == len(told(files["csv"])["lines"]) + 1
    with_terms = told(files["looked up"], "--rounding", "up")
    assert with_terms["totals"]["expected"] == "15.07"  # 4.3125 is 4.32 then
    refused = svc_tools("reconcile", files["looked up"], "--zip", "zip")
    assert (refused.returncode, "--zip" in refused.stderr) == (2, True)


def test_a_file_in_which_no_column_holds_amounts_is_asked_for_one(tmp_path):
    rows = [[*row[:4], row[5]] for row in ROWS]
    done = svc_tools("reconcile", write(tmp_path / "in.csv", rows), "--embedded")
    assert (done.returncode, "--tax" in done.stderr) == (2, True)


def test_figures_are_added_up_by_columns_and_by_period(files):
    summary = told(files["csv"], "--by", "state", "--by", "order", "--period", "month")
    first = summary["by_group"][0]
    assert [*first][:3] == ["month", "state", "order"]
    assert first["month"] == "2019-05"
    by_date = told(files["csv"], "--period", "year", "--date", "date")
    assert [one["year"] for one in by_date["by_group"]] == ["2019", "2026"]
    short = svc_tools("reconcile", files["csv"], "--date", "date")
    assert (short.returncode, "--period" in short.stderr) == (2, True)


def test_a_lookup_without_its_days_needs_a_column_of_dates_for_a_period(files, tmp_path):
    output = tmp_path / "short.csv"
    command = ("enrich", files["plain"], "-o", output, "--embedded", "--columns", "short")
    assert svc_tools(*command).returncode == 0
    done = svc_tools("reconcile", output, "--period", "month")
    assert (done.returncode, "--date" in done.stderr) == (2, True)
    assert told(output, "--period", "year", "--date", "date")["by_group"]


def test_a_difference_is_tolerated_and_the_worst_rows_are_as_many_as_are_wanted(files):
    assert told(files["csv"], "--tolerance", "1.00")["totals"]["within_rows"] == 3
    assert told(files["csv"], "--worst", "0")["worst"] == []
    for options in (["--tolerance", "much"], ["--period", "week"], ["--worst", "-1"]):
        assert svc_tools("reconcile", files["csv"], *options).returncode == 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_written_with_its_difference(files, tmp_path, kind):
    output = tmp_path / f"out.{kind}"
    assert told(files["csv"], "-o", output)["output"] == str(output)
    rows = written_rows(output)
    assert len(rows) == len(ROWS) - 1
    assert [*rows[0]][-len(LINE_COLUMNS) :] == list(LINE_COLUMNS)
    assert float(rows[2]["tax_difference"]) == -0.5
    again = told(output)
    assert again["totals"] == told(files["csv"])["totals"]


def test_the_figures_fit_the_terminal(files):
    for width in (50, 80):
        done = svc_tools("reconcile", files["csv"], COLUMNS=str(width))
        lines = done.stdout.splitlines()
        assert (done.returncode, max(map(len, lines)) <= width) == (0, True)
        heads = [line.split()[:2] for line in lines]
        assert ["State", "Rows"] in heads  # tables, not blocks of lines


def test_a_column_of_the_order_is_a_question_that_an_option_answers(tmp_path):
    rows = [["order", "state", "zip", "date", "amount", "Order Tax"]]
    rows += [["7", "TX", "78701", "2026-08-13", "10.00", "1.65"]] * 2
    source, output = write(tmp_path / "in.csv", rows), tmp_path / "out.csv"
    command = ("enrich", source, "-o", output, "--tax", "amount", "--embedded", "--quiet")
    assert svc_tools(*command).returncode == 0
    collected = ("--collected", "Order Tax")
    asked = svc_tools("reconcile", output, *collected)
    assert asked.returncode == 2
    assert '--once "Order Tax"' in asked.stderr
    summary = told(output, *collected, "--once", "Order Tax")
    assert summary["totals"]["collected"] == "1.65"
    assert told(output, *collected, "--without", "once")["totals"]["collected"] == "3.30"
    refused = svc_tools("reconcile", output, *collected, "--without", "shipping")
    assert (refused.returncode, "--without" in refused.stderr) == (2, True)
    first = ("--tax", "amount", *collected, "--once", "Order Tax", "--embedded")
    assert told(source, *first)["totals"] == summary["totals"]


def test_of_a_file_that_was_changed_since_the_rows_are_refused(files, tmp_path):
    frame = pd.read_parquet(files["parquet"])
    frame["amount"] = ["100.00", "75.00", "40.00", "10.00"]
    frame.to_parquet(tmp_path / "changed.parquet")
    done = svc_tools("reconcile", tmp_path / "changed.parquet")
    assert (done.returncode, "75.00" in done.stderr) == (2, True)
