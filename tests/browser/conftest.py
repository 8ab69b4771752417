"""One service with an account and one page's server over it; one browser and page per module."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from support.browser import browser, panel_page, use_key
from support.pages import served_page
from support.secrets import TYPED_KEY
from support.serving import serving_service

from svc_sdk import Svc

RECORDS = (
    ("TX", "economic", "2019-10-01"),
    ("CA", "physical", "2016-01-15"),
    ("OR", "economic", "2020-02-01"),
    ("NH", "economic", "2021-06-30"),
    ("WA", "economic", "2018-11-05"),
)
FOLDERS = (
    *("HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR"),
    *("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "SVC_RECEIPTS"),
)


@dataclass
class Account:
    """The account that the page's key is for.

    Attributes:
        url: the address of its service.
        client: a client of that service, as the page has one.
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
    with serving_service(db, key=TYPED_KEY) as (_, url), Svc(TYPED_KEY, base_url=url) as client:
        yield Account(url, client)


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """Where the page's server and its kernels write; no key may be in any of it at the end."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="session")
def served(account, work):
    own = {name: work / name.lower() for name in FOLDERS}
    for folder in own.values():
        folder.mkdir()
    environment = {name: str(folder) for name, folder in own.items()}
    environment |= {"SVC_API_KEY": TYPED_KEY, "SVC_BASE_URL": account.url}
    with served_page(cwd=work, **environment) as page:
        yield page
        printed, _ = page.end()
    (work / "printed.log").write_text("\n".join([*page.said, *printed]))


@pytest.fixture(scope="module")
def chrome():
    """A browser: not for longer than a module, as its driver runs an event loop in this thread."""
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def opened(served, chrome):
    """A page for the tests of a module."""
    with panel_page(chrome, served) as found:
        yield found


@pytest.fixture
def page(opened, served, account):
    """That page on the account; it requests nothing outside, and its console has no errors.

    A new one would start a process for each test. Here a test finds what those before it left, as
    in a day's work on one page.
    """
    page, seen = opened
    page.get_by_role("tab", name="Lookup").click()
    if account.url not in page.locator(".svc-service").inner_text():
        use_key(page, account.url, TYPED_KEY)
    yield page
    assert seen.outside(served.origin) == []
    assert seen.complaints == []


@pytest.fixture
def fresh(served, chrome):
    """A page on which nothing was done yet."""
    with panel_page(chrome, served) as (page, seen):
        yield page
        assert seen.outside(served.origin) == []
        assert seen.complaints == []
