"""Every stage of captions as SPICE's reference gave it, compared with capeval's.

A row is what `Driver.java` writes of a caption, one JSON object a line: `c` the caption; `s` its sentences,
each with `t` tokens, `p` tags, `l` lemmas, `sc` the tree's score, `tree`, `b` basic dependencies, `cc`
processed dependencies, and `en` the graph after rewriting, where that changed it; `tu` the tuples. Edges are
relation, governor and dependent; words are numbered from 1, and the second copy of word 5 is "5.1".
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from capeval import _native
from capeval.resources.spice import load_model

Row = dict[str, Any]
LONGEST = 400
STAGES = (
    "sentences",
    "tokens",
    "tags",
    "trees",
    "scores",
    "lemmas",
    "basic",
    "processed",
    "rewritten",
    "tuples",
)
_CHUNK = 1000


@dataclass
class Agreement:
    """How many captions are equal at each stage; those that are not, and those on which Java failed."""

    captions: int = 0
    equal: Counter[str] = field(default_factory=Counter)
    different: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{stage} {self.equal[stage]:,}" for stage in STAGES)
        return f"{self.captions:,} captions; equal: {counts}"

    def add(self, row: Row, found: Row) -> None:
        """Count one caption."""
        self.captions += 1
        for stage in STAGES:
            if row[stage] == found[stage]:
                self.equal[stage] += 1
            else:
                self.different.append((stage, row["caption"]))


def read_rows(path: Path, every: int = 1) -> list[Row]:
    """Return every n-th row of a file (`every=1`: all rows)."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in islice(file, 0, None, every) if line.startswith('{"c"')]


def compare(rows: Iterable[Row], agreement: Agreement | None = None) -> Agreement:
    """Parse the captions of rows and count their equal results per stage."""
    agreement, model = agreement or Agreement(), load_model()
    for chunk in _chunks(rows):
        agreement.failed += [(row["c"], row["error"]) for row in chunk if "error" in row]
        chunk = [row for row in chunk if "error" not in row]
        texts = [row["c"] for row in chunk]
        stages = model.stages(texts, LONGEST)
        parses = model.parse(texts, LONGEST)
        for row, sentences, parse in zip(chunk, stages, parses, strict=True):
            agreement.add(_expected(row), _found(row["c"], sentences, parse))
    return agreement


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while chunk := list(islice(remaining, _CHUNK)):
        yield chunk


def _expected(row: Row) -> Row:
    sentences = row["s"]
    return {
        "caption": row["c"],
        "sentences": len(sentences),
        "tokens": [each["t"] for each in sentences],
        "tags": [each["p"] for each in sentences],
        "trees": [each["tree"] for each in sentences],
        "scores": [each["sc"] for each in sentences],
        "lemmas": [each["l"] for each in sentences],
        "basic": [sorted(map(_edge, each["b"])) for each in sentences],
        "processed": [sorted(map(_edge, each["cc"])) for each in sentences],
        "rewritten": [sorted(map(_edge, each.get("en", each["cc"]))) for each in sentences],
        "tuples": row["tu"],
    }


def _found(caption: str, sentences: Sequence[_native.SentenceStages], parse: bytes) -> Row:
    return {
        "caption": caption,
        "sentences": len(sentences),
        "tokens": [each.tokens for each in sentences],
        "tags": [each.tags for each in sentences],
        "trees": [each.tree for each in sentences],
        "scores": [each.score for each in sentences],
        "lemmas": [each.lemmas for each in sentences],
        "basic": [sorted(each.basic) for each in sentences],
        "processed": [sorted(each.processed) for each in sentences],
        "rewritten": [sorted(each.rewritten) for each in sentences],
        "tuples": _native.spice_tuples(parse),
    }


def _edge(edge: Sequence[Any]) -> tuple[str, tuple[int, int], tuple[int, int]]:
    relation, governor, dependent = edge
    return relation, _word(governor), _word(dependent)


def _word(word: int | str) -> tuple[int, int]:
    number, _, copy = str(word).partition(".")
    return int(number), int(copy or 0)
