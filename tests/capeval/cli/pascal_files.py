"""A small folder in the form of PASCAL-50S."""

from __future__ import annotations

import json
from pathlib import Path

from scipy.io import savemat

__all__ = ["write_pascal"]


def write_pascal(folder: Path) -> Path:
    """Write six pairs of captions of one image with votes, and return the folder."""
    rows = [("HC", 6, 6), ("HI", 6, 7), ("HM", 6, 1), ("MM", 1, 2), ("MM", 3, 2), ("MM", 1, 3)]
    texts = [(f"a dog {n}", f"two cats {n}") for n in range(len(rows))]
    content = {
        "new_input": [{"name": "x.jpg", "sent1": one, "sent2": two} for one, two in texts],
        "new_data": [[one, two] for _, one, two in rows],
        "category": [("HC", "HI", "HM", "MM").index(kind) + 1 for kind, _, _ in rows],
        "result": [{"result": [1] * n + [-1] * (11 - n)} for n in (11, 10, 9, 8, 7, 3)],
    }
    savemat(folder / "pair_pascal.mat", content)
    preferences: dict[str, list[object]] = {}
    for n, ((kind, _, _), captions) in enumerate(zip(rows, texts, strict=True)):
        entry = {"image": "x.jpg", "captions": captions, "label": n % 2, "references": ["a dog", "cats"]}
        preferences.setdefault(kind, []).append(entry)
    (folder / "pascal_50s_5refs.json").write_text(json.dumps(preferences), encoding="utf-8")
    return folder
