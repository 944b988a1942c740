"""Parts of commands, for commands that capeval's own distributions add."""

from capeval.cli.app import run
from capeval.cli.toolkit.click_commands import Argument, Command, Group, Option
from capeval.cli.toolkit.inputs import references_from
from capeval.cli.toolkit.options import ConstraintsFile, Format, FormatOption, Seed
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, render

__all__ = [
    "Argument",
    "Command",
    "ConstraintsFile",
    "Format",
    "FormatOption",
    "Group",
    "Option",
    "Seed",
    "Steps",
    "check_outputs",
    "deliver",
    "examples",
    "references_from",
    "render",
    "run",
]
