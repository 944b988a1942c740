"""Demonstration of the search without images, using a language model of captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capeval.datasets.word_forms import WordForms
from capeval.toolkit import validate_integer
from capeval.toolkit.random import make_named_generator
from capeval_decoding.captions import build_vocabulary
from capeval_decoding.constraint_filter import NEVER
from capeval_decoding.search import Beam, BeamSearch
from capeval_decoding.state_machines import build_state_machine
from capeval_decoding.trigrams import TrigramModel
from capeval_decoding.word_forms import constraint

__all__ = ["Demonstration", "Example"]


@dataclass(frozen=True, kw_only=True)
class Example:
    """A caption that mentions given objects.

    Attributes:
        objects: Classes of the objects.
        caption: The most probable caption that mentions all objects, or None if none was found.
        log_probability: Log-probability of the caption, or None if none was found.
    """

    objects: tuple[str, ...]
    caption: str | None
    log_probability: float | None


class Demonstration:
    """Constrained search with a trigram model of captions.

    Args:
        captions: Tokenized training captions of the language model.
        forms: Phrases of the classes; the vocabulary always includes their words, even rare ones.

    Raises:
        OptionError: No word occurs at least 5 times in the captions.

    Example:
        >>> from capeval_decoding.demonstration import Demonstration
        >>> from capeval.datasets.word_forms import load_word_forms
        >>> captions = 10 * [["a", "cat", "sleeps"]] + 5 * [["a", "dog", "runs"]]
        >>> demonstration = Demonstration(captions, load_word_forms())
        >>> demonstration.make_example([]).caption
        'a cat sleeps'
        >>> demonstration.make_example(["dog"]).caption
        'a dog runs'
    """

    def __init__(self, captions: Sequence[Sequence[str]], forms: WordForms) -> None:
        self._forms = forms
        self.model = TrigramModel.fit(captions, build_vocabulary(captions, more=forms.words()))
        boundary = self.model.vocabulary.boundary
        self._search = BeamSearch(start=boundary, end=boundary)

    def draw_classes(self, count: int, *, objects: int = 3, seed: int = 0) -> list[tuple[str, ...]]:
        """Draw `count` random sets of `objects` distinct classes each.

        Raises:
            OptionError: A number is not an integer of at least 1, or `objects` exceeds the number of classes.
        """
        classes = sorted(set(self._forms.phrases) - NEVER)
        validate_integer("count", count, 1)
        validate_integer("objects", objects, 1, len(classes))
        places = [
            make_named_generator(seed, str(number)).choice(len(classes), size=objects, replace=False)
            for number in range(count)
        ]
        return [tuple(classes[place] for place in each) for each in places]

    def make_example(self, objects: Sequence[str]) -> Example:
        """Return the most probable caption that mentions all of the given classes.

        Without classes, return the most probable caption overall.

        Raises:
            OptionError: A class is not a class of Open Images.
        """
        names = [self._forms.get_class(name) for name in objects]
        vocabulary = self.model.vocabulary
        machine = build_state_machine(
            [constraint(name, self._forms.phrases[name], vocabulary) for name in names]
        )
        result = self._search.search(self.model.step, self.model.get_initial_state(), machine)
        best: Beam | None = result.get_best(at_least=len(names))
        return Example(
            objects=tuple(names),
            caption=None if best is None else vocabulary.decode(best.tokens),
            log_probability=None if best is None else best.log_probability,
        )
