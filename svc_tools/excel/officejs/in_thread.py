"""Work that takes its time beside the event loop, on threads that never keep the process alive."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_thread"]

_Made = TypeVar("_Made")


async def in_thread(work: Callable[[], _Made]) -> _Made:
    """What `work` gives, computed on a thread of its own.

    An executor's threads are waited for when the process ends, and a lookup whose service hangs
    would hold up Ctrl+C.
    """
    loop = asyncio.get_running_loop()
    made: asyncio.Future[_Made] = loop.create_future()

    def settle(result: _Made | None, error: BaseException | None) -> None:
        if made.done():  # nobody waits any more
            return
        if error is not None:
            made.set_exception(error)
        else:
            made.set_result(result)  # type: ignore[arg-type]  # what `work` gave

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="svc-excel", daemon=True).start()
    return await made
