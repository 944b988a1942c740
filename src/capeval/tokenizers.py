"""Tokenizers: the reference's Penn Treebank tokenizer without Java, and others."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from capeval import _native
from capeval._internal import language_tokens
from capeval._internal.plugins import PluginGroup, Registry
from capeval._internal.reference_lines import tokenize_as_lines
from capeval._internal.validation import validate_choice, validate_flag, validate_integer
from capeval.data.captions import Candidates, ImageId, References, ReferencesLike
from capeval.data.scores import Digest
from capeval.errors import CapevalWarning, CaptionError, DependencyError, MismatchError, OptionError
from capeval.errors.messages import describe_id_types, format_images, shorten

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "TOKENIZERS",
    "TokenizedCandidates",
    "TokenizedReferences",
    "Tokenizer",
    "as_tokenized",
    "as_tokenizer",
    "set_threads",
    "tokenize",
    "warn_about_other_scripts",
]

Kind = Literal["ptb", "none", "function"]
Punctuation = Literal["reference", "paper", "keep"]
Context = Literal["file", "caption"]
LineEnds = Literal["space", "reference"]

# Signatures separate their parts with `|`.
_NAME = re.compile(r"[^\s|]+")
_MAX_THREADS = 4096
# Options that apply only to the Penn Treebank tokenizer.
_PTB_DEFAULTS = {"lowercase": True, "punctuation": "reference", "context": "file", "line_ends": "space"}
# Number of checked captions in the warning about scripts.
_SAMPLE = 100


def set_threads(count: int | None) -> None:
    """Set the number of threads that tokenize and score in this process.

    Scores do not depend on it. Use it in workers of a distributed engine that assigns some of the processors
    to each worker.

    Args:
        count: The number of threads. None uses the environment variable `RAYON_NUM_THREADS` or, if it is not
            set, the number of processors.

    Raises:
        OptionError: `count` is not an integer from 1 to 4096.

    Example:
        >>> from capeval import evaluate, set_threads
        >>> set_threads(1)
        >>> report = evaluate({1: ["A dog runs."]}, {1: "A dog."}, ["BLEU"])
        >>> round(report.corpus["BLEU-1"], 3)
        0.607
        >>> set_threads(None)
    """
    _native.set_threads(0 if count is None else validate_integer("count", count, 1, _MAX_THREADS))


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """A tokenizer and its options.

    Args:
        kind: `ptb` is the Penn Treebank tokenizer of Stanford CoreNLP 3.4.1, as in the reference. `none`
            splits captions that are already tokenized, with single spaces between the tokens. `function`
            calls `function`, and is implied by it.
        lowercase: Whether tokens are lower-cased (`ptb` only).
        punctuation: Punctuation to remove (`ptb` only). `reference` removes the same tokens as the reference,
            after lower-casing, so brackets such as `-lrb-` remain. `paper` also removes the brackets, which
            the paper lists. `keep` removes nothing.
        context: Unit of tokenization (`ptb` only). With `file`, captions are consecutive lines of one file,
            as in the reference; in rare cases the next caption changes a token. With `caption`, each caption
            is tokenized independently, so its tokens do not depend on the other captions.
        line_ends: Line ends inside captions (`ptb` only). With `space`, each is one space. `reference`
            repeats an error of pycocoevalcap 1.2: after a line end such as a carriage return, each later
            caption has the tokens of an earlier line.
        function: A custom tokenizer, for example for other languages. It receives a raw caption and returns
            its tokens as a list of strings without white space.
        name: Name of the function in signatures. Include its version, such as `jieba-0.42.1`.
        batched: Whether the function receives the list of all captions and returns a list of tokens for each
            caption.

    Raises:
        OptionError: An option has an invalid value, or two options contradict each other.
    """

    kind: Kind = "ptb"
    lowercase: bool = True
    punctuation: Punctuation = "reference"
    context: Context = "file"
    line_ends: LineEnds = "space"
    function: Callable[[str], Sequence[str]] | Callable[[list[str]], Sequence[Sequence[str]]] | None = None
    name: str = ""
    batched: bool = False

    def __post_init__(self) -> None:
        validate_choice("kind", self.kind, get_args(Kind))
        validate_choice("punctuation", self.punctuation, get_args(Punctuation))
        validate_choice("context", self.context, get_args(Context))
        validate_choice("line_ends", self.line_ends, get_args(LineEnds))
        validate_flag("lowercase", self.lowercase)
        validate_flag("batched", self.batched)
        if self.function is not None or self.kind == "function":
            self._check_function()
            object.__setattr__(self, "kind", "function")
        elif self.name != "":
            raise OptionError(f"'name' requires a 'function' (got name={self.name!r} without a function)")
        elif self.batched:
            raise OptionError("'batched' requires a 'function' (got batched=True without a function)")
        if self.line_ends == "reference" and (self.kind != "ptb" or self.context != "file"):
            raise OptionError(
                "line_ends='reference' requires the tokenizer 'ptb' with context='file'"
                f" (got kind={self.kind!r}, context={self.context!r})"
            )

    def _check_function(self) -> None:
        if not callable(self.function):
            raise OptionError(
                f"'function' must be a callable that splits a caption into tokens (got {self.function!r})"
            )
        if self.kind == "none":
            raise OptionError("'kind' and 'function' exclude each other (got kind='none'); omit 'kind'")
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise OptionError(
                "'name' must be a name for the function in signatures, such as 'jieba-0.42.1', without white"
                f" space or '|' (got {self.name!r})"
            )
        for option, default in _PTB_DEFAULTS.items():
            if getattr(self, option) != default:
                raise OptionError(
                    f"{option!r} applies only to the tokenizer 'ptb', not to a 'function'"
                    f" (got {getattr(self, option)!r})"
                )

    @property
    def native(self) -> _native.TokenizerOptions:
        """The options in the form that the kernels accept."""
        return _native.TokenizerOptions(
            penn_treebank=self.kind == "ptb" and self.line_ends == "space",
            lowercase=self.lowercase,
            punctuation=self.punctuation,
            alone=self.context == "caption",
        )

    def __str__(self) -> str:
        if self.kind == "none":
            return "none"
        if self.kind == "function":
            is_named = _FUNCTIONS.get(self.name) is self.function
            return language_tokens.describe_tokenizer(self.name) if is_named else f"function:{self.name}"
        case = "lower" if self.lowercase else "cased"
        context = "" if self.context == "file" else f"-context:{self.context}"
        line_ends = "" if self.line_ends == "space" else f"-line_ends:{self.line_ends}"
        return f"ptb-3.4.1-{case}-punctuation:{self.punctuation}{context}{line_ends}"


def as_tokenizer(made: object, name: str, place: str) -> Tokenizer:
    """Return a `Tokenizer` unchanged, and wrap a function in a named tokenizer.

    Args:
        made: A tokenizer, or a function from a caption to its tokens.
        name: Name of a function in signatures.
        place: Where `made` comes from, for the error message.

    Raises:
        OptionError: `made` is neither a function nor a tokenizer.
    """
    if isinstance(made, Tokenizer):
        return made
    if not callable(made):
        got = "nothing" if made is None else repr(made)
        raise OptionError(f"{place} must be a function or a Tokenizer (got {got})")
    return Tokenizer(function=made, name=name)


def _register_plugin(entry: EntryPoint, loaded: object) -> None:
    version = f"-{entry.dist.version}" if entry.dist is not None else ""
    TOKENIZERS.add({entry.name: as_tokenizer(loaded, entry.name + version, entry.value)}, entry.module)


TOKENIZERS: Registry[Tokenizer] = Registry("tokenizer", PluginGroup("capeval.tokenizers", _register_plugin))
"""Tokenizers by name: `ptb`, `none`, `char`, `whitespace`, `13a`, `zh`, `ja`, `ko`, and the entry points of
the group `capeval.tokenizers`.
"""

_FUNCTIONS: Mapping[str, Callable[[str], list[str]]] = {
    "char": language_tokens.split_characters,
    "whitespace": language_tokens.split_white_space,
    "13a": language_tokens.split_13a,
    "zh": language_tokens.split_zh,
    "ja": language_tokens.split_ja,
    "ko": language_tokens.split_ko,
}
TOKENIZERS.add(
    {
        "ptb": Tokenizer(),
        "none": Tokenizer(kind="none"),
        **{name: Tokenizer(function=function, name=name) for name, function in _FUNCTIONS.items()},
    },
    __name__,
)


def tokenize(captions: Sequence[str], tokenizer: Tokenizer | str | None = None) -> list[list[str]]:
    """Split captions into tokens.

    A line break inside a caption counts as one space, as in the reference.

    Args:
        captions: The captions.
        tokenizer: The tokenizer, or its name in `TOKENIZERS`; the reference's by default.

    Returns:
        One list of tokens per caption.

    Raises:
        CaptionError: A caption is not a string of Unicode characters; or the tokenizer's function fails or
            does not return lists of tokens.
        OptionError: `tokenizer` is neither a `Tokenizer` nor the name of one.

    Example:
        >>> from capeval import tokenize
        >>> tokenize(["A dog's ball, isn't it?", "Two CATS sleep."])
        [['a', 'dog', "'s", 'ball', 'is', "n't", 'it'], ['two', 'cats', 'sleep']]
        >>> tokenize(["一只狗在跑"], "zh")
        [['一', '只', '狗', '在', '跑']]
    """
    if isinstance(captions, str):
        raise CaptionError("captions must be a list of strings (got one string)")
    if isinstance(captions, bytes | Mapping | Set) or not isinstance(captions, Iterable):
        raise CaptionError(f"captions must be a list of strings (got {type(captions).__name__})")
    texts = list(captions)
    for position, caption in enumerate(texts):
        if not isinstance(caption, str):
            raise CaptionError(f"caption {position} must be a string (got {type(caption).__name__})")
    checked = _check_tokenizer(tokenizer)
    if checked.kind == "function":
        return _call_tokenizer(texts, checked)
    try:
        if checked.line_ends == "reference":
            return _tokenize_as_lines(texts, checked)
        return _native.tokenize(texts, checked.native)
    except UnicodeEncodeError as error:
        raise CaptionError(
            f"a caption contains a lone surrogate, which is not a valid character ({error})"
        ) from None


def _check_tokenizer(tokenizer: Tokenizer | str | None) -> Tokenizer:
    if tokenizer is None:
        return Tokenizer()
    if isinstance(tokenizer, str):
        name = TOKENIZERS.spelling(tokenizer)
        if name is None:
            raise OptionError(
                f"'tokenizer' must be a Tokenizer or one of {', '.join(TOKENIZERS)} (got {tokenizer!r})"
            )
        return TOKENIZERS[name]
    if not isinstance(tokenizer, Tokenizer):
        raise OptionError(
            f"'tokenizer' must be a Tokenizer, such as Tokenizer(kind='ptb') (got {tokenizer!r})"
        )
    return tokenizer


def _tokenize_as_lines(captions: list[str], tokenizer: Tokenizer) -> list[list[str]]:
    return tokenize_as_lines(captions, lowercase=tokenizer.lowercase, punctuation=tokenizer.punctuation)


def _call_tokenizer(captions: list[str], tokenizer: Tokenizer) -> list[list[str]]:
    """Call the tokenizer's function on captions, and validate its tokens."""
    function: Any = tokenizer.function
    named = f"tokenizer {tokenizer.name!r}"
    if tokenizer.batched:
        made = _call(function, captions, f"{named} failed on {_format_count(len(captions))}")
        if not isinstance(made, list | tuple):
            raise CaptionError(
                f"{named} must return a list of lists of strings for {_format_count(len(captions))}"
                f" (got {type(made).__name__})"
            )
        if len(made) != len(captions):
            raise CaptionError(
                f"{named} must return one list of strings for each of {_format_count(len(captions))}"
                f" (got {len(made):,})"
            )
    else:
        made = [
            _call(function, caption, f"{named} failed on caption {shorten(caption)}") for caption in captions
        ]
    for caption, tokens in zip(captions, made, strict=True):
        _check_tokens(tokens, caption, named)
    return [list(tokens) for tokens in made]


