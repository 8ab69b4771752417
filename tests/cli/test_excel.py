"""`svc-tools excel install` and `check`, as a person and as a program see them."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr
from support.faults import KEY, answer
from support.keyrings import use_keyring
from support.secrets import files_with
from typer.testing import CliRunner

from svc_tools.cli.app import app
from svc_tools.excel import settings

TESTS = str(Path(__file__).parents[1])
NO_RECORDS = answer(200, b'{"nexus": [], "count": 0}')


@pytest.fixture(autouse=True)
def keyring(monkeypatch, tmp_path):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return use_keyring(monkeypatch)


def run(*words, typed=None, width=100):
    """One command of the group: exit code, output, errors."""
    result = CliRunner().invoke(app, ["excel", *words], input=typed, env={"COLUMNS": str(width)})
    return result.exit_code, result.stdout, result.stderr


def test_a_key_from_a_program_is_kept_and_shown_nowhere(tmp_path, service, keyring):
    code, out, err = run("install", "--base-url", service, "--key-stdin", typed=f"{KEY}\n")
    assert code == 0, err
    assert "accepts the key" in out
    assert "svc-tools excel serve" in out  # what comes next
    assert KEY not in out + err
    assert list(keyring.kept.values()) == [KEY]
    assert files_with(KEY, tmp_path)[0] == []
    code, out, _ = run("check")
    assert code == 0
    assert f"Service: {service}" in out
    assert KEY not in out


def test_without_a_key_and_a_terminal_the_key_is_asked_for_in_a_sentence(service, keyring):
    code, _, err = run("install", "--base-url", service)
    assert code == 2
    assert "--key-stdin" in err
    code, _, err = run("install", "--base-url", service, "--key-stdin", typed="\n")
    assert code == 2
    assert "no key" in err
    settings.remember(service, SecretStr(KEY))  # now there is one
    assert run("install", "--base-url", service)[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--base-url", "rates", "--key-stdin"], "address cannot be used"),
        (["--base-url", "https://rates.example", "--embedded"], "exclude each other"),
        (["--embedded", "--forget-key"], "exclude each other"),
        (["--key-stdin"], "--key-stdin needs --base-url"),
    ],
)
def test_options_that_cannot_be_used_are_refused_before_anything_is_done(tmp_path, words, said):
    code, out, err = run("install", *words, typed=f"{KEY}\n")
    assert (code, out) == (2, "")
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_is_refused_is_a_sentence_and_an_exit_code(faults):
    faults.will(answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "No."}}'))
    code, out, err = run("install", "--base-url", faults.base_url, "--key-stdin", typed=f"{KEY}\n")
    assert (code, out) == (2, "")
    assert "does not accept the key" in err


def test_a_key_is_typed_unseen_on_a_terminal(service):
    """The words of the command on a real terminal; what is typed is not among them."""
    keyring = {"PYTHON_KEYRING_BACKEND": "support.keyrings.MemoryKeyring", "PYTHONPATH": TESTS}
    ours, theirs = pty.openpty()
    words = ("-m", "svc_tools", "excel", "install", "--base-url", service)
    with subprocess.Popen(
        [sys.executable, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | keyring,
    ) as process:
        os.close(theirs)
        seen = b""
        # the blank is written once nothing that is typed is shown any more
        while b"API key of your account: " not in seen and (part := read(ours)):
            seen += part
        os.write(ours, f"{KEY}\n".encode())
        while part := read(ours):
            seen += part
    os.close(ours)
    assert KEY.encode() not in seen
    assert b"accepts the key" in seen
    assert process.returncode == 0


def read(terminal):
    """What the terminal shows next; nothing once the command has ended, or says no more."""
    try:
        return os.read(terminal, 4096) if select.select([terminal], [], [], 30)[0] else b""
    except OSError:
        return b""


def test_check_for_a_program_has_every_line_and_says_whether_all_is_well(faults):
    settings.remember(faults.base_url, SecretStr(KEY))
    faults.will(NO_RECORDS)
    code, out, _ = run("check", "--json")
    told = json.loads(out)
    assert (code, told["ok"]) == (0, True)
    lines = {line["name"]: line for line in told["lines"]}
    assert lines["Response"]["mark"] == "ok"
    assert set(lines["Server"]) == {"name", "mark", "said", "todo"}
    faults.will(answer(401, b"{}"))
    code, out, _ = run("check", "--json")
    assert (code, json.loads(out)["ok"]) == (1, False)
    assert KEY not in out
