"""Writes the goldens of BLEU, ROUGE-L and CIDEr-D: captions made up here, scored by pycocoevalcap.

Run it from the project's folder:

    python -m tests.conformance.goldens
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

from tests.conformance import reference

COMMAND = "python -m tests.conformance.goldens"
IMAGES = 120

WHO = ["a dog", "two dogs", "a man", "a woman in a red coat", "some children", "an old cat", "the chef"]
DOES = ["runs", "is running", "sits", "sleeps", "is eating", "holds an umbrella", "rides a bike", "looks up"]
WHERE = ["on the grass", "in a kitchen", "near a lake", "on a bench", "under a tree", "beside the road"]
WHEN = ["", "", "", "at night", "in the rain", "while people watch", "with 25\u00a01/2 balloons"]
# Inputs other than sentences that a scorer may receive.
ODD = [
    "",
    "dog",
    "dog dog dog dog",
    "a a a a a a a a",
    "a  dog",
    "café",
    "-lrb- sign -rrb-",
    "of " * 70 + "it",
]


def sentence(generator: random.Random) -> str:
    parts = [generator.choice(choices) for choices in (WHO, DOES, WHERE, WHEN)]
    return " ".join(part for part in parts if part)


def images(seed: int) -> Iterator[tuple[list[str], str]]:
    """References and a candidate for each image; candidates share much with references."""
    generator = random.Random(seed)
    for image in range(IMAGES):
        references = [sentence(generator) for _ in range(generator.randint(1, 5))]
        near = generator.choice(references).split()
        near[generator.randrange(len(near))] = generator.choice(["a", "the", "zebra"])
        candidate = generator.choice([" ".join(near), sentence(generator), references[0]])
        if image < len(ODD):
            candidate = ODD[image]
        elif image < 2 * len(ODD):
            references.append(ODD[image - len(ODD)])
        yield references, candidate


def write(folder: Path, scores: dict[str, object], groups: list[list[str]], candidates: list[str]) -> None:
    about = {"tool": "pycocoevalcap", "version": reference.VERSION, "command": COMMAND}
    content = {"about": about, "references": groups, "candidates": candidates, "scores": scores}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (folder / "golden.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    here = Path(__file__).parent
    groups, candidates = (list(column) for column in zip(*images(2015), strict=True))
    bleu = {
        option: vars(reference.bleu(groups, candidates, option))
        for option in ("closest", "shortest", "average")
    }
    write(here / "bleu", dict(bleu), groups, candidates)
    write(here / "rouge", {"beta 1.2": vars(reference.rouge_l(groups, candidates))}, groups, candidates)
    cider = {f"sigma {sigma}": vars(reference.cider_d(groups, candidates, sigma)) for sigma in (6.0, 2.0)}
    write(here / "cider", dict(cider), groups, candidates)


if __name__ == "__main__":
    main()
