"""Building blocks for the commands of capeval's own distributions."""

from capeval.cli.app import run
from capeval.cli.toolkit.click_commands import Argument, Command, Group, Option
from capeval.cli.toolkit.options import ConstraintsFile, FormatOption, OutputFormat, Seed
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, render

__all__ = [
    "Argument",
    "Command",
    "ConstraintsFile",
    "FormatOption",
    "Group",
    "Option",
    "OutputFormat",
    "Seed",
    "Steps",
    "check_outputs",
    "deliver",
    "examples",
    "render",
    "run",
]
