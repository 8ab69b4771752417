"""What every start of the service needs: where the database is, and a key."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc_tools.base.operating_system import user_folder

if TYPE_CHECKING:
    from pathlib import Path

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|postgres[a-z0-9+]*:", re.IGNORECASE)


def default_path() -> Path:
    """Where the database is by default."""
    return user_folder("data") / "service.db"


def is_address(target: str) -> bool:
    """Whether a target is the address of a server; else it is the path of a file.

    A mistyped address is an address too: as a path, messages would repeat its password.
    """
    return _ADDRESS.match(target) is not None


def new_key() -> SecretStr:
    """A fresh key with 256 random bits; that is why a plain hash of it is safe to store."""
    return SecretStr(f"svc_{secrets.token_urlsafe(32)}")
