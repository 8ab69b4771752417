"""The command line, run as a user runs it, and other programs in Python."""

from __future__ import annotations

import os
import subprocess
import sys

from support.warm import Forked

TOO_LONG = 50
"""Seconds after which a command is ended: before the test that waits for it is."""
AT_THE_START = ("PYTHON", "TZ", "LC_", "LANG")
"""How the variables begin that Python reads before any command does."""


def start_python(*arguments, python=sys.executable, **options):
    """`python` with arguments and the options of `subprocess.Popen`, its libraries loaded.

    Where nothing can be loaded before, it is a new Python.
    """
    here = python == sys.executable and sys.platform == "linux"
    changed = (options.get("env") or os.environ).items() ^ os.environ.items()
    # a forked child of macOS may not use the libraries of the system, and a Windows has no fork
    if here and not any(name.startswith(AT_THE_START) for name, _ in changed):
        return Forked(arguments, **options)
    return subprocess.Popen([python, *map(str, arguments)], **options)


def run_python(*arguments, typed=None, timeout=TOO_LONG, **options):
    """The same to its end: its exit code, and what it wrote."""
    pipes = {"stdin": subprocess.PIPE if typed else subprocess.DEVNULL}
    pipes |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start_python(*arguments, **pipes | options) as process:
        try:
            out, err = process.communicate(typed, timeout)
        except subprocess.TimeoutExpired as late:
            command = " ".join(map(str, arguments))
            wrote = f"it wrote {late.output!r}, {late.stderr!r}"
            raise AssertionError(f"not within {timeout} s: {command}; {wrote}") from None
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def svc_tools(*arguments, folder=None, **environment):
    """One command in 80 columns, with changes to the environment; where it runs, if not here."""
    changed = os.environ | {"COLUMNS": "80"} | environment
    return run_python("-m", "svc_tools", *arguments, cwd=folder, env=changed)
