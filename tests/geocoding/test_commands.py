"""Geocoding from the commands: `enrich`, `lookup` and `cache`; and what a killed run leaves."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.census import FRONTENAC, Census, matched, unmatched
from support.command import TOO_LONG, start_python, svc_tools
from support.faults import HANG
from support.systems import posix
from support.waiting import until

from svc_tools.geocoding.store import addresses_info, addresses_path

BY_ZIP, BY_POINT = "0.09000", "0.09500"
ENRICH = ["--address", "street", "--zip", "zip", "--state", "state", "--as-of", "2026-08-01"]


@pytest.fixture
def bureau(faults):
    stand_in = Census()
    faults.will(stand_in)
    return stand_in


@pytest.fixture
def here(faults, tmp_path):
    """The variables of a command: the geocoder on loopback, and a cache of its own."""
    url, cache = f"{faults.base_url}/geocoder", tmp_path / "results.db"
    return {"SVC_GEOCODE_URL": url, "SVC_CACHE": str(cache)}


@pytest.fixture
def run(here):
    return lambda *words, **more: svc_tools(*map(str, words), **here | more)


@pytest.fixture
def words(tmp_path):
    """The words of a command that enriches rows with these streets."""

    def of(*streets):
        source = tmp_path / "orders.csv"
        with source.open("w", newline="") as file:
            rows = ((f"#{at}", street, "66762", "KS") for at, street in enumerate(streets))
            csv.writer(file).writerows([("Order", "street", "zip", "state"), *rows])
        given = ["enrich", source, "-o", tmp_path / "out.csv", "--embedded", "--force", *ENRICH]
        return [*map(str, given), "--no-tax"]

    return of


@pytest.fixture
def enrich(run, words):
    return lambda *streets, options=(), **more: run(*words(*streets), *options, **more)


@pytest.fixture
def rates(tmp_path):
    def read():
        with (tmp_path / "out.csv").open(newline="") as file:
            return [row["combined_rate"] for row in csv.DictReader(file)]

    return read


def test_enrich_plans_and_sends(bureau, enrich, rates):
    done = enrich("1 Yes St", "2 No St", options=["--geocode", "census", "--plan"])
    assert done.returncode == 0, done.stderr
    assert "2 street addresses would be sent to the US Census Bureau's geocoder" in " ".join(
        done.stdout.split()
    )
    planned = enrich("1 Yes St", options=["--geocode", "census", "--plan", "--json"])
    plan = json.loads(planned.stdout)
    assert (plan["to_geocode"], plan["geocoded"]) == (1, 0)
    assert "127.0.0.1" in plan["geocoder"]
    assert not bureau.sent
    bureau.says = lambda row: unmatched(row) if row[1] == "2 NO ST" else matched(row, *FRONTENAC)
    done = enrich("1 Yes St", "2 No St", options=["--geocode", "census"])
    assert "1 exact match, 1 without a match; sent now: 2" in " ".join(done.stderr.split())
    assert rates() == [BY_POINT, BY_ZIP]
    enrich("1 Yes St", "2 No St", SVC_GEOCODE="census")
    assert rates() == [BY_POINT, BY_ZIP]
    assert len(bureau.sent) == 1
    enrich("1 Yes St")
    assert rates() == [BY_ZIP]


def test_lookup_of_one_address(bureau, run):
    words = ["lookup", "KS", "--address", "1 Yes St", "--city", "Pittsburg", "--zip", "66762"]
    words += ["--as-of", "2026-08-01", "--embedded", "--json"]
    assert json.loads(run(*words).stdout)["rate"]["combined_rate"] == BY_ZIP
    for more in (["--geocode", "census"], ["--geocode", "census", "--full"]):
        done = run(*words, *more)
        body = json.loads(done.stdout)
        assert body["rate"]["combined_rate"] == BY_POINT
        assert ("candidates" in body) == ("--full" in more)
    assert len(bureau.sent) == 1
    quarter = [*words[:-4], "--period", "20263", *words[-2:], "--geocode", "census"]
    assert json.loads(run(*quarter).stdout)["rate"]["combined_rate"] == BY_POINT
    refused = run(*words, "--geocode", "google")
    assert refused.returncode == 2
    assert "geocode: 'google' is not known" in refused.stderr


def test_lookup_by_a_service_over_http_refuses_it(bureau, run, service):
    words = ["lookup", "KS", "--address", "1 Yes St", "--zip", "66762", "--base-url", service]
    refused = run(*words, "--geocode", "census", SVC_API_KEY="test-key-0123456789abcdef")
    assert refused.returncode == 2
    assert "resolves addresses itself; leave --geocode out" in " ".join(refused.stderr.split())
    assert not bureau.sent


def test_cache_lists_and_removes_addresses(bureau, enrich, run, tmp_path):
    kinds = {"2 NO ST": "No_Match", "3 TIE ST": "Tie"}
    bureau.says = lambda row: (
        unmatched(row, kinds[row[1]]) if row[1] in kinds else matched(row, *FRONTENAC)
    )
    streets = ["1 Yes St", "2 No St", "3 Tie St"]
    enrich(*streets, options=["--geocode", "census"])
    path = tmp_path / "results.addresses.db"
    held = json.loads(run("cache", "info", "--json").stdout)["addresses"]
    assert held["path"] == str(path)
    assert held["size"] >= path.stat().st_size
    (one,) = held["geocoders"]
    counts = [one[name] for name in ("addresses", "exact", "similar", "ties", "unmatched")]
    assert (one["geocoder"], counts) == ("census", [3, 1, 0, 1, 1])
    shown = " ".join(run("cache", "info", COLUMNS="200").stdout.split())
    assert "3 sent to geocoders, stored for good" in shown
    assert run("cache", "clear", "--addresses").returncode == 1  # nobody confirms
    done = run("cache", "clear", "--addresses", "--unmatched", "--yes")
    assert "2 addresses without a unique match of census" in " ".join(done.stdout.split())
    enrich(*streets, options=["--geocode", "census"])
    assert sorted(row[1] for row in bureau.sent[-1]) == ["2 NO ST", "3 TIE ST"]
    unknown = run("cache", "clear", "--addresses", "--service", "google", "--yes")
    assert unknown.returncode == 2
    assert "there are those of census" in " ".join(unknown.stderr.split())
    bureau.says = lambda row: matched(row, *FRONTENAC)
    run("cache", "clear", "--addresses", "--unmatched", "--yes")
    enrich(*streets, options=["--geocode", "census"])
    bureau.says = unmatched
    enrich("4 No St", options=["--geocode", "census"])
    done = " ".join(run("cache", "clear", "--addresses", "--unmatched", "--yes").stdout.split())
    assert "1 address without a unique match of census" in done
    assert "The next lookup with that geocoder sends it again. Removed: 1." in done
    assert "Removed: 3." in run("cache", "clear", "--addresses", "--yes").stdout
    assert "Nothing to remove" in run("cache", "clear", "--addresses", "--yes").stdout
    assert b"TIE ST" not in path.read_bytes()
    assert run("cache", "clear", "--unmatched", "--yes").returncode == 2
    assert run("cache", "clear", "--addresses", "--expired", "--yes").returncode == 2


@posix
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_run_that_is_ended_between_two_batches_loses_none(bureau, faults, here, words, name):
    command = [*words(*(f"{at} Oak St" for at in range(1, 1_501))), "--geocode", "census"]
    faults.will(bureau, HANG)
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with start_python("-m", "svc_tools", *command, env=os.environ | here, **pipes) as process:
        until(lambda: len(faults.seen) == 2)
        process.send_signal(getattr(signal, name))
        process.wait(TOO_LONG)
    (info,) = addresses_info(addresses_path(Path(here["SVC_CACHE"]))).geocoders
    assert info.exact == 1_000
    faults.will(bureau)
    assert svc_tools(*command, **here).returncode == 0
    assert [len(sent) for sent in bureau.sent] == [1_000, 500]
