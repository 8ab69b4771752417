"""Voila as this project serves it: one notebook, closed to everybody else, without the outside."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_core.utils import ensure_async
from jupyter_server.auth.identity import IdentityProvider, User
from tornado.httpserver import HTTPServer
from traitlets.config import Config
from voila.app import Voila

from svc_tools.page.handlers import HEADERS, GuardedApplication, ResultFileHandler

if TYPE_CHECKING:
    import socket

    from tornado.web import RequestHandler

    from svc_tools.page.gate import Gate

__all__ = ["FILES_URL", "UPLOAD_LIMIT", "PageApp"]

FILES_URL = "files/"
"""Where the page offers its results, from its own address on."""

UPLOAD_LIMIT = 200 * 1024 * 1024
"""Bytes of one upload. The whole file passes through the memory of the browser, of this server and
of the kernel; a larger one is named by its path."""
_BESIDE = 1024 * 1024
"""What a message holds besides the file."""
_BODY_LIMIT = 1024 * 1024
"""Bytes of a request's body: nothing large comes that way."""

_IDLE_SECONDS = 300
"""A kernel whose page is gone without a word (the browser crashed) ends after that time."""
_TEMPLATES = Path(__file__).parent / "templates"
_WIDGETS = [
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
]


class _OneReader(IdentityProvider):
    """Whoever passed the gate is the one reader of the page."""

    auth_enabled = True

    def get_user(self, handler: RequestHandler) -> User:  # noqa: ARG002 - the gate has asked
        return User("reader", "reader", "reader", "R", None, None)


class PageApp(Voila):  # type: ignore[misc] # its package has no types
    """The server of the page over one notebook, inside a running event loop.

    Args:
        notebook: the notebook that is shown.
        work: the folder whose results can be downloaded.
        prewarmed: how many kernels stand ready, so that the page opens at once.
    """

    # of Voila, whose package has no types
    base_url: str
    config_file_paths: list[str]
    template_paths: list[str]

    def __init__(self, notebook: Path, *, work: Path, prewarmed: int) -> None:
        super().__init__(config=_config(prewarmed), log_level=logging.ERROR)
        self.notebook_path = str(notebook)
        self.root_dir = str(notebook.parent)
        self.connection_dir = str(notebook.parent)
        self.config_file_paths: list[
            str
        ] = []  # a configuration that lies about must not open the gate
        self._work = work
        self._server: HTTPServer | None = None

    def setup_template_dirs(self) -> None:
        """Our template before Voila's."""
        super().setup_template_dirs()
        self.template_paths = [str(_TEMPLATES), *self.template_paths]

    def init_settings(self) -> dict[str, Any]:
        """Voila's settings, with our reader and limits."""
        settings: dict[str, Any] = super().init_settings()
        return settings | {
            "identity_provider": _OneReader(parent=self),
            "disable_check_xsrf": True,  # the gate refuses what another page sends
            "headers": HEADERS,
            "websocket_max_message_size": UPLOAD_LIMIT + _BESIDE,
            # no signs of life: on loopback a busy machine or a sleeping laptop is late, not gone
            "ws_ping_interval": 0,
            "ws_ping_timeout": 0,
            "log_function": _unlogged,
        }

    def open(self, sockets: list[socket.socket], gate: Gate) -> None:
        """Answer on these sockets what the gate lets in; the kernels begin to start."""
        self.port = gate.port
        self.base_url = gate.place
        self.initialize([])
        application = self.app = GuardedApplication(gate, **self.init_settings())
        files = (f"{gate.place}{FILES_URL}(.*)", ResultFileHandler, {"path": str(self._work)})
        application.add_handlers(".*$", [files, *self.init_handlers()])
        self._server = HTTPServer(
            application, max_buffer_size=UPLOAD_LIMIT + 2 * _BESIDE, max_body_size=_BODY_LIMIT
        )
        self._server.add_sockets(sockets)

    async def close(self) -> None:
        """Stop answering, and end every kernel."""
        if self._server is not None:
            self._server.stop()
        await ensure_async(self.kernel_manager.shutdown_all(now=True))
        if self._server is not None:
            await self._server.close_all_connections()


def _config(prewarmed: int) -> Config:
    """What Voila and the parts below it are told."""
    config = Config()
    config.VoilaConfiguration.template = "lab"
    config.VoilaConfiguration.allow_template_override = "NO"
    config.VoilaConfiguration.allow_theme_override = "NO"
    config.VoilaConfiguration.show_tracebacks = False
    config.VoilaConfiguration.file_allowlist = []
    config.VoilaConfiguration.extension_allowlist = _WIDGETS
    config.VoilaConfiguration.extension_denylist = []
    config.VoilaConfiguration.preheat_kernel = prewarmed > 0
    config.VoilaConfiguration.default_pool_size = prewarmed
    config.MappingKernelManager.cull_idle_timeout = _IDLE_SECONDS
    config.MappingKernelManager.cull_interval = _IDLE_SECONDS // 5
    config.KernelSpecManager.kernel_dirs = []  # the Python that runs this, not one found elsewhere
    config.KernelManager.transport_encryption = "auto"
    config.ZMQChannelsWebsocketConnection.limit_rate = False  # a download is more than 1 MB/s
    return config


def _unlogged(handler: RequestHandler) -> None:
    """No line for a request: its address may hold the token."""
    del handler
