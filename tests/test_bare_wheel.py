"""The wheel with httpx and pydantic alone: rates of ZIPs and places need no more."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from shutil import copyfile

import pytest
from packaging.requirements import Requirement
from support.command import svc_tools as command
from support.systems import homes

import svc_tools

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A folder with what `pip install` of the wheel alone brings; nothing is downloaded."""
    work = tmp_path_factory.mktemp("bare")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", work],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = work.glob("*.whl")
    folder = work / "packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        (metadata,) = [one for one in archive.namelist() if one.endswith("/METADATA")]
        text = archive.read(metadata).decode()
    needed = [
        line.partition(": ")[2]
        for line in text.splitlines()
        if line.startswith("Requires-Dist: ") and "extra ==" not in line
    ]
    assert {Requirement(one).name for one in needed} == {"httpx", "pydantic"}
    for found in closure(needed):
        for file in found.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                copy = folder / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                copyfile(found.locate_file(file), copy)
    return folder


def closure(needed):
    """The distributions that these requirements lead to."""
    found = {}
    while needed:
        one = Requirement(needed.pop())
        if one.name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found[one.name] = distribution(one.name)
            needed += found[one.name].requires or []
    return found.values()


def run(bare, home, code, *arguments):
    """What code prints in that environment: without site-packages, with a home of its own."""
    own = {"PYTHONPATH": str(bare), "SVC_CACHE": "off", **homes(home)}
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code, *arguments],
        cwd=home.parent,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


LOOKUPS = """
import asyncio, importlib.util, sys, svc_tools
libraries = "pandas aiohttp fastapi sqlalchemy usaddress shapely bokeh_sampledata platformdirs"
assert not [name for name in libraries.split() if importlib.util.find_spec(name)]
PLACES = [
    {"state": "TX", "zip": "78701"},
    {"state": "WA", "location": "Seattle"},
    {"state": "NJ", "zip": "07030-1234", "as_of": "2026-02-01"},
]
async def awaited():
    async with svc_tools.aconnect("embedded") as client:
        one = await client.lookup("TX", zip="78701")
        many = svc_tools.alookup_many(PLACES, client=client, cache=False)
        return one, {item["state"]: outcome async for item, outcome in many}
with svc_tools.connect("embedded") as client:
    print(client.lookup("TX", zip="78701").combined_rate_string)
    print(client.lookup("WA", location="Seattle", mode="full").combined_rate_string)
    many = svc_tools.lookup_many(PLACES, client=client, cache=False)
    found = {item["state"]: outcome for item, outcome in many}
    one, others = asyncio.run(awaited())
    for by_state in (found, others):
        assert {outcome.status for outcome in by_state.values()} == {"ok"}
        print(*(by_state[state].found.combined for state in ("TX", "WA", "NJ")))
    print(one.combined_rate_string, len(client.book_digest), client._service.address)
"""

NAMED = """
import svc_tools
from svc_sdk import SvcError
from svc_tools.base.extras import MissingExtraError
given = [
    {"address": "600 Congress Ave, Austin, TX 78701"},
    {"address": "600 Congress Ave", "city": "Austin"},
    {"lat": 30.27, "lng": -97.74},
]
with svc_tools.connect("embedded") as client:
    requests = [lambda one=one: client.lookup("TX", **one) for one in given]
    for request in (*requests, client.list_nexus, client.health, client.freshness):
        try:
            request()
        except SvcError as error:
            assert "needs the extra 'service'" in error.message, error
            assert 'pip install "svc-tax-tools[service]' in error.message, error
            print(error.error_code, error.attempts)
    try:
        client.base_url
    except MissingExtraError as error:
        print(error.extra)
"""


def test_rates_of_zips_and_places_need_no_extra(bare, tmp_path):
    expected = run_here()
    assert run(bare, tmp_path / "home", LOOKUPS) == expected
    assert not (tmp_path / "home").exists()


def run_here():
    """The figures in this environment, which has every extra."""
    with svc_tools.connect("embedded") as client:
        texas = client.lookup("TX", zip="78701").combined_rate_string
        seattle = client.lookup("WA", location="Seattle").combined_rate_string
        jersey = client.lookup("NJ", zip="07030", as_of="2026-02-01").combined_rate_string
    units = [str(int(rate.replace(".", ""))) for rate in (texas, seattle, jersey)]
    return [texas, seattle, *units, *units, texas, "64", "None"]


def test_addresses_points_and_records_name_the_extra_that_they_need(bare, tmp_path):
    refused = ["EXTRA_MISSING", "1"] * 6
    assert run(bare, tmp_path / "home", NAMED) == [*refused, "service"]
    assert not (tmp_path / "home").exists()


OWN = """
import svc_tools
from svc_tools.service.ratebook.own import own_book_path
with svc_tools.connect("embedded") as client:
    for place in ({"location": "Adams County"}, {"zip": "46711"}):
        print(client.lookup("IN", as_of="2026-05-01", **place).combined_rate_string)
print(own_book_path())
"""


def test_a_file_that_was_imported_with_every_extra_is_used_without_any(bare, tmp_path):
    file, home = tmp_path / "INR2026Q2FEB1.csv", tmp_path / "home"
    file.write_text(
        "18,45,18,0.07,0.07,0,0,20080401,29991231\n18,00,001,0.0123,0.0123,,,20120101,29991231\n"
    )
    assert run(bare, home, OWN)[:2] == ["0.07000", "0.07000"]
    assert command("book", "import", file, **homes(home)).returncode == 0
    path = home / "svc-tools" / "book.db"
    assert run(bare, home, OWN) == ["0.08230", "0.08230", str(path)]
