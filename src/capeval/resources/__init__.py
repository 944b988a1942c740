"""Resources of metrics: word tables, models, parses and document frequencies."""

from capeval.resources.document_frequencies import DocumentFrequencies

__all__ = ["DocumentFrequencies"]
