"""Input files for the commands of capeval's own distributions."""

from capeval.cli.toolkit.inputs import references_from

__all__ = ["references_from"]
