"""Copying, saving and uploading: the kernel's side, and the scripts in a real browser."""

from __future__ import annotations

import json
import ntpath
import stat
import sys
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.browser import browser, new_page

import svc_tools.widgets.transfers
from svc_tools.widgets import transfers
from svc_tools.widgets.transfers import DownloadButton, UploadButton, free_name

# Python 3.13 has it in another place, and warns about the one before
IS_RESERVED = getattr(ntpath, "isreserved", lambda name: PureWindowsPath(name).is_reserved())


class Page:
    """A view of a widget, as the kernel sees it."""

    def __init__(self, widget, monkeypatch):
        self.widget, self.told = widget, []
        monkeypatch.setattr(
            widget,
            "send",
            lambda said, buffers=(): self.told.append((said, [bytes(one) for one in buffers])),
        )

    def say(self, said, *buffers, view="view-1"):
        self.widget._handle_custom_msg({"view": view, **said}, list(buffers))


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "result.csv"
    path.write_bytes(bytes(range(256)) * 10_000)
    return path


def test_a_file_comes_to_the_view_that_asked_whole_and_in_pieces(result, monkeypatch):
    button = DownloadButton("Download", result)
    page = Page(button, monkeypatch)
    page.say({"type": "request"}, view="view-7")
    assert {said["view"] for said, _ in page.told} == {"view-7"}
    assert [said["type"] for said, _ in page.told] == ["piece"] * 3 + ["end"]
    assert b"".join(piece for _, pieces in page.told for piece in pieces) == result.read_bytes()
    assert (button.size, page.told[-1][0]["name"]) == ("2.6 MB", "result.csv")
    assert b"result" not in button.get_state()["_esm"].encode()


def test_a_file_that_is_gone_is_said(result, monkeypatch):
    page = Page(DownloadButton("Download", result), monkeypatch)
    result.unlink()
    page.say({"type": "request"})
    ((said, _),) = page.told
    assert (said["type"], said["why"]) == ("trouble", "No such file or directory")


@pytest.mark.parametrize("url", [None, "files/result.csv"])
def test_a_large_file_is_linked_or_named_and_never_sent(result, monkeypatch, url):
    monkeypatch.setattr(transfers, "LARGE", 1_000_000)
    button = DownloadButton("Download", result, url=url)
    page = Page(button, monkeypatch)
    page.say({"type": "request"})
    assert page.told == []
    assert (button.url, button.place) == ((url, "") if url else ("", str(result)))


def test_a_page_asks_for_no_other_file_than_the_one_that_is_offered(result, monkeypatch):
    page = Page(DownloadButton("Download", None), monkeypatch)
    for said in ({"type": "request", "name": str(result)}, {"type": "/etc/passwd"}, "file", None):
        page.widget._handle_custom_msg(said, [])
    assert [said["type"] for said, _ in page.told] in ([], ["end"])
    assert not any(pieces for _, pieces in page.told)


# uploads


@pytest.fixture
def upload(tmp_path):
    """An upload button, with what came of it in `.came` and `.failures`."""
    came, failures = [], []
    button = UploadButton(
        "Choose a file",
        ".csv",
        folder=lambda: tmp_path / "uploads",
        done=came.append,
        failed=failures.append,
    )
    button.came, button.failures = came, failures
    return button


def test_an_upload_lies_on_disk_for_its_owner_alone_and_nowhere_in_the_page(
    upload, monkeypatch, tmp_path
):
    page = Page(upload, monkeypatch)
    page.say({"type": "begin", "name": "orders.csv"})
    page.say({"type": "piece"}, memoryview(b"zip\n021"))
    page.say({"type": "piece"}, memoryview(b"34\n"))
    page.say({"type": "end", "size": 10})
    (path,) = upload.came
    assert path.read_bytes() == b"zip\n02134\n"
    assert path == tmp_path / "uploads" / "orders.csv"
    assert [said["type"] for said, _ in page.told] == ["got"] * 4  # one after the other
    assert "02134" not in str(upload.get_state())
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_does_not_arrive_whole_leaves_nothing(upload, monkeypatch, tmp_path):
    page = Page(upload, monkeypatch)
    page.say({"type": "begin", "name": "a.csv"})
    page.say({"type": "piece"}, b"half")
    page.say({"type": "end", "size": 10})
    assert "did not arrive whole" in str(upload.failures[0])
    page.say({"type": "begin", "name": "b.csv"})
    page.say({"type": "piece"}, b"half")
    page.say({"type": "drop"})
    page.say({"type": "begin", "name": "c.csv"}, view="view-1")
    page.say({"type": "begin", "name": "d.csv"}, view="view-2")  # another file instead
    page.say({"type": "piece"}, b"late", view="view-1")
    page.say({"type": "piece"}, b"good", view="view-2")
    page.say({"type": "end", "size": 4}, view="view-2")
    assert upload.came == [tmp_path / "uploads" / "d.csv"]
    assert [path.name for path in (tmp_path / "uploads").iterdir()] == ["d.csv"]


def test_an_upload_above_the_limit_is_refused_on_its_way(upload, monkeypatch, tmp_path):
    upload.limit = 5
    page = Page(upload, monkeypatch)
    page.say({"type": "begin", "name": "a.csv"})
    page.say({"type": "piece"}, b"1234")
    page.say({"type": "piece"}, b"5678")
    assert "too large" in str(upload.failures[0])
    assert page.told[-1][0]["type"] == "trouble"
    assert list((tmp_path / "uploads").iterdir()) == []


