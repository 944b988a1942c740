"""Benchmark of image selection, on data in the size of Open Images V4's test set.

`python -m benchmarks.choosing` writes CSV files in the format of Open Images, for 125,436 images with 625,282
boxes of 600 classes with Zipf-distributed frequencies, and prints timings. No data of Open Images is used:
images, boxes and rotations are drawn at random.
"""

from __future__ import annotations

import csv
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from capeval.datasets.open_images import ObjectAnnotations, load_boxes, load_rotations
from capeval.datasets.selection import choose_images, choose_randomly, compute_statistics

IMAGES, BOXES, CLASSES, WANTED = 125_436, 625_282, 600, 10_600
_BOX_HEADER = (
    "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,"
    "IsDepiction,IsInside"
)
_IMAGE_HEADER = (
    "ImageID,Subset,OriginalURL,OriginalLandingURL,License,AuthorProfileURL,Author,Title,"
    "OriginalSize,OriginalMD5,Thumbnail300KURL,Rotation"
)


def make(folder: Path, *, images: int = IMAGES, boxes: int = BOXES, seed: int = 0) -> tuple[Path, Path]:
    """Write boxes and rotations of synthetic images; return both paths."""
    chance = np.random.default_rng(seed)
    ids = [f"{number:016x}" for number in range(images)]
    # Half of the images get one class, a quarter two, and so on; the remaining boxes repeat an image's class.
    image = np.repeat(np.arange(images), chance.geometric(0.5, images))
    zipf = 1 / np.arange(1, CLASSES + 1)
    label = chance.choice(CLASSES, len(image), p=zipf / zipf.sum())
    again = chance.choice(len(image), boxes - len(image))
    image, label = (np.concatenate([each, each[again]]) for each in (image, label))
    order = np.argsort(image, kind="stable")
    places, names = folder / "annotations-bbox.csv", folder / "images-with-rotation.csv"
    with places.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(_BOX_HEADER.split(","))
        for position, kind in zip(image[order].tolist(), label[order].tolist(), strict=True):
            rows.writerow([ids[position], "xclick", f"/m/{kind:05d}", 1, 0.1, 0.9, 0.1, 0.9, 0, 0, 0, 0, 0])
    rotations = chance.choice(["0.0", "", "90.0", "180.0", "270.0"], images, p=[0.9, 0.06, 0.02, 0.01, 0.01])
    with names.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(_IMAGE_HEADER.split(","))
        for name, rotation in zip(ids, rotations.tolist(), strict=True):
            rows.writerow([name, "test", *[""] * 9, rotation])
    return places, names


def main() -> None:
    """Time reading and selection by sample size, selected images and candidates."""
    with tempfile.TemporaryDirectory() as folder:
        boxes, images = make(Path(folder))
        start = time.perf_counter()
        annotations, rotations = load_boxes(boxes), load_rotations(images)
        print(f"reading {BOXES:,} boxes and {IMAGES:,} rotations: {time.perf_counter() - start:.2f} s")
        for sample in (1, 10, 100, 1000, 10_000, IMAGES):
            _report(annotations, rotations, WANTED, sample)
        for wanted in (4_000, 20_000, 40_000):
            _report(annotations, rotations, wanted, 100)
        for part in (31_359, 62_718):
            boxes, images = make(Path(folder), images=part, boxes=BOXES * part // IMAGES)
            _report(load_boxes(boxes), load_rotations(images), 10_600, 100)


def _report(
    annotations: ObjectAnnotations, rotations: dict[str, float | None], wanted: int, sample: int
) -> None:
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        chosen = choose_images(annotations, wanted, rotations=rotations, sample=sample)
        seconds.append(time.perf_counter() - start)
    ours = compute_statistics(annotations, chosen.positions)
    others = compute_statistics(annotations, choose_randomly(chosen))
    print(
        f"{len(annotations.image_ids):,} images, {len(chosen.candidates):,} candidates, {wanted:,} chosen "
        f"({chosen.complex_images:,} for more than six classes), n={sample:,}: "
        f"{statistics.median(seconds):.2f} s, entropy {ours.entropy:.3f} bits (random {others.entropy:.3f})"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
