"""A process that applies plans in children of its own, and kills them where it is told to.

It reads one JSON object a line: url, key, plan, folder, and where to end: the number of the
boundary (each write, each sync and each request is one) and "before", "after" or "half" of it (of
a write). It answers how many boundaries the child passed, and whether it was killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from svc_sdk import Svc
from svc_tools.nexus import apply_plan, apply_steps, journal, read_plan, receipt_files


def killing(at, when, passed):
    """Count the boundaries, and end at one of them."""

    def boundary(real, *, half=None):
        def step(*arguments):
            os.write(passed, b".")
            step_number = killing.count = killing.count + 1
            if step_number == at and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            if step_number == at and when == "half" and half is not None:
                half(*arguments)
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments)
            if step_number == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return step

    killing.count = 0
    real_write = journal._write
    journal._write = boundary(
        real_write, half=lambda file, line: real_write(file, line[: len(line) // 2])
    )
    journal.os = Like(os, fsync=boundary(os.fsync))
    receipt_files.os = Like(os, fsync=boundary(os.fsync))
    apply_steps.exchange = boundary(apply_steps.exchange)


class Like:
    """A module with something else in one place."""

    def __init__(self, module, **other):
        self._module = module
        self.__dict__.update(other)

    def __getattr__(self, name):
        return getattr(self._module, name)


def one(task):
    """Fork, apply, perhaps die."""
    read, passed = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            killing(task["at"], task["when"], passed)
            with Svc(task["key"], base_url=task["url"], max_retries=0) as client:
                apply_plan(
                    read_plan(task["plan"]), client, dry_run=False, folder=task["folder"]
                )
        except BaseException as error:
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(0)
    os.close(passed)
    with os.fdopen(read, "rb") as pipe:
        count = len(pipe.read())
    status = os.waitpid(child, 0)[1]
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {"boundaries": count, "killed": killed, "status": status}


def main():
    """Do what each line says."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(one(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
