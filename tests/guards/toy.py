"""Metrics in one module, as somebody else's package would add them: what `test_toy_metric.py` looks for.

`Toy` needs a resource, and reads tokens or captions as they were written. `ToyMean` is made of two other
metrics.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from capeval.data.scores import FloatArray
from capeval.errors import ResourceError
from capeval.metrics.base import Kernel, MeanMetric, Metric, Reads, Resource
from capeval.metrics.registry import named, register
from capeval.metrics.scene_graphs import ComparedGraphs, SceneGraph, SceneObject
from capeval.resources.compiled_files import CompiledResource
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

WORDS = Path(os.environ.get("TOY_WORDS", "toy-words.txt"))
NOT_COUNTED = ("a", "the", "on")


def make_words(progress: Callable[[int], object]) -> None:
    """Writes the resource where it is not there yet."""
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
    """The share of a candidate's words that a reference has, without the words of a list."""

    family: ClassVar[str] = "Toy"
    page: ClassVar[str] = "toy"
    variants: ClassVar = {"Toy": {}}

    text: Literal["tokens", "raw"] = "tokens"

    @property
    def reads(self) -> Reads:
        return "captions" if self.text == "raw" else "tokens"

    @property
    def needs(self) -> tuple[Resource, ...]:
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
    """The mean of Toy and CIDEr-D: a metric made of two others, found by their names."""

    family: ClassVar[str] = "ToyMean"
    page: ClassVar[str] = "toy"

    @cached_property
    def _parts(self) -> tuple[Metric, ...]:
        return named("Toy"), named("CIDEr-D")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.family,)

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(f"{part.family}: {name}" for part in self._parts for name in part.statistics)

    @property
    def needs(self) -> tuple[Resource, ...]:
        return tuple(resource for part in self._parts for resource in part.needs)

    @property
    def document_frequencies(self) -> str | None:
        return self._parts[1].document_frequencies

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
