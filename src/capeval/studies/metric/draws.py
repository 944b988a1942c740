"""Random draws of references, for benchmarks of pairs."""

from __future__ import annotations

from collections.abc import Sequence

from capeval._internal.random import make_generator
from capeval.data.captions import ImageId
from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair
from capeval.studies.metric.judgments import HumanBenchmark, PairJudgments
from capeval.studies.metric.options import MetricOptions

__all__ = ["count_draws", "draw_references"]


def count_draws(benchmark: HumanBenchmark, options: MetricOptions) -> int:
    """Return how often the captions of a benchmark are scored: once, or with each draw of references.

    Args:
        benchmark: The benchmark.
        options: The number of references, if it is not that of the benchmark, and of draws.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.metric import HumanBenchmark, MetricOptions, PairJudgments, list_descriptions
        >>> from capeval.studies.metric.draws import count_draws
        >>> pair = Pair(image=1, first="a dog", second="a cat", references=("a dog runs", "the dog"))
        >>> benchmark = HumanBenchmark(
        ...     about=list_descriptions()["abstract-50s"], judged=PairJudgments(pairs=(pair,))
        ... )
        >>> count_draws(benchmark, MetricOptions()), count_draws(benchmark, MetricOptions(references=1))
        (1, 5)
    """
    judged = benchmark.judged
    count = options.references if options.references is not None else benchmark.about.references
    if count is None or not isinstance(judged, PairJudgments) or not _is_drawn(judged.pairs, count):
        return 1
    return options.draws


def _is_drawn(pairs: Sequence[Pair], count: int) -> bool:
    return max(len(pair.references) for pair in pairs) > count


def draw_references(pairs: Sequence[Pair], options: MetricOptions) -> list[list[tuple[str, ...]]]:
    """Return the references of each pair, by draw; all pairs of an image have the same positions.

    Args:
        pairs: The pairs with all their references.
        options: The number of references, of draws, and the seed.

    Raises:
        MismatchError: A pair has too few references.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.metric import MetricOptions
        >>> from capeval.studies.metric.draws import draw_references
        >>> pair = Pair(image=1, first="a dog", second="a cat", references=("a dog runs", "the dog"))
        >>> drawn = draw_references([pair], MetricOptions(references=1, draws=3))
        >>> len(drawn), {len(texts) for draw in drawn for texts in draw}
        (3, {1})
    """
    count, sizes = options.references, [len(pair.references) for pair in pairs]
    if count is None or not _is_drawn(pairs, count):
        if options.references is not None and min(sizes) < options.references:
            raise MismatchError(
                f"the number of references must be at most {min(sizes)}, as some pairs have no more"
                f" (got {options.references})"
            )
        return [[pair.references for pair in pairs]]
    largest: dict[ImageId, int] = {}
    for pair, size in zip(pairs, sizes, strict=True):
        largest[pair.image] = min(size, largest.get(pair.image, size))
    if min(sizes) < count:
        raise MismatchError(f"every pair must have {count} references (got {min(sizes)} for one)")
    drawn = []
    for number in range(options.draws):
        rng = make_generator(options.seed, number)
        places = {image: rng.permutation(size)[:count] for image, size in largest.items()}
        drawn.append([tuple(pair.references[place] for place in places[pair.image]) for pair in pairs])
    return drawn
