"""How Sphinx makes the site of the documents: `make docs`."""

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

# Markdown. Anchors of headings are those that links in the sources have.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
# Notebooks are shown with the outputs that are stored in them; a test runs them.
nb_execution_mode = "off"
highlight_language = "text"

# Docstrings: a name in backquotes is a link where the API has it. Types are shown as they are written.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
ALIASES = ("CandidatesLike", "FloatArray", "ImageId", "ReferencesLike", "Subsets")
autodoc_type_aliases = {name: name for name in ALIASES}
# In a union or a tuple, Sphinx 9.0 writes an alias as this class shows itself: here, by its name.
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # type: ignore[method-assign]
autodoc_default_options = {"exclude-members": "native, from_native"}
maximum_signature_line_length = 72
napoleon_numpy_docstring = False
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"

# The site. Everything that a page loads is in it, and it works from the disk.
html_theme = "pydata_sphinx_theme"
html_title = "capeval"
html_static_path = ["static"]
html_css_files = ["capeval.css"]
html_favicon = "static/logo.svg"
html_show_sourcelink = False
# Excerpts in search results are fetched, which browsers refuse from the disk.
html_show_search_summary = False
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
    """A picture `NAME-light.webp` is shown on light pages, and `NAME-dark.webp` beside it on dark ones."""

    default_priority = 200

    def apply(self) -> None:
        """Puts the dark picture beside the light one."""
        for light in list(self.document.findall(nodes.image)):
            if "-light." in light["uri"]:
                dark = light.deepcopy()
                dark["uri"] = light["uri"].replace("-light.", "-dark.")
                light["classes"].append("only-light")
                dark["classes"].append("only-dark")
                light.parent.insert(light.parent.index(light) + 1, dark)


def setup(app: Sphinx) -> dict[str, bool]:
    """Adds the above to Sphinx."""
    app.add_transform(DarkPictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
