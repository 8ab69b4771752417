"""Keyrings for tests: one that keeps keys in memory, and ways for one to fail."""

from __future__ import annotations

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class MemoryKeyring(KeyringBackend):
    """Keeps what it is given until the test ends; `kept` shows it."""

    priority = 5
    viable = False  # it is found where a test names it, and never by itself

    def __init__(self):
        super().__init__()
        self.kept = {}

    def get_password(self, service, username):
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password

    def delete_password(self, service, username):
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


class PlainKeyring(MemoryKeyring):
    """One that keyring itself does not recommend, as those that write plain files."""

    priority = 0.5


class LockedKeyring(MemoryKeyring):
    """One whose owner did not unlock it; its errors say what they were given, as some do."""

    def get_password(self, service, username):
        raise KeyringLocked(f"locked: {service} {username}")

    def set_password(self, service, username, password):
        raise KeyringLocked(f"locked: {service} {username} {password}")


class ForgetfulKeyring(MemoryKeyring):
    """One that takes keys and keeps none."""

    def set_password(self, service, username, password):
        pass


def use_keyring(monkeypatch, backend=None):
    """Have keyring use a backend (one in memory where none is given) until the test ends."""
    backend = MemoryKeyring() if backend is None else backend
    monkeypatch.setattr(keyring.core, "_keyring_backend", backend)
    return backend
