"""Receipts on disk: where they are, one read, all of them as a frame."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.nexus.journal import JournalDamagedError, JournalError, read_journal
from svc_tools.nexus.receipt_fold import receipt_of
from svc_tools.nexus.register import FIELDS
from svc_tools.nexus.sheet import guarded, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from svc_tools.nexus.receipt import Receipt, Record

__all__ = [
    "ENDING",
    "ReceiptError",
    "read_receipt",
    "receipt_folder",
    "receipts",
    "restore_file_of",
    "write_records",
]

ENDING = ".jsonl"
_RESTORE = "-restore.csv"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_COUNTS = ("done", "not_done", "unknown", "flagged")
_EMPTY = "nothing was begun: the first line was not written to its end"


class ReceiptError(ValueError):
    """A receipt cannot be read, or must not be believed; the message says why."""


def receipt_folder() -> Path:
    """Where receipts are kept: `SVC_RECEIPTS`, else in the user's data folder.

    Raises:
        ConfigurationError: `SVC_RECEIPTS` is no path.
    """
    return config.receipt_folder()


def restore_file_of(journal: Path) -> Path:
    """The file with the records as they were, which lies beside a journal."""
    return journal.with_name(f"{journal.name.removesuffix(ENDING)}{_RESTORE}")


def read_receipt(path: str | Path) -> Receipt:
    """The receipt that a journal makes, after every line of it was checked.

    Args:
        path: the journal; a name alone is looked for in the folder of receipts too.

    Raises:
        ReceiptError: it was changed after it was written, is damaged, or is none.
        FileNotFoundError: there is no such file.
    """
    path = Path(path).expanduser()
    if not path.exists() and path.name == str(path):
        path = receipt_folder() / path.name
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no receipt {str(path)!r}; see `svc-tools nexus receipts`"
        )
    try:
        read = read_journal(path)
    except JournalDamagedError as error:
        raise ReceiptError(str(error)) from None
    if not read.events:
        raise ReceiptError(f"{path.name}: {_EMPTY}")
    beside = restore_file_of(path)
    try:
        return receipt_of(
            path.absolute(),
            read.events,
            restore_file=beside.absolute() if beside.exists() else None,
            torn=read.torn,
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ReceiptError(f"{path.name} is no receipt that can be read: {error!r}") from error


def receipts(folder: str | Path | None = None) -> pd.DataFrame:
    """All receipts of a folder, newest first; one that cannot be believed is a row that says so.

    Args:
        folder: the folder of receipts where none is given.

    Returns:
        A frame: file, started, kind, plan_id, service, account, finished, done, not_done, unknown,
        flagged, undoable (not once it was restored), said (the sentence, or what is wrong with the
        file), path.
    """
    import pandas as pd  # noqa: PLC0415 - a receipt is read without it

    where = receipt_folder() if folder is None else Path(folder).expanduser()
    paths = sorted(where.glob(f"*{ENDING}"), reverse=True) if where.is_dir() else []
    rows = [_row(path) for path in paths]
    restored = {row["of"]: row["file"] for row in rows if row.get("of") and row["finished"]}
    for row in rows:
        if row["file"] in restored:
            row["undoable"] = False
            row["said"] = f"{row['said']} Restored: see {restored[row['file']]}."
    columns = ["file", "started", "kind", "plan_id", "service", "account", "finished"]
    columns += [*_COUNTS, "undoable", "said", "path"]
    frame = pd.DataFrame(rows, columns=columns)
    texts = ("file", "kind", "plan_id", "service", "account", "said", "path")
    kinds = dict.fromkeys(texts, "str") | dict.fromkeys(_COUNTS, "Int64")
    frame = frame.astype(kinds | {"finished": "boolean", "undoable": "boolean"})
    frame["started"] = pd.to_datetime(frame["started"], utc=True)
    return frame.sort_values("started", ascending=False, kind="stable", ignore_index=True)


def _row(path: Path) -> dict[str, object]:
    try:
        one = read_receipt(path)
    except (ReceiptError, OSError) as error:
        moment = datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.exists() else None
        return {"file": path.name, "started": moment, "said": str(error), "path": str(path)}
    return {
        "file": path.name,
        "started": one.started,
        "kind": one.kind,
        "plan_id": one.plan_id,
        "service": one.service,
        "account": one.account,
        "finished": one.finished,
        **one.counts,
        "undoable": one.undoable,
        "said": one.sentence,
        "of": one.of,
        "path": str(path),
    }


def _cell(text: str) -> str:
    """A text as a spreadsheet leaves it alone: what a service says is never a formula."""
    return text if _DAY.fullmatch(text) else guarded(text)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write records as a register, whole or not at all, and on disk when this returns.

    Raises:
        JournalError: it cannot be written.
    """
    rows = dict.fromkeys(tuple(record.get(name) or "" for name in FIELDS) for record in records)
    cells = ([_cell(text) for text in row] for row in rows)
    try:
        write_rows(path, FIELDS, cells, private=True)
    except OSError as error:
        raise JournalError(
            f"The file {path} with the records as they are cannot be written:"
            f" {error.strerror or error}"
        ) from error
