"""SPICE 1.0 (Anderson et al. 2016): comparison of captions by their scene graphs."""

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
from capeval._internal.validation import checked_different, checked_path, validate_choice, validate_integer
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError, OptionError, UnscoredError
from capeval.errors.messages import shorten
from capeval.metrics.base import NOT_AN_OPTION, Kernel, Metric, Reads, Resource
from capeval.metrics.registry import register
from capeval.resources.parse_store import ParseStore
from capeval.resources.spice import INSTALL_MODEL, RUN, find_model, load_model, open_model, store_in
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

if TYPE_CHECKING:
    from capeval.metrics.scene_graphs import ComparedGraphs

__all__ = [
    "CATEGORIES",
    "MEASURES",
    "LongSentenceError",
    "Spice",
    "analyze_sentences",
    "list_scene_tuples",
    "parse_captions",
]

CATEGORIES = ("All", "Object", "Attribute", "Relation", "Color", "Size", "Count")
"""Categories of tuples: all tuples, or tuples of one kind."""

MEASURES = ("F", "precision", "recall")

Text = Literal["tokens", "raw"]

# Captions are parsed in chunks of about this many seconds. After each chunk, progress is reported and the
# store is written, so an interrupted run loses at most one chunk. Smaller chunks would leave threads idle and
# split sentences of equal length, which are parsed in parallel, into different chunks.
_CHUNK_SECONDS, _SMALLEST_CHUNK, _LARGEST_CHUNK = 1.0, 256, 16_384
_DEFAULT_LIMIT, _HIGHEST_LIMIT = 400, 800
_COLUMNS = ("candidate tuples", "reference tuples", "matched", *MEASURES, "images")
# The parse is None if the caption contains a sentence that is too long.
_Parses = dict[str, bytes | None]
# Parses by model and sentence limit, cached for the lifetime of the captions.
_PARSES: WeakKeyDictionary[TokenizedReferences | TokenizedCandidates, dict[tuple[str, int], _Parses]]
_PARSES = WeakKeyDictionary()
_MODEL = Resource(
    name="SPICE's model",
    prepare=lambda _: load_model(),
    found=find_model,
    steps=1,
    memory=2**30,
    seconds=300,
    install=INSTALL_MODEL,
    can_build=lambda: False,
    command=RUN,
)


