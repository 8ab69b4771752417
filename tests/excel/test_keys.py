"""Keys are in the system's keyring, or nowhere: one that is not safe is refused in a sentence."""

from __future__ import annotations

import traceback

import keyring
import pytest
from keyring.backends.chainer import ChainerBackend
from keyring.backends.fail import Keyring as FailKeyring
from keyring.backends.null import Keyring as NullKeyring
from pydantic import SecretStr
from support.faults import KEY
from support.keyrings import (
    ForgetfulKeyring,
    LockedKeyring,
    MemoryKeyring,
    PlainKeyring,
    use_keyring,
)

from svc_tools import ConfigurationError
from svc_tools.excel.settings import forget_key_of, keyring_name, store_key, stored_key

ADDRESS = "https://rates.example"


def test_a_key_is_kept_for_one_address_until_it_is_forgotten(monkeypatch):
    backend = use_keyring(monkeypatch)
    store_key(f"{ADDRESS}/", SecretStr(f" {KEY}\n"))
    assert backend.kept == {("svc-tools", ADDRESS): KEY}
    assert stored_key(ADDRESS).get_secret_value() == KEY
    assert KEY not in repr(stored_key(ADDRESS))
    assert stored_key("https://other.example") is None
    store_key(ADDRESS, SecretStr("the-next-one"))
    assert stored_key(ADDRESS).get_secret_value() == "the-next-one"
    assert forget_key_of(ADDRESS) is True
    assert forget_key_of(ADDRESS) is False
    assert backend.kept == {}


def test_an_empty_key_is_refused(monkeypatch):
    backend = use_keyring(monkeypatch)
    with pytest.raises(ConfigurationError, match="empty"):
        store_key(ADDRESS, SecretStr(" \n"))
    assert backend.kept == {}


class OfOthers(MemoryKeyring):
    """One of the collection of keyrings that write files, whatever it says of itself."""


OfOthers.__module__ = "keyrings.alt.file"


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        (FailKeyring(), "no keyring was found"),
        (NullKeyring(), "keep nothing"),
        (PlainKeyring(), "does not keep keys safely"),
        (OfOthers(), "keyrings.alt.file.OfOthers does not keep keys safely"),
        (ForgetfulKeyring(), "keeps nothing"),
        (LockedKeyring(), "KeyringLocked"),
    ],
)
def test_a_keyring_that_is_not_safe_or_not_open_is_refused_in_a_sentence(
    monkeypatch, backend, said
):
    use_keyring(monkeypatch, backend)
    with pytest.raises(ConfigurationError, match=said) as caught:
        store_key(ADDRESS, SecretStr(KEY))
    assert "SVC_API_KEY" in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert getattr(backend, "kept", {}) == {}


@pytest.mark.parametrize("backend", [FailKeyring(), NullKeyring(), LockedKeyring()])
def test_reading_from_it_is_refused_as_well(monkeypatch, backend):
    use_keyring(monkeypatch, backend)
    with pytest.raises(ConfigurationError):
        stored_key(ADDRESS)
    with pytest.raises(ConfigurationError):
        forget_key_of(ADDRESS)


def test_of_several_keyrings_the_key_goes_to_the_safe_one(monkeypatch):
    safe, plain = MemoryKeyring(), PlainKeyring()
    monkeypatch.setattr(ChainerBackend, "backends", [safe, plain])
    use_keyring(monkeypatch, ChainerBackend())
    store_key(ADDRESS, SecretStr(KEY))
    assert (list(safe.kept.values()), plain.kept) == ([KEY], {})
    monkeypatch.setattr(ChainerBackend, "backends", [plain])
    with pytest.raises(ConfigurationError, match="safely"):
        stored_key(ADDRESS)


def test_a_keyring_that_does_not_load_is_a_sentence_too(monkeypatch):
    monkeypatch.setattr(keyring.core, "_keyring_backend", None)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "absent_module.Keyring")
    with pytest.raises(ConfigurationError, match="does not load"):
        keyring_name()
