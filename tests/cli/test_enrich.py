"""`svc-tools enrich`: exit codes, interrupted runs, files that cannot be used, pipes, progress."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from functools import partial

import pandas as pd
import pytest
from rich.console import Console
from support.command import run_python, start_python, svc_tools
from support.faults import ALIVE, KEY, answer, echo, echoing
from support.systems import posix, pty
from support.waiting import read_until, until

from svc_tools import connect
from svc_tools.base.progress import stage
from svc_tools.cli.enrich import FileProgress
from svc_tools.lookup.columns import ADDED_COLUMNS, LOOKUP_COLUMNS
from svc_tools.show import meters

PLACES = 60
TELLING = """
from svc_tools.cli import enrich, main
enrich._EVERY = 0.0
main()
"""
"""The command, with a line on standard error for each answer once it is committed."""


@pytest.fixture
def orders(tmp_path):
    """A file of sixty places, two rows each."""
    path = tmp_path / "orders.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["order", "state", "zip", "date", "amount"])
        for number in range(2 * PLACES):
            zip_code = 78701 + number % PLACES
            rows.writerow([f"{number:04}", "TX", zip_code, "2026-05-01", "100.00"])
    return path


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_every_row_with_a_tax_is_exit_code_0_and_the_summary_says_it(account, orders, tmp_path):
    faults, environment = account
    output = tmp_path / "out.csv"
    done = svc_tools("enrich", orders, "-o", output, "--tax", "amount", **environment)
    assert (done.returncode, len(faults.seen)) == (0, PLACES)
    assert [row["tax"] for row in rows_of(output)] == ["8.25"] * 2 * PLACES
    shown = " ".join(done.stdout.split())
    assert "120 rows, 60 distinct places and dates" in shown
    assert f"60 requested from {faults.base_url}" in shown
    assert "$990.00 of tax" in shown
    assert f"Written: {output}" in done.stdout
    assert "Columns: state 'state', ZIP 'zip', date 'date', amount 'amount'." in shown
    assert done.stderr == ""
    assert KEY not in done.stdout + done.stderr
    assert not {"\x1b", "\r"} & set(done.stdout + done.stderr)
    assert max(map(len, done.stdout.splitlines())) <= max(80, len(f"Written: {output}"))


def test_sums_by_state_and_month_are_a_last_table_that_fits_and_part_of_the_json(orders, tmp_path):
    command = ("enrich", orders, "-o", tmp_path / "a.csv", "--embedded", "--force", "--by-month")
    for width, line in ((80, "TX 2026-05 120 $12,000.00"), (50, "TX 2026-05 $12,000.00")):
        done = svc_tools(*command, COLUMNS=str(width))
        assert done.returncode == 0
        *_, table = done.stdout.partition("By state and month")
        assert line in " ".join(table.split())
        assert max(map(len, table.splitlines())) <= width
    told = json.loads(svc_tools(*command, "--json").stdout)
    (one,) = told["by_month"]
    assert (one["state"], one["month"], one["rows"]) == ("TX", "2026-05", 120)
    assert (one["sales"], one["tax"]) == ("12000.00", told["tax"])
    assert one["rows_with_tax"] + one["rows_without_tax"] == 120
    assert svc_tools(*command, "--columns", "short").returncode == 2


def test_with_a_register_the_summary_says_how_much_of_the_tax_is_due(account, orders, tmp_path):
    register = tmp_path / "nexus.csv"
    register.write_text("state,nexus_type,registered_at\nCA,physical,\n")
    command = ("enrich", orders, "--tax", "amount", "--nexus", register, "-o", tmp_path / "a.csv")
    found = json.loads(svc_tools(*command, "--json", **account[1]).stdout)
    assert (found["tax"], found["tax_due"]) == ("990.00", "0.00")


def test_rows_without_a_rate_are_exit_code_0_with_their_reasons_and_strict_gives_1(
    account, orders, tmp_path
):
    faults, environment = account
    error = b'{"error": {"code": "NOT_FOUND", "message": "no such ZIP"}}'
    faults.will(lambda seen: answer(404, error) if "78703" in seen.target else echo(seen))
    output = tmp_path / "out.csv"
    for extra, code in [((), 0), (("--strict",), 1)]:
        done = svc_tools("enrich", orders, "-o", output, "--force", *extra, **environment)
        assert done.returncode == code
        assert "no such ZIP" in done.stdout
        statuses = [row["lookup_status"] for row in rows_of(output)]
        assert (statuses.count("ok"), statuses.count("unresolved")) == (118, 2)


def test_a_column_named_location_is_found_in_a_file(account, tmp_path):
    faults, environment = account
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("state,location,amount\nTX,Austin,10.00\nTX,Dallas,20.00\n")
    done = svc_tools("enrich", source, "-o", output, "--tax", "amount", **environment)
    assert done.returncode == 0
    assert "location 'location', amount" in done.stdout
    assert {seen.target for seen in faults.seen} == {
        f"/v1/tax/TX?location={name}" for name in ("Austin", "Dallas")
    }
    assert [row["lookup_status"] for row in rows_of(output)] == ["ok", "ok"]


def test_a_wrong_address_of_the_service_is_exit_code_1_and_no_row_is_unknown(
    service, orders, tmp_path
):
    output = tmp_path / "out.csv"
    environment = {"SVC_BASE_URL": f"{service}/v1", "SVC_API_KEY": KEY}
    done = svc_tools("enrich", orders, "-o", output, "--no-tax", **environment)
    assert done.returncode == 1
    text = " ".join((done.stdout + done.stderr).split())
    assert f"The address of the service is wrong: {service}/v1 has no health check" in text
    assert "the ZIP" not in text
    (written,) = tmp_path.glob("out*.csv")
    assert {row["lookup_status"] for row in rows_of(written)} == {"failed", "not_attempted"}


def test_rows_to_review_are_exit_code_0_and_strict_gives_1(account, orders, tmp_path):
    faults, environment = account
    faults.will(echoing(confidence="low"))
    command = ("enrich", orders, "-o", tmp_path / "out.csv", "--force", "--json")
    done = svc_tools(*command, **environment)
    told = json.loads(done.stdout)
    assert (done.returncode, told["statuses"]) == (0, {"ok": 120})
    assert told["needs_review"] == 120
    assert svc_tools(*command, "--strict", **environment).returncode == 1
    faults.will(echo)
    assert svc_tools(*command, "--strict", "--no-resume", **environment).returncode == 0


def test_rows_that_the_service_failed_are_exit_code_1(account, orders, tmp_path):
    faults, environment = account
    failed = b'{"error": {"code": "INTERNAL", "message": "out of order"}}'
    faults.will(lambda seen: answer(400, failed) if "78703" in seen.target else echo(seen))
    command = ("enrich", orders, "-o", tmp_path / "out.csv", "--json")
    done = svc_tools(*command, **environment)
    told = json.loads(done.stdout)
    assert (done.returncode, told["statuses"], told["complete"]) == (
        1,
        {"ok": 118, "failed": 2},
        True,
    )


def test_the_summary_leads_with_what_was_read_and_what_can_be_used(account, orders, tmp_path):
    faults, environment = account
    low = echoing(confidence="low")
    error = b'{"error": {"code": "NOT_FOUND", "message": "no such ZIP"}}'
    part = echoing(warnings=[{"code": "districts_not_covered"}])
    by_zip = {"78702": low, "78703": lambda _: answer(404, error), "78704": part}

    def respond(seen):
        (how,) = [by_zip[one] for one in by_zip if one in seen.target] or [echo]
        return how(seen)

    faults.will(respond)
    command = ("enrich", orders, "-o", tmp_path / "out.csv", "--force", "--tax", "amount")
    expected = {
        "ready": {"rows": 114, "sales": "11400.00", "tax": "940.50"},
        "to_check": {"rows": 2, "sales": "200.00", "tax": "16.50"},
        "incomplete": {"rows": 2, "sales": "200.00"},
        "no_rate": {"rows": 2, "sales": "200.00"},
    }
    assert json.loads(svc_tools(*command, "--json", **environment).stdout)["split"] == expected
    for width in (50, 80):
        done = svc_tools(*command, **environment | {"COLUMNS": str(width)})
        lines = done.stdout.splitlines()
        assert max(len(line) for line in lines if not line.startswith("Written")) <= width
        table = [
            line.split()[:4] for line in lines if re.match(r" +(ready|to check|inc|no r)", line)
        ]
        assert table == [
            ["ready", "114", "$11,400.00", "$940.50"],
            ["to", "check", "2", "$200.00"],
            ["incomplete", "2", "$200.00", "\N{EN DASH}"],
            ["no", "rate", "2", "$200.00"],
        ]
        shown = " ".join(done.stdout.split())
        order = [
            *("state 'state', ZIP 'zip', date 'date', amount 'amount'", "are ready to use"),
            *("Use Rows Sales Tax", "Written: ", "What to do next", "Rows by status"),
            "Rows to review by state and reason",
        ]
        places = [shown.index(text) for text in order]
        assert places == sorted(places)


def test_reasons_that_differ_in_the_cell_they_quote_are_one(account, tmp_path):
    _, environment = account
    days = [*(f"week {n}" for n in range(9)), *(f"2026-05-0{n}T10:00 Mars/Base" for n in range(3))]
    days += [f"2026-0{n}" for n in range(1, 5)]
    cells = [("78701", day, "1.00") for day in days]
    cells += [(zip_code, "2026-05-01", "1.00") for zip_code in ("1", "22", "3x")]
    cells += [("78701", "2026-05-01", amount) for amount in ("1.00", "free", "on request")]
    lines = [",".join(row) for row in (("zip", "sold", "amount"), *cells)]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    command = ("enrich", "in.csv", "-o", "out.csv", "--force", "--state", "TX", "--tax", "amount")
    done = svc_tools(*command, "--as-of", "sold", "--json", folder=tmp_path, **environment)
    told = json.loads(done.stdout)
    by_value = {re.search("'[^']+'", one["reason"])[0]: one["rows"] for one in told["reasons"]}
    assert by_value == {"'week 0'": 12, "'2026-01'": 4, "'1'": 3}
    assert ["(and 11 other values)" in told["reasons"][0]["reason"], len(told["reasons"])] == [
        True,
        3,
    ]
    assert [one["rows"] for one in told["without_tax"]] == [2]
    shown = svc_tools(*command, "--as-of", "sold", folder=tmp_path, **environment).stdout
    flat = " ".join(shown.split())
    assert flat.count("as_of: 'week 0' (and 11 other values)") == 1
    assert flat.count("amount: 'free' (and 1 other value)") == 1


def test_a_program_reads_the_summary_as_json(account, orders, tmp_path):
    _, environment = account
    done = svc_tools(
        *("enrich", orders, "-o", tmp_path / "out.csv", "--tax", "amount", "--json", "--quiet"),
        **environment,
    )
    told = json.loads(done.stdout)
    assert done.stderr == ""
    assert (told["rows"], told["places"], told["asked"], told["cached"]) == (120, 60, 60, 0)
    assert (told["statuses"], told["tax"], told["complete"]) == ({"ok": 120}, "990.00", True)


def test_the_rows_alone_are_on_standard_output(account, orders):
    _, environment = account
    columns = ("--columns", "short,warnings", "--no-tax")
    done = svc_tools("enrich", orders, "-o", "-", *columns, **environment)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert (done.returncode, len(rows), rows[0]["combined_rate"]) == (0, 120, "0.08250")
    added = [name for name in rows[0] if name in ADDED_COLUMNS]
    assert added == [*LOOKUP_COLUMNS[:10], "warnings"]
    assert "120 rows" in done.stderr


def test_neither_a_file_nor_a_service_controls_the_terminal(account, tmp_path):
    faults, environment = account
    evil = "\x1b[2J\x9b1m\u202e"
    error = {"error": {"code": "NOT_FOUND", "message": evil, "support_reference": evil}}
    faults.health = ALIVE
    faults.will(answer(404, json.dumps(error).encode()))
    source, output = tmp_path / f"{evil}.csv", tmp_path / f"{evil}-rates.csv"
    source.write_bytes(f"zip,state,{evil}\n78701,TX,{evil}\n78702,TX,".encode() + b"\xe9\n")
    done = svc_tools(
        *("enrich", source, "-o", output, "--encoding", "latin-1", "--delimiter", ","),
        **environment | {"SVC_CACHE": str(tmp_path)},
    )
    assert done.returncode == 0
    assert not {*evil} - {*"[2J1m"} & set(done.stdout + done.stderr)
    assert r"Written: " in done.stdout
    assert r"\x1b[2J\x9b1m\u202e-rates.csv" in done.stdout
    first, _ = rows_of(output)
    assert first["lookup_error"] == r"\x1b[2J\x9b1m\u202e"
    bad = tmp_path / f"{evil}.txt"
    done = svc_tools("enrich", bad, "-o", output, "--force", **environment)
    assert (done.returncode, r"\x1b[2J\x9b1m\u202e.txt" in done.stderr) == (2, True)


def test_a_plan_asks_nothing_and_writes_nothing(account, orders, tmp_path):
    faults, environment = account
    output = tmp_path / "out.csv"
    done = svc_tools("enrich", orders, "-o", output, "--plan", **environment)
    assert (done.returncode, faults.seen, output.exists()) == (0, [], False)
    assert "60 distinct places and dates: 60 lookups of" in " ".join(done.stdout.split())
    svc_tools("enrich", orders, "-o", output, **environment)
    told = json.loads(
        svc_tools("enrich", orders, "-o", output, "--plan", "--json", **environment).stdout
    )
    assert (told["rows"], told["places"], told["cached"], told["to_ask"]) == (120, 60, 60, 0)
    assert len(faults.seen) == PLACES


@pytest.mark.parametrize("how", [(), ("--as-of-grain", "month"), ("--no-resume",)])
def test_the_embedded_service_computes_what_it_plans_and_caches_nothing(orders, tmp_path, how):
    output, cache = tmp_path / "out.csv", tmp_path / "cache" / "answers.db"
    command = ("enrich", orders, "-o", output, "--embedded", *how)
    for _ in range(2):
        shown = svc_tools(*command, "--plan", SVC_CACHE=str(cache)).stdout
        said = " ".join(shown.split())
        assert "60 distinct places and dates: computed here by the embedded service" in said
        assert "no requests" in said
        told = json.loads(svc_tools(*command, "--plan", "--json", SVC_CACHE=str(cache)).stdout)
        assert (told["rows"], told["places"], told["cached"], told["to_ask"]) == (120, 60, 0, 0)
        assert {*told["to_ask_by_grain"].values()} == {0}
        done = json.loads(svc_tools(*command, "--json", "--force", SVC_CACHE=str(cache)).stdout)
        assert (done["cached"], done["asked"], done["requests"]) == (0, PLACES, 0)
    assert {row["lookup_as_of"] for row in rows_of(output)} == {"2026-05-01"}
    assert not cache.exists()


def test_a_plan_of_a_lock_file_is_refused_and_writes_nothing(orders, tmp_path):
    output, lock = tmp_path / "out.csv", tmp_path / "may.svclock"
    rated = pd.read_csv(orders, dtype="str").svc.lookup(client=connect("embedded"), progress=False)
    rated.svc.freeze(lock)
    command = ("enrich", orders, "-o", output, "--locked", lock)
    done = svc_tools(*command, "--plan")
    assert (done.returncode, done.stdout, output.exists()) == (2, "", False)
    assert "--locked" in done.stderr
    assert svc_tools(*command).returncode == 0
    assert output.exists()


def test_answers_are_kept_and_no_resume_asks_anew(account, orders, tmp_path):
    faults, environment = account
    output = tmp_path / "out.csv"
    for extra, asked in [((), 60), ((), 60), (("--no-resume",), 120)]:
        done = svc_tools("enrich", orders, "-o", output, "--force", *extra, **environment)
        assert (done.returncode, len(faults.seen)) == (0, asked)


@contextmanager
def running(*arguments, code=TELLING, **environment):
    """A command that is under way."""
    with start_python(
        *("-c", code, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "80"} | environment,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def hung_up(*arguments, **environment):
    """A command on a terminal that is closed once 30 answers came."""
    near, far = pty.openpty()
    with start_python(
        *("-c", ON_A_TERMINAL, *arguments),
        stdin=far,
        stdout=far,
        stderr=far,
        start_new_session=True,
        env=os.environ | environment,
    ) as process:
        try:
            os.close(far)
            seen = read_until(lambda seen: b"30 of 60" in seen, near, process, what="30 of 60")
            assert b"30 of 60" in seen
            os.close(near)
            yield process
        finally:
            process.kill()


ON_A_TERMINAL = """
import fcntl, termios
from svc_tools.cli import enrich, main
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
enrich._EVERY_ON_TERMINAL = 0.0
main()
"""
"""The command, whose progress moves with each result, on the terminal that is its input."""


def answers_first(count, then):
    """Answer so many requests, whichever come together; all others as `then` does."""
    number = itertools.count(1)
    return lambda seen: echo(seen) if next(number) <= count else then(seen)


def hangs_after(faults, count):
    """Answer so many requests, and let all others wait."""

    def hang(seen):
        faults.over.wait(60)
        return echo(seen)

    faults.will(answers_first(count, hang))


def wait_for_answers(process, count):
    """Until a command has committed so many results, as it reports itself."""
    lines = (re.search(r"looking up: (\d+) of", line) for line in process.stderr)
    assert any(int(found[1]) >= count for found in lines if found)


def kept(environment):
    """How many answers are in the cache."""
    try:
        with closing(sqlite3.connect(f"file:{environment['SVC_CACHE']}?mode=ro", uri=True)) as file:
            return file.execute("SELECT count(*) FROM answer").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@posix
@pytest.mark.parametrize(
    ("how", "code"), [("SIGKILL", -9), ("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)]
)
def test_a_run_that_was_broken_off_goes_on_where_it_ended(account, orders, tmp_path, how, code):
    faults, environment = account
    output = tmp_path / "out.csv"
    output.write_text("of an earlier day")
    before = files_in(tmp_path)
    hangs_after(faults, 30)
    command = ("enrich", orders, "-o", output, "--force")
    with running(*command, **environment) as process:
        wait_for_answers(process, 25)
        process.send_signal(getattr(signal, how))
        out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert output.read_text() == "of an earlier day"
    assert [name for name in files_in(tmp_path) if name not in {*before, "cache"}] == []
    if how != "SIGKILL":
        assert "Interrupted" in out
        assert "looks up only" in " ".join(out.split())
        assert "Traceback" not in err
    found = kept(environment)
    assert 25 <= found <= 30
    asked = len(faults.seen)
    faults.will(echo)
    done = svc_tools(*command, "--json", **environment)
    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert (told["cached"], told["asked"]) == (found, PLACES - found)
    assert len(faults.seen) - asked == PLACES - found
    assert [row["lookup_status"] for row in rows_of(output)] == ["ok"] * 2 * PLACES


WRITING = """
import sys
from svc_tools.cli import enrich, main

