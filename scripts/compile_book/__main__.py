"""Compile published rate files into a rate book, and say what was left out and why."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from shutil import get_terminal_size

from . import compile_book


def main() -> None:
    """Read the arguments, compile, print the report."""
    parser = argparse.ArgumentParser(prog="python -m scripts.compile_book", description=__doc__)
    parser.add_argument("source", type=Path, help="folder of published rate files")
    parser.add_argument("--output", type=Path, required=True, help="folder for the compiled book")
    parser.add_argument("--all", action="store_true", help="cut no list of findings")
    given = parser.parse_args()
    try:
        report = compile_book(given.source, given.output)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    sys.stdout.write(report.render(everything=given.all, width=get_terminal_size().columns))


if __name__ == "__main__":
    main()
