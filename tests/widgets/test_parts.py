"""The blocks of the panel: escaped, labelled, and read out."""

from __future__ import annotations

import ipywidgets

from svc_sdk import AuthError
from svc_tools.display import number
from svc_tools.widgets.parts import (
    CodeView,
    MessageArea,
    button,
    field,
    heading,
    note,
    table_html,
)

BAD = "<img src=x onerror=alert(1)>\"'&"


def test_nothing_given_becomes_markup():
    area = MessageArea()
    area.show_note(BAD)
    shown = [area.html]
    area.show_trouble(AuthError(BAD, support_reference=BAD))
    shown.append(area.html)
    area.announce(BAD)
    shown.append(area.html)
    code = CodeView()
    code.show(BAD)
    shown += [code.view.value, heading(BAD).value, note(BAD).value]
    shown.append(table_html([f"~{BAD}"], [[BAD]], BAD))
    for html in shown:
        assert "<img" not in html
        assert "&lt;img" in html
        assert "&quot;" in html


def test_a_trouble_says_what_to_do_and_the_reference():
    area = MessageArea()
    area.show_trouble(AuthError("no", support_reference="req_7", status_code=401))
    assert "does not accept the key" in area.html
    assert "req_7" in area.html
    area.clear()
    assert area.html == ""


def test_a_table_has_a_caption_scoped_heads_and_can_be_scrolled_by_keyboard():
    html = table_html(["State", number("Rate")], [["TX", "8.25%"]], "Rates")
    assert "<caption>Rates</caption>" in html
    assert html.count('scope="col"') == 2
    assert '<td class="svc-number">8.25%</td>' in html
    assert 'tabindex="0"' in html


def test_a_field_has_its_label_and_sends_its_text_when_it_is_left():
    text = ipywidgets.Text(description="Path")
    box = field(text, help="Where the file lies.")
    assert text.continuous_update is False
    assert "Where the file lies." in box.children[1].value


def test_a_button_that_removes_is_told_apart():
    assert button("Remove", "danger").button_style == "danger"
    assert button("Close", "plain").button_style == ""


def test_code_is_shown_only_where_there_is_some():
    code = CodeView()
    assert code.layout.display == "none"
    code.show("f(1)")
    assert code.layout.display == ""
    assert "<summary>Show as code</summary>" in code.view.value
