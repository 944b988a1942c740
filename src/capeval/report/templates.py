"""Page templates and other resource files of this package."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2

from capeval.scoring.grid_formats import format_cell_parts

__all__ = ["read_resource", "render_template"]


def render_template(name: str, **values: Any) -> str:
    """Render a template; values are escaped unless they are `Markup`."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["parts"] = format_cell_parts
    return environment.from_string(read_resource(name)).render(**values)


def read_resource(name: str) -> str:
    """Return the text of a file in this package."""
    return (files("capeval.report") / name).read_text("utf-8")
