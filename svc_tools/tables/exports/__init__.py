"""The order exports of shops, marketplaces and payment services: known by their columns."""

from svc_tools.tables.exports.layout import PLACE_ROLES, Export, Lines, Sum
from svc_tools.tables.exports.recognition import (
    DECIDING_ROLES,
    fitting,
    lines_of,
    named_export,
    recognized,
    report_of,
    usual_columns,
)
from svc_tools.tables.exports.shops import EXPORTS

__all__ = [
    "DECIDING_ROLES",
    "EXPORTS",
    "PLACE_ROLES",
    "Export",
    "Lines",
    "Sum",
    "fitting",
    "lines_of",
    "named_export",
    "recognized",
    "report_of",
    "usual_columns",
]
