"""docs/NEXUS.md says what the code does: every reason, the words before a removal, its Python."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from svc_tools.nexus.notices import BEFORE_REMOVING
from svc_tools.nexus.planning import RULES

GUIDE = (Path(__file__).parents[2] / "docs" / "NEXUS.md").read_text(encoding="utf-8")


def test_it_names_each_reason_under_its_own_suggestion():
    parts = re.split(r"\*\*(candidate|review|keep)\*\*", GUIDE)
    told = {parts[at]: parts[at + 1] for at in range(1, len(parts), 2)}
    for rule in RULES:
        if rule.decision:
            assert f"`{rule.code}`" in told[rule.decision], rule.code


@pytest.mark.parametrize("note", BEFORE_REMOVING)
def test_it_says_what_must_be_known_before(note):
    assert f"- {note}\n" in GUIDE


def test_its_python_runs(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[:1]
    done = subprocess.run(
        [sys.executable, "-c", block],
        env={"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "SVC_CACHE": "off"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("DELETE /v1/portability/nexus/OR?nexus_type=economic\n")
