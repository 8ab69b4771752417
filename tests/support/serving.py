"""`svc-tools serve` as a program, and keys of a service."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.command import start_python
from support.faults import KEY

if TYPE_CHECKING:
    from svc_tools.service.keys import KeyRow, KeyStore

NO_WARNINGS = ("-W", "error")
_LIMITS = ("rate_per_minute", "burst", "monthly_quota")


@dataclass
class Served:
    """A program that listens: its process, its address, and the lines that it printed."""

    process: subprocess.Popen
    url: str
    lines: list[str]
    errors: Path

    def value_of(self, label):
        (line,) = [line for line in self.lines if line.startswith(label)]
        return line.removeprefix(label)

    def end(self, number=signal.SIGINT):
        """Send a signal, `None` for none; the exit code and what it wrote to stderr."""
        if number is not None:
            self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode, self.errors.read_text()


@contextlib.contextmanager
def program(
    *options, key=None, typed=None, flags=NO_WARNINGS, python=sys.executable, **environment
):
    """`svc-tools serve` with options, maybe a key, and what is typed, until the block ends.

    Stderr is a file: a pipe that nobody reads fills up and stops the service.
    """
    command = [*flags, "-m", "svc_tools", "serve", "--port", "0", *map(str, options)]
    command += [] if key is None else ["--api-key", "-"]
    with (
        tempfile.TemporaryDirectory() as folder,
        (Path(folder) / "stderr").open("w") as errors,
        start_python(
            *command,
            python=python,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | environment,
            start_new_session=True,
        ) as process,
    ):
        try:
            process.stdin.write(f"{typed or key}\n")
            process.stdin.close()
            process.stdin = None
            lines = []
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if line.startswith("Stop with"):
                    break
            else:
                raise AssertionError(Path(errors.name).read_text(encoding="utf-8"))
            url = re.search(r"http://[0-9.]+:\d+", lines[0])[0]
            yield Served(process, url, lines, Path(errors.name))
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            # its workers, where it left some; Windows has none, and no groups of processes
            with contextlib.suppress(ProcessLookupError, AttributeError):
                os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def serving_service(db, *, port=0, key=KEY, python=sys.executable):
    """The program over a database, for the length of the block: its process and its address."""
    options = ("--port", port, "--db", db)
    with program(*options, key=key, flags=(), python=python) as served:
        yield served.process, served.url


def make_key(
    keys: KeyStore, *, plan: str = "unlimited", account: str = "local", **given: Any
) -> tuple[KeyRow, dict[str, str]]:
    """A new key's row, and the headers of a request that carries it."""
    # not at the top: the tests of svc_sdk run where svc_tools cannot be imported
    from svc_tools.service.keys import signed_features  # noqa: PLC0415 - as below
    from svc_tools.service.start import new_key  # noqa: PLC0415

    key = new_key()
    limits = {name: given.pop(name) for name in _LIMITS if name in given}
    features = signed_features(given.pop("features", None))
    row = keys.create(key, account=account, plan=plan, limits=limits, features=features, **given)
    return row, {"X-API-Key": key.get_secret_value()}
