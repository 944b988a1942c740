"""METEOR 1.5 in plain Python, for small tables: slow, short, and written apart from the Rust kernel.

It takes words, not text (no normalization), and the stem of a word from the caller, so that it
needs nothing but the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

# It is compared with the kernel on tables of its own, not on those that a `Meteor` uses.
COMPARED_IN = "conformance/meteor/test_twin.py"

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
WEIGHTS = (1.0, 0.6, 0.8, 0.6)
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
BEAM = 40
NOUNS = "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y"
VERBS = "s: ies:y es:e es: ed:e ed: ing:e ing:"
ADJECTIVES = "er: est: er:e est:e"
RULES = [tuple(rule.split(":")) for rule in f"{NOUNS} {VERBS} {ADJECTIVES}".split()]

Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The unmodified sources: ``bases`` maps an irregular form to its base forms."""

    synsets: dict[str, set[int]]
    bases: dict[str, list[str]]
    function_words: set[str]
    paraphrases: list[tuple[Words, Words]]
    stem: Callable[[str], str]

    def all_synsets(self, word: str) -> set[int]:
        """Synsets of a word and of its base forms."""
        own = self.synsets.get(word, set())
        if word in self.bases:
            return own.union(*(self.synsets.get(base, set()) for base in self.bases[word]))
        if len(word) <= 2 or word.endswith("ss"):
            return own
        for suffix, ending in RULES:
            base = word.removesuffix(suffix) + ending
            if word.endswith(suffix) and base in self.synsets:
                return own | self.synsets[base]
        return own


class Match(NamedTuple):
    """Words of the reference and of the candidate: starts and lengths."""

    reference: int
    reference_len: int
    candidate: int
    candidate_len: int
    stage: int

    def reference_words(self) -> set[int]:
        return set(range(self.reference, self.reference + self.reference_len))

    def candidate_words(self) -> set[int]:
        return set(range(self.candidate, self.candidate + self.candidate_len))


def occurrences(phrase: Words, words: Words) -> Iterator[int]:
    """Return the start positions of a phrase in a sentence."""
    return (at for at in range(len(words)) if words[at : at + len(phrase)] == phrase)


def possible_matches(tables: Tables, candidate: Words, reference: Words) -> list[Match]:
    """Every match in the order in which METEOR finds them, grouped by start in the reference."""
    pairs = [(j, i) for j in range(len(reference)) for i in range(len(candidate))]
    found = [Match(j, 1, i, 1, EXACT) for j, i in pairs if reference[j] == candidate[i]]
    if reference == candidate:
        return sorted(found, key=lambda match: match.reference)
    different = [(j, i) for j, i in pairs if reference[j] != candidate[i]]
    stem, synsets = tables.stem, tables.all_synsets
    found += [Match(j, 1, i, 1, STEM) for j, i in different if stem(reference[j]) == stem(candidate[i])]
    found += [
        Match(j, 1, i, 1, SYNONYM) for j, i in different if synsets(reference[j]) & synsets(candidate[i])
    ]
    listed = sorted(tables.paraphrases, key=lambda pair: len(pair[0]))  # stable: source order within a length
    for j in range(len(reference)):
        for phrase, other in listed:
            if reference[j : j + len(phrase)] == phrase:
                found += [
                    Match(j, len(phrase), i, len(other), PARAPHRASE) for i in occurrences(other, candidate)
                ]
    for i in range(len(candidate)):
        for phrase, other in listed:
            if candidate[i : i + len(phrase)] == phrase:
                found += [
                    Match(j, len(other), i, len(phrase), PARAPHRASE) for j in occurrences(other, reference)
                ]
    return sorted(found, key=lambda match: match.reference)


