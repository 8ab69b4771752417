"""Make the pictures of the README and the site, with the embedded service.

    python scripts/make_pictures.py docs

`tax_map.png` is `df.svc.plot.tax_map()` of the demo's orders. It follows from the orders and the
rate book alone: the tests compare what it says. `panel_lookup_THEME_WIDTH.png` is the panel in
Chromium, with the first example of the start page.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PIL import Image, PngImagePlugin

from svc_tools import connect
from svc_tools.demo import orders
from svc_tools.frames import SvcAccessor

if TYPE_CHECKING:
    from playwright.sync_api import Page

Theme = Literal["light", "dark"]

WIDTH = 7.5  # inches: its smallest words can be read at the width of a README
DPI, COLORS = 150, 256
PANEL = {"wide": (1000, ".svc-panel"), "narrow": (400, ".svc-card")}
"""How wide the page is, and where the picture begins; it ends with the result."""
HEIGHT = 1600  # pixels
MARGIN = 8  # pixels around a part of the page


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
            page = browser.new_page(device_scale_factor=2)
            page.goto(address)
            page.get_by_label("ZIP Code, address or place").fill("94105")
            page.get_by_label("Date of the sale").fill("2026-02-01")
            page.get_by_role("textbox", name="Amount").fill("120.00")
            page.get_by_role("button", name="Look up", exact=True).click()
            page.locator("[data-svc=rate]").wait_for()
            for theme, name in product(("light", "dark"), PANEL):
                picture = _small(_picture(page, theme, *PANEL[name]))
                picture.save(folder / f"panel_lookup_{theme}_{name}.png", optimize=True)
            browser.close()
        finally:
            server.terminate()
            server.communicate()


def _picture(page: Page, theme: Theme, width: int, first: str) -> BytesIO:
    """The page from the element `first` to the end of the result."""
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": HEIGHT})
    begin, end = (page.locator(one).first.bounding_box() for one in (first, ".svc-card"))
    if not begin or not end:
        raise LookupError(f"the page does not show {first} and .svc-card")
    top, bottom = begin["y"] - MARGIN, end["y"] + end["height"] + MARGIN
    left, right = begin["x"] - MARGIN, begin["x"] + begin["width"] + MARGIN
    clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    return BytesIO(page.screenshot(clip=clip, full_page=True))


def _small(drawn: BytesIO) -> Image.Image:
    """The picture with a palette: few colors are in it, and it takes a third of the bytes."""
    with Image.open(drawn) as image:
        return image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
    draw_panel(Path(sys.argv[1]))
