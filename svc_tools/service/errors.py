"""Errors outside a request; each message is a sentence for the user who started the service.

StartError              the service cannot start
└── StoreError          the database cannot be opened or used
    ├── StoreBusyError         another process holds it; trying again may help
    └── StoreUnavailableError  it worked before; work goes on once it is back
BookUnavailableError    the rate book cannot be read; lookups go on once it can be read again
"""

from __future__ import annotations

ANOTHER = "name another database with SVC_DATABASE_URL, or with --db where there is that option"
"""What to do where a database cannot be used."""


class BookUnavailableError(Exception):
    """The rate book cannot be read; lookups go on once it can be read again."""


class StartError(Exception):
    """The service cannot start; the message says why and what to do."""


class StoreError(StartError):
    """The database cannot be used: not writable, of another program, or of another version."""


class StoreBusyError(StoreError):
    """Another process locked the database for too long."""


class StoreUnavailableError(StoreError):
    """The database in use is gone, unreachable, full, read-only or damaged."""
