"""The panel: a head that names the service, a form for its address and key, and three tabs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import anywidget
import ipywidgets
import traitlets

from svc_sdk import SvcError
from svc_tools import config
from svc_tools.lookup.key_check import check_key, field_at_fault
from svc_tools.lookup.troubles import explained
from svc_tools.show.display import capital, the_service
from svc_tools.widgets.file_tab import FileTab
from svc_tools.widgets.lookup_tab import LookupTab
from svc_tools.widgets.nexus_tab import NexusTab
from svc_tools.widgets.parts import (
    HERE,
    Entry,
    Form,
    FormValues,
    MessageArea,
    button,
    note,
    set_visible,
    styles,
)
from svc_tools.widgets.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.widgets.session import PanelJob

_CHOOSE_SERVICE = (
    "First choose a service. The embedded service runs on this machine, from its own rate book,"
    " and needs no account. With an account, give the address of its service and the API key."
)


class TabBar(anywidget.AnyWidget):
    """Tabs for mouse and arrow keys.

    Attributes:
        names: their names.
        selected: the number of the selected one, from 0.
    """

    _esm = HERE / "tabs.js"
    label = traitlets.Unicode("Sections").tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)


class Panel(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets says nothing of its types
    """The panel; `svc_tools.panel()` makes it.

    Attributes:
        session: the client, the jobs, the folder.
        key: the form for the address and the key.
        tabs: which tab is shown.
        lookup: the tab "Lookup".
        file: the tab "File".
        nexus: the tab "Nexus".
    """

    def __init__(self, session: Session) -> None:
        """Build the tabs and the area for the key, all with the same session."""
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
        """A sentence for hosts without widgets."""
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
            set_visible(page, number == self.tabs.selected)
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
        client: the client to use; the configured one where left out. Where nothing is configured
            the panel offers the embedded service and a field for a key.
        register: your nexus register: a path, a frame or records.
        folder: where uploads and results are written, and stay; where left out they are in a
            private folder, which is removed when the kernel ends.
        upload_limit: the most bytes that the host of the page accepts in one upload, where known.
        files_url: the address under which files of `folder` can be downloaded, where there is one.

    Raises:
        TypeError: an argument of the wrong type.
        ImportError: the extra "notebook" is not installed.
    """
    session = Session(
        client, register=register, folder=folder, upload_limit=upload_limit, files_url=files_url
    )
    return Panel(session)


class KeyArea:
    """The key and the address of the service; open while no service is connected.

    Attributes:
        form: address and key. The key leaves the page in one message, and only the client holds
            it.
        embedded: the button that uses the embedded service.
        message: the result.
        change: the button that opens the form again.
    """

    def __init__(self, session: Session) -> None:
        """Build the form for address and key, open where no service is connected."""
        self.session = session
        self._choice: PanelJob | None = None
        self.message = MessageArea()
        self.note = note(_CHOOSE_SERVICE)
        self.form = Form(
            (
                Entry(
                    "address",
                    "Address of the service",
                    value=session.address or "",
                    placeholder="https://rates.example",
                    inputmode="url",
                ),
                Entry(
                    "key",
                    "API key",
                    "password",
                    help="It stays in this session's memory: it is saved nowhere.",
                ),
            ),
            submit="Use this key",
            on_submit=self._use,
            cancel="Cancel",
            on_cancel=self._cancel,
            label="Key of your account",
        )
        self.embedded = button("Use the embedded service", "plain")
        self.embedded.on_click(self._use_embedded)
        self.change = button("Change service or key", "plain")
        self.change.on_click(self._toggle)
        self.body = ipywidgets.VBox([self.note, self.embedded, self.form])
        self.body.add_class("svc-key-body")
        self.view = ipywidgets.VBox([self.body, self.message])
        self.view.add_class("svc-key")
        session.on_change(self._changed)
        self._show(opened=not session.connected)
        if session.configuration_error is not None:
            self.message.show_trouble(session.configuration_error)

    @property
    def opened(self) -> bool:
        """Whether the form is shown."""
        return bool(self.body.layout.display != "none")

    def _use(self, values: FormValues) -> None:
        """Check an address and key in the background, then use them; what is missing is marked."""
        address = values.texts.get("address", "").strip()
        key = values.secrets.get("key")
        errors = {}
        if not address:
            errors["address"] = "Give the address of the service, such as https://rates.example."
        if key is None or not key.get_secret_value().strip():
            errors["key"] = "Give the API key of your account."
        self.form.errors = errors
        if errors or key is None:
            return
        try:
            client = self.session.client_for(key, address)
        except ValueError as error:
            if "://" not in address:  # it may be the key, which no saved notebook may hold
                self.form.values = self.form.values | {"address": self.session.address or ""}
            name, _, rest = str(error).partition(": ")
            field = {"api_key": "key", "base_url": "address"}.get(name)
            if field is None:
                self.message.show_trouble(error)
            else:
                self.form.errors = {field: f"{capital(rest)}."}
            return
        self._drop_choice()
        self.form.busy = True
        self.message.show_note(f"Checking the key at {address} …")
        self._choice = self.session.background.start(
            lambda: check_key(client), done=lambda _: self.session.use(client), failed=self._refused
        )

    def _refused(self, error: BaseException) -> None:
        self._drop_choice()
        if not isinstance(error, SvcError):
            self.message.show_trouble(error)
            return
        trouble = explained(error)
        reference = f" Support reference: {trouble.reference}" if trouble.reference else ""
        text = f"{trouble.title}. {trouble.what_to_do}{reference}"
        self.message.clear()
        self.form.errors = {field_at_fault(error): text}

    def _use_embedded(self, _button: object) -> None:
        self._drop_choice()
        self.embedded.disabled = True
        self.message.show_note("The embedded service starts …")
        self._choice = self.session.background.start(
            lambda: config.connect("embedded"), done=self.session.use, failed=self._not_started
        )

    def _not_started(self, error: BaseException) -> None:
        self._drop_choice()
        self.message.show_trouble(error)

    def _cancel(self) -> None:
        self._drop_choice()
        self.message.show_note("Canceled: the service in use is unchanged.")

    def _drop_choice(self) -> None:
        """Cancel the check or the start that runs: a later choice of the service counts."""
        if self._choice is not None:
            self._choice.cancel()
        self.form.busy = self.embedded.disabled = False

    def _toggle(self, _button: object) -> None:
        self._show(opened=not self.opened)

    def _changed(self) -> None:
        self._drop_choice()
        self.form.errors = {}
        self._show(opened=False)
        self.message.announce(f"The service is now {the_service(self.session.service_name)}.")

    def _show(self, *, opened: bool) -> None:
        set_visible(self.body, opened)
        set_visible(self.note, not self.session.connected)
        set_visible(self.change, self.session.connected)
        self.change.description = "Close" if opened else "Change service or key"
