"""Scene graphs of a candidate and its references, and what they share: how SPICE explains a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ComparedGraphs", "SceneAttribute", "SceneGraph", "SceneObject", "SceneRelation"]

_Objects = Sequence[tuple[str, bool, Sequence[tuple[str, bool]]]]
_Relations = Sequence[tuple[int, str, int, bool]]


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

    @classmethod
    def from_native(cls, objects: _Objects, relations: _Relations) -> SceneGraph:
        """The graph that the native comparison gives as tuples."""
        return cls(
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


@dataclass(frozen=True, kw_only=True)
class ComparedGraphs:
    """The scene graphs of a candidate and of all references of its image, and what they have in common."""

    candidate: SceneGraph
    references: SceneGraph
