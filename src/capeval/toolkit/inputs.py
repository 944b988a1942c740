"""Caption files that a command is given, for commands that capeval's own distributions add."""

from capeval.cli.toolkit.inputs import references_from

__all__ = ["references_from"]