def _call(function: Callable[[Any], Any], argument: object, failure: str) -> Any:
    try:
        return function(argument)
    except DependencyError:
        raise
    except Exception as error:
        raise CaptionError(f"{failure}: {type(error).__name__}: {error}") from error


def _format_count(count: int) -> str:
    return "1 caption" if count == 1 else f"{count:,} captions"


def _check_tokens(tokens: object, caption: str, named: str) -> None:
    of_caption = f"for caption {shorten(caption)}"
    if not isinstance(tokens, list | tuple):
        raise CaptionError(
            f"{named} must return a list of strings {of_caption} (got {type(tokens).__name__})"
        )
    for token in tokens:
        if not isinstance(token, str):
            raise CaptionError(f"{named} must return strings {of_caption} (got {shorten(token)})")
        # Metrics read tokens joined by spaces, and some of them split on any white space.
        if token.split() != [token]:
            raise CaptionError(
                f"{named} must return tokens that are not empty and contain no white space {of_caption}"
                f" (got {shorten(token)})"
            )
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError as error:
        raise CaptionError(
            f"{named}: a token {of_caption} contains a lone surrogate, which is not a valid character"
            f" ({error})"
        ) from None


def _to_native(captions: References | Candidates, tokenizer: Tokenizer) -> _native.Captions:
    """Return captions for the kernels; tokens that the kernels don't compute are joined by spaces."""
    if tokenizer.kind != "function" and tokenizer.line_ends == "space":
        return captions.native
    texts = [caption for group in captions.values() for caption in group]
    split = _call_tokenizer if tokenizer.kind == "function" else _tokenize_as_lines
    joined = [" ".join(tokens) for tokens in split(texts, tokenizer)]
    ends = np.cumsum(captions.counts).tolist()
    groups = [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return _native.Captions.from_groups(list(captions.image_ids), groups)


def as_tokenized(
    references: ReferencesLike | TokenizedReferences, tokenizer: Tokenizer | str | None
) -> TokenizedReferences:
    """Tokenize references; return references that are already tokenized unchanged.

    Raises:
        CaptionError: The references are not captions by image.
        OptionError: `tokenizer` is not a `Tokenizer`, or differs from the tokenizer of tokenized references.
    """
    if not isinstance(references, TokenizedReferences):
        return TokenizedReferences(References(references), tokenizer)
    if tokenizer is not None and _check_tokenizer(tokenizer) != references.tokenizer:
        raise OptionError(
            f"'tokenizer' must be the tokenizer of the tokenized references, {references.tokenizer}"
            f" (got {tokenizer})"
        )
    return references


def _warn_about_script(references: References, tokenizer: Tokenizer) -> None:
    """Warn if the tokenizer is for English and the first references have no spaces between words."""
    if tokenizer.kind != "ptb" or tokenizer.line_ends != "space":
        return
    # The native captions, because a list of all ids would take longer.
    first = [references.native.of(row)[0] for row in range(min(_SAMPLE, len(references)))]
    suggested = language_tokens.suggest_tokenizer(first)
    if suggested is not None:
        warnings.warn(
            f"the tokenizer reads sentences without spaces between words, such as {shorten(first[0])}, as one"
            f" token each; choose a tokenizer for the language, such as '{suggested}' (on the command line:"
            f" --tokenizer {suggested})",
            CapevalWarning,
            stacklevel=3,
        )


def warn_about_other_scripts(references: TokenizedReferences, metric: str) -> None:
    """Warn that a metric is for English if most of the first references are in another script."""
    captions = references.references
    first = [captions.native.of(row)[0] for row in range(min(_SAMPLE, len(captions)))]
    if not language_tokens.is_written_in_latin(first):
        warnings.warn(
            f"{metric} is for English: its scores of captions such as {shorten(first[0])} have no meaning;"
            " choose other metrics, such as BLEU, ROUGE-L and CIDEr-D",
            CapevalWarning,
            stacklevel=4,
        )


class TokenizedReferences:
    """References tokenized once, for any number of metrics and candidates.

    A pickle contains the captions, which are tokenized again when it is loaded.
    """

    def __init__(self, references: References, tokenizer: Tokenizer | str | None = None) -> None:
        self.references = references
        self.tokenizer = _check_tokenizer(tokenizer)
        _warn_about_script(references, self.tokenizer)
        # Shared by all signatures, so that it is computed once.
        self.digest = Digest(references)
        self.native = _native.TokenizedReferences(
            _to_native(references, self.tokenizer), self.tokenizer.native
        )

    def __len__(self) -> int:
        return len(self.native)

    def __reduce__(self) -> tuple[type[TokenizedReferences], tuple[References, Tokenizer]]:
        return type(self), (self.references, self.tokenizer)

    def texts(self, image: ImageId) -> list[str]:
        """Return the references of an image as tokens joined by single spaces.

        The attribute `references` contains the original captions.

        Raises:
            CaptionError: There is no such image.
        """
        return self.native.of(self.references.position(image))

    def candidates(self, candidates: Candidates) -> TokenizedCandidates:
        """Tokenize candidates of some or all of the images.

        Raises:
            MismatchError: A candidate's image has no references.
        """
        return TokenizedCandidates(self, candidates)


class TokenizedCandidates:
    """Candidates with the vocabulary of their references: one row per caption."""

    def __init__(self, references: TokenizedReferences, candidates: Candidates) -> None:
        positions = candidates.native.positions_in(references.references.native)
        unknown = np.flatnonzero(positions < 0)
        if unknown.size:
            raise MismatchError(unknown_images(candidates, references.references, unknown.tolist()))
        self.references = references
        tokenizer = references.tokenizer
        self.native = _native.TokenizedCandidates(
            references.native, _to_native(candidates, tokenizer), positions, tokenizer.native
        )
        self.candidates = candidates

    def __reduce__(self) -> tuple[type[TokenizedCandidates], tuple[TokenizedReferences, Candidates]]:
        return type(self), (self.references, self.candidates)

    def __len__(self) -> int:
        return len(self.native)

    @property
    def image_ids(self) -> tuple[ImageId, ...]:
        """The image of each row."""
        ids, counts = self.candidates.image_ids, self.candidates.counts
        if len(ids) == len(self):
            return ids
        return tuple(image for image, count in zip(ids, counts, strict=True) for _ in range(count))

    @property
    def positions(self) -> NDArray[np.int64]:
        """The position of each row's image among the references."""
        positions = self.candidates.native.positions_in(self.references.references.native)
        return np.repeat(positions, self.candidates.counts)

    def texts(self) -> list[str]:
        """Return the candidates as tokens joined by single spaces."""
        return self.native.texts()

    def captions(self) -> list[str]:
        """Return the candidates as they were written."""
        return [caption for captions in self.candidates.values() for caption in captions]


def unknown_images(candidates: Candidates, references: References, positions: list[int]) -> str:
    """Return the message about candidates' images without references.

    Args:
        candidates: The candidates.
        references: The references.
        positions: The positions of those images among the candidates.
    """
    images = [candidates.image_ids[position] for position in positions]
    types = describe_id_types(images[0], references.image_ids[0])
    return f"{format_images(images)} among the candidates but not among the references{types}"
