"""`svc-tools`: the command line."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; where its libraries are missing, say how to install them."""
    try:
        from svc_tools.cli.app import app  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError as error:
        sys.exit(
            f"svc-tools needs its command-line extra: pip install 'svc-tax-tools[cli]' ({error})"
        )
    app()
