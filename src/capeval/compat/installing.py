"""Substitution of capeval for other packages in libraries that can't be edited."""

from __future__ import annotations

import importlib.util
import pkgutil
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Literal, get_args

from capeval._internal.validation import validate_choice
from capeval.errors import MismatchError

__all__ = ["install"]

Package = Literal["pycocoevalcap", "pyciderevalcap", "evaluation"]

_SOURCES: dict[Package, str] = {
    "pycocoevalcap": "capeval.compat",
    "pyciderevalcap": "capeval.compat.pyciderevalcap",
    "evaluation": "capeval.compat.evaluation",
}
# `evaluation` is a name that other projects also use, so it is replaced only on request.
_DEFAULT: tuple[Package, ...] = ("pycocoevalcap", "pyciderevalcap")


def install(*packages: Package) -> None:
    """Redirect imports of other packages and their modules to `capeval.compat`.

    Use it for libraries that can't be edited, and call it before they are imported. It affects only this
    process. Further calls have no effect.

    Args:
        packages: The packages to replace: `pycocoevalcap`, `pyciderevalcap`, or `evaluation`, the package of
            meshed-memory-transformer; by default the first two. They need not be installed.

    Raises:
        MismatchError: A module of a package was already imported; the error names the importing module.
        OptionError: A package is unknown.
    """
    modules: dict[str, ModuleType] = {}
    for package in dict.fromkeys(packages or _DEFAULT):
        validate_choice("packages", package, get_args(Package))
        if not _is_installed(package):
            _require_unimported(package)
            modules |= _create_modules(package)
    sys.modules.update(modules)


def _is_installed(package: Package) -> bool:
    return getattr(sys.modules.get(package), "__capeval_source__", None) == _SOURCES[package]


def _require_unimported(package: Package) -> None:
    """Check that no module of a package is imported.

    Raises:
        MismatchError: A module is imported.
    """
    imported = [name for name in sys.modules if _is_part(name, package)]
    if imported:
        importer = _find_importer(package)
        by = "" if importer is None else f" by {importer}"
        raise MismatchError(
            f"capeval.compat.install() was called too late: {imported[-1]!r} is already imported{by}; call it"
            " before that import, such as in the first lines of the program, or import from"
            f" {_SOURCES[package]} instead of {package}"
        )


def _is_part(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _find_importer(package: Package) -> str | None:
    """Return the first other module with a module, class or function of the package."""
    for name, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or _is_part(name, package):
            continue
        for value in list(vars(module).values()):
            is_module = isinstance(value, ModuleType)
            if is_module or isinstance(value, type | FunctionType):
                origin = value.__name__ if is_module else value.__module__
                if isinstance(origin, str) and _is_part(origin, package):
                    file = getattr(module, "__file__", None)
                    return f"{name!r}" + (f" ({file})" if file else "")
    return None


def _create_modules(package: Package) -> dict[str, ModuleType]:
    """Return the modules of capeval under the names of a package."""
    source = import_module(_SOURCES[package])
    others = [each for each in _SOURCES.values() if each not in (source.__name__, "capeval.compat")]
    modules = {
        found.name.replace(source.__name__, package, 1): import_module(found.name)
        for found in pkgutil.walk_packages(source.__path__, f"{source.__name__}.")
        if not any(_is_part(found.name, other) for other in others)
    }
    # Created last: its attributes include the imported modules.
    return {package: _create_alias(package, source)} | modules


def _create_alias(package: Package, source: ModuleType) -> ModuleType:
    alias = ModuleType(package, source.__doc__)
    alias.__dict__.update({name: value for name, value in vars(source).items() if not name.startswith("__")})
    alias.__dict__["__capeval_source__"] = source.__name__
    # The spec still leads to the installed package: pycocoevalcap contains METEOR's words.
    alias.__spec__ = importlib.util.find_spec(package) or ModuleSpec(package, None, is_package=True)
    alias.__path__ = []
    return alias
