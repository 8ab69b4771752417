"""`svc-tools`: the command line."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from svc_tools.base.extras import needs
from svc_tools.base.operating_system import end_signals, print_what_it_can

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["main"]


def main() -> None:
    """Run the command line; where its libraries are missing, say how to install them.

    SIGTERM and SIGHUP (a terminal that closes; on Windows SIGBREAK) end a command as Ctrl+C does:
    what is paid for is cached, and no half file is left. The exit code is the shell's: 130, 143 or
    129.
    """
    print_what_it_can(sys.stdout, sys.stderr)
    gc.set_threshold(_COLLECT_FROM)
    with _ended_by_signals():
        try:
            with needs("The command line", "cli"):
                from svc_tools.cli.app import app  # noqa: PLC0415 - the extra may be missing
        except ImportError as error:
            print(error, file=sys.stderr)  # noqa: T201 - what prints nicely may be missing
            sys.exit(2)
        app()


_COLLECT_FROM = 100_000
"""New objects until garbage is collected. Loading makes many, all of which stay: with the usual 700
a twentieth of a short command's time is spent on looking through them again and again."""
_ONE_END = 1.0
"""Seconds in which a further signal is of the same end: a shell that is closed may send two."""
_ENDED = 128


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Handle the other signals to end like Ctrl+C; each has an exit code of its own."""
    received: list[int] = []
    last = 0.0
    terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]
    nowhere = os.open(os.devnull, os.O_WRONLY)

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if received and last - before < _ONE_END:
            return
        received.append(number)
        if number == getattr(signal, "SIGHUP", None):
            # a terminal that is gone refuses what is printed, which would end the saving
            for descriptor in terminals:
                os.dup2(nowhere, descriptor)
        interrupt = signal.getsignal(signal.SIGINT)  # a removal of nexus records has its own
        (interrupt if callable(interrupt) else signal.default_int_handler)(signal.SIGINT, frame)

    handled = [n for n in end_signals() if signal.getsignal(n) == signal.SIG_DFL]  # `nohup`
    try:
        for signum in handled:
            signal.signal(signum, end)
        yield
    except KeyboardInterrupt:  # while the command is loaded
        sys.exit(_ENDED + (received or [signal.SIGINT])[0])
    except SystemExit as ended:
        if received and ended.code:  # a server that was asked to stop has done so
            sys.exit(_ENDED + received[0])
        raise
    finally:
        for signum in (
            signal.SIGINT,
            *handled,
        ):  # what closes at exit, such as the cache, is finished
            atexit.register(signal.signal, signum, signal.SIG_IGN)
