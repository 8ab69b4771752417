"""`svc-tools`: the command line."""

from __future__ import annotations

import sys

from svc_tools.extras import needs

__all__ = ["main"]


def main() -> None:
    """Run the command line; where its libraries are missing, say how to install them."""
    try:
        with needs("The command line", "cli"):
            from svc_tools.cli.app import app  # noqa: PLC0415 - the extra may be missing
    except ImportError as error:
        print(error, file=sys.stderr)  # noqa: T201 - what prints nicely may be missing
        sys.exit(2)
    app()