@dataclass(frozen=True)
class Path:
    """A partial alignment."""

    taken: tuple[Match, ...] = ()
    used_candidate: frozenset[int] = frozenset()
    used_reference: frozenset[int] = frozenset()
    gain: int = 0
    chunks: int = 0
    distance: int = 0
    open: int | None = field(default=None)

    def rank(self) -> tuple[int, int, int]:
        return (-self.gain, self.chunks, self.distance)

    def closed(self) -> Path:
        return replace(self, chunks=self.chunks + (self.open is not None), open=None)

    def take(self, match: Match) -> Path:
        whole = match.stage == EXACT
        gains = [n if whole else n // 2 for n in (match.reference_len, match.candidate_len)]
        return replace(
            self,
            taken=(*self.taken, match),
            used_candidate=self.used_candidate | match.candidate_words(),
            used_reference=self.used_reference | match.reference_words(),
            gain=self.gain + sum(gains),
            chunks=self.chunks + (self.open is not None and self.open != match.candidate),
            open=match.candidate + match.candidate_len,
        )

    def conflicts(self, match: Match) -> bool:
        return bool(
            self.used_candidate & match.candidate_words() or self.used_reference & match.reference_words()
        )


def distance(match: Match) -> int:
    return abs(match.reference - match.candidate)


def unambiguous(matches: Sequence[Match]) -> dict[int, Match]:
    """The matches that share no word with another, by their start in the reference."""

    def alone(match: Match) -> bool:
        return not any(
            match.reference_words() & other.reference_words()
            or match.candidate_words() & other.candidate_words()
            for other in [*matches[: matches.index(match)], *matches[matches.index(match) + 1 :]]
        )

    return {match.reference: match for match in matches if alone(match)}


def best_alignment(matches: Sequence[Match], reference_len: int) -> Path:
    """The beam search from left to right over the reference."""
    fixed = unambiguous(matches)
    used = list(fixed.values())
    start = Path(
        used_candidate=frozenset().union(*(match.candidate_words() for match in used)),
        used_reference=frozenset().union(*(match.reference_words() for match in used)),
    )
    paths = [start]
    for position in range(reference_len):
        following: list[Path] = []
        for path in sorted(paths, key=Path.rank)[:BEAM]:
            if position in path.used_reference:
                inside = any(position in match.reference_words() for match in path.taken)
                if not inside:
                    match = fixed[position]
                    path = replace(path.take(match), distance=path.distance + distance(match))
                following.append(path)
                continue
            for match in matches:
                if match.reference == position and not path.conflicts(match):
                    following.append(path.take(match))
                    path = replace(path, distance=path.distance + distance(match))
            following.append(path.closed())
        paths = following
    return min((path.closed() for path in sorted(paths, key=Path.rank)[:BEAM]), key=Path.rank)


def count_chunks(taken: Sequence[Match]) -> int:
    joined = sum(
        one.reference + one.reference_len == two.reference
        and one.candidate + one.candidate_len == two.candidate
        for one, two in pairwise(taken)
    )
    return len(taken) - joined


def statistics(tables: Tables, candidate: Words, reference: Words) -> list[float]:
    """The row of 23 numbers, without the chunk of a perfect candidate."""
    taken = best_alignment(possible_matches(tables, candidate, reference), len(reference)).taken
    sides = (candidate, reference)
    function = [[word in tables.function_words for word in side] for side in sides]
    row = [float(len(side)) for side in sides] + [float(sum(flags)) for flags in function]
    matched = [[set[int](), set[int]()] for _ in WEIGHTS]
    for match in taken:
        matched[match.stage][0] |= match.candidate_words()
        matched[match.stage][1] |= match.reference_words()
    for stage in matched:
        for is_function in (False, True):
            row += [float(sum(function[side][at] == is_function for at in stage[side])) for side in (0, 1)]
    totals = [float(sum(len(stage[side]) for stage in matched)) for side in (0, 1)]
    chunks = count_chunks(taken)
    perfect = chunks == 1 and totals == row[:2]
    return [*row, 0.0 if perfect else float(chunks), *totals]


def score(row: Sequence[float]) -> float:
    """Score of a row or of a sum of rows."""

    def rate(side: int) -> float:
        content = sum(row[4 + 4 * stage + side] * weight for stage, weight in enumerate(WEIGHTS))
        function = sum(row[6 + 4 * stage + side] * weight for stage, weight in enumerate(WEIGHTS))
        length = DELTA * (row[side] - row[2 + side]) + (1 - DELTA) * row[2 + side]
        return (DELTA * content + (1 - DELTA) * function) / length if length else 0.0

    precision, recall = rate(0), rate(1)
    if not precision or not recall:
        return 0.0
    mean = 1 / ((1 - ALPHA) / precision + ALPHA / recall)
    return mean * (1 - GAMMA * math.pow(row[20] / ((row[21] + row[22]) / 2), BETA))


def best_reference(tables: Tables, candidate: Words, references: Sequence[Words]) -> list[float]:
    """The row of the first of the best references."""
    return max((statistics(tables, candidate, reference) for reference in references), key=score)
