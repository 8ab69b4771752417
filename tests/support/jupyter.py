"""JupyterLab over notebooks of one cell, with no settings but its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import nbformat

from support.waiting import until

WIDGETS = "@jupyter-widgets/jupyterlab-manager"

READY = """() => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  return panel?.context?.isReady && panel.sessionContext?.isReady
    && panel.sessionContext.session?.kernel?.status === "idle";
}"""


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab.

    Attributes:
        folder: everything that it and its notebooks write is below.
        url: its address.
        token: opens it.
    """

    folder: Path
    url: str
    token: str

    @contextlib.contextmanager
    def notebook(self, source):
        """The address that opens a notebook of one cell, and its file; then its kernel ends.

        Each is in a folder and a workspace of its own: what others opened is not opened again.
        """
        name = f"book{sum(1 for _ in self.folder.glob('book*'))}"
        file = self.folder / name / "panel.ipynb"
        file.parent.mkdir()
        cell = nbformat.v4.new_code_cell(source)
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        book = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
        nbformat.write(book, file)
        place = f"lab/workspaces/{name}/tree/{name}/panel.ipynb"
        try:
            yield f"{self.url}{place}?token={self.token}", file
        finally:
            own = {"Authorization": f"token {self.token}"}
            with httpx.Client(base_url=self.url, headers=own, timeout=60) as client:
                for session in client.get("api/sessions").raise_for_status().json():
                    client.delete(f"api/sessions/{session['id']}").raise_for_status()


@contextlib.contextmanager
def jupyterlab(folder, **environment):
    """JupyterLab for the length of the block; its kernels have the environment, too."""
    own = {
        f"JUPYTER{name}_DIR": str(Path(folder) / f"own{name.lower()}")
        for name in ("_CONFIG", "_DATA", "_RUNTIME", "LAB_SETTINGS", "LAB_WORKSPACES")
    }
    settings = Path(own["JUPYTERLAB_SETTINGS_DIR"]) / WIDGETS
    settings.mkdir(parents=True)
    (settings / "plugin.jupyterlab-settings").write_text('{"saveState": true}')
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", "--LabApp.news_url="),
        "--LabApp.expose_app_in_browser=True",
        f"--ServerApp.root_dir={folder}",
    ]
    log = Path(folder) / "jupyterlab.log"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command, stdout=written, stderr=written, env=os.environ | own | environment
        ) as process,
    ):
        try:
            runtime = Path(own["JUPYTER_RUNTIME_DIR"])
            told = until(
                lambda: process.poll() is None and next(runtime.glob("jpserver-*.json"), None),
                seconds=60,
                what=f"JupyterLab starts: {log.read_text()[-2000:]}",
            )
            server = until(lambda: _read(told))
            yield Lab(Path(folder), server["url"], server["token"])
        finally:
            process.terminate()  # Ctrl+C would ask whether it is meant, and wait
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def run_all(page):
    """Run the notebook that is open; the part of the page that holds its output."""
    page.wait_for_function("() => window.jupyterapp")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.wait_for_function(READY)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    return page.locator(".jp-OutputArea").first


def save(page):
    """Save the notebook that is open, with the state of its widgets."""
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")


def _read(path):
    with contextlib.suppress(ValueError):  # it is being written
        return json.loads(path.read_text())
    return None
