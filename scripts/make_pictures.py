"""Make the picture of the README from the demo's orders, with the embedded service.

    python scripts/make_pictures.py docs

`tax_map.png` is `df.svc.plot.tax_map()` of the demo's rows. It follows from the orders and the
rate book alone: the tests compare what it says.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

from PIL import Image, PngImagePlugin

from svc_tools import connect
from svc_tools.demo import orders
from svc_tools.frames import SvcAccessor

WIDTH = 7.5  # inches: its smallest words can be read at the width of a README
DPI, COLORS = 150, 256


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
    with Image.open(drawn) as image:
        # few colors are in it: a palette makes a third of the bytes
        small = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    small.save(folder / "tax_map.png", optimize=True, dpi=(DPI, DPI), pnginfo=words)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
