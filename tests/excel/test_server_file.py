"""`server.json`: the same token and port from run to run, for the owner's eyes alone."""

from __future__ import annotations

import json
import os
import stat

import pytest
from pydantic import SecretStr

from svc_tools import ConfigurationError
from svc_tools.excel import server_file

URL = "https://localhost:8643"


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return server_file.server_path()


def test_before_the_first_run_there_is_a_new_token_and_no_port():
    assert server_file.read() is None
    assert server_file.known_port() is None
    one, other = server_file.known_token(), server_file.known_token()
    assert one != other
    assert len(one.get_secret_value()) >= 32


def test_token_and_port_stay_the_same_from_run_to_run(path, tmp_path):
    token = server_file.known_token()
    server_file.publish(f"{URL}/", token, tmp_path / "cert.pem")
    running = server_file.read()
    assert (running.url, running.pid) == (URL, os.getpid())
    assert running.certificate == tmp_path / "cert.pem"
    server_file.withdraw()
    stopped = server_file.read()
    assert stopped.pid is None
    assert (stopped.url, stopped.token) == (URL, token)
    assert (server_file.known_token(), server_file.known_port()) == (token, 8643)
    assert token.get_secret_value() not in repr(stopped)


def test_only_its_owner_reads_it(path):
    server_file.publish(URL, SecretStr("token"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    server_file.publish(URL, SecretStr("token"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {
        "url": URL,
        "token": "token",
        "pid": os.getpid(),
        "certificate": None,
    }


def test_a_run_that_ends_late_does_not_withdraw_the_next_one(path):
    server_file.publish(URL, SecretStr("token"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": 1}))
    server_file.withdraw()
    assert server_file.read().pid == 1


@pytest.mark.parametrize("content", ["{}", '{"url": 1, "token": "t"}', '{"url": "", "token": ""}'])
def test_a_file_that_says_nothing_is_as_none(path, content):
    path.parent.mkdir()
    path.write_text(content)
    assert server_file.read() is None


def test_a_file_that_cannot_be_read_is_a_sentence_that_names_it(path):
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(ConfigurationError, match=r"server\.json cannot be read"):
        server_file.known_token()
