"""Puts capeval under pycocoevalcap's name, for libraries that can't be edited."""

from __future__ import annotations

import importlib.util
import pkgutil
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from capeval.errors import MismatchError

__all__ = ["install"]

_NAME = "pycocoevalcap"


def install() -> None:
    """Makes `import pycocoevalcap` and imports from its modules give those of `capeval.compat`.

    It is for libraries that can't be edited, holds in this process alone, and goes before their import.
    Called again, it does nothing.

    Raises:
        MismatchError: A module of pycocoevalcap is imported already.
    """
    package = import_module("capeval.compat")
    modules = {_NAME: _alias(package)} | {
        found.name.replace(package.__name__, _NAME, 1): import_module(found.name)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    }
    imported = [name for name in sys.modules if name == _NAME or name.startswith(f"{_NAME}.")]
    if imported and getattr(sys.modules[imported[0]], "install", None) is install:
        return
    if imported:
        raise MismatchError(f"install() must be called before pycocoevalcap is imported (got {imported[0]})")
    sys.modules.update(modules)


def _alias(package: ModuleType) -> ModuleType:
    alias = ModuleType(_NAME, package.__doc__)
    alias.__dict__.update({name: value for name, value in vars(package).items() if not name.startswith("__")})
    # METEOR's words are still looked for in the folder of the installed package, by its spec.
    alias.__spec__ = importlib.util.find_spec(_NAME) or ModuleSpec(_NAME, None, is_package=True)
    alias.__path__ = []
    return alias
