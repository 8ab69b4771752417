"""Make the pictures of the README, with the embedded service.

    python scripts/make_pictures.py docs

`tax_map.png` is `df.svc.plot.tax_map()` of the demo's orders. It follows from the orders and the
rate book alone: the tests compare what it says. `panel_lookup_light_wide.png` is the panel in
Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image, PngImagePlugin

from svc_tools import connect
from svc_tools.demo import orders
from svc_tools.frames import SvcAccessor

WIDTH = 7.5  # inches: its smallest words can be read at the width of a README
DPI, COLORS = 150, 256
SIZE = {"width": 1100, "height": 900}


def draw(folder: Path) -> None:
    """Look the orders up, compute their tax, and draw the map."""
    with connect("embedded") as client:
        frame = SvcAccessor(orders()).lookup(client=client, progress=False)
    taxed = SvcAccessor(frame).tax("amount", progress=False)
    figure = SvcAccessor(taxed).plot.tax_map(width=WIDTH)
    words = PngImagePlugin.PngInfo()
    words.add_itxt("Description", str(figure.get_label()))
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    _small(drawn).save(folder / "tax_map.png", optimize=True, dpi=(DPI, DPI), pnginfo=words)


def draw_panel(folder: Path) -> None:
    """Open the panel's page, look up a ZIP Code, and take its picture."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only for this picture

    command = [sys.executable, "-m", "svc_tools", "panel", "--embedded", "--no-browser"]
    with (
        tempfile.TemporaryDirectory() as work,
        subprocess.Popen(  # noqa: S603 - this interpreter
            command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=work,
            env=os.environ | {"SVC_CACHE": "off", "XDG_DATA_HOME": work},
        ) as server,
        sync_playwright() as started,
    ):
        try:
            printed = server.stdout or ()
            address = next(line.split()[1] for line in printed if line.startswith("Open "))
            browser = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport=SIZE)
            page.goto(address)
            page.get_by_label("ZIP Code, address or place").fill("94105")
            page.get_by_role("textbox", name="Amount").fill("129.99")
            page.get_by_role("button", name="Look up", exact=True).click()
            page.locator("[data-svc=rate]").wait_for()
            picture = BytesIO(page.locator(".svc-panel").screenshot())
            browser.close()
        finally:
            server.terminate()
            server.communicate()
    _small(picture).save(folder / "panel_lookup_light_wide.png", optimize=True)


def _small(drawn: BytesIO) -> Image.Image:
    """The picture with a palette: few colors are in it, and it takes a third of the bytes."""
    with Image.open(drawn) as image:
        return image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
    draw_panel(Path(sys.argv[1]))
