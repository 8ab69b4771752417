"""Calc's add-in without LibreOffice: arguments, cached results, bursts, and the local server."""

from __future__ import annotations

import json
import math
import socket
import struct
import sys
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from platformdirs import macos, unix, windows
from pydantic import SecretStr
from support.faults import HANG, RESET, answer
from support.spreadsheets import addin_module, local_server

from svc_tools.excel import settings
from svc_tools.excel.calc import configuration
from svc_tools.excel.desk import Desk

module = addin_module("svc_calc_cells")

FUNCTIONS = module.functions_of(configuration()["functions.json"])
BURST = 0.5


def call(name, arguments, **more):
    return FUNCTIONS[name].call(arguments, **more)


class Server:
    """Responds to each call with its arguments, and records which calls came together."""

    def __init__(self):
        self.asked = []
        self.calls = []
        self.now = 0.0
        self.source = 1
        self.answers = {}
        self.since = ""
        self.cells = module.Cells(FUNCTIONS, self, lambda: self.now)

    def find(self):
        return self.source

    def request(self, method, path, content):
        assert (method, path) == ("POST", "/excel/batch")
        calls = content["calls"]
        self.calls.append(calls)
        self.asked.append([(one["f"], *one["a"]) for one in calls])
        shown = [self.answers.get("".join(one["a"][-1:]), {"v": str(one["a"])}) for one in calls]
        return {"results": shown}

    def value(self, name, arguments, foreseen=list, **more):
        def ahead():
            return (call(*one) for one in foreseen())

        return self.cells.value(call(name, arguments, **more), ahead, self.since)

    def rate(self, zip_code, foreseen=list, state="TX"):
        return self.value("SVC_RATE", (state, zip_code, None, None), foreseen)


@pytest.fixture
def server():
    return Server()


@pytest.mark.parametrize(
    ("name", "handed_over", "asked"),
    [
        ("SVC_RATE", ("TX", 2134.0, None, None), ["TX", 2134.0]),
        ("SVC_RATE", ("TX", 0.0, None, None), ["TX", ""]),
        ("SVC_RATE", ("TX", "", 0.0, None), ["TX", "", ""]),
        ("SVC_RATE", ("TX", 2134.0, None, "partial"), ["TX", 2134.0, None, "partial"]),
        ("SVC_RATE", (), []),
        ("SVC_RATE_GEO", ("TX", 0.0, 0.0), ["TX", "", ""]),
        ("SVC_TAX", (0.0, "TX", 78701.0), [0.0, "TX", 78701.0]),
        ("SVC_TAX", (0.0, "TX", 0.0), [0.0, "TX", ""]),
        ("SVC_TAX", (0.0, 0.0, 0.0, 0.0), [0.0, "", "", ""]),
        ("SVC_TAX", (12.5, "TX", 0.0), [12.5, "TX", ""]),
        ("SVC_SUM", (0.0,), [0.0]),
        ("SVC_SUM", (((0.0, ""), (1.5, "x")),), [[[0.0, ""], [1.5, "x"]]]),
    ],
)
def test_an_empty_cell_is_no_zero_and_a_zero_of_a_range_is_one(name, handed_over, asked):
    assert call(name, handed_over) == {"f": name, "a": asked}


def test_a_truth_value_is_known_by_what_calc_passes_unless_an_empty_cell_is_passed_alike():
    rate, empty = FUNCTIONS["SVC_RATE"], 0.0
    calls = [[False, "1"], ["", "1"], [True, "2"], [False, "3"], [empty, "3"], ["CA", "4"]]
    found = module.truths_in([(rate, one) for one in calls], "")
    passed = {(0.0, "1"): False, (1.0, "2"): True}
    keys = [module.passed_key("SVC_RATE", (*one, None, None)) for one in passed]
    assert list(found) == keys
    for key, truth in zip(keys, passed.values(), strict=True):
        assert found[key]["a"][0] is truth
    assert module.passed_key("SVC_SUM", [((True, 2.0),)]) == module.passed_key(
        "SVC_SUM", [[[1.0, 2.0]]]
    )


def test_a_call_of_a_document_that_counts_from_1904_says_so_and_is_cached_apart(server):
    for of_1904 in ("", "old.ods", "old.ods"):
        server.value("SVC_RATE", ("TX", 78701.0, "44000"), from_1904=of_1904)
    ((first,), (second,)) = server.calls
    assert not first.get("from_1904")
    assert second["from_1904"]


def test_errors_inside_rows_are_calc_s_own_and_never_numbers(server):
    rows = [[0.0825, {"e": "na", "m": "x"}], ["", {"e": "value", "m": "y"}], [True, {"e": "new"}]]
    server.answers = {"1": {"v": rows}}
    cells, errors = zip(*server.rate("1"), strict=True)
    assert cells == (0.0825, "", 1.0)
    assert all(map(math.isnan, errors))
    codes = [struct.unpack("<Q", struct.pack("<d", one))[0] & 0xFFFFFFFF for one in errors]
    assert codes == [32767, 519, 519]


