"""Substitution of capeval for pycocoevalcap in libraries that can't be edited."""

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
    """Redirect imports of `pycocoevalcap` and its modules to `capeval.compat`.

    Use it for libraries that can't be edited, and call it before they are imported. It affects only this
    process. Further calls have no effect.

    Raises:
        MismatchError: A module of pycocoevalcap was already imported.
    """
    package = import_module("capeval.compat")
    modules = {_NAME: _create_alias(package)} | {
        found.name.replace(package.__name__, _NAME, 1): import_module(found.name)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    }
    imported = [name for name in sys.modules if name == _NAME or name.startswith(f"{_NAME}.")]
    if imported and getattr(sys.modules[imported[0]], "install", None) is install:
        return
    if imported:
        raise MismatchError(
            f"capeval.compat.install() was called too late: {imported[0]!r} is already imported; move the"
            " call above that import"
        )
    sys.modules.update(modules)


def _create_alias(package: ModuleType) -> ModuleType:
    alias = ModuleType(_NAME, package.__doc__)
    alias.__dict__.update({name: value for name, value in vars(package).items() if not name.startswith("__")})
    # The spec still leads to the installed package, which contains METEOR's words.
    alias.__spec__ = importlib.util.find_spec(_NAME) or ModuleSpec(_NAME, None, is_package=True)
    alias.__path__ = []
    return alias
