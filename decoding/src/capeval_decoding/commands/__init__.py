"""`capeval baselines`: commands of nocaps's baseline captioners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from capeval.toolkit.command_line import Group

__all__ = ["app"]

# The modules import numpy and PyTorch inside of `run`, so that the help is available without them.
COMMANDS = ("constraints", "demo", "train", "caption")


class _Baselines(Group):
    modules: ClassVar[Mapping[str, str]] = {name: f"capeval_decoding.commands.{name}" for name in COMMANDS}


app = _Baselines(
    name="baselines",
    help="Train and run the baseline captioners of nocaps, with constraints from object boxes.",
    no_args_is_help=True,
)
