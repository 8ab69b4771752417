"""Make the pictures of the README from the demo's orders, with the embedded service.

    python scripts/make_pictures.py docs

`tax_by_state.png` is what the demo writes; `tax_map.png` is `df.svc.plot.tax_map()` of the same
rows. They follow from the orders and the rate book alone: the tests compare what they say.
"""

from __future__ import annotations

import sys
from pathlib import Path

from svc_tools import connect
from svc_tools.demo import orders
from svc_tools.frames import SvcAccessor
from svc_tools.frames.charting.charts import save_chart, tax_by_state
from svc_tools.frames.charting.plots import Plots

WIDTH = 7.5  # inches: its smallest words can be read at the width of a README


def draw(folder: Path) -> None:
    """Look the orders up, compute their tax, and draw both pictures."""
    with connect("embedded") as client:
        frame = SvcAccessor(orders()).lookup(client=client, progress=False)
    taxed = SvcAccessor(frame).tax("amount", progress=False)
    save_chart(tax_by_state(taxed), folder / "tax_by_state.png")
    save_chart(Plots(taxed).tax_map(width=WIDTH), folder / "tax_map.png")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
