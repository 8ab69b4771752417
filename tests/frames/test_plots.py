"""The charts of rates and of tax by state: what they show, in marks, in labels and in words."""

import itertools
import subprocess
import sys
from decimal import Decimal

import matplotlib.colors
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from support.examples import examples
from support.frames import enriched, partial, row

from svc_tools.frames import SvcAccessor
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.charting.rate_chart import strips_of
from svc_tools.frames.charting.tile_map import short_dollars, tile_map
from svc_tools.frames.review.summary import summarize
from svc_tools.tables.states import STATES

MIXED = (
    row("NJ", "100.00", "0.06625"),
    row("WA", "1000.00", "0.10250", confidence="low"),
    row("WA", "20.00", "0.08000"),
    row("WA", "20.00", None, lookup_error="unknown"),
    row("OR", "80.00", "0.00000"),
    row("HI", "-500.00", "0.04500"),
    partial("TX", "300.00"),
    row("AK", "40.00", None),
    row(None, "5.00", None, zip=None),
)


def plot(frame):
    return SvcAccessor(frame).plot


def texts(figure):
    return [text.get_text() for text in drawn_texts(figure)]


def drawn_texts(figure):
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    of_legends = [text for legend in legends for text in legend.get_texts()]
    return [*(text for axes in figure.axes for text in axes.texts), *of_legends]


def chart(figure):
    """The axes that hold the chart; the others hold rows of text."""
    return max(figure.axes, key=lambda axes: len(axes.get_children()))


def tiles(frame):
    return {tile.state: tile for tile in tile_map(summarize(Enriched(frame))).tiles}


# the map


def test_every_state_and_dc_has_a_tile_of_its_own_place():
    made = tile_map(summarize(Enriched(enriched(*MIXED)))).tiles
    assert {tile.state for tile in made} == set(STATES)
    assert len({(tile.column, tile.row) for tile in made}) == len(made) == 51


def test_no_whole_rate_zero_refund_and_no_rows_are_different_kinds():
    made = tiles(enriched(*MIXED))
    kinds = {state: made[state].kind for state in ("NJ", "OR", "HI", "TX", "AK", "CA")}
    assert kinds == {
        "NJ": "tax",
        "OR": "zero",
        "HI": "refund",
        "TX": "partial",
        "AK": "none",
        "CA": "empty",
    }
    assert [state for state, tile in made.items() if tile.lacking] == ["WA"]
    assert made["WA"].tax == Decimal("104.10")


def test_the_map_shows_each_tax_and_draws_the_kinds_apart():
    figure = plot(enriched(*MIXED)).tax_map()
    assert isinstance(figure, Figure)
    grid = chart(figure)
    said = [text.get_text() for text in grid.texts]
    for words in ("NJ", "$6.63", "$104", "$0", "-$23", "partial", "no rate"):
        assert words in said
    drawn = {
        (patch.get_hatch(), matplotlib.colors.to_hex(patch.get_facecolor()))
        for patch in grid.patches
        if isinstance(patch, Rectangle)
    }
    assert len(drawn) == 7  # two blues, zero, refund, partial, none, empty
    assert sum(isinstance(patch, Polygon) for patch in grid.patches) == 1


def test_the_darker_the_more_and_white_letters_on_dark_tiles_only():
    frame = enriched(*(row(code, f"{10 ** (n % 7)}.00") for n, code in enumerate(STATES)))
    made = tile_map(summarize(Enriched(frame)))
    assert {tile.level for tile in made.tiles} == set(range(5))
    by_tax = sorted(made.tiles, key=lambda tile: tile.tax)
    assert [tile.level for tile in by_tax] == sorted(tile.level for tile in by_tax)
    grid = chart(plot(frame).tax_map())
    boxes = [patch for patch in grid.patches if isinstance(patch, Rectangle)]
    for number, box in enumerate(boxes):  # two texts a tile
        fill = matplotlib.colors.rgb_to_hsv(box.get_facecolor()[:3])[2]
        letters = matplotlib.colors.to_hex(grid.texts[2 * number].get_color())
        assert (letters == "#ffffff") == (fill < 0.75)


@examples(7, of=30)
@given(st.lists(st.integers(1, 10**13), min_size=1, max_size=51))
def test_every_tax_is_in_the_class_whose_bounds_hold_it(cents):
    rows = [
        row(code, Decimal(amount).scaleb(-2), "0.99999")
        for code, amount in zip(STATES, cents, strict=False)
    ]
    made = tile_map(summarize(Enriched(enriched(*rows))))
    assert list(made.bounds) == sorted(set(made.bounds))
    assert len(made.bounds) <= 5
    for tile in made.tiles:
        if tile.kind == "tax":
            assert made.bounds[tile.level] <= tile.tax
            assert all(bound > tile.tax for bound in made.bounds[tile.level + 1 :])


def test_the_map_says_every_figure_in_words():
    label = plot(enriched(*MIXED)).tax_map(title="Tax, third quarter").get_label()
    for said in (
        "Tax, third quarter.",
        "$88.23 tax on $700.00 of sales",
        "WA $104.10, NJ $6.63, OR $0.00, HI -$22.50",
        "TX $300.00",
        "AK $40.00",
    ):
        assert said in label


@pytest.mark.parametrize(
    ("value", "short"),
    [
        ("0", "$0"),
        ("0.004", "$0.00"),
        ("9.5", "$9.50"),
        ("340.4", "$340"),
        ("999.6", "$1.0k"),
        ("12345", "$12.3k"),
        ("-123456", "-$123k"),
        ("999999", "$1.0M"),
        ("8179011933.82", "$8.2B"),
        ("123456789012345", "$123T"),
    ],
)
def test_amounts_are_short_enough_for_a_tile(value, short):
    assert short_dollars(Decimal(value)) == short


