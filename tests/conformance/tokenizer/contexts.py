"""Print a Markdown list of COCO 2014 captions with tokens that depend on the next caption.

python -m tests.conformance.tokenizer.contexts
"""

from __future__ import annotations

from collections.abc import Iterator

from capeval import Tokenizer, tokenize
from capeval.data.captions import ImageId
from capeval.datasets import coco

SPLITS: tuple[coco.Split, ...] = ("val2014", "train2014")
# The table shows only the end of a caption and of its tokens, since only the end differs.
SHOWN = 3


def differing(split: coco.Split) -> Iterator[tuple[ImageId, str, str, list[str], list[str]]]:
    """The image, caption, next caption, and tokens in a file and alone, of each caption that differs."""
    references = coco.load_captions(split)
    images = [image for image, captions in references.items() for _ in captions]
    texts = [caption for captions in references.values() for caption in captions]
    in_file, alone = tokenize(texts), tokenize(texts, Tokenizer(context="caption"))
    for position, (one, other) in enumerate(zip(in_file, alone, strict=True)):
        if one != other:
            following = texts[position + 1] if position + 1 < len(texts) else ""
            yield images[position], texts[position], following, one, other


def counted(split: coco.Split) -> str:
    """How many captions differ, of how many."""
    total = int(coco.load_captions(split).counts.sum())
    return f"{len(list(differing(split)))} of the {total:,} captions of {split}"


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| Image | End of the caption | Start of the next | Tokens in a file | Tokens alone |"
    yield "| --- | --- | --- | --- | --- |"
    for split in SPLITS:
        for image, caption, following, one, other in differing(split):
            shown = (" ".join(caption.split()[-SHOWN:]), " ".join(following.split()[:1]))
            tokens = (" ".join(each[-SHOWN:]) for each in (one, other))
            yield f"| {split} {image} | " + " | ".join(f"`{cell}`" for cell in (*shown, *tokens)) + " |"


if __name__ == "__main__":
    for each in SPLITS:
        print(counted(each))
    print("\n".join(table()))
