"""A real LibreOffice Calc without a window, with the add-in installed in a profile of its own."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from benchmarks import tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_DRIVER = Path(__file__).with_name("calc_driver.py")
_PATIENCE = 60
_ENDS = 15  # seconds to end by itself; both are within the minute of a test


class Calc:
    """Orders to one running Calc, see `calc_driver`."""

    def __init__(self, driver: subprocess.Popen[str]) -> None:
        self._driver = driver
        self._orders = 0

    def do(self, order: str, **more: Any) -> Any:  # noqa: ANN401 - JSON
        """Have it done, and get what came of it."""
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._orders += 1
        self._driver.stdin.write(json.dumps({"do": order, "order": self._orders, **more}) + "\n")
        self._driver.stdin.flush()
        answer = {"order": 0}
        while answer["order"] < self._orders:  # whoever gave one before may not have waited for it
            answer = json.loads(self._driver.stdout.readline())
        assert "failed" not in answer, answer["failed"]
        return answer["is"]

    def sheet(self, cells: Mapping[str, Any], read: Sequence[str]) -> list[Any]:
        """What cells of a new sheet show, once these are filled in."""
        self.do("open")
        self.do("fill", cells=cells)
        return self.do("shown", addresses=list(read))

    def formulas(self, *formulas: str, cells: Mapping[str, Any] | None = None) -> list[Any]:
        """What formulas show, each in a cell of its own in column J."""
        places = [f"J{row}" for row in range(1, len(formulas) + 1)]
        filled = {**(cells or {}), **dict(zip(places, formulas, strict=True))}
        return self.sheet(filled, places)


@contextmanager
def running_calc(folder: Path, addin: Path, server_folder: Path) -> Iterator[Calc]:
    """Install the add-in as a user does, and start Calc.

    The extension goes into the layer of all users, which is put into `folder`: that is the one
    into which root may install, too.

    Raises:
        ToolError: LibreOffice is missing, or does not work here.
    """
    program = tools.soffice()
    python = tools.python_with_uno()
    environment = tools.clean_environment(
        HOME=str(folder),
        SVC_EXCEL=str(server_folder),
        SAL_USE_VCLPLUGIN="svp",  # draws in memory; with --headless a message would close itself
    )
    layers = [
        f"-env:UserInstallation={(folder / 'profile').as_uri()}",
        f"-env:UNO_SHARED_PACKAGES_CACHE={(folder / 'shared').as_uri()}",
    ]
    (folder / "shared").mkdir(exist_ok=True)
    unopkg = Path(program).resolve().with_name("unopkg")
    _add([str(unopkg), "add", "--shared", *layers, str(addin)], environment)
    pipe = f"svc-{uuid4().hex}"
    options = ("--nodefault", "--norestore", "--nologo", f"--accept=pipe,name={pipe};urp;")
    office = subprocess.Popen(  # noqa: S603 - our own command
        [program, *layers, *options], env=environment, stderr=subprocess.DEVNULL
    )
    driver = subprocess.Popen(  # noqa: S603 - our own command
        [python, _DRIVER, pipe],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert driver.stdout is not None
        if driver.stdout.readline().strip() != '{"is": "ready"}':
            raise tools.ToolError("LibreOffice does not start: its driver ended")
        yield Calc(driver)
    finally:
        with suppress(BrokenPipeError):  # it has ended already
            _end(driver)
        _await_end(driver)
        _await_end(office)


def _add(command: Sequence[str], environment: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise tools.ToolError(f"installing the Calc extension took over {_PATIENCE} s") from error
    if done.returncode != 0:
        told = " ".join((done.stderr or done.stdout).split())
        raise tools.ToolError(f"installing the Calc extension failed: {told[-200:]}")


def _end(driver: subprocess.Popen[str]) -> None:
    assert driver.stdin is not None
    assert driver.stdout is not None
    try:
        if driver.poll() is None:
            driver.stdin.write('{"do": "end"}\n')
        driver.stdin.close()
    finally:
        driver.stdout.close()


def _await_end(process: subprocess.Popen[Any]) -> None:
    try:
        process.wait(_ENDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_ENDS)
