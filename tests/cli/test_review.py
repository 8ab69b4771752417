"""`svc-tools review`: enriched files as they are, others enriched first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from support.command import start_python, svc_tools
from support.enriched import KINDS, ROWS, enriched_files, write, written_rows
from support.faults import answer, echo, echoing
from support.systems import posix
from support.waiting import until

from svc_tools import svc

SHOPIFY = Path(__file__).parents[1] / "data" / "exports" / "shopify.csv"


@pytest.fixture(scope="module")
def files(_own_home, tmp_path_factory):
    return enriched_files(tmp_path_factory.mktemp("files"))


def told(*arguments, **environment):
    done = svc_tools("review", *arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def figures(summary):
    return {name: summary[name] for name in ("sentence", "totals", "by_state", "not_due")}


@pytest.mark.parametrize("kind", KINDS)
def test_an_enriched_file_is_reviewed_as_it_is_and_nothing_is_requested(account, files, kind):
    faults, environment = account
    summary = told(files[kind], **environment)
    frame = pd.read_parquet(files["parquet"])
    review = svc(frame).review()
    assert faults.seen == []
    assert (summary["already_enriched"], summary["rows"]) == (True, len(frame))
    assert summary["totals"]["rows"] == review.totals.rows
    assert summary["totals"]["dollars"] == str(review.totals.dollars)
    assert [one["reason"] for one in summary["by_state"]] == review.by_state["reason"].tolist()
    # what a file cannot hold stands before the figures
    assert bool(summary["lines"]) == (kind != "parquet")


def test_any_other_file_is_enriched_first_and_no_rows_are_written(files, tmp_path):
    summary = told(files["plain"], "--embedded")
    assert (summary["already_enriched"], summary["complete"]) == (False, True)
    assert figures(summary) == figures(told(files["parquet"]))
    done = svc_tools("review", SHOPIFY, "--embedded", folder=tmp_path)
    assert done.returncode == 0
    assert "Shopify orders: state 'Shipping Province'" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_figures_fit_the_terminal(files):
    for width in (50, 80):
        done = svc_tools("review", files["csv"], COLUMNS=str(width))
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= width
        shown = " ".join(done.stdout.split())
        order = ["already enriched", "does not hold", "require review", "By state and reason"]
        assert sorted(order, key=shown.index) == order


def test_a_reader_that_closes_the_pipe_ends_the_output_and_nothing_else(files):
    command = ("-m", "svc_tools", "review", files["csv"], "--json")
    with start_python(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_a_row_has_the_number_that_a_spreadsheet_gives_it(files):
    lines = svc_tools("review", files["csv"]).stdout.splitlines()
    head = next(at for at, line in enumerate(lines) if line.split()[:2] == ["Row", "Dollars"])
    numbers = {line.split()[0] for line in lines[head + 2 :] if line.strip()[:1].isdigit()}
    assert numbers == {"2", "5"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_to_review_are_written_whole_or_not_at_all(files, tmp_path, kind):
    output = tmp_path / f"out.{kind}"
    assert told(files["csv"], "-o", output)["output"] == str(output)
    rows = written_rows(output)
    assert [str(row["order"]) for row in rows] == ["1", "4"]
    assert [row["review_reasons"] for row in rows] == ["as_of_before_history", "unresolved"]
    before = output.read_bytes()
    refused = svc_tools("review", files["csv"], "-o", output)
    assert (refused.returncode, output.read_bytes()) == (2, before)
    assert "--force" in refused.stderr
    assert svc_tools("review", files["csv"], "-o", output, "--force", "--quiet").stdout == ""


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_requested(
    account, files, tmp_path
):
    faults, environment = account
    done = svc_tools("review", files["plain"], "-o", tmp_path / "no" / "a.csv", **environment)
    assert (done.returncode, faults.seen) == (2, [])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--zip", "zip"], ["--zip"]),
        (["--tax", "amount", "--detail"], ["--tax", "--detail"]),
        (["--no-tax"], ["--no-tax"]),
        (["--no-resume"], ["--no-resume"]),
        (["--without", "country"], ["--without"]),
        (["--concurrency", "3"], ["--concurrency"]),
    ],
)
def test_an_option_that_would_do_nothing_to_an_enriched_file_is_refused_by_name(
    files, options, named
):
    done = svc_tools("review", files["csv"], *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(one in done.stderr for one in named)


def test_options_that_say_how_it_is_read_are_taken(files, tmp_path):
    lines = files["csv"].read_text(encoding="utf-8").replace("Austin", "Orl\xe9ans")
    path = tmp_path / "a.csv"
    path.write_bytes(lines.encode("cp1252"))
    summary = told(
        *(path, "--encoding", "cp1252", "--delimiter", "comma", "--embedded", "--yes"),
        *("--amount", "amount", "--order", "order", "--share", "50"),
    )
    assert summary["totals"]["share"] == 50
    assert "Orl\xe9ans" in summary["groups"][0]["place"]


def test_amounts_that_are_not_known_are_asked_for_by_name(files, tmp_path):
    rows = [[*ROWS[0][:4], "Net", ROWS[0][5]], *ROWS[1:]]
    source, output = write(tmp_path / "in.csv", rows), tmp_path / "out.csv"
    command = ("enrich", source, "-o", output, "--tax", "Net", "--embedded", "--quiet")
    assert svc_tools(*command).returncode == 0
    summary = told(output)
    assert summary["totals"]["unknown_rows"] == 1
    assert any("--amount" in line for line in summary["lines"])
    summary = told(output, "--amount", "Net")
    assert (summary["totals"]["unknown_rows"], summary["totals"]["estimated_rows"]) == (0, 1)
    assert not any("--amount" in line for line in summary["lines"])
    done = svc_tools("review", output, "--amount", "Gross")
    assert (done.returncode, "Gross" in done.stderr) == (2, True)
    done = svc_tools("review", output, "--order", "order")  # of which column?
    assert (done.returncode, "--amount" in done.stderr) == (2, True)


def test_a_file_without_a_tax_is_reviewed_without_unless_its_tax_is_requested(files):
    summary = told(files["looked up"])
    assert (summary["totals"]["of_sales"], summary["already_enriched"]) == (True, True)
    summary = told(files["looked up"], "--tax", "amount")
    assert figures(summary) == figures(told(files["parquet"]))


def test_the_only_lookup_is_read_whatever_its_prefix_and_of_several_the_one_named(files):
    summary = told(files["prefixed"])
    assert summary["prefix"] == "a_"
    assert any("a_" in line for line in summary["lines"])
    assert figures(summary) == figures(told(files["csv"]))
    done = svc_tools("review", files["twice"])
    assert done.returncode == 2
    assert all(one in done.stderr for one in ("'a_'", "'b_'", "--prefix"))
    assert told(files["twice"], "--prefix", "b_")["prefix"] == "b_"
    done = svc_tools("review", files["csv"], "--prefix", "c_")
    assert (done.returncode, "--prefix" in done.stderr) == (2, True)


def test_a_column_lookup_status_of_the_user_s_is_no_lookup(tmp_path):
    rows = [[*ROWS[0], "lookup_status"], *([*row, "mine"] for row in ROWS[1:])]
    source = write(tmp_path / "in.csv", rows)
    done = svc_tools("review", source, "--embedded")
    assert (done.returncode, "--prefix svc_" in done.stderr) == (2, True)
    assert told(source, "--embedded", "--prefix", "svc_")["already_enriched"] is False


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.csv", "", 2),
        ("a.csv", "zip,state,amount\n", 0),
        ("a.csv", "name,amount\nx,1.00\n", 2),
        ("a.docx", "x", 2),
        ("a.xlsx", "x", 2),
    ],
)
def test_files_that_cannot_be_used_are_exit_code_2(tmp_path, name, text, code):
    path = tmp_path / name
    path.write_text(text)
    done = svc_tools("review", path, "--embedded")
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("names", "cells", "option"),
    [
        (["order date", "ship date", "amount"], ["2026-08-01", "2026-08-02", "1.00"], "--as-of"),
        (["date", "net sales", "subtotal"], ["2026-08-01", "2.00", "1.00"], "--tax"),
    ],
)
def test_questions_of_a_file_are_asked_as_enrich_asks_them(tmp_path, names, cells, option):
    rows = [["zip", "state", *names], ["78701", "TX", *cells]]
    source = write(tmp_path / "in.csv", rows)
    asked = [
        svc_tools(command, source, *more, "--embedded")
        for command, more in (("review", []), ("enrich", ["-o", tmp_path / "a.csv"]))
    ]
    assert [one.returncode for one in asked] == [2, 2]
    assert asked[0].stderr == asked[1].stderr
    assert option in asked[0].stderr


def test_lookups_that_failed_are_exit_code_1_and_the_rows_are_listed(account, files, tmp_path):
    faults, environment = account
    failed = b'{"error": {"code": "INTERNAL", "message": "out of order"}}'
    faults.will(lambda seen: answer(400, failed) if "94105" in seen.target else echo(seen))
    done = svc_tools("review", files["plain"], "--json", **environment)
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["complete"]) == (1, True)
    assert "failed" in [one["reason"] for one in summary["by_state"]]


def test_a_run_that_ended_early_is_incomplete_and_writes_nothing(account, files, tmp_path):
    faults, environment = account
    quota = b'{"error": {"code": "QUOTA_EXCEEDED", "message": "no lookups left"}}'
    faults.will(lambda seen: answer(402, quota) if "02138" in seen.target else echo(seen))
    output = tmp_path / "out.csv"
    command = ("review", files["plain"], "-o", output, "--concurrency", "1")
    done = svc_tools(*command, **environment)
    assert (done.returncode, output.exists()) == (1, False)
    assert done.stdout.startswith("INCOMPLETE: ")
    summary = json.loads(svc_tools(*command, "--json", **environment).stdout)
    assert (summary["complete"], summary["output"]) == (False, None)


def test_a_key_that_is_refused_is_exit_code_1(account, files):
    faults, environment = account
    wrong = b'{"error": {"code": "UNAUTHORIZED", "message": "no such key"}}'
    faults.will(lambda _: answer(401, wrong))
    done = svc_tools("review", files["plain"], **environment)
    assert done.returncode == 1


def test_without_a_service_a_file_that_is_not_enriched_is_exit_code_2(files):
    assert svc_tools("review", files["plain"]).returncode == 2
    assert svc_tools("review", files["csv"]).returncode == 0


def test_cached_results_are_not_requested_again(account, files):
    faults, environment = account
    faults.will(echoing(confidence="low"))
    first = told(files["plain"], **environment)
    requested = len(faults.seen)
    assert figures(told(files["plain"], **environment)) == figures(first)
    assert len(faults.seen) == requested


@posix
@pytest.mark.parametrize(("how", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupted_run_shows_and_writes_nothing(account, files, tmp_path, how, code):
    faults, environment = account

    def hang(seen):
        faults.over.wait(60)
        return echo(seen)

    faults.will(hang)
    output = tmp_path / "out.csv"
    with start_python(
        *("-m", "svc_tools", "review", files["plain"], "-o", output),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        until(lambda: faults.seen, what="a request")
        process.send_signal(getattr(signal, how))
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, output.exists()) == (code, "", False)
    assert "Interrupted" in err
    assert "Traceback" not in err
