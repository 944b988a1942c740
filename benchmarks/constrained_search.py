"""The time of constrained beam search alone, for an image: `make bench-search`.

The captioner is a table of random log-probabilities, of which the time is taken away.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np

from capeval_decoding.search import BeamSearch
from capeval_decoding.state_machines import Constraint, published_machine, state_machine

VOCABULARY = 10_000
STEPS = 20
IMAGES = 5
# 8 states of met constraints, and two inside of each of two phrases in each of 4: 24 states in all.
PHRASES = ((2, 3, 4), (5, 6, 7), (8,))


class Captioner:
    """Random log-probabilities, the same at each step; it counts the time that it takes."""

    def __init__(self) -> None:
        scores = np.random.default_rng(1).normal(size=(240, VOCABULARY)).astype(np.float32)
        # Captions that end soon would be less work.
        scores[:, 1] = -20
        self.scores = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        self.seconds = 0.0
        self.captions = 0

    def step(self, tokens: Any, state: None) -> tuple[Any, None]:
        """The same rows for any captions."""
        begin = time.process_time()
        self.captions += len(tokens)
        scores = self.scores[: len(tokens)]
        self.seconds += time.process_time() - begin
        return scores, state


def main() -> None:
    """Prints the CPU seconds of an image, as a median."""
    constraints = [
        Constraint(name=str(words[0]), phrases=(tuple(frozenset({word}) for word in words),))
        for words in PHRASES
    ]
    search = BeamSearch(start=1, end=1, max_steps=STEPS)
    for name, make in (("ours", state_machine), ("published", published_machine)):
        machine = make(constraints)
        seconds = []
        for _ in range(IMAGES):
            captioner, begin = Captioner(), time.process_time()
            search.search(captioner.step, None, machine)
            seconds.append(time.process_time() - begin - captioner.seconds)
        print(
            f"{name}: {len(machine)} states, {search.beam_size} beams, {VOCABULARY:,} words, {STEPS} steps,"
            f" {captioner.captions:,} captions went on: {median(seconds):.3f} s of CPU an image"
        )


if __name__ == "__main__":
    main()
