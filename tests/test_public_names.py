"""The public names: of the packages with their arguments, of `df.svc`, of the command line.

`public_names.txt` lists them, one a line. After an intended change, write it again and review
the difference:

    python tests/test_public_names.py > tests/public_names.txt

A line is the name of a function, class, method or attribute, or such a name with one of its
arguments: `#1 state` is the first positional argument, `zip=None` is keyword only and has this
default (a `=` alone: one that is not a plain value). A class that has several public names is
listed in full under the first. Of the command line, a line is a command, or a command with an
argument or an option; of the spreadsheets, `excel` and a function with its arguments, those that
may be left out in brackets.
"""

from __future__ import annotations

import difflib
import enum
import importlib
import inspect
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import typer

from svc_tools.excel.registry import FUNCTIONS

PACKAGES = ("svc_sdk", "svc_tools.nexus", "svc_tools.frames", "svc_tools")
EXPECTED = Path(__file__).with_name("public_names.txt")
AGAIN = "python tests/test_public_names.py > tests/public_names.txt"


def of_the_project(thing):
    return (getattr(thing, "__module__", None) or "").partition(".")[0] in {"svc_sdk", "svc_tools"}


def plain(value):
    """A default as it is typed, where it is a plain value."""
    return repr(value) if value is None or type(value) in {bool, int, float, str} else ""


def arguments(name, function, *, bound=False):
    """The lines of a callable's arguments; `bound` leaves out `self`."""
    parameters = list(inspect.signature(function).parameters.values())[bound:]
    for number, one in enumerate(parameters, start=1):
        default = "" if one.default is one.empty else f"={plain(one.default)}"
        yield {
            one.VAR_POSITIONAL: f"{name} *{one.name}",
            one.VAR_KEYWORD: f"{name} **{one.name}",
            one.KEYWORD_ONLY: f"{name} {one.name}{default}",
        }.get(one.kind, f"{name} #{number} {one.name}{default}")


def constructed(cls):
    """Whether the project, not a base class of Python, says how the class is constructed."""
    own = [vars(base) for base in cls.__mro__ if of_the_project(base)]
    return hasattr(cls, "model_fields") or any({"__init__", "__new__"} & one.keys() for one in own)


def members(name, cls):
    """The lines of what a class has that is public, constructor first."""
    if hasattr(cls, "model_rebuild"):
        cls.model_rebuild()  # pydantic builds it, and its signature, at the first use
    if constructed(cls) and not issubclass(cls, enum.Enum):
        yield from arguments(name, cls)
    own = [base for base in cls.__mro__ if of_the_project(base)]
    public = {one for base in own for one in [*vars(base), *inspect.get_annotations(base)]}
    for one in sorted(one for one in public if not one.startswith(("_", "model_"))):
        yield f"{name}.{one}"
        found = inspect.getattr_static(cls, one, None)
        if isinstance(found, staticmethod | classmethod):
            yield from arguments(f"{name}.{one}", getattr(cls, one))
        elif inspect.isfunction(found):
            yield from arguments(f"{name}.{one}", found, bound=True)


def of_python():
    """The lines of the packages and of `df.svc`."""
    listed = {}
    found = [
        (f"{package}.{name}", getattr(importlib.import_module(package), name))
        for package in PACKAGES
        for name in importlib.import_module(package).__all__
    ]
    accessor = pd.DataFrame().svc
    found.append(("df.svc", type(accessor)))
    for name, one in inspect.getmembers(type(accessor), lambda one: isinstance(one, property)):
        group = type(one.fget(accessor))
        if of_the_project(group) and not name.startswith("_"):
            found.append((f"df.svc.{name}", group))
    for name, one in found:
        first = listed.setdefault(id(one), name) if callable(one) else name
        if first != name:
            yield f"{name} is {first}"
            continue
        yield name
        if inspect.isclass(one):
            yield from members(name, one)
        elif inspect.isfunction(one):
            yield from arguments(name, one)


def of_the_command_line():
    """The lines of the commands."""
    from svc_tools.cli import main  # noqa: PLC0415 - what the program `svc-tools` calls

    with patch.object(typer.Typer, "__call__", autospec=True) as called:
        main()
    waiting = [("svc-tools", typer.main.get_command(called.call_args.args[0]))]
    while waiting:
        name, command = waiting.pop()
        command = command.load() if hasattr(command, "load") else command
        yield name
        for one in command.params:
            if one.param_type_name == "argument":
                said = one.name.upper() + ("..." if one.nargs == -1 else "")
                yield f"{name} {said}" if one.required else f"{name} [{said}]"
            else:
                flags = " ".join([*one.opts, *one.secondary_opts])
                value = "" if one.is_flag or one.count else " VALUE"
                repeated = "..." if one.multiple or one.nargs == -1 else ""
                how = " (former)" if one.hidden else " (required)" if one.required else ""
                yield f"{name} {flags}{value}{repeated}{how}"
        waiting += [(f"{name} {one}", sub) for one, sub in getattr(command, "commands", {}).items()]


def of_the_spreadsheets():
    """The lines of the functions."""
    return (f"excel {one.signature}" for one in FUNCTIONS)


def public_names():
    return sorted({*of_python(), *of_the_command_line(), *of_the_spreadsheets()})


def test_the_public_names_are_those_of_the_list():
    expected = EXPECTED.read_text(encoding="utf-8").splitlines()
    changed = list(difflib.unified_diff(expected, public_names(), "list", "now", n=0, lineterm=""))
    told = "\n".join(["", *changed, "", f"Where this is intended: {AGAIN}"])
    assert not changed, told


if __name__ == "__main__":
    print(*public_names(), sep="\n")  # noqa: T201 - the list
