"""Shared by the tests of the user's own book: files to import, and answers from what came of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from support.boundary_files import asking_in

from svc_tools.service.ratebook import Query, load_book, resolve
from svc_tools.service.ratebook.imports.importer import import_files

TODAY = date(2026, 11, 21)
OFFICIAL = Path(__file__).parents[5] / "shared" / "data" / "official"


@pytest.fixture
def own(tmp_path) -> Path:
    """Where a test's own book goes."""
    return tmp_path / "own" / "book.db"


@pytest.fixture
def file(tmp_path):
    """Writes a file to import."""

    def file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


@pytest.fixture
def take(own):
    """Imports files of a few lines, the first ones over newer shipped ones; what came of each."""

    def take(*paths, **options):
        usual = {"today": TODAY, "fewer": True, "force": not own.exists()}
        return list(import_files(paths, own, **{**usual, **options}))

    return take


@pytest.fixture
def ask(own):
    """One lookup in the shipped book with the own one over it."""

    def ask(state, *, day=TODAY, **fields):
        return resolve(load_book(own=own), Query(state=state, **fields), today=day)

    return ask


@pytest.fixture
def percent(ask):
    """The combined rate of one lookup, in percent."""

    def percent(state, **fields):
        return ask(state, **fields).chosen.combined / 1000

    return percent


@pytest.fixture
def official():
    """A published file, where they are at hand."""

    def official(name):
        path = OFFICIAL / name
        if not path.is_file():
            pytest.skip("the source files are not beside the project")
        return path

    return official


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """Makes an own book of boundary records; the result answers lookups in it."""

    def asking(*lines, **options):
        return asking_in(tmp_path_factory.mktemp("own"), *lines, **options)

    return asking
