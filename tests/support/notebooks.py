"""Executing a notebook as an analyst does: from top to bottom in its own kernel, and again."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

import nbformat
import pytest
from jupyter_client import launcher
from nbclient import NotebookClient

from support.command import start_python
from support.warm import WARM_KERNELS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
OUTPUT = "notebook-output"
_KEY = "print(service._settings.key.get_secret_value())"
_TAG = re.compile(r"<style.*?</style>|<[^>]+>", re.DOTALL)


@dataclass(frozen=True)
class Ran:
    """An executed notebook, where it ran, and the key of the service that it asked."""

    notebook: nbformat.NotebookNode
    folder: Path
    key: str = field(repr=False)

    def outputs(self, source):
        """The outputs of the one cell whose source contains a text."""
        (found,) = [cell for cell in self.code if source in cell.source]
        return found.outputs

    def shown(self, source):
        """What a reader sees below that cell: text, or the words of its HTML."""
        return " ".join(_words(output) for output in self.outputs(source))

    @property
    def code(self):
        return [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    @property
    def everything(self):
        """All that was written: the executed copy with its widget state, and every file."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return [json.dumps(self.notebook).encode(), *(path.read_bytes() for path in files)]


@contextmanager
def warm_kernels():
    """Kernels that find their libraries loaded, for the length of the block."""
    start = launcher.Popen

    def start_warm(command, **options):
        if command[0] != sys.executable:
            return start(command, **options)
        return start_python(*command[1:], parent=WARM_KERNELS, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launcher, "Popen", start_warm)
        # a kernel whose parent is another process than the one that started it would end
        patch.setenv("JPY_PARENT_PID", "1")
        yield


def run(name, folder, *, again=False, changed=("", "")):
    """Execute a notebook in a kernel and a folder of the test's own, and once more in the same.

    The second pass finds what the first one wrote; what is returned is the first pass.

    Args:
        name: which notebook.
        folder: where it runs.
        again: whether there is a second pass.
        changed: a line of its code, and what stands there instead.
    """
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells if any(changed) else ():
        cell.source = cell.source.replace(*changed)
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}})
    with warm_kernels(), client.setup_kernel():
        for number, cell in enumerate(notebook.cells):
            client.execute_cell(cell, number)
        client.set_widgets_metadata()
        first = nbformat.from_dict(json.loads(json.dumps(notebook)))
        for number, cell in enumerate(notebook.cells if again else ()):
            client.execute_cell(cell, number)
        asked = nbformat.v4.new_code_cell(_KEY)
        client.execute_cell(asked, 0)
    return Ran(first, folder, asked.outputs[0].text.strip())


def run_cells(*sources, folder, allow_errors=False):
    """The outputs of each of some cells, executed in a kernel with nothing configured."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(
        notebook,
        timeout=240,
        resources={"metadata": {"path": str(folder)}},
        allow_errors=allow_errors,
    )
    with warm_kernels():
        client.execute()
    return [cell.outputs for cell in notebook.cells]


def _words(output):
    if output.output_type == "stream":
        return output.text
    data = output.get("data", {})
    told = data.get("text/html")
    text = data.get("text/plain", "") if told is None else unescape(_TAG.sub(" ", told))
    return re.sub(r"\s+", " ", text).strip()
