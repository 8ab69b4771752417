"""What every command shares: groups of options, the client, errors as one sentence and a code.

Exit codes: 0 a result, a partial one too; 1 no result (the place was not found, the service
refused or failed), or not all of it (a run that ended early, a question answered with no); 2 the
command, a file or the configuration is not usable; 3 a file was imported without lines that cannot
be used (`book import`); 130 interrupted (Ctrl+C), 143 and 129 ended by
SIGTERM and SIGHUP (see `main`). No command has others.
"""

from __future__ import annotations

import functools
import inspect
import json
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.text import Text

from svc_sdk import AuthError, Svc, SvcError, ValidationError
from svc_tools import config
from svc_tools.base.extras import EXTRA_MISSING, NOT_STARTED, MissingExtraError, missing
from svc_tools.show.display import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from svc_tools.tables.questions import Question
    from svc_tools.tables.roles import ColumnError

NO_RESULT = 1
_NOT_USABLE = 2
LEFT_OUT = 3
INTERRUPTED = 130

Json = Annotated[
    bool, typer.Option("--json", help="JSON for a program; an error too, as an object.")
]


def grouped(
    command: Callable[..., None], **tables: Mapping[str, inspect.Parameter]
) -> Callable[..., None]:
    """A command for Typer whose parameters may be dataclasses: each field of one is an option.

    So commands share options, and values that belong together stay together.

    Args:
        command: the command.
        tables: for a parameter that takes the options that were given, by their names: these
            options, as Typer reads them.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    shown: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in tables:
            shown += tables[parameter.name].values()
            continue
        group = groups.get(parameter.name)
        every = [parameter] if group is None else inspect.signature(group).parameters.values()
        types = hints if group is None else get_type_hints(group, include_extras=True)
        shown += [
            option.replace(kind=option.KEYWORD_ONLY, annotation=types[option.name])
            for option in every
        ]

    @functools.wraps(command)
    def run(**given: object) -> None:
        for name, group in groups.items():
            given[name] = group(**{entry.name: given.pop(entry.name) for entry in fields(group)})
        for name, options in tables.items():
            every = {option: given.pop(parameter.name) for option, parameter in options.items()}
            given[name] = {option: value for option, value in every.items() if value is not None}
        command(**given)

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


@dataclass(frozen=True)
class Service:
    """The options that say which service receives the requests."""

    embedded: Annotated[bool, typer.Option("--embedded", help="Use the embedded service.")] = False
    base_url: Annotated[
        str | None, typer.Option(help="Address of the service (else SVC_BASE_URL).")
    ] = None

    @property
    def typed(self) -> list[str]:
        """The options as they were typed."""
        if self.embedded:
            return ["--embedded"]
        return ["--base-url", self.base_url] if self.base_url else []

    @contextmanager
    def client(self) -> Iterator[Svc]:
        """The client of the configured service; of the embedded one only where it is named."""
        if self.embedded:
            if self.base_url:
                raise ValueError("--embedded has its own address; leave --base-url out")
            client: Svc = config.connect("embedded")
        else:
            account = config.configured(base_url=self.base_url)
            if account is None:
                raise config.ConfigurationError(
                    f"No service is configured: set {config.URL_VARIABLE} and"
                    f" {config.KEY_VARIABLE}, or use the embedded service with --embedded"
                )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                client = config.open_account(account)
            for warning in caught:
                _print_error(
                    Text.assemble(("Warning.", "bold yellow"), " ", visible(str(warning.message)))
                )
        with client:
            yield client


_EVERYWHERE = {"exists": "--force"}


@contextmanager
def explained(
    *,
    as_json: bool = False,
    options: Mapping[str, str] = _EVERYWHERE,
    interrupted: str = "Run the same command again.",
) -> Iterator[None]:
    """Errors become one sentence and an exit code; the user never sees a stack trace.

    Args:
        as_json: print the error as a JSON object, too.
        options: the command's option that settles a fault of a file, by the fault's code.
        interrupted: what is left after an interrupt, and how to go on, in sentences.
    """
    try:
        yield
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error, typer.Abort) and not isinstance(error.__context__, KeyboardInterrupt):
            raise  # the end of the input, at a question
        _print_error(Text(f"\nInterrupted. {interrupted}"))
        raise typer.Exit(INTERRUPTED) from None
    except (SvcError, ValueError, TypeError, ImportError, OSError) as error:
        if as_json:
            typer.echo(json.dumps({"error": _fields_of(error)}, indent=2))
        refused = isinstance(error, SvcError) and not (
            isinstance(error, ValidationError) or error.error_code in {EXTRA_MISSING, NOT_STARTED}
        )
        label = "No result." if refused else "Error."
        _print_error(Text.assemble((label, "bold red"), " ", visible(_explained(error, options))))
        for line in _open_questions(error, options):
            _print_error(Text(visible(line)), whole=line.startswith(_TO_COPY))
        raise typer.Exit(NO_RESULT if refused else _NOT_USABLE) from None


def _print_error(sentence: Text, *, whole: bool = False) -> None:
    """Print to standard error: whole lines for programs and to copy, whole words for people."""
    console = Console(stderr=True, highlight=False)
    console.print(sentence, soft_wrap=whole or not console.is_terminal)


ASKS = {"questions": "options"}
"""Among the `options` of `explained`: the command's options answer questions about columns."""
_TO_COPY = "    "


