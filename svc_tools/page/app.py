"""The page's server: Voila with one notebook, for one user, and nothing from the internet.

`serve_panel` runs it until Ctrl+C; `PageApp` is Voila with this project's handlers, headers and
limits.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import signal
import tempfile
import threading
import webbrowser
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.auth.identity import IdentityProvider, User
from jupyter_server.base.handlers import AuthenticatedFileHandler, JupyterHandler
from tornado import web
from tornado.httpserver import HTTPServer
from traitlets.config import Config
from voila.app import Voila
from voila.request_info_handler import RequestInfoSocketHandler
from voila.tornado.handler import TornadoVoilaHandler

from svc_tools.base.loopback import LocalGuard, listen
from svc_tools.base.operating_system import end_signals

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

_FILES_URL = "files/"
"""Where the page offers its results, relative to its own address."""
RESULTS = "results"
"""The folders whose files can be downloaded; uploads in the same folder cannot."""
_UPLOAD_LIMIT = 200 * 1024 * 1024
"""Bytes of one upload. The whole file passes through the memory of the browser, of this server and
of the kernel; a larger one is named by its path."""
_MESSAGE_OVERHEAD = 1024 * 1024
"""What a message holds in addition to the file."""
_BODY_LIMIT = 1024 * 1024
"""Bytes of a request's body: nothing large comes that way."""
_IDLE_SECONDS = 3600
"""A panel that no tab of the browser shows any more ends after that time."""
_KERNEL_ID = re.compile(r'"kernelId":\s*"([\w-]+)"')
_WIDGETS = [
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
]
_HOSTS = r"(127\.0\.0\.1|localhost)"
_HEADERS = {
    # the widgets' own scripts are inline and blobs; nothing is loaded from anywhere else
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:;"
        " style-src 'self' 'unsafe-inline' blob:; img-src 'self' data: blob:;"
        " font-src 'self' data:; connect-src 'self' data: blob:; object-src 'none';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_LOCK = ".lock"
_TITLE = "US sales tax: rates and registrations"
_CELL = """\
import html, os, tempfile
from IPython.display import HTML, display

os.chdir({start!r})  # a path that a user types counts from where the page was started
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
        + what + "</p><p>Fix that, end the page with Ctrl+C and start it again.</p></div>"))
"""

_OUTPUT_SECONDS = 120
"""How long the output of the notebook's cell may take to arrive after the cell has ended."""
_TEMPLATES = Path(__file__).parent / "templates"


class _Identity(IdentityProvider):
    """Jupyter's token and cookie, and a second token that is valid once.

    The second one is for the command line of the browser, which every user of the machine can list.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - Jupyter's
        super().__init__(**options)
        self.launch_token = secrets.token_hex(24)

    def get_user(self, handler: web.RequestHandler) -> User | Awaitable[User | None] | None:
        """The user of the page; nobody where the page of another server sends the request."""
        headers = handler.request.headers
        guard: LocalGuard = handler.settings["guard"]
        if guard.refuses(headers.get_list("Host"), headers.get_list("Origin")):
            return None
        return super().get_user(handler)

    def get_token(self, handler: web.RequestHandler) -> str | None:
        """The token of a request; none, rather than an error, where its bytes are not text."""
        try:
            return super().get_token(handler)
        except web.HTTPError:
            return None

    async def get_user_token(self, handler: web.RequestHandler) -> User | None:
        """The user whom a token identifies."""
        given = (self.get_token(handler) or "").encode()
        if self.launch_token and secrets.compare_digest(given, self.launch_token.encode()):
            self.launch_token = ""
            return self.generate_anonymous_user(handler)
        return await super().get_user_token(handler)

    def get_handlers(self) -> list[tuple[str, object]]:
        """No login form: the printed address is the only way in."""
        return []


class _Entrance(JupyterHandler):
    """Redirects from the printed address to the page, whose own address has no token."""

    @allow_unauthenticated
    def get(self) -> None:
        """Redirect a request that Jupyter has authenticated; explain the refusal of another."""
        if self.current_user is not None:
            self.redirect(self.base_url)
            return
        self.set_status(HTTPStatus.FORBIDDEN)
        template = self.settings["voila_jinja2_env"].get_template("error.html")
        self.finish(
            template.render(
                status_message="This page needs its own address",
                message="The address holds a token, which is new with every start.",
            )
        )


class _Panels:
    """The panels that were opened: the process of each, and its page as Voila rendered it.

    All that was done on a panel is in its process, from which the page loads it.
    """

    def __init__(self, kernels: Any) -> None:  # noqa: ANN401 - of Voila, which has no types
        self._kernels = kernels
        self._opened: dict[str, tuple[str, str]] = {}

    def add(self, name: str, page: str) -> None:
        """Add a panel whose page has been rendered."""
        if found := _KERNEL_ID.search(page):
            self._opened[name] = found[1], page
            # a process that is started again has nothing of the panel
            self._kernels.add_restart_callback(found[1], lambda: self._opened.pop(name, None))

    async def page(self, name: str) -> str | None:
        """The page of a panel; `None` where there is none, or its process has ended."""
        kernel, page = self._opened.get(name, ("", ""))
        if kernel not in self._kernels or not await ensure_async(self._kernels.is_alive(kernel)):
            self._opened.pop(name, None)
            return None
        self._opened[name] = self._opened.pop(name)  # the last one shown comes last
        return page

    async def left(self) -> str | None:
        """The name of the panel that was shown last, of those that no tab shows now."""
        for name, (kernel, _) in reversed([*self._opened.items()]):
            if await self.page(name) and not self._kernels.kernel_model(kernel)["connections"]:
                return name
        return None


class _PanelHandler(TornadoVoilaHandler):  # type: ignore[misc] # its package has no types
    """Serves a panel. Its name is in the address, so that a reload finds it again.

    The address without a name continues the panel that was left, else opens a new one.
    """

    @web.authenticated
    async def get(self, path: str | None = None) -> None:
        """The page of the panel that the address names."""
        panels: _Panels = self.settings["panels"]
        name = self.get_query_argument("panel", "")
        if path:
            await super().get(path)
        elif not name:
            self.redirect(f"{self.base_url}?panel={await panels.left() or secrets.token_hex(4)}")
        elif page := await panels.page(name):
            self.set_header("Content-Type", "text/html")
            self.set_header("Cache-Control", "no-store")
            self.write(page)
        else:
            parts = []
            async for part in self.get_generator():
                parts.append(part)
                self.write(part)
                self.flush()
            panels.add(name, "".join(parts))


class _ResultFileHandler(AuthenticatedFileHandler):
    """Serves the files in the folders `results` of the page's work folder, as downloads."""

    def validate_absolute_path(self, root: str, absolute_path: str) -> str:
        """The path, where it is a result and lies inside, also after every link is followed."""
        try:
            base, found = Path(root).resolve(), Path(absolute_path).resolve()
            inside = found.is_relative_to(base) and RESULTS in found.relative_to(base).parts[:-1]
            offered = inside and found.is_file()
        except (OSError, ValueError):  # a name that no file can have
            offered = False
        if not offered:
            raise web.HTTPError(HTTPStatus.NOT_FOUND)
        return str(found)

    def set_extra_headers(self, path: str) -> None:
        """Have the browser save the file, and cache nothing."""
        del path
        self.set_header("Content-Disposition", "attachment")
        self.set_header("Cache-Control", "no-store")


class PageApp(Voila):  # type: ignore[misc] # its package has no types
    """The server of the page over one notebook, inside a running event loop.

    Args:
        notebook: the notebook that is shown.
        work: the folder whose results can be downloaded.
    """

    # of Voila, whose package has no types
    config_file_paths: list[str]
    identity_provider: _Identity
    template_paths: list[str]
    token: str

    def __init__(self, notebook: Path, *, work: Path) -> None:
        super().__init__(config=_config(), log_level=logging.ERROR)
        self.notebook_path = str(notebook)
        self.root_dir = str(notebook.parent)
        self.connection_dir = str(notebook.parent)
        self.config_file_paths = []  # a configuration file elsewhere must not open the server
        # explicitly, as Jupyter prefers the JUPYTER_TOKEN of the environment to a new one
        self.token = secrets.token_hex(24)
        # browsers send a cookie to every port of 127.0.0.1, but only to the paths below its own
        self.base_url = f"/{secrets.token_hex(12)}/"
        self._work = work
        self._server: HTTPServer | None = None

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return self._address(self.token)

    @property
    def launch_address(self) -> str:
        """The same with the token that is valid once."""
        return self._address(self.identity_provider.launch_token)

    def _address(self, token: str) -> str:
        return f"http://127.0.0.1:{self.port}/?token={token}"

    def setup_template_dirs(self) -> None:
        """This package's template before Voila's."""
        super().setup_template_dirs()
        self.template_paths = [str(_TEMPLATES), *self.template_paths]

    def init_settings(self) -> dict[str, Any]:
        """Voila's settings, with this page's headers and limits."""
        settings: dict[str, Any] = super().init_settings()
        return settings | {
            # Jupyter's templates need static files that Voila does not serve
            "jinja2_env": settings["voila_jinja2_env"],
            "login_url": "/",
            "disable_check_xsrf": True,  # _Identity refuses what another page sends
            "headers": _HEADERS,
            "guard": LocalGuard(self.port),
            "panels": _Panels(self.kernel_manager),
            "websocket_max_message_size": _UPLOAD_LIMIT + _MESSAGE_OVERHEAD,
            # no pings: on loopback a busy machine or a sleeping laptop is late, not gone
            "ws_ping_interval": 0,
            "ws_ping_timeout": 0,
            "log_function": _no_log,
        }

    def init_handlers(self) -> list[tuple[Any, ...]]:
        """Voila's handlers and this page's, without the web socket that needs no token."""
        files = (f"{self.base_url}{_FILES_URL}(.*)", _ResultFileHandler, {"path": str(self._work)})
        handlers = [
            (route[0], _PanelHandler, *route[2:]) if route[1] is TornadoVoilaHandler else route
            for route in super().init_handlers()
            if route[1] is not RequestInfoSocketHandler
        ]
        return [("/", _Entrance), files, *handlers]

    def open(self, listener: socket.socket) -> None:
        """Serve on this socket; the kernels begin to start."""
        self.port = listener.getsockname()[1]
        # its warnings name the whole address of a refused request, which may hold the token
        logging.getLogger("tornado.general").setLevel(logging.ERROR)
        self.initialize([])
        application = self.app = web.Application(**self.init_settings())
        application.add_handlers(_HOSTS, self.init_handlers())
        self._server = HTTPServer(
            application,
            max_buffer_size=_UPLOAD_LIMIT + 2 * _MESSAGE_OVERHEAD,
            max_body_size=_BODY_LIMIT,
        )
        self._server.add_sockets([listener])

    async def close(self) -> None:
        """Stop serving, and end every kernel."""
        if self._server is not None:
            self._server.stop()
        await ensure_async(self.kernel_manager.shutdown_all(now=True))
        if self._server is not None:
            await self._server.close_all_connections()


def _config() -> Config:
    """The configuration of Voila and of the parts below it."""
    config = Config()
    config.Voila.identity_provider_class = _Identity
    # "Strict" would be lost where the page of another program links here; no date: until the
    # browser ends
    config.IdentityProvider.cookie_options = {"samesite": "Lax", "expires_days": None}
    config.VoilaConfiguration.template = "lab"
    config.VoilaConfiguration.allow_template_override = "NO"
    config.VoilaConfiguration.allow_theme_override = "NO"
    config.VoilaConfiguration.show_tracebacks = False
    config.VoilaConfiguration.file_allowlist = []
    config.VoilaConfiguration.extension_allowlist = _WIDGETS
    config.VoilaConfiguration.extension_denylist = []
    config.VoilaConfiguration.preheat_kernel = True  # so that the page opens at once
    config.VoilaConfiguration.default_pool_size = 1
    # nbclient's 4 seconds are too few for a busy machine: the page would stay empty
    config.VoilaExecutor.iopub_timeout = _OUTPUT_SECONDS
    config.MappingKernelManager.cull_idle_timeout = _IDLE_SECONDS
    config.MappingKernelManager.cull_interval = _IDLE_SECONDS // 5
    config.KernelSpecManager.kernel_dirs = []  # the Python that runs this, not one found elsewhere
    config.KernelManager.transport_encryption = "auto"
    config.ZMQChannelsWebsocketConnection.limit_rate = False  # a download is more than 1 MB/s
    return config


def _no_log(handler: web.RequestHandler) -> None:
    """No line for a request: its address may hold the token."""
    del handler


def serve_panel(
    *,
    port: int,
    browser: bool,
    embedded: bool,
    register: Path | None,
    folder: Path,
    say: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl+C (see `serve_page`), with a new folder below `folder`.

    Raises:
        OSError: the port is taken, or `folder` cannot be written.
    """
    listener = listen("127.0.0.1", port)
    listener.settimeout(0)  # as Tornado expects
    work = _work_folder(folder)
    with (
        FileLock(work / _LOCK),
        tempfile.TemporaryDirectory(prefix="svc-panel-", ignore_cleanup_errors=True) as run,
    ):
        notebook = Path(run) / "panel.ipynb"
        notebook.write_text(_notebook(work, register, embedded=embedded), encoding="utf-8")
        app = PageApp(notebook, work=work)
        with suppress(KeyboardInterrupt):  # Windows knows no other end
            asyncio.run(_until_stopped(app, listener, browser=browser, say=say))
    left = _delete_uploads(work)
    say("The page is closed." + (f" Its results are in {left}" if left else ""))


async def _until_stopped(
    app: PageApp, listener: socket.socket, *, browser: bool, say: Callable[[str], None]
) -> None:
    """Serve the page until a signal stops it, then close it; `say` gets the lines for the user."""
    stopped = asyncio.Event()
    app.open(listener)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, *end_signals()):
        with suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, stopped.set)
    try:
        say(f"Open {app.address}")
        say("Whoever has this address can use the page. Press Ctrl+C to end it.")
        if browser:
            # in a thread, as a browser of the terminal returns only when it is closed
            threading.Thread(
                target=webbrowser.open, args=(app.launch_address,), daemon=True
            ).start()
        await stopped.wait()
    finally:
        await app.close()


def _notebook(folder: Path, register: Path | None, *, embedded: bool) -> str:
    """The notebook behind the page: one cell, which opens the panel."""
    source = _CELL.format(
        start=str(Path.cwd()),
        embedded=embedded,
        register=None if register is None else str(register.absolute()),
        folder=str(folder),
        upload_limit=_UPLOAD_LIMIT,
        files_url=_FILES_URL,
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
            "metadata": {"title": _TITLE, "kernelspec": kernel},
            "cells": [cell],
        }
    )


def _work_folder(folder: Path) -> Path:
    """A new folder for this run; uploads of runs that crashed are deleted on the way."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for work in folder.glob("panel-*"):
            with suppress(Timeout, OSError), FileLock(work / _LOCK, timeout=0):  # not running
                _delete_uploads(work)
            with suppress(OSError):  # Windows could not remove the lock while it was held
                work.rmdir()
        return Path(tempfile.mkdtemp(prefix="panel-", dir=folder))
    except OSError as error:
        raise OSError(
            f"The folder for results, {folder}, cannot be written ({error.strerror});"
            " make it writable for yourself"
        ) from error


def _delete_uploads(work: Path) -> Path | None:
    """Delete everything but results; the folder, where results are left."""
    for path in sorted(work.rglob("*"), reverse=True):
        if RESULTS in path.relative_to(work).parts[:-1] and path.is_file():
            continue
        with suppress(OSError):  # a folder that holds a result
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    with suppress(OSError):
        work.rmdir()
    return work if work.exists() else None
