"""Files of rows, read and written by chunks: CSV, Excel workbooks and Parquet, larger than memory.

A chunk is an Arrow table, so the user's columns pass through unchanged; a CSV is text throughout,
so that no ZIP Code loses its leading zero.
"""

from svc_tools.frames.files.chunk import FileError
from svc_tools.frames.files.reading import open_rows

__all__ = ["FileError", "open_rows"]
