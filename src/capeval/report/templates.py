"""Page templates and other resource files of this package."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2

from capeval.report.exporters import parts

__all__ = ["rendered", "resource"]


def rendered(name: str, **values: Any) -> str:
    """Render a template; values are escaped unless they are `Markup`."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["parts"] = parts
    return environment.from_string(resource(name)).render(**values)


def resource(name: str) -> str:
    """Return the text of a file in this package."""
    return (files("capeval.report") / name).read_text("utf-8")
