"""Golden of the public names: `__all__` of documented modules, with parameters."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

from scripts.goldens.names import MODULES
from scripts.goldens.registry import Golden, register


def _write(folder: Path) -> None:
    for name, module in MODULES.items():
        lines = [_format_name(import_module(module), each) for each in import_module(module).__all__]
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in sorted(lines)))


def _format_name(module: ModuleType, name: str) -> str:
    found = getattr(module, name)
    if not callable(found):
        return name
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return name
    return f"{name}({', '.join(map(_format_parameter, parameters))})"


def _format_parameter(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter with its marks.

    Annotation and default are omitted, because their texts depend on the module and the Python version.
    """
    marks: dict[object, str] = {
        parameter.VAR_POSITIONAL: "*",
        parameter.VAR_KEYWORD: "**",
        parameter.KEYWORD_ONLY: "*:",
    }
    optional = "" if parameter.default is parameter.empty else "="
    return f"{marks.get(parameter.kind, '')}{parameter.name}{optional}"


register(Golden(name="public_names", about="public names", write=_write, process="library"))
