"""A PostgreSQL server of the tests' own: made in a temporary folder, gone with the tests.

Each worker of a run has one server, and each test a database of its own in it. It listens on
a Unix socket and a loopback port, keeps nothing safe on purpose (no fsync), and runs as the user
`postgres` where the tests run as root, because it refuses to be root.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pg8000 import dbapi

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING = "PostgreSQL is missing: apt-get install postgresql"
USER = "svc"
GUARDED = "guarded"
"""A user whom the server asks for a password, once there is one of that name."""
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "deadlock_timeout": "20ms",
    "listen_addresses": "127.0.0.1",
}


class Server:
    """A server that runs; `start` and `stop` are for tests of what happens without it."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._data = folder / "data"
        self._made = 0
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self._run("initdb", "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        rules = self._data / "pg_hba.conf"
        guarded = f"host all {GUARDED} 127.0.0.1/32 scram-sha-256\n"
        rules.write_text(guarded + rules.read_text())

    def url(self, database: str, *, user: str = USER) -> str:
        """The address of a database of this server."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def socket_url(self, database: str) -> str:
        """The same, over the Unix socket."""
        return f"postgresql://{USER}@/{database}?host={self._folder}&port={self.port}"

    def start(self) -> None:
        settings = SETTINGS | {"port": str(self.port), "unix_socket_directories": str(self._folder)}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._run(
            "pg_ctl", "-w", "-t", "60", "-o", options, "-l", str(self._folder / "log"), "start"
        )

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "fast", "stop")

    @contextmanager
    def encrypted(self) -> Iterator[Path]:
        """While it lasts, the server takes TLS, as 127.0.0.1; its certificate, signed by itself."""
        key, certificate = self._data / "server.key", self._data / "server.crt"
        if shutil.which("openssl") is None:
            pytest.skip("OpenSSL is missing: apt-get install openssl")
        command = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -addext"
        subprocess.run(
            [*command.split(), "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        key.chmod(0o600)
        if _as_somebody():
            shutil.chown(key, "postgres")
        self._switch_tls("on")
        try:
            yield certificate
        finally:
            self._switch_tls("off")

    def _switch_tls(self, state: str) -> None:
        self.execute(f"ALTER SYSTEM SET ssl = {state}")
        self.stop()
        self.start()

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple]:
        """Run statements outside of a transaction; the rows of the last."""
        with closing(
            dbapi.connect(
                USER,
                host="127.0.0.1",
                port=self.port,
                database=database,
                ssl_context=False,
                timeout=60,
            )
        ) as connection:
            connection.autocommit = True
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def new_database(self, options: str = "") -> str:
        """Make an empty database; its name."""
        self._made += 1
        name = f"test_{os.getpid()}_{self._made}"
        self.execute(f"CREATE DATABASE {name} {options}")
        return name

    def end_connections(self, database: str) -> None:
        """End them, and wait until they are gone: one that is not yet would pass for alive."""
        self.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"  # noqa: S608 - a name from here
            f" WHERE datname = '{database}'"
        )

    def drop(self, database: str) -> None:
        self.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def _run(self, program: str, *arguments: str) -> None:
        command = [
            *_as_somebody(),
            str(self._programs / program),
            "-D",
            str(self._data),
            *arguments,
        ]
        # a server that inherited a pipe would keep whoever reads it waiting
        with (self._folder / "output").open("ab") as output:
            done = subprocess.run(
                command, stdout=output, stderr=output, check=False, cwd=self._folder, timeout=120
            )
        if done.returncode:
            said = (self._folder / "output").read_text()
            raise RuntimeError(f"{program} failed: {said}")


@contextmanager
def running():
    """A server that runs; skips where PostgreSQL is not installed."""
    programs = _programs()
    if programs is None:
        pytest.skip(MISSING)
    # short: the path of a Unix socket may have 107 bytes
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        if _as_somebody():
            shutil.chown(folder, "postgres")
        server = Server(programs, folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _programs() -> Path | None:
    """Where the server's programs are: Debian keeps them out of the path, one folder a version."""
    if os.name == "posix" and (found := shutil.which("initdb")):
        return Path(found).parent
    folders = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(folders, key=lambda file: int(re.sub(r"\D", "", file.parts[-3])), default=None)
    return newest and newest.parent


def _as_somebody() -> list[str]:
    if os.name != "posix" or os.geteuid() != 0:
        return []
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip(MISSING)
    return [shutil.which("runuser") or "/usr/sbin/runuser", "-u", "postgres", "--"]
