"""How the product's modules hang together: no import cycle, names and imports at the doors only."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from scripts.draw_rooms import pictures
from svc_sdk import AsyncSvc, Svc

ROOT = Path(__file__).parents[1]
STAR_IMPORTS = {f"svc_tools/excel/com/{name}.py" for name in ("macros", "nexus", "udfs")}
"""Modules whose `__all__` says what the module that a workbook opens takes from them."""


def test_no_modules_import_each_other():
    """Imports for typing and inside functions count: each module is read without the next one."""
    graph = grimp.build_graph(
        "svc_sdk", "svc_tools", exclude_type_checking_imports=False, cache_dir=None
    )
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        cycle = error.args[1]
        raise AssertionError(" is imported by ".join(cycle)) from None


def is_door(path):
    public_module = path.startswith("svc_sdk/") and not Path(path).name.startswith("_")
    return path.endswith("/__init__.py") or public_module or path in STAR_IMPORTS


def assigns_all(path):
    return any(
        isinstance(target, ast.Name) and target.id == "__all__"
        for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
    )


def test_only_doors_list_their_public_names():
    files = [
        file.relative_to(ROOT).as_posix()
        for package in ("svc_sdk", "svc_tools")
        for file in (ROOT / package).rglob("*.py")
    ]
    assert [path for path in files if assigns_all(path) and not is_door(path)] == []


SHARED_NAMES = {
    # a host's function or macro that does what the function of the same name below it does
    "add_registration",
    "forget_key",
    "freeze",
    "import_files",
    "list_records",
    "preview",
    "receipt_folder",
    "refresh",
    "serve",
    "use_embedded",
    # the service has its own table behind its wall, as the law has one
    "NEXUS_TYPES",
    "NexusType",
    "STATES",
    "DeliveryRule",
    # their package says which: a lookup's or a cleanup's; of results or of the rate book
    "Book",
    "Cell",
    "Column",
    "Component",
    "Head",
    "NOTHING",
    "Plan",
    "Sheet",
    "Source",
    "Table",
    "decide",
}
"""Public names that several modules define. This list may only get shorter."""
APART = ("svc_tools/cli/", "svc_tools/excel/calc/addin/")
"""Commands, and a program of its own."""


def defined_names(path):
    """The public names that a module defines: functions, classes, constants, types."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Assign():
                yield from (one.id for one in node.targets if isinstance(one, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def test_a_public_name_has_one_meaning():
    """Where this fails: a new name means what its module's subject is, such as `PanelJob`."""
    homes = {}
    for package in ("svc_sdk", "svc_tools"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(APART):
                for defined in defined_names(path):
                    homes.setdefault(defined, set()).add(name)
    both_sides = {"svc_sdk/models.py", "svc_tools/service/schemas.py"}
    shared = {
        name
        for name, found in homes.items()
        if len(found) > 1 and not name.startswith("_") and found != both_sides
    }
    assert shared == SHARED_NAMES
    assert len(SHARED_NAMES) <= 35


@pytest.mark.parametrize(("name", "picture"), pictures().items())
def test_the_pictures_of_the_rooms_show_the_imports(name, picture):
    """Where this fails: `python -m scripts.draw_rooms`."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == picture


DOOR = {"svc_sdk", "svc_sdk.errors", "svc_sdk.models", "svc_sdk.rates", "svc_sdk.wire"}
"""What the toolkit imports of the client library."""
CLIENTS = {"Svc", "AsyncSvc"}


def private_members():
    """The private attributes and methods of both clients."""
    with Svc("key") as client:
        names = {*vars(client)}.union(*map(vars, (*Svc.__mro__, *AsyncSvc.__mro__)))
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def reaches(tree, private):
    """The lines that reach past the door: private imports and members, and private overrides."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [one.name for one in node.names if one.name.partition(".")[0] == "svc_sdk"]
            yield from (node.lineno for one in modules if one not in DOOR)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "svc_sdk":
            hidden = [one.name for one in node.names if re.match(r"_[^_]", one.name)]
            if hidden or node.module not in DOOR:
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in private:
            if not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}):
                yield node.lineno
        elif isinstance(node, ast.ClassDef) and CLIENTS & {ast.unparse(one) for one in node.bases}:
            for inner in ast.walk(node):
                name = getattr(inner, "attr", None) or getattr(inner, "name", None)
                if name in private:
                    yield inner.lineno


@pytest.mark.parametrize(
    "code",
    [
        "import svc_sdk._settings",
        "from svc_sdk import _requests",
        "from svc_sdk._responses import Reply",
        "from svc_sdk.client import Svc",
        "reply = client._exchange(call)",
        "self.client._settings.key",
        "class Mine(Svc):\n    def _exchange(self, call): ...",
        "class Mine(AsyncSvc):\n    def found(self): return self._http",
    ],
)
def test_a_reach_past_the_door_is_found(code):
    assert [*reaches(ast.parse(code), private_members())]


def test_the_toolkit_reaches_the_client_library_through_its_door_alone():
    private = private_members()
    found = [
        f"{file.relative_to(ROOT).as_posix()}:{line}"
        for file in (ROOT / "svc_tools").rglob("*.py")
        for line in reaches(ast.parse(file.read_text(encoding="utf-8")), private)
    ]
    assert found == []
