"""Schemas with the fields of the classes that services return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from ninja import Field, Schema
from pydantic import ValidationError

from capeval_server.api.derived_schemas import attribute_descriptions, derived_from


@dataclass(frozen=True)
class Wheel:
    """A wheel.

    Attributes:
        size: Diameter in inches, measured
            without the tire.
    """

    size: int = 26


@dataclass(frozen=True)
class Vehicle:
    """A vehicle.

    Attributes:
        wheels: Its wheels, front first.
        spare: Its spare wheel.
        secret: Number of the key.
    """

    maker: Wheel
    wheels: Sequence[Wheel]
    spare: Wheel | None
    secret: int


@derived_from(Wheel)
class WheelAnswer(Schema):
    """A wheel in the API."""


@derived_from(Vehicle, without=("secret",))
class VehicleAnswer(Schema):
    """A vehicle in the API."""

    maker: int = Field(validation_alias="maker.size")


def test_all_fields_are_described_and_required() -> None:
    found = WheelAnswer.json_schema()
    assert found["description"] == "A wheel in the API."
    assert found["required"] == ["size"]
    assert found["properties"]["size"]["description"] == "Diameter in inches, measured without the tire."


def test_classes_within_classes_are_schemas() -> None:
    found = VehicleAnswer.model_json_schema(mode="serialization")
    assert list(found["properties"]) == ["maker", "wheels", "spare"]
    assert list(found["$defs"]) == ["WheelAnswer"]
    vehicle = Vehicle(Wheel(1), [Wheel(2), Wheel()], None, secret=1234)
    answer = VehicleAnswer.model_validate(vehicle).model_dump()
    assert answer == {"maker": 1, "wheels": [{"size": 2}, {"size": 26}], "spare": None}
    with pytest.raises(ValidationError):
        VehicleAnswer.model_validate({"maker": Wheel(1), "wheels": []})


def test_only_documented_attributes_have_descriptions() -> None:
    assert list(attribute_descriptions(Vehicle)) == ["wheels", "spare", "secret"]
    assert attribute_descriptions(VehicleAnswer) == {}
