"""COCO from the installed package."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import zipfile
from pathlib import Path

import pytest

from capeval.datasets import coco
from capeval.errors import OptionError, ResourceError


def test_an_unknown_split() -> None:
    with pytest.raises(OptionError, match="'split' must be one of val2014, train2014"):
        coco.load_captions("test2014")  # type: ignore[arg-type]


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.machinery.ModuleSpec("pycocoevalcap", None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)


def test_a_package_that_is_missing_or_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    with pytest.raises(ResourceError, match=r"spice-1\.0\.jar"):
        coco.load_captions()
    (tmp_path / "spice").mkdir()
    jar = tmp_path / "spice" / "spice-1.0.jar"
    jar.write_bytes(b"not a jar")
    with pytest.raises(
        ResourceError, match=r"cannot read coco/annotations/captions_val2014\.json from .*spice-1\.0\.jar"
    ):
        coco.load_captions()
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("coco/annotations/captions_train2014.json", "[")
    # One split is not in the archive, and the other is not JSON.
    splits: tuple[coco.Split, ...] = ("val2014", "train2014")
    for split in splits:
        with pytest.raises(ResourceError, match="pip install --force-reinstall pycocoevalcap"):
            coco.load_captions(split)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ResourceError, match="is missing"):
        coco.load_captions()


def test_all_of_val2014_is_there() -> None:
    pytest.importorskip("pycocotools")
    captions = coco.load_captions("val2014")
    assert len(captions) == 40_504
    assert int(captions.counts.sum()) == 202_654
