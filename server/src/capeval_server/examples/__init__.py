"""Example challenges."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from capeval.errors import OptionError
from capeval.toolkit import validate_choice

if TYPE_CHECKING:
    from capeval.data.captions import References

__all__ = ["write_example"]

_HERE = Path(__file__).parent
# Every 16th image of train2014, in the order of its ids: 5,174 images.
_STRIDE = 16


def write_example(name: str, folder: Path) -> Path:
    """Write the files of an example challenge.

    Args:
        name: The example: `small`, with six images; `nocaps`, the same images in three domains, with SPICE;
            or `coco-captions`, created from the captions in the installed `pycocoevalcap`.
        folder: The output folder.

    Returns:
        The path of its `challenge.toml`.

    Raises:
        OptionError: There is no such example, or the folder already contains a challenge.
        ResourceError: `pycocoevalcap` is not installed.
        OSError: The folder is not writable.
    """
    examples = {"small": _write_small, "nocaps": _write_nocaps, "coco-captions": _write_coco}
    validate_choice("name", name, tuple(examples))
    path = folder / "challenge.toml"
    if path.exists():
        raise OptionError(f"{path} already exists: choose a different folder")
    folder.mkdir(parents=True, exist_ok=True)
    examples[name](folder)
    return path


def _write_small(folder: Path) -> None:
    for path in sorted((_HERE / "small").iterdir()):
        shutil.copyfile(path, folder / path.name)


def _write_nocaps(folder: Path) -> None:
    for name in ("references_c2.json", "human.json"):
        shutil.copyfile(_HERE / "small" / name, folder / name)
    for path in sorted((_HERE / "nocaps").iterdir()):
        shutil.copyfile(path, folder / path.name)


def _write_coco(folder: Path) -> None:
    from capeval.datasets import coco
    from capeval.formats import write_references

    val = coco.load_captions("val2014")
    write_references(val, folder / "val2014.json")
    _write_held_out(val, folder, "val2014")
    train = coco.load_captions("train2014")
    images = sorted(train.image_ids, key=int)[::_STRIDE]
    test = train.select(images)
    write_references(test, folder / "test_c5.json")
    _write_held_out(test, folder, "test")
    shutil.copyfile(_HERE / "coco-captions.toml", folder / "challenge.toml")


def _write_held_out(references: References, folder: Path, name: str) -> None:
    """Write references without one caption per image, and these captions as results."""
    from capeval.data.held_out import hold_out
    from capeval.formats import write_candidates, write_references

    others, human = hold_out(references, seed=0)
    write_references(others, folder / f"{name}_c4.json")
    write_candidates(human, folder / f"{name}_c4_human.json")