class Paused(enrich.FileProgress):
    def advance(self, count=1):
        super().advance(count)
        if self.name == "Writing":
            print("rows are written", file=sys.stderr, flush=True)
            sys.stdin.read()

enrich.FileProgress = Paused
main()
"""
"""The command, which stops once the draft of the output holds rows."""


@posix
def test_a_signal_while_rows_are_written_leaves_no_draft(account, orders, tmp_path):
    faults, environment = account
    output = tmp_path / "out.csv"
    output.write_text("of an earlier day")
    command = ("enrich", orders, "-o", output, "--force")
    with running(*command, code=WRITING, **environment) as process:
        assert any("rows are written" in line for line in process.stderr)
        assert len(files_in(tmp_path)) == 4  # the draft, too
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, output.read_text()) == (143, "of an earlier day")
    assert files_in(tmp_path) == ["cache", "orders.csv", "out.csv"]
    assert "run the same command again" in " ".join(err.split()).lower()
    assert kept(environment) == len(faults.seen) == PLACES


COMPUTING = """
import sys
from svc_tools.cli import main
from svc_tools.lookup.computed import Computed

spans, done = Computed.spans, []

def paused(self, place, days):
    done.append(place)
    if len(done) == 20:
        print("computing", file=sys.stderr, flush=True)
        sys.stdin.read()
    return spans(self, place, days)

