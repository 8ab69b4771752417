"""`svc-tools nexus`: registrations listed and added, a cleanup planned, applied and undone."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest
from support.command import svc_tools
from support.faults import KEY, answer
from support.nexus import KEYS, LOST, RECORDS, Nexus, plan_of, response
from support.shops import MARKETPLACES
from support.systems import posix
from typer.testing import CliRunner

from svc_tools.cli.app import app
from svc_tools.nexus import read_plan, read_receipt, read_thresholds


@pytest.fixture
def account(empty_account):
    """The environment of an account whose register is empty before and after."""
    return {"SVC_API_KEY": KEY, "SVC_BASE_URL": empty_account.base_url}


def run(*arguments, **environment):
    return svc_tools("nexus", *arguments, **environment)


@pytest.mark.parametrize("command", [("list",), ("remove-state", "TX")])
def test_a_wrong_address_is_no_service_without_records(service, command):
    environment = {"SVC_BASE_URL": f"{service}/v1", "SVC_API_KEY": KEY}
    done = svc_tools("nexus", *command, **environment)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert f"The address of the service is wrong: {service}/v1" in said
    assert "--register" not in said + done.stdout


def test_records_are_added_listed_and_held_against_ones_own(account, tmp_path):
    account |= {"SVC_RECEIPTS": str(tmp_path / "receipts")}
    wanted = ("texas", "--type", "Physical", "--address", "1 Main St")
    shown = run("add", *wanted, **account)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "address: 1 Main St" in shown.stdout
    assert json.loads(run("list", "--json", **account).stdout)["records"] == []
    typed = shlex.split(shown.stdout.rpartition("To send it: ")[2])
    assert typed == ["svc-tools", "nexus", "add", *wanted, "--yes"]
    added = run(*typed[2:], **account)
    assert (added.returncode, added.stderr) == (0, "")
    assert "TX physical was added" in added.stdout
    again = run("add", "TX", "--type", "physical", "--address", "2 Elm", "--yes", **account)
    assert (again.returncode, again.stdout) == (2, "")
    assert "TX has a record of type physical already (address 1 Main St)" in again.stderr
    updated = run("edit", "TX", "--type", "physical", "--notes", "new", "--yes", **account)
    assert "TX physical was changed" in updated.stdout
    listed = json.loads(run("list", "--json", **account).stdout)
    assert listed["records"] == [
        {
            "state": "TX",
            "nexus_type": "physical",
            "registered_at": None,
            "address": "1 Main St",
            "notes": "new",
        }
    ]
    own = tmp_path / "own.csv"
    own.write_text("State;Type;Address\nTX;physical;1 Main St\nNV;economic;\n")
    shown = run("list", "--register", str(own), **account)
    assert shown.returncode == 0
    for line in shown.stdout.splitlines():
        assert len(line) <= 80 or "127.0.0.1" in line or str(own) in line
    assert "2 differences between your register and the service" in " ".join(shown.stdout.split())
    assert "only in your register" in shown.stdout
    as_json = json.loads(run("list", "--register", str(own), "--json", **account).stdout)
    assert [one["difference"] for one in as_json["differences"]] == ["only_mine", "notes"]
    assert KEY not in shown.stdout + added.stdout


def test_without_a_service_the_own_register_is_still_shown(tmp_path):
    own = tmp_path / "own.csv"
    own.write_text("state,nexus_type,notes\nTX,physical,[red]=1+1\nTX,physical,\n")
    shown = run("list", "--register", str(own))
    assert shown.returncode == 0
    assert "several of one kind: TX physical" in " ".join(shown.stdout.split())
    assert "[red]=1+1" in shown.stdout
    assert "No service is used" in shown.stdout
    nothing = run("list")
    assert nothing.returncode == 2
    assert "No service is configured" in nothing.stderr


REGISTER = """state,nexus_type,registered_at,address,notes
OR,economic,2021-03-01,,
TX,physical,2020-01-01,1 Main St,
AL,economic,2021-01-01,,
IL,economic,2023-01-01,,a
IL,economic,2023-01-01,,b
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(REGISTER)
    return path


def run_plan(output, *arguments, **environment):
    return svc_tools("nexus", "plan", "-o", str(output), *map(str, arguments), **environment)


