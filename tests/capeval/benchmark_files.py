"""Files of benchmarks in the formats of their authors, with invented captions."""

import json
from pathlib import Path

__all__ = ["write_flickr", "write_nocaps"]


def write_nocaps(folder: Path, sizes: tuple[int, int, int] = (648, 2938, 914), references: int = 10) -> Path:
    """Write captions in the format of nocaps, with numbers of images by domain."""
    names = ("in-domain", "near-domain", "out-domain")
    domains = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    content = {
        "images": [{"id": image, "domain": domain} for image, domain in enumerate(domains)],
        "annotations": [
            {"id": image * references + number, "image_id": image, "caption": f"Picture {image} of a harp."}
            for image in range(len(domains))
            for number in range(references)
        ],
    }
    path = folder / "nocaps_val_4500_captions.json"
    path.write_text(json.dumps(content))
    return path


def write_flickr(folder: Path, split: str = "test", images: int = 1000) -> Path:
    """Write a dataset in Karpathy's format, with a split of some size and 10 other images."""
    rows = [
        {"filename": f"{number}.jpg", "split": split if number < images else "train"}
        for number in range(images + 10)
    ]
    sentences = [{"raw": f"Dog number {number}."} for number in range(5)]
    path = folder / "dataset_flickr8k.json"
    path.write_text(json.dumps({"images": [{**row, "sentences": sentences} for row in rows]}))
    return path