class LongSentenceError(CaptionError):
    """A caption with a sentence longer than the limit of the parser.

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
    """F-measure of objects, attributes and relations.

    They come from scene graphs of the candidate and of the references.

    Args:
        categories: The tuples to compare, some of `All`, `Object`, `Attribute`, `Relation`, `Color`, `Size`
            and `Count`.
        measures: The scores of each category, some of `F`, `precision` and `recall`.
        text: The text to parse. `tokens` is the input that pycocoevalcap passes to SPICE: the tokenizer's
            tokens joined by spaces, in lower case and without punctuation. `raw` is the original captions.
        longest: The maximum length of sentences to parse, in tokens, at most 800; time grows with its cube.
            An image with a longer sentence in its candidate or a reference has no score and is excluded from
            corpus scores.
        require_all: Whether to raise an error for such an image instead.
        store: The cache of parses; by default parses are not cached. It does not change scores.
        model: The file of the compiled model, mapped into memory once for all processes of a machine; by
            default an installed model, or the one in the user's cache folder.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        The candidate has three tuples: `(dog)`, `(grass)` and `(dog, grass, run on)`. The reference has these
        three and `(dog, brown)`:

        >>> from capeval import Spice, evaluate
        >>> spice = Spice(measures=("F", "precision", "recall"))
        >>> report = evaluate({1: ["A brown dog runs on the grass."]}, {1: "A dog runs on grass."}, [spice])
        >>> {name: round(score, 3) for name, score in report.corpus.items()}
        {'SPICE': 0.857, 'SPICE-precision': 1.0, 'SPICE-recall': 0.75}
    """

    family: ClassVar[str] = "SPICE"
    featured: ClassVar = ("SPICE",)
    docs_page: ClassVar[str] = "spice"
    citations: ClassVar = ("anderson2016spice",)
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "SPICE": {},
        **{f"SPICE-{category}": {"categories": (category,)} for category in CATEGORIES[1:]},
    }

    categories: tuple[str, ...] = ("All",)
    measures: tuple[str, ...] = ("F",)
    text: Text = "tokens"
    longest: int = field(default=_DEFAULT_LIMIT, metadata=NOT_AN_OPTION)
    require_all: bool = field(default=False, compare=False, metadata=NOT_AN_OPTION)
    store: ParseStore | None = field(default=None, compare=False, metadata=NOT_AN_OPTION)
    model: Path | None = field(default=None, compare=False, metadata=NOT_AN_OPTION)

    def __post_init__(self) -> None:
        for name, choices in (("categories", CATEGORIES), ("measures", MEASURES)):
            check = partial(validate_choice, name, choices=choices)
            checked_different(name, getattr(self, name), "names", check)
        validate_choice("text", self.text, get_args(Text))
        validate_integer("longest", self.longest, 1, _HIGHEST_LIMIT)
        if self.store is not None and not isinstance(self.store, ParseStore):
            raise OptionError(f"'store' must be a ParseStore, or None (got {self.store!r})")
        checked_path("model", self.model)

    @property
    def names(self) -> tuple[str, ...]:
        """`SPICE`, with the category if it is not `All` and the measure if it is not `F`."""
        return tuple(
            "-".join(["SPICE", *[category] * (category != "All"), *[measure] * (measure != "F")])
            for category in self.categories
            for measure in self.measures
        )

    @property
    def statistics(self) -> tuple[str, ...]:
        """Per category: counts of tuples, the image's measures, and 1 if they are defined.

        The last statistic is 1 if the image could not be parsed; its other statistics are then 0.
        """
        columns = (f"{category} {column}" for category in self.categories for column in _COLUMNS)
        return (*columns, "not parsed")

    @property
    def input_kind(self) -> Reads:
        """The tokens, or the original captions."""
        return "tokens" if self.text == "tokens" else "captions"

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The model: grammar, rules and word lists."""
        return () if self.model is not None else (_MODEL,)

    def with_cache(self, folder: Path) -> Self:
        """Return a copy that caches parses in a folder, unless it already has a cache."""
        return replace(self, store=self.store or store_in(folder))

    def options(self) -> tuple[str, ...]:
        """Return the options as `name=value`; a sentence limit only if it was changed."""
        limit = () if self.longest == _DEFAULT_LIMIT else (f"longest={self.longest}",)
        return (*super().options(), *limit)

    def with_sentence_limit(self, longest: int) -> Self:
        """Return a copy with this sentence limit, in tokens."""
        return replace(self, longest=longest)

    def without_exclusions(self) -> Self:
        """Return a copy that raises an error if a caption can't be parsed."""
        return replace(self, require_all=True)

    def unscored(self, statistics: FloatArray) -> FloatArray:
        """Return the number of images that could not be parsed."""
        return statistics[..., -1]

    @property
    def unscored_reason(self) -> str:
        """The reason for unscored images: the sentence limit."""
        limit = f"a sentence of more than {self.longest} tokens"
        return f"not scored by SPICE or SPIDEr, since a caption has {limit}"

    @property
    def unscored_fix(self) -> str:
        """The option that raises the sentence limit, if it can be raised."""
        if self.longest == _HIGHEST_LIMIT:
            return "this is the highest limit"
        return f"raise the limit with --spice-longest N (Python: Spice(longest=N)), at most {_HIGHEST_LIMIT}"

    def explain(self, candidate: str, references: Sequence[str]) -> ComparedGraphs:
        """Return the scene graphs of the candidate and of all references together.

        Raises:
            LongSentenceError: A sentence is longer than `longest`.
            ResourceError: The model was not built yet.
        """
        from capeval.metrics.scene_graphs import ComparedGraphs, SceneGraph

        model = self._native_model()
        parses = parse_captions(model, [candidate, *references], longest=self.longest, store=self.store)
        prepared = _native.SpiceReferences(model, [[parses[text] for text in references]])
        ours, theirs = prepared.compare(0, parses[candidate])
        return ComparedGraphs(
            candidate=SceneGraph.from_native(*ours), references=SceneGraph.from_native(*theirs)
        )

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Parse the references and merge the scene graphs of each image.

        Raises:
            UnscoredError: A sentence is longer than `longest`, and `require_all` is set.
            ResourceError: The model was not built yet.
        """
        model = self._native_model()
        groups = self._list_texts(references)
        known = self._get_parses(references, list(chain.from_iterable(groups)))
        has_parses = np.array(
            [all(known[text] is not None for text in group) for group in groups], dtype=bool
        )
        self._require_parsed(references.references.image_ids, has_parses)
        parsed_groups = [[parse for text in group if (parse := known[text]) is not None] for group in groups]
        prepared = _native.SpiceReferences(model, parsed_groups)

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            texts = candidates.texts() if self.text == "tokens" else candidates.captions()
            parses = self._get_parses(candidates, texts, known)
            is_parsed = np.array([parses[text] is not None for text in texts], dtype=bool)
            is_parsed &= has_parses[candidates.positions]
            self._require_parsed(candidates.image_ids, is_parsed)
            rows = np.zeros((len(texts), len(self.statistics)))
            rows[~is_parsed, -1] = 1
            places = np.flatnonzero(is_parsed)
            found = [parse for place in places.tolist() if (parse := parses[texts[place]]) is not None]
            compared = prepared.statistics(candidates.positions[places], found)
            rows[places, :-1] = compared[:, self._category_indices].reshape(len(places), rows.shape[1] - 1)
            return rows

        return statistics

    def _require_parsed(self, images: Sequence[ImageId], is_parsed: NDArray[np.bool_]) -> None:
        """Raise an error for images that could not be parsed, if `require_all` is set."""
        if self.require_all and not is_parsed.all():
            missing = dict.fromkeys(images[place] for place in np.flatnonzero(~is_parsed).tolist())
            raise UnscoredError(tuple(missing), self.unscored_reason)

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return the mean of each measure over the images with a defined value.

        The mean over no images is NaN.

        The category `All` averages over every parsed image, like pycocoevalcap. Other categories average over
        images with tuples of the category in their references, like the reference implementation's report.
        """
        measures = [_COLUMNS.index(measure) for measure in self.measures]
        counted = statistics[..., :-1]
        by_category = counted.reshape(*statistics.shape[:-1], len(self.categories), len(_COLUMNS))
        with np.errstate(invalid="ignore"):
            scores: FloatArray = by_category[..., measures] / by_category[..., -1:]
        return scores.reshape(*statistics.shape[:-1], len(self.names))

    def _native_model(self) -> _native.SpiceModel:
        return load_model() if self.model is None else open_model(self.model)

    @property
    def _category_indices(self) -> list[int]:
        """Indices of the metric's categories in `CATEGORIES`."""
        return [CATEGORIES.index(category) for category in self.categories]

    def _list_texts(self, references: TokenizedReferences) -> list[list[str]]:
        captions = references.references
        if self.text == "raw":
            return [captions[image] for image in captions]
        return [references.texts(image) for image in captions]

    def _get_parses(
        self,
        captions: TokenizedReferences | TokenizedCandidates,
        texts: Sequence[str],
        known: Mapping[str, bytes | None] = MappingProxyType({}),
    ) -> _Parses:
        """Return the parse of each text, or None if it has a sentence that is too long.

        Parses are shared by all metrics that parse the same captions.
        """
        # The limit is part of the key: the parse of a metric with a higher limit must not hide that a
        # sentence is too long.
        model = self._native_model()
        parses = _PARSES.setdefault(captions, {}).setdefault((model.fingerprint, self.longest), {})
        missing = [text for text in texts if text not in parses]
        parses |= {text: known[text] for text in missing if text in known}
        new = [text for text in missing if text not in parses]
        made, _ = _parse_captions(model, new, self.longest, self.store)
        parses |= {text: made.get(text) for text in new}
        return parses


