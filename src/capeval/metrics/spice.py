"""SPICE 1.0 (Anderson et al. 2016): comparison of captions by their scene graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from capeval._internal.validation import checked_different, checked_path, validate_choice, validate_integer
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import OptionError, UnscoredError
from capeval.metrics.base import NOT_AN_OPTION, Kernel, Metric, Reads, Resource
from capeval.metrics.registry import register
from capeval.metrics.sentences import list_candidate_sentences, list_reference_sentences
from capeval.metrics.spice_parsing import DEFAULT_LIMIT, parse_captions, parse_short_captions
from capeval.resources.parse_store import ParseStore
from capeval.resources.spice import INSTALL_MODEL, find_model, load_model, open_model, store_in
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, warn_about_other_scripts

if TYPE_CHECKING:
    from capeval.metrics.scene_graphs import ComparedGraphs

__all__ = ["CATEGORIES", "MEASURES", "Spice"]

CATEGORIES = ("All", "Object", "Attribute", "Relation", "Color", "Size", "Count")
"""Categories of tuples: all tuples, or tuples of one kind."""

MEASURES = ("F", "precision", "recall")

Text = Literal["tokens", "sentences", "raw"]

_HIGHEST_LIMIT = 800
_COLUMNS = ("candidate tuples", "reference tuples", "matched", *MEASURES, "images")
# The parse is None if the caption contains a sentence that is too long.
_Parses = dict[str, bytes | None]
# Parses by model, sentence limit and form of the text, cached for the lifetime of the captions.
_PARSES: WeakKeyDictionary[TokenizedReferences | TokenizedCandidates, dict[tuple[str, int, str], _Parses]]
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
)


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
            tokens joined by spaces, in lower case and without punctuation, so a caption is one sentence.
            `sentences` splits these tokens at the ends of sentences, parses each sentence, and merges their
            tuples. `raw` is the original captions.
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
    longest: int = field(default=DEFAULT_LIMIT, metadata=NOT_AN_OPTION)
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
        """The tokens, the tokens of each sentence, or the original captions."""
        return "captions" if self.text == "raw" else self.text

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The model: grammar, rules and word lists."""
        return () if self.model is not None else (_MODEL,)

    def with_cache(self, folder: Path) -> Self:
        """Return a copy that caches parses in a folder, unless it already has a cache."""
        return replace(self, store=self.store or store_in(folder))

    def options(self) -> tuple[str, ...]:
        """Return the options as `name=value`; a sentence limit only if it was changed."""
        limit = () if self.longest == DEFAULT_LIMIT else (f"longest={self.longest}",)
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
        limit = f"raise the limit with --spice-longest N (Python: Spice(longest=N)), at most {_HIGHEST_LIMIT}"
        separately = ", or parse each sentence separately with SPICE(text=sentences)"
        return limit + separately * (self.text == "tokens")

    def explain(self, candidate: str, references: Sequence[str]) -> ComparedGraphs:
        """Return the scene graphs of the candidate and of all references together.

        Raises:
            LongSentenceError: A sentence is longer than `longest`.
            ResourceError: The model was not built yet.
        """
        from capeval.metrics.scene_graphs import ComparedGraphs, SceneGraph

        model = self._native_model()
        texts = [candidate, *references]
        parts = chain.from_iterable(map(self._split, texts))
        known = parse_captions(model, parts, longest=self.longest, store=self.store)
        parses = {text: b"".join(known[part] for part in self._split(text)) for text in texts}
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
        warn_about_other_scripts(references, "SPICE")
        model = self._native_model()
        groups = self._list_references(references)
        known = self._get_parses(references, list(chain.from_iterable(groups)))
        has_parses = np.array(
            [all(known[text] is not None for text in group) for group in groups], dtype=bool
        )
        self._require_parsed(references.references.image_ids, has_parses)
        parsed_groups = [[parse for text in group if (parse := known[text]) is not None] for group in groups]
        prepared = _native.SpiceReferences(model, parsed_groups)

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            texts = self._list_candidates(candidates)
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

    def _list_references(self, references: TokenizedReferences) -> list[list[str]]:
        captions = references.references
        if self.text == "raw":
            return [captions[image] for image in captions]
        if self.text == "sentences":
            return list_reference_sentences(references)
        return [references.texts(image) for image in captions]

    def _list_candidates(self, candidates: TokenizedCandidates) -> list[str]:
        if self.text == "raw":
            return candidates.captions()
        return list_candidate_sentences(candidates) if self.text == "sentences" else candidates.texts()

    def _split(self, text: str) -> list[str]:
        """Return the parts of a text that are parsed separately."""
        return text.split("\n") if self.text == "sentences" else [text]

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
        key = (model.fingerprint, self.longest, self.text)
        parses = _PARSES.setdefault(captions, {}).setdefault(key, {})
        missing = [text for text in texts if text not in parses]
        parses |= {text: known[text] for text in missing if text in known}
        new = [text for text in missing if text not in parses]
        parts = chain.from_iterable(map(self._split, new))
        made, _ = parse_short_captions(model, parts, self.longest, self.store)
        parses |= {text: _merge([made.get(part) for part in self._split(text)]) for text in new}
        return parses


def _merge(parses: Sequence[bytes | None]) -> bytes | None:
    """Merge the parses of a caption's sentences, as those of several references are merged."""
    found = [parse for parse in parses if parse is not None]
    return b"".join(found) if len(found) == len(parses) else None
