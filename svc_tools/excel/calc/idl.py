"""The interface of the add-in in UNO's language, from the registry.

A type library is built from it (`scripts/build_calc_types.py`) and shipped in `types/`, so that
nobody who builds the extension needs LibreOffice's development kit.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools.excel.calc.names import INTERFACE, MODULE
from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from svc_tools.excel.registry import Function, Parameter

__all__ = ["DOCUMENT", "IDL_FILE", "LIBRARY_FILE", "argument_name", "idl"]

IDL_FILE = Path(__file__).parent / "types" / "XSalesTax.idl"
LIBRARY_FILE = IDL_FILE.with_name("svc_types.rdb")

DOCUMENT = "document"
"""An argument that Calc fills itself: the document whose cell asks. People never see it."""


def idl() -> str:
    """The content of `IDL_FILE`.

    Every argument is `any`: one that is left out arrives as nothing, a range as rows.
    """
    opened = "".join(f"module {name} {{ " for name in MODULE.split("."))
    closed = "}; " * len(MODULE.split("."))
    methods = "\n".join(f"    {_method(function)}" for function in FUNCTIONS)
    name = INTERFACE.rpartition(".")[2]
    return f"{opened.rstrip()}\n  interface {name} {{\n{methods}\n  }};\n{closed.rstrip()}\n"


def argument_name(parameter: Parameter) -> str:
    """An argument's name in the interface; people see the registry's.

    Some of those are words of the language: `any`, `type` and others.
    """
    first, *others = parameter.name.split("_")
    return f"{first}{''.join(other.capitalize() for other in others)}Given"


def _method(function: Function) -> str:
    caller = f"[in] com::sun::star::beans::XPropertySet {DOCUMENT}"
    given = (f"[in] any {argument_name(one)}" for one in function.parameters)
    return f"any {function.name}({', '.join((caller, *given))});"
