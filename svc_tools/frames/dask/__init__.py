"""Dask: distinct places over the whole cluster asked for once, joined by partition.

Importing this package makes `ddf.svc` available; `import svc_tools` does so where Dask's frames
are loaded, before or after it.
"""

try:
    from dask.dataframe.extensions import register_dataframe_accessor
except ImportError as error:
    raise ImportError(
        f"Dask is not installed. Install it with: pip install 'svc-tax-tools[dask]' ({error})"
    ) from error

from svc_tools.frames.dask.accessor import DaskSvcAccessor
from svc_tools.frames.dask.table import ChangedDataError

__all__ = ["ChangedDataError", "DaskSvcAccessor"]

register_dataframe_accessor("svc")(DaskSvcAccessor)
