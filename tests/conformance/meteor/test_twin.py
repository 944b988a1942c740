"""The Rust kernel and its plain-Python twin agree on small tables."""

from __future__ import annotations

import random
from pathlib import Path

from tests.conformance.meteor import adapter
from tests.twins import meteor as twin

SYNSETS = {
    "bike": {1, 7},
    "bicycle": {1},
    "ride": {2},
    "go": {2, 5},
    "man": {3},
    "guy": {3},
    "box": {4},
    "carton": {4},
}
BASES = {"rode": ["ride"], "ridden": ["ride"], "men": ["man"], "went": ["go"]}
FUNCTION_WORDS = ["a", "the", "of", "on"]
PARAPHRASES = [
    ("on top of", "upon"),
    ("upon", "over"),
    ("upon", "on"),
    ("right now", "now"),
    ("now", "at the moment"),
    ("at the moment", "now"),
    ("at the moment", "right now"),
    ("boy", "young man"),
    ("a boy", "the young man"),
    ("now", "then"),
]
# Stems by the Snowball English stemmer of the words below that it changes.
STEMS = {
    "bicycle": "bicycl",
    "bikes": "bike",
    "boxes": "box",
    "goes": "goe",
    "riding": "ride",
    "rides": "ride",
    "guys": "guy",
    "boys": "boy",
}
WORDS = [
    *SYNSETS,
    *BASES,
    *FUNCTION_WORDS,
    *STEMS,
    "top",
    "upon",
    "over",
    "now",
    "right",
    "at",
    "moment",
    "then",
]
WORDS += ["boy", "young"]


def write_sources(directory: Path) -> Path:
    """The tables above as METEOR's files, compiled."""
    synsets = "".join(f"{word}\n{' '.join(map(str, sorted(ids)))}\n" for word, ids in SYNSETS.items())
    exceptions = "".join(f"{base}\n{form}\n" for form, bases in BASES.items() for base in bases)
    files = {
        "synonym/english.synsets": synsets,
        "synonym/english.exceptions": exceptions,
        "function/english.words": "".join(f"{word}\n" for word in FUNCTION_WORDS),
        "nonbreaking/english.prefixes": "Mr\n",
        "paraphrases": "".join(f"0.5\n{one}\n{other}\n" for one, other in PARAPHRASES),
    }
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return adapter.compile_tables(directory, directory / "paraphrases", directory / "tables")


def sentence(rng: random.Random, vocabulary: list[str], longest: int) -> str:
    phrases = [rng.choice(vocabulary) for _ in range(rng.randrange(longest + 1))]
    return " ".join(phrases)


def test_random_sentences(tmp_path: Path) -> None:
    rng = random.Random(1)
    tables = twin.Tables(
        synsets=SYNSETS,
        bases=BASES,
        function_words=set(FUNCTION_WORDS),
        paraphrases=[(tuple(one.split()), tuple(other.split())) for one, other in PARAPHRASES],
        stem=lambda word: STEMS.get(word, word),
    )
    phrases = WORDS + [phrase for pair in PARAPHRASES for phrase in pair] * 2
    candidates, references = [], []
    for _ in range(1500):
        vocabulary = rng.sample(phrases, rng.randrange(2, 15))
        candidates.append(sentence(rng, vocabulary, 10))
        references.append([sentence(rng, vocabulary, 10) for _ in range(rng.randrange(1, 4))])
    ours = adapter.score(candidates, references, write_sources(tmp_path))
    total = [0.0] * 23
    for candidate, image, row, value in zip(
        candidates, references, ours.statistics, ours.scores, strict=True
    ):
        expected = twin.best_reference(tables, tuple(candidate.split()), [tuple(r.split()) for r in image])
        assert row == expected, (candidate, image)
        assert abs(value - twin.score(expected)) < 1e-12, (candidate, image)
        total = [one + other for one, other in zip(total, expected, strict=True)]
    assert abs(ours.corpus - twin.score(total)) < 1e-12
