"""Nothing of the user who runs the tests is read or written; and a service for the tests.

With `SVC_TEST_REQUIRE=all` a test that would skip because a tool is missing fails instead. With
`SVC_TEST_ALL=yes` property tests run all their examples, and large tables are gone through whole.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import traceback
import weakref
import zipfile

import pytest
from support.examples import load_profile
from support.faults import KEY, serving
from support.secrets import TYPED_KEY, files_with
from support.serving import serving_service
from support.systems import homes
from support.warm import WARM

from svc_sdk import Svc

# what a background job or `nohup` ignores, every process that a test ends would ignore, too;
# a handler of this process is not inherited
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _name in ("SIGHUP", "SIGTERM", "SIGQUIT"):
    _number = getattr(signal, _name, None)  # Windows has one of them
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

load_profile()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One worker more than cores: many tests wait for a browser, a process or a server."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config):
    WARM.alone_are_measured()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """What runs the same lines hundreds of times is not measured: it would take twice its time."""
    tracer = sys.gettrace()
    measured = type(tracer).__module__.startswith("coverage")
    marks = (item.get_closest_marker(name) for name in ("hypothesis", "unmeasured"))
    if not measured or not any(marks):
        return (yield)
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    required = os.environ.get("SVC_TEST_REQUIRE") == "all"
    if report.skipped and required and "is missing" in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"SVC_TEST_REQUIRE=all, and this was skipped: {report.longrepr}"
    return report


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory):
    """The user's folders and configuration are the tests' own, also in subprocesses.

    In the end no key that the tests used is in any file that they or the tools wrote.
    """
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in homes(home).items():
            patch.setenv(name, value)
        for name in [name for name in os.environ if name.startswith("SVC_") and "TEST" not in name]:
            patch.delenv(name)
        for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"):
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm-256color")
        if sys.platform == "darwin":  # a forked child may not ask macOS for its proxies
            patch.setenv("no_proxy", "*")
        WARM.alone_are_measured()
        # a test that asks twice means to ask twice; one about the cache names a file of its own
        patch.setenv("SVC_CACHE", "off")
        # nor is the keyring of the person who runs the tests asked for a key
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        yield
        WARM.end()
    if hasattr(signal, "SIGALRM"):  # what all tests wrote is not the last one's time
        signal.alarm(300)
    for key in (KEY, TYPED_KEY):
        assert files_with(key, tmp_path_factory.getbasetemp())[0] == []


@pytest.fixture(scope="session", autouse=True)
def _ended_with_their_test():
    """A `with` block that fails, or whose time is over, ends its process: it would wait for it."""
    leave = subprocess.Popen.__exit__

    def end_and_leave(process, kind, error, trace):
        if kind is not None:
            process.kill()
        leave(process, kind, error, trace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__exit__", end_and_leave)
        yield


class Archives:
    """The zip files, such as workbooks, that this process began to write, and where."""

    def __init__(self):
        self.begun = 0
        self.places = weakref.WeakKeyDictionary()

    def note(self, archive):
        self.begun += 1
        self.places[archive] = "".join(traceback.format_stack(limit=8)[:-2])

    def still_open(self):
        """Where those were begun that nobody closed."""
        return [place for archive, place in self.places.items() if archive.fp is not None]


@pytest.fixture(scope="session")
def archives():
    noted, begin = Archives(), zipfile.ZipFile.__init__

    def begin_and_note(archive, file, mode="r", *arguments, **options):
        begin(archive, file, mode, *arguments, **options)
        if mode != "r":
            noted.note(archive)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "__init__", begin_and_note)
        yield noted


@pytest.fixture(scope="module", autouse=True)
def _no_archive_is_left_open(archives):
    """Garbage collection would tell of it in whatever test then runs."""
    before = archives.begun
    yield
    if archives.begun > before:
        left = archives.still_open()
        archives.places.clear()  # the next module is not to blame
        if left:
            gc.collect()
        assert left == [], "begun here, and never closed:\n" + "\n".join(left)


@pytest.fixture(scope="session")
def service(_own_home, tmp_path_factory):
    """The embedded service in a process (and, for old dependencies, an environment) of its own."""
    python = os.environ.get("SVC_TEST_SERVICE_PYTHON", sys.executable)
    db = tmp_path_factory.mktemp("service") / "service.db"
    with serving_service(db, python=python) as (_, url):
        yield url


@pytest.fixture
def empty_account(service):
    """A client of the service whose register is empty before and after: all tests share it."""
    with Svc(KEY, base_url=service) as client:
        _empty(client)
        yield client
        _empty(client)


def _empty(client):
    for record in client.list_nexus().nexus:
        client.remove_nexus(record.state, nexus_type=record.nexus_type)


@pytest.fixture
def faults():
    """A server that answers as a test's script says."""
    with serving() as state:
        yield state


@pytest.fixture
def scripted(faults):
    """A client of that server, without retries."""
    with Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
        yield client
