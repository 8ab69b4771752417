"""The demo: a shop's messy order lines, looked up, taxed and written out.

`run_demo` does what an analyst would do with an export of their own; `orders` reads the order
lines that the package brings along.
"""

from svc_tools.demo.run import orders, render, run_demo

__all__ = ["orders", "render", "run_demo"]
