"""Tables that a metric needs besides references and candidates."""

from capeval.resources.frequencies import DocumentFrequencies

__all__ = ["DocumentFrequencies"]
