"""A process that writes and applies plans in children, and kills each where a test says.

It reads one JSON object per line: url, key, plan (or receipt, to restore it, or edit, to change a
registration, or add, to add several), folder, and where to end: the name of a step, and "before" it
or "half" through it (a write). It responds with the names of the steps that the child came to, and
whether it was killed. A step is a write ("write sending 2": the line of the second request), its
way to the disk ("sync sending 2") or a request ("request 2"); "sync records" and "sync plan" are
those of the other files.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from functools import partial

import filelock

from svc_sdk import Svc, models
from svc_tools.base import atomic, operating_system
from svc_tools.nexus import (
    add_registrations,
    apply_plan,
    edit_registration,
    job,
    journal,
    read_plan,
    read_receipt,
    restore,
)


@contextmanager
def killing(key):
    """The process, loaded once: called with a task, it forks, and gives the steps of the child."""
    with subprocess.Popen(
        [sys.executable, "-P", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:

        def run(**task):
            process.stdin.write(json.dumps({"key": key, "at": "", "when": "", **task}) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


class Steps:
    """Counts the steps of a child, reports each, and ends the child at one of them."""

    def __init__(self, task, report):
        self.at, self.when, self.report = task["at"], task["when"], report
        self.names = Counter()
        self.line = "folder"
        file = "plan" if task.get("write") else "records"
        real_write, real_send = journal._write, job.exchange
        journal._write = partial(self.write, real_write)
        reals = {name: getattr(operating_system, name) for name in ("sync", "sync_folder")}
        journal.sync, journal.sync_folder = (
            lambda what, real=real: self.step(f"sync {self.line}", real, what)
            for real in reals.values()
        )
        atomic.operating_system = Like(
            operating_system,
            **{name: partial(self.step, f"sync {file}", real) for name, real in reals.items()},
        )
        job.exchange = partial(self.step, "request", real_send)

    def write(self, real, file, line):
        self.line = json.loads(line)["event"]
        half = partial(real, file, line[: len(line) // 2])
        self.step(f"write {self.line}", real, file, line, half=half)

    def step(self, name, real, *arguments, half=lambda: None):
        self.names[name] += 1
        name = f"{name} {self.names[name]}"
        os.write(self.report, f"{name}\n".encode())
        if name == self.at:
            if self.when == "half":
                half()
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)


class Like:
    """A module with something else in one place."""

    def __init__(self, module, **other):
        self._module = module
        self.__dict__.update(other)

    def __getattr__(self, name):
        return getattr(self._module, name)


def work(task, report):
    """Apply a plan, write it again, restore a receipt, or edit or add registrations."""
    plan = read_plan(task["plan"]) if task.get("plan") else None
    Steps(task, report)
    if task.get("write"):
        plan.untick().write(task["plan"])
        return
    with Svc(task["key"], base_url=task["url"], max_retries=0) as client:
        if task.get("edit"):
            edit_registration(client, **task["edit"], dry_run=False, folder=task["folder"])
        elif task.get("add"):
            add_registrations(client, task["add"], dry_run=False, folder=task["folder"])
        elif task.get("receipt"):
            restore(read_receipt(task["receipt"]), client, dry_run=False)
        else:
            apply_plan(plan, client, dry_run=False, folder=task["folder"])


def forked(task):
    """Fork, work, perhaps die."""
    read, report = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            work(task, report)
        except Exception as error:  # noqa: BLE001 - the child's last words
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(0)
    os.close(report)
    with os.fdopen(read, "rb") as pipe:
        steps = pipe.read().decode().splitlines()
    status = os.waitpid(child, 0)[1]
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {"steps": steps, "killed": killed, "status": status}


def main():
    """Do what each line says, in children that find everything loaded."""
    models.NexusList.model_validate({"nexus": [{"state": "TX", "nexus_type": "physical"}]})
    models.NexusRemoval.model_validate({"deleted": 0})
    models.ValidationDetail.model_validate({"loc": [], "msg": "", "type": ""})
    with Svc("no-key-at-all", base_url="http://127.0.0.1:9") as client:
        client._settings.failure(OSError())
    filelock.FileLock(os.devnull)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(forked(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
