"""`svc-tools nexus list` and `add`: the service's register, one's own, and where they differ."""

from __future__ import annotations

import json

import pytest
from support.command import svc_tools
from support.faults import KEY, answer


@pytest.fixture
def account(empty_account):
    """The environment of an account whose register is empty before and after."""
    return {"SVC_API_KEY": KEY, "SVC_BASE_URL": empty_account.base_url}


def run(*arguments, **environment):
    return svc_tools("nexus", *arguments, **environment)


def test_records_are_added_listed_and_held_against_ones_own(account, tmp_path):
    added = run("add", "texas", "--type", "physical", "--address", "1 Main St", **account)
    assert (added.returncode, added.stderr) == (0, "")
    assert added.stdout.startswith("Added: TX physical (http://127.0.0.1:")
    again = run("add", "TX", "--type", "physical", "--address", "2 Elm", **account)
    assert (again.returncode, again.stdout) == (2, "")
    assert "TX has a record of type physical already (1 Main St)" in again.stderr
    assert "--update" in again.stderr
    updated = run("add", "TX", "--type", "physical", "--notes", "new", "--update", **account)
    assert "notes: empty -> new" in updated.stdout
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
    assert "No service was asked" in shown.stdout
    nothing = run("list")
    assert nothing.returncode == 2
    assert "No service is configured" in nothing.stderr


def test_a_service_that_does_not_list_and_what_to_do(faults, tmp_path):
    faults.will(answer(405, b"{}"))
    environment = {"SVC_API_KEY": KEY, "SVC_BASE_URL": faults.base_url}
    done = run("list", **environment)
    assert done.returncode == 2
    assert "does not list nexus records (HTTP 405)" in done.stderr
    assert "--register FILE" in done.stderr
    own = tmp_path / "own.csv"
    own.write_text("state,nexus_type\nTX,physical\n")
    with_own = run("list", "--register", str(own), **environment)
    assert with_own.returncode == 0
    assert "does not list nexus records (HTTP 405)" in with_own.stdout
    assert KEY not in done.stderr + with_own.stdout


def test_a_wrong_key_is_said(faults):
    faults.will(answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "no"}}'))
    done = run("list", SVC_API_KEY="wrong-key-0000000", SVC_BASE_URL=faults.base_url)
    assert done.returncode == 1
    assert "does not accept the key" in done.stderr
    assert "wrong-key" not in done.stderr
