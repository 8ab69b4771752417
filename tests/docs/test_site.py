"""The documentation site is built without a warning, and everything public is in it."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pandas as pd
import pytest
import test_public_names
from filelock import FileLock
from sphinx.util.inventory import InventoryFile
from support.browser import browser, new_page
from support.examples import spread
from support.notebooks import warm_kernels

from scripts import run_notebooks
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.show import codes
from svc_tools.show.official_pages import OFFICIAL_PAGES
from svc_tools.tables.exports import EXPORTS
from svc_tools.tables.states import STATES

pytestmark = pytest.mark.timeout(300)  # one builds the site, and the others wait for it

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """What a page of the site has: its links, what it loads, its places, and its words."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.places, self.words = [], [], set(), ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loaded.append(given["href"])
        elif tag in {"script", "img", "iframe", "source"} and given.get("src"):
            self.loaded.append(given["src"])

    def handle_data(self, data):
        self.words += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built once; the tutorials without their results, which take a minute.

    `make docs` executes them, and the tests of the notebooks check what they show.
    """
    base = tmp_path_factory.getbasetemp()
    # the workers of one run share the folder above
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with FileLock(shared.with_suffix(".lock")):
        if not shared.exists():
            _build(shared)
    return shared / "html"


def _build(folder):
    strict = ("-E", "-W", "--keep-going", "-q", "-d", folder / "doctrees", "-D", "executed=0")
    command = (sys.executable, "-m", "sphinx", *strict, "-c", "docs", ".", folder / "html")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def pages(site):
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


@pytest.fixture(scope="module")
def described(site):
    """The names of the reference."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {name for kind in inventory.data.values() for name in kind}


def test_every_page_of_the_documentation_is_in_the_site(site):
    for path in (*ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb")):
        page = path.relative_to(ROOT).with_suffix(".html")
        assert (site / page).exists(), page


def test_everything_public_is_in_the_reference(described):
    packages = {name: importlib.import_module(name) for name in test_public_names.PACKAGES}
    elsewhere = {
        id(getattr(package, name))
        for module, package in packages.items()
        for name in package.__all__
        if f"{module}.{name}" in described
    }
    for module, package in packages.items():
        for name in package.__all__:
            one = getattr(package, name)
            if callable(one):
                assert f"{module}.{name}" in described or id(one) in elsewhere
    accessor = type(pd.DataFrame().svc)
    for name in vars(accessor):
        if not name.startswith("_"):
            assert f"svc_tools.frames.SvcAccessor.{name}" in described


def test_every_command_function_code_and_export_is_in_the_reference(pages):
    words = {name: " ".join(page.words.split()) for name, page in pages.items()}
    for line in test_public_names.of_the_command_line():
        command, _, option = line.partition(" --")
        parts = command.split()
        if option and not option.endswith("(former)"):
            assert f"--{option.split()[0]}" in words["docs/COMMANDS.html"], line
        elif all(part.islower() for part in parts):
            assert command in words["docs/COMMANDS.html"]
    for one in FUNCTIONS:
        assert f"={one.signature}" in words["docs/FUNCTIONS.html"]
    for code in codes.CODES:
        assert code in words["docs/CODES.html"]
    for one in EXPORTS:
        assert one.name in words["docs/SHOPS.html"]
    for code, state in STATES.items():
        if page := OFFICIAL_PAGES.get(code):
            named = (page.lookup or page.other).removeprefix("the ")
            shown = f"{state} {named}".replace("'", "’")  # noqa: RUF001
            assert shown in words["docs/ADDRESSES.html"]


def test_every_link_within_the_site_leads_somewhere(site, pages):
    for name, page in pages.items():
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("data:"):
                continue
            path = (site / name).parent / unquote(parts.path) if parts.path else site / name
            assert path.resolve().exists(), f"{name}: {link}"
            target = path.resolve().relative_to(site).as_posix()
            if parts.fragment and target in pages and parts.fragment != "top":
                assert unquote(parts.fragment) in pages[target].places, f"{name}: {link}"


def test_nothing_is_loaded_from_the_network(pages):
    for name, page in pages.items():
        assert [link for link in page.loaded if urlsplit(link).scheme not in {"", "data"}] == [], (
            name
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_shows_every_page_without_scrolling_sideways(site, pages, scheme):
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    with (
        browser() as running,
        new_page(running, width=400, height=800, colours=scheme, offline=True) as (page, seen),
    ):
        names = sorted(pages.keys() - {"index.html"})  # it leads to the start page
        for name in names if scheme == "light" else spread(names, 5):  # colors are no wider
            page.goto((site / name).as_uri())
            assert page.evaluate(wider) <= 0, name
    assert seen.complaints == []
    assert seen.outside("file:") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "name"), [(1280, "wide"), (400, "narrow")])
def test_the_picture_is_that_of_the_theme_and_width(site, scheme, width, name):
    shown = "Array.from(document.images).filter(one => one.offsetParent).map(one => one.src)"
    with (
        browser() as running,
        new_page(running, width=width, height=800, colours=scheme, offline=True) as (page, _),
    ):
        page.goto((site / "docs/index.html").as_uri())
        (picture,) = page.evaluate(shown)
    assert picture.endswith(f"panel_lookup_{scheme}_{name}.png")


def test_a_notebook_is_executed_once_for_its_content(tmp_path, monkeypatch):
    monkeypatch.setattr(run_notebooks, "STORED", tmp_path / "stored")
    path = tmp_path / "one.ipynb"

    def written(source):
        cell = nbformat.v4.new_code_cell(source, id="one")
        path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=[cell])), encoding="utf-8")
        with warm_kernels():
            run_notebooks.execute([path])
        (stored,) = (tmp_path / "stored").iterdir()
        assert stored == run_notebooks.executed(path)
        (found,) = json.loads(stored.read_text(encoding="utf-8"))["cells"]
        return stored.stat().st_mtime_ns, found["outputs"]

    first, (output,) = written("import os; print(os.environ.get('SVC_API_KEY'), 6 * 7)")
    assert output["text"] == "None 42\n"
    again, _ = written("import os; print(os.environ.get('SVC_API_KEY'), 6 * 7)")
    assert again == first
    assert written("import ipywidgets; ipywidgets.IntSlider()")[1] == []  # no kernel, no widget
    _, (panel,) = written("import svc_tools; svc_tools.panel(svc_tools.connect('embedded'))")
    assert list(panel["data"]) == ["text/markdown"]
