"""Draw the icons of the task pane and its button: a percent sign in a cell of a sheet.

python scripts/make_icons.py svc_tools/excel/officejs/static
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw

SIZES = (16, 32, 64, 80)
TILE = (23, 96, 63, 255)
LINE = (255, 255, 255, 80)
INK = (255, 255, 255, 255)
FINE = 16
"""How many times larger it is drawn."""
LINES_FROM = 32


def draw(size: int) -> Image.Image:
    """One icon."""
    whole = size * FINE
    picture = Image.new("RGBA", (whole, whole), (0, 0, 0, 0))
    pen = ImageDraw.Draw(picture)

    def at(part: float) -> float:
        return part * whole

    pen.rounded_rectangle((0, 0, whole - 1, whole - 1), at(0.19), fill=TILE)
    if size >= LINES_FROM:
        lines = Image.new("RGBA", picture.size, (0, 0, 0, 0))
        ruler = ImageDraw.Draw(lines)
        for part in (0.17, 0.83):
            thick = at(0.012)
            ruler.rectangle((at(part) - thick, 0, at(part) + thick, whole), fill=LINE)
            ruler.rectangle((0, at(part) - thick, whole, at(part) + thick), fill=LINE)
        picture = Image.alpha_composite(picture, lines)
        pen = ImageDraw.Draw(picture)
    low, high = (0.27, 0.73) if size >= LINES_FROM else (0.2, 0.8)
    thick = at(0.085 if size >= LINES_FROM else 0.12)
    pen.line((at(low), at(high), at(high), at(low)), fill=INK, width=round(thick))
    for x, y in ((low, high), (high, low)):  # round ends
        pen.ellipse(
            (at(x) - thick / 2, at(y) - thick / 2, at(x) + thick / 2, at(y) + thick / 2), fill=INK
        )
    radius = at(0.105 if size >= LINES_FROM else 0.14)
    gap = 0.105 if size >= LINES_FROM else 0.13
    for x, y in ((low + gap, low + gap), (high - gap, high - gap)):
        box = (at(x) - radius, at(y) - radius, at(x) + radius, at(y) + radius)
        pen.ellipse(box, outline=INK, width=round(thick * 0.85))
    corner = Image.new("L", picture.size, 0)
    ImageDraw.Draw(corner).rounded_rectangle((0, 0, whole - 1, whole - 1), at(0.19), fill=255)
    picture.putalpha(corner)
    return picture.resize((size, size), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    for one in SIZES:
        draw(one).save(Path(sys.argv[1]) / f"icon-{one}.png", optimize=True)
