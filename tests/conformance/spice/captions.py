"""Captions to compare SPICE on: real ones, and harder ones made of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import capeval
from capeval.datasets import coco

NUMBERS = ("two", "3", "a dozen", "10-15", "more than 20", "several", "1,000", "half a")
QUANTITIES = ("lots of", "a couple of", "some of", "a lot of", "both of", "dozens of", "a variety of")
PRONOUNS = ("his", "her", "their", "its")
PEOPLE = ("man", "woman", "dogs", "couple")
FOREIGN = ("café", "naïve Füße", "Straße", "寿司", "собака", "jalapeño", "smörgåsbord", "El niño")
ODD = (
    "",
    " ",
    ".",
    "?!",
    "a",
    "DOG",
    "42",
    "...",
    "''",
    "-",
    "(",
    "and",
    "of the",
    "@home",
    "http://a.b/c",
    "$5.00",
)
# Texts that are no proper captions but may occur in a file.
UNUSUAL = (
    *("", " ", "\t", "\n", "\x00", "\x01\x02\x03", ".", "...", "( ( ("),
    *("a dog\nruns", "a dog\r\nruns", "a\x00dog", "a dog\x07 runs", "\x1b[31m a cat", "\x85a cat"),
    *("a\u200bdog sits", "\ufeffa dog", "a \ufffd cat", "\u2028a dog\u2029runs", "\U0001f600 a smiling face"),
    *(" ".join(["a"] * 30), " ".join(["dog"] * 60), "dog. " * 12),
)
SHORT_WORDS, LONG_WORDS = 5, 60

Hard = Callable[[random.Random, str, str], str]


def _low(text: str) -> str:
    return text[:1].lower() + text[1:]


def _after(text: str, count: int = 1) -> str:
    return " ".join(text.split()[count:])


def _long(rng: random.Random, one: str, other: str) -> str:
    words = f"{one} and {_low(other)} while {_low(one)} because {_low(other)} or {_low(one)}".split()
    return " ".join(words[: rng.randint(LONG_WORDS // 2, LONG_WORDS)])


HARD: tuple[Hard, ...] = (
    lambda _, one, other: f"{one} and {_low(other)}",
    lambda _, one, other: f'"{one}," said {_low(other)}',
    lambda _, one, __: one.upper(),
    lambda _, one, __: one.title(),
    lambda _, one, __: f"Is {_low(one)}?",
    lambda _, one, other: f"{one} while {_low(other)}",
    lambda _, one, other: f"{one} but not {_low(other)}",
    lambda _, one, other: f"There is {_low(one)} which {_low(other)}",
    lambda _, one, other: f"{one} because of {_low(other)}",
    lambda _, one, other: f"both {_low(one)} and {_low(other)}",
    lambda _, one, other: f"either {_low(one)} or {_low(other)}",
    lambda _, one, other: f"{one}. {other}. {one}!",
    lambda _, one, other: f"In the picture, {_low(one)} (and {_low(other)})",
    lambda rng, one, _: f"{rng.choice(QUANTITIES)} {_after(one)}",
    lambda rng, one, _: f"at least {rng.choice(NUMBERS)} {_after(one)}",
    lambda rng, one, _: " ".join(rng.sample(one.split(), len(one.split()))),
    lambda rng, one, _: " ".join(one.split()[: rng.randrange(1, SHORT_WORDS)]),
    lambda _, one, other: f"{one}'s {_low(other)}",
    lambda _, one, other: f"{one} as well as {_low(other)} according to {_low(one)}",
    lambda rng, one, other: (
        f"The {rng.choice(PEOPLE)} who is {_after(one, 2)} {rng.choice(PRONOUNS)} {_low(other)}"
    ),
    lambda rng, one, _: f"{one} {rng.choice(FOREIGN)} {rng.choice(FOREIGN)}",
    lambda rng, one, other: f"{one} that was given to {rng.choice(PEOPLE)} by {_low(other)}",
    lambda rng, _, __: rng.choice(ODD),
    _long,
)


def captions(count: int, seed: int) -> list[str]:
    """Return `count` distinct captions: two thirds from COCO, mostly tokenized, one third harder variants."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    written = _written(rng)
    while len(found) < count:
        chunk = [next(written) for _ in range(count)]
        tokens = [" ".join(words) for words in capeval.tokenize(chunk)]
        mixed = [rng.choice((raw, text, text)) for raw, text in zip(chunk, tokens, strict=True)]
        found |= dict.fromkeys(text for text in mixed if len(text.split()) <= LONG_WORDS)
    return list(found)[:count]


def _written(rng: random.Random) -> Iterator[str]:
    references = coco.load_captions("val2014")
    texts = [text.strip().rstrip(".") for image in references for text in references[image]]
    while True:
        for text in rng.sample(texts, len(texts)):
            yield text if rng.random() < 2 / 3 else rng.choice(HARD)(rng, text, rng.choice(texts))
