"""The session that the tabs of a panel share: client, background jobs, folder for files."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from svc_sdk import Svc
from svc_tools import config
from svc_tools.widgets.background import Background
from svc_tools.widgets.parts import as_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SecretStr


class Session:
    """One panel's session. Only the client holds the key: nothing here shows it.

    Args:
        client: the client to use; `None` takes the configured service (`SVC_API_KEY` and
            `SVC_BASE_URL`), else leaves the session without one until a key is given.
        register: the user's nexus register, as `svc_tools.nexus.read_register` takes it.
        folder: where uploads and results are written, and stay; a private folder that is removed
            when the process ends, where left out.
        upload_limit: the most bytes that the host of the page accepts in one upload, where known.
        files_url: the address under which files of `folder` can be downloaded, where there is one.

    Attributes:
        client: the client, or `None` where nothing is configured.
        background: the jobs of this panel.
        folder_stays: whether `folder` outlives the process.
        configuration_error: what is wrong with the configuration, else `None`.
    """

    def __init__(
        self,
        client: Svc | None = None,
        *,
        register: object = None,
        folder: str | Path | None = None,
        upload_limit: int | None = None,
        files_url: str | None = None,
    ) -> None:
        if client is not None and not isinstance(client, Svc):
            raise TypeError(f"client: expected svc_sdk.Svc, not {type(client).__name__}")
        self.background = Background()
        self.register = register
        self.upload_limit = upload_limit
        self.files_url = files_url
        self.configuration_error: config.ConfigurationError | None = None
        self._listeners: list[Callable[[], object]] = []
        self._folder = None if folder is None else Path(folder)
        self.folder_stays = folder is not None
        # a job may still use an earlier client: they are closed with the session
        self._own: list[Svc] = []
        weakref.finalize(self, _close, self._own)
        self.client = client if client is not None else self._configured()

    def __repr__(self) -> str:
        """The service; never the key."""
        return f"<Session: {self.service_name}>"

    @property
    def connected(self) -> bool:
        """Whether there is a service to use."""
        return self.client is not None

    @property
    def service_name(self) -> str:
        """The service: "embedded service" or the address; "no service" where there is none."""
        return "no service" if self.client is None else config.service_name(self.client)

    @property
    def folder(self) -> Path:
        """The folder for uploads and results, made at the first use.

        Raises:
            OSError: it cannot be made.
        """
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="svc-tools-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    @property
    def code(self) -> str:
        """The Python that makes the client; the key comes from the environment there."""
        if isinstance(self.client, config.EmbeddedSvc):
            made = as_code("svc_tools.connect", "embedded")
        elif self.client is None or self.client.base_url == (config.address() or "").rstrip("/"):
            made = as_code("svc_tools.connect")
        else:
            made = as_code("svc_tools.connect", base_url=self.client.base_url)
        return f"import svc_tools\n\nclient = {made}"

    def use_key(self, key: SecretStr, base_url: str | None = None) -> None:
        """Use a service with this key from now on.

        Args:
            key: the key of the account.
            base_url: the address of the service; that of the former client, else the configured
                one, where left out.

        Raises:
            ValueError: key or address cannot be used; the former client stays in use.
        """
        account = config.configured(api_key=key, base_url=base_url or self.address)
        if account is None:
            raise ValueError("api_key: the key is empty; give the API key of your account")
        client = Svc(account[0], base_url=account[1])
        self._own.append(client)
        self.use(client)

    @property
    def address(self) -> str | None:
        """The address of the service that a key would be for; `None` where none is known."""
        if self.client is None or isinstance(self.client, config.EmbeddedSvc):
            return config.address()
        return self.client.base_url

    def use(self, client: Svc) -> None:
        """Use this client from now on, and call the listeners."""
        self.client = client
        self.configuration_error = None
        for listener in self._listeners:
            listener()

    def on_change(self, listener: Callable[[], object]) -> None:
        """Call `listener` whenever another client is used."""
        self._listeners.append(listener)

    def _configured(self) -> Svc | None:
        try:
            account = config.configured()
            client = None if account is None else Svc(account[0], base_url=account[1])
        except ValueError as error:  # half of a configuration, or an invalid address
            self.configuration_error = config.ConfigurationError(str(error))
            return None
        if client is not None:
            self._own.append(client)
        return client


def _close(clients: list[Svc]) -> None:
    for client in clients:
        client.close()
