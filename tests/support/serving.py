"""The embedded service as a program of its own."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys

from support.faults import KEY


@contextlib.contextmanager
def serving_service(db, *, port=0, key=KEY, python=sys.executable):
    """`svc-tools serve`, for the length of the block: its process and its address."""
    command = [python, "-m", "svc_tools", "serve", "--port", str(port), "--db", str(db)]
    with subprocess.Popen(
        [*command, "--api-key", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            process.stdin.write(f"{key}\n")
            process.stdin.flush()
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield process, found[0]
                    break
            else:
                raise AssertionError("the service did not start")
        finally:
            process.terminate()
