"""Where a key is given: a form, or one button for the embedded service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets

from svc_tools import config
from svc_tools.shown import capital, the_service
from svc_tools.widgets.form import Entry, Form, Values
from svc_tools.widgets.parts import button, message_area, note

if TYPE_CHECKING:
    from svc_sdk import Svc
    from svc_tools.widgets.background import Job
    from svc_tools.widgets.session import Session

__all__ = ["KeyArea"]

_NOTHING = (
    "First choose who answers. The embedded service runs on this machine, from its own rate book,"
    " and needs no account. With an account, give the address of its service and the API key."
)


class KeyArea:
    """The key and the address of the service; open while no service is connected.

    Attributes:
        form: address and key. The key leaves the page in one message, and is kept by the client
            alone.
        embedded: the button that takes the embedded service.
        message: what came of it.
        change: the button that opens the form again.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._starting: Job | None = None
        self.message = message_area()
        self.note = note(_NOTHING)
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

    def _use(self, values: Values) -> None:
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
            self.session.use_key(key, address)
        except ValueError as error:
            name, _, rest = str(error).partition(": ")
            field = {"api_key": "key", "base_url": "address"}.get(name)
            if field is None:
                self.message.show_trouble(error)
            else:
                self.form.errors = {field: f"{capital(rest)}."}

    def _use_embedded(self, _button: object) -> None:
        self.embedded.disabled = True
        self.message.show_note("The embedded service starts …")
        self._starting = self.session.background.start(
            lambda: config.connect("embedded"), done=self._started, failed=self._not_started
        )

    def _started(self, client: Svc) -> None:
        self.embedded.disabled = False
        self.session.use(client)

    def _not_started(self, error: BaseException) -> None:
        self.embedded.disabled = False
        self.message.show_trouble(error)

    def _toggle(self, _button: object) -> None:
        self._show(opened=not self.opened)

    def _changed(self) -> None:
        if self._starting is not None:  # a key given meanwhile is the later choice
            self._starting.cancel()
            self.embedded.disabled = False
        self.form.errors = {}
        self._show(opened=False)
        self.message.announce(f"Asking {the_service(self.session.service_name)}.")

    def _show(self, *, opened: bool) -> None:
        self.body.layout.display = "" if opened else "none"
        self.note.layout.display = "none" if self.session.connected else ""
        self.change.layout.display = "" if self.session.connected else "none"
        self.change.description = "Close" if opened else "Change service or key"
