"""What the demo's campaigns are about: a few images, what people wrote of them, and submitted captions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import capeval
from capeval.data.captions import ImageId
from capeval.formats.io.json import write_json
from capeval.studies.judging import HUMAN, RANDOM
from capeval.studies.words import coco_word_classes
from capeval.toolkit.random import python_random
from capeval_server.annotation.text_rules.rules import check_captions
from capeval_server.challenges.models import Phase
from capeval_server.submissions.models import SubmissionFile
from examples.demo_server.cards import things_of

__all__ = ["Material", "draw_material", "load_captions", "plain", "save_captions"]

# How many images, and how many at once are looked at for some of which there is enough to say.
_IMAGES, _AT_ONCE = 24, 200
# Of a few that were looked at, the one whose images differ most.
_SEED = 3
# So many things are on each card, at least.
_THINGS = 3


@dataclass(frozen=True, kw_only=True)
class Material:
    """What campaigns are made of.

    Attributes:
        captions: What people wrote of each image; the first of them is the challenge's human baseline.
        machines: The captions of submitted methods, by name and image.
        things: What each image's card names.
    """

    captions: Mapping[ImageId, Sequence[str]]
    machines: Mapping[str, Mapping[ImageId, str]]
    things: Mapping[ImageId, Sequence[str]]

    @property
    def images(self) -> list[ImageId]:
        """The images."""
        return list(self.captions)

    def elsewhere(self, image: ImageId) -> str:
        """A caption of another image, whose card has no thing in common with this one's if there is one."""
        place = self.images.index(image)
        others = self.images[place + 1 :] + self.images[:place]
        mine = set(self.things[image])
        return self.captions[min(others, key=lambda other: len(mine & set(self.things[other])))][0]

    def systems(self) -> dict[str, dict[ImageId, str]]:
        """What is judged: people, the methods, and captions of other images."""
        found = {
            HUMAN: {image: texts[0] for image, texts in self.captions.items()},
            **self.machines,
            RANDOM: {image: self.elsewhere(image) for image in self.images},
        }
        return {name: {image: plain(text) for image, text in texts.items()} for name, texts in found.items()}


def draw_material(files: Path, split: str, phase: Phase, methods: Sequence[str]) -> Material:
    """Draws images of a split of which there is enough to say, and takes what is known of them.

    Args:
        files: The folder of the challenge's files.
        split: The split.
        phase: The phase to which the methods are submitted.
        methods: The names of their teams; the submission that stands of each is taken.
    """
    references = capeval.load_references(files / f"{split}_c4.json")
    human = capeval.load_candidates(files / f"{split}_c4_human.json")
    nouns = frozenset(word for word, kind in coco_word_classes().items() if kind == "noun")
    order = list(references.image_ids)
    python_random(_SEED, "demo").shuffle(order)
    captions: dict[ImageId, list[str]] = {}
    things: dict[ImageId, list[str]] = {}
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        texts = {image: [_line(text) for text in (*human[image], *references[image])] for image in some}
        for image, named in things_of(texts, nouns).items():
            if len(named) >= _THINGS and len(captions) < _IMAGES and _are_clean(texts[image]):
                captions[image], things[image] = texts[image], named
        if len(captions) == _IMAGES:
            break
    machines = _submitted(phase, split, methods, list(captions))
    return Material(captions=captions, machines=machines, things=things)


def _line(text: str) -> str:
    return " ".join(text.split())


def _are_clean(texts: Sequence[str]) -> bool:
    """Whether no rule finds anything in captions, such as a slip of the pen: robots write them again."""
    return not any(check_captions(texts))


def plain(text: str) -> str:
    """A caption as methods write it, without capitals and full stop: people's can't be told by these then."""
    return text.lower().rstrip(" .")


def _submitted(
    phase: Phase, split: str, methods: Sequence[str], images: Sequence[ImageId]
) -> dict[str, dict[ImageId, str]]:
    """The captions that stand on the leaderboard, of those methods that have some there."""
    standing = SubmissionFile.objects.filter(submission__phase=phase, submission__stands=True)
    found = {}
    for name in methods:
        row = standing.filter(split__name=split, submission__team__name=name).first()
        if row is not None:
            with row.file.open("rb") as file:
                captions = capeval.load_candidates(file.read(), name=str(row.file.name))
            found[name] = {image: captions[image][0] for image in images}
    return found


def save_captions(material: Material, path: Path) -> None:
    """Keeps what people wrote of the images, for the robots."""
    write_json({str(image): list(texts) for image, texts in material.captions.items()}, path)


def load_captions(path: Path) -> dict[str, list[str]]:
    """What people wrote of the images, by the images' ids."""
    found: dict[str, list[str]] = json.loads(path.read_bytes())
    return found
