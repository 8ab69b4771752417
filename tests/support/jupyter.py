"""JupyterLab over one notebook, with no settings but its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat

from support.waiting import until

WIDGETS = "@jupyter-widgets/jupyterlab-manager"

READY = """() => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  return panel?.context?.isReady && panel.sessionContext?.isReady
    && panel.sessionContext.session?.kernel?.status === "idle";
}"""


@contextlib.contextmanager
def jupyterlab(folder, source, **environment):
    """The address that opens a notebook of one cell in JupyterLab, and its file."""
    notebook = Path(folder) / "panel.ipynb"
    cell = nbformat.v4.new_code_cell(source)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    nbformat.write(book, notebook)
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
            command,
            stdout=written,
            stderr=written,
            env=os.environ | own | environment,
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
            yield f"{server['url']}lab/tree/panel.ipynb?token={server['token']}", notebook
        finally:
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)  # the first one asks
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
