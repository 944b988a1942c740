"""Versions of the packages and files that define metrics of plug-ins, for signatures."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from capeval._internal.file_fingerprints import fingerprint_file

__all__ = ["get_plugin"]


def get_plugin(module: str) -> str | None:
    """Return the package of a module, with its version; for a single file, its name and fingerprint.

    Returns:
        Such as `toy-metrics-1.2` or `repetition.py-1f4a09c2`; None for capeval's own modules, and for code in
        no file.
    """
    package = module.partition(".")[0]
    if package == "capeval":
        return None
    found = _find_distribution(package)
    if found:
        return found
    file = getattr(sys.modules.get(module), "__file__", None)
    return fingerprint_file(file) if file and Path(file).is_file() else None


@cache
def _find_distribution(package: str) -> str:
    """Return the name and version of the distribution that contains a package; empty if there is none."""
    from importlib.metadata import packages_distributions, version

    names = packages_distributions().get(package)
    return f"{names[0]}-{version(names[0])}" if names else ""
