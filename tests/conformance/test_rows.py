"""The suite covers the specification: every row of the list has its test, and in its order."""

from __future__ import annotations

import ast
from pathlib import Path

from conformance.rows import ROWS

HERE = Path(__file__).parent


def named_after():
    """The rows that the decorators `row` and `rows` of every test file name."""
    for file in sorted(HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for decorator in getattr(node, "decorator_list", ()):
                match decorator:
                    case ast.Call(ast.Name("row"), [ast.Constant(name)]):
                        yield name
                    case ast.Call(ast.Name("rows"), [ast.Dict(keys)]):
                        yield from (key.value for key in keys)


def test_every_row_has_one_test_and_every_test_a_row():
    assert sorted(named_after()) == sorted(ROWS)


def test_the_rows_stand_in_the_order_of_the_documents():
    order = list(ROWS)
    sections = [float(name.split("-")[1]) for name in order if name.startswith("SPEC")]
    assert sections == sorted(sections)
    assert all(name.startswith("WIRE") for name in order[len(sections) :])


def test_every_section_with_something_in_it_is_there():
    sections = {name.split("-")[1].split(".")[0] for name in ROWS if name.startswith("SPEC")}
    assert sections == {"2", "4", "5", "7", "8", "9"}  # 3 and 6: "not shown"


def test_the_sentences_are_short():
    for name, sentence in ROWS.items():
        assert sentence.isascii(), name
        assert len(f"{name}: {sentence}") < 100, name
