"""The chart of tax by state: what its bars, labels and words say."""

import subprocess
import sys
from decimal import Decimal

import pandas as pd
import pytest
from matplotlib.patches import Rectangle
from PIL import Image
from support.enriched import enriched, partial, row

from svc_tools.frames.charting.charts import describe_tax_by_state, save_chart, tax_by_state
from svc_tools.places import STATES


def bars(axes):
    """(state, width, hatch) of each bar, in drawing order."""
    names = [label.get_text() for label in axes.get_yticklabels()]
    return [
        (names[round(patch.get_y() + patch.get_height() / 2)], patch.get_width(), patch.get_hatch())
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    ]


def panels(figure):
    return {axes.get_title(loc="left"): axes for axes in figure.axes}


MIXED = (
    row("NJ", "100.00", "0.06625"),
    row("WA", "1000.00", "0.10250"),
    row("OR", "80.00", "0.00000"),
    partial("TX", "300.00"),
    row("WA", "40.00", None),
    row(None, "5.00", None, zip=None),
)


def test_whole_tax_and_untaxed_sales_stand_in_panels_of_their_own():
    shown = panels(tax_by_state(enriched(*MIXED)))
    assert list(shown) == ["Tax computed", "Sales with no tax computed"]
    assert bars(shown["Tax computed"]) == [("WA", 102.5, ""), ("NJ", 6.63, "")]
    untaxed = bars(shown["Sales with no tax computed"])
    assert [(state, width) for state, width, _ in untaxed] == [
        ("TX", 300.0),
        ("WA", 40.0),
        ("other", 5.0),
    ]


def test_kinds_of_bars_differ_by_hatch_and_by_name():
    axes = panels(tax_by_state(enriched(*MIXED)))["Sales with no tax computed"]
    hatches = {state: hatch for state, _, hatch in bars(axes)}
    assert hatches["TX"] != hatches["WA"]
    assert all(hatches.values())
    named = {text.get_text() for text in axes.get_legend().get_texts()}
    assert named == {
        "partial rate: its local or district part is not known",
        "no rate, or no usable amount",
    }


def test_tax_from_partial_rates_is_never_added_to_a_whole_bar():
    shown = panels(tax_by_state(enriched(row("NJ"), partial("NJ"), use_partial=True)))
    assert [width for _, width, _ in bars(shown["Tax computed"])] == [6.63]
    ((state, width, hatch),) = bars(shown["Tax from partial rates"])
    assert (state, width) == ("NJ", 6.25)
    assert hatch


def test_axes_are_labelled_and_each_bar_has_its_value():
    for axes in tax_by_state(enriched(*MIXED)).axes:
        assert "US dollars" in axes.get_xlabel()
        assert axes.get_ylabel() == "State"
    texts = [
        text.get_text() for text in panels(tax_by_state(enriched(*MIXED)))["Tax computed"].texts
    ]
    assert texts == ["$103", "$6.63"]


def test_refunds_grow_to_the_left():
    axes = panels(tax_by_state(enriched(row("NJ", "-100.00"), row("WA"))))["Tax computed"]
    assert bars(axes)[-1][:2] == ("NJ", -6.63)
    (label,) = [text for text in axes.texts if text.get_text() == "-$6.63"]
    assert label.get_ha() == "right"


def test_dollar_signs_are_not_taken_for_formulas():
    figure = tax_by_state(enriched(*MIXED))
    written = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    assert not any(text.get_parse_math() for text in written)


def test_the_text_alternative_has_every_figure_to_the_cent():
    frame = enriched(*MIXED)
    text = describe_tax_by_state(frame)
    assert text == tax_by_state(frame).get_label()
    for said in (
        "$109.13 tax on $1,180.00 of sales",
        "$345.00 of sales has no tax computed",
        "WA $102.50, NJ $6.63",
        "TX $300.00",
        "WA $40.00, other $5.00",
        "Tax of 0.00, no bar: OR",
        "no product rules",
    ):
        assert said in text


