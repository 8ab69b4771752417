"""`svc-tools nexus apply|receipts|restore|remove-state`: shown first, sent with --yes, undone."""

from __future__ import annotations

import json
import shlex

import pytest
from support.command import svc_tools
from support.faults import KEY
from support.nexus import KEYS, LOST, RECORDS, Nexus, plan_of, refused, said
from typer.testing import CliRunner

from svc_tools.cli.app import app
from svc_tools.config import connect
from svc_tools.nexus import remove_state

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
def run(environment):
    """The command in this process: most of a command's time is its start."""

    def command(*arguments):
        return CliRunner().invoke(app, ["nexus", *map(str, arguments)], env=environment)

    return command


@pytest.fixture
def plan(nexus, scripted, tmp_path):
    return plan_of(scripted, DE, NH).write(tmp_path / "plan.csv")


def test_without_yes_it_shows_everything_and_sends_nothing(nexus, plan, run, tmp_path):
    done = run("apply", plan)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "Nothing was sent" in done.stdout
    assert "DELETE /v1/portability/nexus/NH?nexus_type=physical\n" in done.stdout
    assert "removes NH physical, 1 Main St" in done.stdout
    assert "does not cancel the permit" in done.stdout
    assert "trailing nexus" in done.stdout
    assert "can be undone" in done.stdout
    assert f"svc-tools nexus apply {plan} --yes" in done.stdout
    assert max(map(len, done.stdout.split(f"{plan}")[0].splitlines())) <= 80
    assert nexus.removals == []
    assert not (tmp_path / "receipts").exists()


