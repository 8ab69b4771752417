"""The demo: a shop's messy order lines, looked up, taxed and written out.

`run_demo` does what an analyst would do with an export; `orders` reads the order lines that come
with the package.
"""

from svc_tools.base.extras import needs

with needs("The demo", "report"):
    from svc_tools.demo.run import orders, render, run_demo

__all__ = ["orders", "render", "run_demo"]
