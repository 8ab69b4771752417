"""What every command shares: errors as one sentence and an exit code, options, the client.

Exit codes: 0 a result, a partial one too; 1 no result (the place was not found, the service
refused or failed); 2 the command, or the configuration, is not usable.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from svc_sdk import AuthError, Svc, SvcError, ValidationError
from svc_tools import config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

NO_ANSWER = 1
NOT_USABLE = 2

Embedded = Annotated[bool, typer.Option("--embedded", help="Ask the embedded service.")]
BaseUrl = Annotated[str | None, typer.Option(help="Address of the service (else SVC_BASE_URL).")]
Json = Annotated[
    bool, typer.Option("--json", help="JSON for a program; an error too, as an object.")
]


def _errors() -> Console:
    console = Console(stderr=True, highlight=False)
    console.soft_wrap = not console.is_terminal  # whole lines for programs, whole words for people
    return console


@contextmanager
def explained(*, as_json: bool = False) -> Iterator[None]:
    """Errors become one sentence and an exit code; the user never sees a stack trace.

    Args:
        as_json: print the error as a JSON object, too.
    """
    try:
        with _as_object(wanted=as_json):
            yield
    except AuthError as error:
        hint = f"The service does not accept the key; check {config.KEY_VARIABLE}"
        _errors().print(f"[bold red]No answer.[/] {hint}. {_escaped(error)}")
        raise typer.Exit(NO_ANSWER) from None
    except ValidationError as error:
        _errors().print(f"[bold red]Error.[/] {_escaped(error)}")
        raise typer.Exit(NOT_USABLE) from None
    except SvcError as error:
        _errors().print(f"[bold red]No answer.[/] {_escaped(error)}")
        raise typer.Exit(NO_ANSWER) from None
    except ModuleNotFoundError as error:
        install = "This command needs more: pip install 'svc-tax-tools[all]'"
        _errors().print(f"[bold red]Error.[/] {_escaped(f'{install} ({error})')}")
        raise typer.Exit(NOT_USABLE) from None
    except (ValueError, TypeError, ImportError, OSError) as error:
        _errors().print(f"[bold red]Error.[/] {_escaped(error)}")
        raise typer.Exit(NOT_USABLE) from None


@contextmanager
def _as_object(*, wanted: bool) -> Iterator[None]:
    """Print an error as a JSON object for a program, where `wanted`."""
    try:
        yield
    except (SvcError, ValueError, TypeError, ImportError, OSError) as error:
        if wanted:
            fields = {
                "code": getattr(error, "error_code", None),
                "message": getattr(error, "message", None) or str(error),
                "status_code": getattr(error, "status_code", None),
                "support_reference": getattr(error, "support_reference", None),
            }
            retry_after = getattr(error, "retry_after", None)
            if retry_after is not None:
                fields["retry_after_seconds"] = retry_after
            typer.echo(json.dumps({"error": fields}, indent=2))
        raise


def _escaped(error: object) -> str:
    return str(error).replace("[", r"\[")


def admin() -> ModuleType:
    """The service's own functions, loaded where a command needs them."""
    from svc_tools.service import admin  # noqa: PLC0415 - allowed as a lazy import

    return admin


@contextmanager
def client_of(*, embedded: bool, base_url: str | None) -> Iterator[Svc]:
    """The client of the configured service; of the embedded one only where it is named."""
    if embedded:
        if base_url:
            raise ValueError("--embedded brings its own address; leave --base-url out")
        client = config.connect("embedded")
    else:
        account = config.configured(base_url=base_url)
        if account is None:
            raise config.ConfigurationError(
                f"No service is configured: set {config.URL_VARIABLE} and {config.KEY_VARIABLE},"
                " or ask the embedded service with --embedded"
            )
        client = Svc(account[0], base_url=account[1])
    with client:
        yield client
