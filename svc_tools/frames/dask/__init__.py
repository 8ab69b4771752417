"""Dask: the distinct places of all partitions are looked up once and joined by partition.

Importing this package makes `ddf.svc` available; `import svc_tools` does so where Dask's frames
are loaded, before or after it.
"""

from decimal import Decimal

try:
    from dask.dataframe.extensions import make_scalar, register_dataframe_accessor
except ImportError as error:
    raise ImportError(
        f"Dask is not installed. Install it with: pip install 'svc-tax-tools[dask]' ({error})"
    ) from error

from svc_tools.frames.dask.accessor import DaskSvcAccessor
from svc_tools.frames.dask.lookup import ChangedDataError

__all__ = ["ChangedDataError", "DaskSvcAccessor"]

register_dataframe_accessor("svc")(DaskSvcAccessor)


@make_scalar.register(Decimal)  # type: ignore[untyped-decorator]  # Dask has no types
def _a_decimal(_: Decimal) -> Decimal:
    """Dask's example of a sum of decimals, without which it cannot name such a sum."""
    return Decimal(1)
