"""Campaigns of the story: one per task type, reviewed, trained, finished ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["CAMPAIGNS", "FINISHED", "PANEL", "STUDY", "TRAINED", "answer_to", "campaign_files"]

_FREE_TEXT = "write"
_IMAGES = ("1", "2", "3")
_CAPTIONS = {
    "1": ("A brown dog is running across the green grass.", "A dog runs through a wide field."),
    "2": ("Two small cats are sleeping on a bed.", "Two cats lie on a white bed together."),
    "3": ("A red bus is driving down the street.", "A red bus stops at a street corner."),
}
_OTHER = "A man rides a big wave on a board."
# The text fields of an item of each task type.
_FIELDS: dict[str, Mapping[str, str]] = {
    "write": {},
    "triplet": {"reference": "first", "first": "second", "second": "other"},
    "pairwise": {"first": "first", "second": "other"},
    "m1": {"candidate": "first", "human": "second"},
    "m2": {"caption": "first"},
    "m3": {"caption": "first"},
    "m4": {"caption": "first"},
    "m5": {"candidate": "first", "human": "second"},
    "rating": {"caption": "first"},
}
_WITHOUT_IMAGE = ("triplet", "m5")
_COMPARISONS = ("triplet", "pairwise")
STUDY = {
    "run_by": "Vision Lab",
    "contact": "lab@example.org",
    "license": "CC BY 4.0",
    "pay_terms": "Nobody is paid.",
}
"""Information for workers that a campaign needs to open."""

_PAY = {"pay_terms": "Paid within a week.", "pay_per_answer": "0.12", "currency": "EUR"}
_SETTINGS = {"answers": 3, "batch": 2, "check_every": 0, "repeat_every": 0, "review_every": 0, **STUDY}
PANEL = "pairwise-campaign"
"""Campaign to which a panel sends workers."""

TRAINED = "trained"
"""Campaign that begins with a training."""

CAMPAIGNS: dict[str, tuple[str, Mapping[str, Any]]] = {
    **{f"{kind}-campaign": (kind, {**_SETTINGS, "review_first": 0}) for kind in _FIELDS},
    "reviewed": ("write", {**_SETTINGS, "review_first": 1, **_PAY}),
    "finished": ("write", {**_SETTINGS, "answers": 2, "batch": 3, "review_first": 0}),
    "finished-pairs": ("pairwise", {**_SETTINGS, "answers": 2, "batch": 3, "review_first": 0}),
    TRAINED: ("pairwise", {**_SETTINGS, "training_items": 1, "training_right": 1, "training_tries": 1}),
}
"""Task type and settings of each campaign, by slug."""


FINISHED = ("finished", "finished-pairs")
"""Campaigns that end with a release."""


def campaign_files(slug: str, folder: Path) -> Path:
    """Write the files of a campaign; return the path of its definition."""
    kind, settings = CAMPAIGNS[slug]
    folder.mkdir()
    items = list(_list_items(kind))
    if slug == TRAINED:
        lesson = {"training": True, "expected": {"choice": "first"}, "explanation": "There is no wave."}
        items.append(items[0] | lesson | {"key": "lesson"})
    lines = [f"{json.dumps(item)}\n" for item in items]
    (folder / "items.jsonl").write_text("".join(lines))
    about = {"slug": slug, "title": f"A campaign ({slug})", "kind": kind, "items": "items.jsonl"}
    if kind not in _WITHOUT_IMAGE:
        about["images"] = "images"
        (folder / "images").mkdir()
        for image in _IMAGES:
            _draw(folder / "images" / f"{image}.png", shade=60 * int(image))
    if slug == "finished-pairs" or slug == "reviewed":
        about["challenge"] = "small"
    parts = {"campaign": about, "settings": settings}
    tables = (
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in parts.items()
    )
    path = folder / "campaign.toml"
    path.write_text("\n".join(tables))
    return path


def _list_items(kind: str) -> Iterator[dict[str, Any]]:
    for image, (first, second) in _CAPTIONS.items():
        texts = {"first": first, "second": second, "other": _OTHER}
        item: dict[str, Any] = {"key": image, "group": image, "category": "HM"}
        if kind not in _WITHOUT_IMAGE:
            item["image"] = f"{image}.png"
        if kind == "write":
            item["keywords"] = first.rstrip(".").split()[-2:]
        elif kind in _COMPARISONS:
            item |= {"first_by": "Human", "second_by": "Random"}
        else:
            item["system"] = "Human"
        yield item | {name: texts[text] for name, text in _FIELDS[kind].items()}


def _draw(path: Path, *, shade: int) -> None:
    from PIL import Image

    Image.new("RGB", (64, 48), (shade, 120, 255 - shade)).save(path)


def answer_to(kind: str, shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the answer to an item, which depends only on its texts."""
    if kind == _FREE_TEXT:
        return {"caption": f"Somebody shows {' and '.join(shown['keywords'])} in this very clear picture."}
    if kind == "rating":
        return {"precision": "4", "recall": "3", "fluency": "0", "conciseness": "0", "inclusive": "0"}
    if kind == "m2":
        return {"choice": "person"}
    if kind in ("m3", "m4"):
        return {"choice": "4"}
    if kind == "m5":
        return {"choice": "yes"}
    return {"choice": "right" if shown["left"] == _OTHER else "left"}
