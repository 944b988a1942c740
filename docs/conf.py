"""Sphinx configuration of the documentation: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.inspect import TypeAliasForwardRef

import capeval

sys.path.append(str(Path(__file__).parent))

project = "capeval"
author = "the authors of capeval"
version = release = capeval.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "directives",
    "mathml",
]
root_doc = "index"

# Markdown. Headings down to level 4 get anchors, as used by links in the sources.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
# Notebooks are shown with their stored outputs; a test executes them.
nb_execution_mode = "off"
highlight_language = "text"

# Docstrings: names in backquotes link to the API reference if they exist there. Types are shown as written.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
ALIASES = ("CandidatesLike", "FloatArray", "ImageId", "ReferencesLike", "Subsets")
autodoc_type_aliases = {name: name for name in ALIASES}
# In unions and tuples, Sphinx 9.0 renders an alias with this class's repr, which must be the alias's name.
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # type: ignore[method-assign]
autodoc_default_options = {"exclude-members": "native, from_native"}
maximum_signature_line_length = 72
napoleon_numpy_docstring = False
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"

# The site is self-contained and works from the file system.
html_theme = "pydata_sphinx_theme"
html_title = "capeval"
html_static_path = ["static"]
html_css_files = ["capeval.css"]
html_favicon = "static/logo.svg"
html_show_sourcelink = False
html_js_files = ["search.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "logo": {"text": "capeval", "image_light": "static/logo.svg", "image_dark": "static/logo.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True


class DarkPictures(SphinxTransform):
    """Transform that adds dark-mode variants (`-dark`) of pictures named `-light`."""

    default_priority = 200

    def apply(self) -> None:
        """Insert a dark image after each light one, with classes for both modes."""
        for light in list(self.document.findall(nodes.image)):
            if "-light." in light["uri"]:
                dark = light.deepcopy()
                dark["uri"] = light["uri"].replace("-light.", "-dark.")
                light["classes"].append("only-light")
                dark["classes"].append("only-dark")
                light.parent.insert(light.parent.index(light) + 1, dark)


def name_toggles(app: Sphinx, error: Exception | None) -> None:
    """Name the toggles of nested pages, which the theme writes without a name for screen readers."""
    for page in Path(app.outdir).rglob("*.html") if error is None else ():
        text = page.read_text(encoding="utf-8")
        named = text.replace("<summary><span", '<summary aria-label="Show subpages"><span')
        if named != text:
            page.write_text(named, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(DarkPictures)
    app.connect("build-finished", name_toggles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
