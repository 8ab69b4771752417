"""Execute the notebooks for the documentation site; results are cached by content.

A notebook is executed in a folder and a home of its own, as a reader would do it the first time.
It is executed again where it, the code of the packages or the sample exports changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbclient import NotebookClient

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
STORED = ROOT / "build" / "notebooks"
SAMPLES = Path("tests") / "data" / "exports"

_WIDGET = "application/vnd.jupyter.widget-view+json"
_PANEL = (
    "![The panel: a ZIP Code of San Francisco and an amount; its rate and tax as large figures, a"
    " warning, the parts of the rate, confidence and source](../docs/panel_lookup_light_wide.png)"
)


def execute(paths: Sequence[Path]) -> None:
    """Execute the notebooks whose results are not stored, as many at a time as there are cores."""
    asyncio.run(_execute([path for path in paths if not executed(path).exists()]))


def executed(path: Path) -> Path:
    """Where the notebook with its results is stored."""
    name = hashlib.sha256(path.read_bytes() + _of_the_code()).hexdigest()
    return STORED / f"{path.stem}-{name[:16]}.ipynb"


async def _execute(paths: Sequence[Path]) -> None:
    free = asyncio.Semaphore(os.cpu_count() or 1)

    async def execute_one(path: Path) -> None:
        async with free:
            notebook = nbformat.read(path, as_version=4)
            await _run(notebook)
        _store(notebook, executed(path), path.stem)

    await asyncio.gather(*map(execute_one, paths))


def _store(notebook: nbformat.NotebookNode, stored: Path, name: str) -> None:
    STORED.mkdir(parents=True, exist_ok=True)
    for earlier in STORED.glob(f"{name}-*"):
        earlier.unlink()
    made = stored.with_suffix(".part")
    made.write_text(json.dumps(_static(notebook)), encoding="utf-8")
    made.replace(stored)


@cache
def _of_the_code() -> bytes:
    """A digest of all that the results of a notebook rest on, except itself."""
    digest = hashlib.sha256((ROOT / "constraints.txt").read_bytes())
    for folder in (ROOT / "svc_sdk", ROOT / "svc_tools", ROOT / SAMPLES, Path(__file__)):
        paths = [folder] if folder.is_file() else folder.rglob("*")
        for path in sorted(paths):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(path.relative_to(ROOT).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.digest()


async def _run(notebook: nbformat.NotebookNode) -> None:
    """Execute a notebook from top to bottom, with the files that it finds in the repository."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        home = folder / "home"
        for made in (home, folder / "notebooks"):
            made.mkdir()
        shutil.copytree(ROOT / SAMPLES, folder / SAMPLES)
        homes = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA")
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("SVC_")
        }
        environment |= dict.fromkeys(homes, str(home))
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
        )
        resources = {"metadata": {"path": str(folder / "notebooks")}}
        client = NotebookClient(notebook, timeout=300, resources=resources)
        client.extra_arguments = ["--log-level=ERROR"]
        await client.async_execute(env=environment)


def _static(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The results that a page can show: a picture of the panel, and no bar of progress."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cell.outputs = [one for one in cell.outputs if _WIDGET not in one.get("data", {})]
        if "svc_tools.panel(" in cell.source:
            picture = nbformat.v4.new_output("display_data", {"text/markdown": _PANEL})
            cell.outputs.append(picture)
    notebook.metadata.pop("widgets", None)
    return notebook