@given(
    st.text(max_size=300)
    | st.sampled_from(
        ["../../etc/passwd", "C:\\x\\con.csv", "nul .txt", f"{'x' * 119} y", "..", "", "税" * 200]
    )
)
def test_no_name_leads_out_of_the_folder(name):
    folder = Path("/data/uploads")
    names = free_name(folder, name)
    first, second = next(names), next(names)
    assert first != second
    for path in (first, second):
        assert path.parent == folder
        assert path.name not in {"", ".", ".."}
        assert "\0" not in path.name
        assert len(path.name.encode()) <= 255
        assert not path.name.endswith((" ", "."))
        assert not IS_RESERVED(path.name)


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("orders.csv", "orders.csv"),
        ("C:\\data\\con.csv", "_con.csv"),
        ("../../orders (1).csv", "orders (1).csv"),
        ("a<b>.csv", "a_b_.csv"),
        ("..", "file"),
    ],
)
def test_a_name_is_kept_as_far_as_it_is_safe(given_name, kept):
    assert next(free_name(Path("/data"), given_name)).name == kept


HERE = Path(svc_tools.widgets.transfers.__file__).parent

MODEL = """
window.made = async (source, state) => {
  const at = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: widget } = await import(at);
  const heard = {};
  const model = {
    sent: [],
    get: (name) => state[name],
    send: (content, _callbacks, buffers) => model.sent.push(
      { ...content, bytes: (buffers ?? []).map((one) => one.byteLength) }),
    on: (names, call) => names.split(" ").forEach((name) => (heard[name] ??= []).push(call)),
    off: () => {},
    receive: (content, buffers) => (heard["msg:custom"] ?? []).forEach(
      (call) => call(content, (buffers ?? []).map((text) => new DataView(
        new TextEncoder().encode(text).buffer)))),
    change: (name, value) => {
      state[name] = value;
      (heard[`change:${name}`] ?? []).forEach((call) => call());
    },
  };
  const el = document.createElement("div");
  document.body.append(el);
  widget.render({ model, el });
  window.model = model;
};
undefined;
"""


@pytest.fixture(scope="module")
def running():
    with browser() as started:
        yield started


@pytest.fixture
def page(running):
    """A page of this machine, which may use the clipboard; it asks for nothing."""
    with new_page(running) as (opened, seen):
        opened.route(
            "**/*", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html")
        )
        opened.goto("http://localhost/")
        opened.evaluate(MODEL)
        asked = len(seen.asked)
        yield opened
        assert [one for one in seen.asked[asked:] if not one.startswith("blob:")] == []
        assert seen.complaints == []


def made(page, script, **state):
    source = (HERE / script).read_text(encoding="utf-8")
    page.evaluate("([source, state]) => made(source, state)", [source, state])


def sent(page):
    return page.evaluate("model.sent")


def test_a_text_is_copied_by_keyboard_and_said_and_the_focus_stays(page):
    made(page, "actions.js", kind="copy", label="Copy the rate", text="0.08250")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "0.08250"
    assert page.evaluate("document.activeElement.textContent") == "Copy the rate"


def test_a_text_is_copied_where_the_page_has_no_clipboard(page):
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    made(page, "actions.js", kind="copy", label="Copy", text="line 1\nline 2")
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("status").get_by_text("Copied").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Copy"
    page.evaluate("document.body.append(document.createElement('textarea'))")
    page.locator("textarea").focus()
    page.keyboard.press("ControlOrMeta+V")
    assert page.locator("textarea").input_value() == "line 1\nline 2"


FILE = {"kind": "download", "label": "Download", "name": "a.csv", "size": "9 bytes"}


def test_a_large_file_is_a_link_or_a_place_with_its_path_to_copy(page):
    made(page, "actions.js", **FILE, url="files/a.csv", place="")
    link = page.get_by_role("link", name="Download (9 bytes)")
    assert (link.get_attribute("href"), link.get_attribute("download")) == ("files/a.csv", "a.csv")
    page.evaluate("model.change('url', ''); model.change('place', '/data/<b>a.csv')")
    page.get_by_text("It is here: /data/<b>a.csv").wait_for()
    page.get_by_role("button", name="Copy the path").click()
    page.get_by_role("status").get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "/data/<b>a.csv"


def upload_state(**more):
    return {
        "label": "Choose a file",
        "accept": ".csv",
        "disabled": False,
        "piece": 4,
        "limit": None,
    } | more


def choose(page, path):
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").press("Enter")
    chooser.value.set_files(path)


def test_a_file_is_sent_piece_by_piece_each_after_the_one_before(page, tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text("zip\n02134\n")
    made(page, "upload.js", **upload_state())
    choose(page, path)
    for number in range(1, 6):
        page.wait_for_function("count => model.sent.length === count", arg=number)
        page.evaluate("model.receive({view: model.sent[0].view, type: 'got'})")
    page.get_by_role("status").get_by_text("Uploaded: orders.csv").wait_for()
    told = [(one["type"], one["bytes"]) for one in sent(page)]
    assert told == [("begin", []), *[("piece", [n]) for n in (4, 4, 2)], ("end", [])]
    assert (sent(page)[0]["name"], sent(page)[-1]["size"]) == ("orders.csv", 10)
    choose(page, path)  # the same file again
    page.wait_for_function("model.sent.length === 6")


@pytest.mark.parametrize("state", [{"limit": 5}, {"disabled": True}])
def test_a_file_that_may_not_be_sent_is_not(page, tmp_path, state):
    path = tmp_path / "orders.csv"
    path.write_text("zip\n02134\n")
    made(page, "upload.js", **upload_state(**state))
    if state.get("disabled"):
        page.on("filechooser", lambda _: pytest.fail("a file could be chosen"))
        page.get_by_role("button", name="Choose a file").press("Enter")
    else:
        choose(page, path)
        page.get_by_role("status").get_by_text("too large").wait_for()
    assert json.dumps(sent(page)) == "[]"
