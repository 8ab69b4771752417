"""A server in a process of its own that tells what it has used.

    ours    the service over the shipped rate book and a fresh database
    empty   one FastAPI route that returns a `Response` that is ready, by uvicorn

A number behind that is how many files and connections the process may have open.
It prints its address; each line that it then reads is answered with the CPU seconds that it has
used and the bytes of memory that it holds.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation at run time
from starlette.responses import Response

from benchmarks.load import KEY
from benchmarks.measure import resident
from svc_tools.base.loopback import base_address, listen

with suppress(ImportError):  # Windows has no such limit
    import resource

BODY = b'{"rate":{' + b'"x":1,' * 150 + b'"y":1}}'
"""About as long as the answer of a lookup."""


def empty() -> None:
    app = FastAPI(docs_url=None, redoc_url=None)

    @app.get("/v1/tax/{state}")  # noqa: FAST003 - ours reads it from the request, too
    async def answer(_request: Request) -> Response:
        return Response(BODY, media_type="application/json")

    config = uvicorn.Config(
        app, lifespan="off", ws="none", log_config=None, access_log=False, timeout_keep_alive=75
    )
    with listen("127.0.0.1", 0) as listener:
        print(base_address(listener), flush=True)
        uvicorn.Server(config).run(sockets=[listener])


def ours() -> None:
    from svc_tools.service.admin import serve  # noqa: PLC0415 - the other server needs no book

    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "service.db"
        key = SecretStr(KEY)
        serve("127.0.0.1", 0, database, key, lambda line: print(line, flush=True))


def answer_questions() -> None:
    for _ in sys.stdin:
        print(f"used {time.process_time()} {resident()}", flush=True)


if __name__ == "__main__":
    for limit in map(int, sys.argv[2:]):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    threading.Thread(target=answer_questions, daemon=True).start()
    {"ours": ours, "empty": empty}[sys.argv[1]]()
