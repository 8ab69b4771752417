"""The rate book in use: changes are noticed, faults are said, and all goes on once mended."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.health import NOTICE_SECONDS, BookKeeper
from svc_tools.service.ratebook import load_book

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Shelf:
    """Stands in for a folder of books: what would be read now, and how often it was."""

    content: object = None
    mark: int = 0
    reads: int = 0
    now: float = 1000.0
    may_read: threading.Event = field(default_factory=threading.Event)
    reading: threading.Event = field(default_factory=threading.Event)

    def load(self):
        content = self.content
        self.reads += 1
        self.reading.set()
        assert self.may_read.wait(10)
        if isinstance(content, Exception):
            raise content
        return content

    def put(self, content):
        self.content = content
        self.mark += 1
        self.reading.clear()


@pytest.fixture
def shelf():
    """A shelf with one book that can be read at once."""
    made = Shelf(content=load_book())
    made.may_read.set()
    return made


@pytest.fixture
def keeper(shelf):
    return BookKeeper(shelf.load, lambda: shelf.mark, clock=lambda: shelf.now)


def current(keeper):
    return asyncio.run(keeper.current())


class Other:
    """Another book; the keeper looks at its edition only, to say it."""

    edition = "2027-01-01"


def test_a_book_that_stays_is_read_once(shelf, keeper):
    for _ in range(5):
        shelf.now += NOTICE_SECONDS
        assert current(keeper) is shelf.content is keeper.book
    assert shelf.reads == 1


def test_a_changed_book_is_noticed_by_the_next_lookup_that_is_due(shelf, keeper):
    old = keeper.book
    new = Other()
    shelf.put(new)
    assert current(keeper) is old  # looked at a moment ago
    shelf.now += NOTICE_SECONDS
    assert current(keeper) is new
    assert shelf.reads == 2


def test_the_old_book_answers_while_the_new_one_is_read(shelf, keeper):
    old, new = keeper.book, Other()

    async def ask():
        shelf.may_read.clear()
        shelf.put(new)
        shelf.now += NOTICE_SECONDS
        noticed = asyncio.create_task(keeper.current())
        await asyncio.to_thread(shelf.reading.wait, 10)
        meanwhile = [await keeper.current() for _ in range(3)]
        assert not noticed.done()
        shelf.may_read.set()
        return await noticed, meanwhile

    assert asyncio.run(ask()) == (new, [old, old, old])
    assert shelf.reads == 2


def test_many_that_ask_at_once_read_a_new_book_once(shelf, keeper):
    shelf.put(Other())
    shelf.now += NOTICE_SECONDS

    async def ask():
        return await asyncio.gather(*(keeper.current() for _ in range(50)))

    assert asyncio.run(ask())[0] is shelf.content
    assert shelf.reads == 2


def test_a_book_that_breaks_is_not_answered_from_and_comes_back(shelf, keeper, caplog):
    broken = ValueError("rates.csv, line 7: rate 'x', expected a number")
    good = keeper.book
    shelf.put(broken)
    shelf.now += NOTICE_SECONDS
    with pytest.raises(BookUnavailableError) as caught:
        current(keeper)
    assert caught.value.__cause__ is broken
    assert "line 7" not in str(caught.value)
    shelf.put(good)
    shelf.now += NOTICE_SECONDS
    assert current(keeper) is good
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]
    assert "line 7" in caplog.messages[0]
    assert "can be read again" in caplog.messages[1]


def test_a_broken_book_that_stays_is_said_once_and_read_again_now_and_then(shelf, keeper, caplog):
    shelf.put(OSError("Input/output error"))
    for _ in range(20):
        shelf.now += NOTICE_SECONDS
        with pytest.raises(BookUnavailableError):
            current(keeper)
    assert 3 <= shelf.reads - 1 <= 5
    assert len(caplog.records) == 1
    # mended without another mark: a disk that came back
    shelf.content = Other()
    shelf.now += 5
    assert current(keeper) is shelf.content


def test_a_book_that_is_broken_at_the_start(shelf):
    shelf.put(FileNotFoundError("rates.csv is not in the folder"))
    keeper = BookKeeper(shelf.load, lambda: shelf.mark, clock=lambda: shelf.now)
    with pytest.raises(BookUnavailableError):
        _ = keeper.book
    shelf.put(Other())
    shelf.now += NOTICE_SECONDS
    assert current(keeper) is shelf.content


def test_a_mark_that_cannot_be_had_is_a_broken_book(shelf):
    marks: Iterator[object] = iter([1, PermissionError("no"), 1])

    def mark():
        found = next(marks)
        if isinstance(found, Exception):
            raise found
        return found

    keeper = BookKeeper(shelf.load, mark, clock=lambda: shelf.now)
    shelf.now += NOTICE_SECONDS
    with pytest.raises(BookUnavailableError):
        current(keeper)
    shelf.now += 5
    assert current(keeper) is shelf.content


def test_the_latest_book_is_looked_for_at_once_and_read_once(shelf, keeper):
    shelf.put(Other())
    assert asyncio.run(keeper.latest()) is shelf.content
    assert asyncio.run(keeper.latest()) is shelf.content
    assert shelf.reads == 2


def test_an_import_during_the_reading_is_noticed_afterwards(shelf, keeper):
    between, last = Other(), Other()

    async def ask():
        shelf.may_read.clear()
        shelf.put(between)
        shelf.now += NOTICE_SECONDS
        noticed = asyncio.create_task(keeper.current())
        await asyncio.to_thread(shelf.reading.wait, 10)
        shelf.put(last)
        shelf.may_read.set()
        assert await noticed is between
        shelf.now += NOTICE_SECONDS
        return await keeper.current()

    assert asyncio.run(ask()) is last
