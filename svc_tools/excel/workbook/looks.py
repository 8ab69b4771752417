"""How cells look: one palette for every sheet, said in the words of XlsxWriter's formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BASE", "LOOKS", "TAB"]

_INK, _MUTED, _LINE = "#1F2933", "#57606A", "#C9D3DE"
_BLUE, _PALE_BLUE = "#1F4E79", "#DCE6F1"
_INPUT, _INPUT_LINE = "#FFF8DC", "#D9C98F"
_RED, _PALE_RED = "#9B1C1C", "#FDE8E8"
_AMBER, _PALE_AMBER = "#7A4B00", "#FFE9B8"
_GREEN, _PALE_GREEN = "#1B5E34", "#E3F4E8"

BASE = {"font_name": "Calibri", "font_size": 11, "font_color": _INK, "valign": "vcenter"}
TAB = {"Start": _BLUE, "Lookup": "#2E8B57", "Orders": "#C58B00", "Nexus": "#7B3FA0"}
"""The colours of the tabs."""

_BOX = {"border": 1, "border_color": _LINE}
_TYPED = {"bg_color": _INPUT, "border": 1, "border_color": _INPUT_LINE}
_MONEY = {"num_format": "#,##0.00"}
_RATE = {"num_format": "0.000%"}
_APART = '{0};-{0};{0};"  "@'  # an error begins apart from the number on its left
_LEFT = {"align": "left", "indent": 1}
_DAY = {"num_format": "yyyy-mm-dd"} | _LEFT
_WRAP = {"text_wrap": True}
_TOP = {"text_wrap": True, "valign": "top"}
_SAMPLE = _BOX | _LEFT
_HEAD = {"bold": True, "bg_color": _BLUE, "font_color": "#FFFFFF", "border": 1}
_HEAD |= {"border_color": _BLUE, "align": "left", "indent": 1}
_TOTAL = {"bold": True, "font_size": 12, "top": 1, "bottom": 1, "border_color": _LINE}

LOOKS: Mapping[str, Mapping[str, object]] = {
    "text": {},
    "wrapped": _TOP | _LEFT,
    "explained": _WRAP | _LEFT,
    "message": _BOX | _TOP | _LEFT,
    "warned": {"font_color": _AMBER} | _TOP,
    "fact": _TOP | _LEFT,
    "fact_day": _TOP | _DAY,
    "title": {"bold": True, "font_size": 20, "font_color": _BLUE},
    "section": {"bold": True, "font_size": 13, "font_color": _BLUE, "bottom": 1}
    | {"bottom_color": _LINE},
    "lead": {"font_color": _MUTED} | _TOP,
    "muted": {"font_color": _MUTED},
    "head_mark": {"font_color": _MUTED, "font_size": 8},
    "label": {"font_color": _MUTED, "font_size": 10} | _LEFT,
    "label_right": {"font_color": _MUTED, "font_size": 10, "align": "right"},
    "strong_top": {"bold": True, "valign": "top"},
    "number": {"bold": True, "font_size": 14, "font_color": _BLUE, "align": "center"}
    | {"valign": "top"},
    "head": _HEAD,
    "head_right": _HEAD | {"align": "right", "indent": 0},
    "code": {"font_name": "Consolas", "font_size": 10, "valign": "top"},
    "link": {"font_color": "#0B5CAD", "underline": 1, "valign": "top"},
    # what a person types
    "typed_text": _TYPED | _LEFT | {"num_format": "@"},
    "typed_day": _TYPED | _DAY,
    "typed_money": _TYPED | _MONEY,
    "typed_centre": _TYPED | {"align": "center", "bold": True},
    # what is computed; numbers stand right by themselves, and errors left, where they begin
    "shown": _BOX | _LEFT,
    "shown_wrapped": _BOX | _TOP | _LEFT,
    "shown_rate": _BOX | {"num_format": _APART.format("0.000%")},
    "shown_money": _BOX | {"num_format": _APART.format("#,##0.00")},
    "shown_day": _BOX | _DAY | {"valign": "top"},
    "listed": _LEFT,
    "status": _BOX | _LEFT | {"bold": True},
    "field_name": _TYPED | _LEFT | {"font_name": "Consolas", "font_size": 10},
    "field": _BOX | _LEFT | _WRAP,
    "field_rate": _BOX | _LEFT | _RATE,
    "field_meaning": _BOX | _LEFT | _WRAP | {"font_color": _MUTED},
    "big_rate": _LEFT | _RATE | {"bold": True, "font_size": 22, "font_color": _BLUE},
    "total": _TOTAL | {"align": "left"},
    "total_count_left": _TOTAL | _LEFT | {"num_format": "#,##0"},
    "total_text": _TOTAL | _LEFT | {"bold": False, "font_size": 11},
    "total_count": _TOTAL | {"num_format": "#,##0"},
    "total_money": _TOTAL | _MONEY,
    "verdict": _LEFT | _WRAP | {"bold": True},
    # what a condition puts on top
    "is_error": {"font_color": _RED, "bg_color": _PALE_RED},
    "is_partial": {"font_color": _AMBER, "bg_color": _PALE_AMBER},
    "is_low": {"font_color": _AMBER},
    "is_good": {"font_color": _GREEN, "bg_color": _PALE_GREEN},
    "is_ticked": {"font_color": _RED, "bg_color": _PALE_RED, "bold": True},
    "is_head": {"bold": True, "font_color": _BLUE, "bg_color": _PALE_BLUE},
    "is_left_over": {"font_color": "#D5DBE1"},
    # the legend shows them without a condition
    "error_sample": {"font_color": _RED, "bg_color": _PALE_RED} | _SAMPLE,
    "partial_sample": {"font_color": _AMBER, "bg_color": _PALE_AMBER} | _SAMPLE,
    "low_sample": {"font_color": _AMBER} | _SAMPLE,
    "rate_sample": _RATE | _SAMPLE,
    "typed_sample": _SAMPLE | _TYPED,
    "muted_sample": {"font_color": _MUTED} | _SAMPLE,
}
"""The looks by name; those that begin with "is_" are for conditions and change colours alone."""
