"""Resources of metrics: word tables, models, parse stores and document frequencies."""

from capeval.resources.document_frequencies import DocumentFrequencies

__all__ = ["DocumentFrequencies"]
