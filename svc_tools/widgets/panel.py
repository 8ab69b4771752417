"""The panel: its head, which names the service, the key, and three tabs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import anywidget
import ipywidgets
import traitlets

from svc_tools.widgets.file_tab import FileTab
from svc_tools.widgets.key_area import KeyArea
from svc_tools.widgets.lookup_tab import LookupTab
from svc_tools.widgets.nexus_tab import NexusTab
from svc_tools.widgets.parts import HERE, styles
from svc_tools.widgets.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from svc_sdk import Svc

__all__ = ["Panel", "TabBar", "panel"]


class TabBar(anywidget.AnyWidget):
    """Tabs that are used by mouse or arrow keys.

    Attributes:
        names: their names.
        selected: the number of the chosen one, from 0.
    """

    _esm = HERE / "tabs.js"
    label = traitlets.Unicode("Sections").tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)


class Panel(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets says nothing of its types
    """The panel; `svc_tools.panel()` makes it.

    Attributes:
        session: the client, the jobs, the folder.
        key: where a key is given.
        tabs: which tab is shown.
        lookup: the tab "Lookup".
        file: the tab "File".
        nexus: the tab "Nexus".
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.head = ipywidgets.HTML()
        self.key = KeyArea(session)
        self.lookup = LookupTab(session)
        self.file = FileTab(session)
        self.nexus = NexusTab(session)
        views = (self.lookup.view, self.file.view, self.nexus.view)
        self.tabs = TabBar(names=["Lookup", "File", "Nexus"])
        self.pages = [ipywidgets.VBox([view]) for view in views]
        for page in self.pages:
            page.add_class("svc-page")
        top = ipywidgets.HBox([self.head, self.key.change])
        top.add_class("svc-top")
        super().__init__([styles(), top, self.key.view, self.tabs, *self.pages])
        self.add_class("svc-panel")
        self.head.add_class("svc-head")
        self.tabs.observe(self._choose, "selected")
        session.on_change(self._name)
        self._choose()
        self._name()

    def __repr__(self) -> str:
        """A sentence, for where no widgets can be shown."""
        return (
            f"<Panel of svc-tools ({self.session.service_name}); it is shown in JupyterLab,"
            " Notebook or VS Code>"
        )

    def _name(self) -> None:
        name = self.session.service_name
        self.head.value = (
            f'<h2>Sales-tax rates and nexus</h2><p class="svc-service">Service:'
            f" <strong>{escape(name if self.session.connected else 'none yet')}</strong></p>"
        )

    def _choose(self, _change: object = None) -> None:
        for number, page in enumerate(self.pages):
            page.layout.display = "" if number == self.tabs.selected else "none"
        if self.pages[self.tabs.selected].children[0] is self.nexus.view:
            self.nexus.opened()


def panel(
    client: Svc | None = None,
    *,
    register: object = None,
    folder: str | Path | None = None,
    upload_limit: int | None = None,
    files_url: str | None = None,
) -> Panel:
    """The panel for a notebook: look up, enrich a file, clean up nexus registrations.

        import svc_tools

        svc_tools.panel()

    Args:
        client: the client to ask; the configured one where left out. Where nothing is configured
            the panel offers the embedded service and a field for a key.
        register: your nexus register: a path, a frame or records.
        folder: where uploads and results are written, and stay; where left out they are in a
            private folder, which is removed when the kernel ends.
        upload_limit: how many bytes the host of the page takes in one upload, where known.
        files_url: the address under which files of `folder` can be downloaded, where there is one.

    Raises:
        TypeError: an argument of the wrong type.
        ImportError: the extra "notebook" is not installed.
    """
    session = Session(
        client, register=register, folder=folder, upload_limit=upload_limit, files_url=files_url
    )
    return Panel(session)
