"""The chunks in which SPICE parses captions."""

from __future__ import annotations

from capeval import _native
from capeval.metrics.spice_parsing import _iter_chunks


def test_a_chunk_has_few_long_sentences() -> None:
    short, long = ["a dog runs on the grass of the park"] * 300, [" ".join(["word"] * 250)] * 100
    chunks = list(_iter_chunks(short + long))
    assert [text for chunk in chunks for text in chunk] == short + long
    assert len(chunks[0]) > 250
    assert all(len(chunk) <= max(_native.threads(), 3) for chunk in chunks if chunk[0] == long[0])
