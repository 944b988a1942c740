"""Random generators for capeval's own distributions."""

from capeval._internal.random import generator, named_generator, python_random

__all__ = ["generator", "named_generator", "python_random"]
