"""The command line, the only package that prints."""

from capeval.cli.app import main

__all__ = ["main"]