def words(done):
    return " ".join(done.stdout.split())


def test_a_plan_of_ones_own_register_needs_no_service(own, tmp_path):
    output = tmp_path / "plan.csv"
    done = run_plan(output, "--register", own, "--as-of", "2026-11-21")
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 records: 1 could be removed" in words(done)
    assert "no general sales tax" in words(done)
    assert "Registered since 2021-03-01." in words(done)  # the evidence of what could go
    assert "nothing is ticked in advance" in words(done)
    assert f"svc-tools nexus apply {output}" in words(done)
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if str(tmp_path) not in line)
    plan = read_plan(output)
    assert (plan.service, plan.account, plan.ticked) == ("", "", ())
    assert plan.counts["review"] == 3


def test_a_plan_that_is_there_is_not_written_over(own, tmp_path):
    output = tmp_path / "plan.csv"
    output.write_text("x,my ticks")
    refused = run_plan(output, "--register", own)
    assert refused.returncode == 2
    assert "perhaps with your ticks" in refused.stderr
    assert output.read_text() == "x,my ticks"
    assert run_plan(output, "--register", own, "--force").returncode == 0
    assert len(read_plan(output).rows) == 5


def test_a_plan_is_never_written_over_what_it_is_made_from(own, tmp_path):
    refused = run_plan(own, "--register", own, "--force")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is what the plan is made from" in " ".join(refused.stderr.split())
    assert own.read_text() == REGISTER
    workbook = run_plan(tmp_path / "plan.xlsx", "--register", own)
    assert "plan.xlsx: a CSV is what is written; name it .csv" in workbook.stderr
    assert not (tmp_path / "plan.xlsx").exists()


def test_a_program_gets_what_went_wrong_as_an_object(own, tmp_path, faults):
    own.write_text("state,nexus_type\nTexas,physical\nAtlantis,economic\n")
    told = run_plan(tmp_path / "plan.csv", "--register", own, "--json")
    error = json.loads(told.stdout)["error"]
    assert (told.returncode, error["status_code"]) == (2, None)
    assert error["message"] == "nexus register: row 2: state 'Atlantis' is not a US state"
    assert error["message"] in " ".join(told.stderr.split())
    faults.will(answer(403, b'{"error": {"code": "FORBIDDEN", "message": "not yours"}}'))
    refused = svc_tools("nexus", "list", "--json", SVC_API_KEY=KEY, SVC_BASE_URL=faults.base_url)
    error = json.loads(refused.stdout)["error"]
    assert (refused.returncode, error["code"], error["status_code"]) == (1, "FORBIDDEN", 403)
    assert KEY not in refused.stdout + refused.stderr


def test_the_services_register_and_whose_it_is(empty_account, service, tmp_path):
    environment = {"SVC_API_KEY": KEY, "SVC_BASE_URL": service}
    output = tmp_path / "plan.csv"
    empty_account.add_nexus("OR", nexus_type="economic", notes="<b>[bold]")
    empty_account.add_nexus("TX", nexus_type="physical")
    done = run_plan(output, "--json", **environment)
    own = tmp_path / "own.csv"
    own.write_text("state,nexus_type,notes\nOR,economic,mine\n")
    differing = run_plan(tmp_path / "two.csv", "--register", own, "--json", **environment)
    told = json.loads(done.stdout)
    assert (told["service"], told["path"]) == (service, str(output))
    assert [(row["state"], row["decision"]) for row in told["rows"]] == [
        ("OR", "candidate"),
        ("TX", "review"),
    ]
    assert told["rows"][1]["reasons"] == ["physical_without_address", "physical"]
    plan = read_plan(output)
    assert (plan.plan_id, plan.account) == (told["plan_id"], told["account"])
    assert KEY not in output.read_text() + done.stdout
    rows = {row["state"]: row["reasons"][0] for row in json.loads(differing.stdout)["rows"]}
    assert rows == {"OR": "differs", "TX": "only_service"}


