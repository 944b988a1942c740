"""Files of the installed `pycocoevalcap`: sources of METEOR's tables, and COCO's captions."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from capeval.errors import ResourceError

__all__ = ["INSTALL", "REINSTALL", "find_installed_file", "find_installed_folders"]

INSTALL = 'pip install "capeval[coco]"'
"""The command that installs `pycocoevalcap`."""

REINSTALL = "pip install --force-reinstall pycocoevalcap==1.2"
"""The command that replaces a damaged `pycocoevalcap`."""


def find_installed_folders() -> list[Path]:
    """Return the folders of `pycocoevalcap`; none if it is not installed."""
    # The package has no __init__.py, so its spec has search locations but no origin. It is not imported,
    # because that requires pycocotools.
    spec = importlib.util.find_spec("pycocoevalcap")
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []


def find_installed_file(name: str, purpose: str, missing: str = "") -> Path:
    """Return the path of a file of the installed `pycocoevalcap`.

    Args:
        name: The path in the package, such as `meteor/meteor-1.5.jar`.
        purpose: The content of the file for the message, such as `the captions of COCO`.
        missing: The message if the package is not installed; by default it names the extra `coco`.

    Raises:
        ResourceError: The package or the file is missing; the message names the command to run.
    """
    places = find_installed_folders()
    for place in places:
        if (place / name).is_file():
            return place / name
    if not places:
        raise ResourceError(missing or f"{purpose} come with pycocoevalcap, which is missing: {INSTALL}")
    raise ResourceError(
        f"{purpose} must be in {places[0] / name} (got no such file); to reinstall it, run `{REINSTALL}`"
    )
