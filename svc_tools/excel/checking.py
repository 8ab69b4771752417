"""`svc-tools excel check`: each link between a cell and the service, and what to do where it broke.

Nothing is changed and nothing is billed. What only another system could answer says so.
"""

from __future__ import annotations

import importlib
import platform
from typing import TYPE_CHECKING

from svc_sdk import SvcError, __version__
from svc_tools.config import ConfigurationError, EmbeddedSvc
from svc_tools.excel import keys, settings
from svc_tools.excel.accepting import accepted
from svc_tools.excel.checking_calc import calc_lines
from svc_tools.excel.checking_excel import excel_lines
from svc_tools.excel.checking_server import server_lines
from svc_tools.excel.lines import Line
from svc_tools.excel.machine import Machine, version_of
from svc_tools.lookup.trouble import told_of_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_sdk import Svc
    from svc_tools.excel.settings import Description

__all__ = ["check"]

_PACKAGES = ("xlwings", "xlsxwriter", "fastapi", "uvicorn", "keyring", "platformdirs", "filelock")
_INSTALL = 'Install what is missing: pip install "svc-tax-tools[excel]"'
_PYTHON, _SERVICE = "python", "service"
_ASKING = 5.0
"""Seconds that the service is given for an answer."""
_FROM = {
    "environment": "as the environment says",
    "settings": "as it was set up",
    "nothing": "as nobody else was named",
}

_SEEN = (
    "Excel sees the variables that Windows keeps for you (Settings > Edit environment variables),"
    " not those of this terminal"
)


def check(machine: Machine | None = None) -> Iterator[Line]:
    """Look at this machine, link by link; each line is given out once it is known.

    Args:
        machine: this machine where left out.
    """
    machine = machine or Machine()
    yield _python(machine)
    yield _packages(machine)
    yield _xlwings(machine)
    described = settings.describe()
    yield _service(described, machine)
    yield _keyring(described)
    if described.problem is None:
        yield _answer()
    yield from excel_lines(machine)
    yield from server_lines()
    yield from calc_lines(machine)


def _python(machine: Machine) -> Line:
    which = f"{platform.python_version()}, {machine.python_bits}-bit: {machine.python}"
    return Line(_PYTHON, "Python", "ok", f"{which}; svc-tax-tools {__version__}")


def _packages(machine: Machine) -> Line:
    needed = (*_PACKAGES, "pywin32") if machine.is_windows else _PACKAGES
    found = {name: version_of(name) for name in needed}
    missing = [name for name, version in found.items() if version is None]
    if missing:
        return Line(_PYTHON, "Packages", "wrong", f"missing: {', '.join(missing)}", _INSTALL)
    said = ", ".join(f"{name} {version}" for name, version in found.items())
    return Line(_PYTHON, "Packages", "ok", said)


def _xlwings(machine: Machine) -> Line:
    if machine.xlwings is None:
        return Line(_PYTHON, "xlwings", "wrong", "it is not installed", _INSTALL)
    try:
        importlib.import_module("xlwings")
    except Exception as error:  # noqa: BLE001 - whatever keeps it from loading is the finding
        said = f"it does not load: {type(error).__name__}: {error}"
        todo = f"Install it again: {machine.python} -m pip install --force-reinstall xlwings"
        return Line(_PYTHON, "xlwings", "wrong", said, todo)
    return Line(_PYTHON, "xlwings", "ok", f"{machine.xlwings} loads")


def _service(described: Description, machine: Machine) -> Line:
    if described.problem is not None:
        return Line(_SERVICE, "Service", "wrong", described.problem)
    how = _FROM[described.known_from]
    if described.service == settings.EMBEDDED:
        todo = None
        if described.known_from == "nothing":
            todo = "For your account: svc-tools excel install --base-url ADDRESS"
        said = f"the embedded service and its own rate book, {how}"
        return Line(_SERVICE, "Service", "ok", said, todo)
    seen = _SEEN if machine.is_windows and described.known_from == "environment" else None
    return Line(_SERVICE, "Service", "ok", f"{described.service}, {how}", seen)


def _keyring(described: Description) -> Line:
    try:
        keyring = keys.keyring_name()
    except (ConfigurationError, ImportError) as error:
        if described.problem is not None:
            return Line(_SERVICE, "Keyring", "wrong", str(error))
        return Line(_SERVICE, "Keyring", "not set up", str(error))
    holds = "; it holds the key" if described.key == "keyring" else ""
    return Line(_SERVICE, "Keyring", "ok", f"{keyring}{holds}")


def _answer() -> Line:
    """Whether the service answers and takes the key: one request that is not billed."""
    try:
        with settings.client(timeout=_ASKING, max_retries=0) as client:
            return _answer_of(client)
    except SvcError as error:
        told = told_of_service(error)
        return Line(_SERVICE, "Answers", "wrong", f"{told.title}: {told.text}", told.what_to_do)
    except (ConfigurationError, ImportError, ValueError) as error:
        return Line(_SERVICE, "Answers", "wrong", str(error))


def _answer_of(client: Svc) -> Line:
    if isinstance(client, EmbeddedSvc):
        client.health()
        said = f"it answers, from the rate book of edition {client.book_edition}"
        return Line(_SERVICE, "Answers", "ok", said)
    accepted(client)
    return Line(_SERVICE, "Answers", "ok", "it answers, and accepts the key")
