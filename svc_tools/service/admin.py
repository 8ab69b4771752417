"""The door for the command line: run the service as a program, compile a rate book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.service.errors import PortInUseError, StartError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc_tools.service.ratebook.compile import CompileReport

__all__ = ["PortInUseError", "StartError", "StoreError", "compile_book", "serve"]


def serve(
    host: str, port: int, db: Path | None, api_key: str | None, echo: Callable[[str], None]
) -> None:
    """Run the service in the foreground until it is interrupted (Ctrl+C, SIGTERM).

    Says where it listens, where the database is, and, where the database holds no key yet, the
    key that was made: once, because only its hash is stored.

    Args:
        host: the address to listen on; anything but loopback brings a warning.
        port: the port to listen on; 0 takes a free one.
        db: the database, or `None` for the user's own.
        api_key: a key that is valid for this run, and stored nowhere.
        echo: prints one line.

    Raises:
        PortInUseError: another program has the port.
        StoreError: the database cannot be used.
        StartError: the base of both, and whatever else keeps the service from starting.
    """
    from svc_tools.service.app import create_app  # noqa: PLC0415 - loads FastAPI
    from svc_tools.service.database import default_path  # noqa: PLC0415 - loads SQLAlchemy
    from svc_tools.service.keys import (  # noqa: PLC0415 - as the others
        LOCAL_ACCOUNT,
        KeyRing,
        checked_key,
        hash_key,
        new_key,
    )
    from svc_tools.service.ratebook import load_book  # noqa: PLC0415 - loads the rates
    from svc_tools.service.server import (  # noqa: PLC0415 - loads uvicorn
        Server,
        address_of,
        bind,
        listens_on_loopback,
    )
    from svc_tools.service.store import Store  # noqa: PLC0415 - loads SQLAlchemy

    run_key = None if api_key is None else checked_key(api_key)
    with bind(host, port) as listener:
        store = Store(db or default_path())
        book = load_book()
        loopback = listens_on_loopback(listener)
        app = create_app(book=book, store=store, keys=KeyRing(store, run_key), loopback=loopback)

        def say() -> None:
            echo(f"Serving on {address_of(listener)} (rate book {book.edition})")
            echo(f"Database: {store.path}")
            if run_key is None and not store.key_hashes():
                made = new_key()
                # said first: a key that was stored but never seen would be of no use
                echo(f"API key: {made.get_secret_value()}")
                echo("Keep it: it is shown this once, and only its hash is stored.")
                store.add_key(LOCAL_ACCOUNT, hash_key(made))
            elif run_key is None:
                echo("API key: the one shown when this database was made; if it is lost, give one")
                echo("for this run with --api-key.")
            if not loopback:
                echo(
                    f"Warning: {host} can be reached from other machines, and requests (their"
                    " keys too) travel unencrypted. Listen on 127.0.0.1, or put TLS in front."
                )
            echo("Stop with Ctrl+C.")

        server = Server(app, on_started=say)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            return


def compile_book(source_dir: Path, out_dir: Path) -> CompileReport:
    """Compile published rate files into a rate book; see the compiler for what it accepts."""
    from svc_tools.service.ratebook.compile import (  # noqa: PLC0415 - loads the readers
        compile_book as compile_files,
    )

    return compile_files(source_dir, out_dir)
