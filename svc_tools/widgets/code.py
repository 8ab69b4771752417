"""What the panel does, as the Python that does the same. Pure."""

from __future__ import annotations

import ast
import keyword
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from pydantic import SecretStr

__all__ = ["Name", "as_code"]

_WIDTH = 88


@dataclass(frozen=True, slots=True)
class Name:
    """A name in code, such as that of a variable: written without quotes."""

    text: str


def as_code(call: str, /, *positional: Any, **arguments: Any) -> str:  # noqa: ANN401 - values of calls
    """A call as Python source: `as_code("client.lookup", "TX", zip="78701")`.

    Arguments that are `None` are left out. Dates are written as ISO text, paths as text, which the
    calls of this toolkit take. A long call has one argument on each line.

    Args:
        call: the name of what is called, such as "client.lookup".
        positional: arguments without a name.
        arguments: arguments with their names.

    Raises:
        ValueError: `call` is no name, or an argument is a secret: code never holds one.
        TypeError: a value that has no literal.
    """
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in call.split(".")):
        raise ValueError(f"call: {call!r} is not the name of a function")
    named = [(name, value) for name, value in arguments.items() if value is not None]
    written = [_literal(value) for value in positional]
    written += [f"{name}={_literal(value)}" for name, value in named]
    line = f"{call}({', '.join(written)})"
    if len(line) > _WIDTH and written:
        line = f"{call}(\n    " + ",\n    ".join(written) + ",\n)"
    ast.parse(line)  # what is shown can be run
    return line


def _literal(value: object) -> str:
    if isinstance(value, Name):
        return value.text
    if isinstance(value, SecretStr):
        raise ValueError("a secret is not written into code")  # noqa: TRY004 - as documented
    if isinstance(value, date):  # a datetime too
        return repr(value.isoformat())
    if isinstance(value, PurePath | Decimal):
        return repr(str(value))
    if isinstance(value, bool | int | float | str) or value is None:
        return repr(value)
    if isinstance(value, list | tuple | dict):
        return _collection(value)
    raise TypeError(f"{type(value).__name__} has no literal")


def _collection(value: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    inner = ", ".join(map(_literal, value))
    if isinstance(value, list):
        return f"[{inner}]"
    return f"({inner},)" if len(value) == 1 else f"({inner})"
