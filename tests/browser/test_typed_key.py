"""A key that is typed on the page is in no file and no log of the page's server."""

from __future__ import annotations

from playwright.sync_api import expect
from support.browser import panel_page
from support.by_hand import look_up, rate, use_key
from support.pages import served_page
from support.secrets import TYPED_KEY, files_with

HOMES = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR")


def test_a_key_that_is_typed_on_the_page_is_written_nowhere(chrome, account, tmp_path):
    folders = {name: tmp_path / name for name in ("home", "temporary", "work")}
    for folder in folders.values():
        folder.mkdir()
    own = dict.fromkeys((*HOMES, "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"), str(folders["home"]))
    own |= {"TMPDIR": str(folders["temporary"])}
    with served_page(cwd=folders["work"], **own) as served, panel_page(chrome, served) as (page, _):
        use_key(page, account.url, TYPED_KEY)
        look_up(page, "TX", "78701")
        expect(rate(page)).to_be_visible()
        token = served.url.partition("token=")[2]
        said = [line for line in served.said if token not in line]
        _nothing_written(tmp_path, token)
        said += served.end()[0]
    (tmp_path / "said.log").write_text("\n".join(said))
    _nothing_written(tmp_path, token)


def _nothing_written(folder, token):
    """No key and no token is in any file, and there are files."""
    for secret in (TYPED_KEY, token):
        found, written = files_with(secret, folder)
        assert found == []
        assert written
