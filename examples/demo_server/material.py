"""Material of the demo's campaigns: images, human and submitted captions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import capeval
from capeval.data.captions import ImageId
from capeval.formats.io.json import write_json
from capeval.studies.judging import HUMAN, RANDOM
from capeval.studies.words import coco_word_classes
from capeval.toolkit.random import make_python_random
from capeval_server.annotation.campaigns.leaderboard_judging import normalize_caption
from capeval_server.annotation.text_rules.rules import check_captions
from capeval_server.challenges.models import Phase
from capeval_server.submissions.models import SubmissionFile
from examples.demo_server.cards import find_things

__all__ = ["Material", "draw_material", "load_captions", "save_captions"]

# Number of images, and number of candidates that are checked at once.
_IMAGES, _AT_ONCE = 24, 200
# Of the seeds that were tried, this one draws the most varied images.
_SEED = 3
# Minimum number of things on each card.
_THINGS = 3


@dataclass(frozen=True, kw_only=True)
class Material:
    """Images and captions for campaigns.

    Attributes:
        captions: Human captions of each image; the first one belongs to the challenge's human baseline.
        machines: Captions of submitted methods, by name and image.
        things: Things named on the card of each image.
        submissions: Ids of the methods' submissions, by name.
    """

    captions: Mapping[ImageId, Sequence[str]]
    machines: Mapping[str, Mapping[ImageId, str]]
    things: Mapping[ImageId, Sequence[str]]
    submissions: Mapping[str, str] = field(default_factory=dict)

    @property
    def images(self) -> list[ImageId]:
        """Image ids."""
        return list(self.captions)

    def elsewhere(self, image: ImageId) -> str:
        """Return a caption of the image with the fewest things in common with this one."""
        place = self.images.index(image)
        others = self.images[place + 1 :] + self.images[:place]
        mine = set(self.things[image])
        return self.captions[min(others, key=lambda other: len(mine & set(self.things[other])))][0]

    def systems(self) -> dict[str, dict[ImageId, str]]:
        """Return the judged systems: humans, the methods, and captions of other images."""
        found = {
            HUMAN: {image: texts[0] for image, texts in self.captions.items()},
            **self.machines,
            RANDOM: {image: self.elsewhere(image) for image in self.images},
        }
        return {
            name: {image: normalize_caption(text) for image, text in texts.items()}
            for name, texts in found.items()
        }


def draw_material(files: Path, split: str, phase: Phase, methods: Sequence[str]) -> Material:
    """Draw images of a split with enough things to name, and collect their captions.

    Args:
        files: Folder of the challenge's files.
        split: Name of the split.
        phase: Phase of the methods' submissions.
        methods: Team names of the methods; the submission of each on the leaderboard is used.
    """
    references = capeval.load_references(files / f"{split}_c4.json")
    human = capeval.load_candidates(files / f"{split}_human.json")
    nouns = frozenset(word for word, kind in coco_word_classes().items() if kind == "noun")
    order = list(references.image_ids)
    make_python_random(_SEED, "demo").shuffle(order)
    captions: dict[ImageId, list[str]] = {}
    things: dict[ImageId, list[str]] = {}
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        texts = {image: [_join_lines(text) for text in (*human[image], *references[image])] for image in some}
        for image, named in find_things(texts, nouns).items():
            if len(named) >= _THINGS and len(captions) < _IMAGES and _pass_rules(texts[image]):
                captions[image], things[image] = texts[image], named
        if len(captions) == _IMAGES:
            break
    machines, submissions = _load_submitted(phase, split, methods, list(captions))
    return Material(captions=captions, machines=machines, things=things, submissions=submissions)


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _pass_rules(texts: Sequence[str]) -> bool:
    """Return whether captions pass all text rules, since robots submit these captions."""
    return not any(check_captions(texts))


def _load_submitted(
    phase: Phase, split: str, methods: Sequence[str], images: Sequence[ImageId]
) -> tuple[dict[str, dict[ImageId, str]], dict[str, str]]:
    """Return captions and ids of the methods' submissions on the leaderboard, if they have one."""
    standing = SubmissionFile.objects.filter(submission__phase=phase, submission__stands=True)
    found, submissions = {}, {}
    for name in methods:
        row = standing.filter(split__name=split, submission__team__name=name).first()
        if row is not None:
            with row.file.open("rb") as file:
                captions = capeval.load_candidates(file.read(), name=str(row.file.name))
            found[name] = {image: captions[image][0] for image in images}
            submissions[name] = str(row.submission_id)
    return found, submissions


def save_captions(material: Material, path: Path) -> None:
    """Write the human captions to a file for the robots."""
    write_json({str(image): list(texts) for image, texts in material.captions.items()}, path)


def load_captions(path: Path) -> dict[str, list[str]]:
    """Return the human captions in a file, by image id."""
    found: dict[str, list[str]] = json.loads(path.read_bytes())
    return found
