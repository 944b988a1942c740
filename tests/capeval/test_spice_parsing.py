"""The chunks in which SPICE parses captions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from capeval import _native
from capeval.metrics.spice_parsing import _iter_chunks


def test_a_chunk_has_few_long_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = ["a dog runs on the grass of the park"] * 300, [" ".join(["word"] * 250)] * 100
    now = 0.0
    monkeypatch.setattr("capeval.metrics.spice_parsing.time", SimpleNamespace(monotonic=lambda: now))
    chunks = []
    for chunk in _iter_chunks(short + long):
        chunks.append(chunk)
        # A sentence of 100 words takes half a second.
        now += sum(len(text.split()) ** 3 * 5e-7 for text in chunk)
    assert [text for chunk in chunks for text in chunk] == short + long
    assert len(chunks[0]) > 250
    assert all(len(chunk) <= _native.threads() for chunk in chunks if chunk[0] == long[0])
