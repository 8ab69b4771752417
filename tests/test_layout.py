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
