"""Nexus: where a seller has to collect tax. Reads the user's own register; no pandas in here."""

from svc_tools.nexus.register import (
    NEXUS_TYPES,
    Register,
    RegisterError,
    Registration,
    read_register,
)

__all__ = ["NEXUS_TYPES", "Register", "RegisterError", "Registration", "read_register"]
