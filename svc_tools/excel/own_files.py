"""The small JSON files in the adapters' folder: whole or not at all, for their owner's eyes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from svc_tools.config import ConfigurationError
from svc_tools.whole_file import whole_file

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_object", "write_object"]


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one where there is no file.

    Raises:
        ConfigurationError: the file is there and cannot be read, or holds something else.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(_unusable(path, type(error).__name__)) from None
    if not isinstance(found, dict):
        raise ConfigurationError(_unusable(path, "it holds no JSON object"))
    return found


def _unusable(path: Path, why: str) -> str:
    return (
        f"{path} cannot be read ({why}). Set it aside, then say again who answers:"
        " svc-tools excel install"
    )


def write_object(path: Path, content: dict[str, Any]) -> None:
    """Write an object to a file that only its owner can read; its folder is made where missing.

    Raises:
        ConfigurationError: it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path) as draft:
            draft.chmod(0o600)  # before anything is in it
            draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from None
