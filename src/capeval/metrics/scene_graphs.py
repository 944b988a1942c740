"""Scene graphs of a candidate and its references, which explain a SPICE score."""

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
        name: Its words; merged ones are separated by slashes.
        matched: Whether the other graph contains it too.
    """

    name: str
    matched: bool


@dataclass(frozen=True, kw_only=True)
class SceneObject:
    """An object of a scene graph.

    Attributes:
        name: Its words; merged ones are separated by slashes.
        matched: Whether the other graph contains it too.
        attributes: Its attributes.
    """

    name: str
    matched: bool
    attributes: tuple[SceneAttribute, ...]


@dataclass(frozen=True, kw_only=True)
class SceneRelation:
    """A relation between two objects of a scene graph.

    Attributes:
        subject: The position of its subject in the graph's objects.
        name: Its words; merged ones are separated by slashes.
        object: The position of its object in the graph's objects.
        matched: Whether the other graph contains it too.
    """

    subject: int
    name: str
    object: int
    matched: bool


@dataclass(frozen=True, kw_only=True)
class SceneGraph:
    """Objects with attributes, and the relations between them.

    Example:
        >>> from capeval import Spice
        >>> graph = Spice().explain("a dog runs on grass", ["a brown dog runs on the grass"]).references
        >>> [(each.name, [attribute.name for attribute in each.attributes]) for each in graph.objects]
        [('dog', ['brown']), ('grass', [])]

        The candidate has the same relation, which therefore counts as a match in SPICE:

        >>> [relation] = graph.relations
        >>> graph.objects[relation.subject].name, relation.name, graph.objects[relation.object].name
        ('dog', 'run on', 'grass')
        >>> relation.matched
        True
    """

    objects: tuple[SceneObject, ...]
    relations: tuple[SceneRelation, ...]

    @classmethod
    def from_native(cls, objects: _Objects, relations: _Relations) -> SceneGraph:
        """Create a graph from the tuples of the native comparison."""
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
    """Scene graphs of a candidate and of all references of its image."""

    candidate: SceneGraph
    references: SceneGraph
