"""Parsing of captions for SPICE, in chunks and with a cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from capeval import _native
from capeval._internal.progress import report_progress
from capeval.errors import CaptionError
from capeval.errors.messages import shorten
from capeval.resources.parse_store import ParseStore
from capeval.resources.spice import load_model

__all__ = [
    "DEFAULT_LIMIT",
    "LongSentenceError",
    "analyze_sentences",
    "list_scene_tuples",
    "parse_captions",
    "parse_short_captions",
]

DEFAULT_LIMIT = 400
"""The default limit on the length of sentences, in tokens."""

# Captions are parsed in chunks of about this many seconds. After each chunk, progress is reported and the
# store is written, so an interrupted run loses at most one chunk. Smaller chunks would leave threads idle and
# split sentences of equal length, which are parsed in parallel, into different chunks.
_CHUNK_SECONDS, _LARGEST_CHUNK = 1.0, 16_384
# The smallest chunk, in the unit of `_estimate_cost`: 256 captions of ten words, or three of 100 words.
_SMALLEST_COST = 2816.0


class LongSentenceError(CaptionError):
    """A caption with a sentence longer than the limit of the parser.

    Attributes:
        caption: The caption.
    """

    def __init__(self, message: str, caption: str) -> None:
        super().__init__(message)
        self.caption = caption

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (str(self), self.caption)


def parse_captions(
    model: _native.SpiceModel,
    texts: Iterable[str],
    *,
    longest: int = DEFAULT_LIMIT,
    store: ParseStore | None = None,
) -> dict[str, bytes]:
    """Return the parse of each distinct caption, from the store if it is cached there.

    New parses are stored in chunks, so an interrupted run can be resumed.

    Args:
        model: The model.
        texts: The captions.
        longest: The maximum length of sentences to parse, in tokens.
        store: The cache of parses.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
    """
    different = list(dict.fromkeys(texts))
    parses, too_long = parse_short_captions(model, different, longest, store)
    for text in different:
        if text in too_long:
            raise _create_length_error(text, too_long[text], longest)
    return parses


def parse_short_captions(
    model: _native.SpiceModel, texts: Iterable[str], longest: int, store: ParseStore | None
) -> tuple[dict[str, bytes], dict[str, int]]:
    """Parse captions, except those with a long sentence.

    Args:
        model: The model.
        texts: The captions.
        longest: The maximum length of sentences to parse, in tokens.
        store: The cache of parses.

    Returns:
        The parse of each caption, and the number of tokens of the sentence that is too long for each caption
        without a parse.
    """
    different = list(dict.fromkeys(texts))
    too_long: dict[str, int] = {}
    # The limit is part of the key: a stored parse must not hide that a sentence is too long.
    key = f"{model.fingerprint} {longest}"
    parses = {} if store is None else store.read(key, different)
    # Sentences of equal length are parsed in parallel.
    missing = sorted((text for text in different if text not in parses), key=lambda text: text.count(" "))
    done = 0

    def report(more: float) -> None:
        report_progress("Parsing captions", done + more, len(missing))

    for chunk in _iter_chunks(missing):
        report(0)
        new = _parse_chunk(model, chunk, longest, too_long, report)
        if store is not None and not store.write(key, new):
            # No retry with the next chunks: a different process may lock the store, or the disk may be full.
            store = None
        parses |= new
        done += len(chunk)
    if missing:
        report(0)
    return parses, too_long


def _parse_chunk(
    model: _native.SpiceModel,
    texts: list[str],
    longest: int,
    too_long: dict[str, int],
    report: Callable[[float], object],
) -> dict[str, bytes]:
    """Return the parses of a chunk; add captions with long sentences to `too_long`.

    `report` is called with the number of parsed captions.
    """
    if not texts:
        return {}
    try:
        parses = model.parse(texts, longest, lambda part: report(part * len(texts)))
        return dict(zip(texts, parses, strict=True))
    except _native.SentenceTooLongError as error:
        # Nothing was parsed, and no caption before this one is too long. The rest is split in half, so that
        # the cost does not grow with the square of the number of long captions.
        position, words = error.args
    too_long[texts[position]] = words
    middle = (position + 1 + len(texts)) // 2

    def parse_part(start: int, end: int) -> dict[str, bytes]:
        return _parse_chunk(model, texts[start:end], longest, too_long, lambda done: report(start + done))

    return parse_part(0, position) | parse_part(position + 1, middle) | parse_part(middle, len(texts))


def list_scene_tuples(
    captions: Sequence[str], *, longest: int = DEFAULT_LIMIT, store: ParseStore | None = None
) -> list[list[tuple[str, ...]]]:
    """Return the tuples of each caption, in the reference implementation's order.

    A tuple has one text (an object), two (an object and its attribute), or three (a subject, a relation and
    an object).

    Args:
        captions: The captions, in the form that SPICE is to parse.
        longest: The maximum length of sentences to parse, in tokens.
        store: The cache of parses.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
        ResourceError: The model was not built yet.
    """
    parses = parse_captions(load_model(), captions, longest=longest, store=store)
    known = {text: [tuple(parts) for parts in _native.spice_tuples(parse)] for text, parse in parses.items()}
    return [known[caption] for caption in captions]


def analyze_sentences(
    captions: Sequence[str], *, longest: int = DEFAULT_LIMIT
) -> list[list[_native.SentenceStages]]:
    """Analyze each sentence of each caption: tokens, tags, lemmas, tree, dependencies.

    Args:
        captions: The captions, in the form that SPICE is to parse.
        longest: The maximum length of sentences to parse, in tokens.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
        ResourceError: The model was not built yet.
    """
    model = load_model()
    stages: list[list[_native.SentenceStages]] = []

    def report(more: float) -> None:
        report_progress("Analyzing captions", len(stages) + more, len(captions))

    def analyze(chunk: list[str]) -> list[list[_native.SentenceStages]]:
        with _name_long_sentences(chunk, longest):
            return model.stages(chunk, longest, lambda part: report(part * len(chunk)))

    for chunk in _iter_chunks(list(captions)):
        report(0)
        stages += analyze(chunk)
    report(0)
    return stages


@contextmanager
def _name_long_sentences(texts: Sequence[str], longest: int) -> Iterator[None]:
    try:
        yield
    except _native.SentenceTooLongError as error:
        position, words = error.args
        raise _create_length_error(texts[position], words, longest) from None


def _create_length_error(text: str, words: int, longest: int) -> LongSentenceError:
    return LongSentenceError(
        f"SPICE parses sentences of up to {longest} tokens (got one of {words} in the caption"
        f" {shorten(text)}); raise the limit with the option 'longest'",
        text,
    )


def _iter_chunks(texts: list[str]) -> Iterator[list[str]]:
    start, wanted = 0, _SMALLEST_COST
    while start < len(texts):
        end, cost = start, 0.0
        while end < min(start + _LARGEST_CHUNK, len(texts)) and (
            cost < wanted or end - start < _native.threads()
        ):
            cost += _estimate_cost(texts[end])
            end += 1
        begun = time.monotonic()
        yield texts[start:end]
        rate = cost / max(time.monotonic() - begun, 1e-3)
        wanted = max(_SMALLEST_COST, min(rate * _CHUNK_SECONDS, 4 * cost))
        start = end


def _estimate_cost(text: str) -> float:
    """Return the time to parse a caption as one sentence, in any unit; it is cubic in the length."""
    return 10 + (text.count(" ") + 1) ** 3 / 1000
