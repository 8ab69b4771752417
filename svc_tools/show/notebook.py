"""Whether code runs in a notebook, where what is on standard error looks like a failure."""

from __future__ import annotations

import sys


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook (Jupyter, VS Code, Voila)."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")
