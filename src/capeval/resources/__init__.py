"""Tables that a metric needs besides references and candidates."""

from capeval.resources.document_frequencies import DocumentFrequencies

__all__ = ["DocumentFrequencies"]
