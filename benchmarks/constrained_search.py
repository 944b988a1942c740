"""Benchmark of constrained beam search per image: `make bench-search`.

The captioner is a table of random log-probabilities; its own time is subtracted.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np

from capeval_decoding.search import BeamSearch
from capeval_decoding.state_machines import Constraint, build_published_machine, build_state_machine

VOCABULARY = 10_000
STEPS = 20
IMAGES = 5
# 8 states of met constraints. Two of the phrases have two inner states in each of 4 states: 24 in total.
PHRASES = ((2, 3, 4), (5, 6, 7), (8,))


class Captioner:
    """Random log-probabilities, equal at each step, with a record of their time."""

    def __init__(self) -> None:
        scores = np.random.default_rng(1).normal(size=(240, VOCABULARY)).astype(np.float32)
        # Makes the end token improbable, because captions that end early would be less work.
        scores[:, 1] = -20
        self.scores = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        self.seconds = 0.0
        self.captions = 0

    def step(self, tokens: Any, state: None) -> tuple[Any, None]:
        """Return the same scores for any captions."""
        begin = time.process_time()
        self.captions += len(tokens)
        scores = self.scores[: len(tokens)]
        self.seconds += time.process_time() - begin
        return scores, state


def main() -> None:
    """Print the median CPU seconds per image."""
    constraints = [
        Constraint(name=str(words[0]), phrases=(tuple(frozenset({word}) for word in words),))
        for words in PHRASES
    ]
    search = BeamSearch(start=1, end=1, max_steps=STEPS)
    for name, make in (("ours", build_state_machine), ("published", build_published_machine)):
        machine = make(constraints)
        seconds = []
        for _ in range(IMAGES):
            captioner, begin = Captioner(), time.process_time()
            search.search(captioner.step, None, machine)
            seconds.append(time.process_time() - begin - captioner.seconds)
        print(
            f"{name}: {len(machine)} states, {search.beam_size} beams, {VOCABULARY:,} words, {STEPS} steps,"
            f" {captioner.captions:,} captions extended: {median(seconds):.3f} s of CPU per image"
        )


if __name__ == "__main__":
    main()