def _open_questions(error: Exception, options: Mapping[str, str]) -> list[str]:
    """What follows the first sentence of an error: each question, and the line that answers all.

    One question is the first sentence itself.
    """
    asked: tuple[Question, ...] = getattr(error, "questions", ())
    if not asked or "questions" not in options:
        return []
    from svc_tools.tables.questions import in_sentences, in_shell  # noqa: PLC0415 - few commands ask

    line = f"{_TO_COPY}{in_shell(asked, options)}"
    if _are_several(error, options):
        each = in_sentences(asked, lambda question: in_shell([question], options))
        return [
            *(f"- {text}" for text in each),
            "To answer all with what seems likeliest, add:",
            line,
        ]
    if all(question.likely is None for question in asked):
        return []
    if getattr(error, "code", "") == "column_taken":
        return ["Add:", line]
    because = f" ({asked[0].because})" if len(asked) == 1 and asked[0].because else ""
    return [f"What seems likeliest{because}:", line]


def _are_several(error: Exception, options: Mapping[str, str]) -> bool:
    """Whether an error is several questions, each of which has a line of its own."""
    several = len(getattr(error, "questions", ())) > 1
    return several and getattr(error, "code", "") == "column_ambiguous" and "questions" in options


def _explained(error: Exception, options: Mapping[str, str]) -> str:
    """The message of an error, with the option or variable that corrects it where one does."""
    from svc_tools.tables.csv_files import FileError  # noqa: PLC0415 - few commands read files
    from svc_tools.tables.roles import ColumnError  # noqa: PLC0415 - as above

    text = str(error)
    if isinstance(error, ColumnError):
        text = f"{error.fact}; {_advice(error, options)}"
        if _are_several(error, options):
            text = (
                f"{len(error.questions)} questions about the columns are open; nothing is written:"
            )
    elif isinstance(error, FileError) and error.code in options:
        text = f"{text} ({options[error.code]})"
    elif isinstance(error, AuthError):
        text = f"The service does not accept the key; check {config.KEY_VARIABLE}. {text}"
    elif isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, ModuleNotFoundError) and not isinstance(error, MissingExtraError):
        text = str(missing("This command", "all", error.name or text))
    return text


_ADVICE = {
    "column_between": "move {between} in front of or behind the added columns, and run again",
    "column_taken": "put a prefix before the names of those that are added, with --prefix",
    "columns_of_two_parties": (
        "name the columns by their options, and leave one out with --without"
    ),
    "dates_ambiguous": "say which with --date-format 'month first', 'day first' or 'year first'",
    "flags_ambiguous": "write yes and no, or dollars such as 1.00",
    "no_usable_rows": "name the columns of the places, such as --zip, --state or --country",
    "says_the_opposite": "write {option} instead",
    "no_usable_rows as_of": (
        "say how the dates are written with --date-format, or name their column with --as-of"
    ),
}
"""What to do about an error of `svc_tools.tables.roles`, by its code, and its code and role."""


def _advice(error: ColumnError, options: Mapping[str, str]) -> str:
    """What to do about the columns of a file, by options."""
    from svc_tools.tables.questions import option_line  # noqa: PLC0415 - few commands ask
    from svc_tools.tables.roles import ColumnAmbiguous, ColumnBetween, SaysOpposite  # noqa: PLC0415 - few commands read files

    if isinstance(error, ColumnAmbiguous) and error.alike:
        return error.advice
    advice = _ADVICE.get(f"{error.code} {error.role}") or _ADVICE.get(error.code)
    if advice is not None:
        named: dict[str, str] = {}
        if isinstance(error, ColumnBetween):
            named["between"] = "it" if len(error.between) == 1 else "them"
        if isinstance(error, SaysOpposite):
            named["option"] = option_line(error.instead, error.column)
        return advice.format(**named)
    if "questions" in options and isinstance(error, ColumnAmbiguous) and not error.of_columns:
        return _choices(error.questions[0], options)
    if error.role == "place":
        return "name --zip, or --address and --city, or --location, or --lat and --lng"
    if error.role == "as_of":
        return "name it with --as-of, or --as-of today"
    return f"name it with {options.get(error.role, '--' + error.role.replace('_', '-'))}"


def _choices(question: Question, options: Mapping[str, str]) -> str:
    """The options that answer a question, one for each value."""
    from svc_tools.tables.questions import in_shell  # noqa: PLC0415 - few commands ask

    ways = (in_shell([replace(question, likely=value)], options) for value in question.values)
    return f"say {' or '.join(ways)}"


def _fields_of(error: Exception) -> dict[str, object]:
    fields = {
        "code": getattr(error, "error_code", None),
        "message": getattr(error, "message", None) or str(error),
        "status_code": getattr(error, "status_code", None),
        "support_reference": getattr(error, "support_reference", None),
    }
    retry_after = getattr(error, "retry_after", None)
    return fields if retry_after is None else fields | {"retry_after_seconds": retry_after}


def day_given(as_of: str | None) -> date:
    """The day of the option --as-of; today where left out."""
    if as_of is None:
        return datetime.now().astimezone().date()
    try:
        return date.fromisoformat(as_of)
    except ValueError:
        raise ValueError(f"--as-of: given {as_of!r}, expected a date as 2026-05-01") from None


def admin() -> ModuleType:
    """The service's own functions, loaded where a command needs them."""
    config.require_embedded()
    from svc_tools.service import admin  # noqa: PLC0415 - allowed as a lazy import

    return admin
