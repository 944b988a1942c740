"""Data of the example `coco-2015`, from the captions of COCO 2014 and the published leaderboards."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capeval.data.captions import ImageId, References
from capeval.data.held_out import hold_out
from capeval.datasets import coco
from capeval.datasets.published.tables import CocoRow, load_coco_2015, load_coco_2015_judgments
from capeval.formats import write_candidates, write_references

__all__ = ["SimilarImages", "collect_many", "join_judgments", "write_data", "write_held_out"]

_PAGES = Path(__file__).parent / "coco-2015"
# Every 16th image of train2014, in the order of its ids: 5,174 images.
_STRIDE = 16
# The images of c40 among them, and its number of captions.
_MANY_STRIDE, _MANY = 5, 40
# Words in more than this share of the images do not make images similar.
_MOST_COMMON = 0.1
_WORD = re.compile(r"[a-z]+")


def write_data(folder: Path) -> None:
    """Write the data files of the challenge, and the pages with numbers.

    Raises:
        ResourceError: `pycocoevalcap` is not installed.
        OSError: The folder is not writable.
    """
    val = coco.load_captions("val2014")
    write_references(val, folder / "val2014.json")
    write_held_out(val, folder, "val2014", "c4")
    train = coco.load_captions("train2014")
    images = sorted(train.image_ids, key=int)
    test = train.select(images[::_STRIDE])
    few = write_held_out(test, folder, "test2014", "c5")
    rest = train.select([image for image in images if image not in test])
    write_references(collect_many(few, rest), folder / "test2014_c40.json")
    _write_rows(join_judgments(load_coco_2015("c5"), load_coco_2015_judgments()), folder / "published_c5.csv")
    _write_rows(load_coco_2015("c40"), folder / "published_c40.csv")
    page = (_PAGES / "evaluation.md").read_text(encoding="utf-8")
    page = page.replace("{judgments}", _format_judgments(load_coco_2015_judgments()))
    (folder / "evaluation.md").write_text(page, encoding="utf-8")


def write_held_out(references: References, folder: Path, split: str, name: str) -> References:
    """Write references without one caption per image, and these captions as results of people.

    Returns:
        The written references.

    Raises:
        OSError: The folder is not writable.
    """
    others, human = hold_out(references, seed=0)
    write_references(others, folder / f"{split}_{name}.json")
    write_candidates(human, folder / f"{split}_human.json")
    return others


def collect_many(few: References, others: References) -> References:
    """Return 40 captions of every fifth image: its own, and those of the most similar other images."""
    similar = SimilarImages(others)
    many: dict[ImageId, list[str]] = {}
    for image in few.image_ids[::_MANY_STRIDE]:
        texts = list(few[image])
        for other in similar.rank(texts, _MANY):
            texts += others[other]
            if len(texts) >= _MANY:
                break
        many[image] = texts[:_MANY]
    return References(many)


def join_judgments(rows: Sequence[CocoRow], judged: Sequence[CocoRow]) -> list[CocoRow]:
    """Add human judgments to the rows of the same submissions; others become rows of their own.

    Rows are of the same submission if team and date are equal.
    """
    rest = {(row.team, row.date): row for row in judged}
    found = []
    for row in rows:
        same = rest.pop((row.team, row.date), None)
        found.append(replace(row, scores={**row.scores, **same.scores}) if same else row)
    return [*found, *rest.values()]


class SimilarImages:
    """Images by the words of their captions."""

    def __init__(self, references: References) -> None:
        self._images: Sequence[ImageId] = references.image_ids
        found: dict[str, list[int]] = {}
        for place, image in enumerate(self._images):
            for word in _list_words(references[image]):
                found.setdefault(word, []).append(place)
        most = _MOST_COMMON * len(self._images)
        self._places: Mapping[str, NDArray[np.int64]] = {
            word: np.array(places) for word, places in found.items() if len(places) <= most
        }

    def rank(self, captions: Sequence[str], count: int) -> list[ImageId]:
        """Return the images with the most words in common with captions, most similar first.

        Rare words have more weight, by the logarithm of the inverse document frequency.
        """
        weights = np.zeros(len(self._images))
        for word in sorted(_list_words(captions)):
            if word in self._places:
                places = self._places[word]
                weights[places] += np.log(len(self._images) / len(places))
        order = np.argsort(-weights, kind="stable")[:count]
        return [self._images[place] for place in order]


def _list_words(captions: Sequence[str]) -> set[str]:
    return {word for caption in captions for word in _WORD.findall(caption.lower())}


def _write_rows(rows: Sequence[CocoRow], path: Path) -> None:
    """Write published scores in the format of reported scores."""
    names = list(dict.fromkeys(name for row in rows for name in row.scores))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["team", "date", "url", *names])
        for row in rows:
            writer.writerow([row.team or "(no name)", row.date, row.url, *map(row.scores.get, names)])


def _format_judgments(rows: Sequence[CocoRow]) -> str:
    """Return judgments as a Markdown table, best M1 first."""
    lines = ["| Team | M1 | M2 | M3 | M4 | M5 |", "| --- | --- | --- | --- | --- | --- |"]
    for row in sorted(rows, key=lambda row: -row.scores["M1"]):
        scores = " | ".join(f"{row.scores[name]:.3f}" for name in ("M1", "M2", "M3", "M4", "M5"))
        lines.append(f"| {row.team} | {scores} |")
    return "\n".join(lines)
