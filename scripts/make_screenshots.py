"""Make the pictures of the panel: three tabs, light and dark, wide and narrow.

    python scripts/make_screenshots.py docs

The panel runs as its page (`svc-tools panel --embedded`) in Chromium, with five nexus records,
sales of two years that this script makes up, and the demo's orders; nothing of the user is read.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from datetime import date, timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import Locator, Page, expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTHS = {"wide": 1200, "narrow": 600}
COLOURS = ("light", "dark")
MOST = 1500  # pixels of height: what is further down is said by what stands above it
PALETTE = 128
PATIENCE = 120_000

RECORDS = (
    ("TX", "economic", "2019-10-01"),
    ("CA", "physical", "2016-01-15"),
    ("OR", "economic", "2020-02-01"),
    ("NH", "economic", "2021-06-30"),
    ("WA", "economic", "2018-11-05"),
)
WEEKLY = {"TX": 12_900, "CA": 7_300, "OR": 310, "NH": 140, "WA": 1_650, "NY": 11_200, "AL": 4_300}
"""Dollars of sales of each week."""
MARKETPLACE = {"TX", "AL"}
"""Where a third of them goes through a marketplace."""


def draw(folder: Path) -> None:
    """Start the page with its content, and take every picture."""
    with tempfile.TemporaryDirectory() as place, _page(Path(place)) as address:
        (Path(place) / "sales.csv").write_text(_sales())
        shutil.copy(str(files("svc_tools.demo") / "orders.csv"), Path(place) / "orders.csv")
        with sync_playwright() as started:
            browser = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for name, width in WIDTHS.items():
                for colours in COLOURS:
                    context = browser.new_context(
                        viewport={"width": width, "height": 900}, color_scheme=colours
                    )
                    context.set_default_timeout(PATIENCE)
                    expect.set_options(timeout=PATIENCE)
                    page = context.new_page()
                    page.goto(address)
                    for tab, act in (("lookup", _lookup), ("file", _file), ("nexus", _nexus)):
                        page.get_by_role("tab", name=tab.capitalize()).click()
                        top = act(page)
                        _take(page, top, folder / f"panel_{tab}_{colours}_{name}.png", width)
                    context.close()
            browser.close()


@contextmanager
def _page(place: Path) -> Iterator[str]:
    """The page on an embedded service of its own, with the five records."""
    homes = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    environment = {name: text for name, text in os.environ.items() if not name.startswith("SVC_")}
    environment |= dict.fromkeys(homes, str(place)) | {"SVC_CACHE": "off"}
    tools = [sys.executable, "-m", "svc_tools"]
    for state, kind, day in RECORDS:
        added = [
            *tools,
            "nexus",
            "add",
            state,
            "--type",
            kind,
            "--registered-at",
            day,
            "--embedded",
        ]
        subprocess.run(added, env=environment, check=True, capture_output=True)  # noqa: S603 - our own
    with subprocess.Popen(  # noqa: S603 - our own
        [*tools, "panel", "--no-browser", "--embedded"],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            for line in process.stdout or ():
                if found := re.search(r"http://\S+", line):
                    yield found[0]
                    break
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def _sales() -> str:
    """Two years of weekly sales up to yesterday."""
    lines = ["state,date,amount,channel"]
    for week in range(104):
        day = date.today() - timedelta(days=1 + 7 * week)  # noqa: DTZ011 - a day of this place
        for state, dollars in WEEKLY.items():
            elsewhere = dollars // 3 if state in MARKETPLACE else 0
            lines.append(f"{state},{day},{dollars - elsewhere}.00,direct")
            if elsewhere:
                lines.append(f"{state},{day},{elsewhere}.00,marketplace")
    return "\n".join(lines) + "\n"


def _lookup(page: Page) -> Locator:
    for state, zip_code in (("TX", "78701"), ("CA", "94105")):
        _seen(page.get_by_label("State", exact=True)).fill(state)
        _seen(page.get_by_label("ZIP Code, address or place")).fill(zip_code)
        _seen(page.get_by_role("button", name="Look up", exact=True)).click()
        expect(_seen(page.get_by_role("button", name=f"Show {state} {zip_code}"))).to_be_visible()
    return page.locator(".svc-panel")


def _file(page: Page) -> Locator:
    _seen(page.get_by_label("Or the path of a file")).fill("orders.csv")
    _seen(page.get_by_role("button", name="Open", exact=True)).click()
    _seen(page.get_by_role("button", name="Add rates")).click()
    expect(_seen(page.get_by_role("button", name="Download"))).to_be_visible()
    return _seen(page.get_by_role("heading", name="Plan"))


def _nexus(page: Page) -> Locator:
    page.get_by_role("button", name="List from the service").click()
    expect(_seen(page.get_by_text("5 records in 5 states"))).to_be_visible()
    _seen(page.get_by_label("Sales file")).fill("sales.csv")
    page.get_by_role("button", name="Compute exposure").click()
    expect(_seen(page.get_by_text("Exposure by state"))).to_be_visible()
    page.get_by_role("button", name="Make the plan").click()
    for record in ("OR economic", "NH economic"):
        page.get_by_role("checkbox", name=f"Remove {record}").check()
    page.get_by_role("button", name="Preview the requests").click()
    expect(_seen(page.get_by_role("button", name="Remove 2 records"))).to_be_visible()
    return _seen(page.get_by_role("heading", name="3. The plan"))


def _seen(locator: Locator) -> Locator:
    """What is shown: hidden parts of other tabs may be called the same."""
    return locator.locator("visible=true").first


def _take(page: Page, top: Locator, path: Path, width: int) -> None:
    """From an element on, down to the end of the page or the most of it."""
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    first = max(0, (top.bounding_box() or {"y": 0})["y"] - 12)
    height = page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": first, "width": width, "height": min(MOST, height - first)}
    page.screenshot(path=path, full_page=True, clip=clip)
    with Image.open(path) as picture:
        # the other methods give the colours of small things away
        small = picture.convert("RGB").quantize(PALETTE, Image.Quantize.MAXCOVERAGE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
