"""Time and memory for captions of many thousand words are in proportion to their length."""

import os
import subprocess
import sys

import pytest

from tests.spice_model import NEEDS_MODEL
from tests.waiting import PATIENCE

TOKENIZE = """
import ast, sys
from capeval import tokenize
print(len(tokenize([ast.literal_eval(sys.argv[1]) * int(sys.argv[2])])[0]))
"""

# With two gigabytes of memory and no more.
SCORE = """
import resource, sys
from capeval import Meteor, RougeS
from capeval.errors import CaptionError
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
metric = {"METEOR": Meteor(), "ROUGE-S": RougeS(distance=None)}[sys.argv[3]]
word, words = sys.argv[1], int(sys.argv[2])
caption = " ".join(f"w{i}x" if word == "different" else word for i in range(words))
try:
    prepared = metric.prepare({7: ["dog"], 1: ["cat", caption + " runs"]})
    print(prepared.score({7: "dog", 1: caption}).per_image[sys.argv[3]][1])
except CaptionError as error:
    print(error)
"""


USUAL = """
import resource, sys
from capeval import evaluate
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
words = sys.argv[1:] * (100_000 // len(sys.argv[1:]))
if words[0] == "different":
    words = [f"w{i}x" for i in range(100_000)]
references = {7: ["a dog runs on the grass", "the dog is on the lawn"], 1: ["two cats"]}
report = evaluate(references, {7: " ".join(words), 1: "two cats"}, ["METEOR"])
print(*report.per_image["METEOR"])
"""

# The most memory of the process, in kB: what `getrusage` says begins with that of the one that started it.
PEAK = """
print(*[line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")])
"""

# Both draw from the same words, many of them several times: these can be matched in several ways.
SHUFFLED = """
import random, sys
from capeval import Meteor
words, draw = int(sys.argv[1]), random.Random(1)
texts = [" ".join(f"w{draw.randrange(words // 2)}x" for _ in range(words)) for _ in range(2)]
Meteor().prepare({1: texts[:1]}).score({1: texts[1]})
"""

NAMED = """
from capeval import Meteor
from capeval.errors import CaptionError
caption = "dog " * 3000
prepared = Meteor().prepare({"a.jpg": ["dog"], "park.jpg": ["cat", caption]})
try:
    prepared.score({"a.jpg": "dog", "park.jpg": caption})
except CaptionError as error:
    print(error)
"""


def run(script: str, *arguments: str, **variables: str) -> str:
    # In a separate process, since a call that takes too much time or memory could not be stopped here.
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# The memory that 16 threads need to parse captions of rare words in parallel.
PARSE = """
import sys
from capeval.metrics.spice_parsing import list_scene_tuples
count, words = map(int, sys.argv[1:])
captions = [" ".join(f"rare{caption}word{place}" for place in range(words)) for caption in range(count)]
list_scene_tuples(captions)
"""


@pytest.mark.parametrize("piece", ["\U0001f600", "o'a", "a/", "~a", "'a", "\u200d", "<a "])
def test_the_tokenizer_takes_time_in_proportion(piece: str) -> None:
    # A time that grows with the square would be many minutes.
    short, long = (int(run(TOKENIZE, ascii(piece), str(count))) for count in (3_000, 300_000))
    # The last piece may make a token more.
    assert abs(long - 100 * short) < 100


@pytest.mark.parametrize(("word", "words"), [("different", 10_000), ("dog", 1_500)])
def test_meteor_scores_long_captions(word: str, words: int) -> None:
    # All but the last of the reference's words are matched, in one chunk.
    f_mean = 1 / (0.15 + 0.85 * (words + 1) / words)
    expected = f_mean * (1 - 0.6 * (1 / words) ** 0.2)
    assert float(run(SCORE, word, str(words), "METEOR")) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("words", [3_000, 10_000])
def test_meteor_refuses_long_captions_of_one_word(words: int) -> None:
    message = run(SCORE, "dog", str(words), "METEOR")
    assert message.startswith("image 1: the candidate and caption 2 of its references: METEOR compares ")


@pytest.mark.parametrize("words", [["different"], ["dog"], ["a", "dog", "runs", "on"]])
def test_meteor_compares_a_caption_of_100_000_words_with_usual_references(words: list[str]) -> None:
    # A captioner that repeats itself without an end is scored like others, and within a gigabyte.
    scores = run(USUAL, *words).split()
    assert float(scores[0]) < 0.01
    assert float(scores[1]) == 1


def test_meteor_searches_long_texts_in_little_memory() -> None:
    # The memory for each step of each path must not grow with the text: it once exceeded a gigabyte.
    assert int(run(SHUFFLED + PEAK, "20000")) < 200_000


def test_meteor_names_the_image_by_its_id() -> None:
    assert run(NAMED).startswith("image 'park.jpg': the candidate and caption 2 of its references: ")


def test_rouge_s_takes_little_memory() -> None:
    # All but the last of the reference's words are the candidate's.
    words = 10_000
    possible, total = words * (words - 1) // 2, (words + 1) * words // 2
    recall = possible / total
    beta = 1.2
    expected = (1 + beta**2) * recall / (recall + beta**2)
    assert float(run(SCORE, "different", str(words), "ROUGE-S")) == pytest.approx(expected, rel=1e-12)


@NEEDS_MODEL
@pytest.mark.conformance
def test_spice_parses_on_many_threads_in_a_gigabyte() -> None:
    kilobytes = int(run(PARSE + PEAK, "192", "30", RAYON_NUM_THREADS="16"))
    assert kilobytes < 10**6