def test_sales_make_a_candidate_and_find_the_missing_state_first(own, tmp_path):
    table = read_thresholds().frame()
    known = (
        table[table["state"] == "AL"]
        .tail(1)
        .assign(base="gross", marketplace_counts=True, trailing_months=0, certainty="high")
    )
    thresholds = tmp_path / "thresholds.csv"
    known.to_csv(thresholds, index=False)
    days = [date(2024, 1, 1) + timedelta(10 * step) for step in range(110)]
    lines = [f"{day},AL,100.10,direct\n{day},CA,20000.00,direct" for day in days]
    halves = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for half, part in zip(halves, (lines[:40], lines[40:]), strict=True):
        half.write_text("\n".join(["date,state,amount,channel", *part, ""]))
    files = [option for half in halves for option in ("--sales", half)]
    covers = ("--covers", "2024-01-01", "2026-12-31", "--as-of", "2026-12-31")
    output = tmp_path / "plan.csv"
    done = run_plan(output, "--register", own, *files, *covers, "--thresholds", thresholds)
    assert (done.returncode, done.stderr) == (0, "")
    shown = words(done)
    assert shown.index("States without a record, above their threshold") < shown.index("Suggestion")
    assert "California has no record, and your sales are above its threshold." in shown
    table = shown.partition("Sales against the thresholds")[2]
    assert "CA At or over the" in table
    codes = re.search(r"\d+ states below 50% of every threshold: ([A-Z, ]+)\.", table)[1]
    far = codes.split(", ")
    assert {"NY", "WY", "WA"} <= set(far)
    assert not {"CA", "AL", "IL"} & set(far)  # over it, and with a record
    assert f"{len(far)} states below" in table
    as_json = run_plan(tmp_path / "a.csv", "--register", own, *files, *covers, "--json")
    assert json.loads(as_json.stdout)["far_below"] == sorted(far)
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if str(tmp_path) not in line)
    plan = read_plan(output)
    alabama = next(row for row in plan.rows if row.state == "AL")
    assert (alabama.decision, alabama.reasons) == ("candidate", ("below_all",))
    assert "$250,000" in alabama.evidence
    assert [one.state for one in plan.missing_states] == ["CA"]


