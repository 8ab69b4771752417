"""Programs that some tests need: found, or the test skips with the line that installs them."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from benchmarks import tools

if TYPE_CHECKING:
    from collections.abc import Callable


def _or_skip(find: Callable[[], str]) -> str:
    try:
        return find()
    except tools.ToolError as error:
        pytest.skip(str(error))


def soffice() -> str:
    """LibreOffice: a real spreadsheet engine."""
    return _or_skip(tools.soffice)


def convert(into, kind, *paths, command=(), options=(), env=None):
    """Have LibreOffice compute workbooks and save them in another format, into a folder."""
    profile = f"-env:UserInstallation={(into / 'profile').as_uri()}"
    done = subprocess.run(
        [
            *(command or [soffice()]),
            *(profile, *options, "--headless", "--convert-to", kind, "--outdir", str(into)),
            *map(str, paths),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env=env,
    )
    assert done.returncode == 0, done.stderr


def chromium() -> str:
    """Chromium: the pages, as a person sees and uses them."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("Chromium is missing: apt-get install --no-install-recommends chromium")
    return found


def node() -> str:
    """Node: JavaScript of ours, run as it is shipped."""
    return _or_skip(tools.node)


_PACKAGES = Path(__file__).parents[1] / "excel" / "npm"
_HOME = Path.home()  # the user's, with the settings of npm; the tests have a home of their own
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or _HOME / ".cache") / "svc-tools" / "tests"


@functools.cache
def npm_packages() -> Path:
    """A folder with the packages of `tests/excel/npm`, installed once into the user's cache."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is missing: apt-get install --no-install-recommends npm")
    lock = (_PACKAGES / "package-lock.json").read_bytes()
    folder = _CACHE / f"npm-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        shutil.copytree(_PACKAGES, folder, dirs_exist_ok=True)
        if not (folder / "installed").exists():
            home = os.environ | {"HOME": str(_HOME)}
            done = subprocess.run(
                [npm, "ci"],
                cwd=folder,
                env=home,
                capture_output=True,
                text=True,
                timeout=150,
                check=False,
            )
            if done.returncode:
                reason = done.stderr.strip()[-300:]
                pytest.skip(f"a package is missing: `npm ci` in {folder} says {reason}")
            (folder / "installed").touch()
    return folder


@functools.cache
def openssl() -> str:
    """openssl: a certificate for https on this machine."""
    found = shutil.which("openssl")
    if found is None:
        pytest.skip("openssl is missing: apt-get install --no-install-recommends openssl")
    return found


@functools.cache
def python_with_uno() -> str:
    """A Python that knows LibreOffice: that of the system, not that of the tests."""
    return _or_skip(tools.python_with_uno)


def unoidl_write() -> str:
    """What makes type libraries for LibreOffice."""
    found = shutil.which("unoidl-write", path="/usr/lib/libreoffice/sdk/bin:" + os.defpath)
    if found is None:
        pytest.skip(
            "unoidl-write is missing: apt-get install --no-install-recommends libreoffice-dev"
        )
    return found
