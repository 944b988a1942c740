"""Compare with METEOR itself on COCO val2014, run now: python -m tests.conformance.meteor.live [IMAGES].

Needs Java and pycocoevalcap 1.2, whose SPICE jar holds the captions. One caption of each image is
the candidate, the others are its references; then the same candidates shuffled, cut, doubled,
swapped between images and repeated. Ends with code 1 if any answer differs.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import zipfile
from collections.abc import Iterator
from time import perf_counter

from tests.conformance.meteor.adapter import reference_statistics, score
from tests.conformance.meteor.java_meteor import JavaMeteor, meteor_directory

Set = tuple[str, list[str], list[list[str]]]


def captions(images: int) -> list[list[str]]:
    """Tokenised captions of the first images."""
    tokenizer = importlib.import_module("pycocoevalcap.tokenizer.ptbtokenizer").PTBTokenizer()
    jar = meteor_directory().parent / "spice" / "spice-1.0.jar"
    with zipfile.ZipFile(jar) as archive:
        annotations = json.loads(archive.read("coco/annotations/captions_val2014.json"))["annotations"]
    by_image: dict[int, list[dict[str, str]]] = {}
    for annotation in annotations:
        by_image.setdefault(annotation["image_id"], []).append({"caption": annotation["caption"]})
    chosen = dict(list(by_image.items())[:images])
    return list(tokenizer.tokenize(chosen).values())


def sets(images: list[list[str]], rng: random.Random) -> Iterator[Set]:
    """Named sets of candidates and references."""
    candidates, references = [], []
    for image in images:
        held_out = rng.randrange(len(image))
        candidates.append(image[held_out])
        references.append(image[:held_out] + image[held_out + 1 :])
    words = [candidate.split(" ") for candidate in candidates]
    yield "held out", candidates, references
    yield "shuffled", [" ".join(rng.sample(w, len(w))) for w in words], references
    yield "cut", [" ".join(w[: rng.randrange(5)]) for w in words], references
    yield "doubled", [" ".join(w + w) for w in words], references
    yield "swapped", rng.sample(candidates, len(candidates)), references
    yield "repeated", [" ".join([rng.choice(w)] * rng.randrange(1, 40)) for w in words], references
    yield "a reference", [rng.choice(r) for r in references], references


def differences(meteor: JavaMeteor, found: Set) -> int:
    """Print how one set compares and return the number of segments that differ."""
    name, candidates, references = found
    start = perf_counter()
    theirs = meteor.score(candidates, references)
    seconds = perf_counter() - start
    ours = score(candidates, references)
    different = sum(
        statistics != reference_statistics(line) or abs(mine - value) > 1e-12
        for statistics, line, mine, value in zip(
            ours.statistics, theirs.statistics, ours.scores, theirs.scores, strict=True
        )
    )
    different += abs(ours.corpus - theirs.corpus) > 1e-12 * theirs.corpus
    print(
        f"{name}: {len(candidates)} images, corpus {ours.corpus!r}, {different} differ, Java {seconds:.1f} s"
    )
    return different


def main() -> int:
    images = captions(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    if not images:
        raise SystemExit("expected at least one image")
    with JavaMeteor() as meteor:
        total = sum([differences(meteor, found) for found in sets(images, random.Random(5))])
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
