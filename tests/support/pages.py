"""The page for people without code, started as they start it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from functools import cached_property

import httpx

from support.command import start_python
from support.systems import interrupt

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")


@dataclass
class ServedPage:
    """A running `svc-tools panel`.

    Attributes:
        process: its process.
        url: the address that it printed, with the token.
        said: the lines that it printed up to there.
    """

    process: subprocess.Popen
    url: str
    said: list[str]

    @property
    def address(self):
        """The address without the token."""
        return ADDRESS.match(self.url)[0]

    @property
    def origin(self):
        return self.address.rstrip("/")

    @cached_property
    def home(self):
        """Where the page lives: the token's address leads there."""
        return self.origin + httpx.get(self.url).headers["location"]

    def end(self, number=signal.SIGINT):
        """Send a signal; the lines that it printed since, and its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=60)
        return said.splitlines(), self.process.returncode


@contextlib.contextmanager
def served_page(*options, cwd=None, **environment):
    """`svc-tools panel` for the length of the block; without a browser, unless one is named."""
    shown = () if "--browser" in options else ("--no-browser",)
    with start_python(
        *("-m", "svc_tools", "panel", *shown, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
    ) as process:
        said = []
        try:
            for line in process.stdout:
                said.append(line.rstrip("\n"))
                if line.startswith("Open "):
                    yield ServedPage(process, line.split()[1], said)
                    break
            else:
                raise AssertionError(f"the page did not start: {said}")
        finally:
            if process.poll() is None:
                interrupt(process)
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
