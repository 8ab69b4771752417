"""A real LibreOffice Calc without a window, with the add-in installed in a profile of its own."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from support import tools
from svc_tools.excel import calc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

__all__ = ["Calc", "addin_module", "running_calc"]

_DRIVER = Path(__file__).with_name("calc_driver.py")
_ADDIN = Path(calc.__file__).parent / "addin" / "pythonpath"
_PATIENCE = 60


class Calc:
    """Orders to one running Calc, see `calc_driver`."""

    def __init__(self, driver: subprocess.Popen[str]) -> None:
        self._driver = driver

    def do(self, order: str, **more: Any) -> Any:
        """Have it done, and get what came of it."""
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.write(json.dumps({"do": order, **more}) + "\n")
        self._driver.stdin.flush()
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
    """Install the add-in as a person does, and start Calc.

    The extension goes into the layer of all users, which is put into `folder`: that is the one
    into which root may install, too.
    """
    program = tools.soffice()
    python = tools.python_with_uno()
    own = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    environment = own | {"HOME": str(folder), "SVC_EXCEL": str(server_folder)}
    environment["PATH"] = _path_of_the_system()
    layers = [
        f"-env:UserInstallation={(folder / 'profile').as_uri()}",
        f"-env:UNO_SHARED_PACKAGES_CACHE={(folder / 'shared').as_uri()}",
    ]
    (folder / "shared").mkdir(exist_ok=True)
    unopkg = Path(program).resolve().with_name("unopkg")
    added = subprocess.run(
        [unopkg, "add", "--shared", *layers, addin],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert added.returncode == 0, added.stderr
    pipe = f"svc-{uuid4().hex}"
    options = ("--headless", "--norestore", "--nologo", f"--accept=pipe,name={pipe};urp;")
    office = subprocess.Popen(
        [program, *layers, *options], env=environment, stderr=subprocess.DEVNULL
    )
    driver = subprocess.Popen(
        [python, _DRIVER, pipe],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert driver.stdout is not None
        assert json.loads(driver.stdout.readline()) == {"is": "ready"}
        yield Calc(driver)
    finally:
        _ended(driver)
        try:
            office.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            office.kill()
            office.wait()


def _path_of_the_system() -> str:
    """Where programs are looked for, without an active virtual environment.

    LibreOffice's own Python takes the first `python` there for itself, and finds no `uno` in it.
    """
    places = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(one for one in places if Path(one) != Path(sys.executable).parent)


def _ended(driver: subprocess.Popen[str]) -> None:
    assert driver.stdin is not None
    assert driver.stdout is not None
    if driver.poll() is None:
        driver.stdin.write('{"do": "end"}\n')
    driver.stdin.close()
    driver.stdout.close()
    driver.wait(_PATIENCE)


def addin_module(name: str) -> ModuleType:
    """A module of the extension, as LibreOffice's Python finds it."""
    if name not in sys.modules:
        sys.path.append(str(_ADDIN))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(_ADDIN))
    return sys.modules[name]
