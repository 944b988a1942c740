"""BibTeX of capeval and of papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["get_bibtex"]


def get_bibtex(citations: Sequence[str]) -> str:
    """Return BibTeX entries in the given order, each once.

    Args:
        citations: Keys of entries in `citations.bib`, or whole BibTeX entries, which begin with `@`.
    """
    text = Path(__file__).with_name("citations.bib").read_text(encoding="utf-8")
    entries = {re.split(r"[{,]", entry)[1]: entry.strip() for entry in text.split("\n\n")}
    found = (each.strip() if each.startswith("@") else entries[each] for each in citations)
    return "\n\n".join(dict.fromkeys(found)) + "\n"
