"""The panel: ipywidgets over lookup/, frames/ and nexus/. No logic of its own.

`svc_tools.panel()` opens it; everything its widgets do is a call that exists in Python, too.
"""
