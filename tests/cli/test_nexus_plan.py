"""`svc-tools nexus plan`: suggestions with reasons, in a file that is ticked by hand."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest
from support.command import svc_tools
from support.faults import KEY, answer

from svc_tools.nexus import read_plan, read_thresholds

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


def run(output, *arguments, **environment):
    return svc_tools("nexus", "plan", "-o", str(output), *map(str, arguments), **environment)


def words(done):
    return " ".join(done.stdout.split())


def test_a_plan_of_ones_own_register_needs_no_service(own, tmp_path):
    output = tmp_path / "plan.csv"
    done = run(output, "--register", own, "--as-of", "2026-11-21")
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
    refused = run(output, "--register", own)
    assert refused.returncode == 2
    assert "perhaps with your ticks" in refused.stderr
    assert output.read_text() == "x,my ticks"
    assert run(output, "--register", own, "--force").returncode == 0
    assert len(read_plan(output).rows) == 5


def test_a_plan_is_never_written_over_what_it_is_made_from(own, tmp_path):
    refused = run(own, "--register", own, "--force")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is what the plan is made from" in " ".join(refused.stderr.split())
    assert own.read_text() == REGISTER
    workbook = run(tmp_path / "plan.xlsx", "--register", own)
    assert "plan.xlsx: a CSV is what is written; name it .csv" in workbook.stderr
    assert not (tmp_path / "plan.xlsx").exists()


def test_a_program_gets_what_went_wrong_as_an_object(own, tmp_path, faults):
    own.write_text("state,nexus_type\nTexas,physical\nAtlantis,economic\n")
    told = run(tmp_path / "plan.csv", "--register", own, "--json")
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
    done = run(output, "--json", **environment)
    own = tmp_path / "own.csv"
    own.write_text("state,nexus_type,notes\nOR,economic,mine\n")
    differing = run(tmp_path / "two.csv", "--register", own, "--json", **environment)
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
    done = run(output, "--register", own, *files, *covers, "--thresholds", thresholds)
    assert (done.returncode, done.stderr) == (0, "")
    shown = words(done)
    assert shown.index("States without a record, above their threshold") < shown.index("Suggestion")
    assert "California has no record, and your sales are above its threshold." in shown
    plan = read_plan(output)
    alabama = next(row for row in plan.rows if row.state == "AL")
    assert (alabama.decision, alabama.reasons) == ("candidate", ("below_all",))
    assert "$250,000" in alabama.evidence
    assert [one.state for one in plan.missing_states] == ["CA"]


def test_what_is_said_of_the_sales_is_not_said_in_python(own, tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text("date,state,amount\n2026-01-05,TX,10\n2026-05-05,TX,10\n")
    done = run(tmp_path / "plan.csv", "--register", own, "--sales", sales)
    shown = words(done)
    assert "Without any sale: 2026-02, 2026-03, 2026-04." in shown
    assert "name the column of channels if there is one" in shown
    assert "Each row counts as one transaction; name the column of order numbers" in shown
    assert "give the first and the last day that they are complete for" in shown
    assert "=" not in shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--as-of", "yesterday"), "--as-of: 'yesterday' is no date such as 2026-05-01"),
        (("--amount", "total"), "--amount is about sales: name --sales too"),
        (("--thresholds", "none.csv"), "none.csv"),
        (("--sales", "none.csv"), "none.csv"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_no_file(own, tmp_path, arguments, problem):
    output = tmp_path / "plan.csv"
    done = run(output, "--register", own, *arguments)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
    assert not output.exists()
