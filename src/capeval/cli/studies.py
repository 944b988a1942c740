"""The group of commands of the studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from capeval.cli.toolkit.click_commands import Group

__all__ = ["app"]

STUDIES = (
    "human",
    "words",
    "plan",
    "votes",
    "consensus",
    "ranking",
    "gaming",
    "correlation",
    "judging",
    "effort",
    "diversity",
    "domains",
    "choose",
    "build",
)


class _Studies(Group):
    modules: ClassVar[Mapping[str, str]] = {name: f"capeval.studies.{name}.command" for name in STUDIES}


app = _Studies(
    name="study",
    help="The studies of the papers on COCO Captions, CIDEr and nocaps, on your data or theirs.",
    no_args_is_help=True,
)
