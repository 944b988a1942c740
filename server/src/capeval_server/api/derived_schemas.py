"""Schemas derived from the classes that services and selectors return."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, TypeVar, get_args, get_type_hints

from ninja import Field, Schema
from pydantic import create_model

__all__ = ["attribute_descriptions", "derived_from"]

_Schema = TypeVar("_Schema", bound=Schema)

# Derived schemas by source class.
_schemas: dict[Any, type[Schema]] = {}


def derived_from(source: type, *, without: Collection[str] = ()) -> Callable[[type[_Schema]], type[_Schema]]:
    """Return a decorator that adds the fields of a class to a schema.

    All fields are required. Their descriptions come from the "Attributes" section of the docstring. A field
    whose type has a derived schema uses that schema.

    Args:
        source: The dataclass or named tuple. Its instances are valid responses.
        without: Names of fields to omit from the API.
    """

    def derive(schema: type[_Schema]) -> type[_Schema]:
        described = attribute_descriptions(source)
        fields: dict[str, Any] = {
            name: (_replace_sources(kind), Field(description=described.get(name)))
            for name, kind in get_type_hints(source, include_extras=True).items()
            if name not in {*without, *schema.model_fields}
        }
        derived: type[_Schema] = create_model(
            schema.__name__, __base__=schema, __module__=schema.__module__, __doc__=schema.__doc__, **fields
        )
        _schemas[source] = derived
        return derived

    return derive


def attribute_descriptions(source: type) -> dict[str, str]:
    """Return the attribute descriptions in the docstring of a class."""
    _, _, section = (inspect.getdoc(source) or "").partition("Attributes:\n")
    found = re.findall(r"^    (\w+): (.+(?:\n {5,}.+)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def _replace_sources(kind: Any) -> Any:
    """Replace source classes in a type by the schemas derived from them."""
    if kind in _schemas:
        return _schemas[kind]
    parts = tuple(_replace_sources(part) for part in get_args(kind))
    if parts == get_args(kind):
        return kind
    return reduce(or_, parts) if isinstance(kind, UnionType) else kind.__origin__[parts]