def test_removed_shown_and_restored(nexus, plan, run, environment, tmp_path):
    done = svc_tools("nexus", "apply", plan, "--yes", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1/2  DE economic: removed" in done.stdout
    assert "2 removals: 2 removed." in done.stdout
    assert nexus.removals == [DE, NH]
    (journal,) = (tmp_path / "receipts").glob("*.jsonl")
    assert f"Receipt   {journal}\n" in done.stdout

    listed = run("receipts")
    assert journal.name in listed.stdout
    assert "can be undone" in " ".join(listed.stdout.split())
    one = run("receipts", journal.name)
    assert "ref-DE" in one.stdout

    dry = run("restore", journal.name)
    assert "POST /v1/portability/nexus\n" in dry.stdout
    assert nexus.additions == []
    undone = run("restore", journal.name, "--yes")
    assert (undone.exit_code, undone.stderr) == (0, "")
    assert "2 records: 2 there again." in undone.stdout
    assert nexus.keys == KEYS
    after = json.loads(run("receipts", "--json").stdout)
    assert {one["kind"]: one["undoable"] for one in after} == {"apply": False, "restore": False}


def test_a_program_reads_json(nexus, plan, run):
    nexus.instead = [lambda _: LOST]
    nexus.lists = False
    done = run("apply", plan, "--yes", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert told["counts"] == {"done": 0, "not_done": 1, "unknown": 1, "flagged": 0}
    assert [one["status"] for one in told["items"]] == ["unknown", "not_attempted"]
    assert told["finished"] is False
    assert json.loads(run("receipts", told["path"], "--json").stdout) == told


def test_what_is_not_done_is_an_exit_code_and_a_sentence(nexus, plan, run):
    nexus.instead = [refused(402)]
    done = run("apply", plan, "--yes")
    assert done.exit_code == 1
    assert "It ended early: it said 402" in done.stdout
    assert "not attempted" in done.stdout
    assert "what is done is not sent again" in " ".join(done.stdout.split())
    again = run("apply", plan, "--yes")
    assert again.exit_code == 0


def test_a_plan_of_another_account_is_an_error_without_a_trace(nexus, plan, environment):
    other = environment | {"SVC_API_KEY": "another-key-0123456789"}
    done = svc_tools("nexus", "apply", plan, "--yes", **other)
    assert done.returncode == 2
    assert "made for account" in done.stderr
    assert "Traceback" not in done.stderr
    assert nexus.removals == []


def test_all_types_of_a_state_need_the_code(nexus, run):
    shown = run("remove-state", "TX")
    assert "DELETE /v1/portability/nexus/TX\n" in shown.stdout
    assert "every type" in shown.stdout
    refusal = run("remove-state", "TX", "--yes")
    assert refusal.exit_code == 2
    assert "type its code, TX" in refusal.stderr
    assert nexus.removals == []
    done = run("remove-state", "TX", "--typed", "TX", "--yes")
    assert done.exit_code == 0
    assert nexus.removals == [("TX", None)]


@pytest.mark.parametrize("yes", [(), ("--typed", "VT", "--yes")])
def test_a_state_without_records_needs_no_removal_and_no_undo(nexus, run, yes):
    done = run("remove-state", "VT", *yes)
    assert done.exit_code == 0
    assert "nothing to remove" in " ".join(done.stdout.split())
    assert "undo" not in done.stdout.lower()
    assert nexus.removals == []


def test_what_cannot_be_undone_says_so(nexus, plan, run, tmp_path):
    nexus.adds = False
    assert "cannot be undone on this service" in run("apply", plan).stdout
    run("apply", plan, "--yes")
    (journal,) = (tmp_path / "receipts").glob("*.jsonl")
    refusal = run("restore", journal, "--yes")
    assert refusal.exit_code == 2
    assert "cannot be undone on this service" in refusal.stderr


def test_a_changed_receipt_and_none_at_all(nexus, plan, run, tmp_path):
    assert "no receipts yet" in run("receipts").stdout
    run("apply", plan, "--yes")
    (journal,) = (tmp_path / "receipts").glob("*.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b'"deleted": 1', b'"deleted": 2', 1))
    listed = run("receipts")
    assert "NOT TO BE BELIEVED" in listed.stdout
    assert run("receipts", journal).exit_code == 2
    again = run("apply", plan, "--yes")
    assert again.exit_code == 2
    assert "damaged or was changed" in again.stderr
    assert len(RECORDS) - len(nexus.removals) == 3


def test_receipts_name_the_embedded_service_as_a_sentence_names_it(run, tmp_path):
    with connect("embedded") as client:
        remove_state(client, "VT", typed="VT", dry_run=False, folder=tmp_path / "receipts")
    assert "on the embedded service" in " ".join(run("receipts").stdout.split())


def test_what_is_to_be_typed_next_can_be_typed(nexus, scripted, run, tmp_path):
    path = plan_of(scripted, DE).write(tmp_path / "my plan; 'one'.csv")
    told = next(
        line for line in run("apply", path).stdout.splitlines() if line.startswith("To send it: ")
    )
    words = shlex.split(told.removeprefix("To send it: "))
    assert words == ["svc-tools", "nexus", "apply", str(path), "--yes"]
    done = run(*words[2:])
    assert nexus.removals == [DE]
    undo = shlex.split(done.stdout.rpartition("To undo it, see first: ")[2])
    assert "1 request would be sent" in run(*undo[2:]).stdout
    assert run(*undo[2:], "--yes").exit_code == 0
    assert nexus.keys == KEYS


def test_a_dry_run_of_what_is_done_says_so_and_is_no_failure(nexus, plan, run):
    run("apply", plan, "--yes")
    again = run("apply", plan)
    assert again.exit_code == 0
    assert "Dry run: nothing would be sent." in again.stdout
    assert "DELETE" not in again.stdout
    assert "To send it" not in again.stdout


def test_a_program_reads_what_went_wrong_too(nexus, plan, run, tmp_path):
    nexus.listing = [refused(403)]
    told = run("apply", plan, "--json")
    assert (told.exit_code, json.loads(told.stdout)["error"]["status_code"]) == (1, 403)
    told = run("restore", "none.jsonl", "--json")
    assert (told.exit_code, json.loads(told.stdout)["error"]["status_code"]) == (2, None)
    told = run("receipts", plan, "--json")
    assert "is no journal of removals" in json.loads(told.stdout)["error"]["message"]


def test_nothing_that_a_service_says_is_obeyed_by_the_terminal(nexus, plan, run, tmp_path):
    evil = "\x1b]0;owned\x07\x1b[2J\u202egone"
    nexus.instead = [
        said({"error": {"code": evil, "message": evil, "support_reference": evil}}, 409)
    ]
    shown = run("apply", plan, "--yes").stdout
    (journal,) = (tmp_path / "receipts").glob("*.jsonl")
    shown += run("receipts").stdout + run("receipts", journal.name).stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
