"""`svc-tools enrich` in a shell: questions, pipes that close, what killed runs left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from support.command import svc_tools
from support.faults import KEY, echo, serving

PLACES = 1_100


@pytest.fixture
def account(tmp_path):
    with serving() as faults:
        faults.will(echo)
        cache = tmp_path / "cache" / "answers.db"
        known = {"SVC_API_KEY": KEY, "SVC_BASE_URL": faults.base_url, "SVC_CACHE": str(cache)}
        yield faults, known


def orders_in(folder, places):
    path = folder / "orders.csv"
    path.write_text("zip,state\n" + "".join(f"{10_001 + n},NY\n" for n in range(places)))
    return path


TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


def on_a_terminal(keys, *arguments, **environment):
    """Run the command on a terminal of its own, and answer its question with these keys."""
    command = [sys.executable, "-m", "svc_tools", *map(str, arguments)]
    with subprocess.Popen(
        [sys.executable, "-c", TERMINAL, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | environment,
        bufsize=0,
    ) as process:
        shown, asked = b"", False
        while piece := process.stdout.read(4_096):
            shown += piece
            if not asked and b"[y/N]" in shown:
                asked = process.stdin.write(keys)
    return process.returncode, shown.decode()


@pytest.mark.parametrize(
    ("keys", "code", "asked"),
    [(b"n\n", 3, 0), (b"\x03", 130, 0), (b"\x04", 130, 0), (b"y\n", 0, PLACES)],
    ids=["no", "Ctrl+C", "end", "yes"],
)
def test_a_person_is_asked_before_many_lookups_are_spent(account, tmp_path, keys, code, asked):
    faults, environment = account
    output = tmp_path / "out.csv"
    command = ("enrich", orders_in(tmp_path, PLACES), "-o", output)
    done, shown = on_a_terminal(keys, *command, **environment)
    assert f"Look up {PLACES:,} places" in shown
    assert (done, len(faults.seen), output.exists()) == (code, asked, asked > 0)
    assert ("Nothing was looked up." in shown) == (not asked)


@pytest.mark.parametrize("how", [(), ("--json",), ("--plan",)])
def test_a_summary_that_nobody_reads_changes_nothing(account, tmp_path, how):
    _, environment = account
    output = tmp_path / "out.csv"
    command = [sys.executable, "-m", "svc_tools", "enrich", orders_in(tmp_path, 3), "-o", output]
    read, write = os.pipe()
    os.close(read)  # like a `head` that has seen enough
    try:
        done = subprocess.run(
            [*command, *how],
            check=False,
            stdout=write,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
        )
    finally:
        os.close(write)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert output.exists() == ("--plan" not in how)


def test_what_earlier_runs_left_beside_the_output_is_swept_or_named(account, tmp_path):
    _, environment = account
    draft, incomplete = tmp_path / ".out-0123abcd.csv", tmp_path / "out-incomplete.csv"
    draft.write_text("half")
    os.utime(draft, (time.time() - 60,) * 2)
    incomplete.write_text("of an earlier day")
    command = ("enrich", orders_in(tmp_path, 3), "-o", tmp_path / "out.csv")
    done = svc_tools(*command, **environment)
    assert (done.returncode, draft.exists(), incomplete.exists()) == (0, False, True)
    assert "out-incomplete.csv is of an earlier run" in " ".join(done.stdout.split())


def test_an_output_that_is_a_link_stays_one(account, tmp_path):
    _, environment = account
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "out.csv"
    link.symlink_to(tmp_path / "elsewhere" / "rows.csv")
    assert svc_tools("enrich", orders_in(tmp_path, 3), "-o", link, **environment).returncode == 0
    assert link.is_symlink()
    assert len((tmp_path / "elsewhere" / "rows.csv").read_text().splitlines()) == 4


def test_no_control_characters_reach_a_log(account, tmp_path):
    _, environment = account
    command = ("enrich", orders_in(tmp_path, 3), "-o", tmp_path / "out.csv")
    done = svc_tools(*command, **environment)
    assert not {"\x1b", "\r"} & set(done.stdout + done.stderr)
    assert KEY not in done.stdout + done.stderr
