"""Made-up files that the clients of forks read: a dataset with tokens, and a vocabulary."""

import json
import random
from pathlib import Path

_WORDS = "a dog cat runs on the grass sits two men ride horses near red bus street zebra".split()  # noqa: SIM905
# The last three words are not in the vocabulary.
VOCABULARY = {**{str(place): word for place, word in enumerate(_WORDS[:-3], 1)}, "15": "UNK"}
INDICES = {word: int(index) for index, word in VOCABULARY.items()}
_SPLITS = ["train", "train", "restval", "val", "test"]


def write_files(folder: Path) -> None:
    """Write dataset_coco.json and cocotalk.json."""
    generator = random.Random(9)
    images = [
        {
            "cocoid": 1000 + image,
            "split": generator.choice(_SPLITS),
            "sentences": [_make_sentence(generator) for _ in range(generator.randint(4, 6))],
        }
        for image in range(60)
    ]
    (folder / "dataset_coco.json").write_text(json.dumps({"images": images}))
    (folder / "cocotalk.json").write_text(json.dumps({"ix_to_word": VOCABULARY}))


def _make_sentence(generator: random.Random) -> dict[str, object]:
    words = generator.choices(_WORDS, weights=range(len(_WORDS), 0, -1), k=generator.randint(3, 11))
    return {"tokens": words, "raw": f"{' '.join(words).capitalize()}."}


def rows(captions: int, seed: int, length: int = 12) -> list[list[int]]:
    """Made-up captions as rows of word indices, padded with 0."""
    generator = random.Random(seed)
    made = []
    for _ in range(captions):
        words = generator.choices(range(1, 16), weights=range(15, 0, -1), k=generator.randint(3, length - 1))
        made.append(words + [0] * (length - len(words)))
    return made
