"""A Parquet file as rows, by chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from svc_tools.frames.files.chunk import Chunk, FileError, Unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["ParquetRows"]

_PARQUET_ROWS = 65_536


class ParquetRows:
    """A Parquet file; its columns keep their types, and the file its metadata."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unchanged = Unchanged(path)
        try:
            with parquet.ParquetFile(path) as file:
                self.schema: pa.Schema = file.schema_arrow
        except (pa.ArrowInvalid, OSError) as error:
            raise self._unreadable(error) from None
        self.notes: list[str] = []

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """See `Rows.chunks`."""
        self._unchanged.check()
        try:
            with parquet.ParquetFile(self._path) as file:
                yield from self._chunks(file, positions)
        except (pa.ArrowInvalid, OSError) as error:
            raise self._unreadable(error) from None

    def _chunks(
        self, file: parquet.ParquetFile, positions: Sequence[int] | None
    ) -> Iterator[Chunk]:
        names = None
        if positions is not None:
            names = [self.schema.field(position).name for position in positions]
        for batch in file.iter_batches(_PARQUET_ROWS, columns=names, use_threads=False):
            self._unchanged.check()
            table = pa.Table.from_batches([batch])
            yield Chunk(table if names is None else table.select(names))

    def close(self) -> None:
        """Nothing is held open between two readings."""

    def _unreadable(self, error: Exception) -> FileError:
        told = str(error).splitlines()[0]
        return FileError(f"{self._path.name} cannot be read as Parquet: {told}")