Computed.spans = paused
main()
"""
"""The command with the embedded service, which stops once it has computed some places."""


@posix
def test_a_signal_while_rates_are_computed_leaves_no_file(orders, tmp_path):
    output, cache = tmp_path / "out.csv", tmp_path / "cache" / "answers.db"
    output.write_text("of an earlier day")
    command = ("enrich", orders, "-o", output, "--force", "--embedded")
    with running(*command, code=COMPUTING, SVC_CACHE=str(cache)) as process:
        assert any("computing" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, output.read_text()) == (130, "of an earlier day")
    assert "Traceback" not in err
    assert "Interrupted" in out
    assert "cached" not in out
    assert files_in(tmp_path) == ["orders.csv", "out.csv"]


CLOSING = """
import atexit, sys
def wait():
    print("closing", file=sys.stderr, flush=True)
    sys.stdin.read()
atexit.register(wait)
from svc_tools.cli import main
main()
"""
"""The command, whose cache and service are closed at its end only when its input ends."""


@posix
def test_a_second_signal_does_not_disturb_the_end(account, orders, tmp_path):
    faults, environment = account
    hangs_after(faults, 0)
    command = ("enrich", orders, "-o", tmp_path / "out.csv")
    with running(*command, code=CLOSING, **environment) as process:
        until(lambda: faults.seen, what="a request")
        process.send_signal(signal.SIGTERM)
        assert any("closing" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate("", timeout=60)
    assert (process.returncode, err) == (143, "")


@posix
def test_a_terminal_that_closes_loses_no_answer(account, orders, tmp_path):
    faults, environment = account
    hangs_after(faults, 30)
    environment |= {"SVC_CACHE": "off"}
    command = ("enrich", orders, "-o", tmp_path / "out.csv")
    with hung_up(*command, **environment) as process:
        assert process.wait(60) == 129
    statuses = [row["lookup_status"] for row in rows_of(tmp_path / "out-incomplete.csv")]
    assert (len(statuses), statuses.count("ok")) == (2 * PLACES, 60)


NOHUP = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
"""
"""As `nohup` starts a command."""


