"""What LibreOffice knows the add-in and its functions by. Files of users hold these names."""

from __future__ import annotations

__all__ = ["IDENTIFIER", "IMPLEMENTATION", "INTERFACE", "MENU", "MODULE", "SERVICE", "calc_name"]

MODULE = "svc.tools"
"""The module of the interface; a name in a type library has no underscores in its modules."""
INTERFACE = f"{MODULE}.XSalesTax"
IMPLEMENTATION = MODULE
"""The component that computes: its name stands before every function in a saved file."""
SERVICE = f"{MODULE}.SalesTax"
MENU = f"{MODULE}.Menu"
"""The component behind the menu."""
IDENTIFIER = f"{MODULE}.salestax"
"""The extension: a newer one of the same name takes the place of the older."""


def calc_name(name: str) -> str:
    """A function of the registry as it stands in a file: SVC_RATE is SVC.TOOLS.SVC_RATE.

    Calc shows, and lets people type, the name of the registry itself.
    """
    return f"{IMPLEMENTATION.upper()}.{name}"
