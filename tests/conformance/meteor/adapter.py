"""The one place that knows how the conformance runs reach capeval's METEOR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capeval import Candidates, Meteor, References, Tokenizer, _native
from capeval.tokenizers import TokenizedReferences


@dataclass(frozen=True, kw_only=True)
class OurScores:
    """One row of statistics and one score a segment, and the corpus score."""

    statistics: list[list[float]]
    scores: list[float]
    corpus: float


def compile_tables(sources: Path, paraphrases: Path, output: Path) -> Path:
    """Compile the tables from the texts of an unpacked METEOR jar and a paraphrase file."""
    compiled = _native.compile_meteor_tables(
        synsets=(sources / "synonym/english.synsets").read_bytes(),
        exceptions=(sources / "synonym/english.exceptions").read_bytes(),
        function_words=(sources / "function/english.words").read_bytes(),
        prefixes=(sources / "nonbreaking/english.prefixes").read_bytes(),
        paraphrases=paraphrases,
        progress=lambda _: None,
    )
    output.write_bytes(compiled)
    return output


def score(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    table: Path | None = None,
    metric: Meteor | None = None,
) -> OurScores:
    """Score one set of tokenized captions; ``references[i]`` belong to ``candidates[i]``."""
    metric = metric or Meteor()
    tokens = TokenizedReferences(References(dict(enumerate(references))), Tokenizer(kind="none"))
    captions = tokens.candidates(Candidates(dict(enumerate(candidates))))
    if table is None:
        statistics = metric.prepare(tokens).statistics(captions)
    else:
        tables, options = _native.MeteorTables.open(table), metric.native_options()
        statistics = _native.MeteorReferences(tokens.native, tables, options).statistics(captions.native)
    return OurScores(
        statistics=statistics.tolist(),
        scores=metric.aggregate(statistics)[:, 0].tolist(),
        corpus=float(metric.aggregate(statistics.sum(axis=0))[0]),
    )


def reference_statistics(line: str) -> list[float]:
    """A statistics line of METEOR as capeval counts it.

    The chunk of a segment that matches in full in one chunk is left out, since METEOR leaves it out
    of its sums.
    """
    row = [float(number) for number in line.split()]
    if row[20] == 1 and sum(row[4:20:2]) == row[0] and sum(row[5:20:2]) == row[1]:
        row[20] = 0.0
    return row
