"""The commands of docs/OFFICIAL_FILES.md and docs/SERVICE.md run in order; tables are true."""

from __future__ import annotations

import re
import shlex
from datetime import date
from pathlib import Path

import pytest
from support.boundary_files import METRO, MINNEAPOLIS, line
from support.command import svc_tools
from support.systems import homes

from svc_sdk.rates import units_to_rate
from svc_tools.service.faults import FaultPlan
from svc_tools.service.keys import PLANS
from svc_tools.service.ratebook import load_book

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = "".join(
    (DOCS / page).read_text(encoding="utf-8") for page in ("OFFICIAL_FILES.md", "SERVICE.md")
)
COMMANDS = re.findall(r"^\$ (.+)$", GUIDE, re.MULTILINE)


def rate_file(state):
    """A whole rate file, with the figures of the shipped book."""
    book = load_book()
    fips, kinds = book.states[state].fips, {"county": "00", "city": "01", "district": "63"}
    lines = []
    for one in book.jurisdictions.values():
        for row in book.rates[one.id] if one.state == state else ():
            begin, end = row.begin or date(2005, 1, 1), row.end or date(2999, 12, 31)
            code = (kinds[one.level], one.code) if one.level in kinds else ("45", fips)
            rate = units_to_rate(row.units)
            lines.append(",".join((fips, *code, *[rate] * 4, f"{begin:%Y%m%d}", f"{end:%Y%m%d}")))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What each command printed, in a home and a folder of their own."""
    folder = tmp_path_factory.mktemp("guide")
    home = homes(folder / "home")
    (folder / "MNR2026Q4AUG18.csv").write_text(rate_file("MN"))
    records = [
        line("4", zips="55101-55101", plus4="2370-2370", county="123", specials=METRO),
        line("Z", zips="55401-55401", **MINNEAPOLIS),
    ]
    (folder / "MNB2026Q4AUG18.csv").write_text("\n".join(records) + "\n")
    (folder / "known.csv").write_text("state,city,zip,expected_rate\nMA,Boston,02108,6.25\n")
    printed = {}
    for command in COMMANDS:
        done = svc_tools(*shlex.split(command)[1:], folder=folder, **home)
        assert done.returncode == 0, (command, done.stderr)
        printed[command] = done.stdout
    return printed


def test_an_imported_boundary_file_answers_exactly(ran):
    (answer,) = (text for command, text in ran.items() if " lookup MN " in command)
    assert "Confidence   exact" in answer
    assert "ZIP+4" in answer


def test_keys_are_made_and_listed(ran):
    made = [text for command, text in ran.items() if "keys create" in command]
    assert all(re.fullmatch(r"svc_[\w-]{43}\n", text) for text in made)
    listed = ran["svc-tools keys list"]
    assert "notebook" in listed
    assert "tight" in listed
    assert not any(text.strip() in listed for text in made)


def test_the_check_agrees(ran):
    assert "100.0" in ran["svc-tools book check known.csv"]


def test_the_table_of_plans_is_true():
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", GUIDE, re.MULTILINE)
    said = {name: [cell.replace(",", "") for cell in cells.split(" | ")] for name, cells in rows}
    assert said == {
        plan.name: [
            str(plan.rate.per_minute) if plan.rate else "any",
            str(plan.rate.burst) if plan.rate else "any",
            str(plan.monthly_quota) if plan.monthly_quota else "any",
            *("yes" if name in plan.features else "no" for name in ("history", "full", "nexus")),
        ]
        for plan in PLANS.values()
    }


def test_the_faults_it_names_exist():
    (example,) = re.findall(r'--faults "([^"]+)" --seed', GUIDE)
    (named,) = re.findall(
        r"any status of the specification(.+?)\. Such a response", GUIDE, re.DOTALL
    )
    kinds = re.findall(r"`([\w-]+)`", named)
    assert len(kinds) == 7
    FaultPlan.read(example, 7)
    FaultPlan.read(",".join(f"{kind}:1%" for kind in kinds), 7)
