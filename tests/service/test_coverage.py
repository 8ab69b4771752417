"""`svc-tools book coverage` and `/v1/freshness`: one set of facts, for a person and a program."""

from __future__ import annotations

import json

import pytest
from support.command import svc_tools


@pytest.fixture(scope="module")
def told():
    done = svc_tools("book", "coverage")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_command_and_the_service_say_the_same(service):
    done = svc_tools("book", "coverage", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == service.client.get("/v1/freshness").json()


def test_every_state_has_its_line(told, service):
    rows = {line.split()[0]: line.split() for line in told.splitlines() if line}
    for state in service.client.get("/v1/freshness").json()["states"]:
        assert rows[state["state"]][1:6] == [
            state["tier"],
            state["confidence"],
            state["oldest_row"] or "always",
            state["history_from"] or "always",
            state["covered_until"],
        ]


def test_sources_and_what_is_missing_are_told_once(told, service):
    text = " ".join(told.split())
    for state in service.client.get("/v1/freshness").json()["states"]:
        assert f"{state['source']}; {state['edition']}" in text
        assert state["missing"] in text
    assert text.count("Local rates are not covered: an answer is the state part only.") == 1
    assert "AL, AZ, CO, ID, IL, MO, NM, TX" in text
    assert "17780" in text


@pytest.mark.parametrize("columns", ["80", "100"])
def test_it_fits_the_terminal(columns):
    lines = svc_tools("book", "coverage", COLUMNS=columns).stdout.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert all(line == line.rstrip() for line in lines)
