"""schemathesis against `/openapi.json` and a running service: none of its checks finds a thing.

All phases, all checks, links followed; the same requests in every run. What the description cannot
say ("exactly one way of naming the place") is in the tables of `test_lookup_parameters`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

HOOKS = Path(__file__).parents[1] / "support" / "schemathesis_hooks.py"
CONFIGURATION = """
hooks = {hooks}
headers = {{ X-API-Key = "{key}" }}
generation.deterministic = true
generation.database = "none"
generation.max-examples = 50

[warnings]
# that most lookups are 400 or 404 is what random places come to
enabled = false

[[operations]]
include-operation-id = "lookup"
# what the description allows may name the place in no way or in two (400), or a place that is
# not there (404)
checks.positive_data_acceptance.expected-statuses = [200, 400, 404]
"""


def schemathesis(service, folder, **environment):
    """What one run says."""
    configuration = folder / "schemathesis.toml"
    text = CONFIGURATION.format(hooks=json.dumps(str(HOOKS)), key=service.key)
    configuration.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration)]
    command += ["run", f"{service.base_url}/openapi.json", "--no-color", "--continue-on-failure"]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error", **environment},
    )


def test_the_description_and_the_service_agree(service, tmp_path):
    ended = schemathesis(service, tmp_path, SVC_TEST_TOLD=str(tmp_path / "told"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for said in ("No issues found", "Operations:       6 selected / 6 total", "Tested: 6"):
        assert said in ended.stdout
    assert "2 covered / 2 selected / 2 total" in ended.stdout
    phases = re.findall(r"✅ (Examples|Coverage|Fuzzing|Stateful)$", ended.stdout, re.MULTILINE)
    assert phases == ["Examples", "Coverage", "Fuzzing", "Stateful"]
    # our own checks took part: an answer of each address went through the client library's model
    assert set((tmp_path / "told").read_text().split()) == {
        "lookup",
        "freshness",
        "health",
        "list_nexus",
        "add_nexus",
        "remove_nexus",
    }
