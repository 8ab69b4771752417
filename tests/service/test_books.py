"""The rate book in use: changes and imports are noticed, and damage needs no restart."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from datetime import date, timedelta

import pytest
from support.boundary_files import METRO, MINNEAPOLIS, RATES, imported, line

import svc_tools
from svc_sdk import ServiceError
from svc_sdk.rates import rate_to_units
from svc_tools.base.progress import NoProgress
from svc_tools.lookup import look_up
from svc_tools.service import books as book_keeper
from svc_tools.service import embedded, rates
from svc_tools.service.books import NOTICE_SECONDS, BookKeeper, keep_book
from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.database import remove_editions
from svc_tools.service.ratebook.imports.importer import import_files
from svc_tools.service.ratebook.own import OwnBookChanged, own_signature
from svc_tools.tables.places import Place


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
        if isinstance(content, BaseException):
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


def itself(book):
    return book


class Other:
    """Another book; the keeper looks at its edition only, to say it."""

    edition = "2027-01-01"


def test_a_book_whose_reading_was_interrupted_is_read_at_the_next_lookup(shelf, keeper):
    shelf.put(KeyboardInterrupt())
    shelf.now += NOTICE_SECONDS
    with pytest.raises(KeyboardInterrupt):
        keeper.use_now(itself)
    shelf.content = Other()
    shelf.now += NOTICE_SECONDS
    assert keeper.use_now(itself) is shelf.content


def test_a_book_that_stays_is_read_once(shelf, keeper):
    for _ in range(5):
        shelf.now += NOTICE_SECONDS
        assert current(keeper) is shelf.content is keeper.book
    assert shelf.reads == 1


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


def test_a_broken_book_that_stays_is_reported_once_and_read_again(shelf, keeper, caplog):
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


INDIANA = "18,45,18,0.07,0.07,0,0,20080401,29991231\n18,00,{county},0.01,0.01,,,20120101,29991231\n"
TODAY = date(2026, 11, 21)


@pytest.fixture
def own(tmp_path):
    """Where the user's own book is; there is none yet."""
    return tmp_path / "own" / "book.db"


@pytest.fixture
def take(own, tmp_path):
    """Imports a rate file of Indiana that knows one county."""

    def take(name, county):
        path = tmp_path / name
        path.write_text(INDIANA.format(county=county))
        return list(import_files([path], own, today=TODAY))

    return take


@pytest.fixture
def service(run, own, monkeypatch):
    """A service that looks at the own book at every lookup."""
    monkeypatch.setattr(book_keeper, "NOTICE_SECONDS", 0.0)
    return run(books=keep_book(own))


def indiana(service, county="Adams County"):
    response = service.client.get("/v1/tax/IN", params={"location": county, "as_of": "2026-05-01"})
    return response.json()["rate"]["county_rate"] if response.is_success else response.status_code


def test_an_import_shows_at_the_next_lookup_and_its_removal_too(service, own, take):
    shipped = indiana(service)
    digest = service.client.get("/v1/freshness").json()["book"]["digest"]
    take("INR2026Q2FEB1.csv", "001")
    assert (shipped, indiana(service)) == ("0.00000", "0.01000")
    freshness = service.client.get("/v1/freshness").json()
    assert freshness["book"]["digest"] != digest
    (state,) = [one for one in freshness["states"] if one["state"] == "IN"]
    assert "2026Q2" in state["edition"]
    remove_editions(own, "IN")
    assert indiana(service) == shipped
    assert service.client.get("/v1/freshness").json()["book"]["digest"] == digest


def test_an_own_book_that_breaks_is_reported_until_it_is_repaired(service, own, take):
    take("INR2026Q2FEB1.csv", "001")
    assert indiana(service) == "0.01000"
    whole = own.read_bytes()
    own.write_bytes(b"this is no database" * 200)
    assert indiana(service) == 503
    health = service.anonymous("GET", "/healthz")
    assert health.status_code == 503
    assert health.json()["error"]["detail"] == {"unavailable": ["book"]}
    for response in (health, service.client.get("/v1/freshness")):
        assert response.status_code == 503
        assert str(own) not in response.text
        assert "database" not in response.json()["error"]["message"]
    own.write_bytes(whole)
    assert indiana(service) == "0.01000"
    assert service.client.get("/healthz").status_code == 200


def test_the_embedded_service_names_the_book_of_now_without_a_lookup_before(
    own, take, db, monkeypatch
):
    monkeypatch.setattr(embedded, "own_book_path", lambda: own)
    service = embedded.start(db)
    try:
        shipped = service.book_digest
        take("INR2026Q2FEB1.csv", "001")
        fresh = service.book_digest
        remove_editions(own, "IN")
        assert fresh != shipped == service.book_digest
        own.write_bytes(b"this is no database" * 200)
        assert service.book_digest == shipped  # the last that could be read
    finally:
        service.close()


