"""`svc-tools keys`: made once, listed without the key, changed and revoked by id."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from svc_tools.cli.commands import app
from svc_tools.service.database import Database
from svc_tools.service.key_store import KeyStore
from svc_tools.service.keys import hash_key


@pytest.fixture
def db(tmp_path):
    return tmp_path / "service.db"


@pytest.fixture
def keys(db):
    """Runs one command of the group: exit code, stdout, stderr."""

    def run(*words):
        options = ["--db", str(db)]
        result = CliRunner().invoke(app, ["keys", *words, *options], env={"COLUMNS": "100"})
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def made(keys):
    """Makes a key: the key, and what the list says of it."""

    def make(*words):
        code, out, err = keys("create", *words)
        assert code == 0, err
        return out.strip(), listed(keys)[-1]

    return make


def listed(keys):
    code, out, _ = keys("list", "--json")
    assert code == 0
    return json.loads(out)


def test_a_key_is_shown_once_and_is_the_one_that_is_valid(keys, db):
    code, out, err = keys("create", "--name", "nightly job")
    assert code == 0
    key = out.strip()
    assert out == f"{key}\n"  # alone, so that a script can take it
    assert "shown this once" in err
    found = KeyStore(Database(db)).find(hash_key(key.encode()))
    assert found[1].name == "nightly job"
    assert found[1].id in err
    for words in (("list",), ("list", "--json")):
        assert key not in "".join(map(str, keys(*words)))
    assert key.encode() not in db.read_bytes()


def test_a_key_of_nobody_in_particular_has_no_limits(made):
    _, row = made()
    assert (row["account"], row["plan"], row["status"]) == ("local", "unlimited", "active")
    assert row["rate_per_minute"] is row["burst"] is row["monthly_quota"] is None
    assert row["features"] == ["full", "history", "nexus"]


def test_all_that_can_be_said_of_a_key(made):
    options = ["--account", "acme", "--plan", "free", "--rate-per-minute", "30", "--burst", "7"]
    options += ["--quota", "none", "--history", "--past-due", "--expires", "10d"]
    _, row = made(*options)
    assert (row["account"], row["plan"], row["status"]) == ("acme", "free", "past_due")
    assert (row["rate_per_minute"], row["burst"], row["monthly_quota"]) == (30, 7, None)
    assert row["features"] == ["history"]
    ends = datetime.fromisoformat(row["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=9, hours=23) < ends <= timedelta(days=10)


def test_a_day_of_expiry_is_the_last_valid_one(made):
    today = datetime.now(UTC).date()
    _, row = made("--expires", str(today))
    assert row["expires_at"] == f"{today + timedelta(days=1)}T00:00:00.000Z"
    assert row["status"] == "active"


def test_the_list_shows_limits_use_and_status(keys, made):
    _, row = made("--plan", "free", "--name", "job", "--no-nexus")
    _, out, _ = keys("list")
    for shown in (row["id"], "local", "job", "free", "60", "0 of 1,000", "active"):
        assert shown in out
    assert "features" in out


def test_without_keys_the_list_says_how_to_make_one(keys, db):
    Database(db)
    code, out, _ = keys("list")
    assert (code, out) == (0, "There is no key yet; make one with `svc-tools keys create`.\n")


@pytest.mark.parametrize("words", [("list",), ("revoke", "key_x"), ("update", "key_x")])
def test_a_database_that_is_not_there_is_said_and_not_made(keys, db, words):
    code, _, err = keys(*words)
    assert code == 2
    assert "There is no database" in err
    assert not db.exists()


def test_a_revoked_key_says_since_when(keys, made):
    _, row = made()
    code, out, _ = keys("revoke", row["id"])
    assert code == 0
    assert f"{row['id']} of account local is revoked since 2" in out
    assert listed(keys)[0]["status"] == "revoked"


@pytest.mark.parametrize("command", ["revoke", "update"])
def test_an_unknown_id_is_an_error_that_lists_those_there_are(keys, made, command):
    _, row = made()
    code, _, err = keys(command, "key_x")
    assert code == 2
    assert f"There is no key 'key_x'; there are: {row['id']}" in err


def test_a_key_is_changed_in_what_is_given_and_nothing_else(keys, made):
    _, before = made("--plan", "free", "--no-history", "--quota", "9")
    code, out, _ = keys("update", before["id"], "--plan", "standard", "--rate-per-minute", "120")
    assert code == 0
    assert "120 requests a minute, 20 at once, 9 lookups a month, full, nexus" in out
    keys("update", before["id"], "--quota", "plan", "--history", "--past-due")
    (after,) = listed(keys)
    assert (after["monthly_quota"], after["status"]) == (100_000, "past_due")
    assert after["features"] == ["full", "history", "nexus"]
    keys("update", before["id"], "--paid", "--rate-per-minute", "none")
    (after,) = listed(keys)
    assert (after["rate_per_minute"], after["status"]) == (None, "active")


def test_an_account_can_be_past_due_and_paid_again(keys, made):
    made("--account", "acme")
    code, out, _ = keys("account", "acme", "--past-due")
    assert (code, out) == (0, "Account acme is past due; keys of it: 1.\n")
    assert listed(keys)[0]["status"] == "past_due"
    assert keys("account", "acme", "--paid")[1] == "Account acme is paid up; keys of it: 1.\n"
    assert listed(keys)[0]["status"] == "active"
    code, _, err = keys("account", "nobody", "--paid")
    assert code == 2
    assert "no account 'nobody'" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--plan", "gold"], "'gold' does not exist; there are free, standard, unlimited"),
        (["--quota", "many"], "monthly quota: given 'many', expected a whole number, none or plan"),
        (["--quota", "-5"], "monthly quota: given '-5'"),
        (["--rate-per-minute", "0"], "rate per minute is 0; expected 1 to"),
        (["--burst", "5"], "burst needs a rate limit"),
        (["--expires", "soon"], "expires: given 'soon', expected a day as 2027-01-31"),
        (["--expires", "2020-01-01"], "is over; expected today or later"),
        (["--expires", "0d"], "is over; expected today or later"),
        (["--expires", "9999999999d"], "expected a day"),
    ],
)
def test_what_makes_no_sense_is_an_error_and_no_key(keys, db, options, said):
    code, out, err = keys("create", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert not KeyStore(Database(db)).any()


def test_the_database_can_be_named_by_the_environment(tmp_path):
    db = tmp_path / "named.db"
    result = CliRunner().invoke(app, ["keys", "create"], env={"SVC_DATABASE_URL": str(db)})
    assert result.exit_code == 0
    assert KeyStore(Database(db)).any()