@posix
def test_what_nohup_starts_does_not_end_with_its_terminal(account, orders, tmp_path):
    _, environment = account
    output = tmp_path / "out.csv"
    with running("enrich", orders, "-o", output, code=NOHUP + WRITING, **environment) as process:
        assert any("rows are written" in line for line in process.stderr)
        process.send_signal(signal.SIGHUP)
        process.communicate("", timeout=60)
    assert (process.returncode, len(rows_of(output))) == (0, 2 * PLACES)


@posix
def test_an_interrupt_without_a_cache_loses_nothing_either(account, orders, tmp_path):
    faults, environment = account
    hangs_after(faults, 30)
    output = tmp_path / "out.csv"
    environment["SVC_CACHE"] = "off"
    with running("enrich", orders, "-o", output, **environment) as process:
        wait_for_answers(process, 30)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, output.exists()) == (130, False)
    rows = rows_of(tmp_path / "out-incomplete.csv")
    statuses = [row["lookup_status"] for row in rows]
    assert len(rows) == 2 * PLACES
    assert (statuses.count("ok"), statuses.count("not_attempted")) == (60, 60)
    assert "out-incomplete.csv" in out


def test_a_service_that_refuses_ends_the_run_and_what_was_found_is_beside(
    account, orders, tmp_path
):
    faults, environment = account
    error = b'{"error": {"code": "QUOTA_EXCEEDED", "message": "so it is"}}'
    faults.will(answers_first(30, lambda _: answer(429, error)))
    output = tmp_path / "out.csv"
    done = svc_tools("enrich", orders, "-o", output, **environment)
    assert (done.returncode, output.exists()) == (1, False)
    assert "so it is" in done.stdout
    assert "looks up only the rest" in " ".join(done.stdout.split())
    statuses = [row["lookup_status"] for row in rows_of(tmp_path / "out-incomplete.csv")]
    assert statuses.count("ok") == 60
    assert set(statuses) <= {"ok", "failed", "not_attempted"}
    faults.will(echo)
    assert svc_tools("enrich", orders, "-o", output, **environment).returncode == 0
    assert {row["lookup_status"] for row in rows_of(output)} == {"ok"}


