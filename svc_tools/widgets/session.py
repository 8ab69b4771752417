"""The session that the tabs of a panel share: the client, background jobs, the folder for files.

Nothing waits in the thread that handles the page, so a job that hangs does not block it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import shutil
import tempfile
import threading
import weakref
from collections import deque
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from svc_sdk import Svc
from svc_tools import config
from svc_tools.widgets.parts import as_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SecretStr

_T = TypeVar("_T")

_PATIENCE = 0.5
"""Seconds that a result waits for a busy event loop (a cell runs) before its thread delivers."""

_log = logging.getLogger(__name__)


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
        """Use the given client, or the configured one; a wrong configuration is not raised.

        Raises:
            TypeError: `client` is not an `Svc`.
        """
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
        """The service: "embedded service" or the address; else "no service"."""
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
        else:
            made = as_code("svc_tools.connect", base_url=self._other_address)
        return f"import svc_tools\n\nclient = {made}"

    @property
    def options(self) -> list[str]:
        """The options of a command that name the same service; the key as for `code`."""
        if isinstance(self.client, config.EmbeddedSvc):
            return ["--embedded"]
        address = self._other_address
        return [] if address is None else ["--base-url", address]

    @property
    def _other_address(self) -> str | None:
        """The address of the service where it is not the configured one."""
        if self.client is None or self.client.base_url == (config.address() or "").rstrip("/"):
            return None
        return self.client.base_url

    def client_for(self, key: SecretStr, base_url: str | None = None) -> Svc:
        """A client for this key, closed with the session; `use` takes it into use.

        Args:
            key: the key of the account.
            base_url: the address of the service; that of the former client, else the configured
                one, where left out.

        Raises:
            ValueError: key or address cannot be used.
        """
        account = config.configured(api_key=key, base_url=base_url or self.address)
        if account is None:
            raise ValueError("api_key: the key is empty; give the API key of your account")
        client = config.open_account(account)
        self._own.append(client)
        return client

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
            client = None if account is None else config.open_account(account)
        except ValueError as error:  # half of a configuration, or an invalid address
            self.configuration_error = config.ConfigurationError(str(error))
            return None
        if client is not None:
            self._own.append(client)
        return client


def _close(clients: list[Svc]) -> None:
    for client in clients:
        client.close()


class PanelJob:
    """Work that was started.

    `cancel()` drops its result and further progress: the page is free at once. The thread itself
    cannot be stopped; it ends when its request does (the client's timeout).
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self._canceled = False
        self._over = False

    @property
    def canceled(self) -> bool:
        """Whether its result is dropped."""
        return self._canceled

    @property
    def running(self) -> bool:
        """Whether its result is still to come."""
        return not (self._canceled or self._over)

    def cancel(self) -> None:
        """Drop the result. To cancel a job that is over, or twice, does nothing."""
        if not self._over:
            self._canceled = True
            self._background._changed()  # noqa: SLF001 - the two classes work together

    def _finish(self) -> None:
        self._over = True
        self._background._changed()  # noqa: SLF001 - as above


class Background:
    """Starts jobs, and delivers their progress and results.

    Delivery is on the event loop of the thread that started the job (the kernel's), where one runs;
    without one, in the job's own thread. A loop that is busy because a cell runs does not delay it:
    the job's thread delivers then. All come in order, one at a time.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._jobs: set[PanelJob] = set()
        self._waiting: deque[tuple[Callable[[], object], float]] = deque()  # each with its moment
        self._delivering = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._broken: list[BaseException] = []
        self._current: contextvars.ContextVar[PanelJob | None] = contextvars.ContextVar(
            "svc_job", default=None
        )

    def start(
        self,
        work: Callable[[], _T],
        *,
        done: Callable[[_T], object],
        failed: Callable[[BaseException], object],
    ) -> PanelJob:
        """Start work in a thread, and return at once.

        Args:
            work: the work; it must touch no widget.
            done: called with its result, unless the job was canceled.
            failed: called with what it raised instead.
        """
        job = PanelJob(self)
        with self._condition:
            self._jobs.add(job)
        loop = _running_loop()
        if loop is not None:
            self._loop = loop
        # the context of the click: what the thread sends to the page then belongs to it
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run,
            args=(self._run, job, work, done, failed),
            name="svc-tools panel",
            daemon=True,
        )
        thread.start()
        return job

    def deliver(self, function: Callable[..., object], *args: Any) -> None:  # noqa: ANN401 - as given
        """Call `function(*args)` where results are delivered: progress of running work.

        May be called from any thread. Progress of a canceled job is dropped.
        """
        self._add(self._current.get(), lambda: function(*args))

    def settle(self, timeout: float = 30) -> None:
        """Wait until no job runs and everything is delivered; for tests and scripts.

        Raises:
            TimeoutError: that takes more than `timeout` seconds.
            BaseException: the error of a delivery: a defect of the page.
        """
        with self._condition:
            if not self._condition.wait_for(self._settled, timeout):
                raise TimeoutError(f"jobs still run after {timeout:g} s")
            if self._broken:
                raise self._broken.pop(0)

    def _run(
        self,
        job: PanelJob,
        work: Callable[[], _T],
        done: Callable[[_T], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Do the work of a job in this thread, and deliver its result or error to the page."""
        self._current.set(job)
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - shown on the page, whatever it is
            raised = error
            self._add(job, lambda: failed(raised), last=True)
        else:
            self._add(job, lambda: done(result), last=True)
        self._wait_for_delivery()

    def _add(self, job: PanelJob | None, call: Callable[[], object], *, last: bool = False) -> None:
        """Queue a call for the kernel's thread; without one that runs, deliver all here.

        With `last` the job is over after the call. Calls of a canceled job are dropped.
        """

        def deliver() -> None:
            try:
                if job is None or not job.canceled:
                    if last and job is not None:
                        job._over = True  # noqa: SLF001 - so that `done` finds it not running
                    call()
            finally:
                if last and job is not None:
                    job._finish()  # noqa: SLF001 - as above

        with self._condition:
            self._waiting.append((deliver, monotonic()))
            overdue = monotonic() - self._waiting[0][1] > _PATIENCE
        if overdue or not self._call_soon():
            self._deliver_all()

    def _call_soon(self) -> bool:
        """Have the event loop deliver; whether there is one."""
        loop = self._loop
        if loop is None or not loop.is_running():
            return False
        try:
            loop.call_soon_threadsafe(self._deliver_all)
        except RuntimeError:  # it has just been closed
            return False
        return True

    def _wait_for_delivery(self) -> None:
        """Deliver from this thread where the loop does not in time."""
        with self._condition:
            if self._condition.wait_for(lambda: not (self._waiting or self._delivering), _PATIENCE):
                return
        self._deliver_all()

    def _settled(self) -> bool:
        return not (self._jobs or self._waiting or self._delivering)

    def _deliver_all(self) -> None:
        """Deliver what waits; a thread that delivers already goes on with what comes meanwhile."""
        with self._condition:
            if self._delivering:
                return
            self._delivering = True
        while True:
            with self._condition:
                if not self._waiting:
                    self._delivering = False
                    self._condition.notify_all()
                    return
                deliver, _ = self._waiting.popleft()
            try:
                deliver()
            except BaseException as error:  # noqa: BLE001 - a panel must go on; it is logged
                _log.exception("the panel could not show the result of a job")
                self._broken.append(error)

    def _changed(self) -> None:
        with self._condition:
            self._jobs = {job for job in self._jobs if job.running}
            self._condition.notify_all()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
