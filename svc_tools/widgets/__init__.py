"""The panel: ipywidgets over lookup/, frames/ and nexus/. No logic of its own.

It is opened by `svc_tools.panel()`; what its widgets do is a call that exists in Python, too.
"""
