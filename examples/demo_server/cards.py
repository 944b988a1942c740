"""Cards that replace COCO's photographs: each names the objects in its photograph.

The photographs themselves are not part of this project.
"""

from __future__ import annotations

import colorsys
import io
from collections import Counter
from collections.abc import Mapping, Sequence

from capeval.data.captions import ImageId
from capeval.tokenizers import tokenize
from capeval.toolkit.random import make_python_random

__all__ = ["MOST_THINGS", "draw_card", "find_things"]

MOST_THINGS = 4
"""Maximum number of things named on a card."""

_WIDTH, _HEIGHT, _FOOT = 960, 640, 88
_LARGE, _SMALL = 92, 30
_INK, _PAPER = (24, 26, 30), (255, 255, 255)
# Nouns in captions that do not name a visible object.
_VAGUE_WORDS = (
    "area back background bunch couple day distance front group image kind lot number pair part photo piece"
    " picture place row set shot side sort top type variety view way"
)
_VAGUE = frozenset(_VAGUE_WORDS.split())
# Minimum number of an image's captions that must name a thing.
_MIN_CAPTIONS = 2


def find_things(captions: Mapping[ImageId, Sequence[str]], nouns: frozenset[str]) -> dict[ImageId, list[str]]:
    """Return the things named in several captions of each image, most frequent first.

    Args:
        captions: Captions by image.
        nouns: Words that are nouns.
    """
    tokens = iter(tokenize([text for texts in captions.values() for text in texts]))
    found = {}
    for image, texts in captions.items():
        words = [{*next(tokens)} & nouns - _VAGUE for _ in texts]
        every = set().union(*words)
        # Counts "dog" and "dogs" as one thing.
        things = [{f"{word}s" if f"{word}s" in every else word for word in of_one} for of_one in words]
        named = Counter(word for of_one in things for word in sorted(of_one))
        often = [
            word for word, count in sorted(named.items(), key=lambda one: -one[1]) if count >= _MIN_CAPTIONS
        ]
        found[image] = often[:MOST_THINGS]
    return found


def draw_card(image: ImageId, things: Sequence[str]) -> bytes:
    """Return a card as PNG, with one thing per line and the image id."""
    from PIL import Image, ImageDraw, ImageFont

    # A color per image, to make cards easy to distinguish.
    hue = make_python_random(0, str(image)).random()
    color = tuple(round(255 * part) for part in colorsys.hls_to_rgb(hue, 0.86, 0.6))
    made = Image.new("RGB", (_WIDTH, _HEIGHT), color)
    draw = ImageDraw.Draw(made)
    large, small = ImageFont.load_default(_LARGE), ImageFont.load_default(_SMALL)
    middle, step = (_HEIGHT - _FOOT) / 2, _LARGE * 1.25
    top = middle - step * (len(things) - 1) / 2
    for place, thing in enumerate(things):
        draw.text((_WIDTH / 2, top + place * step), thing, fill=_INK, font=large, anchor="mm")
    draw.rectangle((0, _HEIGHT - _FOOT, _WIDTH, _HEIGHT), fill=_PAPER)
    foot = f"Placeholder for COCO photograph {image}"
    draw.text((_WIDTH / 2, _HEIGHT - _FOOT / 2), foot, fill=_INK, font=small, anchor="mm")
    out = io.BytesIO()
    made.save(out, "PNG")
    return out.getvalue()
