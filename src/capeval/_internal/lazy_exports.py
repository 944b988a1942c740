"""Lazy imports of a package's public names."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

__all__ = ["lazy_exports"]


def lazy_exports(package: str, module: str) -> Callable[[str], object]:
    """Return a `__getattr__` for a package with the public names of a module.

    The module is imported when one of its names is first used. Importing another module of the package, such
    as a command that only shows its help, then does not import numpy.
    """

    def get(name: str) -> object:
        # The import system asks packages for names such as `__path__`.
        if name == "__all__" or not name.startswith("_"):
            source = import_module(module)
            if name == "__all__" or name in source.__all__:
                return getattr(source, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
