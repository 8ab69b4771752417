"""One service with an account and one page over it; one browser per module."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from support.browser import browser, new_page
from support.pages import served_page
from support.serving import serving_service

from svc_sdk import Svc

KEY = "browser-key-7f3e9a1c5b"

RECORDS = (
    ("TX", "economic", "2019-10-01"),
    ("CA", "physical", "2016-01-15"),
    ("OR", "economic", "2020-02-01"),
    ("NH", "economic", "2021-06-30"),
    ("WA", "economic", "2018-11-05"),
)


@dataclass
class Account:
    """The account that the page's key is for.

    Attributes:
        url: the address of its service.
        client: asks that service, as the page does.
    """

    url: str
    client: Svc

    def records(self):
        return {
            (record.state, record.nexus_type, str(record.registered_at))
            for record in self.client.list_nexus().nexus
        }

    def fill(self):
        """Exactly the five records."""
        for state in {record.state for record in self.client.list_nexus().nexus}:
            self.client.remove_nexus(state)
        for state, kind, day in RECORDS:
            self.client.add_nexus(state, nexus_type=kind, registered_at=day)


@pytest.fixture(scope="session")
def account(_own_home, tmp_path_factory):
    db = tmp_path_factory.mktemp("account") / "service.db"
    with serving_service(db, key=KEY) as (_, url), Svc(KEY, base_url=url) as client:
        yield Account(url, client)


@pytest.fixture(scope="session")
def served(account, tmp_path_factory):
    cwd = tmp_path_factory.mktemp("page")
    with served_page(cwd=cwd, SVC_API_KEY=KEY, SVC_BASE_URL=account.url) as page:
        yield page


@pytest.fixture(scope="module")
def chrome():
    """A browser: not for longer than a module, as its driver runs an event loop in this thread."""
    with browser() as running:
        yield running


@pytest.fixture
def width():
    return 1200


@pytest.fixture
def colours():
    return "light"


@pytest.fixture
def page(served, chrome, width, colours):
    """The page in a fresh browser; it asks nothing outside, and its console does not complain."""
    with new_page(chrome, width=width, colours=colours) as (opened, seen):
        opened.goto(served.url)
        opened.get_by_role("tab", name="Lookup").wait_for()
        yield opened
        assert seen.outside(served.origin) == []
        assert seen.complaints == []