def parse_captions(
    model: _native.SpiceModel,
    texts: Iterable[str],
    *,
    longest: int = _DEFAULT_LIMIT,
    store: ParseStore | None = None,
) -> dict[str, bytes]:
    """Return the parse of each distinct caption, from the store if it is cached there.

    New parses are stored in chunks, so an interrupted run can be resumed.

    Args:
        model: The model.
        texts: The captions.
        longest: The maximum length of sentences to parse, in tokens.
        store: The cache of parses.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
    """
    different = list(dict.fromkeys(texts))
    parses, too_long = _parse_captions(model, different, longest, store)
    for text in different:
        if text in too_long:
            raise _create_length_error(text, too_long[text], longest)
    return parses


def _parse_captions(
    model: _native.SpiceModel, texts: Iterable[str], longest: int, store: ParseStore | None
) -> tuple[dict[str, bytes], dict[str, int]]:
    """Parse captions.

    Returns:
        The parse of each caption, and the number of tokens of the sentence that is too long for each caption
        without a parse.
    """
    different = list(dict.fromkeys(texts))
    too_long: dict[str, int] = {}
    # The limit is part of the key: a stored parse must not hide that a sentence is too long.
    key = f"{model.fingerprint} {longest}"
    parses = {} if store is None else store.read(key, different)
    # Sentences of equal length are parsed in parallel.
    missing = sorted((text for text in different if text not in parses), key=lambda text: text.count(" "))
    done = 0
    for chunk in _iter_chunks(missing):
        report_progress("Parsing captions", done, len(missing))
        new = _parse_chunk(model, chunk, longest, too_long)
        if store is not None and not store.write(key, new):
            # No retry with the next chunks: a different process may lock the store, or the disk may be full.
            store = None
        parses |= new
        done += len(chunk)
    if missing:
        report_progress("Parsing captions", done, done)
    return parses, too_long


