"""Make the picture of Excel's task pane: light and dark, beside each other.

    python scripts/make_taskpane_pictures.py docs

The pane comes from `svc-tools excel serve` over the embedded service, in Chromium; a stand-in takes
the place of Excel. Nothing of the user is read.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from PIL import Image
from playwright.sync_api import Page, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH, HEIGHT, SCALE = 330, 1050, 2
GAP = 24
BACK = (128, 128, 128)
PALETTE = 128
PLACES = (("CA", "94105"), ("WA", "98101"), ("MA", "02134"), ("NJ", "07030"))
CELLS = [[f'=SVC.RATE("{state}","{code}","2026-02-01")'] for state, code in PLACES]
SHEET = {"name": "Orders", "row": 1, "column": 1, "formulas": CELLS, "values": [[0.1]] * 4}
LOOKUP = {
    "State": "CA",
    "ZIP Code or address": "94105",
    "Amount": "1,234.50",
    "Date of the sale": "2026-02-01",
}
HOST = (
    f"window.Excel = {{ run: async () => ({json.dumps({'sheets': [SHEET]})}),"
    " CalculationType: { full: 'Full' } };"
)


def draw(folder: Path) -> None:
    """Start the server, open the pane in both colours, and put the pictures together."""
    with tempfile.TemporaryDirectory() as place, _server(Path(place)) as (url, token):
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}) as client:
            calls = [{"f": "SVC_RATE", "a": [*one, "2026-02-01"]} for one in PLACES]
            client.post(f"{url}/excel/batch", json={"calls": calls}).raise_for_status()
        with sync_playwright() as started:
            browser = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            pictures = []
            for colours, act in (("light", _looked_up), ("dark", _key)):
                context = browser.new_context(
                    viewport={"width": WIDTH, "height": HEIGHT},
                    color_scheme=colours,
                    device_scale_factor=SCALE,
                )
                page = context.new_page()
                page.add_init_script(HOST)
                page.goto(f"{url}/excel/taskpane.html?token={token}")
                page.locator(".source[aria-busy=false]").wait_for()
                act(page)
                path = Path(place) / f"{colours}.png"
                page.screenshot(path=path)
                pictures.append(Image.open(path))
                context.close()
            browser.close()
        width = sum(one.width for one in pictures) + GAP
        whole = Image.new("RGB", (width, pictures[0].height), BACK)
        for number, one in enumerate(pictures):
            whole.paste(one, (number * (one.width + GAP), 0))
        small = whole.quantize(PALETTE, Image.Quantize.MAXCOVERAGE)
        small.save(folder / "excel_taskpane.png", optimize=True)


def _looked_up(page: Page) -> None:
    page.get_by_role("button", name="Refresh rates").click()
    page.get_by_role("button", name="Refresh", exact=True).click()
    page.locator("#message", has_text="looked up again").wait_for()
    for label, text in LOOKUP.items():
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Look up", disabled=False).click()
    page.locator("#inserting").wait_for()
    page.get_by_role("button", name="Check again", disabled=False).wait_for()
    page.get_by_role("heading", name="Sales tax").hover()
    page.evaluate("() => document.activeElement.blur()")


def _key(page: Page) -> None:
    page.get_by_text("Service and key").click()
    page.locator("summary", has_text="SVC.RATE(").click()
    page.get_by_text("Service and key").scroll_into_view_if_needed()
    page.evaluate(
        "() => { document.activeElement.blur();"
        " scrollTo(0, document.getElementById('account').offsetTop - 16); }"
    )


@contextmanager
def _server(place: Path) -> Iterator[tuple[str, str]]:
    homes = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "SVC_EXCEL")
    environment = {name: text for name, text in os.environ.items() if not name.startswith("SVC_")}
    environment |= dict.fromkeys(homes, str(place)) | {"SVC_CACHE": "off"}
    command = [sys.executable, "-m", "svc_tools", "excel", "serve", "--http", "--port", "0"]
    with subprocess.Popen(  # noqa: S603 - our own
        command, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            for line in process.stdout or ():
                if "Ctrl+C" in line:
                    break
            told = json.loads((place / "server.json").read_text())
            yield told["url"], told["token"]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
