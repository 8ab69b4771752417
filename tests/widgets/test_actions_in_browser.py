"""The scripts of the buttons in a real browser, with a page's side of the connection played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.browser import browser, new_page

import svc_tools.widgets.transfers

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
    tell: (content, buffers) => (heard["msg:custom"] ?? []).forEach(
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


def test_pieces_become_the_file_that_is_saved(page, tmp_path):
    made(page, "actions.js", **FILE, url="", place="")
    page.get_by_role("button", name="Download (9 bytes)").click()
    (asked,) = sent(page)
    for text in ("zip\n", "02134"):
        page.evaluate(
            "([who, text]) => model.tell({who, tell: 'piece'}, [text])", [asked["who"], text]
        )
    page.evaluate("model.tell({who: 'another view', tell: 'piece'}, ['not mine'])")
    with page.expect_download() as got:
        page.evaluate("who => model.tell({who, tell: 'end', name: 'a.csv'})", asked["who"])
    got.value.save_as(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "zip\n02134"
    assert got.value.suggested_filename == "a.csv"
    page.get_by_role("status").get_by_text("Saved: a.csv").wait_for()


def test_a_large_file_is_a_link_or_a_place_with_its_path_to_copy(page):
    made(page, "actions.js", **FILE, url="files/a.csv", place="")
    link = page.get_by_role("link", name="Download (9 bytes)")
    assert (link.get_attribute("href"), link.get_attribute("download")) == ("files/a.csv", "a.csv")
    page.evaluate("model.change('url', ''); model.change('place', '/data/<b>a.csv')")
    page.get_by_text("It is here: /data/<b>a.csv").wait_for()
    page.get_by_role("button", name="Copy the path").click()
    page.get_by_role("status").get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "/data/<b>a.csv"


def test_a_button_without_a_file_is_not_there(page):
    made(page, "actions.js", **FILE | {"name": ""}, url="", place="")
    assert page.get_by_role("button").count() == 0
    page.evaluate("model.change('name', 'a.csv')")
    page.get_by_role("button", name="Download").wait_for()


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
        page.evaluate("model.tell({who: model.sent[0].who, tell: 'got'})")
    page.get_by_role("status").get_by_text("Uploaded: orders.csv").wait_for()
    told = [(one["say"], one["bytes"]) for one in sent(page)]
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
