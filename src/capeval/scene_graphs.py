"""The scene graphs behind a SPICE score: those of a candidate and its references, and what they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capeval import _native
from capeval.metrics.spice import Spice, parsed
from capeval.resources.parses import ParseStore
from capeval.resources.spice import spice_model

__all__ = [
    "ComparedGraphs",
    "SceneAttribute",
    "SceneGraph",
    "SceneObject",
    "SceneRelation",
    "compare_graphs",
]


@dataclass(frozen=True, kw_only=True)
class SceneAttribute:
    """An attribute of an object.

    Attributes:
        name: Its words; merged ones with slashes between them.
        matched: Whether the other graph has it too.
    """

    name: str
    matched: bool


@dataclass(frozen=True, kw_only=True)
class SceneObject:
    """An object of a scene graph.

    Attributes:
        name: Its words; merged ones with slashes between them.
        matched: Whether the other graph has it too.
        attributes: Its attributes.
    """

    name: str
    matched: bool
    attributes: tuple[SceneAttribute, ...]


@dataclass(frozen=True, kw_only=True)
class SceneRelation:
    """A relation between two objects of a scene graph.

    Attributes:
        subject: The position of the object that it starts from.
        name: Its words; merged ones with slashes between them.
        object: The position of the object that it leads to.
        matched: Whether the other graph has it too.
    """

    subject: int
    name: str
    object: int
    matched: bool


@dataclass(frozen=True, kw_only=True)
class SceneGraph:
    """Objects with attributes, and relations between them."""

    objects: tuple[SceneObject, ...]
    relations: tuple[SceneRelation, ...]


@dataclass(frozen=True, kw_only=True)
class ComparedGraphs:
    """The scene graphs of a candidate and of all references of its image, and what they have in common."""

    candidate: SceneGraph
    references: SceneGraph


def compare_graphs(
    candidate: str,
    references: Sequence[str],
    *,
    longest: int = Spice.longest,
    store: ParseStore | None = None,
) -> ComparedGraphs:
    """The scene graphs behind a SPICE score.

    Args:
        candidate: A caption, as SPICE is to parse it.
        references: The references of its image.
        longest: The longest sentence that is parsed, in tokens.
        store: Where parses are kept between runs.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
        ResourceError: The model was not made yet, or the store is damaged.
    """
    model = spice_model()
    parses = parsed(model, [candidate, *references], longest=longest, store=store)
    prepared = _native.SpiceReferences(model, [[parses[text] for text in references]])
    ours, theirs = prepared.compare(0, parses[candidate])
    return ComparedGraphs(candidate=_graph(*ours), references=_graph(*theirs))


def _graph(
    objects: Sequence[tuple[str, bool, Sequence[tuple[str, bool]]]],
    relations: Sequence[tuple[int, str, int, bool]],
) -> SceneGraph:
    return SceneGraph(
        objects=tuple(
            SceneObject(
                name=name,
                matched=matched,
                attributes=tuple(SceneAttribute(name=each, matched=found) for each, found in attributes),
            )
            for name, matched, attributes in objects
        ),
        relations=tuple(
            SceneRelation(subject=subject, name=name, object=target, matched=matched)
            for subject, name, target, matched in relations
        ),
    )
