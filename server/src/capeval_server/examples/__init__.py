"""Example challenges."""

from __future__ import annotations

import shutil
from pathlib import Path

from capeval.errors import OptionError
from capeval.toolkit import validate_choice

__all__ = ["EXAMPLES", "write_example"]

_HERE = Path(__file__).parent

EXAMPLES = ("small", "domains", "coco-2015", "nocaps")
"""The names of the examples."""


def write_example(name: str, folder: Path) -> Path:
    """Write the files of an example challenge.

    Args:
        name: The example: `small`, with six images; `domains`, the same images in three domains, with SPICE;
            or `coco-2015` and `nocaps`, created from the captions in the installed `pycocoevalcap`.
        folder: The output folder.

    Returns:
        The path of its `challenge.toml`.

    Raises:
        OptionError: There is no such example, or the folder already contains a challenge.
        ResourceError: `pycocoevalcap` is not installed.
        OSError: The folder is not writable.
    """
    validate_choice("name", name, EXAMPLES)
    path = folder / "challenge.toml"
    if path.exists():
        raise OptionError(f"{path} already exists: choose a different folder")
    folder.mkdir(parents=True, exist_ok=True)
    if name == "domains":
        for file in ("references_c2.json", "human.json"):
            shutil.copyfile(_HERE / "small" / file, folder / file)
    elif name == "coco-2015":
        from capeval_server.examples.coco_2015 import write_data

        write_data(folder)
    elif name == "nocaps":
        from capeval_server.examples.nocaps import write_data as write_nocaps_data

        write_nocaps_data(folder)
    # The definition is written last: without it, the folder is incomplete.
    for source in sorted((_HERE / name).iterdir(), key=lambda found: found.name == path.name):
        if not (folder / source.name).exists():
            shutil.copyfile(source, folder / source.name)
    return path