def test_what_the_sales_leave_open_is_asked_with_the_line_to_copy(own, tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text(
        "Order ID,Transaction Type,Ship State,Order Date,Amount\n"
        "1,Sale,WA,2026-08-14,100.00\n1,Refund,WA,2026-08-20,100.00\n"
    )
    output = tmp_path / "plan.csv"

    asked = run_plan(output, "--register", own, "--sales", sales)
    answered = run_plan(output, "--register", own, "--sales", sales, "--refunds", "subtract")
    former = ("--refunds", "add", "--transaction", "Order ID", "--force")
    again = run_plan(output, "--register", own, "--sales", sales, *former)
    both = run_plan(output, "--sales", sales, "--order", "Order ID", "--without", "order")

    assert asked.returncode == 2
    assert asked.stderr.endswith("\n    --refunds subtract\n")
    assert "1 refund with 'Refund' in 'Transaction Type': taken off" in words(answered)
    assert answered.returncode == 0
    assert (again.returncode, again.stderr) == (0, "--transaction is called --order now\n")
    assert both.returncode == 2
    assert "--order and --without order: leave one of them out" in both.stderr


EXPORTS = Path(__file__).parents[1] / "data" / "exports"


@pytest.mark.parametrize("name", sorted(path.name for path in EXPORTS.iterdir()))
def test_the_export_of_a_shop_is_planned_with_without_an_option(tmp_path, name):
    own = tmp_path / "own.csv"
    states = ("CO", "GA", "IL", "MA", "NJ", "OR", "TX")
    own.write_text("\n".join(["state,nexus_type", *(f"{one},economic" for one in states), ""]))
    command = ["plan", "--register", own, "--sales", EXPORTS / name, "-o", tmp_path / "p.csv"]
    done = CliRunner().invoke(app, ["nexus", *map(str, command), "--json"])
    assert (done.exit_code, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert "recognized by the column names" in " ".join(told["notes"])
    rows = {row["state"]: row for row in told["rows"]}
    assert rows["OR"]["reasons"] == ["no_sales_tax"]
    # what a marketplace sold is a marketplace's, and what the shop sold is its own
    only = [state for state, row in rows.items() if "marketplace_only" in row["reasons"]]
    assert bool(only) is (name in MARKETPLACES)
    evidence = " ".join(row["evidence"] for row in rows.values())
    assert re.search(r"\$[1-9][0-9,.]+ in (?:calendar year|the )", evidence)
    assert len(told["far_below"]) > 30


def test_a_plan_reads_the_dates_of_sales_as_it_is_told(own, tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text("state,amount,date\nCA,600000.00,02/03/2025\n")
    output = tmp_path / "plan.csv"
    refused = run_plan(output, "--register", own, "--sales", sales)
    assert refused.returncode == 2
    assert "'02/03/2025'" in refused.stderr
    assert "--date-format 'month first'" in refused.stderr
    assert not output.exists()
    for order, day in (("month first", "February 3"), ("day first", "2 March")):
        told = ("--date-format", order, "--tz", "UTC", "--as-of", "12/31/2025", "--json", "--force")
        done = run_plan(output, "--register", own, "--sales", sales, *told)
        assert done.returncode == 0, day
        first = {"month first": "2025-02-03", "day first": "2025-03-02"}[order]
        assert first in done.stdout


@pytest.mark.parametrize(
    ("cells", "options", "covered"),
    [
        (("06/05/2026", "05/05/2026"), (), None),
        (("06/05/2026", "05/05/2026"), ("--date-format", "day first"), "2026-05-05 to 2026-05-06"),
        (("06/05/2026", "05/05/2026"), ("--date-format", "%m/%d/%Y"), "2026-05-05 to 2026-06-05"),
        (("05/31/2026", "05/05/2026"), (), "2026-05-05 to 2026-05-31"),
        (("2026-01-01T03:00:00Z",), ("--tz", "America/Chicago"), "2025-12-31 to 2025-12-31"),
        (("2026-01-01T03:00:00Z",), (), "2026-01-01 to 2026-01-01"),
    ],
)
def test_dates_of_sales_are_read_as_they_are_written(own, tmp_path, cells, options, covered):
    sales = tmp_path / "sales.csv"
    sales.write_text("\n".join(["state,date,amount", *(f"AL,{one},10.00" for one in cells), ""]))
    done = run_plan(tmp_path / "plan.csv", "--register", own, "--sales", sales, *options, "--json")
    if covered is None:
        assert done.returncode == 2
        assert "--date-format" in done.stderr
        assert cells[0] in done.stderr
        return
    (alabama,) = (one for one in json.loads(done.stdout)["rows"] if one["state"] == "AL")
    assert f"The sales given are of {covered}" in alabama["evidence"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--as-of", "yesterday"), "--as-of: 'yesterday' is not a date such as 2026-05-31"),
        (("--amount", "total"), "--amount is about sales: name --sales too"),
        (("--thresholds", "none.csv"), "none.csv"),
        (("--sales", "none.csv"), "none.csv"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_no_file(own, tmp_path, arguments, problem):
    output = tmp_path / "plan.csv"
    done = run_plan(output, "--register", own, *arguments)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
    assert not output.exists()


DE, NH, TX = KEYS[:3]


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


@pytest.fixture
def environment(faults, tmp_path):
    return {
        "SVC_API_KEY": KEY,
        "SVC_BASE_URL": faults.base_url,
        "SVC_RECEIPTS": str(tmp_path / "receipts"),
        "COLUMNS": "80",
    }


@pytest.fixture
def invoke(environment):
    """The command in this process: most of a command's time is its start."""

    def command(*arguments):
        return CliRunner().invoke(app, ["nexus", *map(str, arguments)], env=environment)

    return command


@pytest.fixture
def plan(nexus, scripted, tmp_path):
    return plan_of(scripted, DE, NH).write(tmp_path / "plan.csv")


def test_without_yes_it_shows_everything_and_sends_nothing(nexus, plan, invoke, tmp_path):
    done = invoke("apply", plan)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "only GET requests were sent" in " ".join(done.stdout.split())
    for arguments in (("list",), ("plan", "-o", tmp_path / "new.csv"), ("receipts",)):
        assert invoke(*arguments).exit_code == 0
    assert nexus.methods == {"GET"}
    assert "DELETE /v1/portability/nexus/NH?nexus_type=physical\n" in done.stdout
    assert "removes NH physical, 1 Main St" in done.stdout
    assert "does not cancel the permit" in done.stdout
    assert "trailing nexus" in done.stdout
    assert "can be undone" in done.stdout
    assert f"svc-tools nexus apply {plan} --yes" in done.stdout
    assert max(map(len, done.stdout.split(f"{plan}")[0].splitlines())) <= 80
    assert nexus.removals == []
    assert not (tmp_path / "receipts").exists()


def test_an_addition_and_edits_are_shown_made_and_undone(nexus, invoke, tmp_path):
    add = ("add", "or", "--type", "economic", "--notes", "a 'b'")
    clear = ("edit", "DE", "--type", "economic", "--notes", "")
    move = ("edit", "NH", "--type", "physical", "--to-state", "ME", "--registered-at", "2024-01-02")
    for command in (add, clear, move):
        assert invoke(*command).exit_code == 0
    assert nexus.methods == {"GET"}
    assert "changes notes: old -> empty" in invoke(*clear).stdout
    assert "Dry run: 2 requests would be sent" in " ".join(invoke(*move).stdout.split())
    before = [dict(one) for one in nexus.rows]
    for command in (add, clear, move):
        assert json.loads(invoke(*command, "--yes", "--json").stdout)["finished"]
    assert nexus.records["OR", "economic"]["notes"] == "a 'b'"
    assert not nexus.records["DE", "economic"].get("notes")
    assert ("NH", "physical") not in nexus.keys
    assert nexus.records["ME", "physical"]["address"] == "1 Main St\nConcord"
    kinds = {one["kind"] for one in json.loads(invoke("receipts", "--json").stdout)}
    assert kinds == {"add", "edit"}
    for path in sorted((tmp_path / "receipts").glob("*.jsonl")):
        assert invoke("restore", path.name, "--yes").exit_code == 0
    assert nexus.rows == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("add", "OR", "--type", "economic", "--registered-at", "soon"), "'soon'"),
        (("edit", "OR", "--type", "economic", "--notes", "x"), "no OR economic on the service"),
    ],
)
def test_an_addition_that_cannot_be_made_is_one_sentence(nexus, invoke, arguments, problem):
    for yes in ((), ("--yes",)):
        done = invoke(*arguments, *yes)
        assert (done.exit_code, done.stdout) == (2, "")
        assert problem in " ".join(done.stderr.split())
    assert nexus.methods <= {"GET"}


def test_removed_shown_and_restored(nexus, plan, invoke, environment, tmp_path):
    done = svc_tools("nexus", "apply", plan, "--yes", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1/2  DE economic: removed" in done.stdout
    assert "2 removals: 2 removed." in done.stdout
    assert nexus.removals == [DE, NH]
    (journal,) = (tmp_path / "receipts").glob("*.jsonl")
    assert f"Receipt   {journal}\n" in done.stdout

    listed = invoke("receipts")
    assert journal.name in listed.stdout
    assert "can be undone" in " ".join(listed.stdout.split())
    one = invoke("receipts", journal.name)
    assert "ref-DE" in one.stdout
    undone = invoke("restore", journal.name, "--yes")
    assert (undone.exit_code, undone.stderr) == (0, "")
    assert "2 records: 2 there again." in undone.stdout
    after = json.loads(invoke("receipts", "--json").stdout)
    assert {one["kind"]: one["undoable"] for one in after} == {"apply": False, "restore": False}


def test_a_program_reads_json(nexus, plan, invoke):
    nexus.instead = [lambda _: LOST]
    nexus.lists = False
    done = invoke("apply", plan, "--yes", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert told["counts"] == {"done": 0, "not_done": 1, "unknown": 1, "flagged": 0}
    assert [one["status"] for one in told["items"]] == ["unknown", "not_attempted"]
    assert told["finished"] is False
    assert json.loads(invoke("receipts", told["path"], "--json").stdout) == told


@posix
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_it_after_the_request_under_way(nexus, plan, environment, invoke, how):
    command = [sys.executable, "-m", "svc_tools", "nexus", "apply", str(plan), "--yes"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env=os.environ | environment) as process:
        nexus.before = lambda *_: process.send_signal(getattr(signal, how))
        out, err = process.communicate(timeout=60)
    code = 128 + getattr(signal, how)
    assert (process.returncode, err, nexus.removals) == (code, "", [DE])
    assert "it was stopped" in " ".join(out.split())
    nexus.before = None
    assert invoke("apply", plan, "--yes").exit_code == 0
    assert nexus.removals == [DE, NH]


IN_A_DRAFT = """
import signal
from svc_tools import cli
from svc_tools.base import atomic
atomic._sync = lambda path: signal.raise_signal(signal.SIGTERM)
cli.main()
"""
"""The command line, with a signal while a file of it is a draft."""


@posix
def test_where_nobody_reads_the_output_it_ends_with_its_receipt(nexus, plan, environment, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "svc_tools", "nexus", "apply", plan, "--yes"]
    done = subprocess.run(command, stdout=writer, env=os.environ | environment, check=False)
    os.close(writer)
    assert done.returncode == 1
    (journal,) = tmp_path.rglob("*.jsonl")
    receipt = read_receipt(journal)
    assert receipt.ended is not None
    assert "could not be shown" in receipt.stopped
    assert [item.key for item in receipt.items if item.status == "removed"] == nexus.removals
    assert len(nexus.removals) == 1


@posix
@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_signal_leaves_no_draft_of_a_plan_or_of_records(  # noqa: PLR0917 - fixtures
    nexus, plan, environment, invoke, tmp_path, command
):
    arguments = ["plan", "-o", tmp_path / "new.csv"] if command == "plan" else ["apply", plan]
    yes = ["--yes"] * (command == "apply")
    ran = subprocess.run(
        [sys.executable, "-P", "-c", IN_A_DRAFT, "nexus", *arguments, *yes],
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 128 + signal.SIGTERM
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in files if path.endswith((".csv", ".tmp"))} == {plan.name}
    assert len([path for path in files if path.endswith(".jsonl")]) == len(yes)
    assert nexus.removals == []
    assert invoke(*arguments, *yes).exit_code == 0
    assert nexus.removals == [DE, NH][: 2 * len(yes)]


def test_a_changed_receipt_and_none_at_all(nexus, plan, invoke, tmp_path):
    assert "no receipts yet" in invoke("receipts").stdout
    invoke("apply", plan, "--yes")
    (journal,) = (tmp_path / "receipts").glob("*.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b'"deleted": 1', b'"deleted": 2', 1))
    listed = invoke("receipts")
    assert "NOT TO BE BELIEVED" in listed.stdout
    assert invoke("receipts", journal).exit_code == 2
    again = invoke("apply", plan, "--yes")
    assert again.exit_code == 2
    assert "damaged or was changed" in again.stderr
    assert len(RECORDS) - len(nexus.removals) == 3


def test_what_is_to_be_typed_next_can_be_typed(nexus, scripted, invoke, tmp_path):
    path = plan_of(scripted, DE).write(tmp_path / "my plan; 'one'.csv")
    told = next(
        line
        for line in invoke("apply", path).stdout.splitlines()
        if line.startswith("To send it: ")
    )
    words = shlex.split(told.removeprefix("To send it: "))
    assert words == ["svc-tools", "nexus", "apply", str(path), "--yes"]
    done = invoke(*words[2:])
    assert nexus.removals == [DE]
    undo = shlex.split(done.stdout.rpartition("To undo it, see first: ")[2])
    assert "1 request would be sent" in invoke(*undo[2:]).stdout
    assert invoke(*undo[2:], "--yes").exit_code == 0
    assert nexus.keys == KEYS


def test_nothing_that_a_service_says_is_obeyed_by_the_terminal(nexus, plan, invoke, tmp_path):
    evil = "\x1b]0;owned\x07\x1b[2J\u202egone"
    nexus.instead = [
        response({"error": {"code": evil, "message": evil, "support_reference": evil}}, 409)
    ]
    shown = invoke("apply", plan, "--yes").stdout
    (journal,) = (tmp_path / "receipts").glob("*.jsonl")
    shown += invoke("receipts").stdout + invoke("receipts", journal.name).stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
