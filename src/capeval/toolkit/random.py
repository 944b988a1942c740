"""Random generators for capeval's own distributions."""

from capeval._internal.random import make_generator, make_named_generator, make_python_random

__all__ = ["make_generator", "make_named_generator", "make_python_random"]
