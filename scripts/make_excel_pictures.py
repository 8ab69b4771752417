"""Make the pictures of the guide to the spreadsheets: sheets that LibreOffice computed.

    python -m scripts.make_excel_pictures docs

The example for Calc is opened with the add-in, asks `svc-tools excel serve` on the embedded
service, and is printed; nothing of the user is read. Needs LibreOffice and pdftoppm.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageChops

from benchmarks.tools import clean_environment, soffice
from svc_tools.excel.calc import write_addin

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).parents[1] / "excel" / "sales-tax-calc.xlsx"
PAGES = {"start": 1, "lookup": 3, "orders": 4, "nexus": 5}
RECORDS = (("TX", "economic", "2019-10-01"), ("CA", "physical", "2016-01-15"))
COMPUTE_WHEN_OPENED = """\
<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""
DOTS = 110  # an inch
WHITE_AROUND = 14  # pixels
PALETTE = 256
PATIENCE = 120  # seconds


def draw(folder: Path) -> None:
    """Print the example and take a picture of each sheet's first page."""
    with tempfile.TemporaryDirectory() as place, _server(Path(place)) as environment:
        printed = _printed(Path(place), environment)
        for name, page in PAGES.items():
            target = Path(place) / name
            _run(
                "pdftoppm",
                *("-png", "-singlefile", "-r", str(DOTS), "-f", str(page), "-l", str(page)),
                *(printed, target),
            )
            _keep(target.with_suffix(".png"), folder / f"excel_{name}.png")


@contextmanager
def _server(place: Path) -> Iterator[dict[str, str]]:
    """The local server over the embedded service, with a register; and where it is to be found."""
    homes = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "SVC_EXCEL")
    environment = clean_environment(**dict.fromkeys(homes, str(place / "home")))
    (place / "home").mkdir()
    tools = [sys.executable, "-m", "svc_tools"]
    for state, kind, day in RECORDS:
        _run(
            *(*tools, "nexus", "add", state, "--type", kind, "--registered-at", day, "--embedded"),
            "--yes",
            env=environment,
        )
    with subprocess.Popen(  # noqa: S603 - the project's own command
        [*tools, "excel", "serve", "--http", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as server:
        try:
            for line in server.stdout or ():
                if "Ctrl+C" in line:
                    break
            yield environment
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate()


def _printed(place: Path, environment: dict[str, str]) -> Path:
    """The example as a PDF, with its figures."""
    office = soffice()
    layers = [
        f"-env:UserInstallation={(place / 'profile').as_uri()}",
        f"-env:UNO_SHARED_PACKAGES_CACHE={(place / 'shared').as_uri()}",
    ]
    (place / "shared").mkdir()
    settings = place / "profile" / "user" / "registrymodifications.xcu"
    settings.parent.mkdir(parents=True)
    settings.write_text(COMPUTE_WHEN_OPENED, encoding="utf-8")
    addin = write_addin(place / "svc-tools.oxt")
    _run(
        *(Path(office).resolve().with_name("unopkg"), "add", "--shared", *layers, addin),
        env=environment,
    )
    _run(
        *(office, *layers, "--headless", "--convert-to", "pdf", "--outdir", place, EXAMPLE),
        env=environment,
    )
    return place / f"{EXAMPLE.stem}.pdf"


def _run(*command: object, env: dict[str, str] | None = None) -> None:
    subprocess.run(  # noqa: S603 - commands of this script
        list(map(str, command)), check=True, timeout=PATIENCE, env=env
    )


def _keep(source: Path, target: Path) -> None:
    """Cut the white of the page off, but for a little."""
    with Image.open(source) as page:
        drawn = page.convert("RGB")
        bottom = drawn.height - DOTS * 6 // 10  # above the line at the foot of the page
        body = drawn.crop((0, 0, drawn.width, bottom))
        white = Image.new("RGB", body.size, "white")
        left, top, right, low = ImageChops.difference(body, white).getbbox() or (0, 0, *body.size)
        edge = WHITE_AROUND
        body = body.crop((left - edge, top - edge, right + edge, min(low + edge, body.height)))
        body.quantize(PALETTE).save(target, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