def test_one_cell_is_handed_back_as_a_cell_and_short_rows_are_followed_by_empty_ones(server):
    server.answers = {"1": {"v": [["ok"]]}, "2": {"v": [["a", "b"]]}, "3": {"v": [[{"e": "na"}]]}}
    assert server.rate("1") == "ok"
    assert server.rate("2") == (("a", "b"),)
    shown = server.value("SVC_LOOKUP", ("2",))
    assert shown[:2] == (("a", "b"), ("", ""))  # a single row would be repeated
    assert len(server.rate("3")) == 1


def test_identical_calls_are_sent_once_until_a_refresh_or_another_server(server):
    assert server.rate("1") == server.rate("1")
    assert len(server.asked) == 1
    server.cells.forget()
    server.rate("1")
    assert len(server.asked) == 2
    server.source = 2
    server.rate("1")
    assert len(server.asked) == 3


def test_what_is_cached_for_another_document_is_requested_again_after_a_refresh(server):
    moments = ["", "2026-05-20T12:00:00+00:00", "", "2026-05-20T12:00:00.5+00:00"]
    for server.since in [one for moment in moments for one in (moment, moment)]:
        server.rate("1", lambda: [("SVC_RATE", ["TX", "2"])])
    assert len(server.asked) == 3  # a document that was not refreshed may use what is newer


def test_results_serve_a_recalculation_and_errors_a_shorter_time(server):
    server.answers = {"1": {"e": "na", "m": "unknown"}}
    server.rate("1")
    server.rate("2")
    for now, zip_code, calls in ((30.0, "2", 2), (30.0, "1", 3), (100.0, "2", 4)):
        server.now = now
        server.rate(zip_code)
        assert len(server.asked) == calls


def test_what_concerns_the_session_is_requested_again_and_last(server):
    def foreseen():
        return [("SVC_RATE", ["TX", "1"]), ("SVC_ASOF", [])]

    server.value("SVC_ASOF", (None, None, None), foreseen)
    server.value("SVC_ASOF", (None, None, None), foreseen)
    assert server.asked == [[("SVC_RATE", "TX", "1"), ("SVC_ASOF",)], [("SVC_ASOF",)]]
    server.value("SVC_ASOF", ("TX", "1", None), foreseen)
    server.value("SVC_ASOF", ("TX", "1", None), foreseen)
    assert len(server.asked) == 3  # of a ZIP: an answer like others


def test_a_single_edit_reads_no_document_and_a_burst_reads_it_once(server):
    reads = []

    def foreseen():
        reads.append(1)
        return [("SVC_RATE", ["TX", str(zip_code)]) for zip_code in range(100)]

    server.rate("0", foreseen)
    server.now += BURST + 0.1
    server.rate("1", foreseen)
    assert reads == []
    for zip_code in range(2, 100):
        server.rate(str(zip_code), foreseen)
    assert len(reads) == 1
    assert [len(calls) for calls in server.asked] == [1, 1, 98]


def test_a_document_that_does_not_help_is_read_ever_more_rarely(server):
    reads = []
    for zip_code in range(3_000):
        server.rate(str(zip_code), lambda: reads.append(1) or [])
    assert len(server.asked) == 3_000
    assert len(reads) <= 13


def test_a_document_that_cannot_be_read_costs_no_figure(server):
    def broken():
        yield "SVC_RATE", ["TX", "7"]
        raise RuntimeError("the document is being closed")

    server.rate("1")
    assert server.rate("2", broken) == "['TX', '2']"
    assert server.asked[1] == [("SVC_RATE", "TX", "2"), ("SVC_RATE", "TX", "7")]


NO_RESULTS = answer(body=b'{"results": []}')
RATE = {"calls": [{"f": "SVC_RATE", "a": ["NC", "27601", "2026-05-01"]}]}
server_module = addin_module("svc_calc_server")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path))
    return tmp_path


@pytest.fixture
def link():
    found = server_module.Server()
    yield found
    found._connection.close()


@pytest.fixture
def connections(monkeypatch):
    """An entry for each connection that is opened."""
    found = []
    connect = HTTPConnection.connect
    monkeypatch.setattr(HTTPConnection, "connect", lambda one: found.append(1) or connect(one))
    return found


def send(link, calls=RATE):
    return link.request("POST", "/excel/batch", calls)


def publish(folder, url, token="a-token"):  # noqa: S107 - of a test
    (folder / "server.json").write_text(json.dumps({"url": url, "token": token}))


