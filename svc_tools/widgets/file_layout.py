"""How the parts of the tab "File" lie: fields in columns, buttons in a line."""

from __future__ import annotations

import ipywidgets

__all__ = ["grid", "line"]


def grid(*fields: ipywidgets.Widget) -> ipywidgets.GridBox:
    """Fields in as many columns as the width allows."""
    box = ipywidgets.GridBox(fields)
    box.add_class("svc-grid")
    return box


def line(*parts: ipywidgets.Widget) -> ipywidgets.Box:
    """Parts beside each other, as wide as they are; below each other where it is narrow."""
    box = ipywidgets.Box(parts)
    box.add_class("svc-line")
    return box
