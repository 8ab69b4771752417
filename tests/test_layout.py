"""How the product's modules hang together: no import cycle, and public names at the doors only."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

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
    # the two sides of one door: the request of a lookup, and how its response is read
    "lookup",
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
    "svc",
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
