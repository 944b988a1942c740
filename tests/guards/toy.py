"""Toys in one module, as another distribution would add them: metrics, a format and a tokenizer.

`Toy` needs a resource, and reads tokens or captions as they were written. `ToyMean` is made of two other
metrics. Of `ToyErrors`, lower scores are better. The contract tests install the module by `tests/plugins.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from capeval.data.captions import Candidates, References
from capeval.data.scores import FloatArray
from capeval.errors import FormatError, FormatErrorKind, ResourceError
from capeval.formats.base import CaptionFormat, Row, build_captions
from capeval.formats.io.rows import make_line_error, parse_lines
from capeval.formats.io.sources import Source
from capeval.metrics.base import Kernel, MeanMetric, Metric, Reads, Resource
from capeval.metrics.registry import get_metric, register
from capeval.metrics.scene_graphs import ComparedGraphs, SceneGraph, SceneObject
from capeval.resources.compiled_files import CompiledResource
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

WORDS = Path(os.environ.get("TOY_WORDS", "toy-words.txt"))
NOT_COUNTED = ("a", "the", "on")


def make_words(progress: Callable[[int], object]) -> None:
    """Write the resource if it is missing."""
    if WORDS.parent.name == "missing":
        raise ResourceError(f"toy words must be in {WORDS} (got no such folder): mkdir {WORDS.parent}")
    if not WORDS.exists():
        WORDS.write_text("\n".join(NOT_COUNTED), encoding="utf-8")
        progress(len(NOT_COUNTED))


TOY_WORDS = Resource(
    name="toy words",
    prepare=make_words,
    found=lambda: CompiledResource(path=WORDS, fingerprint="toy") if WORDS.exists() else None,
    steps=len(NOT_COUNTED),
    memory=2**20,
    seconds=10,
    install="pip install toy",
)


@register
@dataclass(frozen=True, kw_only=True)
class Toy(MeanMetric):
    """The share of a candidate's words that a reference has, without the words of a list.

    Args:
        text: The words of `tokens`, or of captions as they were written, `raw`.
    """

    family: ClassVar[str] = "Toy"
    docs_page: ClassVar[str] = "toy"
    variants: ClassVar = {"Toy": {}}
    featured: ClassVar = ("Toy",)

    text: Literal["tokens", "raw"] = "tokens"

    @property
    def input_kind(self) -> Reads:
        return "captions" if self.text == "raw" else "tokens"

    @property
    def resources(self) -> tuple[Resource, ...]:
        return (TOY_WORDS,)

    def explain(self, candidate: str, references: Sequence[str]) -> ComparedGraphs:
        def graph(text: str, others: set[str]) -> SceneGraph:
            things = (SceneObject(name=each, matched=each in others, attributes=()) for each in text.split())
            return SceneGraph(objects=tuple(things), relations=())

        known = " ".join(references)
        return ComparedGraphs(
            candidate=graph(candidate, set(known.split())), references=graph(known, set(candidate.split()))
        )

    def kernel(self, references: TokenizedReferences) -> Kernel:
        make_words(lambda _: None)
        left_out = {*WORDS.read_text(encoding="utf-8").split("\n"), ""}
        source = references.references.__getitem__ if self.text == "raw" else references.texts
        known = [
            {word for text in source(image) for word in text.split(" ")} - left_out
            for image in references.references
        ]

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            texts = candidates.captions() if self.text == "raw" else candidates.texts()
            rows = []
            for text, image in zip(texts, candidates.positions.tolist(), strict=True):
                words = set(text.split(" ")) - left_out
                rows.append((len(words & known[image]) / max(len(words), 1), 1.0))
            return np.array(rows)

        return statistics


@register
@dataclass(frozen=True, kw_only=True)
class ToyMean(Metric):
    """The mean of Toy and ROUGE-L: a metric made of two others, found by their names."""

    family: ClassVar[str] = "ToyMean"
    docs_page: ClassVar[str] = "toy"

    @cached_property
    def _parts(self) -> tuple[Metric, ...]:
        return get_metric("Toy"), get_metric("ROUGE-L")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.family,)

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(f"{part.family}: {name}" for part in self._parts for name in part.statistics)

    @property
    def resources(self) -> tuple[Resource, ...]:
        return tuple(resource for part in self._parts for resource in part.resources)

    def kernel(self, references: TokenizedReferences) -> Kernel:
        kernels = [part.kernel(references) for part in self._parts]
        return lambda candidates: np.hstack([kernel(candidates) for kernel in kernels])

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        first, second = self._parts
        width = len(first.statistics)
        scores: FloatArray = (
            first.aggregate(statistics[..., :width]) + second.aggregate(statistics[..., width:])
        ) / 2
        return scores


@register
@dataclass(frozen=True, kw_only=True)
class ToyErrors(MeanMetric):
    """The number of a candidate's words that no reference has.

    Args:
        weight: The weight of each word.
    """

    family: ClassVar[str] = "ToyErrors"
    docs_page: ClassVar[str] = "toy"
    higher_is_better: ClassVar[bool] = False

    weight: float = 1.0

    def kernel(self, references: TokenizedReferences) -> Kernel:
        known = [{*" ".join(references.texts(image)).split()} for image in references.references]

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            pairs = zip(candidates.texts(), candidates.positions.tolist(), strict=True)
            errors = [len({*text.split()} - known[image]) for text, image in pairs]
            return np.array([(self.weight * each, 1.0) for each in errors])

        return statistics


_HEADER = "toy captions"


def _rows(source: Source) -> Iterator[Row]:
    for line, text in parse_lines(source.data):
        image, arrow, caption = text.partition(" -> ")
        if line == 1 or not text:
            continue
        if not arrow or not image.isdecimal():
            raise make_line_error(line, "IMAGE -> CAPTION", repr(text))
        if not caption:
            message = f"line {line}: caption must not be empty (got nothing)"
            raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, line=line, field="caption")
        yield f"line {line}", int(image), caption


KIND = CaptionFormat(
    name="toy captions",
    form="IMAGE -> CAPTION in each line after the first",
    priority=100,
    example=lambda: b"toy captions\n1 -> A dog.\n2 -> Two cats.\n",
    recognize=lambda source, _: source.first_line.strip() == _HEADER,
    references=lambda source, _: build_captions(References, _rows(source), ("image", "caption")),
    candidates=lambda source, _: build_captions(Candidates, _rows(source), ("image", "caption")),
)


def split_words(caption: str) -> list[str]:
    """Return the words between white space, in lower case."""
    return caption.lower().split()
