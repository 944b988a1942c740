"""SPICE 1.0 (Anderson, Fernando, Johnson and Gould 2016): captions compared by their scene graphs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from capeval import _native
from capeval._internal.progress import report_progress
from capeval._internal.validation import checked_choice, checked_different, checked_integer, checked_path
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError, OptionError, UnscoredError
from capeval.errors.messages import shortened
from capeval.metrics.base import NOT_AN_OPTION, Kernel, Metric, Reads, Resource
from capeval.metrics.registry import register
from capeval.resources.parse_store import ParseStore
from capeval.resources.spice import RUN, found_model, opened_model, spice_model, store_in
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

if TYPE_CHECKING:
    from capeval.metrics.scene_graphs import ComparedGraphs

__all__ = [
    "CATEGORIES",
    "MEASURES",
    "LongSentenceError",
    "Spice",
    "parsed",
    "scene_tuples",
    "sentence_stages",
]

CATEGORIES = ("All", "Object", "Attribute", "Relation", "Color", "Size", "Count")
"""Which tuples are compared: all of them, or those of one kind."""

MEASURES = ("F", "precision", "recall")

Text = Literal["tokens", "raw"]

# Captions are parsed in chunks of about so many seconds. After each, progress is reported and the store is
# written, so an interrupted run loses one chunk at most. Smaller chunks would leave threads without work, and
# sentences of one length, which are parsed side by side, in different chunks.
_CHUNK_SECONDS, _SMALLEST_CHUNK, _LARGEST_CHUNK = 1.0, 256, 16_384
_LONGEST, _LONGEST_ALLOWED = 120, 400
_COLUMNS = ("candidate tuples", "reference tuples", "matched", *MEASURES, "images")
# None for a caption with a sentence that is too long.
_Parses = dict[str, bytes | None]
# The parses of captions by the model and the limit of a sentence, for as long as the captions are there.
_PARSES: WeakKeyDictionary[TokenizedReferences | TokenizedCandidates, dict[tuple[str, int], _Parses]]
_PARSES = WeakKeyDictionary()
_MODEL = Resource(
    name="SPICE's model",
    prepare=lambda _: spice_model(),
    found=found_model,
    steps=1,
    memory=2**30,
    seconds=300,
    install=RUN,
    by_command=True,
)


class LongSentenceError(CaptionError):
    """A caption has a sentence of more tokens than are parsed.

    Attributes:
        caption: The caption.
    """

    def __init__(self, message: str, caption: str) -> None:
        super().__init__(message)
        self.caption = caption

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (str(self), self.caption)


@register
@dataclass(frozen=True, kw_only=True)
class Spice(Metric):
    """The F-measure of objects, attributes and relations that candidate and references have in common.

    Args:
        categories: Which tuples to compare, some of `All`, `Object`, `Attribute`, `Relation`, `Color`,
            `Size` and `Count`.
        measures: What to give of each category, some of `F`, `precision` and `recall`.
        text: What is parsed. `tokens` is what pycocoevalcap gives to SPICE: the tokens of its tokenizer,
            joined by spaces, in lower case and without punctuation. `raw` is captions as they were written.
        longest: The longest sentence that is parsed, in tokens, at most 400: time grows with its cube. An
            image with a longer one, in its candidate or a reference, has no score and is left out of corpus
            scores.
        require_all: Whether such an image is an error instead.
        store: Where parses are kept between runs; nowhere by default. It does not change scores.
        model: The file of the compiled model, which all processes of a machine map into memory once; an
            installed one, or that in the user's cache folder, by default.

    Raises:
        OptionError: An option has another value.
    """

    family: ClassVar[str] = "SPICE"
    featured: ClassVar = ("SPICE",)
    page: ClassVar[str] = "spice"
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "SPICE": {},
        **{f"SPICE-{category}": {"categories": (category,)} for category in CATEGORIES[1:]},
    }

    categories: tuple[str, ...] = ("All",)
    measures: tuple[str, ...] = ("F",)
    text: Text = "tokens"
    longest: int = field(default=_LONGEST, metadata=NOT_AN_OPTION)
    require_all: bool = field(default=False, compare=False, metadata=NOT_AN_OPTION)
    store: ParseStore | None = field(default=None, compare=False, metadata=NOT_AN_OPTION)
    model: Path | None = field(default=None, compare=False, metadata=NOT_AN_OPTION)

    def __post_init__(self) -> None:
        for name, choices in (("categories", CATEGORIES), ("measures", MEASURES)):
            check = partial(checked_choice, name, choices=choices)
            checked_different(name, getattr(self, name), "names", check)
        checked_choice("text", self.text, get_args(Text))
        checked_integer("longest", self.longest, 1, _LONGEST_ALLOWED)
        if self.store is not None and not isinstance(self.store, ParseStore):
            raise OptionError(f"'store' must be a ParseStore, or None (got {self.store!r})")
        checked_path("model", self.model)

    @property
    def names(self) -> tuple[str, ...]:
        """`SPICE`, with the category where it is not `All`, and the measure where it is not `F`."""
        return tuple(
            "-".join(["SPICE", *[category] * (category != "All"), *[measure] * (measure != "F")])
            for category in self.categories
            for measure in self.measures
        )

    @property
    def statistics(self) -> tuple[str, ...]:
        """Of each category: counts of tuples, the measures of the image, and 1 if it has them.

        The last one is 1 if the image could not be parsed; its other statistics are 0.
        """
        columns = (f"{category} {column}" for category in self.categories for column in _COLUMNS)
        return (*columns, "not parsed")

    @property
    def reads(self) -> Reads:
        """The tokens, or the captions as they were written."""
        return "tokens" if self.text == "tokens" else "captions"

    @property
    def needs(self) -> tuple[Resource, ...]:
        """The grammar, rules and word lists."""
        return () if self.model is not None else (_MODEL,)

    def remembering(self, folder: Path) -> Self:
        """The metric with a store of parses in a folder, unless it has one."""
        return replace(self, store=self.store or store_in(folder))

    def options(self) -> tuple[str, ...]:
        """The options as `name=value`; the limit of sentences only if it is not the default."""
        limit = () if self.longest == _LONGEST else (f"longest={self.longest}",)
        return (*super().options(), *limit)

    def parsing_up_to(self, longest: int) -> Self:
        """Return the metric with this limit of sentences."""
        return replace(self, longest=longest)

    def requiring_all(self) -> Self:
        """Return the metric that raises an error if a caption can't be parsed."""
        return replace(self, require_all=True)

    def unscored(self, statistics: FloatArray) -> FloatArray:
        """Return the number of images that could not be parsed."""
        return statistics[..., -1]

    @property
    def unscored_reason(self) -> str:
        """The limit of sentences."""
        limit = f"a sentence of more than {self.longest} tokens"
        return f"not scored by SPICE or SPIDEr, since a caption has {limit}"

    @property
    def unscored_fix(self) -> str:
        """The option that raises the limit, if it can be raised."""
        if self.longest == _LONGEST_ALLOWED:
            return "this is the highest limit"
        return (
            f"raise the limit with --spice-longest N (Python: Spice(longest=N)), at most {_LONGEST_ALLOWED}"
        )

    def explain(self, candidate: str, references: Sequence[str]) -> ComparedGraphs:
        """The scene graphs of the candidate and of all references together.

        Raises:
            LongSentenceError: A sentence is longer than `longest`.
            ResourceError: The model was not made yet.
        """
        from capeval.metrics.scene_graphs import ComparedGraphs, SceneGraph

        model = self._native_model()
        parses = parsed(model, [candidate, *references], longest=self.longest, store=self.store)
        prepared = _native.SpiceReferences(model, [[parses[text] for text in references]])
        ours, theirs = prepared.compare(0, parses[candidate])
        return ComparedGraphs(
            candidate=SceneGraph.from_native(*ours), references=SceneGraph.from_native(*theirs)
        )

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Parses the references and merges the scene graphs of each image.

        Raises:
            UnscoredError: A sentence is longer than `longest`, and `require_all` is set.
            ResourceError: The model was not made yet.
        """
        model = self._native_model()
        groups = self._texts(references)
        known = self._parses(references, list(chain.from_iterable(groups)))
        has_parses = np.array(
            [all(known[text] is not None for text in group) for group in groups], dtype=bool
        )
        self._check(references.references.image_ids, has_parses)
        parsed_groups = [[parse for text in group if (parse := known[text]) is not None] for group in groups]
        prepared = _native.SpiceReferences(model, parsed_groups)

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            texts = candidates.texts() if self.text == "tokens" else candidates.captions()
            parses = self._parses(candidates, texts, known)
            is_parsed = np.array([parses[text] is not None for text in texts], dtype=bool)
            is_parsed &= has_parses[candidates.positions]
            self._check(candidates.image_ids, is_parsed)
            rows = np.zeros((len(texts), len(self.statistics)))
            rows[~is_parsed, -1] = 1
            places = np.flatnonzero(is_parsed)
            found = [parse for place in places.tolist() if (parse := parses[texts[place]]) is not None]
            compared = prepared.statistics(candidates.positions[places], found)
            rows[places, :-1] = compared[:, self._places].reshape(len(places), rows.shape[1] - 1)
            return rows

        return statistics

    def _check(self, images: Sequence[ImageId], is_parsed: NDArray[np.bool_]) -> None:
        """Refuse images that could not be parsed, if none may be left out."""
        if self.require_all and not is_parsed.all():
            missing = dict.fromkeys(images[place] for place in np.flatnonzero(~is_parsed).tolist())
            raise UnscoredError(tuple(missing), self.unscored_reason)

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """The means of the measures over the images that have them; NaN where none has.

        Of all tuples, every image that was parsed counts, as in pycocoevalcap. Of a category, the images
        count whose references have tuples of it, as in the reference's own report.
        """
        measures = [_COLUMNS.index(measure) for measure in self.measures]
        counted = statistics[..., :-1]
        by_category = counted.reshape(*statistics.shape[:-1], len(self.categories), len(_COLUMNS))
        with np.errstate(invalid="ignore"):
            scores: FloatArray = by_category[..., measures] / by_category[..., -1:]
        return scores.reshape(*statistics.shape[:-1], len(self.names))

    def _native_model(self) -> _native.SpiceModel:
        return spice_model() if self.model is None else opened_model(self.model)

    @property
    def _places(self) -> list[int]:
        """Where its categories are among all."""
        return [CATEGORIES.index(category) for category in self.categories]

    def _texts(self, references: TokenizedReferences) -> list[list[str]]:
        captions = references.references
        if self.text == "raw":
            return [captions[image] for image in captions]
        return [references.texts(image) for image in captions]

    def _parses(
        self,
        captions: TokenizedReferences | TokenizedCandidates,
        texts: Sequence[str],
        known: Mapping[str, bytes | None] = MappingProxyType({}),
    ) -> _Parses:
        """Return the parse of each text, or None, shared by all metrics that parse the same captions."""
        # By the limit too, so that another metric's parse does not hide that a sentence is too long.
        model = self._native_model()
        parses = _PARSES.setdefault(captions, {}).setdefault((model.fingerprint, self.longest), {})
        missing = [text for text in texts if text not in parses]
        parses |= {text: known[text] for text in missing if text in known}
        new = [text for text in missing if text not in parses]
        made, _ = _parsed(model, new, self.longest, self.store)
        parses |= {text: made.get(text) for text in new}
        return parses


def parsed(
    model: _native.SpiceModel,
    texts: Iterable[str],
    *,
    longest: int = _LONGEST,
    store: ParseStore | None = None,
) -> dict[str, bytes]:
    """The parse of each different caption: from the store, where it is there, and made otherwise.

    What is parsed goes to the store bit by bit, so that work that was interrupted goes on where it was.

    Args:
        model: The model.
        texts: The captions.
        longest: The longest sentence that is parsed, in tokens.
        store: Where parses are kept between runs.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
    """
    different = list(dict.fromkeys(texts))
    parses, too_long = _parsed(model, different, longest, store)
    for text in different:
        if text in too_long:
            raise _long_sentence(text, too_long[text], longest)
    return parses


def _parsed(
    model: _native.SpiceModel, texts: Iterable[str], longest: int, store: ParseStore | None
) -> tuple[dict[str, bytes], dict[str, int]]:
    """Return the parse of each caption, and the number of tokens of each sentence that is too long."""
    different = list(dict.fromkeys(texts))
    too_long: dict[str, int] = {}
    # With the limit, so that what is kept never hides that a sentence is longer.
    key = f"{model.fingerprint} {longest}"
    parses = {} if store is None else store.read(key, different)
    # Sentences of one length are parsed side by side.
    missing = sorted((text for text in different if text not in parses), key=lambda text: text.count(" "))
    done = 0
    for chunk in _chunks(missing):
        report_progress("Parsing captions", done, len(missing))
        new = _parsed_chunk(model, chunk, longest, too_long)
        if store is not None and not store.write(key, new):
            # Not tried again with each chunk: another process may lock it, and the disk may be full.
            store = None
        parses |= new
        done += len(chunk)
    if missing:
        report_progress("Parsing captions", done, done)
    return parses, too_long


def _parsed_chunk(
    model: _native.SpiceModel, texts: list[str], longest: int, too_long: dict[str, int]
) -> dict[str, bytes]:
    """Return the parses of some captions; add those with a sentence that is too long to `too_long`."""
    if not texts:
        return {}
    try:
        return dict(zip(texts, model.parse(texts, longest), strict=True))
    except _native.SentenceTooLongError as error:
        # Nothing was parsed, and no caption before this one is too long. The others are halved, so that
        # the cost of many long captions does not grow with their square.
        position, words = error.args
    too_long[texts[position]] = words
    middle = (position + 1 + len(texts)) // 2
    parts = texts[:position], texts[position + 1 : middle], texts[middle:]
    return {
        text: parse for part in parts for text, parse in _parsed_chunk(model, part, longest, too_long).items()
    }


def scene_tuples(
    captions: Sequence[str], *, longest: int = _LONGEST, store: ParseStore | None = None
) -> list[list[tuple[str, ...]]]:
    """The tuples of each caption by itself, in the reference's order: of one, two or three texts.

    They stand for an object, an object and its attribute, or a subject, a relation and an object.

    Args:
        captions: The captions, as SPICE is to parse them.
        longest: The longest sentence that is parsed, in tokens.
        store: Where parses are kept between runs.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
        ResourceError: The model was not made yet.
    """
    parses = parsed(spice_model(), captions, longest=longest, store=store)
    known = {text: [tuple(parts) for parts in _native.spice_tuples(parse)] for text, parse in parses.items()}
    return [known[caption] for caption in captions]


def sentence_stages(
    captions: Sequence[str], *, longest: int = _LONGEST
) -> list[list[_native.SentenceStages]]:
    """What SPICE finds out of each sentence of each caption: tokens, tags, lemmas, tree, dependencies.

    Args:
        captions: The captions, as SPICE is to parse them.
        longest: The longest sentence that is parsed, in tokens.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
        ResourceError: The model was not made yet.
    """
    model = spice_model()
    stages: list[list[_native.SentenceStages]] = []
    for chunk in _chunks(list(captions)):
        report_progress("Analyzing captions", len(stages), len(captions))
        with _naming_long_sentences(chunk, longest):
            stages += model.stages(chunk, longest)
    report_progress("Analyzing captions", len(captions), len(captions))
    return stages


@contextmanager
def _naming_long_sentences(texts: Sequence[str], longest: int) -> Iterator[None]:
    try:
        yield
    except _native.SentenceTooLongError as error:
        position, words = error.args
        raise _long_sentence(texts[position], words, longest) from None


def _long_sentence(text: str, words: int, longest: int) -> LongSentenceError:
    return LongSentenceError(
        f"SPICE parses sentences of up to {longest} tokens (got one of {words} in the caption"
        f" {shortened(text)}); the option 'longest' sets the limit",
        text,
    )


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    start, size = 0, _SMALLEST_CHUNK
    while start < len(texts):
        begun = time.monotonic()
        yield texts[start : start + size]
        start += size
        wanted = size * _CHUNK_SECONDS / max(time.monotonic() - begun, 1e-3)
        size = max(_SMALLEST_CHUNK, min(int(wanted), 4 * size, _LARGEST_CHUNK))
