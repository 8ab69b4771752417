"""A process that applies plans in children of its own, and kills them where it is told to.

It reads one JSON object a line: url, key, plan, folder, and where to end: the number of the
boundary (each write, each sync and each request is one) and "before" it or "half" of it (of a
write). It answers which boundaries the child came to (w, s and r), and whether it was killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import filelock

from svc_sdk import Svc, models
from svc_tools import atomic
from svc_tools.nexus import apply_plan, journal, read_plan, run


def killing(at, when, passed):
    """Count the boundaries, and end at one of them."""

    def boundary(kind, real, *, half=lambda *_: None):
        def step(*arguments):
            os.write(passed, kind)
            killing.count += 1
            if killing.count == at:
                if when == "half":
                    half(*arguments)
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)

        return step

    killing.count = 0
    real_write = journal._write
    journal._write = boundary(
        b"w", real_write, half=lambda file, line: real_write(file, line[: len(line) // 2])
    )
    journal.os = Like(os, fsync=boundary(b"s", os.fsync))
    atomic.os = Like(os, fsync=boundary(b"s", os.fsync))
    run.exchange = boundary(b"r", run.exchange)


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
                apply_plan(read_plan(task["plan"]), client, dry_run=False, folder=task["folder"])
        except Exception as error:  # noqa: BLE001 - the child's last words
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(0)
    os.close(passed)
    with os.fdopen(read, "rb") as pipe:
        boundaries = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {"boundaries": boundaries, "killed": killed, "status": status}


def main():
    """Do what each line says, in children that find everything loaded."""
    models.NexusList.model_validate({"nexus": [{"state": "TX", "nexus_type": "physical"}]})
    models.NexusRemoval.model_validate({"deleted": 0})
    models.ValidationDetail.model_validate({"loc": [], "msg": "", "type": ""})
    with Svc("no-key-at-all", base_url="http://127.0.0.1:9") as client:
        client._settings.failure(OSError())
    filelock.FileLock(os.devnull)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(one(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
