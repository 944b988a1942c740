"""Phrases that mention each Open Images class in a caption."""

from capeval.formats.word_forms import WordForms, load_word_forms

__all__ = ["WordForms", "load_word_forms"]
