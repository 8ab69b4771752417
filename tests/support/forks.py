"""Forked children: what a function returns in one, or in several that begin together."""

from __future__ import annotations

import json
import os
import signal
import sys

ENDS_AFTER = 20
"""Seconds after which a child that hangs is ended."""


def in_children(*works, seconds=ENDS_AFTER):
    """What each function returns in a forked child of its own, through JSON.

    All begin together. A child that hangs, or whose function raises, gives its exit code instead,
    in words.
    """
    sys.stdout.flush()
    waits, go = os.pipe()
    children = []
    for work in works:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(go)
                signal.alarm(seconds)
                os.read(waits, 1)
                with os.fdopen(write, "w") as result:
                    json.dump(work(), result)
                os._exit(0)
            except BaseException as error:  # noqa: BLE001 - the child must end here
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(1)
        os.close(write)
        children.append((child, read))
    os.close(go)
    os.close(waits)
    return [_result(*one) for one in children]


def in_child(work, seconds=ENDS_AFTER):
    """What a function returns in a forked child."""
    return in_children(work, seconds=seconds)[0]


def _result(child, read):
    with os.fdopen(read) as result:
        text = result.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if code == 0 else f"ended with {code}"
