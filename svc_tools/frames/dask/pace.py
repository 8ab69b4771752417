"""One at a time: all askers of one account on a cluster share one pace, because they take turns."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from dask.base import get_scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client

    from svc_tools.config import Source

__all__ = ["cluster", "turn", "turn_name"]


def cluster() -> Client | None:
    """The client of the cluster that a compute() would use now; `None` for threads or processes."""
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "submit") and hasattr(owner, "scheduler_info") else None


def turn_name(source: Source) -> str:
    """The name of the turn: the same for everyone who asks that service for that account."""
    told = f"{source.service}\n{source.account}"
    return f"svc-lookup-{hashlib.blake2b(told.encode(), digest_size=8).hexdigest()}"


@contextlib.contextmanager
def turn(name: str) -> Iterator[None]:
    """Wait for one's turn on the cluster, and keep it for the length of the block.

    It is a lease of one of Dask's semaphore, renewed while the holder lives: when a worker dies
    with it, it lapses (`distributed.scheduler.locks.lease-timeout`, 30 s) and the next one goes on.
    """
    from distributed import Semaphore  # noqa: PLC0415 - only where there is a cluster

    lease = Semaphore(max_leases=1, name=name)
    try:
        with lease:
            yield
    finally:
        renewing = getattr(lease, "refresh_callback", None)  # none where leases never lapse
        if renewing is not None:  # else the event loop would keep it for ever
            lease.loop.add_callback(renewing.stop)
