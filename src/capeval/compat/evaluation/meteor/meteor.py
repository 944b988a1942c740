"""METEOR under the name of the package `evaluation`."""

from __future__ import annotations

from capeval.compat.meteor import meteor

__all__ = ["Meteor"]


class Meteor(meteor.Meteor):
    """METEOR 1.5 with normalization, for English; its `str` is the name of the score."""

    def __str__(self) -> str:
        return "METEOR"
