"""What a start of the service needs at once: where the database is, whether it is there, a key.

SQLAlchemy takes a tenth of a second to load, and lookups in process need no database.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

from platformdirs import user_data_dir
from pydantic import SecretStr

from svc_tools.operating_system import database_uri

# Earlier releases made databases of this version with one more column and table, now unused.
SCHEMA_VERSION = 2
TABLES = frozenset({"schema_version", "accounts", "api_keys", "nexus", "usage"})
"""The tables of a database."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|postgres[a-z0-9+]*:", re.IGNORECASE)


def default_path() -> Path:
    """Where the database is by default."""
    return Path(user_data_dir("svc-tools", appauthor=False)) / "service.db"


def is_address(target: str) -> bool:
    """Whether a target is the address of a server; else it is the path of a file.

    A mistyped address is an address too: as a path, messages would repeat its password.
    """
    return _ADDRESS.match(target) is not None


def is_ready(path: Path) -> bool:
    """Whether a file is a database of this release, as far as a look at its tables shows.

    Where it is not, `Database` makes it, or says what is wrong with it.
    """
    if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
        return False
    try:
        with closing(
            sqlite3.connect(f"{database_uri(path)}?mode=rw", uri=True, timeout=0)
        ) as opened:
            tables = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not {name for (name,) in tables} >= TABLES:
                return False
            versions = opened.execute("SELECT version FROM schema_version").fetchall()
    except sqlite3.Error:
        return False
    return versions == [(SCHEMA_VERSION,)]


def new_key() -> SecretStr:
    """A fresh key with 256 random bits; that is why a plain hash of it is safe to store."""
    return SecretStr(f"svc_{secrets.token_urlsafe(32)}")
