"""Configuration of the documentation site: `make docs` builds it in build/site.

The source folder is the root of the repository, so that guides, notebooks and the page of the
spreadsheets are read where they stand, and the links between them work here and in the site.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pydantic import BaseModel  # noqa: E402
from pygments.lexers.special import TextLexer  # noqa: E402
from sphinx import addnodes  # noqa: E402
from sphinx.pycode import ModuleAnalyzer  # noqa: E402

from scripts import run_notebooks, site_sections  # noqa: E402 - found on the path above
from svc_sdk import __version__, models  # noqa: E402

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "svc-tax-tools"
author = "The svc-tax-tools authors"
release = version = __version__
language = "en"

root_doc = "docs/index"
include_patterns = ["docs/**", "excel/README.md", "notebooks/*.ipynb", *site_sections.PAGES]
exclude_patterns = [".*", "build", "dist", "tests", "demo-output", "**/notebook-output"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .go"

# tutorials: executed by `run_notebooks`, which also replaces what only a running kernel can show
nb_execution_mode = "off"
nb_ipywidgets_js = {}  # it would be loaded from the network
nb_merge_streams = True
nb_number_source_lines = False

# the reference of Python
default_role = "code"  # docstrings mark code with single backquotes
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_default_options = {"exclude-members": "model_config, __init__, __new__"}
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
add_module_names = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# the pages
html_theme = "furo"
html_title = "svc-tax-tools"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_additional_pages = {"index": "to_start.html"}
templates_path = ["_templates"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5c8a",
        "color-brand-content": "#0b5c8a",
        "color-brand-visited": "#0b5c8a",
        "color-api-name": "#0b5c8a",
        "color-api-pre-name": "#0b5c8a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4f0",
        "color-brand-content": "#7cc4f0",
        "color-brand-visited": "#7cc4f0",
        "color-api-name": "#7cc4f0",
        "color-api-pre-name": "#7cc4f0",
    },
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def _execute(app: Sphinx, _environment: BuildEnvironment, names: list[str]) -> None:
    """Execute the notebooks that will be read, several at a time."""
    if app.config.executed:
        run_notebooks.execute([_notebook(name) for name in names if _is_notebook(name)])


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the generated sections into a page, and the results into a notebook."""
    if not _is_notebook(name):
        source[0] = site_sections.filled(source[0])
    elif app.config.executed:
        source[0] = run_notebooks.executed(_notebook(name)).read_text(encoding="utf-8")


def _is_notebook(name: str) -> bool:
    return name.startswith("notebooks/")


def _notebook(name: str) -> Path:
    return ROOT / f"{name}.ipynb"


def _simple_types(_app: Sphinx) -> None:
    """Show types as a caller sees them."""
    # not the overloads for type checkers: the arguments one by one
    analyzer = ModuleAnalyzer.for_module("svc_tools.frames.accessor")
    analyzer.analyze()
    analyzer.overloads.clear()
    # not how a field is read: what it holds
    for model in vars(models).values():
        if isinstance(model, type) and issubclass(model, BaseModel) and model is not BaseModel:
            model.__annotations__ = {
                name: model.model_fields[name].annotation
                for name in inspect.get_annotations(model)
                if name in model.model_fields
            }


def _no_constructor(
    _app: Sphinx, what: str, _name: str, described: object, _options: object, *_: object
) -> tuple[str, str] | None:
    """Leave out how a model of responses is constructed: only the client does so."""
    is_model = what == "class" and isinstance(described, type) and issubclass(described, BaseModel)
    return ("", "") if is_model else None


def _link_pages(
    _app: Sphinx, what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Link the pages that a docstring names; a module's own text is for readers of the code."""
    if what == "module":
        lines.clear()
    lines[:] = [re.sub(r"docs/([A-Z_]+)\.md", _page, line) for line in lines]


def _page(found: re.Match[str]) -> str:
    return f":doc:`{found[1].capitalize()} </docs/{found[1]}>`"


_CALLED = {"SvcAccessor": "df.svc", "Plots": "df.svc.plot"}


def _as_called(app: Sphinx, page: nodes.document) -> None:
    """Show the methods of accessors as they are called: `df.svc.lookup(...)`."""
    # two classes have this name
    whole = "nexus" if app.env.current_document.docname.endswith("nexus") else "lookup.plan"
    for link in page.findall(addnodes.pending_xref):
        if link["reftarget"] == "Plan":
            link["reftarget"] = f"svc_tools.{whole}.Plan"
    for signature in page.findall(addnodes.desc_signature):
        (name,) = signature.findall(addnodes.desc_name)
        if signature.get("fullname") in _CALLED:
            called = _CALLED[signature["fullname"]]
            signature[:] = [addnodes.desc_name(called, called)]
        elif signature.get("class") in _CALLED:
            before = f"{_CALLED[signature['class']]}."
            signature.insert(signature.index(name), addnodes.desc_addname(before, before))


def setup(app: Sphinx) -> None:
    """Connect what is generated."""
    app.add_lexer("csv", TextLexer)  # files that the pages show
    # `-D executed=0` builds the tutorials without their results
    app.add_config_value("executed", default=True, rebuild="env")
    app.connect("builder-inited", _simple_types)
    app.connect("autodoc-process-signature", _no_constructor)
    app.connect("autodoc-process-docstring", _link_pages)
    app.connect("doctree-read", _as_called)
    app.connect("env-before-read-docs", _execute)
    app.connect("source-read", _read)