# the rates


def test_each_state_has_a_strip_the_highest_median_first_and_partial_rates_last():
    frame = enriched(*MIXED, row("WA", "1.00", "0.10250"))
    strips = strips_of(Enriched(frame))
    assert [strip.state for strip in strips] == ["WA", "NJ", "HI", "OR", "TX"]
    washington = strips[0]
    assert [(dot.units, dot.certainty, dot.rows) for dot in washington.dots] == [
        (8000, 0, 1),
        (10250, 0, 1),
        (10250, 1, 1),
    ]
    assert washington.median == 10250
    assert strips[-1].median is None


def test_what_a_rate_may_be_is_a_bar_from_the_lowest_to_the_highest():
    ranged = row("NJ", rate_low="0.06000", rate_high="0.07000")
    (strip,) = strips_of(Enriched(enriched(row("NJ"), ranged)))
    assert (strip.low, strip.high) == (6000, 7000)
    assert strip.rows_of(1) == 1
    words = texts(plot(enriched(row("NJ"), ranged)).rates())
    assert "from the lowest to the highest rate it may be" in words
    assert "partial rate: a lower bound" not in words
    assert "6.625%" in words


def test_the_chart_of_rates_says_every_state_in_words():
    label = plot(enriched(*MIXED)).rates().get_label()
    for said in (
        "6 rows with a rate in 5 states; 1 to review; 1 partial",
        "WA 8.00% to 10.25%, median 8.00% (rows: 1 sure, 1 in doubt)",
        "TX 6.25% (rows: 1 partial)",
        "OR 0.00%",
    ):
        assert said in label


def test_some_states_can_be_chosen_by_code_or_name():
    label = plot(enriched(*MIXED)).rates(states=["Washington", "nj"]).get_label()
    assert "in 2 states" in label
    assert "TX" not in label
    with pytest.raises(ValueError, match="'Ontario' is not one of the 50 states and DC"):
        plot(enriched(row())).rates(states=["Ontario"])


def test_over_all_states_the_bars_add_up_to_the_rows():
    frame = enriched(*MIXED)
    axes = chart(plot(frame).rates(by=None))
    heights = [patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)]
    assert sum(heights) == frame["combined_rate"].notna().sum()
    assert axes.get_ylabel() == "Rows"
    assert "per cent" in axes.get_xlabel()


# both

FRAMES = {
    "mixed": enriched(*MIXED),
    "one": enriched(row()),
    "none": enriched(),
    "all": enriched(*(row(code, f"{n}000.00") for n, code in enumerate(STATES))),
    "huge": enriched(row("NJ", "900000000000.00"), row("WA", "-900000000000.00"), partial("TX")),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("width", [3.5, 9.0])
def test_nothing_is_outside_the_page_and_no_part_overlaps_another(name, width):
    long = (
        "A title that is much longer than what a narrow page holds in a line of text, " + "W" * 60
    )
    of_frame = plot(FRAMES[name])
    for figure in (
        of_frame.tax_map(width=width, title=long),
        of_frame.rates(width=width, title=long),
        of_frame.rates(by=None, width=width, title=long),
    ):
        figure.draw_without_rendering()
        assert figure.get_figwidth() == width
        boxes = [axes.get_tightbbox() for axes in figure.axes]
        assert all(box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1 for box in boxes)
        down = sorted(boxes, key=lambda box: box.y0)
        assert down[0].y0 >= 0
        assert down[-1].y1 <= figure.bbox.y1
        for lower, upper in itertools.pairwise(down):
            assert lower.y1 <= upper.y0 + 1


def test_dollar_signs_are_not_taken_for_formulas():
    figure = plot(enriched(*MIXED)).tax_map(title="$1 and $2")
    assert "$1 and $2" in texts(figure)
    assert not any(text.get_parse_math() for text in drawn_texts(figure))


def test_a_notebook_shows_a_chart_with_its_words():
    figure = plot(enriched(row())).tax_map(width=4)
    drawn, metadata = figure._repr_png_()
    assert drawn.startswith(b"\x89PNG")
    assert metadata["alt"] == figure.get_label()


def test_frames_that_cannot_be_drawn_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"df\.svc\.lookup\(\)"):
        plot(pd.DataFrame({"zip": ["78701"]})).rates()
    with pytest.raises(ValueError, match=r"df\.svc\.tax"):
        plot(enriched(row(), taxed=False)).tax_map()
    with pytest.raises(ValueError, match="by: 'zip' is not known; expected 'state' or None"):
        plot(enriched(row())).rates(by="zip")
    for width in (1, 100, float("nan")):
        with pytest.raises(ValueError, match=r"width: .* is not from 3\.5 to 40 inches"):
            plot(enriched(row())).tax_map(width=width)


def test_no_global_state_of_pyplot_and_no_display_is_needed():
    code = (
        "import sys; from support.frames import enriched, row;"
        " from svc_tools.frames import SvcAccessor;"
        " plot = SvcAccessor(enriched(row())).plot;"
        " assert 'matplotlib' not in sys.modules;"
        " plot.rates(); plot.tax_map(); plot.rates(by=None);"
        " assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "HOME": "/nonexistent"},
    )


def test_a_prefix_is_followed():
    frame = enriched(*MIXED, prefix="p_")
    assert "NJ $6.63" in plot(frame).tax_map(prefix="p_").get_label()
    assert "NJ 6.625%" in plot(frame).rates(prefix="p_").get_label()
