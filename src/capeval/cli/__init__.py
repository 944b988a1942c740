"""The command line: the only place that prints."""

from capeval.cli.app import main

__all__ = ["main"]
