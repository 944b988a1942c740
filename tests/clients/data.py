"""Captions that the clients score, and the output file for their results."""

import json
import random
import sys
from pathlib import Path
from typing import Any

_WORDS = ["a", "dog", "cat", "runs", "on", "the", "grass,", "sits", "Two", "men", "ride", "horses"]


def captions(images: int = 12, references: int = 3) -> tuple[dict[int, list[str]], dict[int, str]]:
    """References and a candidate of each image; ids are not in ascending order."""
    generator = random.Random(images)

    def caption() -> str:
        return " ".join(generator.choices(_WORDS, k=generator.randint(4, 10))) + "."

    ids = [900 - 7 * image for image in range(images)]
    return {image: [caption() for _ in range(references)] for image in ids}, {
        image: caption() for image in ids
    }


def coco_files(folder: Path) -> tuple[Path, Path]:
    """The captions as COCO annotations and results."""
    references, candidates = captions()
    annotations = [
        {"image_id": image, "id": 10 * image + number, "caption": text}
        for image, texts in references.items()
        for number, text in enumerate(texts)
    ]
    images = [{"id": image} for image in references]
    dataset = {"info": {}, "licenses": [], "images": images, "annotations": annotations}
    results = [{"image_id": image, "caption": text} for image, text in candidates.items()]
    paths = folder / "annotations.json", folder / "results.json"
    for path, content in zip(paths, (dataset, results), strict=True):
        path.write_text(json.dumps(content))
    return paths


def folder() -> Path:
    """The folder of the client's files."""
    return Path(sys.argv[1])


def write(results: Any) -> None:
    """Write the results of the client."""
    (folder() / "got.json").write_text(json.dumps(results, default=lambda array: array.tolist()))


class NoSpice:
    """Stand-in for SPICE, which scripts leave out if its model is missing."""

    def compute_score(self, gts: Any, res: Any) -> tuple[float, list[float]]:
        return 0.0, [0.0] * len(gts)

    def method(self) -> str:
        return "none"
