"""What can go wrong outside a request. Each message is a sentence for the person who started it.

StartError              the service cannot start
├── PortInUseError      another program listens on that port
└── StoreError          the database cannot be opened or used
    ├── StoreBusyError         another process holds it; trying again may help
    └── StoreUnavailableError  it was fine and is not now; all goes on once it is mended
BookUnavailableError    the rate book cannot be read; it answers again once it is mended
"""

from __future__ import annotations

ANOTHER = "name another database with SVC_DATABASE_URL, or with --db where there is that option"
"""What to do where a database cannot be used."""


class BookUnavailableError(Exception):
    """There is no rate book to answer from; lookups go on once it can be read again."""


class StartError(Exception):
    """The service cannot start; the message says why and what to do."""


class PortInUseError(StartError):
    """Another program already listens on the port that was asked for."""


class StoreError(StartError):
    """The database cannot be used: not writable, not ours, or of a newer version."""


class StoreBusyError(StoreError):
    """Another process kept the database locked for longer than we wait."""


class StoreUnavailableError(StoreError):
    """The database in use is gone, unreachable, full, read-only or damaged."""