@pytest.fixture
def minnesota(own, tmp_path):
    """Imports Minnesota's rates and one boundary record of Minneapolis."""
    rate_file = tmp_path / "MNR2026Q2FEB18.csv"
    rate_file.write_text(RATES)

    def minnesota(edition, **record):
        boundary_file = tmp_path / f"MNB{edition}FEB18.csv"
        boundary_file.write_text(line("4", zips="55401", plus4="0001-4999", **record))
        imported(own, rate_file, boundary_file)

    return minnesota


def ask_minnesota(service, plus4="0001"):
    params = {"zip": f"55401-{plus4}", "as_of": "2026-05-01"}
    return service.client.get("/v1/tax/MN", params=params)


def test_a_lookup_that_meets_a_new_edition_is_answered_from_it(service, minnesota, monkeypatch):
    minnesota("2026Q2", **MINNEAPOLIS)
    first = ask_minnesota(service).json()
    assert (first["meta"]["confidence"], first["rate"]["combined_rate"]) == ("exact", "0.09025")
    # from now on nothing is noticed but by the lookup that finds its edition gone
    monkeypatch.setattr(book_keeper, "NOTICE_SECONDS", 3600.0)
    ask_minnesota(service)
    minnesota("2026Q3", county="053", specials=METRO)
    second = ask_minnesota(service, "0002").json()
    assert second["meta"]["confidence"] == "exact"
    assert second["rate"]["combined_rate"] != first["rate"]["combined_rate"]


def test_an_own_book_that_changes_all_the_time_is_a_503_to_try_again(service, monkeypatch):
    def changed(*_args, **_options):
        raise OwnBookChanged("edition 7 is not in the own book any more")

    monkeypatch.setattr(rates, "resolve", changed)
    response = service.client.get("/v1/tax/IN", params={"zip": "46204"})
    assert response.status_code == 503
    assert response.headers["retry-after"]
    assert "edition" not in response.text


def test_boundary_records_that_cannot_be_read_are_a_503(service, own, minnesota, monkeypatch):
    minnesota("2026Q2", **MINNEAPOLIS)
    assert ask_minnesota(service).status_code == 200
    monkeypatch.setattr(book_keeper, "NOTICE_SECONDS", 3600.0)
    ask_minnesota(service)
    assert own_signature(own)
    for path in own.parent.iterdir():
        path.write_bytes(b"this is no database" * 200)
    response = ask_minnesota(service, "0003")
    assert response.status_code == 503
    assert response.json()["error"]["detail"] == {"unavailable": ["book"]}


@pytest.fixture
def here(own, db, monkeypatch):
    """A client whose lookups are computed in this process, with a look at the own book for each."""
    monkeypatch.setattr(book_keeper, "NOTICE_SECONDS", 0.0)
    monkeypatch.setattr(embedded, "own_book_path", lambda: own)
    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    with svc_tools.connect("embedded", max_retries=0) as client:
        yield client
    embedded.start(db).close()


def county_rate(client):
    response = client.lookup("IN", location="Adams County", as_of="2026-05-01")
    return response.rate.county_rate


def test_a_lookup_in_process_shows_an_import_its_removal_and_a_broken_book(here, own, take):
    shipped = county_rate(here)
    take("INR2026Q2FEB1.csv", "001")
    assert rate_to_units(county_rate(here)) == 1000 != rate_to_units(shipped)
    whole = own.read_bytes()
    own.write_bytes(b"this is no database" * 200)
    with pytest.raises(ServiceError) as broken:
        county_rate(here)
    assert broken.value.status_code == 503
    own.write_bytes(whole)
    assert rate_to_units(county_rate(here)) == 1000
    remove_editions(own, "IN")
    assert county_rate(here) == shipped


def test_a_lookup_in_process_that_meets_a_new_edition_uses_it(here, minnesota, monkeypatch):
    minnesota("2026Q2", **MINNEAPOLIS)
    first = here.lookup("MN", zip="55401-0001", as_of="2026-05-01")
    assert (first.confidence, first.combined_rate_string) == ("exact", "0.09025")
    monkeypatch.setattr(book_keeper, "NOTICE_SECONDS", 3600.0)
    here.lookup("MN", zip="55401-0001", as_of="2026-05-01")
    minnesota("2026Q3", county="053", specials=METRO)
    second = here.lookup("MN", zip="55401-0002", as_of="2026-05-01")
    assert second.confidence == "exact"
    assert second.combined_rate_string != first.combined_rate_string


def test_a_run_uses_the_book_of_its_beginning_and_the_next_one_that_after_an_import(here, take):
    class ImportsOnce(NoProgress):
        def advance(self, _count):
            if not imports:
                imports.append(take("INR2026Q2FEB1.csv", "001"))

    imports, first = [], date(2025, 1, 1)
    places = [
        Place("IN", "place", location="Adams County", as_of=first + timedelta(days=day))
        for day in range(600)
    ]
    shipped = rate_to_units(county_rate(here))
    run = look_up(here, places, progress=ImportsOnce())
    assert imports
    assert {outcome.found.county for outcome in run.outcomes.values()} == {shipped}
    again = look_up(here, places[-100:])
    assert {outcome.found.county for outcome in again.outcomes.values()} == {1000} != {shipped}