def test_tax_at_rates_of_another_date_is_said_on_the_chart_and_in_its_words():
    dated = row("WA", "10.00", "0.1", confidence="low", warnings="as_of_after_edition")
    figure = tax_by_state(enriched(row(), dated))
    sentence = "$1.00 of the $7.63 tax rests on such rates"
    assert sentence in figure.get_label()
    assert sentence in " ".join(" ".join(text.get_text() for text in figure.texts).split())
    assert "such rates" not in describe_tax_by_state(enriched(row()))


def test_notes_stand_beneath_the_shorter_panel_where_there_is_room_for_them():
    many = [partial(code, "10.00") for code in list(STATES)[:30]]
    tall, low = tax_by_state(enriched(row(), *many)), tax_by_state(enriched(row(), partial()))
    for figure, beneath in ((tall, True), (low, False)):
        (title,) = [text for text in figure.texts if text.get_text() == "Notes"]
        lowest = min(axes.get_position().y0 for axes in figure.axes)
        assert bool(title.get_position()[1] > lowest) is beneath
        bars_of = [len(axes.patches) for axes in figure.axes]
        heights = [axes.get_position().height for axes in figure.axes]
        each = {round(height / bars, 6) for height, bars in zip(heights, bars_of, strict=True)}
        assert len(each) == 1


def test_tax_from_doubtful_rates_is_said():
    doubtful = describe_tax_by_state(enriched(row(), row("WA", "10.00", "0.1", confidence="low")))
    assert "Of this tax, $1.00 rests on rates of low confidence." in doubtful
    assert "low confidence" not in describe_tax_by_state(enriched(row()))


def test_a_state_with_no_tax_because_its_rate_is_0_is_said_not_drawn():
    shown = panels(tax_by_state(enriched(row("OR", "80.00", "0.00000"))))
    assert shown == {}
    assert "no bar: OR" in describe_tax_by_state(enriched(row("OR", "80.00", "0.00000")))


def test_an_empty_frame_makes_a_chart_that_says_so():
    figure = tax_by_state(enriched())
    assert figure.axes == []
    assert "No rows." in figure.get_label()


def test_the_png_carries_the_text_alternative(tmp_path):
    figure = tax_by_state(enriched(*MIXED))
    save_chart(figure, tmp_path / "chart.png")
    with Image.open(tmp_path / "chart.png") as image:
        assert image.text["Description"] == figure.get_label()
        assert image.text["Title"] == "Sales tax by state"
        assert image.width > 1000
    assert [path.name for path in tmp_path.iterdir()] == ["chart.png"]


@pytest.mark.parametrize(
    "frame",
    [
        enriched(*MIXED, use_partial=True),
        enriched(*MIXED),
        enriched(row(), *(partial(code) for code in STATES)),
        enriched(),
    ],
    ids=["three panels", "two panels", "notes beneath", "empty"],
)
def test_nothing_is_drawn_outside_the_page(frame):
    figure = tax_by_state(frame)
    figure.draw_without_rendering()
    page = figure.bbox
    for artist in [*figure.texts, *figure.axes]:
        box = artist.get_tightbbox()
        assert box.x0 >= page.x0
        assert box.x1 <= page.x1
        assert box.y0 >= page.y0
        assert box.y1 <= page.y1


def test_a_frame_without_tax_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"'tax'.*df\.svc\.tax"):
        tax_by_state(enriched(row(), taxed=False))
    with pytest.raises(ValueError, match=r"df\.svc\.lookup\(\)"):
        tax_by_state(pd.DataFrame({"tax": [Decimal("1.00")], "amount": [Decimal(10)]}))


def test_no_global_state_of_pyplot_and_no_display_is_needed():
    code = (
        "import sys; import svc_tools.frames.charting.charts;"
        " assert 'matplotlib' not in sys.modules;"
        " from support.enriched import enriched, row;"
        " svc_tools.frames.charting.charts.tax_by_state(enriched(row()));"
        " assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "HOME": "/nonexistent"},
    )
