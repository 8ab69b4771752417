"""Files of rows, read and written by chunks: CSV, Excel workbooks and Parquet, larger than memory.

What is read is an Arrow table at a time, so the user's own columns pass through as they are; a
CSV is text throughout, and no ZIP Code loses its zero.
"""

from svc_tools.frames.files.chunk import Chunk, FileError, Rows
from svc_tools.frames.files.reading import check_output, open_rows, open_writer
from svc_tools.frames.files.writing import Writer

__all__ = ["Chunk", "FileError", "Rows", "Writer", "check_output", "open_rows", "open_writer"]