def test_a_deadline_ends_the_run_in_time(account, orders, tmp_path):
    faults, environment = account
    hangs_after(faults, 30)
    done = svc_tools("enrich", orders, "-o", tmp_path / "o.csv", "--deadline", "2", **environment)
    assert done.returncode == 1
    assert "deadline" in done.stdout


def test_an_output_that_is_there_is_not_replaced_unless_told(account, orders, tmp_path):
    faults, environment = account
    output = tmp_path / "out.csv"
    output.write_text("precious")
    done = svc_tools("enrich", orders, "-o", output, **environment)
    assert (done.returncode, output.read_text(), faults.seen) == (2, "precious", [])
    assert "--force" in done.stderr
    done = svc_tools("enrich", orders, "-o", orders, "--force", **environment)
    assert (done.returncode, "is the input" in done.stderr) == (2, True)
    assert "--force" not in done.stderr  # it would not help


@pytest.mark.parametrize(
    ("source", "arguments", "named"),
    [
        (None, (), "there is no file"),
        (b"zip,state\n02134,MA\n02134,MA,x\n", (), "row 3"),
        (b"a,b\n1,2\n", (), "--zip"),
        (b"zip,zip,state\n1,2,MA\n", (), "rename all but one"),
        (b"zip,zip,state\n1,2,MA\n", ("--zip", "zip"), "rename all but one"),
        (b"zip;state,x\n02134;MA,x\n", (), "(--delimiter)"),
        (b"zip,state\n02134,MA\n", ("-o", "no/out.csv"), "the folder no"),
        (b"zip,state\n02134,MA\n", ("--rounding", "up"), "--tax"),
        (b"zip,state\n02134,MA\n", ("--without", "planet"), "--without planet"),
        (b"zip,state\n02134,MA\n", ("--locked", "no.svclock"), "no.svclock"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_exit_code_2_and_one_sentence(
    account, tmp_path, source, arguments, named
):
    faults, environment = account
    if source is not None:
        (tmp_path / "in.csv").write_bytes(source)
    done = svc_tools(
        *("enrich", "in.csv", "-o", "out.csv", *arguments), folder=tmp_path, **environment
    )
    assert (done.returncode, done.stdout, faults.seen) == (2, "", [])
    assert named in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("how", [(), ("--plan",), ("--tax", "amount", "--json")])
def test_a_file_without_a_usable_row_is_exit_code_2_with_the_main_reason(account, tmp_path, how):
    faults, environment = account
    rows = [("78701", "TX", f"week {day}", "1.00") for day in range(1, 9)]
    rows += [("787", "TX", "2026-05-01", "1.00"), ("", "", "2026-05-01", "1.00")]
    lines = [",".join(row) for row in (("zip", "state", "sold", "amount"), *rows)]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    (tmp_path / "out.csv").write_text("of an earlier day")
    command = ("enrich", "in.csv", "-o", "out.csv", "--as-of", "sold", "--force", *how)
    done = svc_tools(*command, folder=tmp_path, **environment)
    assert (done.returncode, done.stdout, faults.seen) == (2, "", [])
    told = " ".join(done.stderr.split())
    for part in ("8 of 10 rows", "'sold'", "'week 1' (and 7 other values)", "--date-format"):
        assert part in told
    assert told.count("Error.") == 1
    assert (tmp_path / "out.csv").read_text() == "of an earlier day"
    assert files_in(tmp_path) == ["in.csv", "out.csv"]


@pytest.fixture(scope="module")
def packed():
    """A large file, compressed."""
    rows = (f"{10_001 + n % 900},NY,{n * 7_919 % 1_000_003}\n" for n in range(1_500_000))
    return gzip.compress(b"zip,state,order\n" + "".join(rows).encode(), 1)


@pytest.mark.parametrize("damage", ["middle", "cut"])
def test_a_large_damaged_archive_is_exit_code_2_and_one_sentence(account, tmp_path, packed, damage):
    faults, environment = account
    half = len(packed) // 2
    rest = b"" if damage == "cut" else bytes(1_000) + packed[half + 1_000 :]
    source = tmp_path / "in.csv.gz"
    source.write_bytes(packed[:half] + rest)
    done = subprocess.run(  # to its end: what a library's threads do then counts
        [sys.executable, "-m", "svc_tools", "enrich", source, "-o", tmp_path / "out.csv"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert (done.returncode, done.stdout, faults.seen) == (2, "", [])
    assert done.stderr.startswith("Error. in.csv.gz cannot be decompressed (")
    assert len(done.stderr.splitlines()) == 1
    assert files_in(tmp_path) == ["in.csv.gz"]


ON_A_FULL_DISK = """
import resource
from svc_tools.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))
main()
"""
"""The command, where a file gets no longer than that."""


@posix
def test_a_full_disk_is_said_and_leaves_what_was_there(account, orders, tmp_path):
    _, environment = account
    output = tmp_path / "out.csv"
    output.write_text("of an earlier day")
    environment["SVC_CACHE"] = "off"
    command = ("enrich", orders, "-o", output, "--force")
    done = run_python("-c", ON_A_FULL_DISK, *command, env=os.environ | environment)
    assert (done.returncode, output.read_text()) == (2, "of an earlier day")
    assert f"cannot write {output}" in done.stderr
    assert "unchanged" in done.stderr
    assert files_in(tmp_path) == ["orders.csv", "out.csv"]


def test_partial_rates_count_as_rows_without_a_tax(account, orders, tmp_path):
    faults, environment = account
    faults.will(echoing(warnings=[{"code": "districts_not_covered"}]))
    for name, used, tax in (("a.csv", (), ""), ("b.csv", ("--partial", "use"), "8.25")):
        command = ("enrich", orders, "-o", tmp_path / name, "--tax", "amount", *used)
        assert svc_tools(*command, **environment).returncode == 0
        assert svc_tools(*command, "--force", "--strict", **environment).returncode == 1
        assert {row["tax"] for row in rows_of(tmp_path / name)} == {tax}


MANY_PLACES = 1_100


def orders_in(folder, places):
    path = folder / "orders.csv"
    path.write_text("zip,state\n" + "".join(f"{10_001 + n},NY\n" for n in range(places)))
    return path


def on_a_terminal(keys, *arguments, **environment):
    """Run the command on a terminal of its own, and answer its question with these keys."""
    near, far = pty.openpty()
    with start_python(
        *("-c", ON_A_TERMINAL, *arguments),
        stdin=far,
        stdout=far,
        stderr=far,
        start_new_session=True,
        env=os.environ | environment,
    ) as process:
        os.close(far)
        asks = partial(read_until, file=near, process=process)
        shown = asks(lambda seen: b"[y/N]" in seen, what="the question [y/N]")
        # Python loses a Ctrl+C between its last look for signals and its wait for a line
        press = partial(os.write, near, keys)
        press()
        shown += asks(
            lambda _: False,
            what=f"the end of the command, after the keys {keys}",
            again=press if keys == b"\x03" else None,
        )
    os.close(near)
    return process.returncode, shown.decode()


@posix
@pytest.mark.parametrize(
    ("keys", "code", "asked"),
    [(b"n\n", 1, 0), (b"\x03", 130, 0), (b"\x04", 130, 0), (b"y\n", 0, MANY_PLACES)],
    ids=["no", "Ctrl+C", "end", "yes"],
)
def test_many_lookups_are_confirmed_first(account, tmp_path, keys, code, asked):
    faults, environment = account
    output = tmp_path / "out.csv"
    command = ("enrich", orders_in(tmp_path, MANY_PLACES), "-o", output)
    done, shown = on_a_terminal(keys, *command, **environment)
    assert (
        0
        <= shown.find("Columns: state 'state', ZIP 'zip'.")
        < shown.find(f"Look up {MANY_PLACES:,} places")
    )
    assert (done, len(faults.seen), output.exists()) == (code, asked, asked > 0)
    assert ("Nothing was looked up." in shown) == (not asked)


@contextmanager
def unread():
    """A pipe whose reader is gone, like a `head` that has seen enough."""
    read, write = os.pipe()
    os.close(read)
    try:
        yield write
    finally:
        os.close(write)


@pytest.mark.parametrize(
    ("output", "how", "code"),
    [
        ("out.csv", (), 0),
        ("out.csv", ("--json",), 0),
        ("out.csv", ("--plan",), 0),
        ("-", (), 1),
    ],
)
def test_a_summary_that_nobody_reads_changes_nothing_and_rows_that_nobody_reads_are_exit_code_1(
    account, tmp_path, output, how, code
):
    _, environment = account
    command = ["enrich", orders_in(tmp_path, 3), "-o", output, *how]
    with unread() as nowhere:
        environment = os.environ | environment
        done = run_python(
            "-m", "svc_tools", *command, stdout=nowhere, cwd=tmp_path, env=environment
        )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert (tmp_path / "out.csv").exists() == (output != "-" and "--plan" not in how)


def test_what_earlier_runs_left_beside_the_output_is_swept_or_named(account, tmp_path):
    _, environment = account
    draft, incomplete = tmp_path / ".out-0123abcd.csv", tmp_path / "out-incomplete.csv"
    draft.write_text("half")
    os.utime(draft, (time.time() - 60,) * 2)
    incomplete.write_text("of an earlier day")
    command = ("enrich", orders_in(tmp_path, 3), "-o", tmp_path / "out.csv")
    done = svc_tools(*command, **environment)
    assert (done.returncode, draft.exists(), incomplete.exists()) == (0, False, True)
    assert "out-incomplete.csv is of an earlier run" in " ".join(done.stdout.split())


@posix
def test_an_output_that_is_a_link_stays_one(account, tmp_path):
    _, environment = account
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "out.csv"
    link.symlink_to(tmp_path / "elsewhere" / "rows.csv")
    assert svc_tools("enrich", orders_in(tmp_path, 3), "-o", link, **environment).returncode == 0
    assert link.is_symlink()
    assert len((tmp_path / "elsewhere" / "rows.csv").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "steps", "lines"),
    [
        (
            ("Looking up", 10_000, "places"),
            [(10, 1_000), (20, 2_000), (15, 1_000), (15, 2_000)],
            [
                "svc: looking up: 3,000 of 10,000 places, 100/s, 1 min 10 s left",
                "svc: looking up: 6,000 of 10,000 places, 100/s, 40 s left",
            ],
        ),
        (
            ("Looking up", 600, "places"),
            [(60, 6)],
            ["svc: looking up: 6 of 600 places, 6/min, 1 h 39 min left"],
        ),
        (("Reading", None, "rows"), [(30, 300_000)], ["svc: reading: 300,000 rows, 10,000/s"]),
    ],
)
@pytest.mark.parametrize("terminal", [False, True])
def test_progress_has_the_rate_and_the_time_left(monkeypatch, arguments, steps, lines, terminal):
    now = [1_000.0]
    monkeypatch.setattr(meters.time, "monotonic", lambda: now[0])
    shape = {"force_terminal": True, "color_system": None} if terminal else {}
    console = Console(file=io.StringIO(), width=100, get_time=lambda: now[0], **shape)
    with stage(FileProgress(console, shown=True), *arguments) as shown:
        for seconds, count in steps:
            now[0] += seconds
            shown.advance(count)
    written = console.file.getvalue()
    if terminal:
        assert lines[-1].split(": ")[2] in written
    else:
        assert written.splitlines() == lines


def test_the_report_leaves_personal_columns_out_unless_they_are_named(account, tmp_path):
    orders = tmp_path / "orders.csv"
    orders.write_text(
        'state,zip,date,amount,buyer-email,"Name, first"\n'
        "TX,78701,2026-05-01,$1.00,ann@shop.example,Ann\n"
    )
    report = tmp_path / "report.html"
    command = ("enrich", orders, "-o", tmp_path / "out.csv", "--tax", "amount", "--force")
    assert svc_tools(*command, "--report", report, **account[1]).returncode == 0
    page = report.read_text(encoding="utf-8")
    assert "ann@shop.example" not in page
    assert "Columns left out as personal: buyer-email, Name, first." in page
    assert "ann@shop.example" in (tmp_path / "out.csv").read_text()
    chosen = ("--report-columns", 'buyer-email, "Name, first"')
    assert svc_tools(*command, "--report", report, *chosen, **account[1]).returncode == 0
    page = report.read_text(encoding="utf-8")
    assert "ann@shop.example</td><td>Ann</td>" in page
    assert "Columns left out, as requested: state, zip, date, amount." in page
    done = svc_tools(*command, "--report", report, "--report-columns", "nope", **account[1])
    assert done.returncode == 2
    assert "no column 'nope'" in done.stderr


def test_a_tax_is_added_where_an_amount_is_found(account, tmp_path):
    _, environment = account

    def enriched(header, *arguments):
        (tmp_path / "in.csv").write_text(f"zip,state,{header}\n02134,MA,10.00\n")
        command = ("enrich", "in.csv", "-o", "out.csv", "--force", *arguments)
        done = svc_tools(*command, folder=tmp_path, **environment)
        out = tmp_path / "out.csv"
        return done, out.read_text().partition("\n")[0].split(",") if out.exists() else []

    done, rows = enriched("subtotal")
    assert "tax" in rows
    assert "amount 'subtotal'" in done.stdout
    assert "from column" not in done.stderr
    done, _ = enriched("subtotal", "--json")
    assert "amount from 'subtotal', by its name" in done.stderr
    done, _ = enriched("subtotal", "--plan")
    assert ("Amount from 'subtotal', by its name" in done.stdout, done.stderr) == (True, "")
    assert "tax" not in enriched("subtotal", "--no-tax")[1]
    assert "tax" in enriched("price")[1]  # the only amount, whatever it is called
    done, rows = enriched("weight")
    assert "tax" not in rows
    assert "no tax is added" in done.stderr
    assert "tax" in enriched("weight", "--tax", "weight")[1]
    assert "--tax" in enriched("weight", "--rounding", "up")[0].stderr
    done, _ = enriched("amount", "--no-tax", "--shipping", "zip")
    assert (done.returncode, "--shipping" in done.stderr) == (2, True)
