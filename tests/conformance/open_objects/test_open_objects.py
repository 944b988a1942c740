"""Objects equals an independent computation with regular expressions and sets, over all phrases."""

import random
import re

import numpy as np

from capeval import OpenObjects, evaluate
from capeval.formats.word_forms import load_word_forms

FORMS = load_word_forms()
CLASSES: dict[str, list[str]] = {}
for _name, _phrases in FORMS.phrases.items():
    for _phrase in _phrases:
        CLASSES.setdefault(_phrase, []).append(_name)
PATTERN = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(CLASSES, key=len, reverse=True)))})\b(?![-'])")


def find(text: str, present: set[str]) -> set[str]:
    found = set()
    for phrase in PATTERN.findall(text):
        inside = [name for name in CLASSES[phrase] if name in present]
        found.add((inside or CLASSES[phrase])[0])
    return found


def test_random_captions_of_all_phrases() -> None:
    rng = random.Random(4)
    plain = sorted(phrase for phrase in CLASSES if phrase.replace(" ", "").isalpha())
    assert len(plain) > 2300

    def write() -> str:
        return " with ".join(rng.sample(plain, rng.randint(0, 4))) or "nothing"

    images = range(400)
    references = {image: [write() for _ in range(rng.randint(1, 3))] for image in images}
    candidates = {
        image: f"{rng.choice(rng.choice(references[image]).split(' with '))} with {write()}"
        for image in images
    }
    report = evaluate(references, candidates, [OpenObjects()])
    right = named = found = expected = 0
    for image in images:
        present = set().union(*(find(text, set()) for text in references[image]))
        said = find(candidates[image], present)
        precision, recall = len(said & present) / len(said or [0]), len(said & present) / len(present or [0])
        assert report.per_image["Objects-P"][image] == precision
        assert report.per_image["Objects-R"][image] == recall
        right, named = right + len(said & present), named + len(said)
        found, expected = found + len(said & present), expected + len(present)
    np.testing.assert_allclose(report["Objects"], 2 / (named / right + expected / found), rtol=1e-12)
