"""Every command and code block of the README runs, against the service it speaks of."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from pydantic import SecretStr
from support.command import svc_tools
from support.faults import KEY
from support.pages import served_page
from support.spreadsheets import excel_serve

from svc_sdk import Svc
from svc_tools.demo import orders
from svc_tools.excel import settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

ORDERS = """\
state,zip,order_date,amount
CA,94105,2026-02-01,120.00
Washington,98101,2024-06-01,4.00
ma,02134,2026-10-05,19.99
"""
"""What stands for a reader's own file: every row has a whole rate."""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def located(text, service):
    """The block with a running service in place of the reader's own."""
    return text.replace("https://rates.example", service).replace("your-key", KEY)


def run(command, *, folder=None, **environment):
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env=os.environ | environment,
    )


def test_the_python_blocks_run_in_order(service, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("python"):
        exec(compile(located(block, service), "README.md", "exec"), names)  # noqa: S102 - the README's own
    taxed = names["taxed"]
    assert list(taxed["lookup_status"]) == ["ok", "ok", "ok", "partial"]
    assert list(taxed["tax"])[:2] == [Decimal("10.35"), Decimal("0.41")]
    assert taxed["tax"].isna().tolist() == [False, False, False, True]
    assert (tmp_path / "orders-report.xlsx").stat().st_size > 5_000
    assert "0.08625" in capsys.readouterr().out
    assert [answer.rate.state for answer in names["results"]] == ["CA"] * 3
    done = pd.read_csv(tmp_path / "orders-with-tax.csv")
    assert list(done["tax"].dropna()) == [10.35, 0.41, 1.25]
    pd.testing.assert_series_equal(names["again"]["tax"], taxed["tax"])
    assert (tmp_path / "orders.html").stat().st_size > 5_000
    assert (tmp_path / "tax_map.png").stat().st_size > 5_000


@pytest.mark.parametrize("line", re.findall(r"^\$ (.+)$", README, re.MULTILINE))
def test_each_command_line_answers(line, tmp_path):
    (tmp_path / "orders.csv").write_text(ORDERS)
    words = shlex.split(line)
    assert words[0] == "svc-tools"
    done = svc_tools(*words[1:], folder=tmp_path)
    assert done.returncode == 0
    # what a command decided by itself is told beside its answer
    assert all(told.startswith("svc: ") for told in done.stderr.splitlines())
    assert done.stdout


def test_the_nexus_commands_run_in_order_and_remove_what_was_ticked(tmp_path):
    (commands,) = [block for block in blocks("sh") if "nexus" in block]
    (tmp_path / "orders.csv").write_text(ORDERS)
    environment = {
        "SVC_DATABASE_URL": str(tmp_path / "service.db"),
        "SVC_RECEIPTS": str(tmp_path / "receipts"),
    }
    said = []
    for line in commands.strip().splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        done = svc_tools(*words[1:], folder=tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        if words[2] == "plan":
            first, _ = (tmp_path / "plan.csv").read_text().split("\n", 1)
            plan = pd.read_csv(tmp_path / "plan.csv", dtype="str", comment="#")
            assert plan["remove"].isna().all()  # nothing is ticked in advance
            table = plan.assign(remove="x").to_csv(index=False)
            (tmp_path / "plan.csv").write_text(f"{first}\n{table}")
    _, _, dry, sent, receipts = said
    assert "DELETE /v1/portability/nexus/OR?nexus_type=economic" in dry
    assert "1 removed" in " ".join(sent.split()), sent
    assert "1 removed" in " ".join(receipts.split()), receipts


def test_the_page_is_served_as_described(tmp_path):
    (command,) = [block for block in blocks("sh") if "panel" in block]
    _, panel, *options = shlex.split(command)
    assert panel == "panel"
    with served_page(*options, cwd=tmp_path) as page:
        assert any("embedded service" in line for line in page.said)


def test_the_server_of_the_spreadsheets_is_started_as_described(tmp_path, monkeypatch):
    (command,) = [block for block in blocks("sh") if "excel" in block]
    _, excel, serve, *options = shlex.split(command)
    assert (excel, serve) == ("excel", "serve")
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://localhost:{free.getsockname()[1]}"
    # its port is taken again
    settings.publish_server(address, SecretStr("a-token-of-the-last-run"))
    with excel_serve(*options, **os.environ) as (_, said):
        assert any(address in line for line in said), said


def test_a_real_service_is_reached_as_described(service):
    (block,) = blocks("bash")
    *exports, command = located(block, service).strip().splitlines()
    environment = dict(line.removeprefix("export ").split("=", 1) for line in exports)
    done = run(
        [sys.executable, "-m", *command.replace("svc-tools", "svc_tools").split()], **environment
    )
    assert done.returncode == 0
    assert service in done.stdout


def test_the_demo_has_as_many_lines_as_it_says():
    assert f"{len(orders()):,} messy order lines" in README


def test_the_make_targets_exist():
    targets = set(re.findall(r"\bmake ([a-z]+)", README))
    assert targets == {"demo", "notebook", "test", "bench"}
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}: " in makefile for target in targets)


def test_the_windows_commands_do_what_make_does():
    (block,) = blocks("bat")
    makefile = (ROOT / "Makefile").read_text()
    for piece in ("-m venv", "-c constraints.txt -e", "svc-tools demo", "jupyter lab --Server"):
        assert piece in block
        assert piece in makefile.replace("$(VENV)", ".venv").replace(" .venv", "")


def test_the_list_of_states_is_what_the_service_says(service):
    with Svc(KEY, base_url=service) as client:
        said = {}
        for state in client.freshness().states:
            said.setdefault(state.model_extra["tier"], []).append(state.state)
    listed = re.findall(r"<!-- (?:tier )?(\w+) -->([A-Z ]+)<!-- end -->", README)
    assert {tier: states.split() for tier, states in listed} == {
        tier: sorted(states) for tier, states in said.items()
    }


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
