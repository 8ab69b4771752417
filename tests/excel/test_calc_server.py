"""How Calc's add-in finds the local server and talks to it: restarts, https, what it refuses."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from platformdirs import macos, unix, windows
from pydantic import SecretStr
from support.calc import addin_module
from support.certificates import make_certificate
from support.excel_server import excel_serve, local_server

from svc_tools import config
from svc_tools.excel import server_file
from svc_tools.excel.desk import Desk

RATE = {"calls": [{"f": "SVC_RATE", "a": ["NC", "27601", "2026-05-01"]}]}
module = addin_module("svc_calc_server")


class Answering:
    """A server that counts what it is asked, and by whom."""

    def __init__(self, status=200, body=b'{"results": []}', *, hangs_up=False):
        seen = self.seen = []
        self.kept = set()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(handler):  # noqa: N805 - of the class around it
                handler.rfile.read(int(handler.headers["Content-Length"] or 0))
                seen.append(handler.headers["Authorization"])
                self.kept.add(handler.client_address)
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)
                handler.close_connection = hangs_up

            def log_message(self, *_):
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path))
    return tmp_path


@pytest.fixture
def server():
    found = module.Server()
    yield found
    found._close()


def publish(folder, url, token):
    (folder / "server.json").write_text(json.dumps({"url": url, "token": token}))


@pytest.mark.parametrize("own", [None, "elsewhere", "relative/path"])
@pytest.mark.parametrize(
    ("platform", "dirs"),
    [("linux", unix.Unix), ("darwin", macos.MacOS), ("win32", windows.Windows)],
)
def test_the_folder_is_that_of_the_server_on_every_system(
    platform, dirs, own, monkeypatch, tmp_path
):
    monkeypatch.delenv("SVC_EXCEL", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "AppData" / "Local"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    # what Windows itself would say, it says in this variable, too
    monkeypatch.setattr(windows, "get_win_folder", windows.get_win_folder_from_env_vars)
    if own:
        monkeypatch.setenv("XDG_CONFIG_HOME", own if "/" in own else str(tmp_path / own))
    expected = Path(dirs("svc-tools", appauthor=False).user_config_dir) / "excel" / "server.json"
    monkeypatch.setattr(sys, "platform", platform)
    assert module.server_file() == expected


def test_the_variable_names_the_same_folder_for_both(folder):
    assert module.server_file() == config.excel_folder() / "server.json"


def test_a_server_that_was_never_started_is_said_with_the_command(folder, server):
    with pytest.raises(module.ServerError, match=r"never started.* svc-tools excel serve"):
        server.ask("POST", "/excel/batch", RATE)


def test_many_questions_go_over_one_connection(folder, server):
    with Answering() as one:
        publish(folder, one.url, "secret-token")
        for _ in range(5):
            server.ask("POST", "/excel/batch", RATE)
        assert one.seen == ["Bearer secret-token"] * 5
        assert len(one.kept) == 1
        assert "secret-token" not in repr(server)
        server._close()


def test_a_connection_that_the_server_closed_meanwhile_is_opened_again(folder, server):
    with Answering(hangs_up=True) as one:
        publish(folder, one.url, "a-token")
        for _ in range(3):
            server.ask("POST", "/excel/batch", RATE)
        assert len(one.kept) == len(one.seen) == 3
        server._close()


def test_a_refresh_is_sent_over_a_connection_of_its_own_and_never_twice(folder, server):
    with Answering() as one:
        publish(folder, one.url, "a-token")
        server.ask("POST", "/excel/batch", RATE)
        server.ask("POST", "/excel/refresh", long=True)
        assert len(one.kept) == 2
        server._close()


def test_a_server_that_hangs_is_waited_for_once(folder, server, monkeypatch):
    monkeypatch.setattr(module, "_WAIT", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        publish(folder, f"http://127.0.0.1:{silent.getsockname()[1]}", "a-token")
        for _ in range(50):
            with pytest.raises(module.ServerError, match="did not answer in"):
                server.ask("POST", "/excel/batch", RATE)


def test_where_the_server_was_stopped_nobody_else_is_sent_its_token(folder, server):
    with Answering() as another:
        server_file.publish(another.url, SecretStr("secret-token"))
        server.ask("POST", "/excel/batch", RATE)
        server_file.withdraw()
        with pytest.raises(module.ServerError, match=r"was stopped.* svc-tools excel serve"):
            server.ask("POST", "/excel/batch", RATE)
        assert len(another.seen) == 1


def test_answers_that_calc_keeps_are_dropped_when_the_pane_refreshes(folder, server, scripted):
    with local_server(Desk(scripted, cache=False)) as served:
        server_file.publish(served.origin, SecretStr(served.token))
        before = server.find()
        server.ask("POST", "/excel/batch", {"calls": []})
        assert server.find() == before
        httpx.post(f"{served.origin}/excel/refresh", headers=served.headers)
        assert server.find() > before
        server._close()


def test_a_server_that_starts_anew_on_another_port_is_found(folder, server):
    with Answering() as first:
        publish(folder, first.url, "a-token")
        server.ask("POST", "/excel/batch", RATE)
        server._close()
    with pytest.raises(module.ServerError, match=r"does not answer.*svc-tools excel serve"):
        server.ask("POST", "/excel/batch", RATE)
    with Answering() as second:
        publish(folder, second.url, "another-token")
        before = server.starts
        server.ask("POST", "/excel/batch", RATE)  # at once, however short ago the failure was
        assert second.seen == ["Bearer another-token"]
        assert server.find() > before
        server._close()


def test_after_a_failure_thousands_of_cells_do_not_each_try_again(folder, server):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        publish(folder, f"http://127.0.0.1:{taken.getsockname()[1]}", "a-token")
        tries = []
        connected = server._connected
        server._connected = lambda: tries.append(1) or connected()
        for _ in range(100):
            with pytest.raises(module.ServerError, match="does not answer"):
                server.ask("POST", "/excel/batch", RATE)
        assert len(tries) == 1
        server.forget_failure()
        with pytest.raises(module.ServerError):
            server.ask("POST", "/excel/batch", RATE)
        assert len(tries) == 2


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, b"{}", "does not know this add-in's token"),
        (413, b"{}", "status 413"),
        (413, b'{"error": {"message": "give a smaller range"}}', "give a smaller range"),
        (500, b"Traceback: secret", "status 500"),
        (200, b"<html>", "is no server of svc-tools"),
    ],
)
def test_a_refusal_is_said_and_never_taken_for_an_answer(folder, server, status, body, said):
    with Answering(status, body) as one:
        publish(folder, one.url, "a-token")
        with pytest.raises(module.ServerError, match=said) as caught:
            server.ask("POST", "/excel/batch", RATE)
        assert "secret" not in str(caught.value)
        server._close()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"url": "http://localhost:1"}',
        '{"url": "http://rates.example:80", "token": "t"}',
    ],
)
def test_a_file_that_is_broken_or_names_another_machine_is_not_followed(folder, server, content):
    (folder / "server.json").write_text(content)
    with pytest.raises(module.ServerError, match=r"server\.json cannot be read"):
        server.ask("POST", "/excel/batch", RATE)


def test_https_is_trusted_by_the_server_s_own_certificate_alone(tmp_path, monkeypatch, server):
    cert, key = make_certificate(tmp_path)
    other, _ = make_certificate(tmp_path / "other")
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    with excel_serve("--port", 0, "--cert", cert, "--key", key, **os.environ):
        (result,) = server.ask("POST", "/excel/batch", RATE)["results"]
        assert result == {"v": 0.0725}
        file = module.server_file()
        told = json.loads(file.read_text())
        assert told["url"].startswith("https://localhost:")
        file.write_text(json.dumps({**told, "certificate": str(other)}))
        with pytest.raises(module.ServerError, match="cannot be trusted"):
            server.ask("POST", "/excel/batch", RATE)
        file.write_text(json.dumps({**told, "certificate": None}))
        with pytest.raises(module.ServerError, match="cannot be trusted"):
            server.ask("POST", "/excel/batch", RATE)
