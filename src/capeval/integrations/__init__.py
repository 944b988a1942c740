"""Integrations with other libraries, each imported only by its integration module."""

from pathlib import Path

__all__ = ["EVALUATE_MODULE"]

EVALUATE_MODULE = str(Path(__file__).with_name("capeval_scores"))
"""The folder of the module for Hugging Face's `evaluate`: `evaluate.load(EVALUATE_MODULE)`."""
