"""What can go wrong outside a request. Each message is a sentence for the person who started it.

StartError              the service cannot start
├── PortInUseError      another program listens on that port
└── StoreError          the database cannot be opened or used
    └── StoreBusyError  another process holds it; trying again may help
"""

from __future__ import annotations

__all__ = ["PortInUseError", "StartError", "StoreBusyError", "StoreError"]


class StartError(Exception):
    """The service cannot start; the message says why and what to do."""


class PortInUseError(StartError):
    """Another program already listens on the port that was asked for."""


class StoreError(StartError):
    """The database cannot be used: not writable, not ours, or of a newer version."""


class StoreBusyError(StoreError):
    """Another process kept the database locked for longer than we wait."""
