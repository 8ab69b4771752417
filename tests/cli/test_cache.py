"""`svc-tools cache`: what is kept, and how it is removed."""

from __future__ import annotations

import json

import pytest
from support.answers import NOW, OTHER, SOURCE, ok, zip_place
from support.command import svc_tools

from svc_tools.config import embedded_source
from svc_tools.lookup import cache as cache_module
from svc_tools.lookup.cache import Cache
from svc_tools.lookup.outcomes import Outcome

EMBEDDED = embedded_source("0123456789abcdef" * 4)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "answers.db"
    cache = Cache(path, clock=lambda: NOW)
    cache.store(SOURCE, [(zip_place(number), ok()) for number in range(1200)], detail=False)
    cache.store(OTHER, [(zip_place(1), ok()), (zip_place(2, None), ok())], detail=True)
    cache.store(
        EMBEDDED, [(zip_place(3), Outcome("unresolved", "?", looked_up_at=NOW))], detail=False
    )
    cache_module._stores.at(path).close()
    return path


def run(path, *arguments, **environment):
    return svc_tools("cache", *arguments, SVC_CACHE=str(path), **environment)


def info(path):
    return json.loads(run(path, "info", "--json").stdout)


def test_info_says_where_it_is_and_what_it_holds_of_whom(path):
    told = info(path)
    assert told["path"] == str(path)
    assert told["size"] >= path.stat().st_size
    rows = {(one["service"], one["account"]): one for one in told["sources"]}
    assert rows[SOURCE.service, SOURCE.account]["for_ever"] == 1200
    other = rows[OTHER.service, OTHER.account]
    assert (other["answers"], other["full"], other["for_ever"], other["expired"]) == (2, 2, 1, 1)
    assert other["newest"] == "2026-05-20T17:30:01+00:00"
    assert rows[EMBEDDED.service, ""]["expired"] == 1


def test_its_table_has_words_for_how_long_and_for_no_account(path):
    shown = run(path, "info", COLUMNS="200").stdout
    for text in ("Permanent", "Temporary", "none needed"):
        assert text in shown


def test_no_cache_and_no_file_are_said(tmp_path):
    assert run("off", "info").stdout == "The cache is off: no results are cached.\n"
    assert json.loads(run("off", "info", "--json").stdout)["path"] is None
    absent = tmp_path / "absent.db"
    shown = run(absent, "info").stdout
    assert "no cache yet" in shown
    assert "embedded service needs none" in " ".join(shown.split())
    assert "Nothing to remove" in run(absent, "clear", "--yes").stdout
    assert not absent.exists()
    refused = run("off", "clear", "--yes")
    assert refused.returncode == 2
    assert "SVC_CACHE" in refused.stderr


def test_clear_says_what_goes_and_asks(path):
    done = run(path, "clear")  # nobody answers
    assert done.returncode == 1
    assert "1,203 results" in done.stdout
    assert "Remove them?" in done.stdout
    assert len(info(path)["sources"]) == 3


def test_clear_removes_all_and_the_room_they_took(path):
    before = info(path)["size"]
    done = run(path, "clear", "--yes")
    assert done.returncode == 0
    assert "Removed: 1,203." in done.stdout
    told = info(path)
    assert told["sources"] == []
    assert told["size"] < before / 2
    assert b"publisher" not in path.read_bytes()


def test_clear_removes_what_is_of_one_service_or_expired(path):
    free = run(path, "clear", "--service", "embedded", "--yes").stdout
    assert "Removed: 1." in free
    assert "billed" not in free  # nothing of it ever was
    assert "Removed: 1." in run(path, "clear", "--expired", "--yes").stdout
    assert sum(one["answers"] for one in info(path)["sources"]) == 1201
    done = run(path, "clear", "--service", SOURCE.service + "/", "--yes")
    assert "Removed: 1,201." in done.stdout


def test_a_service_that_is_not_in_it_is_refused_with_those_that_are(path):
    done = run(path, "clear", "--service", "https://rates.exmaple", "--yes")
    assert done.returncode == 2
    assert SOURCE.service in done.stderr
    assert "Removed" not in done.stdout


def test_a_file_that_is_no_cache_is_left_alone(tmp_path):
    orders = tmp_path / "orders.csv"
    orders.write_text("order,zip\n1,78701\n")
    for command in (["info"], ["clear", "--yes"]):
        done = run(orders, *command)
        assert done.returncode == 2
        assert "cannot be used" in done.stderr
    assert orders.read_text() == "order,zip\n1,78701\n"
