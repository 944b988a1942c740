"""A made world: images with objects, features of their regions, and captions of a small grammar."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

NOUNS = tuple(f"n{number}" for number in range(40))
PLACES = ("table", "grass", "water", "road")
REGIONS, WIDTH = 6, 48


@dataclass(frozen=True)
class World:
    """Images, the features of their regions, and their captions."""

    features: dict[int, np.ndarray[Any, Any]]
    captions: dict[int, str]


def world(images: int, seed: int = 0) -> World:
    """Generate images with two nouns and a place each; only the features show the contents of a caption."""
    generator = np.random.default_rng(seed)
    features, captions = {}, {}
    for image in range(1, images + 1):
        first, second = generator.choice(len(NOUNS), 2, replace=False)
        place = int(generator.integers(len(PLACES)))
        regions = generator.standard_normal((REGIONS, WIDTH)) * 0.05
        for row, (look, part) in enumerate(((first, 1), (second, 2), (len(NOUNS) + place, 3))):
            # The parts of the world and their roles.
            regions[row, [look, -part]] += 2
        features[image] = regions[generator.permutation(REGIONS)].astype(np.float32)
        captions[image] = f"A {NOUNS[first]} on a {NOUNS[second]} near {PLACES[place]}."
    return World(features, captions)


def write_features(
    path: Path,
    features: dict[int, np.ndarray[Any, Any]],
    *,
    boxes: dict[int, Any] | None = None,
    classes: dict[int, Any] | None = None,
    size: tuple[int, int] = (640, 480),
    leave_out: tuple[str, ...] = (),
) -> Path:
    """A file of features in the published layout: arrays of different lengths, an entry an image."""
    kind = h5py.vlen_dtype(np.dtype("float32"))
    with h5py.File(path, "w") as file:
        file["image_id"] = np.array(list(features))
        file["num_boxes"] = np.array([len(each) for each in features.values()])
        file["width"], file["height"] = (np.full(len(features), each) for each in size)
        rows = file.create_dataset("features", (len(features),), kind)
        for row, each in enumerate(features.values()):
            rows[row] = np.asarray(each, dtype=np.float32).ravel()
        for name, values in (("boxes", boxes), ("classes", classes)):
            if values is not None:
                entries = file.create_dataset(name, (len(features),), kind)
                for row, image in enumerate(features):
                    entries[row] = np.asarray(values[image], dtype=np.float32).ravel()
        for name in leave_out:
            del file[name]
    return path


def write_captions(path: Path, captions: dict[int, str]) -> Path:
    """Captions as COCO's format of references has them."""
    annotations = [
        {"id": number, "image_id": image, "caption": caption}
        for number, (image, caption) in enumerate(captions.items())
    ]
    content = {"images": [{"id": image} for image in captions], "annotations": annotations}
    path.write_text(json.dumps(content))
    return path
