"""The notebook behind the page: one cell that opens the panel, and a sentence where it cannot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TITLE", "Opened", "page_notebook"]

TITLE = "US sales tax: rates and registrations"

_CELL = """\
import html, os, tempfile
from IPython.display import HTML, display

os.chdir({start!r})  # a path that a person types counts from where the page was started
try:
    import svc_tools

    folder = tempfile.mkdtemp(prefix="", dir={folder!r})  # each page its own
    display(
        svc_tools.panel(
            svc_tools.connect("embedded") if {embedded!r} else None,
            register={register!r},
            folder=folder,
            upload_limit={upload_limit!r},
            files_url={files_url!r} + os.path.basename(folder) + "/",
        )
    )
except Exception as error:
    what = html.escape(str(error) or type(error).__name__)
    display(HTML("<div class='svc-page-trouble' role='alert'><h1>The panel cannot open</h1><p>"
        + what + "</p><p>Mend that, end the page with Ctrl+C and start it again.</p></div>"))
"""


@dataclass(frozen=True, slots=True)
class Opened:
    """How the panel is opened on the page.

    Attributes:
        embedded: whether it asks the embedded service, whatever is configured.
        register: a register of nexus registrations that it opens with.
        start: the folder that relative paths count from.
        folder: where the folder of each page is made, for its uploads and results.
        upload_limit: bytes of one upload.
        files_url: where the files of `folder` can be downloaded.
    """

    embedded: bool
    register: Path | None
    start: Path
    folder: Path
    upload_limit: int
    files_url: str


def page_notebook(opened: Opened) -> str:
    """The notebook as its file says it."""
    source = _CELL.format(
        start=str(opened.start),
        embedded=opened.embedded,
        register=None if opened.register is None else str(opened.register),
        folder=str(opened.folder),
        upload_limit=opened.upload_limit,
        files_url=opened.files_url,
    )
    cell: dict[str, object] = {
        "cell_type": "code",
        "id": "panel",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"title": TITLE, "kernelspec": kernel},
            "cells": [cell],
        }
    )
