"""Requests as they will be sent, as a table. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from svc_tools.shown import NOTHING
from svc_tools.widgets.parts import table_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.nexus import PlannedRequest

__all__ = ["requests_html"]


def requests_html(requests: Sequence[PlannedRequest]) -> str:
    """Method, path and parameters as they go over the wire, the body where there is one, why."""
    with_body = any(one.body is not None for one in requests)
    with_count = any(one.expected is not None for one in requests)
    heads = ["Request"]
    heads += ["~Body"] if with_body else []
    heads += [">Records"] if with_count else []
    rows = []
    for one in requests:
        row: list[object] = [one.line]
        row += [_body(one)] if with_body else []
        row += [NOTHING if one.expected is None else one.expected] if with_count else []
        rows.append([*row, one.purpose])
    return table_html([*heads, "~What for"], rows, "The requests, as they are sent")


def _body(request: PlannedRequest) -> str:
    return NOTHING if request.body is None else json.dumps(request.body, ensure_ascii=False)
