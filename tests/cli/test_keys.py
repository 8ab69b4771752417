"""`svc-tools keys`: made once, listed without the key, changed and revoked by id."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from svc_tools.cli.app import app
from svc_tools.service.database import Database
from svc_tools.service.keys import KeyStore, hash_key
from svc_tools.service.store import LimitStore, month_of


@pytest.fixture
def db(tmp_path):
    return tmp_path / "service.db"


@pytest.fixture
def keys(db):
    """Runs one command of the group: exit code, stdout, stderr."""

    def run(*words, width=100):
        options = ["--db", str(db)]
        result = CliRunner().invoke(app, ["keys", *words, *options], env={"COLUMNS": str(width)})
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


def test_a_key_is_unlimited_by_default_and_is_revoked(keys, made):
    _, row = made()
    assert (row["account"], row["plan"], row["status"]) == ("local", "unlimited", "active")
    assert row["rate_per_minute"] is row["burst"] is row["monthly_quota"] is None
    assert row["features"] == ["full", "history", "nexus"]
    assert keys("revoke", row["id"])[0] == 0
    assert listed(keys)[0]["status"] == "revoked"


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
    title, rule, line = out.splitlines()
    assert " ".join(title.split()) == "Id Plan Rate This month Features Status Account, name"
    assert set(rule) == {"─"}
    assert line.split() == [
        *(row["id"], "free", "60/min", "0", "of", "1,000", "none", "active", "job")
    ]


def test_the_list_fits_the_terminal_and_nothing_is_cut(keys, made):
    name = "the nightly job that fills the warehouse of the fourth floor, 会社"
    words = ["--account", "acme", "--name", name, "--plan", "standard", "--no-full", "--past-due"]
    _, row = made(*words, "--expires", "2999-12-31")
    out = keys("list", width=100)[1]
    assert max(map(cell_len, out.splitlines())) <= 100
    shown = " ".join(out.split())
    for text in (row["id"], "standard", "600/min", "0 of 100,000", "no full", "past due"):
        assert text in shown
    for word in f"acme, {name}, valid until 3000-01-01 00:00 UTC".split():
        assert word in shown


def test_what_is_used_and_left_of_a_quota_is_shown(keys, made, db):
    _, row = made("--quota", "10")
    limits, month = LimitStore(Database(db)), month_of(datetime.now(UTC)).name
    for _ in range(4):
        limits.count_lookup(row["id"], 10, month)
    assert "4 of 10" in keys("list")[1]
    (after,) = listed(keys)
    assert (after["used"], after["left"]) == (4, 6)


@pytest.mark.parametrize("text", ["two\nlines", "\x1b[31mred", "x" * 101, " around ", "\udcff"])
@pytest.mark.parametrize("what", ["name", "account"])
def test_what_the_list_could_not_show_is_no_name_and_no_account(keys, db, what, text):
    code, out, err = keys("create", f"--{what}", text)
    assert (code, out) == (2, "")
    assert f"The {what} is {text!r}; expected 1 to" in err
    assert not KeyStore(Database(db)).any()


def test_a_mistyped_address_is_no_path_and_its_password_is_not_repeated():
    for command in (["keys", "create"], ["keys", "list"], ["serve", "--port", "0"]):
        words = [*command, "--db", "postgresql:/user:hidden@host/db"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        assert "kind 'postgresql' is not supported" in result.stderr
        assert "hidden" not in result.output + result.stderr


@pytest.mark.parametrize("words", [("list",), ("revoke", "key_x"), ("update", "key_x")])
def test_a_database_that_is_not_there_is_said_and_not_made(keys, db, words):
    code, _, err = keys(*words)
    assert code == 2
    assert "There is no database" in err
    assert not db.exists()


@pytest.mark.parametrize("command", ["revoke", "update"])
def test_an_unknown_id_is_an_error_that_lists_those_there_are(keys, made, command):
    _, row = made()
    code, _, err = keys(command, "key_x")
    assert code == 2
    assert f"There is no key 'key_x'; there are: {row['id']}" in err
    code, _, err = keys(command, "svc_a-key-and-no-id")  # a key is not repeated
    assert (code, "svc_" in err) == (2, False)


def test_a_key_is_changed_in_what_is_given_and_nothing_else(keys, made):
    _, before = made("--plan", "free", "--no-history", "--quota", "9")
    code, out, _ = keys("update", before["id"], "--plan", "standard", "--rate-per-minute", "120")
    assert code == 0
    assert "120 requests a minute, 20 at once, 9 lookups a month; features: full, nexus." in out
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