def _parse_chunk(
    model: _native.SpiceModel, texts: list[str], longest: int, too_long: dict[str, int]
) -> dict[str, bytes]:
    """Return the parses of a chunk; add captions with long sentences to `too_long`."""
    if not texts:
        return {}
    try:
        return dict(zip(texts, model.parse(texts, longest), strict=True))
    except _native.SentenceTooLongError as error:
        # Nothing was parsed, and no caption before this one is too long. The rest is split in half, so that
        # the cost does not grow with the square of the number of long captions.
        position, words = error.args
    too_long[texts[position]] = words
    middle = (position + 1 + len(texts)) // 2
    parts = texts[:position], texts[position + 1 : middle], texts[middle:]
    return {
        text: parse for part in parts for text, parse in _parse_chunk(model, part, longest, too_long).items()
    }


def list_scene_tuples(
    captions: Sequence[str], *, longest: int = _DEFAULT_LIMIT, store: ParseStore | None = None
) -> list[list[tuple[str, ...]]]:
    """Return the tuples of each caption, in the reference implementation's order.

    A tuple has one text (an object), two (an object and its attribute), or three (a subject, a relation and
    an object).

    Args:
        captions: The captions, in the form that SPICE is to parse.
        longest: The maximum length of sentences to parse, in tokens.
        store: The cache of parses.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
        ResourceError: The model was not built yet.
    """
    parses = parse_captions(load_model(), captions, longest=longest, store=store)
    known = {text: [tuple(parts) for parts in _native.spice_tuples(parse)] for text, parse in parses.items()}
    return [known[caption] for caption in captions]


def analyze_sentences(
    captions: Sequence[str], *, longest: int = _DEFAULT_LIMIT
) -> list[list[_native.SentenceStages]]:
    """Analyze each sentence of each caption: tokens, tags, lemmas, tree, dependencies.

    Args:
        captions: The captions, in the form that SPICE is to parse.
        longest: The maximum length of sentences to parse, in tokens.

    Raises:
        LongSentenceError: A sentence is longer than `longest`.
        ResourceError: The model was not built yet.
    """
    model = load_model()
    stages: list[list[_native.SentenceStages]] = []
    for chunk in _iter_chunks(list(captions)):
        report_progress("Analyzing captions", len(stages), len(captions))
        with _name_long_sentences(chunk, longest):
            stages += model.stages(chunk, longest)
    report_progress("Analyzing captions", len(captions), len(captions))
    return stages


@contextmanager
def _name_long_sentences(texts: Sequence[str], longest: int) -> Iterator[None]:
    try:
        yield
    except _native.SentenceTooLongError as error:
        position, words = error.args
        raise _create_length_error(texts[position], words, longest) from None


def _create_length_error(text: str, words: int, longest: int) -> LongSentenceError:
    return LongSentenceError(
        f"SPICE parses sentences of up to {longest} tokens (got one of {words} in the caption"
        f" {shorten(text)}); raise the limit with the option 'longest'",
        text,
    )


def _iter_chunks(texts: list[str]) -> Iterator[list[str]]:
    start, size = 0, _SMALLEST_CHUNK
    while start < len(texts):
        begun = time.monotonic()
        yield texts[start : start + size]
        start += size
        wanted = size * _CHUNK_SECONDS / max(time.monotonic() - begun, 1e-3)
        size = max(_SMALLEST_CHUNK, min(int(wanted), 4 * size, _LARGEST_CHUNK))