@pytest.mark.parametrize("own", [None, "elsewhere", "relative/path"])
@pytest.mark.parametrize(
    ("platform", "dirs"),
    [("linux", unix.Unix), ("darwin", macos.MacOS), ("win32", windows.Windows)],
)
def test_the_folder_is_that_of_the_server_on_every_system(
    platform, dirs, own, monkeypatch, tmp_path
):
    for name in ("SVC_EXCEL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "AppData" / "Local"))
    # what Windows itself would say, it says in this variable, too
    monkeypatch.setattr(windows, "get_win_folder", windows.get_win_folder_from_env_vars)
    if own:
        monkeypatch.setenv("XDG_CONFIG_HOME", own if "/" in own else str(tmp_path / own))
    expected = Path(dirs("svc-tools", appauthor=False).user_config_dir) / "excel" / "server.json"
    monkeypatch.setattr(sys, "platform", platform)
    assert server_module.server_file() == expected


def test_a_server_that_was_never_started_is_an_error_with_the_command(folder, link):
    with pytest.raises(server_module.ServerError, match=r"never started.* svc-tools excel serve"):
        send(link)


def test_many_requests_go_over_one_connection_and_a_refresh_over_another(
    folder, link, faults, connections
):
    faults.will(NO_RESULTS)
    publish(folder, faults.base_url, "secret-token")
    for _ in range(5):
        send(link)
    assert {one.headers["authorization"] for one in faults.seen} == {"Bearer secret-token"}
    assert len(connections) == 1
    assert "secret-token" not in repr(link)
    link.request("POST", "/excel/refresh", {"cells": []}, long=True)
    assert len(connections) == 2
    assert len(faults.seen) == 6


def test_a_connection_that_the_server_closed_meanwhile_is_opened_again(
    folder, link, faults, connections
):
    faults.will(NO_RESULTS, RESET, NO_RESULTS)
    publish(folder, faults.base_url)
    assert send(link) == send(link) == {"results": []}
    assert len(connections) == 2


def test_a_server_that_hangs_is_waited_for_once(folder, link, faults, monkeypatch):
    monkeypatch.setattr(server_module, "_WAIT", 0.2)
    faults.will(HANG)
    publish(folder, faults.base_url)
    for _ in range(50):
        with pytest.raises(server_module.ServerError, match="did not respond in"):
            send(link)
    assert len(faults.seen) == 1


def test_the_longer_a_server_hangs_the_later_it_is_tried_again(folder, link, faults, monkeypatch):
    monkeypatch.setattr(server_module, "_WAIT", 0.2)
    faults.will(HANG, HANG)
    publish(folder, faults.base_url)
    ticks = iter([0.0, 120.0, 131.0, 133.0, 133.0, 133.0])  # sent, failed; calm; due, sent, failed
    monkeypatch.setattr(server_module, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    for requests in (1, 1, 2):
        with pytest.raises(server_module.ServerError, match="did not respond in"):
            send(link)
        assert len(faults.seen) == requests


def test_where_the_server_was_stopped_no_other_is_sent_its_token(folder, link, faults):
    faults.will(NO_RESULTS)
    settings.publish_server(faults.base_url, SecretStr("secret-token"))
    send(link)
    settings.withdraw_server()
    with pytest.raises(server_module.ServerError, match=r"was stopped.* svc-tools excel serve"):
        send(link)
    assert len(faults.seen) == 1


def test_results_that_calc_caches_are_dropped_when_the_pane_refreshes(folder, link, scripted):
    with local_server(Desk(scripted, cache=False)) as served:
        settings.publish_server(served.origin, SecretStr(served.token))
        before = link.find()
        send(link, {"calls": []})
        assert link.find() == before
        httpx.post(
            f"{served.origin}/excel/refresh",
            json={"cells": [], "confirmed": True},
            headers=served.headers,
        )
        assert link.find() != before


def test_after_a_failure_thousands_of_cells_do_not_each_try_again(folder, link, connections):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        publish(folder, f"http://127.0.0.1:{taken.getsockname()[1]}")
        for number in range(101):
            with pytest.raises(server_module.ServerError, match="does not respond"):
                send(link)
            if number == 99:
                assert len(connections) == 1
                link.forget_failure()
    assert len(connections) == 2


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (answer(401, b"{}"), "does not know this add-in's token"),
        (answer(413, b"{}"), "status 413"),
        (answer(413, b'{"error": {"message": "give a smaller range"}}'), "give a smaller range"),
        (answer(500, b"Traceback: secret"), "status 500"),
        (answer(body=b"<html>"), "is not a server of svc-tools"),
    ],
)
def test_a_refusal_is_an_error_and_never_a_result(folder, link, faults, response, said):
    faults.will(response)
    publish(folder, faults.base_url)
    with pytest.raises(server_module.ServerError, match=said) as caught:
        send(link)
    assert "secret" not in str(caught.value)


def test_what_is_refused_for_one_cell_is_sent_for_the_next(folder, link, faults):
    faults.will(answer(413), NO_RESULTS)
    publish(folder, faults.base_url)
    with pytest.raises(server_module.RefusedError):
        send(link)
    assert send(link) == {"results": []}


OTHER_MACHINE = '{"url": "http://rates.example:80", "token": "t"}'


@pytest.mark.parametrize("content", ["{", "[]", '{"url": "http://localhost:1"}', OTHER_MACHINE])
def test_a_file_that_is_broken_or_names_another_machine_is_not_followed(folder, link, content):
    (folder / "server.json").write_text(content)
    with pytest.raises(server_module.ServerError, match=r"server\.json cannot be read"):
        send(link)
