"""The real service, the fault server, and both clients behind one face."""

from __future__ import annotations

from support.both import connect, library, waits

__all__ = ["connect", "library", "waits"]
